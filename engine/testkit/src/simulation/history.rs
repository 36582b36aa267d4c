//! What happened: every transition that the store took, folded again, and written down.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use amends::ports::{JournalRow, WorkItemRow};
use amends_core::event::{JournalEvent, Transition};
use amends_core::{SagaId, SagaPlan, SagaState, Timestamp, apply, replay};

use super::invariants;
use super::store::Accepted;

/// One saga, as far as its committed journal goes.
#[derive(Clone, Debug)]
pub struct Told {
    /// Its shape.
    pub plan: Arc<SagaPlan>,
    /// The fold of its journal.
    pub state: SagaState,
    /// Its journal.
    pub journal: Vec<Transition>,
}

/// What one transition did.
#[derive(Clone, Debug)]
pub struct Transitioned<'a> {
    /// When it was committed, in the time of the simulation.
    pub at: Timestamp,
    /// The saga's shape.
    pub plan: &'a SagaPlan,
    /// The state it led from; for the first one, the state it led to.
    pub before: &'a SagaState,
    /// The state it led to.
    pub after: &'a SagaState,
    /// The saga's journal, this transition at its end.
    pub journal: &'a [Transition],
    /// The saga's desk entries, as the store has them.
    pub items: &'a [WorkItemRow],
    /// What the observer of the core's tests says is broken, by the number of the invariant if it has one.
    pub broken: Option<String>,
}

impl<'a> Transitioned<'a> {
    /// The last transition of `told`, which led from `before`.
    pub fn of(told: &'a Told, before: &'a SagaState, at: Timestamp, items: &'a [WorkItemRow]) -> Self {
        let Told { plan, state, journal } = told;
        let broken = invariants::hold(plan, before, state, journal, state.at).err();
        Self { at, plan, before, after: state, journal, items, broken }
    }

    /// What is broken of this invariant.
    pub(super) fn told(&self, invariant: &str) -> Result<(), String> {
        let broken = self.broken.as_ref().filter(|broken| broken.starts_with(&format!("{invariant}:")));
        broken.map_or(Ok(()), |broken| Err(broken.clone()))
    }
}

/// Every saga, and the text of what happened.
pub(super) struct History {
    begun: Timestamp,
    plans: BTreeMap<[u8; 32], Arc<SagaPlan>>,
    sagas: BTreeMap<SagaId, Told>,
    /// Every journal as its rows were taken, for when the store has purged them.
    rows: BTreeMap<SagaId, Vec<JournalRow>>,
    transitions: u64,
    text: String,
}

/// What a row did to the history.
pub(super) enum Entered {
    /// It was there before.
    Again,
    /// The saga moved on from this state.
    Moved { before: Box<SagaState> },
    /// No machine can have written it here.
    Impossible(String),
}

impl History {
    pub(super) fn beginning_at(begun: Timestamp) -> Self {
        Self {
            begun,
            plans: BTreeMap::new(),
            sagas: BTreeMap::new(),
            rows: BTreeMap::new(),
            transitions: 0,
            text: String::new(),
        }
    }

    pub(super) fn know(&mut self, plan: &Arc<SagaPlan>) {
        self.plans.insert(plan.digest.0, plan.clone());
    }

    pub(super) fn sagas(&self) -> &BTreeMap<SagaId, Told> {
        &self.sagas
    }

    pub(super) fn told(&self, saga: SagaId) -> Option<&Told> {
        self.sagas.get(&saga)
    }

    /// The journal of a saga, whatever the store has left of it.
    pub(super) fn rows(&self, saga: SagaId) -> Vec<JournalRow> {
        self.rows.get(&saga).cloned().unwrap_or_default()
    }

    pub(super) fn transitions(&self) -> u64 {
        self.transitions
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Writes down something that is not in any journal.
    pub(super) fn say(&mut self, at: Timestamp, what: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.text, "{:>10.3}s {what}", at.since(self.begun).as_secs_f64());
    }

    /// Takes in a row that the store has taken.
    pub(super) fn enter(&mut self, accepted: &Accepted) -> Entered {
        let Accepted { saga, row, .. } = accepted;
        if let Some(told) = self.sagas.get(saga)
            && row.seq <= told.journal.len() as u64
        {
            return Entered::Again;
        }
        let events: Vec<JournalEvent> = match serde_json::from_str(&row.events) {
            Ok(events) => events,
            Err(error) => return Entered::Impossible(format!("its events cannot be read: {error}")),
        };
        self.say(accepted.at, format_args!("{} {saga} #{} {}", accepted.by, row.seq, row.events));
        self.transitions += 1;
        self.rows.entry(*saga).or_default().push(row.clone());
        let transition =
            Transition { seq: row.seq, at: row.at, actor: row.actor.to_string(), id: row.transition, events };
        match self.sagas.get_mut(saga) {
            Some(told) => move_on(told, transition),
            None => self.begin(accepted, transition),
        }
    }

    fn begin(&mut self, accepted: &Accepted, transition: Transition) -> Entered {
        let plan = accepted.definition.and_then(|digest| self.plans.get(&digest)).cloned();
        let Some(plan) = plan else {
            return Entered::Impossible(
                "it begins without its start, or with an unknown definition".to_owned(),
            );
        };
        let journal = vec![transition];
        match replay(&plan, &journal) {
            Ok(state) => {
                let before = Box::new(state.clone());
                self.sagas.insert(accepted.saga, Told { plan, state, journal });
                Entered::Moved { before }
            }
            Err(corrupt) => Entered::Impossible(corrupt.to_string()),
        }
    }
}

fn move_on(told: &mut Told, transition: Transition) -> Entered {
    let expected = told.journal.len() as u64 + 1;
    if transition.seq != expected {
        return Entered::Impossible(format!("sequence {expected} is missing before {}", transition.seq));
    }
    let before = told.state.clone();
    let mut state = told.state.clone();
    for event in &transition.events {
        match apply(&told.plan, state, transition.at, event) {
            Ok(after) => state = after,
            Err(corrupt) => return Entered::Impossible(corrupt.to_string()),
        }
    }
    state.at = state.at.max(transition.at);
    told.state = state;
    told.journal.push(transition);
    Entered::Moved { before: Box::new(before) }
}
