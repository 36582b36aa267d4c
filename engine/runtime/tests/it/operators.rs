use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use amends::core::event::{Answer, FailureKind, Finding, TurnReason};
use amends::core::machine::{Attempted, Operation};
use amends::core::plan::Settle;
use amends::core::{ActionId, Json, SagaId};
use amends::engine::OperateError;
use amends::memory::MemoryStore;
use amends::{Limits, Outcome, SagaHandle};
use expect_test::expect;

use crate::workflow::{
    Log, Step, begin, builder, done, engine, failure, operation, pass, step, timeline, workflow,
};

/// A step whose credential is wrong until it is put right.
fn wrong_credential(name: &'static str, log: &Log) -> (Step, Arc<AtomicBool>) {
    let right = Arc::new(AtomicBool::new(false));
    let seen = right.clone();
    let step = step(name, log).runs(move |_| {
        let right = seen.load(Ordering::SeqCst);
        async move {
            if right { done() } else { Attempted::Persistent(failure(FailureKind::Persistent, "credential")) }
        }
    });
    (step, right)
}

async fn stands_on_the_desk(saga: &SagaHandle) {
    for _ in 0..1_000 {
        if !saga.view().await.unwrap().desk.is_empty() {
            return;
        }
        pass(Duration::from_secs(1)).await;
    }
    panic!("it never came to a desk:\n{}", timeline(saga).await);
}

#[tokio::test(start_paused = true)]
async fn a_quarantined_step_goes_on_when_a_person_resumes_it() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let (a, right) = wrong_credential("a", &log);
    let engine = engine(&store, &workflow(vec![a])).await;
    let saga = begin(&engine, "k").await;
    stands_on_the_desk(&saga).await;
    assert_eq!(engine.desk().await.unwrap()[0].1.reason, "persistent");
    right.store(true, Ordering::SeqCst);
    let action = ActionId::forward("a");
    assert_eq!(saga.resume(action.clone(), operation("1")).await.unwrap(), Answer::Accepted);
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    assert_eq!(saga.resume(action, operation("1")).await.unwrap(), Answer::Accepted, "the stored answer");
    assert!(engine.desk().await.unwrap().is_empty());
    expect![[r#"
        +0.000s w 1 started for k
        +0.000s a started (attempt 1)
        +0.000s a failed (attempt 1, persistent credential): quarantined (persistent)
        +0.000s a resumed with 5 attempts
        +0.000s ann asked to resume: accepted
        +0.000s a started (attempt 2)
        +0.000s a succeeded
        +0.000s completed
    "#]]
    .assert_eq(&timeline(&saga).await);
    let view = saga.view().await.unwrap();
    let actors: Vec<_> = view.journal().iter().map(|row| row.actor.as_str()).collect();
    assert_eq!(actors, ["engine", "engine", "ann", "engine"]);
}

#[tokio::test(start_paused = true)]
async fn a_command_that_the_state_forbids_is_refused_with_the_state_as_the_reason() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &workflow(vec![step("a", &log)])).await;
    let saga = begin(&engine, "k").await;
    saga.outcome().await.unwrap();
    let error = saga.resume(ActionId::forward("a"), operation("1")).await.unwrap_err();
    assert!(matches!(error, OperateError::Refused(_)), "{error}");
    assert_eq!(error.to_string(), "failed to decide: the saga has ended");
    assert_eq!(saga.cancel(operation("2")).await.unwrap(), Answer::TooLate);
    assert_eq!(store.stats().journal_rows, 4, "one row for each question: taken up, and answered");
    let nobody = begin(&engine, "other").await;
    assert_ne!(nobody.id(), SagaId(Default::default()));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_saga_turns_back_and_the_same_operation_is_answered_the_same() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let (b, _) = wrong_credential("b", &log);
    let engine = engine(&store, &workflow(vec![step("a", &log), b.after(&["a"])])).await;
    let saga = begin(&engine, "k").await;
    stands_on_the_desk(&saga).await;
    assert_eq!(saga.cancel(operation("1")).await.unwrap(), Answer::Accepted);
    let reason = TurnReason::Cancelled { by: "ann".to_owned(), reason: "a test".to_owned() };
    assert_eq!(saga.outcome().await.unwrap(), Outcome::Compensated { reason });
    assert_eq!(log.lines(), ["a", "undo a"]);
    assert_eq!(saga.cancel(operation("1")).await.unwrap(), Answer::Accepted, "the stored answer");
    assert_eq!(saga.cancel(operation("2")).await.unwrap(), Answer::Already);
}

#[tokio::test(start_paused = true)]
async fn an_accepted_result_must_decode_before_it_is_journalled() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let unknown = step("a", &log)
        .plan(|plan| plan.settle = Settle::ByOperator)
        .runs(|_| async { Attempted::Unknown(failure(FailureKind::Unknown, "lost")) })
        .finds(|_| Finding::Absent);
    let engine = engine(&store, &workflow(vec![unknown])).await;
    let saga = begin(&engine, "k").await;
    stands_on_the_desk(&saga).await;
    let action = ActionId::forward("a");
    let text = Some(Json::parse("\"seven\"").unwrap());
    let error = saga.accept(action.clone(), text, "a letter", operation("1")).await.unwrap_err();
    assert!(matches!(error, OperateError::Output(_)), "{error}");
    let seven = Json::parse("7").unwrap();
    let answer = saga.accept(action, Some(seven.clone()), "a letter", operation("1")).await;
    assert_eq!(answer.unwrap(), Answer::Accepted);
    assert_eq!(saga.outcome().await.unwrap(), Outcome::Completed(seven));
}

#[tokio::test(start_paused = true)]
async fn a_saga_that_is_not_in_memory_is_taken_up_for_a_person() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let (a, right) = wrong_credential("a", &log);
    let limits = Limits { max_active: 1, ..Limits::default() };
    let engine = builder(&store, &workflow(vec![a])).limits(limits).start().await.unwrap();
    let saga = begin(&engine, "k").await;
    stands_on_the_desk(&saga).await;
    let row = amends::ports::SagaQuery::find(&*store, "w", "k").await.unwrap().unwrap();
    assert_eq!((row.owner, row.wake_at), (None, None), "only a person can move it");
    right.store(true, Ordering::SeqCst);
    assert_eq!(saga.resume(ActionId::forward("a"), operation("1")).await.unwrap(), Answer::Accepted);
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    expect![[r#"
        +0.000s w 1 started for k
        +0.000s a started (attempt 1)
        +0.000s a failed (attempt 1, persistent credential): quarantined (persistent)
        +0.000s taken up again
        +0.000s a resumed with 5 attempts
        +0.000s ann asked to resume: accepted
        +0.000s a started (attempt 2)
        +0.000s a succeeded
        +0.000s completed
    "#]]
    .assert_eq(&timeline(&saga).await);
}

#[tokio::test(start_paused = true)]
async fn what_two_people_ask_at_once_stands_in_two_rows_under_their_names() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let ((a, right), (b, also_right)) = (wrong_credential("a", &log), wrong_credential("b", &log));
    let engine = engine(&store, &workflow(vec![a, b])).await;
    let saga = begin(&engine, "k").await;
    stands_on_the_desk(&saga).await;
    right.store(true, Ordering::SeqCst);
    also_right.store(true, Ordering::SeqCst);
    let of_bob = Operation { actor: "bob".to_owned(), ..operation("2") };
    let (first, second) = tokio::join!(
        saga.resume(ActionId::forward("a"), operation("1")),
        saga.resume(ActionId::forward("b"), of_bob),
    );
    assert_eq!((first.unwrap(), second.unwrap()), (Answer::Accepted, Answer::Accepted));
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    let view = saga.view().await.unwrap();
    let people: Vec<&str> =
        view.journal().iter().map(|row| row.actor.as_str()).filter(|actor| *actor != "engine").collect();
    assert_eq!(people, ["ann", "bob"]);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_on_the_desk_is_drawn_as_waiting_for_a_person() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let lost = step("a", &log)
        .plan(|plan| plan.settle = Settle::ByOperator)
        .runs(|_| async { Attempted::Unknown(failure(FailureKind::Unknown, "timeout")) });
    let engine = engine(&store, &workflow(vec![lost, step("b", &log).after(&["a"])])).await;
    let saga = begin(&engine, "k").await;
    stands_on_the_desk(&saga).await;
    let view = saga.view().await.unwrap();
    expect![[r#"
        ! a  unknown, waits for a person
        · b  waits  after a
    "#]]
    .assert_eq(&view.picture());
    assert!(view.mermaid().contains("unknown, waits for a person\"]:::person"), "{}", view.mermaid());
}
