//! Several nodes that share a store, a stream of replies and the lanes of the outbox; and one of them dies.

use std::sync::Arc;
use std::time::Duration;

use amends::memory::MemoryStore;
use amends_nats_testkit::Server;

use crate::audit::assert_accounted_for;
use crate::world::{Node, Plan, World, place, until};

const PLACED: u32 = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_dies_leaves_its_commands_and_its_replies_to_the_others() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    let _participant = world.participant().await;
    let store = Arc::new(MemoryStore::shared());
    let plan = async || Plan { timeout: Duration::from_secs(5), ..Plan::new(world.connect().await) };
    let first = Node::on(store.clone(), plan().await).await;
    let second = Node::on(store.clone(), plan().await).await;
    let (dies_too, triggers) = (first.triggers().await, second.triggers().await);
    let publisher = world.connect().await;
    let placing = tokio::spawn(async move {
        for number in 0..PLACED {
            place(&publisher, number).await;
        }
    });
    until("the service works", async || world.service.effects().await.len() >= 40).await;
    first.kill().await;
    drop(dies_too);
    placing.await.unwrap();
    world.audit(&second, 0..PLACED).await;
    assert_accounted_for(&triggers).await;
}
