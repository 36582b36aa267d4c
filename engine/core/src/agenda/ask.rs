//! The questions behind the agenda.

use super::desk::desk;
use super::{Lane, Task, Wait, Wake, WakeReason};
use crate::id::ActionId;
use crate::machine::{branch, retry, settle};
use crate::plan::SagaPlan;
use crate::state::{Action, SagaState, SettlePlan, Stage};
use crate::time::Timestamp;

/// What may be done now, and when to look again: the part of the agenda that the hot path needs.
pub fn tasks(plan: &SagaPlan, state: &SagaState, now: Timestamp) -> (Vec<Task>, Option<Wake>) {
    let mut asked = Asked { now, tasks: Vec::new(), wake: None };
    if state.phase.is_ended() {
        return (asked.tasks, None);
    }
    if state.turned.is_none() && !state.late {
        let wished = state.wishes.iter().any(|wish| wish.operation.is_none());
        if let Some(deadline) = state.deadline.filter(|_| !wished) {
            asked.tick_at(deadline, || WakeReason::SagaDeadline);
        }
    }
    for ix in branch::to_decide(plan, state) {
        asked.tasks.push(Task::Decide { branch: plan.branch(ix).name.clone() });
    }
    for (ix, step) in plan.indices().zip(&state.steps) {
        let name = &plan.step(ix).name;
        let compensating = step.undo.as_ref().is_some_and(|undo| undo.stage != Stage::Pending);
        of_action(plan, state, &step.forward, compensating, &mut asked, || ActionId::forward(name.clone()));
        if let Some(undo) = &step.undo {
            of_action(plan, state, undo, false, &mut asked, || ActionId::compensation(name.clone()));
        }
    }
    (asked.tasks, asked.wake)
}

struct Asked {
    now: Timestamp,
    tasks: Vec<Task>,
    wake: Option<Wake>,
}

impl Asked {
    /// A tick now if `at` has come, else a wake-up.
    fn tick_at(&mut self, at: Timestamp, why: impl FnOnce() -> WakeReason) {
        if at > self.now {
            self.wake_at(at, why);
        } else if !self.tasks.contains(&Task::Tick) {
            self.tasks.push(Task::Tick);
        }
    }

    fn wake_at(&mut self, at: Timestamp, why: impl FnOnce() -> WakeReason) {
        if self.wake.as_ref().is_none_or(|wake| at < wake.at) {
            self.wake = Some(Wake { at, why: why() });
        }
    }
}

fn of_action(
    plan: &SagaPlan,
    state: &SagaState,
    a: &Action,
    compensating: bool,
    asked: &mut Asked,
    id: impl Fn() -> ActionId,
) {
    match a.stage {
        Stage::Ready => start(plan, state, a, asked, id()),
        Stage::RetryScheduled => match a.retry_at {
            Some(at) if at > asked.now => {
                asked.wake_at(at, || WakeReason::Retry(id()));
                asked.tick_at(retry::step_deadline(plan, &id(), a), || WakeReason::StepDeadline(id()));
            }
            Some(_) => start(plan, state, a, asked, id()),
            None => asked.tasks.push(Task::Tick),
        },
        Stage::Running => {
            let id = id();
            if id.is_forward() && state.turned.is_some() {
                asked.tasks.push(Task::Stop { action: id });
            }
        }
        Stage::Reconciling if !compensating => settling(plan, state, a, asked, id()),
        Stage::Reconciling
        | Stage::Pending
        | Stage::Quarantined
        | Stage::Succeeded
        | Stage::Partial
        | Stage::TerminalRejected
        | Stage::Skipped => {}
    }
}

fn start(plan: &SagaPlan, state: &SagaState, a: &Action, asked: &mut Asked, id: ActionId) {
    let deadline = retry::start_deadline(plan, state, &id);
    if asked.now >= deadline {
        asked.tick_at(asked.now, || WakeReason::StepDeadline(id));
        return;
    }
    asked.wake_at(deadline, || WakeReason::StepDeadline(id.clone()));
    if waits_still(plan, state, &id, a) {
        return;
    }
    let lane = match (id.is_forward(), a.attempts_of_budget()) {
        (false, _) => Lane::Compensation,
        (true, 0) => Lane::First,
        (true, _) => Lane::Retry,
    };
    asked.tasks.push(Task::Start { action: id, attempt: a.attempts + 1, lane, deadline: Some(deadline) });
}

/// Was it resumed before what it waits for was there?
fn waits_still(plan: &SagaPlan, state: &SagaState, id: &ActionId, a: &Action) -> bool {
    let ix = plan.find(&id.step).filter(|_| id.is_forward() && a.stage == Stage::Ready);
    ix.is_some_and(|ix| branch::waits(plan, state, ix))
}

fn settling(plan: &SagaPlan, state: &SagaState, a: &Action, asked: &mut Asked, id: ActionId) {
    match a.settling.map(|settling| settling.plan) {
        Some(SettlePlan::QueryAt(at)) if at > asked.now => asked.wake_at(at, || WakeReason::Query(id)),
        Some(SettlePlan::QueryAt(_)) => {
            let fence_through = settle::fence_through(plan, state, &id, asked.now);
            asked.tasks.push(Task::Query { action: id, query: a.queries + 1, fence_through });
        }
        Some(SettlePlan::RepeatAt(at)) if at > asked.now => asked.wake_at(at, || WakeReason::Repeat(id)),
        Some(SettlePlan::RepeatAt(_)) => {
            let (limit, _) = settle::repeat_limit(plan, &id, a);
            asked.tick_at(limit, || WakeReason::Repeat(id.clone()));
            if asked.now < limit {
                let (attempt, lane) = (a.attempts + 1, Lane::Reconciliation);
                asked.tasks.push(Task::Start { action: id, attempt, lane, deadline: Some(limit) });
            }
        }
        // A repeat under way goes on after the turn, for it settles what the turn has to know.
        Some(
            SettlePlan::Undecided
            | SettlePlan::Querying { .. }
            | SettlePlan::Repeating
            | SettlePlan::Desk(..),
        )
        | None => {}
    }
}

/// Why every part of the saga that is not settled is not moving by itself right now.
pub(super) fn waits(plan: &SagaPlan, state: &SagaState, now: Timestamp) -> Vec<Wait> {
    if state.phase.is_ended() {
        return Vec::new();
    }
    let mut waits: Vec<Wait> = Vec::new();
    for (action, a) in state.actions(plan) {
        let until = |at, why| Wait::Until(Wake { at, why });
        if let Some(running) = a.running {
            waits.push(Wait::Attempt { action, attempt: running.attempt, since: running.since });
            continue;
        }
        if action.is_forward() && a.stage == Stage::Reconciling && state.compensation_began(plan, &action) {
            continue; // Its compensation settles it, and waits for itself.
        }
        match (a.stage, a.settling.map(|settling| settling.plan)) {
            (Stage::Ready, _) if waits_still(plan, state, &action, a) => {} // Others wait in its stead.
            (Stage::Ready, _) => waits.push(Wait::Permit { action, since: a.since }),
            (Stage::RetryScheduled, _) => match a.retry_at {
                Some(at) if at > now => waits.push(until(at, WakeReason::Retry(action))),
                due => waits.push(Wait::Permit { action, since: due.unwrap_or(a.since) }),
            },
            (Stage::Reconciling, Some(SettlePlan::QueryAt(at))) => {
                waits.push(until(at, WakeReason::Query(action)));
            }
            (Stage::Reconciling, Some(SettlePlan::RepeatAt(at))) => {
                waits.push(until(at, WakeReason::Repeat(action)));
            }
            (Stage::Reconciling, Some(SettlePlan::Querying { query, .. })) => {
                waits.push(Wait::Querying { action, query });
            }
            _ => {}
        }
    }
    waits.extend(desk(plan, state).into_iter().map(Wait::Person));
    waits
}
