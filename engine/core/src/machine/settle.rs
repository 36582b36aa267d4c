//! Settling the unknown: by query, by repeating, or on the desk.

use std::time::Duration;

use super::scribe::Scribe;
use super::{attempt, dispute, news, retry, turn};
use crate::event::{Because, Failure, Finding, JournalEvent, Next, TurnReason};
use crate::id::ActionId;
use crate::machine::Rejected;
use crate::plan::{SagaPlan, Settle, StepKind, StepPlan, policy};
use crate::state::{Action, Ask, Dispute, SagaState, SettlePlan, Stage};
use crate::time::Timestamp;

/// What is being answered while the plan is made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    /// An attempt: its transmission ends now, and the participant perhaps named a lower bound for the next.
    Answer(Option<Duration>),
    /// A query, or nothing: the last transmission ended earlier.
    Earlier,
}

/// How the outcome of `id` is settled next. What the participant has accepted is not repeated, and needs no
/// person, before the step deadline: its reply is awaited.
pub(super) fn plan(s: &Scribe<'_>, id: &ActionId, counted: Counted) -> Next {
    let accepted = s.action(id).settling.is_some_and(|settling| settling.accepted);
    match settle_of(s.step(id), id) {
        Settle::ByQuery => query(s, id, counted),
        Settle::ByRepeating | Settle::ByOperator if accepted => Next::Stay,
        Settle::ByRepeating => repeat(s, id, counted),
        Settle::NoEffect | Settle::ByOperator => Next::Desk { because: Because::NoQuery },
    }
}

/// How it goes on once the participant has taken it: `wait` is its lower bound for the first query.
pub(super) fn plan_accepted(s: &Scribe<'_>, id: &ActionId, wait: Option<Duration>) -> Next {
    if settle_of(s.step(id), id) != Settle::ByQuery {
        return Next::Stay;
    }
    let a = s.action(id);
    let asked = a.settling.map_or(0, |settling| settling.asked);
    let delay = delay(s, id, asked + 1, u32::MAX - a.queries);
    Next::Query { at: s.now + delay.max(wait.unwrap_or_default()) }
}

/// The participant has taken it and did not answer until the step deadline: the reconciliation desk, and
/// queries and repeats go on, from now within their budgets.
pub(super) fn accepted_overdue(s: &mut Scribe<'_>, action: &ActionId) {
    let a = s.action(action);
    let accepted = a.settling.is_some_and(|settling| settling.accepted && a.stage == Stage::Reconciling);
    if !accepted || s.now < retry::step_deadline(s.plan, action, a) {
        return;
    }
    let plan_before = a.settling.map(|settling| settling.plan);
    // What is under way goes on: only what it finds is counted from now.
    let under_way = matches!(plan_before, Some(SettlePlan::Querying { .. } | SettlePlan::Repeating));
    if under_way {
        return;
    }
    let next = Next::Desk { because: Because::DeadlinePassed };
    s.record(JournalEvent::Planned { action: action.clone(), failure: None, next });
    let next = plan(s, action, Counted::Earlier);
    if matches!(next, Next::Query { .. } | Next::Repeat { .. }) {
        s.record(JournalEvent::Planned { action: action.clone(), failure: None, next });
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
    let (spent, asked) = a.settling.map_or((0, 0), |settling| (settling.queries, settling.asked));
    let accepted = a.settling.is_some_and(|settling| settling.accepted);
    let max = s.step(id).query.max_queries;
    if spent >= max {
        return Next::Desk { because: Because::QueriesSpent };
    }
    // Salted past the attempts, so that queries and retries do not draw the same delays.
    let mut at = s.now + delay(s, id, asked + 1, u32::MAX - a.queries);
    let last_sent = match counted {
        Counted::Answer(_) => s.now,
        Counted::Earlier => a.last_sent_at.unwrap_or(s.now),
    };
    if let Some(window) = s.step(id).contract.settle_window
        && spent + 1 == max
        && !accepted
    {
        at = at.max(last_sent + window);
    }
    Next::Query { at }
}

/// Repeats follow the query policy's delays and the attempt budget. They settle, they do not retry: the turn,
/// a wish and (with a stated retention) a deadline do not stop them.
fn repeat(s: &Scribe<'_>, id: &ActionId, counted: Counted) -> Next {
    let a = s.action(id);
    if a.attempts_of_budget() >= retry::attempts_max(s.plan, id, a) {
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

/// Which attempts the next query asks to close out, if any: in a saga that has turned or wishes to, and once the
/// settle window has passed and, found without effect, a further attempt is about to be made or the saga turns back.
pub(crate) fn fence_through(
    plan: &SagaPlan,
    state: &SagaState,
    id: &ActionId,
    now: Timestamp,
) -> Option<u32> {
    let a = state.action(plan, id)?;
    let decisive = window_has_passed(plan, id, a, now) && !may_be_forgotten(plan, id, a, now);
    let fences = retry::turning(state, id) || (decisive && goes_on(plan, state, id, a, now));
    fences.then_some(a.attempts)
}

/// Would it be tried again, or turn the saga back, if it were found without effect? Not what is disputed, not what the
/// participant works on; and past the deadline or the budget not what then waits for a person.
fn goes_on(plan: &SagaPlan, state: &SagaState, id: &ActionId, a: &Action, now: Timestamp) -> bool {
    let rests = a.dispute.is_some() || a.settling.is_some_and(|settling| settling.accepted);
    let spent = a.attempts_of_budget() >= retry::attempts_max(plan, id, a);
    let exhausted = spent || now >= retry::start_deadline(plan, state, id);
    !rests && (!exhausted || retry::turns_when_exhausted(plan, state, id))
}

/// Was the participant asked late enough for "absent" to mean "without effect", and did it answer before it
/// may have forgotten? The window counts to the *sending* of the query: nobody knows how long before its
/// answer the participant looked.
pub(super) fn absence_is_decisive(s: &Scribe<'_>, id: &ActionId, a: &Action) -> bool {
    let asked = match (a.settling.map(|settling| settling.plan), &a.dispute) {
        (Some(SettlePlan::Querying { since, .. }), None) => since,
        (_, Some(Dispute { ask: Ask::Querying { since, .. }, .. })) => *since,
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
    if query_due(s.state, &action, a).is_none_or(|at| at > s.now) {
        return Err(Rejected::state(format!("no query of `{action}` is due")));
    }
    let query = a.queries + 1;
    let fence_through = fence_through(s.plan, s.state, &action, s.now);
    s.record(JournalEvent::QueryStarted { action, query, fence_through });
    Ok(())
}

/// When the next query of an action, or of a dispute about it, may be sent.
pub(crate) fn query_due(state: &SagaState, id: &ActionId, a: &Action) -> Option<Timestamp> {
    if let Some(dispute) = &a.dispute {
        return match dispute.ask {
            Ask::QueryAt(at) if !state.is_over(id) => Some(at),
            Ask::QueryAt(_) | Ask::Querying { .. } | Ask::Person { .. } => None,
        };
    }
    match a.settling.map(|settling| settling.plan) {
        Some(SettlePlan::QueryAt(at)) if !state.is_over(id) => Some(at),
        _ => None,
    }
}

/// The query under way, of an action or of a dispute about it.
pub(crate) fn query_under_way(a: &Action) -> Option<u32> {
    match (&a.dispute, a.settling.map(|settling| settling.plan)) {
        (Some(Dispute { ask: Ask::Querying { query, .. }, .. }), _) => Some(*query),
        (None, Some(SettlePlan::Querying { query, .. })) => Some(query),
        _ => None,
    }
}

/// A query itself failed: no attempt counter moves.
pub(super) fn query_failed(
    s: &mut Scribe<'_>,
    action: ActionId,
    query: u32,
    failure: Failure,
) -> Result<(), Rejected> {
    let (_, a) = s.find(&action)?;
    if query_under_way(a) != Some(query) {
        return Err(Rejected::state(format!("query {query} of `{action}` is not under way any more")));
    }
    let next = match a.dispute {
        Some(_) => Next::Desk { because: Because::Contradiction },
        None => plan(s, &action, Counted::Earlier),
    };
    s.record(JournalEvent::QueryFailed { action, query, failure, next });
    Ok(())
}

/// A query found something. What is found out too late is news.
pub(super) fn found(
    s: &mut Scribe<'_>,
    action: ActionId,
    query: u32,
    finding: Finding,
) -> Result<(), Rejected> {
    let (_, a) = s.find(&action)?;
    let asked = query_under_way(a) == Some(query);
    if asked && a.dispute.is_some() {
        dispute::found(s, action, query, finding);
        return Ok(());
    }
    if !asked || s.state.is_over(&action) {
        news::found_late(s, action, finding);
        return Ok(());
    }
    let next = judge(s, &action, &finding);
    let reason = turns(&action, &finding, &next);
    s.record(JournalEvent::QueryAnswered { action, query, finding, next });
    if let Some(reason) = reason {
        turn::turn(s, reason);
    }
    Ok(())
}

/// Why a finding that was judged so turns the saga back, if it does.
pub(super) fn turns(id: &ActionId, finding: &Finding, next: &Next) -> Option<TurnReason> {
    let step = id.step.clone();
    match (finding, next) {
        (_, Next::Reject) => Some(TurnReason::Refused { step }),
        (_, Next::TurnBack { .. }) => Some(TurnReason::Exhausted { step }),
        (Finding::Partial(_), Next::Done) => Some(TurnReason::Partial { step }),
        _ => None,
    }
}

fn judge(s: &Scribe<'_>, id: &ActionId, finding: &Finding) -> Next {
    let a = s.action(id);
    match finding {
        Finding::Applied(_) => Next::Done,
        Finding::Partial(_) => partial(s, id),
        Finding::Refused(_) if !cannot_refuse(s, id) => Next::Reject,
        Finding::Refused(_) => retry::persistent(s, id, Because::Persistent),
        Finding::Fenced { through } if *through >= a.attempts => retry::after_failure(s, id, None),
        Finding::Absent if absence_is_decisive(s, id, a) => retry::after_failure(s, id, None),
        Finding::Fenced { .. } | Finding::Absent | Finding::InProgress | Finding::Unclear { .. } => {
            plan(s, id, Counted::Earlier)
        }
    }
}

/// What follows from a partial effect: the saga turns back and the step's own compensation undoes it, or a person
/// decides: where there is no compensation, or (of a step that was found without effect late) no way back.
pub(super) fn partial(s: &Scribe<'_>, id: &ActionId) -> Next {
    if id.is_forward() && s.step(id).undo.is_some() && !s.state.past_pivot(s.plan) {
        Next::Done
    } else {
        Next::Quarantine { because: Because::Partial }
    }
}

/// Neither a compensation nor what stands behind the pivot can refuse.
pub(super) fn cannot_refuse(s: &Scribe<'_>, id: &ActionId) -> bool {
    !id.is_forward() || s.step(id).kind == StepKind::Retriable || s.state.past_pivot(s.plan)
}

/// A plan for every action that a takeover left without one.
pub(super) fn plan_undecided(s: &mut Scribe<'_>, failure: &Failure) {
    let undecided: Vec<ActionId> = s
        .state
        .actions(s.plan)
        .filter(|(id, a)| is_undecided(a) && !s.state.is_over(id))
        .map(|(id, _)| id)
        .collect();
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
        attempt::planned(s, action, Some(failure.clone()), next);
    }
}

fn is_undecided(a: &Action) -> bool {
    match (a.stage, a.settling.map(|settling| settling.plan)) {
        (Stage::Reconciling, Some(SettlePlan::Undecided)) => true,
        (Stage::RetryScheduled, _) => a.retry_at.is_none(),
        _ => false,
    }
}
