//! Messages that the client library drops, because those before them were not taken quickly enough.

use std::time::Duration;

use amends_nats::{
    Connection, EngineService, NatsSettings, Readiness, ServiceSettings, TriggerLimits, Triggers,
};
use async_nats::{Request, RequestErrorKind};
use serde_json::{Value, json};

use crate::world::{World, quick, settings, until_ended};

/// Of each subscription so few messages wait that a burst does not find room.
async fn narrow(world: &World, subscription_capacity: usize) -> Connection {
    let narrow = NatsSettings { subscription_capacity, ..settings(&world.server) };
    Connection::open(narrow).await.unwrap()
}

#[tokio::test]
async fn events_that_the_client_dropped_come_again_long_before_the_pull_expires_and_that_is_told() {
    const PLACED: u32 = 60;
    let world = World::new().await;
    let connection = narrow(&world, 20).await;
    for number in 0..PLACED {
        world.place(&format!("o-{number}"), 1).await;
    }
    let limits = TriggerLimits { pull_expires: Duration::from_secs(600), ..quick() };
    let trigger = world.trigger().limits(limits);
    let trigger = trigger.consumer_settings(|consumer| consumer.ack_wait = Duration::from_millis(300));
    let triggers = Triggers::on(&connection, &world.engine).with(trigger).start().await.unwrap();
    let all = |readiness: &Readiness| readiness.triggers[0].counters.sagas == u64::from(PLACED);
    let readiness = tokio::time::timeout(Duration::from_secs(60), triggers.until(all)).await;
    let readiness = readiness.expect("they come again");
    assert!(readiness.messages_dropped > 0, "a burst was to find no room");
    let told = format!("{} messages at least were dropped by the client", readiness.messages_dropped);
    assert!(readiness.problems()[0].starts_with(&told), "{:?}", readiness.problems());
    let counters = until_ended(&triggers, u64::from(PLACED)).await;
    assert_eq!((counters.sagas, counters.conflicts, counters.intake), (u64::from(PLACED), 0, 0));
    assert_eq!(counters.deliveries, counters.ended(), "{counters:?}");
    for number in 0..PLACED {
        world.ended(&format!("o-{number}")).await;
    }
    assert!(world.ledger.entries().values().all(|times| *times == 1));
    assert_eq!(world.ledger.entries().len(), PLACED as usize);
    triggers.until(Readiness::is_ready).await;
}

#[tokio::test]
async fn requests_that_the_client_of_the_service_dropped_are_made_again_and_start_one_saga_each() {
    let world = World::new().await;
    let connection = narrow(&world, 2).await;
    let one = ServiceSettings { requests_max: 1, ..ServiceSettings::default() };
    let _service = EngineService::start(&connection, &world.engine, one).await.unwrap();
    let client = async_nats::connect(world.server.url()).await.unwrap();
    let start = async |number: u32| {
        let order = format!("o-{number}");
        let input = json!({"order": order, "amount": 1});
        let asked = json!({"workflow": "order", "key": order, "input": input}).to_string();
        loop {
            let request =
                Request::new().payload(asked.clone().into()).timeout(Some(Duration::from_millis(500)));
            match client.send_request("amends.start", request).await {
                Ok(answer) => return serde_json::from_slice::<Value>(&answer.payload).unwrap(),
                Err(error) => assert!(
                    matches!(error.kind(), RequestErrorKind::TimedOut | RequestErrorKind::NoResponders),
                    "{error}"
                ),
            }
        }
    };
    let answers = futures_util::future::join_all((0..100).map(start)).await;
    assert!(connection.messages_dropped() > 0, "a burst was to find no room");
    let mut sagas: Vec<&str> = answers.iter().map(|answer| answer["saga"].as_str().unwrap()).collect();
    sagas.sort_unstable();
    sagas.dedup();
    assert_eq!(sagas.len(), 100);
    for number in 0..100 {
        world.ended(&format!("o-{number}")).await;
    }
    assert!(world.ledger.entries().values().all(|times| *times == 1));
}
