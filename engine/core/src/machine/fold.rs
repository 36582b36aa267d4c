//! Applies one fact to the state. No numbers of today's policies are read here: state = fold(journal).

use super::table::{self, Moment};
use super::{branch, derive};
use crate::event::{Answer, Failure, FailureKind, Finding, JournalEvent, Next, Recorded, SagaStarted};
use crate::id::{ActionId, Direction};
use crate::json::Json;
use crate::plan::{SagaPlan, StepKind};
use crate::state::{Action, Effect, Phase, Running, SagaState, SettlePlan, Settling, Stage, StepState, Wish};
use crate::time::Timestamp;

/// What a compensation answers when it found nothing to undo.
pub(crate) const NOTHING_TO_UNDO: &str = "\"NothingToUndo\"";
/// What a compensation answers when it undid the effect.
pub(crate) const UNDONE: &str = "\"Undone\"";

type Folded = Result<(), String>;

impl SagaState {
    pub(super) fn born(plan: &SagaPlan, started: &SagaStarted, at: Timestamp) -> Self {
        let fresh = || Action { since: at, ..Action::default() };
        let step =
            |with_undo: bool| StepState { forward: fresh(), undo: with_undo.then(fresh), shaped: None };
        Self {
            id: started.saga,
            key: started.key.clone(),
            input: started.input.clone(),
            phase: Phase::Running,
            turned: None,
            wishes: Vec::new(),
            late: false,
            owner: started.owner,
            started_at: at,
            occurred_at: started.occurred_at,
            deadline: started.deadline,
            ended_at: None,
            at,
            steps: plan.steps.iter().map(|s| step(s.undo.is_some())).collect(),
            branches: vec![None; plan.branches.len()],
            answers: std::collections::BTreeMap::new(),
        }
    }
}

/// Folds `event` into `state`, then moves what follows from it.
pub(super) fn fold(plan: &SagaPlan, state: &mut SagaState, at: Timestamp, event: &JournalEvent) -> Folded {
    if at < state.at {
        return Err(format!("time went back from {} to {at}", state.at));
    }
    state.at = at;
    match event {
        JournalEvent::SagaStarted(_) => return Err("a saga starts once".into()),
        JournalEvent::Claimed { incarnation } => {
            state.owner = *incarnation;
            orphan(plan, state, at)?;
        }
        JournalEvent::TurnedBack { reason } => {
            expect(state.turned.is_none() && state.phase == Phase::Running, "the saga cannot turn back")?;
            expect(!state.past_pivot(plan), "there is no way back after the pivot")?;
            state.turned = Some(reason.clone());
            state.phase = Phase::Compensating;
            state.wishes.retain(|wish| wish.operation.is_some());
        }
        JournalEvent::WishRecorded { operation, reason } => {
            state.wishes.push(Wish { operation: operation.clone(), reason: reason.clone() });
        }
        JournalEvent::Answered { operation, verb, answer, .. } => {
            if *answer != Answer::Pending {
                state.wishes.retain(|wish| wish.operation.as_ref() != Some(operation));
            }
            state.answers.insert(operation.clone(), (*verb, answer.clone()));
        }
        JournalEvent::MarkedLate {} => state.late = true,
        JournalEvent::Completed {} => end(state, Phase::Running, Phase::Completed, at)?,
        JournalEvent::Compensated {} => end(state, Phase::Compensating, Phase::Compensated, at)?,
        JournalEvent::Started { .. }
        | JournalEvent::Withdrawn { .. }
        | JournalEvent::Succeeded { .. }
        | JournalEvent::Refused { .. }
        | JournalEvent::Failed { .. }
        | JournalEvent::BecameUnknown { .. }
        | JournalEvent::QueryStarted { .. }
        | JournalEvent::QueryAnswered { .. }
        | JournalEvent::QueryFailed { .. }
        | JournalEvent::Planned { .. }
        | JournalEvent::Resumed { .. }
        | JournalEvent::AcceptedByPerson { .. } => of_action(plan, state, at, event)?,
        JournalEvent::BranchDecided { branch, taken } => branch::fold(plan, state, branch, *taken, at)?,
        JournalEvent::Paused { .. }
        | JournalEvent::Unpaused { .. }
        | JournalEvent::CloseRequested(_)
        | JournalEvent::Closed { .. }
        | JournalEvent::Accepted { .. }
        | JournalEvent::PartlyApplied { .. }
        | JournalEvent::FencedOut { .. }
        | JournalEvent::Mismatched { .. }
        | JournalEvent::WentStale { .. }
        | JournalEvent::NewsRecorded(_)
        | JournalEvent::Disputed(_)
        | JournalEvent::DisputeSettled { .. }
        | JournalEvent::FoundByPerson { .. }
        | JournalEvent::HurriedByPerson { .. }
        | JournalEvent::SendAgainOrdered { .. }
        | JournalEvent::RejectedByPerson { .. }
        | JournalEvent::Supplied { .. }
        | JournalEvent::Waived { .. }
        | JournalEvent::KeptWaiting { .. }
        | JournalEvent::ItemAnnotated { .. }
        | JournalEvent::InDoubtCompensationOrdered { .. }
        | JournalEvent::CompensationRequested(_)
        | JournalEvent::RequestDecided { .. } => {
            return Err("the event belongs to a rule that this version does not know".into());
        }
    }
    derive::derive(plan, state, at);
    Ok(())
}

fn expect(holds: bool, otherwise: &str) -> Folded {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}

fn end(state: &mut SagaState, from: Phase, to: Phase, at: Timestamp) -> Folded {
    expect(state.phase == from, "the saga is not in the phase that ends so")?;
    state.phase = to;
    state.ended_at = Some(at);
    Ok(())
}

/// A takeover: whatever was under way is unknown now, for nobody listens to it any more.
fn orphan(plan: &SagaPlan, state: &mut SagaState, at: Timestamp) -> Folded {
    for (step, planned) in state.steps.iter_mut().zip(&plan.steps) {
        let read = planned.kind == StepKind::Read;
        let forward = std::iter::once((&mut step.forward, read));
        for (action, read) in forward.chain(step.undo.iter_mut().map(|undo| (undo, false))) {
            if let Some(running) = action.running.take() {
                action.last_sent_at = Some(at);
                if read {
                    shift(action, Moment::RetryPlanned, at)?;
                } else {
                    action.unknown.push(running.attempt);
                    open(action, at)?;
                }
            } else if let Some(Settling { plan: SettlePlan::Querying { .. }, .. }) = action.settling {
                open(action, at)?;
            }
        }
    }
    Ok(())
}

/// The outcome is open, and how it goes on is not decided yet.
fn open(action: &mut Action, at: Timestamp) -> Folded {
    shift(action, Moment::BecameUnknown, at)?;
    action.effect = Effect::Possible;
    let settling =
        action.settling.get_or_insert(Settling { since: at, queries: 0, plan: SettlePlan::Undecided });
    settling.plan = SettlePlan::Undecided;
    Ok(())
}

fn of_action(plan: &SagaPlan, state: &mut SagaState, at: Timestamp, event: &JournalEvent) -> Folded {
    let id = action_of(event);
    let ix = plan.find(&id.step).ok_or_else(|| format!("the workflow has no step `{}`", id.step))?;
    let read = id.is_forward() && plan.step(ix).kind == StepKind::Read;
    if let JournalEvent::Started { input: Some(input), .. } = event {
        state.steps[ix.0].shaped = Some(input.clone());
    }
    let action = state.action_mut(plan, id).ok_or_else(|| format!("the workflow has no action `{id}`"))?;
    one(action, read, at, event)?;
    check(action, id)?;
    if action.stage != Stage::Succeeded {
        return Ok(());
    }
    if id.direction == Direction::Compensation {
        let nothing = action.value().is_some_and(|value| value.text() == NOTHING_TO_UNDO);
        settle_in_doubt(&mut state.steps[ix.0].forward, nothing, at)?;
    } else if plan.pivot == Some(ix) {
        // There is no way back now. A wish of a person still has to be answered; a deadline's does not.
        state.wishes.retain(|wish| wish.operation.is_some());
    }
    Ok(())
}

/// A compensation that ran in doubt settles its forward action too.
fn settle_in_doubt(forward: &mut Action, nothing: bool, at: Timestamp) -> Folded {
    if forward.stage != Stage::Reconciling {
        return Ok(());
    }
    if nothing {
        without_effect(forward, Moment::Skipped, at)
    } else {
        let marker =
            crate::event::Omitted { reason: "settled by its compensation".into(), digest: None, size: 0 };
        succeed(forward, false, Recorded::Omitted(marker), at)
    }
}

fn action_of(event: &JournalEvent) -> &ActionId {
    match event {
        JournalEvent::Started { action, .. }
        | JournalEvent::Withdrawn { action, .. }
        | JournalEvent::Succeeded { action, .. }
        | JournalEvent::Refused { action, .. }
        | JournalEvent::Failed { action, .. }
        | JournalEvent::BecameUnknown { action, .. }
        | JournalEvent::QueryStarted { action, .. }
        | JournalEvent::QueryAnswered { action, .. }
        | JournalEvent::QueryFailed { action, .. }
        | JournalEvent::Planned { action, .. }
        | JournalEvent::Resumed { action, .. }
        | JournalEvent::AcceptedByPerson { action, .. } => action,
        other => unreachable!("fold sends only events of an action here, not {other:?}"),
    }
}

fn one(action: &mut Action, read: bool, at: Timestamp, event: &JournalEvent) -> Folded {
    match event {
        JournalEvent::Started { attempt, .. } => started(action, read, *attempt, at),
        JournalEvent::Withdrawn { attempt, .. } => withdrawn(action, *attempt, at),
        JournalEvent::Succeeded { attempt, output, .. } => {
            answered(action, *attempt, at);
            succeed(action, read, output.clone(), at)
        }
        JournalEvent::Refused { attempt, refusal, next, .. } => {
            answered(action, *attempt, at);
            action.refusal = Some(refusal.clone());
            follow(action, next, at)
        }
        JournalEvent::Failed { attempt, failure, next, .. } => {
            answered(action, Some(*attempt), at);
            action.failure = Some(failure.clone());
            follow(action, next, at)
        }
        JournalEvent::BecameUnknown { attempt, failure, next, .. } => {
            answered(action, Some(*attempt), at);
            action.unknown.push(*attempt);
            action.failure = Some(failure.clone());
            open(action, at)?;
            follow(action, next, at)
        }
        JournalEvent::QueryStarted { query, fence_through, .. } => {
            expect(*query == action.queries + 1, "the query's number does not follow")?;
            action.queries = *query;
            let settling = action.settling.as_mut().ok_or("nothing is being settled")?;
            settling.queries += 1;
            let fence_through = *fence_through;
            settling.plan = SettlePlan::Querying { query: *query, since: at, fence_through };
            Ok(())
        }
        JournalEvent::QueryAnswered { finding, next, .. } => found(action, finding, next, at),
        JournalEvent::QueryFailed { failure, next, .. } => {
            action.failure = Some(failure.clone());
            follow(action, next, at)
        }
        JournalEvent::Planned { failure, next, .. } => {
            if let Some(failure) = failure {
                action.failure = Some(failure.clone());
            }
            follow(action, next, at)
        }
        JournalEvent::Resumed { attempts, deadline, .. } => {
            shift(action, Moment::Resumed, at)?;
            action.quarantine = None;
            action.attempts_before = action.attempts;
            action.granted = Some(*attempts);
            action.ready_at = Some(at);
            action.deadline = Some(*deadline);
            Ok(())
        }
        JournalEvent::AcceptedByPerson { output, .. } => succeed(action, read, accepted(output.as_ref()), at),
        other => unreachable!("fold sends only events of an action here, not {other:?}"),
    }
}

/// What is recorded as the result when a person accepts without one.
fn accepted(output: Option<&Json>) -> Recorded {
    match output {
        Some(value) => Recorded::Value(value.clone()),
        None => Recorded::Omitted(crate::event::Omitted {
            reason: "accepted by a person without a result".into(),
            digest: None,
            size: 0,
        }),
    }
}

fn started(action: &mut Action, read: bool, attempt: u32, at: Timestamp) -> Folded {
    expect(attempt == action.attempts + 1, "the attempt's number does not follow")?;
    expect(action.running.is_none(), "an attempt is running already")?;
    shift(action, Moment::Started, at)?;
    action.attempts = attempt;
    action.running = Some(Running { attempt, since: at });
    action.first_sent_at.get_or_insert(at);
    action.retry_at = None;
    if !read {
        action.effect = Effect::Possible;
    }
    if let Some(settling) = &mut action.settling {
        settling.plan = SettlePlan::Repeating;
    }
    Ok(())
}

fn withdrawn(action: &mut Action, attempt: u32, at: Timestamp) -> Folded {
    expect(action.running.is_some_and(|r| r.attempt == attempt), "that attempt is not running")?;
    shift(action, Moment::Withdrawn, at)?;
    action.running = None;
    action.attempts -= 1;
    if action.attempts == 0 {
        action.first_sent_at = None;
    }
    match &mut action.settling {
        Some(settling) => settling.plan = SettlePlan::RepeatAt(at),
        None => action.effect = Effect::None,
    }
    Ok(())
}

/// The transmission has answered: it is neither running nor unknown any more.
fn answered(action: &mut Action, attempt: Option<u32>, at: Timestamp) {
    if action.running.is_some_and(|running| Some(running.attempt) == attempt) {
        action.running = None;
        action.last_sent_at = Some(at);
    }
    action.unknown.retain(|unknown| Some(*unknown) != attempt);
}

fn succeed(action: &mut Action, read: bool, output: Recorded, at: Timestamp) -> Folded {
    shift(action, Moment::Succeeded, at)?;
    let nothing = output.value().is_some_and(|value| value.text() == NOTHING_TO_UNDO);
    action.effect = if read || nothing { Effect::None } else { Effect::Applied };
    action.output = Some(output);
    action.quarantine = None;
    clear(action);
    Ok(())
}

fn found(action: &mut Action, finding: &Finding, next: &Next, at: Timestamp) -> Folded {
    match (finding, next) {
        (Finding::Applied(output), Next::Done) => return succeed(action, false, output.clone(), at),
        (Finding::Refused(refusal), Next::Reject) => action.refusal = Some(refusal.clone()),
        (Finding::Refused(refusal), _) => {
            let said = refusal.value().map(|value| value.text().to_owned()).unwrap_or_default();
            action.failure = Some(by_query(FailureKind::Persistent, "refused", said));
        }
        (Finding::Partial(_), _) => {
            let report = "it took effect in part".to_owned();
            action.failure = Some(by_query(FailureKind::NotYet, "partial", report));
        }
        (Finding::Unclear { report }, _) => {
            action.failure = Some(by_query(FailureKind::Unknown, "unclear", report.clone()));
        }
        (Finding::Applied(_) | Finding::Fenced { .. } | Finding::Absent | Finding::InProgress, _) => {}
    }
    follow(action, next, at)
}

/// What a query reported, for the person at the desk.
fn by_query(kind: FailureKind, code: &str, message: String) -> Failure {
    let (code, rule) = (code.into(), "query".into());
    Failure { kind, code, message, rule, classifier: String::new(), hint: None }
}

/// Moves the action as it was decided.
fn follow(action: &mut Action, next: &Next, at: Timestamp) -> Folded {
    match next {
        Next::Retry { at: due } => {
            if action.stage != Stage::RetryScheduled {
                without_effect(action, Moment::RetryPlanned, at)?;
            }
            action.retry_at = Some(*due);
            Ok(())
        }
        Next::Quarantine { because } => {
            without_effect(action, Moment::Quarantined, at)?;
            action.quarantine = Some((*because, at));
            Ok(())
        }
        Next::TurnBack { .. } | Next::Skip { .. } => without_effect(action, Moment::Skipped, at),
        Next::Reject => without_effect(action, Moment::Refused, at),
        Next::Done => Err("only a success is done".into()),
        Next::Query { at: due } => settle(action, SettlePlan::QueryAt(*due)),
        Next::Repeat { at: due } => settle(action, SettlePlan::RepeatAt(*due)),
        Next::Desk { because } => settle(action, SettlePlan::Desk(*because, at)),
        Next::Stay => Ok(()),
    }
}

fn settle(action: &mut Action, plan: SettlePlan) -> Folded {
    let settling = action.settling.as_mut().ok_or("nothing is being settled")?;
    if let (SettlePlan::Desk(was, _), SettlePlan::Desk(is, _)) = (settling.plan, plan)
        && was == is
    {
        return Ok(()); // The item stays, with its own since.
    }
    settling.plan = plan;
    Ok(())
}

/// Every transmission so far is known to have had no effect.
fn without_effect(action: &mut Action, moment: Moment, at: Timestamp) -> Folded {
    shift(action, moment, at)?;
    action.effect = Effect::None;
    action.quarantine = None;
    clear(action);
    Ok(())
}

fn clear(action: &mut Action) {
    action.unknown.clear();
    action.settling = None;
    action.retry_at = None;
}

pub(super) fn shift(action: &mut Action, moment: Moment, at: Timestamp) -> Folded {
    let from = action.stage;
    let to = table::next(from, moment)
        .ok_or_else(|| format!("{} cannot follow {}", moment.label(), from.name()))?;
    if to != from {
        action.stage = to;
        action.since = at;
    }
    Ok(())
}

/// What a stage implies of the effect, and what a compensation never becomes.
fn check(action: &Action, id: &ActionId) -> Folded {
    let implied = match action.stage {
        Stage::Pending
        | Stage::Ready
        | Stage::RetryScheduled
        | Stage::Quarantined
        | Stage::Skipped
        | Stage::TerminalRejected => action.effect == Effect::None,
        Stage::Running | Stage::Reconciling | Stage::Succeeded | Stage::Partial => true,
    };
    expect(implied, "the stage implies that there is no effect")?;
    let forward_only = matches!(action.stage, Stage::Skipped | Stage::Partial | Stage::TerminalRejected);
    expect(id.is_forward() || !forward_only, "a compensation cannot end so")
}

/// The failure that a takeover leaves behind.
pub(super) fn executor_died() -> Failure {
    Failure {
        kind: FailureKind::Unknown,
        code: "executor-died".into(),
        message: "the process that ran it is gone".into(),
        rule: "engine".into(),
        classifier: String::new(),
        hint: None,
    }
}
