//! Chance writes plan and script: random graphs of at most eight steps, some in branches, and a world that answers, crashes,
//! ticks, cancels and lets time pass as it likes. [`Trial`] holds every transition against the laws; here is
//! what must hold of the whole: once the world behaves, every saga ends. `PROPTEST_CASES=30000` for a long run.

use amends_core::agenda::{Desk, DeskItem, Task, desk};
use amends_core::event::{Answer, FailureKind, Finding, Recorded, Verb};
use amends_core::machine::{Approval, Attempted, Command, CompensationOrder, Operation, PersonFinding};
use amends_core::state::{Action, Ask, Dispute, Effect, SettlePlan};
use amends_core::{ActionId, Direction, Incarnation, Json, OperationId, Timestamp, agenda, decide};
use proptest::prelude::*;
use uuid::Uuid;

use crate::chance::plans;
use crate::plan_text::plan;
use crate::script::{Trial, failure, json, result};

/// The script of chance: at most this many lines, before the world begins to behave.
const LINES: usize = 90;
/// A behaving world brings every saga to its end within this many moves.
const MOVES_MAX: usize = 2_000;

proptest! {
    #[test]
    fn every_saga_keeps_the_laws_and_ends_once_the_world_behaves(
        text in plans(),
        script in prop::collection::vec(any::<u32>(), 0..LINES),
        saga in 1..1_000_000u128,
    ) {
        let mut trial = Trial::new(plan(&text), saga);
        for (line, choice) in script.into_iter().enumerate() {
            chance(&mut trial, choice, line);
        }
        behave(&mut trial);
        prop_assert!(
            trial.state.phase.is_ended(),
            "{}\n{}", text, trial.told()
        );
        for (operation, (verb, answer)) in &trial.state.answers {
            let turned = trial.state.turned.is_some();
            let told_the_truth = match (verb, answer) {
                (Verb::Cancel, Answer::Accepted | Answer::Already) => turned,
                (Verb::Cancel, Answer::TooLate) => !turned,
                (Verb::Cancel, _) => false,
                _ => true,
            };
            prop_assert!(told_the_truth, "{operation}: {answer:?}\n{}", trial.told());
        }
    }
}

/// What the world may do next.
enum Move {
    Obey(Box<Command>),
    Pass(Timestamp),
}

fn obey(command: Command) -> Move {
    Move::Obey(Box::new(command))
}

/// Does one of the things that can happen now, or something that cannot: then nothing changes.
fn chance(trial: &mut Trial, choice: u32, line: usize) {
    let (pick, detail) = (choice >> 8, choice & 0xff);
    let moves = moves(trial, detail, line);
    let sum: u32 = moves.iter().map(|(weight, _)| weight).sum();
    let mut left = pick % sum;
    for (weight, one) in moves {
        if left < weight {
            match one {
                Move::Obey(command) => drop(trial.obey(*command)),
                Move::Pass(to) => trial.now = to,
            }
            return;
        }
        left -= weight;
    }
}

fn moves(trial: &Trial, detail: u32, line: usize) -> Vec<(u32, Move)> {
    let mut moves: Vec<(u32, Move)> = Vec::new();
    let asked = agenda(&trial.plan, &trial.state, trial.now);
    for task in &asked.tasks {
        let command = match task {
            Task::Start { action, .. } if detail.is_multiple_of(16) => Command::InputFailed {
                action: action.clone(),
                failure: failure(FailureKind::Persistent, "input", &[]),
            },
            Task::Start { action, .. } => {
                Command::Begin { action: action.clone(), input: None, expected: None }
            }
            Task::Query { action, .. } => Command::BeginQuery { action: action.clone() },
            Task::Decide { branch } if detail.is_multiple_of(16) => Command::ConditionFailed {
                branch: branch.clone(),
                failure: failure(FailureKind::Persistent, "condition", &[]),
            },
            Task::Decide { branch } => {
                Command::DecideBranch { branch: branch.clone(), taken: detail.is_multiple_of(2) }
            }
            Task::Tick => Command::Tick,
            Task::Stop { .. } => continue,
        };
        moves.push((12, obey(command)));
    }
    if let Some(wake) = &asked.wake {
        moves.push((6, Move::Pass(wake.at)));
    }
    moves.push((2, Move::Pass(trial.now + std::time::Duration::from_millis(u64::from(detail) * 50))));
    for (action, a) in trial.state.actions(&trial.plan) {
        if let Some(running) = a.running {
            moves.push((16, obey(answer(&action, running.attempt, detail))));
        }
        if let Some(query) = asks(a) {
            moves.push((16, obey(found(&action, query, a.attempts, detail))));
        }
        for late in 1..=a.attempts {
            moves.push((1, obey(answer(&action, late, detail))));
        }
        if a.attempts > 0 && detail % 16 == 3 {
            moves.push((1, obey(without_attempt(answer(&action, 0, detail / 16)))));
            moves.push((1, obey(found(&action, 1, a.attempts, detail / 16))));
        }
        if detail.is_multiple_of(8) {
            moves.push((1, obey(Command::Begin { action: action.clone(), input: None, expected: None })));
            moves.push((1, obey(Command::BeginQuery { action: action.clone() })));
            moves.extend(asked_for(action, line, detail, trial.now).map(|command| (1, obey(command))));
        }
    }
    if detail % 16 == 7 {
        moves.extend(of_the_saga(trial, line, detail).map(|command| (1, obey(command))));
    }
    for item in desk(&trial.plan, &trial.state) {
        moves.push((3, obey(at_the_desk(item, line, detail))));
    }
    for branch in &trial.plan.branches {
        let taken = detail.is_multiple_of(2);
        moves.push((1, obey(Command::DecideBranch { branch: branch.name.clone(), taken })));
    }
    let incarnation = Incarnation(Uuid::from_u128(100 + line as u128));
    if detail.is_multiple_of(4) {
        moves.push((2, obey(Command::Claim { incarnation })));
        moves.push((1, obey(Command::Tick)));
    }
    if detail % 16 == 5 {
        moves.push((2, obey(Command::Cancel(operation(&format!("cancel-{}", detail / 16 % 3))))));
    }
    moves
}

/// What persons ask for one action: most of it is refused, and then nothing changes.
fn asked_for(action: ActionId, line: usize, detail: u32, now: Timestamp) -> impl Iterator<Item = Command> {
    let id = |verb: &str| operation(&format!("{verb}-{line}-{action}"));
    let finding = match detail % 3 {
        0 => PersonFinding::NotApplied,
        1 => PersonFinding::Refused(None),
        _ => PersonFinding::Partial(None),
    };
    let (a, evidence) = (|| action.clone(), || "she saw it".to_owned());
    let override_reason = detail.is_multiple_of(16).then(|| "they know it".to_owned());
    let until = now + std::time::Duration::from_secs(u64::from(detail));
    let direction = Direction::Manual(Uuid::from_u128(u128::from(detail % 2)));
    let order = CompensationOrder {
        reason_code: "goodwill".into(),
        approval: if detail.is_multiple_of(3) {
            Approval::Policy("small".into())
        } else {
            Approval::AnotherPerson
        },
        expected: None,
        proposed: None,
        affected: None,
        dry_run: None,
    };
    vec![
        resume(a(), line),
        accept(a(), line, detail),
        Command::RetryNow { action: a(), operation: id("now") },
        Command::SendAgain { action: a(), override_reason, operation: id("again") },
        Command::FoundByPerson { action: a(), finding, evidence: evidence(), operation: id("found") },
        Command::Reject { action: a(), operation: id("reject") },
        Command::Supply { action: a(), output: json("7"), evidence: evidence(), operation: id("supply") },
        Command::Keep { action: a(), until, operation: id("keep") },
        Command::Waive { action: a(), operation: id("waive") },
        Command::CompensateInDoubt { action: a(), operation: id("doubt") },
        Command::Compensate {
            action: ActionId { step: action.step.clone(), direction },
            order,
            operation: id("compensate"),
        },
        Command::Assign { item: action.to_string(), assignee: "eve".into(), operation: id("assign") },
        Command::Deny { request: action.to_string(), operation: id("deny") },
    ]
    .into_iter()
}

/// What persons ask for the saga as a whole.
fn of_the_saga(trial: &Trial, line: usize, detail: u32) -> impl Iterator<Item = Command> {
    let named = trial.state.actions(&trial.plan).map(|(id, _)| id).collect();
    let request =
        trial.state.closing.as_ref().map_or(String::new(), |(asked, _)| asked.operation.to_string());
    let by_bob = |verb: &str| Operation { actor: "bob".into(), ..operation(&format!("{verb}-{line}")) };
    let close =
        Command::Close { follow_up: "by hand".into(), named, operation: operation(&format!("close-{line}")) };
    let decide = if detail.is_multiple_of(3) {
        Command::Deny { request, operation: by_bob("deny") }
    } else {
        Command::Approve { request, operation: by_bob("approve") }
    };
    vec![
        Command::TurnBack(operation(&format!("back-{line}"))),
        Command::Pause(operation(&format!("pause-{line}"))),
        Command::Unpause(operation(&format!("unpause-{line}"))),
        close,
        decide,
    ]
    .into_iter()
}

fn without_attempt(command: Command) -> Command {
    match command {
        Command::Answer { action, answer, .. } => Command::Answer { action, attempt: None, answer },
        other => other,
    }
}

fn answer(action: &ActionId, attempt: u32, detail: u32) -> Command {
    let hint = ["hint=0s", "hint=3s", "hint=100s"][(detail / 16 % 3) as usize];
    let answer = match detail % 16 {
        0..3 => Attempted::Succeeded(result(action)),
        3 if detail > 127 => Attempted::Fenced { through: attempt },
        3 if detail > 63 => Attempted::Mismatch(failure(FailureKind::Unknown, "mismatch", &[])),
        3 => Attempted::Stale { found: json("2") },
        4 if !action.is_forward() => Attempted::Succeeded(Recorded::Value(json("\"NothingToUndo\""))),
        4 | 5 => Attempted::Refused(Recorded::Value(json("\"no\""))),
        6 | 7 => Attempted::Transient(failure(FailureKind::Transient, "busy", &[hint])),
        8 => Attempted::Persistent(failure(FailureKind::Persistent, "credential", &[])),
        9..13 => Attempted::Unknown(failure(FailureKind::Unknown, "timeout", &[])),
        13 => Attempted::Accepted { wait: Some(std::time::Duration::from_secs(u64::from(detail / 16))) },
        14 => Attempted::Partial(None),
        _ => return Command::Withdraw { action: action.clone(), attempt },
    };
    Command::Answer { action: action.clone(), attempt: Some(attempt), answer }
}

fn found(action: &ActionId, query: u32, attempts: u32, detail: u32) -> Command {
    let finding = match detail % 16 {
        0..3 => Finding::Applied(result(action)),
        3 if !action.is_forward() => Finding::Applied(Recorded::Value(json("\"NothingToUndo\""))),
        3 | 4 => Finding::Refused(Recorded::Value(json("\"no\""))),
        5..9 => Finding::Absent,
        9 => Finding::InProgress,
        10 => Finding::Unclear { report: "status=weird".into() },
        11 => Finding::Partial(None),
        12 => Finding::Fenced { through: attempts - 1 },
        13 => Finding::Fenced { through: attempts },
        _ => {
            let failure = failure(FailureKind::Unknown, "timeout", &[]);
            return Command::QueryFailed { action: action.clone(), query, failure };
        }
    };
    Command::Found { action: action.clone(), query, finding }
}

fn operation(id: &str) -> Operation {
    Operation { id: OperationId::new(id), actor: "ann".into(), reason: "she has one".into() }
}

fn resume(action: ActionId, line: usize) -> Command {
    Command::Resume { action, operation: operation(&format!("resume-{line}")) }
}

fn accept(action: ActionId, line: usize, detail: u32) -> Command {
    let output: Option<Json> = match (action.is_forward(), detail % 3) {
        (_, 0) => None,
        (true, _) => Some(json("\"seen\"")),
        (false, 1) => Some(json("\"Undone\"")),
        (false, _) => Some(json("\"NothingToUndo\"")),
    };
    let operation = operation(&format!("accept-{line}"));
    Command::Accept { action, output, evidence: "she saw it".into(), operation }
}

/// Every attempt and query is answered well, every timer is waited for, every desk is cleared.
fn behave(trial: &mut Trial) {
    if trial.state.paused.is_some() {
        trial.obey(Command::Unpause(operation("unpause-last"))).expect("it is paused");
    }
    for moved in 0..MOVES_MAX {
        if trial.state.phase.is_ended() && trial.state.open_actions(&trial.plan) == 0 {
            return;
        }
        let Some(command) = well(trial, LINES + moved) else {
            let wake = agenda(&trial.plan, &trial.state, trial.now).wake;
            trial.now = wake.unwrap_or_else(|| panic!("limbo\n{}", trial.told())).at;
            continue;
        };
        let done = trial.obey(command);
        assert!(done.as_ref().is_ok_and(|events| !events.is_empty()), "{done:?}\n{}", trial.told());
    }
    panic!("the saga does not end\n{}", trial.told());
}

/// The query under way, about the action or a dispute.
fn asks(a: &Action) -> Option<u32> {
    match (&a.dispute, a.settling.map(|settling| settling.plan)) {
        (Some(Dispute { ask: Ask::Querying { query, .. }, .. }), _) => Some(*query),
        (None, Some(SettlePlan::Querying { query, .. })) => Some(query),
        _ => None,
    }
}

/// The next good move, if there is one now.
fn well(trial: &Trial, line: usize) -> Option<Command> {
    for (action, a) in trial.state.actions(&trial.plan) {
        if let Some(running) = a.running {
            let answer = Attempted::Succeeded(result(&action));
            return Some(Command::Answer { action, attempt: Some(running.attempt), answer });
        }
        if let Some(query) = asks(a) {
            let finding = Finding::Applied(result(&action));
            return Some(Command::Found { action, query, finding });
        }
    }
    for task in agenda(&trial.plan, &trial.state, trial.now).tasks {
        match task {
            Task::Start { action, .. } => {
                return Some(Command::Begin { action, input: None, expected: None });
            }
            Task::Query { action, .. } => return Some(Command::BeginQuery { action }),
            Task::Decide { branch } => {
                return Some(Command::DecideBranch { branch, taken: line.is_multiple_of(2) });
            }
            Task::Tick => return Some(Command::Tick),
            Task::Stop { .. } => {}
        }
    }
    let item = desk(&trial.plan, &trial.state).into_iter().next()?;
    if item.action.is_none() {
        let (asked, _) = trial.state.closing.as_ref().expect("the saga's own item is a request to close");
        let (request, operation) = (asked.operation.to_string(), operation(&format!("desk-{line}")));
        return Some(Command::Deny { request, operation });
    }
    let wrong = at_the_desk(item.clone(), line, 2);
    let denies =
        item.desk == Desk::Discrepancy && decide(&trial.plan, &trial.state, wrong.clone(), trial.now).is_ok();
    Some(if denies { wrong } else { at_the_desk(item, line, 1) })
}

/// A person takes the item up, and lets it go on.
fn at_the_desk(item: DeskItem, line: usize, detail: u32) -> Command {
    let operation = || operation(&format!("desk-{line}"));
    let Some(action) = item.action else {
        return Command::Deny { request: String::new(), operation: operation() };
    };
    match item.desk {
        Desk::Quarantine if item.effect == Effect::Partial => accept(action, line, detail.max(1)),
        Desk::Quarantine => resume(action, line),
        Desk::Approval => {
            let operation = Operation { actor: "bob".into(), ..operation() };
            Command::Approve { request: action.to_string(), operation }
        }
        Desk::Reconciliation => accept(action, line, detail),
        Desk::Discrepancy if detail.is_multiple_of(2) => Command::FoundByPerson {
            action,
            finding: PersonFinding::NotApplied,
            evidence: "she saw it".into(),
            operation: operation(),
        },
        Desk::Discrepancy => accept(action, line, detail),
    }
}
