//! What time brings, and what a takeover brings. A timer is state, not a queue entry: looking twice adds
//! nothing.

use super::scribe::Scribe;
use super::{fold, retry, settle, turn};
use crate::event::{Because, JournalEvent, Next, TurnReason};
use crate::id::{ActionId, Incarnation};
use crate::state::{Phase, Stage};

/// A node takes the saga over: what was under way is unknown, and how it goes on is decided at once.
pub(super) fn claim(s: &mut Scribe<'_>, incarnation: Incarnation) {
    s.record(JournalEvent::Claimed { incarnation });
    if s.state.phase.is_ended() {
        return;
    }
    settle::plan_undecided(s, &fold::executor_died());
    tick(s);
}

/// Decides every deadline that has come.
pub(super) fn tick(s: &mut Scribe<'_>) {
    if s.state.phase.is_ended() {
        return;
    }
    saga_deadline(s);
    step_deadlines(s);
    overdue_repeats(s);
}

fn step_deadlines(s: &mut Scribe<'_>) {
    let waiting: Vec<ActionId> = s
        .state
        .actions(s.plan)
        .filter(|(_, a)| matches!(a.stage, Stage::Ready | Stage::RetryScheduled))
        .map(|(id, _)| id)
        .collect();
    for action in waiting {
        // The turn that an earlier one brought may have skipped this one.
        let a = s.action(&action);
        let waits = matches!(a.stage, Stage::Ready | Stage::RetryScheduled);
        if !waits || s.now < retry::step_deadline(s.plan, &action, a) {
            continue;
        }
        let next = retry::exhausted(s, &action, Because::DeadlinePassed);
        let step = action.step.clone();
        let turns = matches!(next, Next::TurnBack { .. });
        s.record(JournalEvent::Planned { action, failure: None, next });
        if turns {
            turn::turn(s, TurnReason::Exhausted { step });
        }
    }
}

/// Repeats that were due and found no permit in time.
fn overdue_repeats(s: &mut Scribe<'_>) {
    let overdue: Vec<(ActionId, Next)> = s
        .state
        .actions(s.plan)
        .filter_map(|(id, _)| settle::overdue_repeat(s, &id).map(|next| (id, next)))
        .collect();
    for (action, next) in overdue {
        s.record(JournalEvent::Planned { action, failure: None, next });
    }
}

fn saga_deadline(s: &mut Scribe<'_>) {
    let passed = s.state.deadline.is_some_and(|deadline| s.now >= deadline);
    if !passed || s.state.phase != Phase::Running {
        return;
    }
    if s.state.past_pivot(s.plan) {
        if !s.state.late {
            s.record(JournalEvent::MarkedLate {});
        }
    } else if s.state.pivot_in_doubt(s.plan) {
        let wished = s.state.wishes.iter().any(|wish| wish.reason == TurnReason::Deadline);
        if !wished {
            s.record(JournalEvent::WishRecorded { operation: None, reason: TurnReason::Deadline });
        }
    } else {
        turn::turn(s, TurnReason::Deadline);
    }
}
