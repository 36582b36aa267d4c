//! Applies one fact to the state. No numbers of today's policies are read here: state = fold(journal).
//!
//! What concerns the saga as a whole is here. Then `action` (attempts, and settling the unknown), `person`
//! (what people ordered of one action), `dispute` (news that contradicts what is recorded) and `request` (what
//! two people decide).

mod action;
mod dispute;
mod person;
mod request;

pub(super) use action::{shift, without_effect};
pub(super) use dispute::may_skip;

use super::{branch, derive};
use crate::event::{Answer, Failure, FailureKind, JournalEvent, SagaStarted};
use crate::id::ActionId;
use crate::plan::{SagaPlan, StepKind};
use crate::state::{Action, Note, Phase, SagaState, StepState, Wish};
use crate::time::Timestamp;

/// What a compensation answers when it found nothing to undo.
pub(crate) const NOTHING_TO_UNDO: &str = "\"NothingToUndo\"";
/// What a compensation answers when it undid the effect.
pub(crate) const UNDONE: &str = "\"Undone\"";

type Folded = Result<(), String>;

impl SagaState {
    pub(super) fn born(plan: &SagaPlan, started: &SagaStarted, at: Timestamp) -> Self {
        let step = |with_undo: bool| StepState {
            forward: fresh(at),
            undo: with_undo.then(|| fresh(at)),
            shaped: None,
            waived: false,
            manual: Vec::new(),
        };
        Self {
            id: started.saga,
            key: started.key.clone(),
            input: started.input.clone(),
            phase: Phase::Running,
            turned: None,
            wishes: Vec::new(),
            late: false,
            paused: None,
            closing: None,
            notes: std::collections::BTreeMap::new(),
            owner: started.owner,
            started_at: at,
            occurred_at: started.occurred_at,
            deadline: started.deadline,
            trace: started.trace.clone(),
            tenant: started.tenant.clone(),
            ended_at: None,
            at,
            steps: plan.steps.iter().map(|s| step(s.undo.is_some())).collect(),
            branches: vec![None; plan.branches.len()],
            answers: std::collections::BTreeMap::new(),
        }
    }
}

fn fresh(at: Timestamp) -> Action {
    Action { since: at, ..Action::default() }
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
            action::orphan(plan, state, at)?;
        }
        JournalEvent::TurnedBack { reason } => {
            expect(state.turned.is_none() && state.phase == Phase::Running, "the saga cannot turn back")?;
            expect(!state.past_pivot(plan), "there is no way back after the pivot")?;
            expect(!state.pivot_in_doubt(plan), "the pivot is in doubt, and hinders the turn")?;
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
        JournalEvent::Paused { .. } => {
            expect(state.paused.is_none(), "the saga is paused already")?;
            state.paused = Some(at);
        }
        JournalEvent::Unpaused { .. } => {
            expect(state.paused.is_some(), "the saga is not paused")?;
            state.paused = None;
        }
        JournalEvent::CloseRequested(_)
        | JournalEvent::Closed { .. }
        | JournalEvent::CompensationRequested(_)
        | JournalEvent::RequestDecided { .. } => request::fold(plan, state, at, event)?,
        JournalEvent::ItemAnnotated { item, assignee, disposition, .. } => {
            let note = state.notes.entry(item.clone()).or_default();
            annotate(note, assignee.as_ref(), disposition.as_ref());
        }
        JournalEvent::Started { .. }
        | JournalEvent::Withdrawn { .. }
        | JournalEvent::Succeeded { .. }
        | JournalEvent::Refused { .. }
        | JournalEvent::Failed { .. }
        | JournalEvent::BecameUnknown { .. }
        | JournalEvent::Accepted { .. }
        | JournalEvent::PartlyApplied { .. }
        | JournalEvent::FencedOut { .. }
        | JournalEvent::Mismatched { .. }
        | JournalEvent::WentStale { .. }
        | JournalEvent::QueryStarted { .. }
        | JournalEvent::QueryAnswered { .. }
        | JournalEvent::QueryFailed { .. }
        | JournalEvent::Planned { .. } => action::fold(plan, state, at, event)?,
        JournalEvent::NewsRecorded(_) | JournalEvent::Disputed(_) | JournalEvent::DisputeSettled { .. } => {
            dispute::fold(plan, state, at, event)?;
        }
        JournalEvent::Resumed { .. }
        | JournalEvent::AcceptedByPerson { .. }
        | JournalEvent::FoundByPerson { .. }
        | JournalEvent::HurriedByPerson { .. }
        | JournalEvent::SendAgainOrdered { .. }
        | JournalEvent::RejectedByPerson { .. }
        | JournalEvent::Supplied { .. }
        | JournalEvent::Waived { .. }
        | JournalEvent::KeptWaiting { .. }
        | JournalEvent::InDoubtCompensationOrdered { .. } => person::fold(plan, state, at, event)?,
        JournalEvent::BranchDecided { branch, taken } => branch::fold(plan, state, branch, *taken, at)?,
    }
    derive::derive(plan, state, at);
    forget_notes(plan, state);
    Ok(())
}

fn expect(holds: bool, otherwise: &str) -> Folded {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}

fn end(state: &mut SagaState, from: Phase, to: Phase, at: Timestamp) -> Folded {
    expect(state.phase == from, "the saga is not in the phase that ends so")?;
    state.phase = to;
    state.ended_at = Some(at);
    state.closing = None;
    Ok(())
}

fn annotate(note: &mut Note, assignee: Option<&String>, disposition: Option<&String>) {
    if let Some(assignee) = assignee {
        note.assignee = Some(assignee.clone());
    }
    if let Some(disposition) = disposition {
        note.disposition = Some(disposition.clone());
    }
}

/// What was noted on a desk item goes with it: the next item of the same action begins without.
fn forget_notes(plan: &SagaPlan, state: &mut SagaState) {
    if state.notes.is_empty() {
        return;
    }
    let items: Vec<String> = crate::agenda::desk(plan, state).iter().map(|item| item.name()).collect();
    state.notes.retain(|item, _| items.contains(item));
}

/// The action of `id` to be changed, and whether it is a read.
fn find<'a>(
    plan: &SagaPlan,
    state: &'a mut SagaState,
    id: &ActionId,
) -> Result<(&'a mut Action, bool), String> {
    let ix = plan.find(&id.step).ok_or_else(|| format!("the workflow has no step `{}`", id.step))?;
    let read = id.is_forward() && plan.step(ix).kind == StepKind::Read;
    let action = state.action_mut(plan, id).ok_or_else(|| format!("the workflow has no action `{id}`"))?;
    Ok((action, read))
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
