//! A server that goes away and comes back while commands and replies are on their way.

use std::time::Duration;

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
