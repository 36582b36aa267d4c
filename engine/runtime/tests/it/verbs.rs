//! Every verb of the law once through the engine's door, with what it brings about and one refusal.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use amends::core::event::{FailureKind, Finding, Omitted, Recorded};
use amends::core::machine::{Approval, Attempted};
use amends::core::plan::{Settle, StepKind};
use amends::core::state::{Effect, Phase, Stage};
use amends::core::{ActionId, Json, Rejected};
use amends::memory::MemoryStore;
use amends::operator::{Answer, By, CompensationDemand, OperateError, OperatedSaga, PersonFinding};
use amends::{Engine, Outcome, SagaHandle, Settled};

use crate::workflow::{Log, Step, begin, done, engine, failure, pass, step, workflow};

/// The operator asks under this id.
fn ann(id: &str) -> By {
    By::new("ann", "a test", id)
}

/// Another person.
fn bob(id: &str) -> By {
    By::new("bob", "a test", id)
}

fn forward(step: &str) -> ActionId {
    ActionId::forward(step)
}

/// A step whose attempts answer these, and then succeed.
fn answers(name: &'static str, log: &Log, planned: impl IntoIterator<Item = Attempted>) -> Step {
    let planned: Arc<Mutex<VecDeque<Attempted>>> = Arc::new(Mutex::new(planned.into_iter().collect()));
    let ran = log.clone();
    step(name, log).runs(move |_| {
        ran.note(name);
        let next = planned.lock().unwrap().pop_front();
        async move { next.unwrap_or_else(done) }
    })
}

fn transient() -> Attempted {
    Attempted::Transient(failure(FailureKind::Transient, "busy"))
}

fn persistent() -> Attempted {
    Attempted::Persistent(failure(FailureKind::Persistent, "credential"))
}

fn unknown() -> Attempted {
    Attempted::Unknown(failure(FailureKind::Unknown, "lost"))
}

fn pivot(step: Step) -> Step {
    step.plan(|plan| (plan.kind, plan.undo) = (StepKind::Pivot, None))
}

fn retriable(step: Step) -> Step {
    step.plan(|plan| (plan.kind, plan.undo) = (StepKind::Retriable, None))
}

/// A saga that was started, and its door. The log tells what its steps did.
struct Trial {
    log: Log,
    engine: Engine,
    saga: SagaHandle,
    door: OperatedSaga,
}

async fn trial(steps: impl FnOnce(&Log) -> Vec<Step>) -> Trial {
    let log = Log::default();
    let engine = engine(&Arc::new(MemoryStore::new()), &workflow(steps(&log))).await;
    let saga = begin(&engine, "k").await;
    let door = engine.operator().saga(saga.id());
    Trial { log, engine, saga, door }
}

impl Trial {
    /// Waits until only people can move it.
    async fn stands(&self) {
        assert!(matches!(self.saga.settled().await.unwrap(), Settled::OnDesk(_)));
    }

    async fn completes(&self) {
        assert!(matches!(self.saga.outcome().await.unwrap(), Outcome::Completed(_)));
    }

    async fn compensates(&self) {
        assert!(matches!(self.saga.outcome().await.unwrap(), Outcome::Compensated { .. }));
    }

    async fn stage(&self, step: &str) -> (Stage, Effect) {
        let view = self.saga.view().await.unwrap();
        let forward = &view.step(step).unwrap().forward;
        (forward.stage, forward.effect)
    }
}

/// The state is the reason.
#[track_caller]
fn refused(answer: Result<Answer, OperateError>, words: &str) {
    match answer {
        Err(OperateError::Refused(Rejected::State(reason))) if reason.contains(words) => {}
        other => panic!("`{words}` is to be the reason, not {other:?}"),
    }
}

const ACCEPTED: Result<Answer, OperateError> = Ok(Answer::Accepted);

#[tokio::test(start_paused = true)]
async fn retry_now_spends_the_timer() {
    let hour = Duration::from_secs(3_600);
    let slow = move |step: Step| step.plan(|plan| (plan.retry.base, plan.retry.cap) = (hour, hour));
    let trial = trial(|log| vec![slow(answers("a", log, [transient()]))]).await;
    pass(Duration::from_millis(1)).await;
    assert_eq!(trial.stage("a").await.0, Stage::RetryScheduled);
    assert_eq!(trial.door.retry_now(forward("a"), ann("1")).await, ACCEPTED);
    trial.completes().await;
    assert_eq!(trial.log.lines(), ["a", "a"]);
    refused(trial.door.retry_now(forward("a"), ann("2")).await, "`a/forward` is SUCCEEDED");
    refused(trial.door.retry_now(forward("x"), ann("3")).await, "no action `x/forward`");
}

#[tokio::test(start_paused = true)]
async fn resume_gives_a_fresh_budget() {
    let trial = trial(|log| vec![answers("a", log, [persistent()])]).await;
    trial.stands().await;
    assert_eq!(trial.door.resume(forward("a"), ann("1")).await, ACCEPTED);
    trial.completes().await;
    refused(trial.door.resume(forward("a"), ann("2")).await, "the saga has ended");
}

#[tokio::test(start_paused = true)]
async fn send_again_transmits_once_more_and_needs_a_reason_beyond_the_retention() {
    let asks_nobody = |step: Step| {
        step.plan(|plan| {
            plan.settle = Settle::ByOperator;
            plan.retry.max_attempts = 1;
        })
    };
    let trial = trial(|log| vec![asks_nobody(answers("a", log, [unknown(), unknown()]))]).await;
    trial.stands().await;
    refused(trial.door.send_again(forward("a"), ann("1")).await, "say why it may be sent again");
    let risky = trial.door.risky();
    let missing = risky.send_again_despite(forward("a"), " ", ann("2")).await;
    assert!(matches!(missing, Err(OperateError::Incomplete(_))), "{missing:?}");
    let safe = "the participant was asked by telephone";
    assert_eq!(risky.send_again_despite(forward("a"), safe, ann("2")).await, ACCEPTED);
    trial.stands().await;
    assert_eq!(risky.send_again_despite(forward("a"), safe, ann("3")).await, ACCEPTED);
    trial.completes().await;
    assert_eq!(trial.log.lines(), ["a", "a", "a"]);
    refused(trial.door.send_again(forward("a"), ann("4")).await, "`a/forward` is SUCCEEDED");
}

#[tokio::test(start_paused = true)]
async fn accept_settles_on_evidence() {
    let lost = |log: &Log| answers("a", log, [unknown()]).plan(|plan| plan.settle = Settle::ByOperator);
    let trial = trial(|log| vec![lost(log)]).await;
    trial.stands().await;
    let seven = Json::parse("7").unwrap();
    let nothing = trial.door.accept(forward("a"), Some(seven.clone()), "", ann("1")).await;
    assert_eq!(
        nothing.unwrap_err().to_string(),
        "failed to ask: the evidence is empty: say what the decision relies on"
    );
    assert_eq!(trial.door.accept(forward("a"), Some(seven.clone()), "a letter", ann("1")).await, ACCEPTED);
    assert_eq!(trial.saga.outcome().await.unwrap(), Outcome::Completed(seven.clone()));
    refused(trial.door.accept(forward("a"), Some(seven), "a letter", ann("2")).await, "the saga has ended");
}

#[tokio::test(start_paused = true)]
async fn found_without_effect_is_tried_again() {
    let lost = |log: &Log| answers("a", log, [unknown()]).plan(|plan| plan.settle = Settle::ByOperator);
    let trial = trial(|log| vec![lost(log), answers("b", log, [persistent()]).after(&["a"])]).await;
    trial.stands().await;
    let finding = || PersonFinding::NotApplied;
    assert_eq!(trial.door.found(forward("a"), finding(), "the books", ann("1")).await, ACCEPTED);
    trial.stands().await;
    assert_eq!(trial.log.lines(), ["a", "a", "b"]);
    refused(
        trial.door.found(forward("b"), finding(), "the books", ann("2")).await,
        "`b/forward` is QUARANTINED",
    );
}

#[tokio::test(start_paused = true)]
async fn reject_turns_the_saga_back() {
    let trial = trial(|log| vec![step("a", log), answers("b", log, [persistent()]).after(&["a"])]).await;
    trial.stands().await;
    refused(trial.door.reject(forward("a"), ann("1")).await, "`a/forward` is SUCCEEDED");
    assert_eq!(trial.door.reject(forward("b"), ann("2")).await, ACCEPTED);
    trial.compensates().await;
    assert_eq!(trial.log.lines(), ["a", "b", "undo a"]);
    assert_eq!(trial.stage("b").await.0, Stage::TerminalRejected);
}

#[tokio::test(start_paused = true)]
async fn supply_gives_the_result_that_could_not_be_recorded() {
    let omitted = Omitted { reason: "too large".to_owned(), digest: None, size: 9 };
    let lost = Attempted::Succeeded(Recorded::Omitted(omitted));
    let trial = trial(|log| vec![answers("a", log, [lost]), answers("b", log, [persistent()])]).await;
    trial.stands().await;
    let (seven, wrong) = (Json::parse("7").unwrap(), Json::parse("\"seven\"").unwrap());
    let undecodable = trial.door.supply(forward("a"), wrong, "the books", ann("1")).await;
    assert!(matches!(undecodable, Err(OperateError::Output(_))), "{undecodable:?}");
    assert_eq!(trial.door.supply(forward("a"), seven.clone(), "the books", ann("1")).await, ACCEPTED);
    assert_eq!(trial.saga.view().await.unwrap().output_json("a"), Some(&seven));
    refused(trial.door.supply(forward("a"), seven, "the books", ann("2")).await, "is recorded");
}

#[tokio::test(start_paused = true)]
async fn cancel_and_turn_back_are_answered_as_it_goes() {
    let waits = |log: &Log| vec![step("a", log), answers("b", log, [persistent()]).after(&["a"])];
    let cancelled = trial(waits).await;
    cancelled.stands().await;
    assert_eq!(cancelled.door.cancel(ann("1")).await, ACCEPTED);
    cancelled.compensates().await;
    assert_eq!(cancelled.door.turn_back(ann("2")).await, Ok(Answer::Already));

    let turned = trial(waits).await;
    turned.stands().await;
    assert_eq!(turned.door.turn_back(ann("1")).await, ACCEPTED);
    turned.compensates().await;
    assert_eq!(turned.log.lines(), ["a", "b", "undo a"]);

    let ended = trial(|log| vec![step("a", log)]).await;
    ended.completes().await;
    assert_eq!(ended.door.cancel(ann("1")).await, Ok(Answer::TooLate));
}

#[tokio::test(start_paused = true)]
async fn a_pending_cancel_becomes_final_under_its_operation_id() {
    let lost =
        |log: &Log| pivot(answers("p", log, [unknown()])).plan(|plan| plan.settle = Settle::ByOperator);
    let trial = trial(|log| vec![step("a", log), lost(log).after(&["a"])]).await;
    trial.stands().await;
    assert_eq!(trial.door.cancel(ann("1")).await, Ok(Answer::Pending));
    assert_eq!(trial.door.cancel(ann("1")).await, Ok(Answer::Pending), "nobody knows yet");
    let found = trial.door.found(forward("p"), PersonFinding::NotApplied, "the books", bob("2"));
    assert_eq!(found.await, ACCEPTED);
    trial.compensates().await;
    assert_eq!(trial.door.cancel(ann("1")).await, ACCEPTED, "now it is known");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_is_compensated_in_doubt_when_a_person_orders_it() {
    let lost = |log: &Log| answers("a", log, [unknown()]).plan(|plan| plan.settle = Settle::ByOperator);
    let trial = trial(|log| vec![lost(log)]).await;
    trial.stands().await;
    let risky = trial.door.risky();
    refused(risky.compensate_in_doubt(forward("a"), ann("1")).await, "only a saga that has turned back");
    assert_eq!(trial.door.cancel(ann("2")).await, ACCEPTED);
    trial.stands().await;
    assert_eq!(risky.compensate_in_doubt(forward("a"), ann("3")).await, ACCEPTED);
    trial.compensates().await;
    assert_eq!(trial.log.lines(), ["a", "undo a"]);
}

#[tokio::test(start_paused = true)]
async fn a_completed_saga_is_compensated_by_two_people_and_stays_completed() {
    let trial = trial(|log| vec![step("a", log), step("b", log).after(&["a"])]).await;
    trial.completes().await;
    let demand = || CompensationDemand::new("a", uuid::Uuid::from_u128(7), "goodwill");
    assert_eq!(trial.door.compensate(demand(), ann("1")).await, Ok(Answer::Pending));
    assert_eq!(
        trial.door.compensate(demand(), ann("2")).await,
        Ok(Answer::Already),
        "the same id is the same"
    );
    let desk = trial.engine.operator().desk(&Default::default()).await.unwrap().entries;
    assert_eq!((desk.len(), desk[0].item.desk), (1, "approval"));
    refused(trial.door.approve(demand().action(), ann("3")).await, "another person");
    assert_eq!(trial.log.lines(), ["a", "b"]);
    assert_eq!(trial.door.approve(demand().action(), bob("4")).await, ACCEPTED);
    pass(Duration::from_secs(1)).await;
    assert_eq!(trial.log.lines(), ["a", "b", "undo a"]);
    assert_eq!(trial.door.compensate(demand(), ann("1")).await, ACCEPTED, "the final answer");
    let view = trial.saga.view().await.unwrap();
    assert_eq!((view.phase, view.state().open_actions(view.plan())), (Phase::Completed, 0));
    let again = CompensationDemand::new("a", uuid::Uuid::from_u128(8), "goodwill");
    refused(trial.door.compensate(again, ann("5")).await, "`a` is compensated");
    let records = trial.engine.query().compensations(trial.saga.id()).await.unwrap();
    let record: Vec<_> = records
        .iter()
        .map(|row| (&*row.requested_by, row.approved_by.as_deref(), &*row.reason_code))
        .collect();
    assert_eq!(record, [("ann", Some("bob"), "goodwill")]);
    assert_eq!(records[0].result.as_deref(), Some("\"Undone\""));
    assert_eq!(trial.engine.inspect(trial.saga.id()).await.unwrap().desk, []);
}

#[tokio::test(start_paused = true)]
async fn a_denied_compensation_never_runs_and_one_that_a_policy_allows_runs_at_once() {
    let trial = trial(|log| vec![step("a", log)]).await;
    trial.completes().await;
    let first = CompensationDemand::new("a", uuid::Uuid::from_u128(7), "goodwill");
    assert_eq!(trial.door.compensate(first.clone(), ann("1")).await, Ok(Answer::Pending));
    assert_eq!(trial.door.deny(first.action(), bob("2")).await, ACCEPTED);
    refused(trial.door.compensate(first.clone(), ann("1")).await, "denied by bob");
    refused(trial.door.deny(first.action(), bob("3")).await, "waits for approval");
    let allowed = CompensationDemand {
        approval: Approval::Policy("small-amounts".to_owned()),
        ..CompensationDemand::new("a", uuid::Uuid::from_u128(8), "goodwill")
    };
    assert_eq!(trial.door.compensate(allowed, ann("4")).await, ACCEPTED);
    pass(Duration::from_secs(1)).await;
    assert_eq!(trial.log.lines(), ["a", "undo a"]);
    let records = trial.engine.query().compensations(trial.saga.id()).await.unwrap();
    let results: Vec<_> =
        records.iter().map(|row| (row.approved_by.as_deref(), row.result.as_deref())).collect();
    assert_eq!(results, [(None, Some("\"Denied\"")), (Some("policy small-amounts"), Some("\"Undone\""))]);
}

#[tokio::test(start_paused = true)]
async fn keep_puts_the_next_query_off() {
    let asked = |log: &Log| {
        answers("a", log, [unknown()]).finds(|_| Finding::InProgress).plan(|plan| plan.query.max_queries = 1)
    };
    let by_hand = |log: &Log| answers("b", log, [unknown()]).plan(|plan| plan.settle = Settle::ByOperator);
    let trial = trial(|log| vec![asked(log), by_hand(log)]).await;
    trial.stands().await;
    let until = trial.engine.now() + Duration::from_secs(600);
    refused(trial.door.keep(forward("b"), until, ann("1")).await, "nothing asks about `b/forward`");
    assert_eq!(trial.door.keep(forward("a"), until, ann("2")).await, ACCEPTED);
    let inspected = trial.door.inspect().await.unwrap();
    assert!(format!("{:?}", inspected.waits()).contains("Query"), "{:?}", inspected.waits());
    assert!(inspected.owner.is_some());
}

#[tokio::test(start_paused = true)]
async fn an_item_is_assigned_and_gets_a_disposition() {
    let trial = trial(|log| vec![answers("a", log, [persistent()])]).await;
    trial.stands().await;
    assert_eq!(trial.door.assign("a/forward", "carol", ann("1")).await, ACCEPTED);
    assert_eq!(trial.door.set_disposition("a/forward", "resume", ann("2")).await, ACCEPTED);
    let desk = trial.saga.view().await.unwrap().desk;
    let note = &desk[0].note;
    assert_eq!((note.assignee.as_deref(), note.disposition.as_deref()), (Some("carol"), Some("resume")));
    refused(trial.door.assign("x/forward", "carol", ann("3")).await, "no desk item is named `x/forward`");
    refused(trial.door.set_disposition("", "resume", ann("4")).await, "the saga has no desk item of its own");
}

#[tokio::test(start_paused = true)]
async fn a_step_after_the_pivot_is_waived() {
    let trial = trial(|log| {
        vec![
            pivot(step("p", log)),
            retriable(answers("r", log, [persistent()])).after(&["p"]),
            retriable(step("z", log)).after(&["p"]),
        ]
    })
    .await;
    trial.stands().await;
    refused(trial.door.waive(forward("p"), ann("1")).await, "`p/forward` is SUCCEEDED");
    assert_eq!(trial.door.waive(forward("r"), ann("2")).await, ACCEPTED);
    trial.completes().await;
    assert_eq!(trial.stage("r").await, (Stage::Skipped, Effect::None));
}

#[tokio::test(start_paused = true)]
async fn two_people_close_what_cannot_be_finished() {
    let lost = |log: &Log| answers("a", log, [unknown()]).plan(|plan| plan.settle = Settle::ByOperator);
    let trial = trial(|log| vec![lost(log)]).await;
    trial.stands().await;
    let risky = trial.door.risky();
    refused(risky.close("a credit note", Vec::new(), ann("1")).await, "the closing has to name it");
    let named = vec![forward("a")];
    assert_eq!(risky.close("a credit note", named, ann("2")).await, Ok(Answer::Pending));
    refused(risky.approve_close("2", ann("3")).await, "another person");
    assert_eq!(risky.approve_close("2", bob("4")).await, ACCEPTED);
    assert_eq!(trial.saga.outcome().await.unwrap(), Outcome::Closed);
    assert_eq!(
        risky.close("a credit note", vec![forward("a")], ann("2")).await,
        ACCEPTED,
        "the final answer"
    );
    refused(risky.close("again", Vec::new(), ann("5")).await, "the saga has ended");
}

#[tokio::test(start_paused = true)]
async fn a_paused_saga_begins_nothing_until_it_is_unpaused() {
    let trial = trial(|log| vec![answers("a", log, [transient()])]).await;
    pass(Duration::from_millis(1)).await;
    assert_eq!(trial.door.pause(ann("1")).await, ACCEPTED);
    assert_eq!(trial.door.pause(ann("2")).await, Ok(Answer::Already));
    pass(Duration::from_secs(600)).await;
    assert_eq!(trial.log.lines(), ["a"]);
    assert_eq!(trial.door.unpause(ann("3")).await, ACCEPTED);
    trial.completes().await;
    assert_eq!(trial.log.lines(), ["a", "a"]);
    refused(trial.door.unpause(ann("4")).await, "the saga is not paused");
}

#[tokio::test(start_paused = true)]
async fn what_is_possible_is_told_with_its_consequences() {
    let trial = trial(|log| vec![answers("a", log, [persistent()])]).await;
    trial.stands().await;
    let offers = trial.door.verbs().await.unwrap();
    let possible: Vec<String> = offers
        .iter()
        .filter(|offer| offer.refused.is_none() && offer.action == Some(forward("a")))
        .map(|offer| format!("{:?}", offer.verb))
        .collect();
    assert_eq!(possible, ["Resume", "Accept", "Reject", "Assign", "SetDisposition"]);
}
