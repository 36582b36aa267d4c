//! Turning back, and ending. Direction is a durable decision and never re-derived.

use super::news;
use super::person::answered;
use super::scribe::Scribe;
use crate::event::{Answer, JournalEvent, TurnReason, Verb};
use crate::machine::Operation;
use crate::state::{Phase, Stage, Wish};

/// The saga turns back, unless it has already, or its pivot is under way: then it is a wish. A wish that was
/// recorded before is the reason.
pub(super) fn turn(s: &mut Scribe<'_>, reason: TurnReason) {
    if s.state.turned.is_some() || s.state.phase.is_ended() {
        return;
    }
    if s.state.pivot_in_doubt(s.plan) {
        if s.state.wishes.iter().all(|wish| wish.reason != reason) {
            s.record(JournalEvent::WishRecorded { operation: None, reason });
        }
        return;
    }
    let reason = s.state.wishes.first().map_or(reason, |wish| wish.reason.clone());
    s.record(JournalEvent::TurnedBack { reason });
}

/// What follows from the new state as a whole: wishes are answered, the saga ends.
pub(super) fn conclude(s: &mut Scribe<'_>) {
    answer_wishes(s);
    news::contradicted_by_compensations(s);
    match s.state.phase {
        Phase::Running => {
            let done = |stage| matches!(stage, Stage::Succeeded | Stage::Skipped);
            let mut all = s.state.steps.iter().map(|step| &step.forward);
            if all.all(|forward| done(forward.stage) && forward.is_settled()) {
                ends(s, JournalEvent::Completed {});
            }
        }
        Phase::Compensating => {
            if s.state.unwound(s.plan).into_iter().all(|unwound| unwound) {
                ends(s, JournalEvent::Compensated {});
            }
        }
        Phase::Completed | Phase::Compensated | Phase::Closed => {}
    }
}

/// The saga ends by itself: a request to close it has nothing left to close.
fn ends(s: &mut Scribe<'_>, end: JournalEvent) {
    let closing = s.state.closing.as_ref().map(|(closing, _)| closing.clone());
    s.record(end);
    if let Some(closing) = closing {
        let operation = Operation { id: closing.operation, actor: closing.by, reason: closing.reason };
        answered(s, operation, Verb::Close, Answer::TooLate);
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
        answer_wish(s, wish, &answer);
    }
}

/// Gives the person who wished for a turn the final answer; a deadline needs none.
pub(super) fn answer_wish(s: &mut Scribe<'_>, wish: Wish, answer: &Answer) {
    let Some(id) = wish.operation else { return };
    let (verb, actor, reason) = match wish.reason {
        TurnReason::Cancelled { by, reason } => (Verb::Cancel, by, reason),
        TurnReason::Operator { by, reason } => (Verb::TurnBack, by, reason),
        TurnReason::Refused { .. }
        | TurnReason::Partial { .. }
        | TurnReason::Exhausted { .. }
        | TurnReason::Deadline
        | TurnReason::Contradiction { .. } => return,
    };
    answered(s, Operation { id, actor, reason }, verb, answer.clone());
}
