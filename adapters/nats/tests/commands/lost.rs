//! What the broker had acknowledged and then lost: it acknowledges before it has written to disk.

use std::time::Duration;

use amends_nats_testkit::Server;

use crate::world::{COMMANDS, REPLIES, World, until};

async fn lose_all(world: &World, stream: &str) {
    let found = world.connection.jetstream().get_stream(stream).await.unwrap();
    found.purge().await.unwrap();
}

#[tokio::test]
async fn commands_that_the_broker_acknowledged_and_lost_are_asked_about_closed_out_and_sent_again() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    let node = world.node_with(|plan| plan.timeout = Duration::from_millis(700)).await;
    for number in 0..10 {
        node.order(number).await;
    }
    until("all lie there", async || world.messages(COMMANDS).await == 10).await;
    until("the outbox is empty", async || node.commands_waiting().await == 0).await;
    lose_all(&world, COMMANDS).await;
    let _participant = world.participant().await;
    world.audit(&node, 0..10).await;
    let told = node.timeline(0).await;
    assert!(
        told.contains("fenced through attempt 1"),
        "a lost one may still come, for all that is known: {told}"
    );
    assert!(told.contains("reserve started (attempt 2)"), "{told}");
}

#[tokio::test]
async fn replies_that_the_broker_acknowledged_and_lost_are_found_by_asking() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    let _participant = world.participant().await;
    let node = world.node_with(|plan| plan.hears = false).await;
    for number in 0..10 {
        node.order(number).await;
    }
    until("all replies lie there", async || world.messages(REPLIES).await == 10).await;
    node.kill().await;
    lose_all(&world, REPLIES).await;

    let node = world.node().await;
    world.audit(&node, 0..10).await;
    let told = node.timeline(0).await;
    assert!(told.contains("reserve found applied"), "{told}");
    assert!(world.service.calls().values().all(|times| *times == 1), "nothing was sent again");
}
