use std::sync::Arc;
use std::time::Duration;

use amends::core::Json;
use amends::core::event::Trigger;
use amends::core::{JournalEvent, SagaPlan, Timestamp};
use amends::engine::SagaStartError;
use amends::memory::MemoryStore;
use amends::operator::By;
use amends::ports::SagaQuery;
use amends::{Definition, Engine, Label, Limits, Outcome, SagaHandle, StartOptions};
use tokio::sync::Semaphore;

use crate::workflow::{Log, begin, builder, chain, done, engine, limited, pass, step, workflow};

async fn start(engine: &Engine, key: &str, input: &str) -> Result<SagaHandle, SagaStartError> {
    engine.start_json("w", key, Json::parse(input).unwrap(), StartOptions::default()).await
}

#[tokio::test(start_paused = true)]
async fn the_same_key_and_input_are_the_same_saga() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &chain(&log)).await;
    let first = start(&engine, "k", r#"{"amount": 100, "to": "x"}"#).await.unwrap();
    let again = start(&engine, "k", r#"{ "to":"x","amount":100 }"#).await.unwrap();
    assert_eq!(first.id(), again.id());
    assert!(matches!(again.outcome().await, Ok(Outcome::Completed(_))));
    let after_its_end = start(&engine, "k", r#"{"amount": 100, "to": "x"}"#).await.unwrap();
    assert_eq!(after_its_end.id(), first.id());
    assert_eq!(log.lines(), ["a", "b", "c", "d"]);
    assert_eq!(store.stats().saga_inserts, 1);
}

#[tokio::test(start_paused = true)]
async fn the_same_start_twice_at_one_instant_is_one_saga() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &chain(&log)).await;
    let (first, second) = tokio::join!(start(&engine, "k", "1"), start(&engine, "k", "1"));
    assert_eq!(first.unwrap().id(), second.unwrap().id());
    assert_eq!(store.stats().saga_inserts, 1);
}

#[tokio::test(start_paused = true)]
async fn the_same_key_with_another_input_is_a_conflict_that_names_both() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &chain(&log)).await;
    let first = start(&engine, "k", "100").await.unwrap();
    let error = start(&engine, "k", "100.0").await.unwrap_err();
    let SagaStartError::Conflict { standing, input_digest } = &error else { panic!("{error}") };
    assert_eq!(standing.id, first.id());
    assert_eq!(*input_digest, Json::parse("100.0").unwrap().canonical_digest().unwrap());
    assert_ne!(*input_digest, standing.input_digest);
    assert!(matches!(first.outcome().await, Ok(Outcome::Completed(_))), "the saga is untouched");
}

#[tokio::test(start_paused = true)]
async fn unusable_starts_are_refused_at_the_door() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &chain(&log)).await;
    let refused = |error: Result<SagaHandle, SagaStartError>| error.unwrap_err().to_string();
    let huge = format!("\"{}\"", "x".repeat(1 << 20));
    assert!(refused(start(&engine, "k", &huge).await).contains("bytes are more than the 1048576"));
    assert!(refused(start(&engine, "k", "\"\\u0000\"").await).contains("NUL"));
    assert!(refused(start(&engine, "", "1").await).contains("a key has"));
    let other = engine.start_json("other", "k", Json::parse("1").unwrap(), StartOptions::default()).await;
    assert!(matches!(other, Err(SagaStartError::NotRegistered(name)) if name == "other"));
    assert_eq!(store.counts().await.unwrap().sagas, 0);
}

#[tokio::test(start_paused = true)]
async fn a_trigger_and_the_events_own_time_are_recorded() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &chain(&log)).await;
    let trigger = Trigger {
        source: "orders.jsonl".to_owned(),
        position: Some("line 3".to_owned()),
        event_id: None,
        event_type: None,
        event_version: None,
    };
    let occurred_at = Some(Timestamp(17));
    let options = StartOptions { occurred_at, trigger: Some(trigger.clone()), ..StartOptions::default() };
    let saga = engine.start_json("w", "k", Json::parse("1").unwrap(), options).await.unwrap();
    let view = saga.view().await.unwrap();
    let JournalEvent::SagaStarted(started) = &view.journal()[0].events[0] else { panic!("the first fact") };
    assert_eq!((started.occurred_at, started.trigger.as_ref()), (Timestamp(17), Some(&trigger)));
}

#[tokio::test(start_paused = true)]
async fn a_start_that_finds_no_room_waits_with_its_caller() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let go = Arc::new(Semaphore::new(0));
    let held = go.clone();
    let waits = step("a", &log).runs(move |_| {
        let go = held.clone();
        async move {
            go.acquire().await.unwrap().forget();
            done()
        }
    });
    let limits = Limits { max_active: 2, starts_waiting_max: 1, ..Limits::default() };
    let engine = limited(&store, &workflow(vec![waits]), limits).await;
    let mut starts = Vec::new();
    for n in 0..6 {
        let engine = engine.clone();
        starts.push(tokio::spawn(async move { begin(&engine, &n.to_string()).await }));
    }
    for (let_go, in_store) in [(0, 2), (1, 3), (2, 5), (3, 6)] {
        go.add_permits(let_go);
        pass(Duration::from_secs(5)).await;
        assert_eq!(store.counts().await.unwrap().sagas, in_store, "after {let_go} more were let go");
    }
    for start in starts {
        assert!(matches!(start.await.unwrap().outcome().await, Ok(Outcome::Completed(_))));
    }
}

#[tokio::test(start_paused = true)]
async fn a_changed_shape_under_a_live_version_is_refused() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let hangs = || {
        step("a", &log).runs(|_| async {
            std::future::pending::<()>().await;
            done()
        })
    };
    let first = engine(&store, &workflow(vec![hangs()])).await;
    begin(&first, "k").await;
    first.abort().await;
    let longer = workflow(vec![hangs(), step("b", &log).after(&["a"])]);
    let error = builder(&store, &longer).start().await.expect_err("the old shape is under way");
    assert!(error.to_string().contains("it has another shape than when the saga of `k` began"), "{error}");
    let twice = builder(&store, &longer).register(workflow(vec![hangs()]));
    assert_eq!(
        twice.start().await.unwrap_err().to_string(),
        "failed to register workflow `w` version 1: it is registered with two shapes, and a changed shape needs \
         a new version"
    );
}

/// A version such as the minute of a release: no store would find its sagas again.
#[tokio::test(start_paused = true)]
async fn a_version_that_no_store_can_keep_is_refused_at_registration() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let sound = workflow(vec![step("a", &log)]);
    let plan = SagaPlan::new("w", 2_612_011_200, "input/1", sound.plan.steps.clone(), sound.plan.result);
    let late = Definition { plan: Arc::new(plan.unwrap()), ..sound };
    assert_eq!(
        builder(&store, &late).start().await.unwrap_err().to_string(),
        "failed to register workflow `w` version 2612011200: a version is at most 2147483647"
    );
}

/// What `fn main() -> anyhow::Result<()>` prints.
#[tokio::test(start_paused = true)]
async fn an_error_can_be_printed_as_it_is_and_says_once_what_failed() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &chain(&log)).await;
    let other = engine.start_json("other", "k", Json::parse("1").unwrap(), StartOptions::default()).await;
    let keyless = start(&engine, "", "1").await;
    let nobodys = StartOptions { tenant: Some("".into()), ..StartOptions::default() };
    let nobodys = engine.start_json("w", "k", Json::parse("1").unwrap(), nobodys).await;
    let by = By::new("ann", "the bank\nhas a fault", "1");
    engine.operator().workflow("w").hold_starts(by).await.unwrap();
    let held = start(&engine, "held", "1").await;
    engine.operator().workflow("w").release(By::new("ann", "it works", "2")).await.unwrap();
    begin(&engine, "a\nb").await;
    let conflict = start(&engine, "a\nb", "2").await;
    engine.shutdown(Duration::ZERO).await.unwrap();
    let stopped = start(&engine, "k", "1").await;
    let errors =
        [other, keyless, nobodys, held, conflict, stopped].map(|error| error.unwrap_err().to_string());
    for error in &errors {
        assert!(error.starts_with("failed to start the saga: "), "{error}");
        assert_eq!(error.matches("failed to").count(), 1, "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

/// The chain, which says of its input what a desk wants to know.
fn labelled(labels: fn(&Json) -> Result<Vec<Label>, String>) -> Definition {
    Definition { labels: Some(Arc::new(labels)), ..chain(&Log::default()) }
}

#[tokio::test(start_paused = true)]
async fn the_tenant_and_the_labels_of_a_start_stand_in_its_row_and_in_its_view() {
    let store = Arc::new(MemoryStore::new());
    let said = |_: &Json| Ok(vec![Label::text("customer", "c-17").sensitive(), Label::number("amount", 100)]);
    let engine = engine(&store, &labelled(said)).await;
    let options = StartOptions { tenant: Some("shop-7".into()), ..StartOptions::default() };
    let saga = engine.start_json("w", "k", Json::parse("1").unwrap(), options).await.unwrap();
    let (row, view) = (store.find("w", "k").await.unwrap().unwrap(), saga.view().await.unwrap());
    assert_eq!((row.tenant.as_deref(), view.tenant.as_deref()), (Some("shop-7"), Some("shop-7")));
    assert_eq!((&row.labels, &view.labels), (&said(&Json::parse("1").unwrap()).unwrap(), &row.labels));
    let other = StartOptions { tenant: Some("another".into()), ..StartOptions::default() };
    let again = engine.start_json("w", "k", Json::parse("1").unwrap(), other).await.unwrap();
    assert_eq!(again.id(), saga.id(), "a tenant tells no two starts apart");
    assert_eq!(store.find("w", "k").await.unwrap().unwrap().tenant.as_deref(), Some("shop-7"));
}

#[tokio::test(start_paused = true)]
async fn a_tenant_that_cannot_be_kept_is_refused_at_the_door() {
    let engine = engine(&Arc::new(MemoryStore::new()), &chain(&Log::default())).await;
    for tenant in ["", "a\0b", &"x".repeat(201)] {
        let options = StartOptions { tenant: Some(tenant.into()), ..StartOptions::default() };
        let refused = engine.start_json("w", "k", Json::parse("1").unwrap(), options).await;
        assert!(matches!(refused, Err(SagaStartError::Tenant(_))), "{refused:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn labels_that_cannot_be_kept_are_left_out_and_start_the_saga_all_the_same() {
    let too_many = |_: &Json| {
        let sound = (0..9).map(|n| Label::number(format!("n{n}"), n));
        Ok([Label::text("a b", ""), Label::text("n0", "first")].into_iter().chain(sound).collect())
    };
    let store = Arc::new(MemoryStore::new());
    let first = engine(&store, &labelled(too_many)).await;
    start(&first, "k", "1").await.unwrap();
    let labels = store.find("w", "k").await.unwrap().unwrap().labels;
    let names: Vec<&str> = labels.iter().map(|label| &*label.name).collect();
    assert_eq!(names, ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"]);
    assert_eq!(labels[0], Label::text("n0", "first"), "of two of one name the first stands");

    let store = Arc::new(MemoryStore::new());
    let unlabelled = engine(&store, &labelled(|_| Err("it is not of this type".to_owned()))).await;
    start(&unlabelled, "k", "1").await.unwrap();
    assert_eq!(store.find("w", "k").await.unwrap().unwrap().labels, []);
}
