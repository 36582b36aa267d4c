//! Consumers that somebody deletes.

use std::time::Duration;

use amends_nats_testkit::Server;

use crate::service::SERVICE;
use crate::world::{COMMANDS, ENGINE, REPLIES, World, until};

async fn delete(world: &World, consumer: &str, stream: &str) {
    let found = world.connection.jetstream().get_stream(stream).await.unwrap();
    found.delete_consumer(consumer).await.unwrap();
}

#[tokio::test]
async fn consumers_of_commands_and_replies_that_are_deleted_under_load_are_declared_again_and_lose_nothing() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    let _participant = world.participant().await;
    let node = world.node_with(|plan| plan.timeout = Duration::from_secs(10)).await;
    for number in 0..60 {
        node.order(number).await;
    }
    until("the service works", async || world.service.effects().await.len() >= 20).await;
    delete(&world, ENGINE, REPLIES).await;
    delete(&world, SERVICE, COMMANDS).await;
    world.audit(&node, 0..60).await;
    for (consumer, stream, filter) in
        [(ENGINE, REPLIES, "amends.reply.test"), (SERVICE, COMMANDS, "amends.command.shop.>")]
    {
        let config = world.consumer(consumer, stream).await.config;
        assert_eq!((config.max_deliver, config.filter_subject.as_str()), (-1, filter));
    }
}

#[tokio::test]
async fn consumers_that_are_deleted_while_nothing_happens_are_there_when_something_does() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    let _participant = world.participant().await;
    let node = world.node().await;
    node.order(0).await;
    world.audit(&node, 0..1).await;
    delete(&world, ENGINE, REPLIES).await;
    delete(&world, SERVICE, COMMANDS).await;
    node.order(1).await;
    world.audit(&node, 0..2).await;
}
