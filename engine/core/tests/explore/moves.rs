//! What the world can do to a saga in one state, and what each move costs.
//!
//! News costs nothing while a transmission is open that it can be about: it is an answer that comes now, later, or
//! before another one. News of what has answered already is a contradiction, or repeats what is known.

use std::sync::LazyLock;
use std::time::Duration;

use amends_core::agenda::Task;
use amends_core::event::{Failure, FailureKind, Finding, Omitted, Recorded};
use amends_core::machine::{Approval, Attempted, Command, CompensationOrder, Operation, PersonFinding};
use amends_core::state::{Action, Ask, Dispute, SettlePlan, Stage};
use amends_core::{
    ActionId, Direction, Incarnation, Json, OperationId, SagaPlan, SagaState, Timestamp, agenda,
};
use uuid::Uuid;

use crate::left::{Cost, FAR, Left};
use crate::script::json;

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
    pub(crate) cost: Cost,
    /// The machine asked for it, or has to take it: it may not refuse.
    pub(crate) due: bool,
}

/// The moves of one state that can be paid, in an order that depends on nothing else.
pub(crate) struct Moves {
    left: Left,
    pub(crate) all: Vec<Move>,
}

impl Moves {
    /// Every move, whatever it costs.
    pub(crate) fn of(plan: &SagaPlan, state: &SagaState, now: Timestamp, left: Left) -> Self {
        let mut moves = Self { left, all: Vec::with_capacity(64) };
        let operation = operation(state, "ann");
        moves.asked(plan, state, now);
        for (id, a) in state.actions(plan) {
            moves.answers(&id, a);
            moves.findings(&id, a);
        }
        moves.add(Cost::Fault, true, Command::Claim { incarnation: next(state.owner) });
        if state.paused.is_some() {
            moves.add(Cost::Free, true, Command::Unpause(operation.clone()));
        } else {
            moves.add(Cost::Pause, false, Command::Pause(operation.clone()));
        }
        moves.add(Cost::Wish, true, Command::Cancel(operation.clone()));
        moves.add(Cost::Wish, true, Command::TurnBack(operation.clone()));
        if left.pays(Cost::Verb) {
            for (id, a) in state.actions(plan) {
                moves.verbs(&id, a, &operation, now);
            }
            moves.closing(plan, state, &operation);
        }
        moves
    }

    fn add(&mut self, cost: Cost, due: bool, command: Command) {
        if !self.left.pays(cost) {
            return;
        }
        self.all.push(Move { does: Does::Obey(Box::new(command)), cost, due });
    }

    /// What the agenda asks for, and that it cannot be done.
    fn asked(&mut self, plan: &SagaPlan, state: &SagaState, now: Timestamp) {
        let asked = agenda(plan, state, now);
        for task in asked.tasks {
            match task {
                Task::Start { action, attempt, .. } => {
                    let failure = failure(FailureKind::Persistent, "input", None);
                    if attempt <= ATTEMPTS_MAX {
                        let begin = Command::Begin { action: action.clone(), input: None, expected: None };
                        self.add(Cost::Free, true, begin);
                    }
                    self.add(Cost::Fault, true, Command::InputFailed { action, failure });
                }
                Task::Query { action, .. } => self.add(Cost::Free, true, Command::BeginQuery { action }),
                Task::Decide { branch } => {
                    let failure = failure(FailureKind::Persistent, "condition", None);
                    for taken in [true, false] {
                        let branch = branch.clone();
                        self.add(Cost::Free, true, Command::DecideBranch { branch, taken });
                    }
                    self.add(Cost::Fault, true, Command::ConditionFailed { branch, failure });
                }
                Task::Tick => self.add(Cost::Free, true, Command::Tick),
                Task::Stop { .. } => {}
            }
        }
        let near = |at: Timestamp| at.0 - now.0 <= FAR || self.left.deadlines;
        if let Some(wake) = asked.wake.filter(|wake| near(wake.at)) {
            self.all.push(Move { does: Does::Pass(wake.at), cost: Cost::Free, due: true });
        }
    }

    /// Answers: of the attempt under way, of one that is unknown, of each kind that has answered, of nobody's.
    fn answers(&mut self, id: &ActionId, a: &Action) {
        let running = a.running.map(|running| running.attempt);
        let open = |attempt: &u32| running == Some(*attempt) || a.unknown.contains(attempt);
        if let Some(attempt) = running {
            self.add(Cost::Fault, true, Command::Withdraw { action: id.clone(), attempt });
            let (action, answer) = (id.clone(), success(id));
            self.add(Cost::Free, true, Command::Answer { action, attempt: Some(attempt), answer });
            self.every_answer(Cost::Fault, id, attempt);
        }
        // Unknown ones differ in their numbers only, and in whether a query asked to fence them.
        for attempt in of_each_kind(a, a.unknown.iter().copied()) {
            self.every_answer(Cost::Fault, id, attempt);
        }
        let answered = |attempt: &u32| !open(attempt) && a.settled_by != Some(*attempt);
        let without_effect = of_each_kind(a, (1..=a.attempts).filter(answered));
        for attempt in a.settled_by.into_iter().chain(without_effect) {
            self.every_answer(Cost::Contradiction, id, attempt);
        }
        if a.attempts > 0 {
            let cost = if (1..=a.attempts).any(|attempt| open(&attempt)) {
                Cost::Fault
            } else {
                Cost::Contradiction
            };
            for answer in [success(id), Attempted::Refused(no())] {
                self.add(cost, true, Command::Answer { action: id.clone(), attempt: None, answer });
            }
        }
    }

    fn every_answer(&mut self, cost: Cost, id: &ActionId, attempt: u32) {
        if !self.left.pays(cost) {
            return;
        }
        let transient = |hint| failure(FailureKind::Transient, "busy", hint);
        let omitted = Omitted { reason: String::new(), digest: None, size: 3_000_000 };
        let mut answers = vec![
            success(id),
            Attempted::Refused(no()),
            Attempted::Transient(transient(None)),
            Attempted::Transient(transient(Some(HINT))),
            Attempted::Transient(transient(Some(TOO_LATE))),
            Attempted::Persistent(failure(FailureKind::Persistent, "credential", None)),
            Attempted::Unknown(failure(FailureKind::Unknown, "timeout", None)),
            Attempted::Unknown(failure(FailureKind::Unknown, "timeout", Some(HINT))),
            Attempted::Accepted { wait: None },
            Attempted::Accepted { wait: Some(HINT) },
            Attempted::Partial(None),
            Attempted::Fenced { through: attempt },
            Attempted::Mismatch(failure(FailureKind::Unknown, "mismatch", None)),
        ];
        if id.is_forward() {
            answers.push(Attempted::Succeeded(Recorded::Omitted(omitted)));
        } else {
            answers.push(Attempted::Succeeded(nothing()));
            answers.push(Attempted::Stale { found: Json::clone(&NO) });
        }
        for answer in answers {
            self.add(cost, true, Command::Answer { action: id.clone(), attempt: Some(attempt), answer });
        }
    }

    /// Findings of the query under way, or of one that was given up.
    fn findings(&mut self, id: &ActionId, a: &Action) {
        let under_way = asks(a);
        let Some(query) = under_way.or((a.attempts > 0).then_some(0)) else { return };
        let open = under_way.is_some() || a.running.is_some() || !a.unknown.is_empty();
        let cost = if open { Cost::Fault } else { Cost::Contradiction };
        if let Some(query) = under_way {
            let (action, finding) = (id.clone(), Finding::Applied(done(id)));
            self.add(Cost::Free, true, Command::Found { action, query, finding });
        }
        if !self.left.pays(cost) {
            return;
        }
        let mut findings = vec![
            Finding::Applied(done(id)),
            Finding::Absent,
            Finding::InProgress,
            Finding::Unclear { report: String::new() },
            Finding::Fenced { through: a.attempts },
            Finding::Fenced { through: a.attempts.saturating_sub(1) },
            Finding::Refused(no()),
            Finding::Partial(None),
        ];
        if !id.is_forward() {
            findings.push(Finding::Applied(nothing()));
        }
        for finding in findings {
            self.add(cost, true, Command::Found { action: id.clone(), query, finding });
        }
        if under_way.is_some() {
            let failure = failure(FailureKind::Unknown, "timeout", None);
            self.add(Cost::Fault, true, Command::QueryFailed { action: id.clone(), query, failure });
        }
    }

    /// Every verb of a person about one action.
    fn verbs(&mut self, id: &ActionId, a: &Action, by: &Operation, now: Timestamp) {
        let (action, evidence) = (|| id.clone(), String::new);
        let (operation, other) = (|| by.clone(), || Operation { actor: "bob".into(), ..by.clone() });
        let mut verbs = vec![
            Command::Resume { action: action(), operation: operation() },
            Command::RetryNow { action: action(), operation: operation() },
            Command::SendAgain { action: action(), override_reason: None, operation: operation() },
            Command::SendAgain {
                action: action(),
                override_reason: Some("known".into()),
                operation: operation(),
            },
            Command::Reject { action: action(), operation: operation() },
            Command::Supply {
                action: action(),
                output: Json::clone(&DONE),
                evidence: evidence(),
                operation: operation(),
            },
            Command::Keep { action: action(), until: now + KEPT, operation: operation() },
            Command::Waive { action: action(), operation: operation() },
            Command::CompensateInDoubt { action: action(), operation: operation() },
        ];
        for output in outputs(id) {
            verbs.push(Command::Accept {
                action: action(),
                output,
                evidence: evidence(),
                operation: operation(),
            });
        }
        for finding in [PersonFinding::NotApplied, PersonFinding::Refused(None), PersonFinding::Partial(None)]
        {
            verbs.push(Command::FoundByPerson {
                action: action(),
                finding,
                evidence: evidence(),
                operation: operation(),
            });
        }
        if a.stage == Stage::Quarantined || a.stage == Stage::Pending {
            verbs.push(Command::Approve { request: id.to_string(), operation: other() });
            verbs.push(Command::Deny { request: id.to_string(), operation: other() });
        }
        if id.is_forward() {
            verbs.push(requested(id, Approval::AnotherPerson, by.clone()));
            verbs.push(requested(id, Approval::Policy("small".into()), by.clone()));
        }
        for verb in verbs {
            self.add(Cost::Verb, false, verb);
        }
    }

    fn closing(&mut self, plan: &SagaPlan, state: &SagaState, by: &Operation) {
        let named = state.actions(plan).map(|(id, _)| id).collect();
        let close = Command::Close { follow_up: String::new(), named, operation: by.clone() };
        self.add(Cost::Verb, false, close);
        if let Some((asked, _)) = &state.closing {
            let request = asked.operation.to_string();
            let other = Operation { actor: "bob".into(), ..by.clone() };
            self.add(
                Cost::Verb,
                false,
                Command::Approve { request: request.clone(), operation: other.clone() },
            );
            self.add(Cost::Verb, false, Command::Deny { request, operation: other });
        }
    }
}

// Parsed once: a search says each of them some million times.
static NO: LazyLock<Json> = LazyLock::new(|| json("\"no\""));
static DONE: LazyLock<Json> = LazyLock::new(|| json("\"done\""));
static UNDONE: LazyLock<Json> = LazyLock::new(|| json("\"Undone\""));
static NOTHING: LazyLock<Json> = LazyLock::new(|| json("\"NothingToUndo\""));

/// Attempts of one action that are made. More may be ordered, and are not.
const ATTEMPTS_MAX: u32 = 2;

/// Shorter than every window, retention and deadline of the shapes.
pub(crate) const HINT: Duration = Duration::from_secs(3);
/// Longer than every deadline of the shapes.
const TOO_LATE: Duration = Duration::from_secs(20_000);
const KEPT: Duration = Duration::from_secs(30);

pub(crate) fn next(owner: Incarnation) -> Incarnation {
    Incarnation(Uuid::from_u128(owner.0.as_u128() + 1))
}

pub(crate) fn failure(kind: FailureKind, code: &str, hint: Option<Duration>) -> Failure {
    Failure {
        kind,
        code: code.into(),
        message: String::new(),
        rule: String::new(),
        classifier: String::new(),
        hint,
    }
}

/// The first of these attempts that a query asked to fence, and the first of the others.
fn of_each_kind(a: &Action, attempts: impl Iterator<Item = u32> + Clone) -> impl Iterator<Item = u32> {
    let asked = |attempt: &u32| *attempt <= a.asked_to_fence;
    let others = attempts.clone().find(|attempt| !asked(attempt));
    attempts.clone().find(asked).into_iter().chain(others)
}

fn word(word: &'static LazyLock<Json>) -> Recorded {
    Recorded::Value(Json::clone(word))
}

fn no() -> Recorded {
    word(&NO)
}

fn nothing() -> Recorded {
    word(&NOTHING)
}

pub(crate) fn done(id: &ActionId) -> Recorded {
    word(if id.is_forward() { &DONE } else { &UNDONE })
}

pub(crate) fn success(id: &ActionId) -> Attempted {
    Attempted::Succeeded(done(id))
}

pub(crate) fn requested(id: &ActionId, approval: Approval, operation: Operation) -> Command {
    let order = CompensationOrder {
        reason_code: "goodwill".into(),
        approval,
        expected: None,
        proposed: None,
        affected: None,
        dry_run: None,
    };
    let action = ActionId { step: id.step.clone(), direction: Direction::Manual(Uuid::from_u128(1)) };
    Command::Compensate { action, order, operation }
}

/// The query under way, about the action or a dispute.
pub(crate) fn asks(a: &Action) -> Option<u32> {
    match (&a.dispute, a.settling.map(|settling| settling.plan)) {
        (Some(Dispute { ask: Ask::Querying { query, .. }, .. }), _) => Some(*query),
        (None, Some(SettlePlan::Querying { query, .. })) => Some(query),
        _ => None,
    }
}

/// An operation that was not asked before: its id tells how many were answered.
pub(crate) fn operation(state: &SagaState, actor: &str) -> Operation {
    let id = OperationId::new(format!("op{}", state.answers.len()));
    Operation { id, actor: actor.into(), reason: String::new() }
}

fn outputs(id: &ActionId) -> [Option<Json>; 2] {
    if id.is_forward() {
        [Some(Json::clone(&DONE)), None]
    } else {
        [Some(Json::clone(&UNDONE)), Some(Json::clone(&NOTHING))]
    }
}
