//! Liveness: from a state on, nothing more goes wrong. Attempts succeed, queries find effects, time passes, and
//! at every desk a person lets the item go on. The saga has to end.

use std::collections::HashSet;

use amends_core::agenda::{Desk, DeskItem, Task, desk};
use amends_core::event::Finding;
use amends_core::machine::{Approval, Command, Operation, PersonFinding, advance};
use amends_core::state::Effect;
use amends_core::{ActionId, SagaPlan, SagaState, Timestamp, agenda};

use crate::key::{self, Key};
use crate::left::Left;
use crate::moves::{asks, done, operation, requested, success};
use crate::script::json;

/// A saga of four steps ends within this many moves.
const MOVES_MAX: usize = 300;

/// The states from which a saga is known to end.
#[derive(Default)]
pub(crate) struct Ends(HashSet<Key>);

impl Ends {
    /// Lets the world behave.
    ///
    /// # Errors
    /// Where it leads instead of an end.
    pub(crate) fn reach(
        &mut self,
        plan: &SagaPlan,
        alike: &[usize],
        state: &SagaState,
        now: Timestamp,
        left: Left,
    ) -> Result<(), Box<(SagaState, Timestamp)>> {
        let left = Left { contradictions: 0, deadlines: true, ..left };
        let (mut state, mut now, mut passed) = (state.clone(), now, Vec::new());
        loop {
            let key = key::of(plan, alike, &state, now, left);
            let ended = state.phase.is_ended() && state.open_actions(plan) == 0;
            if ended || self.0.contains(&key) {
                self.0.extend(passed);
                self.0.insert(key);
                return Ok(());
            }
            passed.push(key);
            if passed.len() > MOVES_MAX || !goes_on(plan, alike, &mut state, &mut now, &passed, left) {
                return Err(Box::new((state, now)));
            }
        }
    }
}

/// Makes the first good move that leads to a state not passed so far.
fn goes_on(
    plan: &SagaPlan,
    alike: &[usize],
    state: &mut SagaState,
    now: &mut Timestamp,
    passed: &[Key],
    left: Left,
) -> bool {
    for command in good(plan, state, *now) {
        let mut after = state.clone();
        let moved = advance(plan, &mut after, command, *now).is_ok();
        if moved && !passed.contains(&key::of(plan, alike, &after, *now, left)) {
            *state = after;
            return true;
        }
    }
    let wake = agenda(plan, state, *now).wake;
    wake.inspect(|wake| *now = wake.at).is_some()
}

fn good(plan: &SagaPlan, state: &SagaState, now: Timestamp) -> Vec<Command> {
    let mut moves = Vec::new();
    if state.paused.is_some() {
        moves.push(Command::Unpause(operation(state, "ann")));
    }
    for (action, a) in state.actions(plan) {
        if let Some(running) = a.running {
            let (attempt, answer) = (Some(running.attempt), success(&action));
            moves.push(Command::Answer { action, attempt, answer });
        } else if let Some(query) = asks(a) {
            let finding = Finding::Applied(done(&action));
            moves.push(Command::Found { action, query, finding });
        }
    }
    for task in agenda(plan, state, now).tasks {
        moves.push(match task {
            Task::Start { action, .. } => Command::Begin { action, input: None, expected: None },
            Task::Query { action, .. } => Command::BeginQuery { action },
            Task::Decide { branch } => Command::DecideBranch { branch, taken: true },
            Task::Tick => Command::Tick,
            Task::Stop { .. } => continue,
        });
    }
    for item in desk(plan, state) {
        moves.extend(at_the_desk(state, &item));
    }
    moves
}

/// What a person may do with an item so that it goes on.
fn at_the_desk(state: &SagaState, item: &DeskItem) -> Vec<Command> {
    let by = || operation(state, "ann");
    let other = || Operation { actor: "bob".into(), ..by() };
    let Some(action) = item.action.clone() else {
        let closing = state.closing.iter();
        return closing.map(|(asked, _)| deny(asked.operation.to_string(), other())).collect();
    };
    let accepted = |action: &ActionId| {
        let output = Some(json(if action.is_forward() { "\"seen\"" } else { "\"Undone\"" }));
        Command::Accept { action: action.clone(), output, evidence: String::new(), operation: by() }
    };
    match item.desk {
        Desk::Quarantine if item.effect != Effect::Partial => {
            vec![Command::Resume { action, operation: by() }]
        }
        Desk::Quarantine | Desk::Reconciliation => vec![accepted(&action)],
        Desk::Approval => {
            vec![Command::Approve { request: action.to_string(), operation: other() }]
        }
        Desk::Discrepancy => {
            let (finding, evidence) = (PersonFinding::NotApplied, String::new());
            let mut ways = vec![accepted(&action)];
            if action.is_forward() {
                ways.push(requested(&action, Approval::Policy("small".into()), by()));
            }
            ways.push(Command::FoundByPerson { action, finding, evidence, operation: by() });
            ways
        }
    }
}

fn deny(request: String, operation: Operation) -> Command {
    Command::Deny { request, operation }
}
