//! What follows from other moves and needs no fact of its own: who becomes ready, who is skipped by a turn,
//! whose compensation may start. Order comes from the graph, never from clocks.

use super::branch;
use super::fold::shift;
use super::table::Moment;
use crate::event::Because;
use crate::id::StepIx;
use crate::plan::{InDoubt, SagaPlan, Settle};
use crate::state::{Action, Effect, SagaState, SettlePlan, Stage};
use crate::time::Timestamp;

const LEGAL: &str = "the stage was looked at";

pub(super) fn derive(plan: &SagaPlan, state: &mut SagaState, at: Timestamp) {
    if state.phase.is_ended() {
        return;
    }
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
            let action = &mut state.steps[ix.0].forward;
            shift(action, Moment::Unblocked, at).expect(LEGAL);
            action.ready_at = Some(at);
        }
    }
}

fn skip_what_has_not_begun(state: &mut SagaState, at: Timestamp) {
    for step in &mut state.steps {
        let action = &mut step.forward;
        let begun = match action.stage {
            Stage::Pending | Stage::Ready | Stage::RetryScheduled => false,
            Stage::Quarantined => action.effect != Effect::None,
            Stage::Running
            | Stage::Reconciling
            | Stage::Succeeded
            | Stage::Partial
            | Stage::TerminalRejected
            | Stage::Skipped => true,
        };
        if !begun {
            shift(action, Moment::Skipped, at).expect(LEGAL);
            forget_plans(action);
        }
    }
}

/// What was planned for an action that will not happen.
pub(super) fn forget_plans(action: &mut Action) {
    action.retry_at = None;
    action.quarantine = None;
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
        let free = waiting(state, ix) && plan.graph.children(ix).iter().all(|child| unwound[child.0]);
        if free && (state.owes_compensation(plan, ix) || settled_by_compensation(plan, state, ix)) {
            let undo = state.steps[ix.0].undo.as_mut().expect("a waiting compensation is there");
            shift(undo, Moment::Unblocked, at).expect(LEGAL);
            undo.ready_at = Some(at);
        }
    }
}

/// The outcome is unknown, its own means are spent, and its participant keeps a barrier: the compensation
/// settles it.
fn settled_by_compensation(plan: &SagaPlan, state: &SagaState, ix: StepIx) -> bool {
    let fenced = plan.step(ix).undo.is_some_and(|undo| undo.in_doubt == InDoubt::Fence);
    let forward = &state.step(ix).forward;
    let spent = match (plan.step(ix).settle, forward.settling.map(|s| s.plan)) {
        (Settle::ByQuery, Some(SettlePlan::Desk(because, _))) => because == Because::QueriesSpent,
        (Settle::ByRepeating | Settle::ByOperator, Some(_)) => true,
        _ => false,
    };
    fenced && forward.stage == Stage::Reconciling && forward.running.is_none() && spent
}
