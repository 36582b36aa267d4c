//! Attempts: journalled before they run, and what their answers lead to.

use super::branch;
use super::retry;
use super::scribe::Scribe;
use super::settle::{self, Counted};
use super::turn;
use crate::event::{Because, Failure, FailureKind, JournalEvent, Next, Recorded, StartCause, TurnReason};
use crate::id::{ActionId, StepIx};
use crate::json::Json;
use crate::machine::{Attempted, Rejected};
use crate::plan::StepKind;
use crate::state::{SettlePlan, Stage};

/// Journals the next attempt as started.
pub(super) fn begin(s: &mut Scribe<'_>, action: ActionId, input: Option<Json>) -> Result<(), Rejected> {
    let (ix, a) = s.find(&action)?;
    let cause = may_start(s, ix, &action)?;
    let input = input.filter(|_| action.is_forward() && s.state.step(ix).shaped.is_none());
    let attempt = a.attempts + 1;
    s.record(JournalEvent::Started { action, attempt, cause, input });
    Ok(())
}

/// May the next attempt start now, and why?
fn may_start(s: &Scribe<'_>, ix: StepIx, id: &ActionId) -> Result<StartCause, Rejected> {
    let a = s.action(id);
    if s.state.phase.is_ended() {
        return Err(Rejected::state("the saga has ended"));
    }
    let cause = match (a.stage, a.retry_at, a.settling.map(|settling| settling.plan)) {
        (Stage::Ready, _, _) => StartCause::Ready,
        (Stage::RetryScheduled, Some(at), _) if at <= s.now => StartCause::Retry,
        (Stage::Reconciling, _, Some(SettlePlan::RepeatAt(at))) if at <= s.now => StartCause::Repeat,
        (stage, _, _) => {
            return Err(Rejected::state(format!("`{id}` is {}, not due to start", stage.name())));
        }
    };
    if cause == StartCause::Ready && id.is_forward() && branch::waits(s.plan, s.state, ix) {
        return Err(Rejected::state(format!("`{id}` waits for other steps, or for a decision")));
    }
    if cause == StartCause::Repeat {
        if id.is_forward() && s.state.compensation_began(s.plan, id) {
            return Err(Rejected::state(format!("the compensation of `{}` settles it", id.step)));
        }
        let (limit, because) = settle::repeat_limit(s.plan, id, a);
        if s.now >= limit {
            return Err(Rejected::state(format!("`{id}` may not be repeated any more: {}", because.code())));
        }
        return Ok(cause);
    }
    if retry::turning(s.state, id) {
        return Err(Rejected::state("the saga turned back, or a turn is wished for"));
    }
    if s.now >= retry::start_deadline(s.plan, s.state, id) {
        return Err(Rejected::state(format!("the deadline of `{id}` has passed")));
    }
    Ok(cause)
}

/// The input cannot be built: nothing was sent, a person decides.
pub(super) fn input_failed(s: &mut Scribe<'_>, action: ActionId, failure: Failure) -> Result<(), Rejected> {
    let (_, a) = s.find(&action)?;
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
    s.record(JournalEvent::Withdrawn { action, attempt });
    Ok(())
}

/// An attempt answered. It speaks of its own transmission.
pub(super) fn answer(
    s: &mut Scribe<'_>,
    action: ActionId,
    attempt: u32,
    answered: Attempted,
) -> Result<(), Rejected> {
    let (_, a) = s.find(&action)?;
    let running = a.running.is_some_and(|running| running.attempt == attempt);
    let succeeded = matches!(answered, Attempted::Succeeded(_));
    // Beside a repeat that runs or a compensation in doubt a late success would meet another answer, which
    // may contradict it: that is settled by rules that come later, not by the order of arrival.
    let met = a.running.is_some() || (action.is_forward() && s.state.compensation_began(s.plan, &action));
    let settles = a.stage == Stage::Reconciling && succeeded && !met && a.unknown.contains(&attempt);
    if !running && !settles {
        return Err(Rejected::NotYet(format!(
            "attempt {attempt} of `{action}` is not running, and late news has no rule yet"
        )));
    }
    let others_unknown = a.unknown.iter().any(|unknown| *unknown != attempt);
    match understood(s, &action, answered) {
        Attempted::Succeeded(output) => {
            s.record(JournalEvent::Succeeded { action, attempt: Some(attempt), output });
        }
        Attempted::Refused(refusal) => refused(s, action, attempt, refusal, others_unknown),
        Attempted::Transient(failure) => {
            let next = if others_unknown {
                settle::plan(s, &action, Counted::Answer(failure.hint))
            } else {
                retry::after_failure(s, &action, failure.hint)
            };
            failed(s, action, attempt, failure, next);
        }
        Attempted::Persistent(failure) => {
            let next = if others_unknown {
                settle::plan(s, &action, Counted::Answer(None))
            } else {
                retry::persistent(s, &action, Because::Persistent)
            };
            failed(s, action, attempt, failure, next);
        }
        Attempted::Unknown(failure) => {
            let next = settle::plan(s, &action, Counted::Answer(failure.hint));
            s.record(JournalEvent::BecameUnknown { action, attempt, failure, next });
        }
        other => {
            let failure = not_yet(&other);
            let next = Next::Desk { because: Because::NotYet };
            s.record(JournalEvent::BecameUnknown { action, attempt, failure, next });
        }
    }
    Ok(())
}

/// What the answer means of this kind of action: a read's unknown is transient, whatever speaks of effects
/// from a read is the author's mistake, and neither a compensation nor what stands behind the pivot can refuse.
fn understood(s: &Scribe<'_>, id: &ActionId, answered: Attempted) -> Attempted {
    let cannot_refuse =
        !id.is_forward() || s.step(id).kind == StepKind::Retriable || s.state.past_pivot(s.plan);
    if s.is_read(id) {
        return match answered {
            Attempted::Unknown(failure) => Attempted::Transient(failure),
            Attempted::Accepted
            | Attempted::Partial(_)
            | Attempted::Fenced { .. }
            | Attempted::Mismatch(_) => {
                Attempted::Persistent(Failure { kind: FailureKind::Persistent, ..not_yet(&answered) })
            }
            Attempted::Refused(refusal) if cannot_refuse => Attempted::Persistent(out_of_place(&refusal)),
            other => other,
        };
    }
    match answered {
        Attempted::Refused(refusal) if cannot_refuse => Attempted::Persistent(out_of_place(&refusal)),
        other => other,
    }
}

/// A refusal where nothing can be refused any more.
fn out_of_place(refusal: &Recorded) -> Failure {
    Failure {
        kind: FailureKind::Persistent,
        code: "refused".into(),
        message: refusal.value().map(|value| value.text().to_owned()).unwrap_or_default(),
        rule: "cannot-refuse".into(),
        classifier: String::new(),
        hint: None,
    }
}

fn refused(s: &mut Scribe<'_>, action: ActionId, attempt: u32, refusal: Recorded, others_unknown: bool) {
    let speaks_for_all = !others_unknown || s.step(&action).contract.keeps_answers;
    let next = if speaks_for_all { Next::Reject } else { settle::plan(s, &action, Counted::Answer(None)) };
    let step = action.step.clone();
    s.record(JournalEvent::Refused { action, attempt: Some(attempt), refusal, next });
    if speaks_for_all {
        turn::turn(s, TurnReason::Refused { step });
    }
}

fn failed(s: &mut Scribe<'_>, action: ActionId, attempt: u32, failure: Failure, next: Next) {
    let step = action.step.clone();
    let turns = matches!(next, Next::TurnBack { .. });
    s.record(JournalEvent::Failed { action, attempt, failure, next });
    if turns {
        turn::turn(s, TurnReason::Exhausted { step });
    }
}

/// An answer whose rule comes later leaves the action RECONCILING on the desk: it is never taken for another.
fn not_yet(answered: &Attempted) -> Failure {
    let (code, message) = match answered {
        Attempted::Accepted => ("accepted", "the participant has taken it and will answer later".to_owned()),
        Attempted::Partial(_) => ("partial", "it took effect in part".to_owned()),
        Attempted::Fenced { through } => ("fenced", format!("closed out through attempt {through}")),
        Attempted::Mismatch(failure) => ("mismatch", failure.message.clone()),
        Attempted::Stale { found } => ("stale", found.text().to_owned()),
        Attempted::Succeeded(_)
        | Attempted::Refused(_)
        | Attempted::Transient(_)
        | Attempted::Persistent(_)
        | Attempted::Unknown(_) => ("engine", "this answer has a rule".to_owned()),
    };
    Failure {
        kind: FailureKind::NotYet,
        code: code.into(),
        message,
        rule: "not-yet".into(),
        classifier: String::new(),
        hint: None,
    }
}
