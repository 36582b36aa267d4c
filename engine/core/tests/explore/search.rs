//! The search itself: breadth-first, in levels by how much has gone wrong, so that a state is reached first with
//! as much left as possible.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use amends_core::event::{JournalEvent, Transition};
use amends_core::machine::{Rejected, Start, advance, start};
use amends_core::{
    Command, Incarnation, SagaId, SagaPlan, SagaState, Timestamp, TransitionId, apply, replay,
};
use uuid::Uuid;

use crate::invariants::{self, Held, Ledger};
use crate::key::{self, Key};
use crate::left::{Front, Left};
use crate::live::Ends;
use crate::moves::{Does, Move, Moves};
use crate::script::json;
use crate::story;
use crate::twins::Twins;

/// How far a search goes.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// What may go wrong on one path.
    pub(crate) left: Left,
    /// Once so many states were explored, the search is cut.
    pub(crate) visits: usize,
    /// One state in so many is replayed from its first fact on.
    pub(crate) sample: usize,
    /// One state in so many is kept, and compared with others that have the same key; 0: none.
    pub(crate) twins: usize,
}

/// What a search saw.
#[derive(Default)]
pub(crate) struct Seen {
    /// States by how much had gone wrong before they were first reached.
    pub(crate) states: Vec<usize>,
    /// States explored once more, with other bounds left.
    pub(crate) again: usize,
    /// Moves that the machine obeyed.
    pub(crate) transitions: usize,
    /// Moves that it refused, or that were nothing new.
    pub(crate) refused: usize,
    /// States that were reached and not explored, because of the cut.
    pub(crate) rest: usize,
    /// Pairs of states with one key that were compared.
    pub(crate) twins: usize,
}

/// How a state was reached: from which, by which of its moves.
#[derive(Clone, Copy)]
struct Way {
    from: u32,
    nth: u16,
}

/// A state that was reached, to be explored.
struct Visit {
    state: SagaState,
    ledger: Ledger,
    now: Timestamp,
    left: Left,
    way: u32,
}

/// A move that takes from the bounds: made when its level comes.
struct Later {
    from: Rc<Visit>,
    nth: u16,
}

struct Search<'a> {
    plan: &'a SagaPlan,
    alike: &'a [usize],
    bounds: Bounds,
    born: SagaState,
    begun: Vec<JournalEvent>,
    ways: Vec<Way>,
    known: HashMap<Key, Front>,
    later: Vec<VecDeque<Later>>,
    ends: Ends,
    twins: Twins,
    seen: Seen,
}

/// Explores the plan; steps with the same number in `alike` may change places.
///
/// # Panics
/// When a law is broken, with the story that led there.
pub(crate) fn explore(plan: &SagaPlan, alike: &[usize], bounds: Bounds) -> Seen {
    let begin = Start {
        saga: SagaId(Uuid::from_u128(1)),
        key: "key".into(),
        input: json(r#"{"order":42}"#),
        occurred_at: None,
        owner: Incarnation(Uuid::from_u128(1)),
        trigger: None,
        trace: None,
        tenant: None,
    };
    let (born, begun) = start(plan, begin, story::BIRTH);
    let levels = usize::from(bounds.left.together) + 1;
    let mut search = Search {
        plan,
        alike,
        bounds,
        born,
        begun,
        ways: vec![Way { from: 0, nth: 0 }],
        known: HashMap::new(),
        later: (0..levels).map(|_| VecDeque::new()).collect(),
        ends: Ends::default(),
        twins: Twins::default(),
        seen: Seen { states: vec![0; levels], ..Seen::default() },
    };
    search.run();
    search.seen
}

impl Search<'_> {
    fn run(&mut self) {
        let mut ledger = Ledger::default();
        let born = self.begun.iter().try_for_each(|event| ledger.enter(self.plan, story::BIRTH, event));
        born.expect("the first facts keep the laws");
        let first =
            Visit { state: self.born.clone(), ledger, now: story::BIRTH, left: self.bounds.left, way: 0 };
        let mut level = VecDeque::new();
        self.is_new(&first.state, first.now, first.left);
        level.push_back(first);
        for together in (0..self.later.len()).rev() {
            let mut asked = (u32::MAX, Vec::new());
            loop {
                if let Some(visit) = level.pop_front() {
                    if self.ways.len() > self.bounds.visits {
                        self.seen.rest += 1;
                    } else {
                        self.visit(Rc::new(visit), &mut level);
                    }
                } else if let Some(Later { from, nth }) = self.later[together].pop_front() {
                    if self.ways.len() > self.bounds.visits {
                        self.seen.rest += 1;
                        continue;
                    }
                    if asked.0 != from.way {
                        asked = (from.way, Moves::of(self.plan, &from.state, from.now, from.left).all);
                    }
                    let one = asked.1[usize::from(nth)].clone();
                    let mut scratch = from.state.clone();
                    if let Some(to) = self.make(&from, nth, one, &mut scratch) {
                        self.reach(&from, nth, to, &mut level);
                    }
                } else {
                    break;
                }
            }
        }
    }

    /// Makes every move of a state.
    fn visit(&mut self, from: Rc<Visit>, level: &mut VecDeque<Visit>) {
        let at = key::of(self.plan, self.alike, &from.state, from.now, from.left);
        let held = catch_unwind(AssertUnwindSafe(|| invariants::stands(self.plan, &from.state, from.now)));
        self.held(&from, None, held.unwrap_or_else(|_| Err("the laws themselves panic".into())));
        if let Err(stuck) = self.ends.reach(self.plan, self.alike, &from.state, from.now, from.left) {
            let (state, now) = *stuck;
            let stuck = story::ending(self.plan, &state, now);
            self.broken(
                &from,
                None,
                &format!("no end is reached, though the world behaves, but this:\n{stuck}"),
            );
        }
        if self.ways.len().is_multiple_of(self.bounds.sample) {
            self.replays(&from);
        }
        let mut scratch = from.state.clone();
        for (nth, one) in Moves::of(self.plan, &from.state, from.now, from.left).all.into_iter().enumerate() {
            let nth = u16::try_from(nth).expect("a state has some hundred moves");
            let Some(to) = self.make(&from, nth, one, &mut scratch) else { continue };
            let key = key::of(self.plan, self.alike, &to.state, to.now, to.left);
            if key == at || self.known.get(&key).is_some_and(|front| front.covers(to.left)) {
                self.compare(&from, nth, key, &to);
                continue;
            }
            if to.left == from.left {
                self.reach(&from, nth, to, level);
            } else {
                self.later[usize::from(to.left.together)].push_back(Later { from: from.clone(), nth });
            }
        }
        if scratch != from.state {
            self.broken(&from, None, "a command that was refused, or had nothing to say, changed the state");
        }
    }

    /// Makes one move; where it leads, if anywhere. `scratch` is the state before, and stays it.
    fn make(&mut self, from: &Visit, nth: u16, one: Move, scratch: &mut SagaState) -> Option<To> {
        let left = from.left.after(one.cost).expect("only what can be paid is made");
        let command = match one.does {
            Does::Pass(now) => {
                return Some(To { state: from.state.clone(), now, left, events: Vec::new() });
            }
            Does::Obey(command) => *command,
        };
        match self.advance(from, nth, scratch, command) {
            Ok(events) if events.is_empty() => {
                self.seen.refused += 1;
                if one.due {
                    self.broken(from, Some(nth), "it was due, and led to nothing");
                }
                None
            }
            Ok(events) => {
                self.seen.transitions += 1;
                let state = std::mem::replace(scratch, from.state.clone());
                Some(To { state, now: from.now, left, events })
            }
            Err(why) => {
                self.seen.refused += 1;
                if one.due {
                    self.broken(from, Some(nth), &format!("it was due, and was refused: {why}"));
                }
                None
            }
        }
    }

    fn advance(
        &self,
        from: &Visit,
        nth: u16,
        scratch: &mut SagaState,
        command: Command,
    ) -> Result<Vec<JournalEvent>, Rejected> {
        let did = catch_unwind(AssertUnwindSafe(|| advance(self.plan, scratch, command, from.now)));
        did.unwrap_or_else(|_| self.broken(from, Some(nth), "the machine panics"))
    }

    /// A state that may be new: the facts that lead there keep the laws, and lead there when they are replayed.
    fn reach(&mut self, from: &Visit, nth: u16, to: To, level: &mut VecDeque<Visit>) {
        if !self.is_new(&to.state, to.now, to.left) {
            return;
        }
        let (mut ledger, mut folded) = (from.ledger.clone(), from.state.clone());
        for event in &to.events {
            let held = ledger.enter(self.plan, to.state.at, event);
            self.held(from, Some(nth), held);
            match apply(self.plan, folded, to.state.at, event) {
                Ok(next) => folded = next,
                Err(no) => self.broken(from, Some(nth), &no.to_string()),
            }
        }
        if folded != to.state {
            self.broken(from, Some(nth), "the facts alone lead elsewhere");
        }
        self.held(from, Some(nth), ledger.ends(self.plan, &to.state));
        let in_time = invariants::begun_in_time(self.plan, &from.state, to.state.at, &to.events);
        self.held(from, Some(nth), in_time);
        self.held(from, Some(nth), invariants::ends_once(&from.state, &to.state));
        if self.bounds.twins > 0 && self.ways.len().is_multiple_of(self.bounds.twins) {
            let key = key::of(self.plan, self.alike, &to.state, to.now, to.left);
            self.twins.keep(key, to.state.clone(), to.now);
        }
        let way = u32::try_from(self.ways.len()).expect("memory ends before");
        self.ways.push(Way { from: from.way, nth });
        level.push_back(Visit { state: to.state, ledger, now: to.now, left: to.left, way });
    }

    /// Was it not reached so far with as much left? From now on it was.
    fn is_new(&mut self, state: &SagaState, now: Timestamp, left: Left) -> bool {
        let front = self.known.entry(key::of(self.plan, self.alike, state, now, left)).or_default();
        if front.covers(left) {
            return false;
        }
        if front.add(left) {
            self.seen.states[usize::from(self.bounds.left.together - left.together)] += 1;
        } else {
            self.seen.again += 1;
        }
        if left.contradictions > 0 {
            // What can tell more covers what can tell less.
            let without = Left { contradictions: 0, ..left };
            let key = key::of(self.plan, self.alike, state, now, without);
            self.known.entry(key).or_default().add(left);
        }
        true
    }

    /// A state is left out for another with the same key: nothing that can follow tells the two apart.
    fn compare(&mut self, from: &Visit, nth: u16, key: Key, to: &To) {
        match self.twins.compare(self.plan, self.alike, key, &to.state, to.now, to.left) {
            Ok(compared) => self.seen.twins += usize::from(compared),
            Err(apart) => self.broken(from, Some(nth), &apart),
        }
    }

    /// The whole journal gives the state back.
    fn replays(&self, visit: &Visit) {
        let replayed = replay(self.plan, &self.journal(visit.way));
        if replayed.as_ref() != Ok(&visit.state) {
            self.broken(visit, None, "replay comes elsewhere");
        }
    }

    fn held(&self, from: &Visit, nth: Option<u16>, held: Held) {
        if let Err(law) = held {
            self.broken(from, nth, &law);
        }
    }

    fn broken(&self, from: &Visit, nth: Option<u16>, why: &str) -> ! {
        let mut text = format!("{why}\n");
        for transition in self.journal(from.way) {
            for event in &transition.events {
                let _ = writeln!(text, "{:<6} {}", story::time(transition.at), story::fact(event));
            }
        }
        text += &story::ending(self.plan, &from.state, from.now);
        if let Some(nth) = nth {
            let moves = Moves::of(self.plan, &from.state, from.now, from.left).all;
            let _ = write!(text, "\nthen: {:?}", moves[usize::from(nth)].does);
        }
        panic!("{text}")
    }

    /// The journal of the way to a state: its moves, made again.
    fn journal(&self, way: u32) -> Vec<Transition> {
        let (mut path, mut at) = (Vec::new(), way);
        while at != 0 {
            let Way { from, nth } = self.ways[at as usize];
            path.push(nth);
            at = from;
        }
        let (mut state, mut now, mut left) = (self.born.clone(), story::BIRTH, self.bounds.left);
        let mut rows = vec![(now, self.begun.clone())];
        for nth in path.into_iter().rev() {
            let one = Moves::of(self.plan, &state, now, left).all.swap_remove(usize::from(nth));
            left = left.after(one.cost).expect("it was paid before");
            match one.does {
                Does::Pass(to) => now = to,
                Does::Obey(command) => {
                    let events = advance(self.plan, &mut state, *command, now).expect("it was obeyed before");
                    rows.push((state.at, events));
                }
            }
        }
        let row = |(seq, (at, events)): (u64, (Timestamp, Vec<JournalEvent>))| Transition {
            seq,
            at,
            actor: "engine".into(),
            id: TransitionId(Uuid::from_u128(u128::from(seq))),
            events,
        };
        (1..).zip(rows).map(row).collect()
    }
}

/// Where a move leads.
struct To {
    state: SagaState,
    now: Timestamp,
    left: Left,
    events: Vec<JournalEvent>,
}
