//! A server that goes away and comes back while commands and replies are on their way.

use std::time::Duration;

use amends::ports::OutboxKind;
use amends_nats_testkit::Server;

use crate::audit::assert_accounted_for;
use crate::world::{World, place, until};

const PLACED: u32 = 150;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_restarts_under_load_loses_and_doubles_no_command_and_no_reply() {
    let mut server = Server::start();
    let world = World::on(server.url()).await;
    let _participant = world.participant().await;
    let node = world.node_with(|plan| plan.timeout = Duration::from_secs(5)).await;
    let triggers = node.triggers().await;
    let publisher = world.connect().await;
    let placing = tokio::spawn(async move {
        for number in 0..PLACED {
            place(&publisher, number).await;
        }
    });
    for (effects, in_order) in [(40, false), (120, true), (200, false)] {
        until("the service works", async || world.service.effects().await.len() >= effects).await;
        if in_order {
            server.stop();
        } else {
            server.kill();
        }
        server.start_again();
    }
    placing.await.unwrap();
    world.audit(&node, 0..PLACED).await;
    let counters = assert_accounted_for(&triggers).await;
    assert_eq!(counters.sagas, u64::from(PLACED), "{counters:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g27_a_server_that_stands_still_under_load_stores_what_was_given_up_and_doubles_nothing() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    let _participant = world.participant().await;
    let node = world.node_with(|plan| plan.timeout = Duration::from_secs(10)).await;
    for number in 0..60 {
        node.order(number).await;
    }
    until("the service works", async || world.service.effects().await.len() >= 20).await;
    // Connections stay, and nothing answers: what is sent now is stored later, and given up before.
    server.freeze();
    node.order(60).await;
    until("acknowledgements are given up", async || {
        let troubles = node.engine.outbox().await.unwrap().troubles;
        troubles.iter().any(|trouble| trouble.kind == OutboxKind::Command)
    })
    .await;
    server.thaw();
    world.audit(&node, 0..61).await;
    assert!(node.engine.outbox().await.unwrap().troubles.is_empty());
}
