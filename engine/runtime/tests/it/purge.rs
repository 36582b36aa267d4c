//! What ended long ago is purged, and its key is remembered.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use amends::core::event::{FailureKind, Recorded};
use amends::core::machine::Attempted;
use amends::core::{ActionId, Json, Timestamp};
use amends::engine::{OperateError, OutcomeError, Reply, SagaStartError, Tombstone, ViewError};
use amends::memory::MemoryStore;
use amends::operator::By;
use amends::ports::{ControlStore as _, IntakeFilter, SagaFilter, SagaQuery as _};
use amends::{Engine, Outcome, SagaHandle, Settled, StartOptions};
use tokio::task::JoinHandle;

use crate::gate::GatedStore;
use crate::workflow::{
    Log, begin, builder, done, failure, next_engine, operation, pass, step, undone, workflow,
};

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Time jumps, and whatever is due by then happens.
async fn jump(time: Duration) {
    tokio::time::advance(time).await;
    pass(Duration::from_secs(130)).await;
}

fn ann(operation: &'static str) -> By {
    By::new("ann", "why", operation)
}

async fn start(
    engine: &Engine,
    key: &str,
    input: &str,
    options: StartOptions,
) -> Result<SagaHandle, SagaStartError> {
    engine.start_json("w", key, Json::parse(input).unwrap(), options).await
}

fn tombstone(outcome: Result<Outcome, OutcomeError>) -> Tombstone {
    match outcome {
        Err(OutcomeError::Purged(tombstone)) => *tombstone,
        other => panic!("{other:?}"),
    }
}

/// G15: retention of 30 days; the same trigger on day 31.
#[tokio::test(start_paused = true)]
async fn g15_a_trigger_that_comes_again_after_the_purge_finds_that_it_was_handled() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let workflow = workflow(vec![step("charge", &log)]);
    let engine = builder(&store, &workflow).purge_after(30 * DAY).start().await.unwrap();
    let first = start(&engine, "evt-9", "200", StartOptions::default()).await.unwrap();
    first.outcome().await.unwrap();
    jump(29 * DAY).await;
    assert!(first.view().await.is_ok(), "it is kept for 30 days");
    jump(2 * DAY).await;

    let again = start(&engine, "evt-9", "200", StartOptions::default()).await.unwrap();
    assert_eq!(again.id(), first.id());
    assert_eq!(log.lines(), ["charge"], "no new charge");
    let left = tombstone(again.outcome().await);
    assert_eq!((left.saga, &*left.key, &*left.outcome), (first.id(), "evt-9", "completed"));
    let conflict = start(&engine, "evt-9", "500", StartOptions::default()).await.unwrap_err();
    let SagaStartError::Conflict { standing, .. } = conflict else { panic!("{conflict}") };
    assert_eq!((standing.id, &*standing.phase), (first.id(), "purged"));
}

/// G15, the variant: what is not over is never pruned.
#[tokio::test(start_paused = true)]
async fn g15_a_saga_that_waits_for_90_days_is_whole_when_somebody_comes() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let wrong = step("charge", &log)
        .runs(|_| async { Attempted::Persistent(failure(FailureKind::Persistent, "credential")) });
    let engine = builder(&store, &workflow(vec![wrong])).purge_after(30 * DAY).start().await.unwrap();
    let saga = begin(&engine, "evt-9").await;
    saga.settled().await.unwrap();
    jump(90 * DAY).await;
    assert_eq!(saga.view().await.unwrap().desk.len(), 1);
    saga.cancel(operation("op")).await.unwrap();
    assert!(matches!(saga.outcome().await, Ok(Outcome::Compensated { .. })));
    jump(31 * DAY).await;
    assert!(tombstone(saga.outcome().await).ended_as("compensated"), "over is over");
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_for_a_purged_saga_is_told_what_is_left() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let workflow = workflow(vec![step("charge", &log)]);
    let engine = builder(&store, &workflow).purge_after(DAY).start().await.unwrap();
    let saga = begin(&engine, "k").await;
    saga.outcome().await.unwrap();
    jump(2 * DAY).await;

    let error = saga.view().await.unwrap_err();
    assert!(matches!(error, ViewError::Purged(_)), "{error}");
    let told = error.to_string();
    assert!(told.starts_with("failed to show the saga: ") && told.ends_with(" as completed"), "{told}");
    assert!(matches!(saga.settled().await, Err(OutcomeError::Purged(_))));
    let door = engine.operator().saga(saga.id());
    assert!(matches!(door.inspect().await, Err(ViewError::Purged(_))));
    assert_eq!(door.cancel(ann("op")).await, Err(OperateError::Purged));
    assert_eq!(engine.find("w", "k").await.unwrap().unwrap().id(), saga.id());
    assert_eq!(engine.operator().find("w", "k").await.unwrap().unwrap().phase, "purged");
    assert!(engine.orphans().await.unwrap().not_here.is_empty());
    assert_eq!(engine.desk().await.unwrap(), []);
    let all = SagaFilter { limit: 10, ..SagaFilter::default() };
    assert_eq!(store.list(&all).await.unwrap().len(), 1);

    // A new process, which does not know the old definition any more, stumbles over nothing either.
    let id = saga.id();
    engine.abort().await;
    drop((saga, door, engine));
    let other = crate::workflow::workflow(vec![step("charge", &log), step("ship", &log)]);
    let engine = next_engine(&store, &other).await;
    pass(Duration::from_secs(60)).await;
    assert_eq!(begin(&engine, "k").await.id(), id);
    assert_eq!(log.lines(), ["charge"]);
}

#[tokio::test(start_paused = true)]
async fn an_order_is_remembered_for_as_long_as_what_ended_or_while_it_is_in_force() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let workflow = workflow(vec![step("charge", &log)]);
    let engine = builder(&store, &workflow).purge_after(30 * DAY).start().await.unwrap();
    let operator = engine.operator();
    let of = operator.workflow("w");
    of.pause(ann("stands")).await.unwrap();
    of.hold_starts(ann("held")).await.unwrap();
    of.release(ann("released")).await.unwrap();
    jump(29 * DAY).await;
    of.hold_starts(ann("held")).await.unwrap();
    assert_eq!(operator.controls().await.unwrap().len(), 1, "the answer of then, and nothing is held");
    jump(2 * DAY).await;
    let kept = |id: &'static str| {
        let store = store.clone();
        async move { store.ordered(id).await.unwrap().is_some() }
    };
    assert!(!kept("held").await && !kept("released").await && kept("stands").await);
}

#[tokio::test(start_paused = true)]
async fn late_news_of_a_purged_saga_is_kept_unless_it_says_how_the_saga_ended() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let workflow = workflow(vec![step("charge", &log)]);
    let engine = builder(&store, &workflow).purge_after(DAY).start().await.unwrap();
    let saga = begin(&engine, "k").await;
    saga.outcome().await.unwrap();
    jump(2 * DAY).await;
    let of = |action: ActionId| action.request_id(saga.id());
    let charge = of(ActionId::forward("charge"));
    let reply = |request, answer| engine.reply(saga.id(), request, Some(1), answer, "nats");
    let refused = || Attempted::Refused(Recorded::Value(Json::parse("\"no\"").unwrap()));
    assert_eq!(reply(charge, done()).await, Ok(Reply::Agrees), "it completed, and so it was charged");
    for _ in 0..2 {
        assert_eq!(reply(charge, refused()).await, Ok(Reply::Kept));
    }
    assert_eq!(reply(of(ActionId::compensation("charge")), undone()).await, Ok(Reply::Kept));
    assert_eq!(reply(of(ActionId::forward("nobodys")), done()).await, Ok(Reply::Kept));
    let filter = IntakeFilter { code: Some("late-news".to_owned()), limit: 10, ..IntakeFilter::default() };
    let rows = engine.operator().intake().list(&filter).await.unwrap();
    let seen: Vec<(_, u64)> = rows.iter().map(|row| (row.saga, row.seen)).collect();
    assert_eq!(seen, [(Some(saga.id()), 2), (Some(saga.id()), 1), (Some(saga.id()), 1)]);
    assert_eq!(log.lines(), ["charge"], "late news starts nothing");
}

#[tokio::test(start_paused = true)]
async fn beyond_the_dedupe_horizon_a_trigger_is_refused_by_its_own_time() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let workflow = workflow(vec![step("charge", &log)]);
    let engine = builder(&store, &workflow).purge_after(DAY).forget_after(10 * DAY).start().await.unwrap();
    let occurred = StartOptions { occurred_at: Some(engine.now()), ..StartOptions::default() };
    let first = start(&engine, "evt-9", "200", occurred.clone()).await.unwrap();
    first.outcome().await.unwrap();
    jump(9 * DAY).await;
    let again = start(&engine, "evt-9", "200", occurred.clone()).await.unwrap();
    assert_eq!(again.id(), first.id(), "within the horizon the key is remembered");

    jump(Duration::from_secs(24 * 3_600 - 300)).await;
    assert!(store.find("w", "evt-9").await.unwrap().is_some(), "the key outlives the horizon");
    jump(DAY).await;
    assert!(store.find("w", "evt-9").await.unwrap().is_none(), "and is then forgotten");
    let refused = start(&engine, "evt-9", "200", occurred.clone()).await.unwrap_err();
    assert!(matches!(refused, SagaStartError::TooOld { .. }), "{refused}");
    assert_eq!(log.lines(), ["charge"]);
    let fresh = StartOptions { occurred_at: Some(engine.now()), ..StartOptions::default() };
    assert!(start(&engine, "evt-10", "200", fresh).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn what_still_stands_is_answered_however_old_its_trigger_is() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let wrong = step("charge", &log)
        .runs(|_| async { Attempted::Persistent(failure(FailureKind::Persistent, "credential")) });
    let engine = builder(&store, &workflow(vec![wrong]))
        .purge_after(DAY)
        .forget_after(10 * DAY)
        .start()
        .await
        .unwrap();
    let occurred = StartOptions { occurred_at: Some(engine.now()), ..StartOptions::default() };
    let first = start(&engine, "evt-9", "200", occurred.clone()).await.unwrap();
    first.settled().await.unwrap();
    jump(30 * DAY).await;
    assert_eq!(start(&engine, "evt-9", "200", occurred.clone()).await.unwrap().id(), first.id());
    let conflict = start(&engine, "evt-9", "500", occurred).await.unwrap_err();
    assert!(matches!(conflict, SagaStartError::Conflict { .. }), "{conflict}");
}

/// A start in a task of its own, of what occurred then, or that does not say when it occurred.
fn begins(
    engine: &Engine,
    key: &'static str,
    occurred_at: Option<Timestamp>,
) -> JoinHandle<Result<SagaHandle, SagaStartError>> {
    let engine = engine.clone();
    let options = StartOptions { occurred_at, ..StartOptions::default() };
    tokio::spawn(async move { start(&engine, key, "200", options).await })
}

/// Was it answered as a repetition, or refused? Which of the two depends on whether its key was still remembered.
#[track_caller]
fn is_not_made(answer: Result<SagaHandle, SagaStartError>, first: &SagaHandle) {
    match answer {
        Ok(saga) => assert_eq!(saga.id(), first.id()),
        Err(error) => assert!(matches!(error, SagaStartError::TooOld { .. }), "{error}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_start_that_was_held_up_until_its_key_was_forgotten_is_not_made_again() {
    let (store, log) = (GatedStore::new(), Log::default());
    let workflow = workflow(vec![step("charge", &log)]);
    let engine = builder(&store, &workflow).purge_after(DAY).forget_after(10 * DAY).start().await.unwrap();
    let occurred = Some(engine.now());
    let first = begins(&engine, "evt-9", occurred).await.unwrap().unwrap();
    first.outcome().await.unwrap();
    jump(9 * DAY).await;
    store.held_keys.lock().unwrap().insert("evt-9".to_owned());
    let again = begins(&engine, "evt-9", occurred);
    pass(Duration::from_secs(1)).await;
    jump(3 * DAY).await;
    assert!(store.find("w", "evt-9").await.unwrap().is_none(), "it is forgotten");
    store.held_keys.lock().unwrap().clear();
    is_not_made(again.await.unwrap(), &first);
    assert_eq!(log.lines(), ["charge"]);
}

#[tokio::test(start_paused = true)]
async fn a_start_that_waited_for_the_store_until_its_key_was_forgotten_is_not_made_again() {
    let (store, log) = (GatedStore::new(), Log::default());
    let workflow = workflow(vec![step("charge", &log)]);
    let engine = builder(&store, &workflow).purge_after(DAY).forget_after(10 * DAY).start().await.unwrap();
    let occurred = Some(engine.now());
    let first = begins(&engine, "evt-9", occurred).await.unwrap().unwrap();
    first.outcome().await.unwrap();
    let timeless = begins(&engine, "evt-10", None).await.unwrap().unwrap();
    timeless.outcome().await.unwrap();
    store.unreachable.store(u32::MAX, Ordering::SeqCst);
    let with_the_committer = begins(&engine, "evt-9", occurred);
    pass(Duration::from_secs(1)).await;
    let in_the_queue = begins(&engine, "evt-10", None);
    pass(Duration::from_secs(1)).await;
    jump(12 * DAY).await;
    assert!(store.find("w", "evt-10").await.unwrap().is_none(), "both are forgotten");
    store.unreachable.store(0, Ordering::SeqCst);
    is_not_made(with_the_committer.await.unwrap(), &first);
    is_not_made(in_the_queue.await.unwrap(), &timeless);
    assert_eq!(log.lines(), ["charge", "charge"]);
    assert!(start(&engine, "evt-11", "200", StartOptions::default()).await.is_ok(), "the store is in reach");
}

#[tokio::test(start_paused = true)]
async fn a_start_that_was_made_and_never_answered_is_found_beyond_the_horizon() {
    let (store, log) = (GatedStore::new(), Log::default());
    let workflow = workflow(vec![step("charge", &log)]);
    let engine = builder(&store, &workflow).purge_after(DAY).forget_after(10 * DAY).start().await.unwrap();
    store.lost_answers.store(1, Ordering::SeqCst);
    let made = begins(&engine, "evt-9", Some(engine.now()));
    pass(Duration::from_millis(5)).await;
    store.unreachable.store(u32::MAX, Ordering::SeqCst);
    jump(12 * DAY).await;
    store.unreachable.store(0, Ordering::SeqCst);
    let saga = made.await.unwrap().unwrap();
    assert!(
        matches!(saga.settled().await, Ok(Settled::OnDesk(_))),
        "it went on, beyond the patience of its step"
    );
}

/// Whoever says "for ever" as a number gets that, and what is to be purged is purged.
#[tokio::test(start_paused = true)]
async fn a_horizon_beyond_all_time_ends_no_purging() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let workflow = workflow(vec![step("charge", &log)]);
    let builder = builder(&store, &workflow).purge_after(DAY).forget_after(Duration::MAX);
    let engine = builder.start().await.unwrap();
    for key in ["1", "2"] {
        let saga = begin(&engine, key).await;
        saga.outcome().await.unwrap();
        jump(2 * DAY).await;
        assert_eq!(tombstone(saga.outcome().await).saga, saga.id());
    }
}
