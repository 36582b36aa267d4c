//! The search itself: level by level, a level being the number of troubles so far.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use amends_core::event::{JournalEvent, Transition};
use amends_core::machine::{Start, advance, start};
use amends_core::{Incarnation, SagaId, SagaPlan, SagaState, Timestamp, TransitionId, apply, replay};
use uuid::Uuid;

use crate::key::{self, Key};
use crate::moves::{self, Does, Move};
use crate::script::json;
use crate::{invariants, story};

/// How far a search goes.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// Troubles on one path.
    pub(crate) troubles: usize,
    /// Once there are so many states, no further trouble is made.
    pub(crate) states: usize,
    /// Hold what leads to a known state against the laws, too.
    pub(crate) thorough: bool,
}

/// What a search saw.
#[derive(Default)]
pub(crate) struct Seen {
    /// States by the fewest troubles that lead to them.
    pub(crate) states: Vec<usize>,
    /// Moves that the machine obeyed.
    pub(crate) transitions: usize,
    /// Moves that it refused, or that were nothing new.
    pub(crate) refused: usize,
    /// States below the last level in which no trouble was made, because of the cut.
    pub(crate) rest: usize,
}

/// A state, how it was reached, and the facts of the last move.
struct Node {
    /// None once it has been left in every way.
    state: Option<Box<SagaState>>,
    now: Timestamp,
    parent: Option<usize>,
    /// When the last move's facts were written, and the facts; none if only time passed.
    facts: Option<(Timestamp, Vec<JournalEvent>)>,
    ended: bool,
}

struct Search<'a> {
    plan: &'a SagaPlan,
    orders: &'a [Vec<usize>],
    bounds: Bounds,
    nodes: Vec<Node>,
    known: HashMap<Key, usize>,
    /// Where a state leads when all goes well: (to, from).
    ways: Vec<(usize, usize)>,
    seen: Seen,
}

/// Explores the plan; the steps may stand in any of `orders`.
///
/// # Panics
/// When a law is broken, with the story that led there.
pub(crate) fn explore(plan: &SagaPlan, orders: &[Vec<usize>], bounds: Bounds) -> Seen {
    let begin = Start {
        saga: SagaId(Uuid::from_u128(1)),
        key: "key".into(),
        input: json(r#"{"order":42}"#),
        occurred_at: None,
        owner: Incarnation(Uuid::from_u128(1)),
        trigger: None,
        trace: None,
    };
    let (state, events) = start(plan, begin, story::BIRTH);
    let (nodes, known, ways) = (Vec::new(), HashMap::new(), Vec::new());
    let mut search = Search { plan, orders, bounds, nodes, known, ways, seen: Seen::default() };
    let before = state.clone();
    search.reach(None, &before, state, story::BIRTH, Some(events));
    search.run();
    search.all_end();
    search.seen
}

impl Search<'_> {
    fn run(&mut self) {
        let mut from = 0;
        for level in 0..=self.bounds.troubles {
            let mut at = from;
            while at < self.nodes.len() {
                let node = &self.nodes[at];
                let state = node.state.clone().expect("it was not left yet");
                let moves = moves::well(self.plan, &state, node.now);
                for one in moves.into_iter().filter(|one| one.free) {
                    let to = self.make(at, &state, one);
                    self.ways.extend(to.map(|to| (to, at)));
                }
                if level == self.bounds.troubles {
                    self.nodes[at].state = None;
                }
                at += 1;
            }
            let to = self.nodes.len();
            self.seen.states.push(to - from);
            if level < self.bounds.troubles {
                self.trouble(from, to);
            }
            from = to;
        }
    }

    fn trouble(&mut self, from: usize, to: usize) {
        for at in from..to {
            let state = self.nodes[at].state.take().expect("it was not left yet");
            if self.nodes.len() >= self.bounds.states {
                self.seen.rest += 1;
                continue;
            }
            let now = self.nodes[at].now;
            let mut moves = moves::well(self.plan, &state, now);
            moves.retain(|one| !one.free);
            moves.extend(moves::trouble(self.plan, &state, now));
            for one in moves {
                self.make(at, &state, one);
            }
        }
    }

    /// Makes one move, and answers where it leads, if anywhere.
    fn make(&mut self, at: usize, state: &SagaState, one: Move) -> Option<usize> {
        let now = self.nodes[at].now;
        let command = match one.does {
            Does::Pass(to) => return Some(self.reach(Some(at), state, state.clone(), to, None)),
            Does::Obey(command) => *command,
        };
        let mut after = state.clone();
        let told = format!("{command:?}");
        let did = catch_unwind(AssertUnwindSafe(|| advance(self.plan, &mut after, command.clone(), now)));
        let did = did.unwrap_or_else(|_| panic!("the machine panics at {told}\n{}", self.told(at)));
        match did {
            Ok(events) if events.is_empty() => {
                assert!(*state == after, "no fact, and yet it moved: {told}\n{}", self.told(at));
                assert!(!one.free, "asked for, and nothing new: {told}\n{}", self.told(at));
                self.seen.refused += 1;
                None
            }
            Ok(events) => {
                self.seen.transitions += 1;
                self.folds(at, state, &after, &events, &told);
                Some(self.reach(Some(at), state, after, now, Some(events)))
            }
            Err(why) => {
                assert!(*state == after, "a refused command changed something: {told}\n{}", self.told(at));
                let offered = one.free && !told.starts_with("Found");
                let agenda_asked = told.starts_with("Begin") || told.starts_with("Decide");
                assert!(
                    !(offered && agenda_asked),
                    "asked for and refused: {told}: {why}\n{}",
                    self.told(at)
                );
                self.seen.refused += 1;
                None
            }
        }
    }

    /// The facts alone lead where the command led.
    fn folds(&self, at: usize, before: &SagaState, after: &SagaState, events: &[JournalEvent], told: &str) {
        let mut folded = before.clone();
        for event in events {
            folded = apply(self.plan, folded, after.at, event)
                .unwrap_or_else(|no| panic!("{no}: {told}\n{}", self.told(at)));
        }
        assert!(folded == *after, "`apply` comes elsewhere: {told}\n{}", self.told(at));
    }

    /// A state is reached: a known one, or one that has to keep the laws.
    fn reach(
        &mut self,
        parent: Option<usize>,
        before: &SagaState,
        state: SagaState,
        now: Timestamp,
        events: Option<Vec<JournalEvent>>,
    ) -> usize {
        let key = key::of(self.plan, self.orders, &state, now);
        let known = self.known.get(&key).copied();
        if let Some(known) = known.filter(|_| !self.bounds.thorough) {
            return known;
        }
        let ended = state.phase.is_ended() && state.open_actions(self.plan) == 0;
        let facts = events.map(|events| (state.at, events));
        let at = self.nodes.len();
        self.nodes.push(Node { state: None, now, parent, facts, ended });
        let journal = self.journal(at);
        let held = || invariants::hold(self.plan, before, &state, &journal, now);
        match catch_unwind(AssertUnwindSafe(held)) {
            Ok(held) => held.unwrap_or_else(|broken| panic!("{broken}\n{}", self.told(at))),
            Err(_) => panic!("the laws themselves panic\n{}", self.told(at)),
        }
        let replayed = replay(self.plan, &journal);
        assert!(replayed.as_ref() == Ok(&state), "replay comes elsewhere\n{}", self.told(at));
        if let Some(known) = known {
            self.nodes.pop();
            return known;
        }
        self.nodes[at].state = Some(Box::new(state));
        self.known.insert(key, at);
        at
    }

    fn journal(&self, at: usize) -> Vec<Transition> {
        let mut path = vec![at];
        while let Some(parent) = self.nodes[path[path.len() - 1]].parent {
            path.push(parent);
        }
        let facts = path.into_iter().rev().filter_map(|at| self.nodes[at].facts.clone());
        let row = |(seq, (at, events)): (u64, (Timestamp, Vec<JournalEvent>))| Transition {
            seq,
            at,
            actor: "engine".into(),
            id: TransitionId(Uuid::from_u128(u128::from(seq))),
            events,
        };
        (1..).zip(facts).map(row).collect()
    }

    /// The story that leads to a state: the shortest among those with the fewest troubles.
    fn told(&self, at: usize) -> String {
        let mut text = String::new();
        let journal = self.journal(at);
        for transition in &journal {
            for event in &transition.events {
                let _ = writeln!(text, "{:<6} {}", story::time(transition.at), story::fact(event));
            }
        }
        let state = replay(self.plan, &journal).expect("it was replayed before");
        text + &story::ending(self.plan, &state, self.nodes[at].now)
    }

    /// Liveness: from every state, an end is reached if nothing more goes wrong.
    fn all_end(&mut self) {
        self.ways.sort_unstable();
        let mut ends: Vec<bool> = self.nodes.iter().map(|node| node.ended).collect();
        let mut next: Vec<usize> = (0..ends.len()).filter(|at| ends[*at]).collect();
        while let Some(to) = next.pop() {
            let first = self.ways.partition_point(|(way, _)| *way < to);
            for (_, from) in self.ways[first..].iter().take_while(|(way, _)| *way == to) {
                if !std::mem::replace(&mut ends[*from], true) {
                    next.push(*from);
                }
            }
        }
        if let Some(stuck) = ends.iter().position(|ends| !ends) {
            let many = ends.iter().filter(|ends| !**ends).count();
            panic!("from {many} states no end is reached; the first one:\n{}", self.told(stuck));
        }
    }
}
