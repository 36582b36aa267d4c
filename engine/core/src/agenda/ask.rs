//! The questions behind the agenda.

use super::desk::desk;
use super::{Lane, Task, Wait, Wake, WakeReason};
use crate::event::TurnReason;
use crate::id::ActionId;
use crate::machine::{branch, retry, settle};
use crate::plan::SagaPlan;
use crate::state::{Action, Phase, SagaState, SettlePlan, Stage};
use crate::time::Timestamp;

/// What may be done now, and when to look again: the part of the agenda that the hot path needs.
pub fn tasks(plan: &SagaPlan, state: &SagaState, now: Timestamp) -> (Vec<Task>, Option<Wake>) {
    ask(plan, state, now, state.paused.is_some())
}

/// As [`tasks`], while the saga's workflow is paused: no attempt starts and no deadline is decided, as if the saga
/// itself were paused. The workflow's pause is no fact of the saga and stands in no journal.
pub fn tasks_of_paused(plan: &SagaPlan, state: &SagaState, now: Timestamp) -> (Vec<Task>, Option<Wake>) {
    ask(plan, state, now, true)
}

fn ask(plan: &SagaPlan, state: &SagaState, now: Timestamp, paused: bool) -> (Vec<Task>, Option<Wake>) {
    let mut asked = Asked { now, paused, tasks: Vec::new(), wake: None };
    if state.phase == Phase::Running && !state.late {
        let wished = state.wishes.iter().any(|wish| wish.reason == TurnReason::Deadline);
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
        for manual in &step.manual {
            of_action(plan, state, &manual.action, false, &mut asked, || manual.request.action.clone());
        }
    }
    (asked.tasks, asked.wake)
}

struct Asked {
    now: Timestamp,
    paused: bool,
    tasks: Vec<Task>,
    wake: Option<Wake>,
}

impl Asked {
    /// A tick now if `at` has come, else a wake-up. While the saga is paused no deadline is decided.
    fn tick_at(&mut self, at: Timestamp, why: impl FnOnce() -> WakeReason) {
        if self.paused {
            return;
        }
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
    if a.dispute.is_some() {
        query(plan, state, a, asked, &id);
    }
    if a.stage.is_settled() && a.running.is_some() {
        asked.tasks.push(Task::Stop { action: id() }); // News of another transmission has settled it.
    }
    if state.phase == Phase::Closed && state.is_over(&id()) {
        return;
    }
    match a.stage {
        Stage::Ready | Stage::RetryScheduled if asked.paused => {}
        Stage::Ready => start(plan, state, a, asked, id()),
        Stage::RetryScheduled => match a.retry_at {
            Some(at) if at > asked.now => {
                if !state.is_held(plan, &id()) {
                    asked.wake_at(at, || WakeReason::Retry(id()));
                }
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
        Stage::Reconciling if !compensating => settling(plan, state, a, asked, &id),
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
    if waits_still(plan, state, &id, a) || state.is_held(plan, &id) {
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

/// A query that is due, or the wake-up for it.
fn query(plan: &SagaPlan, state: &SagaState, a: &Action, asked: &mut Asked, id: &impl Fn() -> ActionId) {
    let id = id();
    match settle::query_due(state, &id, a) {
        Some(at) if at > asked.now => asked.wake_at(at, || WakeReason::Query(id)),
        Some(_) => {
            let fence_through = settle::fence_through(plan, state, &id, asked.now);
            asked.tasks.push(Task::Query { action: id, query: a.queries + 1, fence_through });
        }
        None => {}
    }
}

fn settling(plan: &SagaPlan, state: &SagaState, a: &Action, asked: &mut Asked, id: &impl Fn() -> ActionId) {
    let Some(settling) = a.settling else { return };
    let repeat =
        |attempt, deadline| Task::Start { action: id(), attempt, lane: Lane::Reconciliation, deadline };
    match settling.plan {
        // A repeat under way goes on after the turn, for it settles what the turn has to know.
        SettlePlan::Undecided | SettlePlan::Querying { .. } | SettlePlan::Repeating => return,
        SettlePlan::QueryAt(_) => query(plan, state, a, asked, id),
        SettlePlan::RepeatAt(_) | SettlePlan::OrderedAt(_) if asked.paused => {}
        SettlePlan::RepeatAt(at) | SettlePlan::OrderedAt(at) if at > asked.now => {
            asked.wake_at(at, || WakeReason::Repeat(id()));
        }
        SettlePlan::RepeatAt(_) => {
            let (limit, _) = settle::repeat_limit(plan, &id(), a);
            asked.tick_at(limit, || WakeReason::Repeat(id()));
            if asked.now < limit {
                asked.tasks.push(repeat(a.attempts + 1, Some(limit)));
            }
        }
        SettlePlan::OrderedAt(_) => asked.tasks.push(repeat(a.attempts + 1, None)),
        SettlePlan::Reply | SettlePlan::Person => {}
    }
    if settling.accepted {
        asked.tick_at(retry::step_deadline(plan, &id(), a), || WakeReason::StepDeadline(id()));
    }
}

/// Why every part of the saga that is not settled is not moving by itself right now.
pub(super) fn waits(plan: &SagaPlan, state: &SagaState, now: Timestamp) -> Vec<Wait> {
    let mut waits: Vec<Wait> = Vec::new();
    if let Some(since) = state.paused {
        waits.push(Wait::Paused { since });
    }
    for (action, a) in state.actions(plan) {
        waits.extend(wait(plan, state, action, a, now));
    }
    waits.extend(desk(plan, state).into_iter().map(Wait::Person));
    waits
}

/// What one action waits for, beside a person.
fn wait(plan: &SagaPlan, state: &SagaState, action: ActionId, a: &Action, now: Timestamp) -> Option<Wait> {
    let until = |at, why| Some(Wait::Until(Wake { at, why }));
    let permit = |action: ActionId, since| {
        let held = state.paused.is_some() || state.is_held(plan, &action);
        (!held).then_some(Wait::Permit { action, since })
    };
    if let Some(running) = a.running {
        return Some(Wait::Attempt { action, attempt: running.attempt, since: running.since });
    }
    if let Some(query) = settle::query_under_way(a) {
        return Some(Wait::Querying { action, query });
    }
    if let Some(at) = settle::query_due(state, &action, a)
        && !(action.is_forward() && a.stage == Stage::Reconciling && state.compensation_began(plan, &action))
    {
        return until(at, WakeReason::Query(action));
    }
    if state.is_over(&action) {
        return None;
    }
    match (a.stage, a.settling.map(|settling| settling.plan)) {
        // Its compensation settles it, and waits for itself.
        (Stage::Reconciling, _) if action.is_forward() && state.compensation_began(plan, &action) => None,
        (Stage::Ready, _) if waits_still(plan, state, &action, a) => None, // Others wait in its stead.
        (Stage::Ready, _) => permit(action, a.since),
        (Stage::RetryScheduled, _) => match a.retry_at {
            Some(at) if at > now => until(at, WakeReason::Retry(action)),
            due => permit(action, due.unwrap_or(a.since)),
        },
        (Stage::Reconciling, Some(SettlePlan::RepeatAt(at))) => until(at, WakeReason::Repeat(action)),
        (Stage::Reconciling, Some(SettlePlan::OrderedAt(at))) => permit(action, at),
        (Stage::Reconciling, Some(SettlePlan::Reply)) => {
            let until = retry::step_deadline(plan, &action, a);
            Some(Wait::Reply { action, since: a.since, until })
        }
        _ => None,
    }
}
