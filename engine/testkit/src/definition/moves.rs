//! What the world can do next in a state.

use amends_core::event::{Failure, FailureKind, Finding, Recorded};
use amends_core::machine::{Attempted, Command, Operation};
use amends_core::plan::{Settle, StepKind};
use amends_core::state::{Action, SettlePlan};
use amends_core::{ActionId, Incarnation, Json, OperationId, SagaPlan, SagaState};
use uuid::Uuid;

/// What was spent on a path, of what is bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Spent {
    pub(super) mishaps: u32,
    pub(super) crashes: u32,
    pub(super) cancels: u32,
}

/// One thing that can happen, and what it spends.
pub(super) struct Move {
    pub(super) command: Command,
    pub(super) spends: Spent,
}

impl Move {
    fn good(command: Command) -> Self {
        Self { command, spends: Spent::default() }
    }

    fn bad(command: Command) -> Self {
        Self { command, spends: Spent { mishaps: 1, ..Spent::default() } }
    }
}

/// What participants and conditions can answer.
pub(super) fn answers(plan: &SagaPlan, state: &SagaState) -> Vec<Move> {
    let mut moves = Vec::new();
    for (id, action) in state.actions(plan) {
        if let Some(running) = action.running {
            attempt(plan, &id, running.attempt, &mut moves);
        } else if let Some(query) = querying(action) {
            found(plan, &id, action, query, &mut moves);
        } else if action.settling.is_some_and(|settling| settling.accepted) {
            reply(plan, &id, action, &mut moves);
        }
    }
    for task in amends_core::agenda::tasks(plan, state, state.at).0 {
        if let amends_core::agenda::Task::Decide { branch } = task {
            for taken in [true, false] {
                moves.push(Move::good(Command::DecideBranch { branch: branch.clone(), taken }));
            }
        }
    }
    moves
}

/// What else can happen: the process dies, a person cancels.
pub(super) fn interruptions(plan: &SagaPlan, state: &SagaState, spent: Spent) -> Vec<Move> {
    let mut moves = Vec::new();
    let busy = |action: &Action| action.running.is_some() || querying(action).is_some();
    if spent.crashes == 0 && state.actions(plan).any(|(_, action)| busy(action)) {
        let command = Command::Claim { incarnation: Incarnation(Uuid::from_u128(2)) };
        moves.push(Move { command, spends: Spent { crashes: 1, ..Spent::default() } });
    }
    if spent.cancels == 0 && state.turned.is_none() && !state.phase.is_ended() {
        let (actor, reason) = ("a person".to_owned(), "changed their mind".to_owned());
        let command = Command::Cancel(Operation { id: OperationId::new("cancel"), actor, reason });
        moves.push(Move { command, spends: Spent { cancels: 1, ..Spent::default() } });
    }
    moves
}

/// Is anything of this action under way?
fn querying(action: &Action) -> Option<u32> {
    match action.settling?.plan {
        SettlePlan::Querying { query, .. } => Some(query),
        _ => None,
    }
}

fn attempt(plan: &SagaPlan, id: &ActionId, attempt: u32, moves: &mut Vec<Move>) {
    let answer = |answer| Command::Answer { action: id.clone(), attempt: Some(attempt), answer };
    moves.push(Move::good(answer(Attempted::Succeeded(value(id, "Undone")))));
    if !id.is_forward() {
        moves.push(Move::good(answer(Attempted::Succeeded(value(id, "NothingToUndo")))));
    }
    if may_refuse(plan, id) {
        moves.push(Move::bad(answer(Attempted::Refused(value(id, "")))));
    }
    moves.push(Move::bad(answer(Attempted::Transient(failure(FailureKind::Transient, "busy")))));
    moves.push(Move::bad(answer(Attempted::Persistent(failure(FailureKind::Persistent, "misconfigured")))));
    if has_effect(plan, id) {
        moves.push(Move::bad(answer(Attempted::Unknown(failure(FailureKind::Unknown, "timeout")))));
        moves.push(Move::bad(answer(Attempted::Accepted { wait: None })));
        if id.is_forward() {
            moves.push(Move::bad(answer(Attempted::Partial(None))));
        }
    }
}

fn found(plan: &SagaPlan, id: &ActionId, action: &Action, query: u32, moves: &mut Vec<Move>) {
    let fence = action.settling.and_then(|settling| match settling.plan {
        SettlePlan::Querying { fence_through, .. } => fence_through,
        _ => None,
    });
    let found = |finding| Command::Found { action: id.clone(), query, finding };
    moves.push(Move::good(found(Finding::Applied(value(id, "Undone")))));
    moves.push(Move::good(found(Finding::Absent)));
    if let Some(through) = fence {
        moves.push(Move::good(found(Finding::Fenced { through })));
    }
    if may_refuse(plan, id) {
        moves.push(Move::bad(found(Finding::Refused(value(id, "")))));
    }
    if id.is_forward() {
        moves.push(Move::bad(found(Finding::Partial(None))));
    } else {
        moves.push(Move::good(found(Finding::Applied(value(id, "NothingToUndo")))));
    }
    let failure = failure(FailureKind::Transient, "query-failed");
    moves.push(Move::bad(Command::QueryFailed { action: id.clone(), query, failure }));
}

/// The answer that was promised.
fn reply(plan: &SagaPlan, id: &ActionId, action: &Action, moves: &mut Vec<Move>) {
    let attempt = Some(action.attempts);
    let answer = |answer| Command::Answer { action: id.clone(), attempt, answer };
    moves.push(Move::good(answer(Attempted::Succeeded(value(id, "Undone")))));
    if may_refuse(plan, id) {
        moves.push(Move::bad(answer(Attempted::Refused(value(id, "")))));
    }
}

fn has_effect(plan: &SagaPlan, id: &ActionId) -> bool {
    plan.find(&id.step).is_some_and(|ix| plan.step(ix).settle != Settle::NoEffect)
}

fn may_refuse(plan: &SagaPlan, id: &ActionId) -> bool {
    let past_pivot = |ix| plan.pivot.is_some_and(|pivot| ix > pivot);
    id.is_forward()
        && plan.find(&id.step).is_some_and(|ix| {
            let step = plan.step(ix);
            step.may_refuse() && !(step.kind == StepKind::Read && past_pivot(ix))
        })
}

/// A result: the machine never looks into those of steps, and a compensation's is one of two words.
fn value(id: &ActionId, undone: &str) -> Recorded {
    let text = if id.is_forward() { "null".to_owned() } else { format!("\"{undone}\"") };
    Recorded::Value(Json::parse(&text).expect("a word, or null, is JSON"))
}

fn failure(kind: FailureKind, code: &str) -> Failure {
    Failure {
        kind,
        code: code.to_owned(),
        message: String::new(),
        rule: String::new(),
        classifier: String::new(),
        hint: None,
    }
}
