//! A connection that does not keep up: the server hangs up on it (*Slow Consumer*), and what had been on its way is late or
//! lost.

use amends_nats::Connection;
use amends_nats_testkit::{Server, Wire};
use async_nats::Subscriber;

use crate::audit::assert_accounted_for;
use crate::world::{Plan, World, connect, in_time, place, until};

const PLACED: u32 = 100;

/// Hangs up on whoever has not read a megabyte, or nothing at all for half a second.
fn impatient() -> Server {
    Server::builder().configuration("write_deadline: \"500ms\"\nmax_pending: 1048576").start()
}

/// A connection on which the server sends noise as well.
struct Slow {
    wire: Wire,
    connection: Connection,
    _hears: Subscriber,
}

impl Slow {
    async fn to(server: &Server) -> Self {
        let wire = Wire::to(server.port());
        let connection = connect(&wire.url()).await;
        let hears = connection.client().subscribe("noise").await.unwrap();
        Self { wire, connection, _hears: hears }
    }

    /// Nothing of it is read until the server has hung up; then it goes on.
    async fn is_hung_up_on(&self, world: &World, server: &Server) {
        let hung_up = || server.printed().matches("Slow Consumer Detected").count();
        let (before, lost) = (hung_up(), self.connection.connections_lost());
        self.wire.stand_still();
        until("the server hangs up", async || {
            let noise = vec![0; 256 * 1024].into();
            world.connection.client().publish("noise", noise).await.unwrap();
            world.connection.client().flush().await.unwrap();
            hung_up() > before
        })
        .await;
        self.wire.go_on();
        until("it is connected again", async || {
            self.connection.connections_lost() > lost && self.connection.is_connected()
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_the_server_hangs_up_on_loses_and_doubles_no_event_no_command_and_no_reply() {
    let server = impatient();
    let world = World::on(server.url()).await;
    let _participant = world.participant().await;
    let slow = Slow::to(&server).await;
    let node = world.node_with(|plan| *plan = Plan::new(slow.connection.clone())).await;
    let triggers = node.triggers().await;
    let publisher = world.connect().await;
    let placing = tokio::spawn(async move {
        for number in 0..PLACED {
            place(&publisher, number).await;
        }
    });
    for effects in [20, 100] {
        until("the service works", async || world.service.effects().await.len() >= effects).await;
        slow.is_hung_up_on(&world, &server).await;
    }
    placing.await.unwrap();
    world.audit(&node, 0..PLACED).await;
    let counters = assert_accounted_for(&triggers).await;
    assert_eq!(counters.sagas, u64::from(PLACED), "{counters:?}");
    let readiness = triggers.readiness();
    assert_eq!(readiness.connections_lost, 2, "and that is shown");
    in_time("it is ready again", triggers.until(amends_nats::Readiness::is_ready)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_the_server_hangs_up_on_loses_no_command_and_carries_none_out_twice() {
    let server = impatient();
    let world = World::on(server.url()).await;
    let slow = Slow::to(&server).await;
    let participant = world.participant_with(slow.connection.clone(), |_| {}).await;
    let node = world.node().await;
    for number in 0..PLACED {
        node.order(number).await;
    }
    for effects in [20, 100] {
        until("the service works", async || world.service.effects().await.len() >= effects).await;
        slow.is_hung_up_on(&world, &server).await;
    }
    world.audit(&node, 0..PLACED).await;
    let counters = participant.counters();
    assert_eq!((counters.malformed, counters.in_hand), (0, 0), "{counters:?}");
    assert_eq!(slow.connection.readiness().connections_lost, 2, "and that is shown");
}
