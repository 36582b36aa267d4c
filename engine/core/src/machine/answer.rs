//! What an attempt answers, and what that leads to. An answer speaks of its own transmission: while another one
//! is running or unknown, only a success settles the action (and a refusal, where answers are kept).

use super::scribe::Scribe;
use super::settle::{self, Counted};
use super::{news, retry, turn};
use crate::event::{Because, Failure, FailureKind, JournalEvent, Next, Recorded, TurnReason};
use crate::id::ActionId;
use crate::machine::{Attempted, Rejected};
use crate::state::{Effect, Stage};

/// An attempt answered, or somebody who names none. Recording always succeeds: whatever is said of an action of
/// this saga becomes a fact.
pub(super) fn answer(
    s: &mut Scribe<'_>,
    action: ActionId,
    attempt: Option<u32>,
    answered: Attempted,
) -> Result<(), Rejected> {
    let (_, a) = s.find(&action)?;
    let settled = a.stage.is_settled() || s.state.is_over(&action);
    let answered = understood(s, &action, answered);
    if settled {
        let for_all = s.step(&action).contract.keeps_answers;
        news::of_settled(s, action, attempt, &answered, for_all);
        return Ok(());
    }
    let a = s.action(&action);
    match attempt {
        Some(attempt) if a.running.is_some_and(|running| running.attempt == attempt) => {
            let others = a.unknown.iter().any(|unknown| *unknown != attempt);
            settle(s, action, attempt, answered, others);
        }
        _ => late(s, action, attempt, answered),
    }
    Ok(())
}

/// What the answer means of this kind of action: a read's unknown is transient, and whatever speaks of effects
/// from a read is the author's mistake; so is staleness from a forward action.
fn understood(s: &Scribe<'_>, id: &ActionId, answered: Attempted) -> Attempted {
    let read = s.is_read(id);
    match answered {
        Attempted::Refused(refusal) if settle::cannot_refuse(s, id) => {
            Attempted::Persistent(misplaced("refused", "cannot-refuse", said(&refusal)))
        }
        Attempted::Unknown(failure) if read => Attempted::Transient(failure),
        Attempted::Accepted { .. } if read => {
            Attempted::Persistent(misplaced("accepted", "read", TAKEN.into()))
        }
        Attempted::Partial(_) if read => Attempted::Persistent(misplaced("partial", "read", IN_PART.into())),
        Attempted::Fenced { through } if read => {
            let report = format!("closed out through attempt {through}");
            Attempted::Persistent(misplaced("fenced", "read", report))
        }
        Attempted::Mismatch(failure) if read => {
            Attempted::Persistent(misplaced("mismatch", "read", failure.message))
        }
        Attempted::Stale { found } if id.is_forward() => {
            Attempted::Persistent(misplaced("stale", "forward", found.text().to_owned()))
        }
        other => other,
    }
}

const TAKEN: &str = "the participant has taken it and will answer later";
const IN_PART: &str = "it took effect in part";

fn said(refusal: &Recorded) -> String {
    refusal.value().map(|value| value.text().to_owned()).unwrap_or_default()
}

/// An answer where it has no place: nothing took effect, and it will not heal by itself.
fn misplaced(code: &str, rule: &str, message: String) -> Failure {
    let (kind, code, rule) = (FailureKind::Persistent, code.into(), rule.into());
    Failure { kind, code, message, rule, classifier: String::new(), hint: None }
}

/// The answer of the only transmission that is not settled, or of one beside `others` that are unknown.
fn settle(s: &mut Scribe<'_>, action: ActionId, attempt: u32, answered: Attempted, others: bool) {
    match answered {
        Attempted::Succeeded(output) => {
            s.record(JournalEvent::Succeeded { action, attempt: Some(attempt), output });
        }
        Attempted::Refused(refusal) => {
            let rejects = !others || s.step(&action).contract.keeps_answers;
            refused(s, action, Some(attempt), refusal, rejects);
        }
        Attempted::Partial(output) => partly(s, action, attempt, output),
        Attempted::Transient(failure) => {
            let next = if others {
                settle::plan(s, &action, Counted::Answer(failure.hint))
            } else {
                retry::after_failure(s, &action, failure.hint)
            };
            failed(s, action, attempt, failure, next);
        }
        Attempted::Persistent(failure) => {
            let next = without_effect(s, &action, Because::Persistent, others);
            failed(s, action, attempt, failure, next);
        }
        Attempted::Fenced { through } => fenced(s, action, attempt, through, others),
        Attempted::Stale { found } if !others => {
            let expected = s.action(&action).expected.clone();
            s.record(JournalEvent::WentStale { action, attempt, expected, found });
        }
        Attempted::Stale { found } => {
            let next = settle::plan(s, &action, Counted::Answer(None));
            let failure = misplaced("stale", "beside-unknown", found.text().to_owned());
            failed(s, action, attempt, failure, next);
        }
        Attempted::Unknown(failure) => {
            let next = settle::plan(s, &action, Counted::Answer(failure.hint));
            s.record(JournalEvent::BecameUnknown { action, attempt, failure, next });
        }
        Attempted::Accepted { wait } => accepted(s, action, attempt, wait),
        Attempted::Mismatch(failure) => s.record(JournalEvent::Mismatched { action, attempt, failure }),
    }
}

/// This transmission had no effect, and it will not be tried again without a person.
fn without_effect(s: &Scribe<'_>, id: &ActionId, because: Because, others: bool) -> Next {
    if others { settle::plan(s, id, Counted::Answer(None)) } else { retry::persistent(s, id, because) }
}

/// This transmission was closed out. Where a query of the engine's own asked for that, and as far as it did, this is
/// what that query found and nobody heard; else somebody else closed it out, and a person looks at it.
fn fenced(s: &mut Scribe<'_>, action: ActionId, attempt: u32, through: u32, others: bool) {
    let asked_for = s.action(&action).asked_to_fence >= attempt.max(through);
    let next = if asked_for && !others {
        retry::after_failure(s, &action, None)
    } else {
        without_effect(s, &action, Because::Fenced, others)
    };
    let step = action.step.clone();
    let turns = matches!(next, Next::TurnBack { .. });
    s.record(JournalEvent::FencedOut { action, attempt, through, next });
    if turns {
        turn::turn(s, TurnReason::Exhausted { step });
    }
}

fn accepted(s: &mut Scribe<'_>, action: ActionId, attempt: u32, wait: Option<std::time::Duration>) {
    let next = settle::plan_accepted(s, &action, wait);
    let not_before = wait.map(|wait| s.now + wait);
    s.record(JournalEvent::Accepted { action: action.clone(), attempt, not_before, next });
    settle::accepted_overdue(s, &action);
}

fn partly(s: &mut Scribe<'_>, action: ActionId, attempt: u32, output: Option<Recorded>) {
    let next = settle::partial(s, &action);
    let step = action.step.clone();
    let turns = next == Next::Done;
    s.record(JournalEvent::PartlyApplied { action, attempt: Some(attempt), output, next });
    if turns {
        turn::turn(s, TurnReason::Partial { step });
    }
}

/// A refusal that does not speak for every transmission leaves the outcome to be settled.
fn refused(s: &mut Scribe<'_>, action: ActionId, attempt: Option<u32>, refusal: Recorded, rejects: bool) {
    let next = if rejects { Next::Reject } else { settle::plan(s, &action, Counted::Answer(None)) };
    let step = action.step.clone();
    s.record(JournalEvent::Refused { action, attempt, refusal, next });
    if rejects {
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

/// An answer of a transmission that is not running, of an action that is not settled.
fn late(s: &mut Scribe<'_>, action: ActionId, attempt: Option<u32>, answered: Attempted) {
    let a = s.action(&action);
    if a.attempts == 0 {
        return news::record(s, action, attempt, &answered, "nothing was ever sent for it");
    }
    if let Attempted::Succeeded(output) = answered {
        return s.record(JournalEvent::Succeeded { action, attempt, output });
    }
    let keeps_answers = s.step(&action).contract.keeps_answers;
    let running = a.running.is_some();
    let others = a.unknown.iter().any(|unknown| Some(*unknown) != attempt);
    let in_doubt = action.is_forward() && s.state.compensation_began(s.plan, &action);
    if in_doubt && !matches!(answered, Attempted::Partial(_)) {
        return news::record(s, action, attempt, &answered, "its compensation settles it");
    }
    let settles = keeps_answers && !running && a.effect != Effect::Partial;
    match (attempt, answered) {
        (None, Attempted::Refused(refusal)) if settles => refused(s, action, None, refusal, true),
        (None, answered) => {
            news::record(s, action, None, &answered, "it names no attempt, so it settles none");
        }
        (Some(attempt), answered) if attempt == 0 || attempt > a.attempts => {
            news::record(s, action, Some(attempt), &answered, "no such attempt was made");
        }
        (Some(attempt), Attempted::Refused(refusal)) if settles => {
            refused(s, action, Some(attempt), refusal, true);
        }
        (Some(attempt), answered) if a.unknown.contains(&attempt) => {
            if running || others {
                beside_others(s, action, attempt, answered);
            } else {
                of_the_unknown(s, action, attempt, answered);
            }
        }
        (Some(attempt), answered) => {
            let others = running || others;
            thought_without_effect(s, action, attempt, answered, others);
        }
    }
}

/// It settles its own transmission, and the action stays as it is until the others have answered.
fn beside_others(s: &mut Scribe<'_>, action: ActionId, attempt: u32, answered: Attempted) {
    let next = Next::Stay;
    match answered {
        Attempted::Refused(refusal) => {
            s.record(JournalEvent::Refused { action, attempt: Some(attempt), refusal, next });
        }
        Attempted::Transient(failure) | Attempted::Persistent(failure) => {
            s.record(JournalEvent::Failed { action, attempt, failure, next });
        }
        Attempted::Stale { found } => {
            let failure = misplaced("stale", "beside-unknown", found.text().to_owned());
            s.record(JournalEvent::Failed { action, attempt, failure, next });
        }
        Attempted::Fenced { through } => {
            s.record(JournalEvent::FencedOut { action, attempt, through, next });
        }
        Attempted::Succeeded(_)
        | Attempted::Unknown(_)
        | Attempted::Accepted { .. }
        | Attempted::Partial(_)
        | Attempted::Mismatch(_) => {
            let why = "another transmission is running or unknown, and decides";
            news::record(s, action, Some(attempt), &answered, why);
        }
    }
}

/// The only unknown transmission has answered after all.
fn of_the_unknown(s: &mut Scribe<'_>, action: ActionId, attempt: u32, answered: Attempted) {
    let accepted = s.action(&action).settling.is_some_and(|settling| settling.accepted);
    match answered {
        Attempted::Unknown(_) => {
            news::record(s, action, Some(attempt), &answered, "that was known: its outcome is unknown");
        }
        Attempted::Accepted { .. } if accepted => {
            news::record(s, action, Some(attempt), &answered, "that was known: it was accepted");
        }
        Attempted::Succeeded(_)
        | Attempted::Refused(_)
        | Attempted::Transient(_)
        | Attempted::Persistent(_)
        | Attempted::Accepted { .. }
        | Attempted::Partial(_)
        | Attempted::Fenced { .. }
        | Attempted::Mismatch(_)
        | Attempted::Stale { .. } => settle(s, action, attempt, answered, false),
    }
}

/// News of a transmission that was thought without effect. What makes the effect possible again stops further
/// attempts; a final refusal is final; what only repeats that it had none changes nothing.
fn thought_without_effect(
    s: &mut Scribe<'_>,
    action: ActionId,
    attempt: u32,
    answered: Attempted,
    others: bool,
) {
    let a = s.action(&action);
    let known_partial = a.stage == Stage::Quarantined && a.effect == Effect::Partial;
    let why = match &answered {
        _ if known_partial => Some("its effect is known to be partial, and a person decides"),
        Attempted::Transient(_)
        | Attempted::Persistent(_)
        | Attempted::Fenced { .. }
        | Attempted::Stale { .. } => Some("that was known: this transmission had no effect"),
        Attempted::Mismatch(_) => Some("it says nothing of this transmission's effect"),
        Attempted::Refused(_) if others => Some("another transmission is running or unknown, and decides"),
        Attempted::Refused(_)
        | Attempted::Succeeded(_)
        | Attempted::Unknown(_)
        | Attempted::Accepted { .. }
        | Attempted::Partial(_) => None,
    };
    if let Some(why) = why {
        return news::record(s, action, Some(attempt), &answered, why);
    }
    match answered {
        Attempted::Unknown(failure) if others => stays_unknown(s, action, attempt, failure),
        Attempted::Accepted { .. } if others => {
            stays_unknown(s, action, attempt, open_again("accepted", TAKEN));
        }
        Attempted::Partial(_) if others => stays_unknown(s, action, attempt, open_again("partial", IN_PART)),
        answered => settle(s, action, attempt, answered, false),
    }
}

fn stays_unknown(s: &mut Scribe<'_>, action: ActionId, attempt: u32, failure: Failure) {
    s.record(JournalEvent::BecameUnknown { action, attempt, failure, next: Next::Stay });
}

fn open_again(code: &str, message: &str) -> Failure {
    Failure { kind: FailureKind::Unknown, ..misplaced(code, "late", message.into()) }
}
