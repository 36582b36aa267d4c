//! Chance writes plan and script: random graphs of at most eight steps, some in branches, and a world that answers, crashes,
//! ticks, cancels and lets time pass as it likes. [`Trial`] holds every transition against the laws; here is
//! what must hold of the whole: once the world behaves, every saga ends. `PROPTEST_CASES=30000` for a long run.

use amends_core::agenda::{Desk, Task, desk};
use amends_core::event::{Answer, FailureKind, Finding, Recorded, Verb};
use amends_core::machine::{Attempted, Command, Operation};
use amends_core::state::{Phase, SettlePlan};
use amends_core::{ActionId, Incarnation, Json, OperationId, agenda};
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
            matches!(trial.state.phase, Phase::Completed | Phase::Compensated),
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
    Obey(Command),
    Pass(amends_core::Timestamp),
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
                Move::Obey(command) => drop(trial.obey(command)),
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
            Task::Start { action, .. } => Command::Begin { action: action.clone(), input: None },
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
        moves.push((12, Move::Obey(command)));
    }
    if let Some(wake) = &asked.wake {
        moves.push((6, Move::Pass(wake.at)));
    }
    moves.push((2, Move::Pass(trial.now + std::time::Duration::from_millis(u64::from(detail) * 50))));
    for (action, a) in trial.state.actions(&trial.plan) {
        if let Some(running) = a.running {
            moves.push((16, Move::Obey(answer(&action, running.attempt, detail))));
        }
        if let Some(SettlePlan::Querying { query, .. }) = a.settling.map(|settling| settling.plan) {
            moves.push((16, Move::Obey(found(&action, query, a.attempts, detail))));
        }
        for late in &a.unknown {
            moves.push((1, Move::Obey(answer(&action, *late, detail))));
        }
        if detail.is_multiple_of(8) {
            moves.push((1, Move::Obey(Command::Begin { action: action.clone(), input: None })));
            moves.push((1, Move::Obey(Command::BeginQuery { action: action.clone() })));
            let command =
                if detail.is_multiple_of(16) { resume(action, line) } else { accept(action, line, detail) };
            moves.push((1, Move::Obey(command)));
        }
    }
    for item in desk(&trial.plan, &trial.state) {
        let command = if item.desk == Desk::Quarantine {
            resume(item.action, line)
        } else {
            accept(item.action, line, detail)
        };
        moves.push((3, Move::Obey(command)));
    }
    for branch in &trial.plan.branches {
        let taken = detail.is_multiple_of(2);
        moves.push((1, Move::Obey(Command::DecideBranch { branch: branch.name.clone(), taken })));
    }
    let incarnation = Incarnation(Uuid::from_u128(100 + line as u128));
    if detail.is_multiple_of(4) {
        moves.push((2, Move::Obey(Command::Claim { incarnation })));
        moves.push((1, Move::Obey(Command::Tick)));
    }
    if detail % 16 == 5 {
        moves.push((2, Move::Obey(Command::Cancel(operation(&format!("cancel-{}", detail / 16 % 3))))));
    }
    moves
}

fn answer(action: &ActionId, attempt: u32, detail: u32) -> Command {
    let hint = ["hint=0s", "hint=3s", "hint=100s"][(detail / 16 % 3) as usize];
    let answer = match detail % 16 {
        0..4 => Attempted::Succeeded(result(action)),
        4 if !action.is_forward() => Attempted::Succeeded(Recorded::Value(json("\"NothingToUndo\""))),
        4 | 5 => Attempted::Refused(Recorded::Value(json("\"no\""))),
        6 | 7 => Attempted::Transient(failure(FailureKind::Transient, "busy", &[hint])),
        8 => Attempted::Persistent(failure(FailureKind::Persistent, "credential", &[])),
        9..13 => Attempted::Unknown(failure(FailureKind::Unknown, "timeout", &[])),
        13 => Attempted::Accepted,
        14 => Attempted::Partial(None),
        _ => return Command::Withdraw { action: action.clone(), attempt },
    };
    Command::Answer { action: action.clone(), attempt, answer }
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
    for moved in 0..MOVES_MAX {
        if trial.state.phase.is_ended() {
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

/// The next good move, if there is one now.
fn well(trial: &Trial, line: usize) -> Option<Command> {
    for (action, a) in trial.state.actions(&trial.plan) {
        if let Some(running) = a.running {
            let answer = Attempted::Succeeded(result(&action));
            return Some(Command::Answer { action, attempt: running.attempt, answer });
        }
        if let Some(SettlePlan::Querying { query, .. }) = a.settling.map(|settling| settling.plan) {
            let finding = Finding::Applied(result(&action));
            return Some(Command::Found { action, query, finding });
        }
    }
    for task in agenda(&trial.plan, &trial.state, trial.now).tasks {
        match task {
            Task::Start { action, .. } => return Some(Command::Begin { action, input: None }),
            Task::Query { action, .. } => return Some(Command::BeginQuery { action }),
            Task::Decide { branch } => {
                return Some(Command::DecideBranch { branch, taken: line.is_multiple_of(2) });
            }
            Task::Tick => return Some(Command::Tick),
            Task::Stop { .. } => {}
        }
    }
    let item = desk(&trial.plan, &trial.state).into_iter().next()?;
    match item.desk {
        Desk::Quarantine => Some(resume(item.action, line)),
        Desk::Reconciliation | Desk::Approval | Desk::Discrepancy => Some(accept(item.action, line, 1)),
    }
}
