//! Turning back, and ending. Direction is a durable decision and never re-derived.

use super::scribe::Scribe;
use crate::event::{Answer, JournalEvent, TurnReason, Verb};
use crate::machine::{Operation, Rejected};
use crate::state::{Phase, Stage};

/// The saga turns back, unless it has already. A wish that was recorded before is the reason.
pub(super) fn turn(s: &mut Scribe<'_>, reason: TurnReason) {
    if s.state.turned.is_some() {
        return;
    }
    let reason = s.state.wishes.first().map_or(reason, |wish| wish.reason.clone());
    s.record(JournalEvent::TurnedBack { reason });
}

/// A person cancels the saga. The answer always matches what then happens.
pub(super) fn cancel(s: &mut Scribe<'_>, operation: Operation) -> Result<(), Rejected> {
    if already_asked(s, &operation, Verb::Cancel)? {
        return Ok(());
    }
    let reason = TurnReason::Cancelled { by: operation.actor.clone(), reason: operation.reason.clone() };
    let answer = match s.state.phase {
        Phase::Completed | Phase::Closed => Answer::TooLate,
        Phase::Compensating | Phase::Compensated => Answer::Already,
        Phase::Running if s.state.past_pivot(s.plan) => Answer::TooLate,
        Phase::Running if s.state.pivot_in_doubt(s.plan) => {
            s.record(JournalEvent::WishRecorded { operation: Some(operation.id.clone()), reason });
            Answer::Pending
        }
        Phase::Running => {
            turn(s, reason);
            Answer::Accepted
        }
    };
    answered(s, operation, Verb::Cancel, answer);
    Ok(())
}

/// Was this operation id used before? For the same verb its answer stands.
pub(super) fn already_asked(s: &Scribe<'_>, operation: &Operation, verb: Verb) -> Result<bool, Rejected> {
    match s.state.answers.get(&operation.id) {
        None => Ok(false),
        Some((asked, _)) if *asked == verb => Ok(true),
        Some((asked, _)) => Err(Rejected::state(format!(
            "the operation id `{}` was used for {asked:?} before; each operation needs its own",
            operation.id
        ))),
    }
}

pub(super) fn answered(s: &mut Scribe<'_>, operation: Operation, verb: Verb, answer: Answer) {
    let Operation { id, actor, reason } = operation;
    s.record(JournalEvent::Answered { operation: id, verb, actor, reason, answer });
}

/// What follows from the new state as a whole: wishes are answered, the saga ends.
pub(super) fn conclude(s: &mut Scribe<'_>) {
    answer_wishes(s);
    match s.state.phase {
        Phase::Running => {
            let done = |stage| matches!(stage, Stage::Succeeded | Stage::Skipped);
            if s.state.steps.iter().all(|step| done(step.forward.stage)) {
                s.record(JournalEvent::Completed {});
            }
        }
        Phase::Compensating => {
            if s.state.unwound(s.plan).into_iter().all(|unwound| unwound) {
                s.record(JournalEvent::Compensated {});
            }
        }
        Phase::Completed | Phase::Compensated | Phase::Closed => {}
    }
}

fn answer_wishes(s: &mut Scribe<'_>) {
    if s.state.wishes.is_empty() || s.state.pivot_in_doubt(s.plan) {
        return;
    }
    let answer = if s.state.past_pivot(s.plan) { Answer::TooLate } else { Answer::Accepted };
    let wishes = s.state.wishes.clone();
    if answer == Answer::Accepted {
        turn(s, wishes[0].reason.clone());
    }
    for wish in wishes {
        let Some(id) = wish.operation else { continue };
        let (actor, reason) = match wish.reason {
            TurnReason::Cancelled { by, reason } | TurnReason::Operator { by, reason } => (by, reason),
            TurnReason::Refused { .. }
            | TurnReason::Partial { .. }
            | TurnReason::Exhausted { .. }
            | TurnReason::Deadline
            | TurnReason::Contradiction { .. } => continue,
        };
        answered(s, Operation { id, actor, reason }, Verb::Cancel, answer.clone());
    }
}
