//! What time brings, and what a takeover brings. A timer is state, not a queue entry: looking twice adds
//! nothing.

use super::scribe::Scribe;
use super::{attempt, fold, retry, settle, turn};
use crate::event::{Because, JournalEvent, Next, TurnReason};
use crate::id::{ActionId, Incarnation};
use crate::state::{Action, Phase, Stage};

/// A node takes the saga over: what was under way is unknown, and how it goes on is decided at once.
pub(super) fn claim(s: &mut Scribe<'_>, incarnation: Incarnation) {
    claim_paused(s, incarnation);
    tick(s);
}

/// As [`claim`], while the saga's workflow is paused: how it goes on is decided, and no deadline is.
pub(super) fn claim_paused(s: &mut Scribe<'_>, incarnation: Incarnation) {
    s.record(JournalEvent::Claimed { incarnation });
    settle::plan_undecided(s, &fold::executor_died());
}

/// Decides every deadline that has come. While the saga is paused they run, and are decided when it is unpaused.
pub(super) fn tick(s: &mut Scribe<'_>) {
    if s.state.paused.is_some() {
        return;
    }
    saga_deadline(s);
    step_deadlines(s);
    overdue_repeats(s);
    overdue_replies(s);
}

fn step_deadlines(s: &mut Scribe<'_>) {
    let waits = |a: &Action| matches!(a.stage, Stage::Ready | Stage::RetryScheduled);
    let waiting: Vec<ActionId> = s
        .state
        .actions(s.plan)
        .filter(|(id, a)| waits(a) && !s.state.is_over(id))
        .map(|(id, _)| id)
        .collect();
    for action in waiting {
        // The turn that an earlier one brought may have skipped this one.
        let a = s.action(&action);
        if waits(a) && s.now >= retry::step_deadline(s.plan, &action, a) {
            let next = retry::exhausted(s, &action, Because::DeadlinePassed);
            attempt::planned(s, action, None, next);
        }
    }
}

/// What the participant has taken and did not answer in time.
fn overdue_replies(s: &mut Scribe<'_>) {
    let accepted = |a: &Action| a.settling.is_some_and(|settling| settling.accepted);
    let waiting: Vec<ActionId> = s
        .state
        .actions(s.plan)
        .filter(|(id, a)| accepted(a) && !s.state.is_over(id))
        .map(|(id, _)| id)
        .collect();
    for action in waiting {
        settle::accepted_overdue(s, &action);
    }
}

/// Repeats that were due and found no permit in time.
fn overdue_repeats(s: &mut Scribe<'_>) {
    let overdue: Vec<(ActionId, Next)> = s
        .state
        .actions(s.plan)
        .filter(|(id, _)| !s.state.is_over(id))
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
    } else {
        turn::turn(s, TurnReason::Deadline);
    }
}
