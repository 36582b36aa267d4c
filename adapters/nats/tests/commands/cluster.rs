//! A cluster of three servers whose leaders change and one of which is lost and comes back, under load.

use std::time::Duration;

use amends_nats_testkit::Cluster;

use crate::audit::assert_accounted_for;
use crate::service::SERVICE;
use crate::world::{
    COMMANDS, ENGINE, ORDERS, REPLIES, TRIGGER, World, consumer_info, look_again, place, until,
};

const PLACED: u32 = 120;

/// Every stream that something is taken from, with who takes it.
const TAKEN: [(&str, &str); 3] = [(COMMANDS, SERVICE), (REPLIES, ENGINE), (ORDERS, TRIGGER)];

async fn leader(world: &World, stream: &str) -> Option<String> {
    world.stream(stream).await.cluster.and_then(|cluster| cluster.leader)
}

async fn leader_of_consumer(world: &World, stream: &str, consumer: &str) -> Option<String> {
    let info = consumer_info(&world.connection, consumer, stream).await?;
    info.cluster.and_then(|cluster| cluster.leader)
}

/// Has the leader step down in favour of this server, as often as it takes: elections go as they like.
async fn step_down(world: &World, of: String, server: &str) {
    let wanted = format!(r#"{{"placement":{{"preferred":"{server}"}}}}"#);
    let _ = world.connection.client().request(format!("$JS.API.{of}"), wanted.into()).await;
    look_again().await;
}

/// Has one server lead all of it.
async fn led_by(world: &World, server: &str) {
    for (stream, consumer) in TAKEN {
        until(&format!("{server} leads {stream}"), async || {
            let leads = leader(world, stream).await.is_some_and(|leader| leader == server);
            if !leads {
                step_down(world, format!("STREAM.LEADER.STEPDOWN.{stream}"), server).await;
            }
            leads
        })
        .await;
        until(&format!("{server} leads {consumer} of {stream}"), async || {
            let leader = leader_of_consumer(world, stream, consumer).await;
            let leads = leader.is_some_and(|leader| leader == server);
            if !leads {
                let of = format!("CONSUMER.LEADER.STEPDOWN.{stream}.{consumer}");
                step_down(world, of, server).await;
            }
            leads
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_whose_leaders_change_and_that_loses_the_one_of_all_loses_and_doubles_nothing() {
    let mut cluster = Cluster::start();
    let world = World::with(cluster.url(), |stream| stream.replicas = 3).await;
    let _participant = world.participant().await;
    let node = world.node_with(|plan| plan.timeout = Duration::from_secs(5)).await;
    let triggers = node.triggers().await;
    let publisher = world.connect().await;
    let placing = tokio::spawn(async move {
        for number in 0..PLACED {
            place(&publisher, number).await;
        }
    });
    let done = async |effects: usize| {
        until("the service works", async || world.service.effects().await.len() >= effects).await;
    };
    for (effects, server) in [(20, "node-0"), (40, "node-1")] {
        done(effects).await;
        led_by(&world, server).await;
    }
    done(80).await;
    cluster.named("node-1").kill();
    done(160).await;
    cluster.named("node-1").start_again();
    placing.await.unwrap();
    world.audit(&node, 0..PLACED).await;
    let counters = assert_accounted_for(&triggers).await;
    assert_eq!(counters.sagas, u64::from(PLACED), "{counters:?}");
}
