//! G28 of `tests/cases.md` at the engine's door: "retry now" against the retry that is about to happen.

use std::sync::Arc;
use std::time::Duration;

use amends::core::event::{FailureKind, Finding, JournalEvent};
use amends::core::machine::Attempted;
use amends::core::plan::Settle;
use amends::core::state::Stage;
use amends::core::{ActionId, Rejected};
use amends::memory::MemoryStore;
use amends::operator::{Answer, By, OperateError, OperatedSaga};
use amends::{Engine, SagaHandle};

use crate::workflow::{Log, Step, begin, done, engine, failure, pass, step, workflow};

fn x() -> ActionId {
    ActionId::forward("x")
}

fn press(id: &str) -> By {
    By::new(format!("operator-{id}"), "it is back", id)
}

async fn started(step: Step) -> (Engine, SagaHandle, OperatedSaga) {
    let engine = engine(&Arc::new(MemoryStore::new()), &workflow(vec![step])).await;
    let saga = begin(&engine, "k").await;
    let door = engine.operator().saga(saga.id());
    (engine, saga, door)
}

#[track_caller]
fn reason(answer: Result<Answer, OperateError>) -> String {
    match answer {
        Err(OperateError::Refused(Rejected::State(reason))) => reason,
        other => panic!("{other:?}"),
    }
}

/// The law refuses the second with the state as its reason (the case says "already started").
#[tokio::test(start_paused = true)]
async fn g28_two_who_press_at_once_start_it_once_and_both_stand_in_the_audit() {
    let log = Log::default();
    let ran = log.clone();
    let busy = step("x", &log)
        .plan(|plan| (plan.retry.base, plan.retry.cap) = (Duration::from_secs(60), Duration::from_secs(60)))
        .runs(move |cx| {
            ran.note(format!("x{}", cx.attempt()));
            async move {
                if cx.attempt() < 3 {
                    let hint = Some(Duration::from_secs(60));
                    let busy = failure(FailureKind::Transient, "busy");
                    return Attempted::Transient(amends::core::event::Failure { hint, ..busy });
                }
                cx.clock().sleep_until(cx.clock().now() + Duration::from_secs(1)).await;
                done()
            }
        });
    let (_engine, saga, door) = started(busy).await;
    pass(Duration::from_millis(119_990)).await;
    assert_eq!(
        (log.lines().len(), saga.view().await.unwrap().step("x").unwrap().forward.stage),
        (2, Stage::RetryScheduled)
    );

    let (one, two) = tokio::join!(door.retry_now(x(), press("1")), door.retry_now(x(), press("2")));
    let answers = [one, two];
    assert_eq!(answers.iter().filter(|answer| **answer == Ok(Answer::Accepted)).count(), 1, "{answers:?}");
    let refused = answers.into_iter().find(Result::is_err).unwrap();
    assert!(reason(refused).starts_with("only a RETRY_SCHEDULED or RECONCILING action can be hurried"));
    saga.outcome().await.unwrap();
    pass(Duration::from_secs(120)).await;
    assert_eq!(log.lines(), ["x1", "x2", "x3"], "the timer is spent");

    let asked = door.asked().await.unwrap();
    let audit: Vec<_> = asked.iter().map(|asking| (&*asking.by.actor, &*asking.by.operation_id.0)).collect();
    assert_eq!(audit, [("operator-1", "1"), ("operator-2", "2")]);
    assert!(asked.iter().all(|asking| asking.answer.is_some() && asking.seq.is_some()));
    let view = saga.view().await.unwrap();
    let hurried = view.journal().iter().flat_map(|row| &row.events).filter_map(|event| match event {
        JournalEvent::HurriedByPerson { operation, .. } => Some(&*operation.0),
        _ => None,
    });
    assert_eq!(hurried.collect::<Vec<_>>(), ["1"], "one is the cause");
}

#[tokio::test(start_paused = true)]
async fn g28_retry_now_of_an_unknown_outcome_is_a_query_and_never_does_it_again() {
    let log = Log::default();
    let lost = step("x", &log)
        .plan(|plan| (plan.query.base, plan.query.cap) = (Duration::from_secs(600), Duration::from_secs(600)))
        .runs({
            let log = log.clone();
            move |_| {
                log.note("x");
                async { Attempted::Unknown(failure(FailureKind::Unknown, "lost")) }
            }
        })
        .finds({
            let log = log.clone();
            move |_| {
                log.note("ask x");
                Finding::Applied(amends::core::event::Recorded::Value(
                    amends::core::Json::parse("1").unwrap(),
                ))
            }
        });
    let (_engine, saga, door) = started(lost).await;
    pass(Duration::from_millis(1)).await;
    assert_eq!(log.lines(), ["x"]);
    assert_eq!(door.retry_now(x(), press("1")).await, Ok(Answer::Accepted));
    saga.outcome().await.unwrap();
    assert_eq!(log.lines(), ["x", "ask x"]);
    assert_eq!(
        reason(door.retry_now(x(), press("2")).await),
        "only a RETRY_SCHEDULED or RECONCILING action can be hurried, and `x/forward` is SUCCEEDED"
    );
}

#[tokio::test(start_paused = true)]
async fn g28_what_only_a_person_can_settle_and_what_is_undone_is_not_retried() {
    let log = Log::default();
    let lost = step("x", &log)
        .plan(|plan| plan.settle = Settle::ByOperator)
        .runs(|_| async { Attempted::Unknown(failure(FailureKind::Unknown, "lost")) });
    let (_engine, saga, door) = started(lost).await;
    saga.settled().await.unwrap();
    assert_eq!(
        reason(door.retry_now(x(), press("1")).await),
        "nothing asks about `x/forward`: send it again, or settle it"
    );
    let one = Some(amends::core::Json::parse("1").unwrap());
    assert_eq!(door.cancel(press("2")).await, Ok(Answer::Accepted));
    assert_eq!(door.accept(x(), one, "the books", press("3")).await, Ok(Answer::Accepted));
    saga.outcome().await.unwrap();
    assert_eq!(log.lines(), ["undo x"]);
    for (id, action) in [("4", x()), ("5", ActionId::compensation("x"))] {
        assert!(reason(door.retry_now(action, press(id)).await).ends_with("is SUCCEEDED"));
    }
}

#[tokio::test(start_paused = true)]
async fn g28_a_quarantined_step_goes_on_under_its_request_id_with_a_budget_that_the_audit_states() {
    let log = Log::default();
    let ran = log.clone();
    let broken = step("x", &log).runs(move |cx| {
        ran.note(cx.request_id().to_string());
        async move {
            match cx.attempt() {
                1 => Attempted::Persistent(failure(FailureKind::Persistent, "credential")),
                _ => done(),
            }
        }
    });
    let (_engine, saga, door) = started(broken).await;
    saga.settled().await.unwrap();
    assert!(reason(door.retry_now(x(), press("1")).await).ends_with("is QUARANTINED"));
    assert_eq!(door.resume(x(), press("2")).await, Ok(Answer::Accepted));
    saga.outcome().await.unwrap();
    let request = x().request_id(saga.id()).to_string();
    assert_eq!(log.lines(), [request.clone(), request]);
    assert!(saga.view().await.unwrap().timeline().contains("x resumed with 5 attempts"));
}
