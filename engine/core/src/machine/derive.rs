//! What follows from other moves and needs no fact of its own: who becomes ready, who is skipped by a turn,
//! whose compensation may start. Order comes from the graph, never from clocks.

use super::branch;
use super::fold::{shift, without_effect};
use super::table::Moment;
use crate::event::Because;
use crate::id::StepIx;
use crate::plan::{InDoubt, SagaPlan, Settle, Source};
use crate::state::{SagaState, SettlePlan, Stage};
use crate::time::Timestamp;

const LEGAL: &str = "the stage was looked at";

pub(super) fn derive(plan: &SagaPlan, state: &mut SagaState, at: Timestamp) {
    if state.turned.is_none() {
        unblock(plan, state, at);
    } else {
        skip_what_has_not_begun(state, at);
        unblock_compensations(plan, state, at);
    }
}

fn unblock(plan: &SagaPlan, state: &mut SagaState, at: Timestamp) {
    for &ix in plan.graph.order() {
        if state.step(ix).forward.stage != Stage::Pending {
            continue;
        }
        if !branch::waits(plan, state, ix) {
            let lacks = plan.step(ix).input.sources().iter().any(|source| is_waived(plan, state, *source));
            let action = &mut state.steps[ix.0].forward;
            if lacks {
                shift(action, Moment::Quarantined, at).expect(LEGAL);
                action.quarantine = Some((Because::Waived, at));
                continue;
            }
            shift(action, Moment::Unblocked, at).expect(LEGAL);
            action.ready_at = Some(at);
        }
    }
}

/// Was the step waived that gives this value?
fn is_waived(plan: &SagaPlan, state: &SagaState, source: Source) -> bool {
    match source {
        Source::SagaInput => false,
        Source::Step(of) => state.step(of).waived,
        Source::Branch(ix) => match state.branches[ix.0] {
            Some(taken) => {
                let given = plan.branch(ix).gives.of(taken);
                given.is_some_and(|source| is_waived(plan, state, source))
            }
            None => true, // Nobody waits for its decision any more: all of it was waived.
        },
    }
}

fn skip_what_has_not_begun(state: &mut SagaState, at: Timestamp) {
    for step in &mut state.steps {
        let action = &mut step.forward;
        let begun = match action.stage {
            // A pivot that took effect in part stands QUARANTINED, too: it hinders the turn.
            Stage::Pending | Stage::Ready | Stage::RetryScheduled | Stage::Quarantined => false,
            Stage::Running
            | Stage::Reconciling
            | Stage::Succeeded
            | Stage::Partial
            | Stage::TerminalRejected
            | Stage::Skipped => true,
        };
        if !begun {
            without_effect(action, Moment::Skipped, at).expect(LEGAL);
        }
    }
}

fn unblock_compensations(plan: &SagaPlan, state: &mut SagaState, at: Timestamp) {
    let waiting = |state: &SagaState, ix: StepIx| {
        state.step(ix).undo.as_ref().is_some_and(|undo| undo.stage == Stage::Pending)
    };
    if !plan.indices().any(|ix| waiting(state, ix)) {
        return;
    }
    let unwound = state.unwound(plan);
    for ix in plan.indices() {
        let alone = state.step(ix).forward.running.is_none();
        let free = alone && plan.graph.children(ix).iter().all(|child| unwound[child.0]);
        if !waiting(state, ix) || !free {
            continue;
        }
        let in_doubt = settled_by_compensation(plan, state, ix);
        if in_doubt || state.owes_compensation(plan, ix) {
            let undo = state.steps[ix.0].undo.as_mut().expect("a waiting compensation is there");
            undo.in_doubt = in_doubt;
            shift(undo, Moment::Unblocked, at).expect(LEGAL);
            undo.ready_at = Some(at);
        }
    }
}

/// The outcome is unknown, and the compensation settles it: its own means are spent and its participant keeps a
/// barrier, or a person ordered it.
fn settled_by_compensation(plan: &SagaPlan, state: &SagaState, ix: StepIx) -> bool {
    let forward = &state.step(ix).forward;
    let Some(settling) = forward.settling.filter(|_| forward.stage == Stage::Reconciling) else {
        return false;
    };
    if forward.doubt_ordered {
        return !matches!(settling.plan, SettlePlan::Querying { .. });
    }
    let why = settling.item.map(|(because, _)| because);
    let spent = match plan.step(ix).settle {
        Settle::ByQuery => settling.plan == SettlePlan::Person && why == Some(Because::QueriesSpent),
        Settle::ByRepeating | Settle::ByOperator => why != Some(Because::Mismatch),
        Settle::NoEffect => false,
    };
    let fenced = plan.step(ix).undo.is_some_and(|undo| undo.in_doubt == InDoubt::Fence);
    fenced && spent
}
