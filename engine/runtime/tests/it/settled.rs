//! `SagaHandle::settled` returns when the saga has ended or waits for nothing but people.

use std::sync::Arc;
use std::time::Duration;

use amends::core::ActionId;
use amends::core::agenda::Desk;
use amends::core::event::{Answer, FailureKind, Finding};
use amends::core::machine::Attempted;
use amends::memory::MemoryStore;
use amends::{Limits, Outcome, SagaHandle, Settled};
use tokio::time::timeout;

use crate::workflow::{
    Log, Step, begin, chain, done, engine, failure, limited, next_engine, operation, pass, step, workflow,
};

/// A step that fails for good at its first attempt and succeeds at the second.
fn fails_once(name: &'static str, log: &Log) -> Step {
    step(name, log).runs(|cx| async move {
        match cx.attempt() {
            1 => Attempted::Persistent(failure(FailureKind::Persistent, "credential")),
            _ => done(),
        }
    })
}

fn on_desk(settled: Settled) -> Vec<(String, Desk)> {
    match settled {
        Settled::OnDesk(items) => items.into_iter().map(|item| (item.step().to_owned(), item.desk)).collect(),
        Settled::Ended(outcome) => panic!("it ended: {outcome:?}"),
    }
}

async fn settled(saga: &SagaHandle) -> Settled {
    let minute = Duration::from_secs(60);
    timeout(minute, saga.settled()).await.expect("it settles within a minute").unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_caller_hears_that_the_saga_stands_on_a_desk_where_its_outcome_would_never_come() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &workflow(vec![fails_once("a", &log)])).await;
    let saga = begin(&engine, "k").await;

    let outcome = tokio::spawn({
        let saga = saga.clone();
        async move { saga.outcome().await }
    });
    assert_eq!(on_desk(settled(&saga).await), [("a".to_owned(), Desk::Quarantine)]);
    assert_eq!(on_desk(settled(&saga).await).len(), 1, "who asks later is told at once");
    assert!(!outcome.is_finished(), "the outcome waits for the person");

    let answer = saga.resume(ActionId::forward("a"), operation("1")).await.unwrap();
    assert_eq!(answer, Answer::Accepted);
    assert!(matches!(settled(&saga).await, Settled::Ended(Outcome::Completed(_))));
    assert!(matches!(outcome.await.unwrap(), Ok(Outcome::Completed(_))));
}

#[tokio::test(start_paused = true)]
async fn what_goes_on_beside_the_desk_is_awaited_first() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let slow = step("b", &log).runs(|cx| async move {
        cx.clock().sleep_until(cx.clock().now() + Duration::from_secs(20)).await;
        done()
    });
    let retried = step("c", &log).runs(|cx| async move {
        match cx.attempt() {
            1..=3 => Attempted::Transient(failure(FailureKind::Transient, "busy")),
            _ => Attempted::Persistent(failure(FailureKind::Persistent, "route")),
        }
    });
    let engine = engine(&store, &workflow(vec![fails_once("a", &log), slow, retried])).await;
    let saga = begin(&engine, "k").await;
    let before = engine.now();
    let names: Vec<String> = on_desk(settled(&saga).await).into_iter().map(|item| item.0).collect();
    assert_eq!(names, ["a", "c"]);
    let took = engine.now().since(before);
    assert!(took >= Duration::from_secs(20), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_a_query_may_still_find_out_is_awaited() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let lost = step("a", &log)
        .runs(|_| async { Attempted::Unknown(failure(FailureKind::Unknown, "timeout")) })
        .finds(|_| Finding::Unclear { report: String::new() });
    let engine = engine(&store, &workflow(vec![lost])).await;
    let saga = begin(&engine, "k").await;
    let day = Duration::from_secs(86_400);
    let settled = timeout(day, saga.settled()).await.expect("the queries are spent").unwrap();
    assert_eq!(on_desk(settled), [("a".to_owned(), Desk::Reconciliation)]);
    let view = saga.view().await.unwrap();
    assert_eq!(view.steps[0].forward.queries, view.plan().steps[0].query.max_queries);
}

#[tokio::test(start_paused = true)]
async fn a_saga_that_is_not_in_memory_is_told_from_the_store() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let definition = workflow(vec![fails_once("a", &log)]);
    let limits = Limits { max_active: 1, release_after: Duration::ZERO, ..Limits::default() };
    let engine = limited(&store, &definition, limits).await;
    let saga = begin(&engine, "k").await;
    assert_eq!(on_desk(settled(&saga).await).len(), 1, "told in the commit that gives it up");
    pass(Duration::from_secs(10)).await;
    assert_eq!(on_desk(settled(&saga).await).len(), 1);
    engine.shutdown(Duration::from_secs(1)).await.unwrap();

    let engine = next_engine(&store, &definition).await;
    let saga = engine.find("w", "k").await.unwrap().unwrap();
    assert_eq!(on_desk(settled(&saga).await).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_saga_that_goes_well_settles_by_ending() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &chain(&log)).await;
    let saga = begin(&engine, "k").await;
    assert!(matches!(settled(&saga).await, Settled::Ended(Outcome::Completed(_))));
    assert!(matches!(settled(&saga).await, Settled::Ended(Outcome::Completed(_))), "and stays so");
}
