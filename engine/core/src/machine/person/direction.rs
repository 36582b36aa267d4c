//! Which way the saga goes, and whether it moves: cancel, turn back, reject, waive, pause, unpause.

use super::{once, refuse};
use crate::event::{Answer, JournalEvent, TurnReason, Verb};
use crate::id::ActionId;
use crate::machine::scribe::Scribe;
use crate::machine::{Operation, Rejected, timers, turn};
use crate::state::{Effect, Phase, Stage};

/// A person cancels the saga. The answer always matches what then happens.
pub(super) fn cancel(s: &mut Scribe<'_>, operation: Operation) -> Result<(), Rejected> {
    once(s, operation, Verb::Cancel, |s, operation| {
        let (by, reason) = (operation.actor.clone(), operation.reason.clone());
        Ok(back(s, operation, TurnReason::Cancelled { by, reason }))
    })
}

/// An operator turns the saga back.
pub(super) fn turn_back(s: &mut Scribe<'_>, operation: Operation) -> Result<(), Rejected> {
    once(s, operation, Verb::TurnBack, |s, operation| {
        let (by, reason) = (operation.actor.clone(), operation.reason.clone());
        Ok(back(s, operation, TurnReason::Operator { by, reason }))
    })
}

fn back(s: &mut Scribe<'_>, operation: &Operation, reason: TurnReason) -> Answer {
    match s.state.phase {
        _ if s.state.turned.is_some() => Answer::Already,
        Phase::Completed | Phase::Closed => Answer::TooLate,
        Phase::Compensating | Phase::Compensated => Answer::Already,
        Phase::Running if s.state.past_pivot(s.plan) => Answer::TooLate,
        Phase::Running if s.state.pivot_in_doubt(s.plan) => {
            s.record(JournalEvent::WishRecorded { operation: Some(operation.id.clone()), reason });
            Answer::Pending
        }
        Phase::Running => {
            turn::turn(s, reason);
            Answer::Accepted
        }
    }
}

/// A person rejects a quarantined forward action: the saga turns back.
pub(super) fn reject(s: &mut Scribe<'_>, action: ActionId, operation: Operation) -> Result<(), Rejected> {
    once(s, operation, Verb::Reject, |s, operation| {
        let (_, a) = s.find(&action)?;
        if !action.is_forward() {
            return refuse("a compensation cannot be rejected: it is owed");
        }
        if a.stage != Stage::Quarantined {
            return refuse(format!(
                "only a QUARANTINED action can be rejected, and `{action}` is {}",
                a.stage.name()
            ));
        }
        if a.effect == Effect::Partial {
            return refuse(format!(
                "`{action}` took effect in part: accept it, find it not applied, or close"
            ));
        }
        if s.state.past_pivot(s.plan) {
            return refuse("the pivot has succeeded: recovery is forward");
        }
        not_over(s, &action)?;
        let (by, reason) = (operation.actor.clone(), operation.reason.clone());
        s.record(JournalEvent::RejectedByPerson { action, operation: operation.id.clone() });
        turn::turn(s, TurnReason::Operator { by, reason });
        Ok(Answer::Accepted)
    })
}

fn not_over(s: &Scribe<'_>, action: &ActionId) -> Result<(), Rejected> {
    if s.state.is_over(action) { refuse("the saga was closed") } else { Ok(()) }
}

/// A person does without a step after the pivot.
pub(super) fn waive(s: &mut Scribe<'_>, action: ActionId, operation: Operation) -> Result<(), Rejected> {
    once(s, operation, Verb::Waive, |s, operation| {
        let (_, a) = s.find(&action)?;
        if !action.is_forward() {
            return refuse("a compensation cannot be waived: it is owed");
        }
        not_over(s, &action)?;
        if !s.state.past_pivot(s.plan) || s.state.turned.is_some() {
            return refuse("only a step after the pivot can be waived, once the pivot has succeeded");
        }
        match a.stage {
            Stage::Pending | Stage::Ready | Stage::RetryScheduled => {}
            Stage::Quarantined if a.effect == Effect::None => {}
            stage => {
                return refuse(format!(
                    "only an action without effect and without a running attempt can be waived, and `{action}` is {}",
                    stage.name()
                ));
            }
        }
        s.record(JournalEvent::Waived { action, operation: operation.id.clone() });
        Ok(Answer::Accepted)
    })
}

/// No new attempt of any kind starts from here.
pub(super) fn pause(s: &mut Scribe<'_>, operation: Operation) -> Result<(), Rejected> {
    once(s, operation, Verb::Pause, |s, operation| {
        if s.state.paused.is_some() {
            return Ok(Answer::Already);
        }
        if s.state.phase.is_ended() && s.state.open_actions(s.plan) == 0 {
            return refuse("the saga has ended");
        }
        s.record(JournalEvent::Paused { operation: operation.id.clone() });
        Ok(Answer::Accepted)
    })
}

/// Attempts may start again, and the deadlines that passed meanwhile are decided.
pub(super) fn unpause(s: &mut Scribe<'_>, operation: Operation) -> Result<(), Rejected> {
    once(s, operation, Verb::Unpause, |s, operation| {
        if s.state.paused.is_none() {
            return refuse("the saga is not paused");
        }
        s.record(JournalEvent::Unpaused { operation: operation.id.clone() });
        timers::tick(s);
        Ok(Answer::Accepted)
    })
}
