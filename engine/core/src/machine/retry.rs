//! The decision after a failed attempt: one pure function, evaluated in a fixed order.

use std::time::Duration;

use super::scribe::{Scribe, policy as policy_of};
use crate::event::{Because, Next};
use crate::id::ActionId;
use crate::plan::{Exhausted, SagaPlan, StepKind, policy};
use crate::state::{Action, SagaState};
use crate::time::Timestamp;

/// Nothing took effect and it may work later: retry, or why not.
///
/// The decision order: 1. effect possible — the caller never asks then; 2. turned or wished; 3. the nearest
/// deadline has passed, or the next attempt would start after it; 4. attempts; 5. retry.
pub(super) fn after_failure(s: &Scribe<'_>, id: &ActionId, hint: Option<Duration>) -> Next {
    if turning(s.state, id) {
        return Next::Skip { because: Because::Turned };
    }
    let action = s.action(id);
    let deadline = start_deadline(s.plan, s.state, id);
    if s.now >= deadline {
        return exhausted(s, id, Because::DeadlinePassed);
    }
    let policy = s.policy(id);
    let of_budget = action.attempts_of_budget();
    let upper = policy::upper(policy.base, policy.cap, of_budget.max(1));
    let delay = policy::full_jitter(upper, id.request_id(s.state.id), action.attempts);
    let at = s.now + delay.max(hint.unwrap_or_default());
    if at >= deadline {
        return exhausted(s, id, Because::DeadlineWouldPass);
    }
    if of_budget >= attempts_max(s.plan, id, action) {
        return exhausted(s, id, Because::AttemptsSpent);
    }
    Next::Retry { at }
}

/// Known without effect, and it will not heal by itself.
pub(super) fn persistent(s: &Scribe<'_>, id: &ActionId, because: Because) -> Next {
    if turning(s.state, id) { Next::Skip { because: Because::Turned } } else { Next::Quarantine { because } }
}

/// The budget is spent: what the policy says. A compensation, and whatever stands behind the pivot, is always
/// quarantined.
pub(super) fn exhausted(s: &Scribe<'_>, id: &ActionId, because: Because) -> Next {
    if turns_when_exhausted(s.plan, s.state, id) {
        Next::TurnBack { because }
    } else {
        Next::Quarantine { because }
    }
}

/// Would the saga turn back, if the budget of `id` were spent now?
pub(super) fn turns_when_exhausted(plan: &SagaPlan, state: &SagaState, id: &ActionId) -> bool {
    let step = plan.find(&id.step).map(|ix| plan.step(ix)).expect("the action was found before");
    let may_turn = id.is_forward() && step.kind != StepKind::Retriable && !state.past_pivot(plan);
    may_turn && step.retry.on_exhausted == Exhausted::TurnBack
}

/// Is this a forward action of a saga that has turned back, or wishes to?
pub(super) fn turning(state: &SagaState, id: &ActionId) -> bool {
    id.is_forward() && (state.turned.is_some() || !state.wishes.is_empty())
}

/// The attempts of the present budget: what a `resume` granted, or the policy.
pub(super) fn attempts_max(plan: &SagaPlan, id: &ActionId, action: &Action) -> u32 {
    let step = plan.find(&id.step).map(|ix| plan.step(ix)).expect("the action was found before");
    action.granted.unwrap_or(policy_of(step, id).max_attempts)
}

/// The step's own deadline, `give-up-after`, of a forward action or a compensation.
pub(crate) fn step_deadline(plan: &SagaPlan, id: &ActionId, action: &Action) -> Timestamp {
    let Some(ready_at) = action.ready_at else { return Timestamp::MAX };
    let step = plan.find(&id.step).map(|ix| plan.step(ix)).expect("the action was found before");
    let policy = policy_of(step, id);
    action.deadline.unwrap_or(ready_at + policy.give_up_after)
}

/// No attempt of `id` starts at or after this, except a declared repeat.
pub(crate) fn start_deadline(plan: &SagaPlan, state: &SagaState, id: &ActionId) -> Timestamp {
    let action = state.action(plan, id).expect("the action was found before");
    let own = step_deadline(plan, id, action);
    let before_pivot = id.is_forward() && !state.past_pivot(plan);
    let saga = if before_pivot { state.deadline.unwrap_or(Timestamp::MAX) } else { Timestamp::MAX };
    own.min(saga)
}
