//! Settling the unknown: by query, by repeating, or on the desk.

use std::time::Duration;

use super::retry;
use super::scribe::Scribe;
use super::turn;
use crate::event::{Because, Failure, Finding, JournalEvent, Next, TurnReason};
use crate::id::ActionId;
use crate::machine::Rejected;
use crate::plan::{SagaPlan, Settle, StepKind, StepPlan, policy};
use crate::state::{Action, SagaState, SettlePlan, Stage};
use crate::time::Timestamp;

/// What is being answered while the plan is made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    /// An attempt: its transmission ends now, and the participant perhaps named a lower bound for the next.
    Answer(Option<Duration>),
    /// A query, or nothing: the last transmission ended earlier.
    Earlier,
}

/// How the outcome of `id` is settled next.
pub(super) fn plan(s: &Scribe<'_>, id: &ActionId, counted: Counted) -> Next {
    match settle_of(s.step(id), id) {
        Settle::ByQuery => query(s, id, counted),
        Settle::ByRepeating => repeat(s, id, counted),
        Settle::NoEffect | Settle::ByOperator => Next::Desk { because: Because::NoQuery },
    }
}

pub(crate) fn settle_of(step: &StepPlan, id: &ActionId) -> Settle {
    match (&step.undo, id.is_forward()) {
        (Some(undo), false) => undo.settle,
        _ => step.settle,
    }
}

fn delay(s: &Scribe<'_>, id: &ActionId, count: u32, salt: u32) -> Duration {
    let policy = &s.step(id).query;
    let upper = policy::upper(policy.base, policy.cap, count);
    policy::full_jitter(upper, id.request_id(s.state.id), salt)
}

/// The last query of a budget is not spent inside the settle window, where "absent" can decide nothing.
fn query(s: &Scribe<'_>, id: &ActionId, counted: Counted) -> Next {
    let a = s.action(id);
    let asked = a.settling.map_or(0, |settling| settling.queries);
    let max = s.step(id).query.max_queries;
    if asked >= max {
        return Next::Desk { because: Because::QueriesSpent };
    }
    // Salted past the attempts, so that queries and retries do not draw the same delays.
    let mut at = s.now + delay(s, id, asked + 1, u32::MAX - a.queries);
    let last_sent = match counted {
        Counted::Answer(_) => s.now,
        Counted::Earlier => a.last_sent_at.unwrap_or(s.now),
    };
    if let Some(window) = s.step(id).contract.settle_window
        && asked + 1 == max
    {
        at = at.max(last_sent + window);
    }
    Next::Query { at }
}

/// Repeats follow the query policy's delays and the attempt budget. They settle, they do not retry: the turn,
/// a wish and (with a stated retention) a deadline do not stop them.
fn repeat(s: &Scribe<'_>, id: &ActionId, counted: Counted) -> Next {
    let a = s.action(id);
    if a.attempts_of_budget() >= retry::attempts_max(s, id) {
        return Next::Desk { because: Because::AttemptsSpent };
    }
    let hint = match counted {
        Counted::Answer(hint) => hint.unwrap_or_default(),
        Counted::Earlier => Duration::ZERO,
    };
    let at = s.now + delay(s, id, a.attempts_of_budget().max(1), a.attempts).max(hint);
    match repeat_limit(s.plan, id, a) {
        (limit, Because::DeadlinePassed) if s.now < limit && at >= limit => {
            Next::Desk { because: Because::DeadlineWouldPass }
        }
        (limit, because) if at >= limit => Next::Desk { because },
        _ => Next::Repeat { at },
    }
}

/// The repeat that is due has waited past its limit: a person is needed.
pub(super) fn overdue_repeat(s: &Scribe<'_>, id: &ActionId) -> Option<Next> {
    let a = s.action(id);
    let due = matches!(a.settling.map(|s| s.plan), Some(SettlePlan::RepeatAt(at)) if at <= s.now);
    let (limit, because) = repeat_limit(s.plan, id, a);
    let settles_itself = !id.is_forward() || !s.state.compensation_began(s.plan, id);
    (due && settles_itself && s.now >= limit).then_some(Next::Desk { because })
}

/// No repeat starts at or after this: the contract's key retention or, where none is stated, the step deadline.
pub(crate) fn repeat_limit(plan: &SagaPlan, id: &ActionId, a: &Action) -> (Timestamp, Because) {
    let step = plan.find(&id.step).map(|ix| plan.step(ix)).expect("the action was found before");
    match (step.contract.key_retention, a.first_sent_at) {
        (Some(retention), Some(first)) => (first + retention, Because::RetentionPassed),
        _ => (retry::step_deadline(plan, id, a), Because::DeadlinePassed),
    }
}

/// Which attempts the next query asks to close out, if any: in a saga that has turned or wishes to, and once
/// the settle window has passed and a further attempt is about to be made.
pub(crate) fn fence_through(
    plan: &SagaPlan,
    state: &SagaState,
    id: &ActionId,
    now: Timestamp,
) -> Option<u32> {
    let a = state.action(plan, id)?;
    let decisive = window_has_passed(plan, id, a, now) && !may_be_forgotten(plan, id, a, now);
    let fences = retry::turning(state, id) || decisive;
    fences.then_some(a.attempts)
}

/// Was the participant asked late enough for "absent" to mean "without effect", and did it answer before it
/// may have forgotten? The window counts to the *sending* of the query: nobody knows how long before its
/// answer the participant looked.
fn absence_is_decisive(s: &Scribe<'_>, id: &ActionId, a: &Action) -> bool {
    let asked = match a.settling.map(|settling| settling.plan) {
        Some(SettlePlan::Querying { since, .. }) => since,
        _ => return false,
    };
    window_has_passed(s.plan, id, a, asked) && !may_be_forgotten(s.plan, id, a, s.now)
}

fn window_has_passed(plan: &SagaPlan, id: &ActionId, a: &Action, now: Timestamp) -> bool {
    let window = plan.find(&id.step).and_then(|ix| plan.step(ix).contract.settle_window);
    window.zip(a.last_sent_at).is_some_and(|(window, sent)| now >= sent + window)
}

fn may_be_forgotten(plan: &SagaPlan, id: &ActionId, a: &Action, now: Timestamp) -> bool {
    let retention = plan.find(&id.step).and_then(|ix| plan.step(ix).contract.key_retention);
    retention.zip(a.first_sent_at).is_some_and(|(retention, sent)| now >= sent + retention)
}

/// Journals the next query as started.
pub(super) fn begin_query(s: &mut Scribe<'_>, action: ActionId) -> Result<(), Rejected> {
    let (_, a) = s.find(&action)?;
    match a.settling.map(|settling| settling.plan) {
        Some(SettlePlan::QueryAt(at)) if at <= s.now => {}
        _ => return Err(Rejected::state(format!("no query of `{action}` is due"))),
    }
    let query = a.queries + 1;
    let fence_through = fence_through(s.plan, s.state, &action, s.now);
    s.record(JournalEvent::QueryStarted { action, query, fence_through });
    Ok(())
}

fn under_way(s: &Scribe<'_>, id: &ActionId, query: u32) -> Result<(), Rejected> {
    let (_, a) = s.find(id)?;
    match a.settling.map(|settling| settling.plan) {
        Some(SettlePlan::Querying { query: asked, .. }) if asked == query => Ok(()),
        _ => Err(Rejected::state(format!("query {query} of `{id}` is not under way any more"))),
    }
}

/// A query itself failed: no attempt counter moves.
pub(super) fn query_failed(
    s: &mut Scribe<'_>,
    action: ActionId,
    query: u32,
    failure: Failure,
) -> Result<(), Rejected> {
    under_way(s, &action, query)?;
    let next = plan(s, &action, Counted::Earlier);
    s.record(JournalEvent::QueryFailed { action, query, failure, next });
    Ok(())
}

/// A query found something.
pub(super) fn found(
    s: &mut Scribe<'_>,
    action: ActionId,
    query: u32,
    finding: Finding,
) -> Result<(), Rejected> {
    under_way(s, &action, query)?;
    let next = judge(s, &action, &finding);
    let step = action.step.clone();
    let reason = match next {
        Next::Reject => Some(TurnReason::Refused { step }),
        Next::TurnBack { .. } => Some(TurnReason::Exhausted { step }),
        _ => None,
    };
    s.record(JournalEvent::QueryAnswered { action, query, finding, next });
    if let Some(reason) = reason {
        turn::turn(s, reason);
    }
    Ok(())
}

fn judge(s: &Scribe<'_>, id: &ActionId, finding: &Finding) -> Next {
    let a = s.action(id);
    match finding {
        Finding::Applied(_) => Next::Done,
        Finding::Partial(_) => Next::Desk { because: Because::NotYet },
        Finding::Refused(_) if id.is_forward() && s.step(id).kind != StepKind::Retriable => Next::Reject,
        Finding::Refused(_) => retry::persistent(s, id, Because::Persistent),
        Finding::Fenced { through } if *through >= a.attempts => retry::after_failure(s, id, None),
        Finding::Absent if absence_is_decisive(s, id, a) => retry::after_failure(s, id, None),
        Finding::Fenced { .. } | Finding::Absent | Finding::InProgress | Finding::Unclear { .. } => {
            plan(s, id, Counted::Earlier)
        }
    }
}

/// A plan for every action that a takeover left without one.
pub(super) fn plan_undecided(s: &mut Scribe<'_>, failure: &Failure) {
    let undecided: Vec<ActionId> =
        s.state.actions(s.plan).filter(|(_, a)| is_undecided(a)).map(|(id, _)| id).collect();
    for action in undecided {
        let a = s.action(&action);
        // The turn that an earlier one brought may have skipped this one.
        if !is_undecided(a) {
            continue;
        }
        let next = if a.stage == Stage::RetryScheduled {
            retry::after_failure(s, &action, None)
        } else {
            plan(s, &action, Counted::Earlier)
        };
        let step = action.step.clone();
        let turns = matches!(next, Next::TurnBack { .. });
        s.record(JournalEvent::Planned { action, failure: Some(failure.clone()), next });
        if turns {
            turn::turn(s, TurnReason::Exhausted { step });
        }
    }
}

fn is_undecided(a: &Action) -> bool {
    match (a.stage, a.settling.map(|settling| settling.plan)) {
        (Stage::Reconciling, Some(SettlePlan::Undecided)) => true,
        (Stage::RetryScheduled, _) => a.retry_at.is_none(),
        _ => false,
    }
}
