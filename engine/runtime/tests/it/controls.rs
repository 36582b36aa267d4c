//! What people set for a whole workflow, a dependency or a node, on one engine. Several: `amends-testkit`, `controls`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use amends::authoring::{Definition, StepContext};
use amends::core::agenda::Wait;
use amends::core::event::{FailureKind, Finding, JournalEvent};
use amends::core::machine::Attempted;
use amends::core::state::{Phase, Stage};
use amends::core::{Json, Rejected};
use amends::engine::{Limits, SagaStartError, StopReason};
use amends::memory::MemoryStore;
use amends::operator::{Answer, By, Control, OperateError, OperatedWorkflow};
use amends::ports::NodeStore as _;
use amends::view::Missing;
use amends::{Engine, Outcome, SagaHandle, StartOptions};

use crate::gate::GatedStore;
use crate::workflow::{
    Log, Step, begin, chain, done, engine, failure, limited, next_engine, pass, step, workflow,
};

const ACCEPTED: Result<Answer, OperateError> = Ok(Answer::Accepted);
const ALREADY: Result<Answer, OperateError> = Ok(Answer::Already);

fn ann(id: &str) -> By {
    By::new("ann", "the bank has a fault", id)
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn w(engine: &Engine) -> OperatedWorkflow {
    engine.operator().workflow("w")
}

fn memory() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new())
}

/// Answers after five seconds.
async fn slowly(cx: StepContext) -> Attempted {
    cx.clock().sleep_until(cx.clock().now() + seconds(5)).await;
    done()
}

async fn start(engine: &Engine, key: &str, input: &str) -> Result<SagaHandle, SagaStartError> {
    engine.start_json("w", key, Json::parse(input).unwrap(), StartOptions::default()).await
}

async fn completes(saga: &SagaHandle) {
    assert!(matches!(saga.outcome().await.unwrap(), Outcome::Completed(_)));
}

async fn stage(saga: &SagaHandle, step: &str) -> Stage {
    saga.view().await.unwrap().step(step).unwrap().forward.stage
}

#[track_caller]
fn refused(answer: Result<Answer, OperateError>, words: &str) {
    match answer {
        Err(OperateError::Refused(Rejected::State(reason))) if reason.contains(words) => {}
        other => panic!("`{words}` is to be the reason, not {other:?}"),
    }
}

/// That there is no saga of the key is for the store to say.
#[tokio::test(start_paused = true)]
async fn while_starts_are_held_one_that_was_made_is_found_as_soon_as_the_store_answers() {
    let store = GatedStore::new();
    let engine = engine(&store, &chain(&Log::default())).await;
    let saga = start(&engine, "before", "1").await.unwrap();
    assert_eq!(w(&engine).hold_starts(ann("1")).await, ACCEPTED);
    store.silent_finds.store(3, Ordering::SeqCst);
    assert_eq!(start(&engine, "before", "1").await.unwrap().id(), saga.id());
    store.silent_finds.store(3, Ordering::SeqCst);
    assert!(matches!(start(&engine, "new", "1").await, Err(SagaStartError::Held { .. })));
}

#[tokio::test(start_paused = true)]
async fn while_starts_are_held_none_is_made_and_what_runs_goes_on() {
    let log = Log::default();
    let slow = step("a", &log).runs(slowly);
    let engine = engine(&memory(), &workflow(vec![slow, step("b", &log).after(&["a"])])).await;
    let running = start(&engine, "before", "1").await.unwrap();
    assert_eq!(w(&engine).hold_starts(ann("1")).await, ACCEPTED);

    match start(&engine, "k", "1").await.map(|saga| saga.id()) {
        Err(SagaStartError::Held { workflow, by, reason, .. }) => {
            assert_eq!((&*workflow, &*by, &*reason), ("w", "ann", "the bank has a fault"));
        }
        other => panic!("{other:?}"),
    }
    assert!(engine.find("w", "k").await.unwrap().is_none());
    let again = start(&engine, "before", "1").await.unwrap();
    assert_eq!(again.id(), running.id(), "a start that was made before is answered as ever");
    assert!(matches!(start(&engine, "before", "2").await, Err(SagaStartError::Conflict { .. })));
    completes(&running).await;

    assert_eq!(w(&engine).release(ann("2")).await, ACCEPTED);
    completes(&start(&engine, "k", "1").await.unwrap()).await;
}

#[tokio::test(start_paused = true)]
async fn other_workflows_start_while_one_is_held() {
    let log = Log::default();
    let engine = engine(&memory(), &chain(&log)).await;
    assert_eq!(engine.operator().workflow("another").hold_starts(ann("1")).await, ACCEPTED);
    completes(&begin(&engine, "k").await).await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_workflow_starts_no_attempt_and_what_runs_ends() {
    let log = Log::default();
    let definition = workflow(vec![step("a", &log).runs(slowly), step("b", &log).after(&["a"])]);
    let engine = engine(&memory(), &definition).await;
    let saga = begin(&engine, "k").await;
    pass(seconds(1)).await;
    assert_eq!(w(&engine).pause(ann("1")).await, ACCEPTED);
    pass(seconds(60)).await;
    assert_eq!((stage(&saga, "a").await, stage(&saga, "b").await), (Stage::Succeeded, Stage::Ready));
    let later = begin(&engine, "later").await;
    pass(seconds(60)).await;
    assert_eq!(stage(&later, "a").await, Stage::Ready, "a start is no attempt: it stands and waits");
    assert_eq!(log.lines(), <[&str; 0]>::default());
    assert_eq!(w(&engine).unpause(ann("2")).await, ACCEPTED);
    completes(&saga).await;
    completes(&later).await;
}

#[tokio::test(start_paused = true)]
async fn the_view_names_the_pause_who_why_and_since_when() {
    let log = Log::default();
    let engine = engine(&memory(), &chain(&log)).await;
    assert_eq!(w(&engine).pause(ann("1")).await, ACCEPTED);
    let since = engine.now();
    pass(seconds(1)).await;
    let saga = begin(&engine, "k").await;
    let view = saga.view().await.unwrap();
    assert!(matches!(&view.waits[..], [Wait::Permit { .. }]), "{:?}", view.waits);
    let [deferral] = &view.deferrals[..] else { panic!("{:?}", view.deferrals) };
    assert_eq!(deferral.action.to_string(), "a/forward");
    let Missing::Paused(pause) = &deferral.missing else { panic!("{deferral}") };
    assert_eq!((&*pause.by, &*pause.reason, pause.since), ("ann", "the bank has a fault", since));
    let text = deferral.to_string();
    assert!(
        text.contains("workflow `w` is paused by ann since") && text.contains("the bank has a fault"),
        "{text}"
    );
    assert_eq!(engine.operator().controls().await.unwrap(), [(**pause).clone()]);
}

/// A step whose first attempt loses its answer; its query finds that it took effect.
fn lost_and_found(log: &Log) -> Step {
    let lost = |_| async { Attempted::Unknown(failure(FailureKind::Unknown, "lost")) };
    let noted = log.clone();
    step("a", log).runs(lost).finds(move |_| {
        noted.note("ask a");
        Finding::Absent
    })
}

#[tokio::test(start_paused = true)]
async fn queries_go_on_while_a_workflow_is_paused_and_repeats_do_not() {
    let log = Log::default();
    let repeats = {
        let ran = log.clone();
        step("r", &log).plan(|plan| plan.settle = amends::core::plan::Settle::ByRepeating).runs(move |cx| {
            ran.note(format!("r{}", cx.attempt()));
            async { Attempted::Unknown(failure(FailureKind::Unknown, "lost")) }
        })
    };
    let engine = engine(&memory(), &workflow(vec![lost_and_found(&log), repeats])).await;
    let saga = begin(&engine, "k").await;
    assert_eq!(w(&engine).pause(ann("1")).await, ACCEPTED);
    pass(seconds(600)).await;
    let lines = log.lines();
    assert!(lines.iter().any(|line| line == "ask a"), "{lines:?}");
    assert!(!lines.iter().any(|line| line == "r2"), "{lines:?}");
    assert_eq!(stage(&saga, "a").await, Stage::RetryScheduled, "found without effect, and not tried again");
    assert_eq!(w(&engine).unpause(ann("2")).await, ACCEPTED);
    pass(seconds(600)).await;
    assert!(log.lines().iter().any(|line| line == "r2"), "{:?}", log.lines());
}

#[tokio::test(start_paused = true)]
async fn a_cancel_of_a_paused_workflow_is_answered_at_once_and_undone_once_it_is_unpaused() {
    let log = Log::default();
    let definition = workflow(vec![step("a", &log), step("b", &log).after(&["a"]).runs(slowly)]);
    let engine = engine(&memory(), &definition).await;
    let saga = begin(&engine, "k").await;
    pass(seconds(1)).await;
    assert_eq!(w(&engine).pause(ann("1")).await, ACCEPTED);
    assert_eq!(engine.operator().saga(saga.id()).cancel(ann("cancel")).await, ACCEPTED);
    pass(seconds(60)).await;
    let view = saga.view().await.unwrap();
    assert_eq!((view.phase, log.lines()), (Phase::Compensating, vec!["a".to_owned()]));
    assert_eq!(view.deferrals.len(), 1, "the last compensation may begin: {:?}", view.deferrals);
    assert_eq!(w(&engine).unpause(ann("2")).await, ACCEPTED);
    assert!(matches!(saga.outcome().await.unwrap(), Outcome::Compensated { .. }));
    assert_eq!(log.lines(), ["a", "undo b", "undo a"]);
}

/// A step that must begin within a minute.
fn impatient(log: &Log) -> Definition {
    workflow(vec![step("a", log).plan(|plan| plan.retry.give_up_after = seconds(60))])
}

#[tokio::test(start_paused = true)]
async fn deadlines_run_while_a_workflow_is_paused_and_are_decided_when_it_is_unpaused() {
    let log = Log::default();
    let engine = engine(&memory(), &impatient(&log)).await;
    assert_eq!(w(&engine).pause(ann("1")).await, ACCEPTED);
    let saga = begin(&engine, "k").await;
    pass(seconds(600)).await;
    assert_eq!(stage(&saga, "a").await, Stage::Ready);
    assert_eq!(w(&engine).unpause(ann("2")).await, ACCEPTED);
    pass(seconds(1)).await;
    assert_eq!(stage(&saga, "a").await, Stage::Quarantined);
    assert_eq!(log.lines(), <[&str; 0]>::default());
}

#[tokio::test(start_paused = true)]
async fn a_pause_outlives_the_process_and_a_takeover_decides_no_deadline() {
    let (store, log) = (memory(), Log::default());
    let first = engine(&store, &impatient(&log)).await;
    assert_eq!(w(&first).pause(ann("1")).await, ACCEPTED);
    begin(&first, "k").await;
    first.abort().await;
    let second = next_engine(&store, &impatient(&log)).await;
    pass(seconds(10)).await;
    let saga = second.find("w", "k").await.unwrap().unwrap();
    let view = saga.view().await.unwrap();
    let events = view.journal().iter().flat_map(|row| &row.events);
    assert_eq!(events.filter(|event| matches!(event, JournalEvent::Claimed { .. })).count(), 1);
    assert_eq!(stage(&saga, "a").await, Stage::Ready, "an hour is gone, and nothing is decided");
    assert_eq!(w(&second).unpause(ann("2")).await, ACCEPTED);
    pass(seconds(1)).await;
    assert_eq!(stage(&saga, "a").await, Stage::Quarantined);
}

#[tokio::test(start_paused = true)]
async fn paused_sagas_that_found_no_room_in_memory_come_back_when_it_is_over() {
    let (store, log) = (memory(), Log::default());
    let few = Limits { max_active: 2, release_after: seconds(5), ..Limits::default() };
    let engine = limited(&store, &chain(&log), few).await;
    assert_eq!(w(&engine).pause(ann("1")).await, ACCEPTED);
    let mut sagas = Vec::new();
    for n in 0..6 {
        sagas.push(begin(&engine, &n.to_string()).await);
    }
    pass(seconds(60)).await;
    assert_eq!(w(&engine).unpause(ann("2")).await, ACCEPTED);
    for saga in &sagas {
        completes(saga).await;
    }
    assert_eq!(log.lines().len(), 24);
}

/// A step that calls this dependency, five seconds each time.
fn calls(log: &Log, name: &'static str) -> Step {
    step(name, log).plan(|plan| plan.contract.dependency = Some("bank".into())).runs(slowly)
}

#[tokio::test(start_paused = true)]
async fn a_dependency_that_is_held_defers_and_fails_nothing() {
    let log = Log::default();
    let engine = engine(&memory(), &workflow(vec![calls(&log, "a")])).await;
    let bank = engine.operator().dependency("bank");
    assert_eq!(bank.limit(0, ann("1")).await, ACCEPTED);
    let saga = begin(&engine, "k").await;
    pass(seconds(600)).await;
    let view = saga.view().await.unwrap();
    let forward = &view.step("a").unwrap().forward;
    assert_eq!((forward.stage, forward.attempts), (Stage::Ready, 0));
    let [deferral] = &view.deferrals[..] else { panic!("{:?}", view.deferrals) };
    assert_eq!(deferral.dependency.as_deref(), Some("bank"));
    let Missing::Limited(order) = &deferral.missing else { panic!("{deferral}") };
    let bank_is_held = Control::DependencyLimited { dependency: "bank".into(), calls_max: 0 };
    assert_eq!((&order.control, &*order.by), (&bank_is_held, "ann"));
    assert_eq!(bank.unlimit(ann("2")).await, ACCEPTED);
    completes(&saga).await;
}

#[tokio::test(start_paused = true)]
async fn a_limited_dependency_gets_so_many_calls_at_once_and_a_later_limit_replaces_the_first() {
    let log = Log::default();
    let engine = engine(&memory(), &workflow(vec![calls(&log, "a")])).await;
    let bank = engine.operator().dependency("bank");
    assert_eq!(bank.limit(1, ann("1")).await, ACCEPTED);
    let mut sagas = Vec::new();
    for n in 0..6 {
        sagas.push(begin(&engine, &n.to_string()).await);
    }
    let running = async || {
        let mut running = 0;
        for saga in &sagas {
            running += u32::from(stage(saga, "a").await == Stage::Running);
        }
        running
    };
    pass(seconds(1)).await;
    assert_eq!(running().await, 1);
    assert_eq!(bank.limit(3, ann("2")).await, ACCEPTED);
    pass(seconds(1)).await;
    assert_eq!(running().await, 3);
    assert_eq!(engine.operator().controls().await.unwrap().len(), 1);
    for saga in &sagas {
        completes(saga).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_comes_again_gets_its_first_answer_and_changes_nothing() {
    let log = Log::default();
    let engine = engine(&memory(), &chain(&log)).await;
    let again = w(&engine);
    assert_eq!(again.hold_starts(ann("1")).await, ACCEPTED);
    assert_eq!(again.hold_starts(ann("2")).await, ALREADY);
    assert_eq!(again.release(ann("3")).await, ACCEPTED);
    assert_eq!(again.release(ann("4")).await, ALREADY);
    assert_eq!(again.hold_starts(ann("1")).await, ACCEPTED, "what was answered then");
    assert_eq!(engine.operator().controls().await.unwrap(), [], "and nothing is held anew");
    refused(again.pause(ann("1")).await, "the operation id `1` was used for `hold/w` before");
    completes(&begin(&engine, "k").await).await;
}

#[tokio::test(start_paused = true)]
async fn nobody_controls_anything_without_a_name_a_reason_and_an_id() {
    let log = Log::default();
    let engine = engine(&memory(), &chain(&log)).await;
    for by in [By::new("", "r", "1"), By::new("ann", " ", "1"), By::new("ann", "r", "")] {
        assert!(matches!(w(&engine).pause(by).await, Err(OperateError::Incomplete(_))));
    }
    let nameless = engine.operator().workflow("").pause(ann("1")).await;
    assert!(matches!(nameless, Err(OperateError::Incomplete(_))), "{nameless:?}");
    assert_eq!(engine.operator().controls().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn a_drained_node_awaits_what_runs_leaves_and_says_who_ended_it() {
    let (store, log) = (memory(), Log::default());
    let definition = workflow(vec![step("a", &log).runs(slowly), step("b", &log).after(&["a"])]);
    let engine = engine(&store, &definition).await;
    begin(&engine, "k").await;
    pass(seconds(1)).await;
    let node = engine.operator().node(engine.incarnation());
    assert_eq!(node.drain(ann("1")).await, ACCEPTED);
    match engine.until_stopped().await {
        StopReason::Drained { by, reason } => assert_eq!((&*by, &*reason), ("ann", "the bank has a fault")),
        other => panic!("{other}"),
    }
    assert_eq!(store.peers().await.unwrap(), []);
    assert_eq!(engine.operator().controls().await.unwrap(), [], "the order is over with the node");
    assert_eq!(node.drain(ann("1")).await, ACCEPTED, "the same operation, though the node is gone");
    assert!(matches!(start(&engine, "late", "1").await, Err(SagaStartError::Stopped)));
    let next = next_engine(&store, &definition).await;
    let saga = next.find("w", "k").await.unwrap().unwrap();
    completes(&saga).await;
    let view = saga.view().await.unwrap();
    assert_eq!(view.step("a").unwrap().forward.attempts, 1, "{}", view.timeline());
}

#[tokio::test(start_paused = true)]
async fn only_a_live_node_can_be_drained() {
    let log = Log::default();
    let engine = engine(&memory(), &chain(&log)).await;
    refused(engine.operator().node("nobody").drain(ann("1")).await, "no live node is called `nobody`");
    assert_eq!(engine.operator().controls().await.unwrap(), []);
    assert!(engine.stopped().is_none());
}
