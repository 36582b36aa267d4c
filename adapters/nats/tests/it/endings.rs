//! Every message ends as exactly one of saga, duplicate, conflict, refused and intake.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use amends::core::{Timestamp, admission};
use amends::memory::MemoryStore;
use amends::{Engine, Outcome};
use amends_nats::{Counters, Triggers, Unfit};

use crate::world::{CONSUMER, World, event, order, quick, until_ended};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[tokio::test]
async fn an_event_starts_one_saga_with_its_key_its_time_and_its_trace() {
    let world = World::new().await;
    let triggers = world.start().await;
    let headers = [
        ("content-type", "application/json"),
        ("ce-specversion", "1.0"),
        ("ce-id", "o-1"),
        ("ce-source", "/shop"),
        ("ce-type", "order.placed.v1"),
        ("ce-time", "2026-11-30T16:12:00.250Z"),
        ("traceparent", PARENT),
    ];
    let sequence = world.publish(&headers, order("o-1", 500)).await;
    let counters = until_ended(&triggers, 1).await;
    assert_eq!(counters, Counters { deliveries: 1, sagas: 1, ..Counters::default() });
    assert_eq!(world.ended("o-1").await, Outcome::Completed(amends::core::Json::parse("500").unwrap()));

    let saga = world.engine.find("order", "o-1").await.unwrap().unwrap();
    let state = saga.view().await.unwrap();
    assert_eq!(state.state().occurred_at, Timestamp(1_796_055_120_250_000));
    let journal = world.engine.query().read(saga.id()).await.unwrap().unwrap().journal;
    let first = &journal[0].events;
    for part in
        [PARENT, "\"ORDERS orders.placed\"", &format!("\"position\":\"{sequence}\""), "\"event_version\":1"]
    {
        assert!(first.contains(part), "{part} is not in {first}");
    }
    world.assert_all_acknowledged().await;
}

#[tokio::test]
async fn every_kind_of_message_has_its_ending_and_the_counters_add_up() {
    let world = World::new().await;
    let limits = amends_nats::TriggerLimits {
        message: admission::Limits { bytes_max: 4_096, depth_max: 8 },
        ..quick()
    };
    let trigger = world.trigger().limits(limits);
    let triggers = world.triggers().with(trigger).start().await.unwrap();

    world.place("o-1", 100).await;
    until_ended(&triggers, 1).await;
    // The same event again, in another spelling.
    world.publish(&[("Nats-Msg-Id", "o-1")], r#"{ "amount": 100, "order": "o-1" }"#).await;
    // The same key with another input.
    let conflict = world.place("o-1", 500).await;
    let malformed = [
        ("{", "EOF"),
        (r#"{"order":"x","order":"y","amount":1}"#, "duplicate key"),
        (&format!("{}1{}", "[".repeat(9), "]".repeat(9)), "deeper than 8"),
        (&format!("\"{}\"", "x".repeat(5_000)), "bytes are more than"),
        (r#"{"order":"x","amount":-1}"#, "`amount` of the data does not fit"),
        (&event("o-2", 1).replace("1.0", "2.0"), "version `2.0` of CloudEvents is not known"),
        (&order("no-id", 1), "it has no id"),
    ];
    for (number, (payload, words)) in malformed.iter().enumerate() {
        let id = format!("m-{number}");
        let headers = [("Nats-Msg-Id", id.as_str())];
        let without_id = *words == "it has no id";
        world.publish(if without_id { &[] } else { &headers }, *payload).await;
    }
    let counters = until_ended(&triggers, 10).await;
    let expected =
        Counters { deliveries: 10, sagas: 1, duplicates: 1, conflicts: 1, intake: 7, ..Counters::default() };
    assert_eq!(counters, expected, "everything on its first delivery");
    assert_eq!(counters.ended(), counters.deliveries);

    let kept = world.intake().await;
    assert_eq!(kept.len(), 8);
    for (payload, words) in malformed {
        let row = kept.iter().find(|row| row.raw.kept == payload.as_bytes());
        let row = row.unwrap_or_else(|| panic!("`{payload}` is not in intake"));
        assert!(row.reason.words.contains(words), "{words}: {}", row.reason.words);
        assert_eq!(row.seen, 1);
    }
    let row = kept.iter().find(|row| row.reason.code == "conflict").unwrap();
    let saga = world.engine.find("order", "o-1").await.unwrap().unwrap();
    assert_eq!((row.saga, &*row.source), (Some(saga.id()), "ORDERS"));
    assert!(row.reason.words.contains("SHA-256 of the inputs: this "), "{}", row.reason.words);
    assert_eq!(
        (row.position.as_deref(), row.event_id.as_deref()),
        (Some(&*conflict.to_string()), Some("o-1"))
    );
    assert_eq!(kept.iter().filter(|row| row.reason.code == "unknown-version").count(), 1);

    world.ended("o-1").await;
    assert_eq!(world.ledger.entries(), BTreeMap::from([("o-1".to_owned(), 1)]));
    world.assert_all_acknowledged().await;
}

#[tokio::test]
async fn an_event_older_than_what_is_remembered_is_refused_and_kept() {
    let store = Arc::new(MemoryStore::new());
    let world = World::on(store.clone()).await;
    world.engine.abort().await;
    let hours = |hours: u64| Duration::from_secs(hours * 3_600);
    let forgetful = Engine::builder(store).register(world.saga.clone());
    let forgetful = forgetful.purge_after(hours(2)).forget_after(hours(3)).start().await.unwrap();
    let triggers = Triggers::on(&world.connection, &forgetful).with(world.trigger()).start().await.unwrap();
    let old = event("o-1", 1).replace(r#""data""#, r#""time":"2020-01-01T00:00:00Z","data""#);
    world.publish(&[], old.clone()).await;
    world.place("o-2", 1).await;
    let counters = until_ended(&triggers, 2).await;
    assert_eq!(counters, Counters { deliveries: 2, sagas: 1, refused: 1, ..Counters::default() });
    let kept = world.intake().await;
    assert_eq!((kept.len(), kept[0].reason.code.as_str()), (1, "refused"));
    assert_eq!(kept[0].raw.kept, old.as_bytes());
    assert!(kept[0].reason.words.contains("it occurred at 2020-01-01T00:00:00.000Z"), "{:?}", kept[0].reason);
    world.assert_all_acknowledged().await;
}

#[tokio::test]
async fn extractors_give_key_and_input_and_may_refuse_what_they_do_not_know() {
    let world = World::new().await;
    let trigger = world
        .trigger()
        .types(["order.placed"])
        .key(|event| Ok(format!("{}/{}", event.subject_part(1).unwrap_or("-"), event.id().unwrap_or("-"))))
        .input(|event| {
            let mut order: crate::world::Order = event.data()?;
            if order.amount == 0 {
                return Err(Unfit::new("an order of nothing"));
            }
            order.amount *= 100;
            Ok(order)
        });
    let triggers = world.triggers().with(trigger).start().await.unwrap();
    world.place("o-1", 5).await;
    world.place("o-2", 0).await;
    world.publish(&[], event("o-3", 1).replace("order.placed", "order.changed")).await;
    world.publish(&[("Nats-Msg-Id", "o-4")], order("o-4", 1)).await;
    let counters = until_ended(&triggers, 4).await;
    assert_eq!(counters, Counters { deliveries: 4, sagas: 1, intake: 3, ..Counters::default() });
    assert_eq!(
        world.ended("placed/o-1").await,
        Outcome::Completed(amends::core::Json::parse("500").unwrap())
    );
    let mut reasons: Vec<String> = world
        .intake()
        .await
        .into_iter()
        .map(|row| format!("{}: {}", row.reason.code, row.reason.words.lines().next().unwrap_or_default()))
        .collect();
    reasons.sort();
    let expected = [
        "malformed: an order of nothing",
        "unknown-version: it names no type; known are: order.placed",
        "unknown-version: its type `order.changed` is not known here; known are: order.placed",
    ];
    assert_eq!(reasons, expected);
}

#[tokio::test]
async fn a_panic_concerns_one_message_which_goes_to_intake_at_the_stated_delivery() {
    let world = World::new().await;
    let trigger = world.trigger().input(|event| {
        let order: crate::world::Order = event.data()?;
        assert_ne!(order.order, "o-2", "the extractor has a mistake");
        Ok(order)
    });
    let triggers = world.triggers().with(trigger).start().await.unwrap();
    for id in ["o-1", "o-2", "o-3"] {
        world.place(id, 1).await;
    }
    let counters = until_ended(&triggers, 5).await;
    assert_eq!(counters, Counters { deliveries: 5, sagas: 2, failed: 2, intake: 1, ..Counters::default() });
    let kept = world.intake().await;
    assert_eq!(kept.len(), 1);
    assert_eq!((kept[0].reason.code.as_str(), kept[0].event_id.as_deref()), ("failing", None));
    assert!(kept[0].reason.words.contains("the extractor has a mistake"), "{}", kept[0].reason.words);
    world.ended("o-3").await;
    world.assert_all_acknowledged().await;
    assert_eq!(triggers.counters(CONSUMER), Some(counters));
}
