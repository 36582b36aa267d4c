//! Streams that are full and take nothing more.

use amends::ports::OutboxKind;
use amends_nats_testkit::Server;
use async_nats::jetstream::stream::DiscardPolicy;

use crate::world::{COMMANDS, EVENTS, Node, REPLIES, World, until};

/// Lets the stream hold so many messages; what is more is refused.
async fn holds(world: &World, stream: &str, messages: i64) {
    let mut config = world.stream(stream).await.config;
    config.max_messages = messages;
    config.discard = DiscardPolicy::New;
    world.connection.jetstream().update_stream(config).await.unwrap();
}

/// What does not get through, of this kind.
async fn trouble(node: &Node, kind: OutboxKind) -> String {
    let view = node.engine.outbox().await.unwrap();
    let told = view.troubles.into_iter().filter(|trouble| trouble.kind == kind).map(|trouble| trouble.error);
    let noted = view.refused.into_iter().filter(|refused| refused.message.place.kind == kind);
    told.chain(noted.map(|refused| refused.reason)).collect::<Vec<_>>().join("; ")
}

#[tokio::test]
async fn g27_a_full_stream_of_commands_keeps_them_in_the_outbox_and_fails_no_step() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    holds(&world, COMMANDS, 5).await;
    let node = world.node().await;
    // There is nobody who would take them.
    for number in 0..20 {
        node.order(number).await;
    }
    until("the stream is full", async || world.messages(COMMANDS).await == 5).await;
    until("that is told", async || {
        trouble(&node, OutboxKind::Command).await.contains("maximum messages exceeded")
    })
    .await;
    assert_eq!(node.commands_waiting().await, 15);
    for number in 0..20 {
        assert!(!node.timeline(number).await.contains("unknown"), "{}", node.timeline(number).await);
    }

    let _participant = world.participant().await;
    world.audit(&node, 0..20).await;
    assert_eq!(trouble(&node, OutboxKind::Command).await, "");
    assert!(world.service.calls().values().all(|times| *times == 1), "what was refused was not stored");
}

#[tokio::test]
async fn a_full_stream_of_replies_has_the_commands_come_again_until_there_is_room() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    holds(&world, REPLIES, 3).await;
    let _participant = world.participant().await;
    let node = world.node_with(|plan| plan.hears = false).await;
    for number in 0..10 {
        node.order(number).await;
    }
    until("the stream is full", async || world.messages(REPLIES).await == 3).await;
    until("commands have come again", async || world.service.calls().values().any(|times| *times >= 3)).await;
    until("the last command has left", async || node.commands_waiting().await == 0).await;
    assert_eq!(world.messages(COMMANDS).await, 7, "what could not be answered is not acknowledged");
    node.kill().await;

    let node = world.node().await;
    world.audit(&node, 0..10).await;
}

#[tokio::test]
async fn a_full_stream_of_events_holds_up_no_saga_and_tells_all_in_order_once_there_is_room() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    holds(&world, EVENTS, 3).await;
    let _participant = world.participant().await;
    let node = world.node().await;
    for number in 0..10 {
        node.order(number).await;
    }
    for number in 0..10 {
        node.ended(number).await;
    }
    until("that is told", async || {
        trouble(&node, OutboxKind::Event).await.contains("maximum messages exceeded")
    })
    .await;
    holds(&world, EVENTS, -1).await;
    world.audit(&node, 0..10).await;
}
