//! Attempts: journalled before they run.

use super::scribe::Scribe;
use super::{branch, retry, settle, turn};
use crate::event::{Because, Failure, JournalEvent, Next, StartCause, TurnReason};
use crate::id::{ActionId, Direction, StepIx};
use crate::json::Json;
use crate::machine::Rejected;
use crate::state::{SettlePlan, Stage};

/// Journals the next attempt as started.
pub(super) fn begin(
    s: &mut Scribe<'_>,
    action: ActionId,
    input: Option<Json>,
    expected: Option<Json>,
) -> Result<(), Rejected> {
    let (ix, a) = s.find(&action)?;
    let cause = may_start(s, ix, &action)?;
    let input = input.filter(|_| action.is_forward() && s.state.step(ix).shaped.is_none());
    let expected = expected.filter(|_| a.may_yet_expect(&action));
    let attempt = a.attempts + 1;
    s.record(JournalEvent::Started { action, attempt, cause, input, expected });
    Ok(())
}

/// May the next attempt start now, and why?
fn may_start(s: &Scribe<'_>, ix: StepIx, id: &ActionId) -> Result<StartCause, Rejected> {
    let a = s.action(id);
    if s.state.is_over(id) {
        return Err(Rejected::state("the saga was closed"));
    }
    if s.state.paused.is_some() {
        return Err(Rejected::state("the saga is paused"));
    }
    let cause = match (a.stage, a.retry_at, a.settling.map(|settling| settling.plan)) {
        (Stage::Ready, _, _) if a.ordered && a.attempts_of_budget() > 0 => StartCause::Ordered,
        (Stage::Ready, _, _) => StartCause::Ready,
        (Stage::RetryScheduled, Some(at), _) if at <= s.now => StartCause::Retry,
        (Stage::Reconciling, _, Some(SettlePlan::RepeatAt(at))) if at <= s.now => StartCause::Repeat,
        (Stage::Reconciling, _, Some(SettlePlan::OrderedAt(at))) if at <= s.now => StartCause::Ordered,
        (stage, _, _) => {
            return Err(Rejected::state(format!("`{id}` is {}, not due to start", stage.name())));
        }
    };
    if a.stage == Stage::Reconciling {
        return may_repeat(s, id, cause);
    }
    if a.stage == Stage::Ready && id.is_forward() && branch::waits(s.plan, s.state, ix) {
        return Err(Rejected::state(format!("`{id}` waits for other steps, or for a decision")));
    }
    if s.state.is_held(s.plan, id) {
        return Err(Rejected::state(match id.direction {
            Direction::Forward => format!("a step that `{}` depends on is disputed", id.step),
            Direction::Compensation => {
                format!("a step that depends on `{}` is not settled and undone", id.step)
            }
            Direction::Manual(_) => format!("an attempt of `{}` is running: wait for its answer", id.step),
        }));
    }
    if retry::turning(s.state, id) {
        return Err(Rejected::state("the saga turned back, or a turn is wished for"));
    }
    if s.now >= retry::start_deadline(s.plan, s.state, id) {
        return Err(Rejected::state(format!("the deadline of `{id}` has passed")));
    }
    Ok(cause)
}

/// A declared repeat has its limits; what a person ordered was judged when it was ordered.
fn may_repeat(s: &Scribe<'_>, id: &ActionId, cause: StartCause) -> Result<StartCause, Rejected> {
    if id.is_forward() && s.state.compensation_began(s.plan, id) {
        return Err(Rejected::state(format!("the compensation of `{}` settles it", id.step)));
    }
    let (limit, because) = settle::repeat_limit(s.plan, id, s.action(id));
    if cause == StartCause::Repeat && s.now >= limit {
        return Err(Rejected::state(format!("`{id}` may not be repeated any more: {}", because.code())));
    }
    Ok(cause)
}

/// The input cannot be built: nothing was sent, a person decides.
pub(super) fn input_failed(s: &mut Scribe<'_>, action: ActionId, failure: Failure) -> Result<(), Rejected> {
    let (_, a) = s.find(&action)?;
    if s.state.is_over(&action) {
        return Err(Rejected::state("the saga was closed"));
    }
    let next = match a.stage {
        Stage::Ready | Stage::RetryScheduled => retry::persistent(s, &action, Because::Input),
        Stage::Reconciling if a.running.is_none() => Next::Desk { because: Because::Input },
        stage => return Err(Rejected::state(format!("`{action}` is {}, not starting", stage.name()))),
    };
    s.record(JournalEvent::Planned { action, failure: Some(failure), next });
    Ok(())
}

/// A started attempt was certainly never sent.
pub(super) fn withdraw(s: &mut Scribe<'_>, action: ActionId, attempt: u32) -> Result<(), Rejected> {
    let (_, a) = s.find(&action)?;
    if a.running.is_none_or(|running| running.attempt != attempt) {
        return Err(Rejected::state(format!("attempt {attempt} of `{action}` is not running")));
    }
    let was_unknown = a.stage == Stage::Reconciling;
    s.record(JournalEvent::Withdrawn { action: action.clone(), attempt });
    // News of an earlier transmission came while it ran: how that is settled, or that nothing is left to be
    // settled and no attempt either, is decided now.
    let a = s.action(&action);
    if a.settling.is_some_and(|settling| settling.plan == SettlePlan::Undecided) {
        let next = settle::plan(s, &action, settle::Counted::Earlier);
        s.record(JournalEvent::Planned { action, failure: None, next });
    } else if was_unknown && a.stage == Stage::RetryScheduled {
        let next = retry::after_failure(s, &action, None);
        if !matches!(next, Next::Retry { .. }) {
            planned(s, action, None, next);
        }
    }
    Ok(())
}

/// Journals an action as exhausted or, where the policy says so, turns the saga back for it.
pub(super) fn planned(s: &mut Scribe<'_>, action: ActionId, failure: Option<Failure>, next: Next) {
    let step = action.step.clone();
    let turns = matches!(next, Next::TurnBack { .. });
    s.record(JournalEvent::Planned { action, failure, next });
    if turns {
        turn::turn(s, TurnReason::Exhausted { step });
    }
}
