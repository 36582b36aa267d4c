//! What the world can do to a saga in one state.

use std::time::Duration;

use amends_core::agenda::{Desk, DeskItem, Task, Wait, desk};
use amends_core::event::{FailureKind, Finding, Omitted, Recorded};
use amends_core::machine::{Approval, Attempted, Command, CompensationOrder, Operation, PersonFinding};
use amends_core::state::{Action, Ask, Dispute, Effect, SettlePlan};
use amends_core::{ActionId, Direction, Incarnation, OperationId, SagaPlan, SagaState, Timestamp, agenda};
use uuid::Uuid;

use crate::script::{failure, json, result};

/// What is done.
#[derive(Clone, Debug)]
pub(crate) enum Does {
    Obey(Box<Command>),
    Pass(Timestamp),
}

/// One move of the world.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub(crate) does: Does,
    /// Nothing goes wrong by it.
    pub(crate) free: bool,
}

fn good(command: Command) -> Move {
    Move { does: Does::Obey(Box::new(command)), free: true }
}

fn bad(command: Command) -> Move {
    Move { does: Does::Obey(Box::new(command)), free: false }
}

/// Every move that goes well: what the agenda asks for, good answers, and a person at each desk.
pub(crate) fn well(plan: &SagaPlan, state: &SagaState, now: Timestamp) -> Vec<Move> {
    let mut moves = Vec::new();
    let asked = agenda(plan, state, now);
    for task in &asked.tasks {
        match task.clone() {
            Task::Start { action, .. } => {
                moves.push(good(Command::Begin { action, input: None, expected: None }))
            }
            Task::Query { action, .. } => moves.push(good(Command::BeginQuery { action })),
            Task::Decide { branch } => {
                moves.push(good(Command::DecideBranch { branch: branch.clone(), taken: true }));
                moves.push(good(Command::DecideBranch { branch, taken: false }));
            }
            Task::Tick => moves.push(good(Command::Tick)),
            Task::Stop { .. } => {}
        }
    }
    for (action, a) in state.actions(plan) {
        if let Some(running) = a.running {
            let answer = Attempted::Succeeded(result(&action));
            let action = action.clone();
            moves.push(good(Command::Answer { action, attempt: Some(running.attempt), answer }));
        }
        if let Some(query) = asks(a) {
            let finding = Finding::Applied(result(&action));
            moves.push(good(Command::Found { action, query, finding }));
        }
    }
    if state.paused.is_some() {
        moves.push(good(Command::Unpause(operation(state, "unpause"))));
    }
    for item in desk(plan, state) {
        moves.extend(at_the_desk(state, &item).map(good));
    }
    if let Some(wake) = asked.wake {
        let under_way = asked.waits.iter().any(|w| matches!(w, Wait::Attempt { .. } | Wait::Querying { .. }));
        let idle = asked.tasks.iter().all(|task| matches!(task, Task::Stop { .. })) && !under_way;
        moves.push(Move { does: Does::Pass(wake.at), free: idle });
    }
    moves
}

/// Every move by which something goes wrong, or by which a person interferes.
pub(crate) fn trouble(plan: &SagaPlan, state: &SagaState, now: Timestamp) -> Vec<Move> {
    let mut moves = Vec::new();
    for task in agenda(plan, state, now).tasks {
        match task {
            Task::Start { action, .. } => {
                let failure = failure(FailureKind::Persistent, "input", &[]);
                moves.push(bad(Command::InputFailed { action, failure }));
            }
            Task::Decide { branch } => {
                let failure = failure(FailureKind::Persistent, "condition", &[]);
                moves.push(bad(Command::ConditionFailed { branch, failure }));
            }
            Task::Query { .. } | Task::Stop { .. } | Task::Tick => {}
        }
    }
    for (action, a) in state.actions(plan) {
        news(&action, a, &mut moves);
        moves.extend(verbs(state, &action, now).into_iter().map(bad));
    }
    moves.extend(of_the_saga(plan, state).into_iter().map(bad));
    let owner = state.owner.0.as_u128();
    moves.push(bad(Command::Claim { incarnation: Incarnation(Uuid::from_u128(owner + 1)) }));
    moves
}

/// Answers of every attempt ever made, under way or not, and findings of the query under way and of the first.
fn news(action: &ActionId, a: &Action, moves: &mut Vec<Move>) {
    for attempt in 1..=a.attempts {
        let running = a.running.is_some_and(|running| running.attempt == attempt);
        let of = |answer| Command::Answer { action: action.clone(), attempt: Some(attempt), answer };
        if running {
            moves.push(bad(Command::Withdraw { action: action.clone(), attempt }));
        } else {
            moves.push(bad(of(Attempted::Succeeded(result(action)))));
        }
        moves.extend(answers(action, attempt).into_iter().map(|answer| bad(of(answer))));
    }
    if a.attempts > 0 {
        let of = |answer| Command::Answer { action: action.clone(), attempt: None, answer };
        moves.push(bad(of(Attempted::Succeeded(result(action)))));
        moves.push(bad(of(Attempted::Refused(Recorded::Value(json("\"no\""))))));
    }
    let under_way = asks(a);
    if let Some(query) = under_way.or((a.queries > 0).then_some(1)) {
        let of = |finding| Command::Found { action: action.clone(), query, finding };
        if under_way.is_none() {
            moves.push(bad(of(Finding::Applied(result(action)))));
        }
        moves.extend(findings(action, a.attempts).into_iter().map(|finding| bad(of(finding))));
        let failure = failure(FailureKind::Unknown, "timeout", &[]);
        moves.push(bad(Command::QueryFailed { action: action.clone(), query, failure }));
    }
}

fn answers(action: &ActionId, attempt: u32) -> Vec<Attempted> {
    let omitted = Omitted { reason: "too large".into(), digest: None, size: 3_000_000 };
    let mut answers = vec![
        Attempted::Refused(Recorded::Value(json("\"no\""))),
        Attempted::Transient(failure(FailureKind::Transient, "busy", &[])),
        Attempted::Persistent(failure(FailureKind::Persistent, "credential", &[])),
        Attempted::Unknown(failure(FailureKind::Unknown, "timeout", &[])),
        Attempted::Accepted { wait: Some(Duration::from_secs(3)) },
        Attempted::Partial(None),
        Attempted::Fenced { through: attempt },
        Attempted::Mismatch(failure(FailureKind::Unknown, "mismatch", &[])),
    ];
    if action.is_forward() {
        answers.push(Attempted::Succeeded(Recorded::Omitted(omitted)));
    } else {
        answers.push(Attempted::Succeeded(Recorded::Value(json("\"NothingToUndo\""))));
        answers.push(Attempted::Stale { found: json("2") });
    }
    answers
}

fn findings(action: &ActionId, attempts: u32) -> Vec<Finding> {
    let mut findings = vec![
        Finding::Absent,
        Finding::InProgress,
        Finding::Unclear { report: "status=weird".into() },
        Finding::Fenced { through: attempts },
        Finding::Fenced { through: attempts.saturating_sub(1) },
    ];
    if action.is_forward() {
        findings.push(Finding::Refused(Recorded::Value(json("\"no\""))));
        findings.push(Finding::Partial(None));
    } else {
        findings.push(Finding::Applied(Recorded::Value(json("\"NothingToUndo\""))));
    }
    findings
}

/// The query under way, about the action or a dispute.
fn asks(a: &Action) -> Option<u32> {
    match (&a.dispute, a.settling.map(|settling| settling.plan)) {
        (Some(Dispute { ask: Ask::Querying { query, .. }, .. }), _) => Some(*query),
        (None, Some(SettlePlan::Querying { query, .. })) => Some(query),
        _ => None,
    }
}

/// An operation that was not asked before. Its id tells the verb, and how many were answered.
fn operation(state: &SagaState, verb: &str) -> Operation {
    let id = OperationId::new(format!("{verb}-{}", state.answers.len()));
    Operation { id, actor: "ann".into(), reason: "she has one".into() }
}

fn by_bob(state: &SagaState, verb: &str) -> Operation {
    Operation { actor: "bob".into(), ..operation(state, verb) }
}

fn verbs(state: &SagaState, action: &ActionId, now: Timestamp) -> Vec<Command> {
    let (a, by) = (|| action.clone(), |verb: &str| operation(state, verb));
    let evidence = || "she saw it".to_owned();
    let found = |finding| Command::FoundByPerson {
        action: a(),
        finding,
        evidence: evidence(),
        operation: by("found"),
    };
    let mut verbs = vec![
        Command::Resume { action: a(), operation: by("resume") },
        Command::RetryNow { action: a(), operation: by("now") },
        Command::SendAgain { action: a(), override_reason: None, operation: by("again") },
        accept(state, a(), None),
        found(PersonFinding::NotApplied),
        found(PersonFinding::Refused(None)),
        found(PersonFinding::Partial(None)),
        Command::Reject { action: a(), operation: by("reject") },
        Command::Supply { action: a(), output: json("7"), evidence: evidence(), operation: by("supply") },
        Command::Keep { action: a(), until: now + Duration::from_secs(30), operation: by("keep") },
        Command::Waive { action: a(), operation: by("waive") },
        Command::CompensateInDoubt { action: a(), operation: by("doubt") },
        Command::Approve { request: action.to_string(), operation: by_bob(state, "approve") },
        Command::Deny { request: action.to_string(), operation: by_bob(state, "deny") },
    ];
    verbs.extend(outputs(action).into_iter().map(|output| accept(state, a(), Some(output))));
    if action.is_forward() {
        let order = CompensationOrder {
            reason_code: "goodwill".into(),
            approval: Approval::AnotherPerson,
            expected: None,
            proposed: None,
            affected: None,
            dry_run: None,
        };
        let action = ActionId { step: action.step.clone(), direction: Direction::Manual(Uuid::from_u128(1)) };
        verbs.push(Command::Compensate { action, order, operation: by("compensate") });
    }
    verbs
}

fn outputs(action: &ActionId) -> Vec<&'static str> {
    if action.is_forward() { vec!["\"seen\""] } else { vec!["\"Undone\"", "\"NothingToUndo\""] }
}

fn accept(state: &SagaState, action: ActionId, output: Option<&str>) -> Command {
    let (output, evidence) = (output.map(json), "she saw it".to_owned());
    Command::Accept { action, output, evidence, operation: operation(state, "accept") }
}

fn of_the_saga(plan: &SagaPlan, state: &SagaState) -> Vec<Command> {
    let named = state.actions(plan).map(|(id, _)| id).collect();
    let mut verbs = vec![
        Command::Cancel(operation(state, "cancel")),
        Command::TurnBack(operation(state, "back")),
        Command::Pause(operation(state, "pause")),
        Command::Close { follow_up: "by hand".into(), named, operation: operation(state, "close") },
    ];
    if let Some((asked, _)) = &state.closing {
        let request = asked.operation.to_string();
        verbs.push(Command::Approve { request, operation: by_bob(state, "approve") });
    }
    verbs
}

/// What a person may do with an item so that it goes on.
fn at_the_desk(state: &SagaState, item: &DeskItem) -> impl Iterator<Item = Command> {
    let accepted = |action: &ActionId| accept(state, action.clone(), Some(outputs(action)[0]));
    let commands = match (&item.action, item.desk) {
        (None, _) => state.closing.iter().map(|(asked, _)| deny(state, &asked.operation)).collect(),
        (Some(action), Desk::Quarantine) if item.effect == Effect::Partial => vec![accepted(action)],
        (Some(action), Desk::Quarantine) => {
            vec![Command::Resume { action: action.clone(), operation: operation(state, "resume") }]
        }
        (Some(action), Desk::Approval) => {
            vec![Command::Approve { request: action.to_string(), operation: by_bob(state, "approve") }]
        }
        (Some(action), Desk::Reconciliation) => vec![accepted(action)],
        (Some(action), Desk::Discrepancy) => {
            let without = Command::FoundByPerson {
                action: action.clone(),
                finding: PersonFinding::NotApplied,
                evidence: "she saw it".into(),
                operation: operation(state, "found"),
            };
            vec![accepted(action), without]
        }
    };
    commands.into_iter()
}

fn deny(state: &SagaState, request: &OperationId) -> Command {
    Command::Deny { request: request.to_string(), operation: operation(state, "deny") }
}
