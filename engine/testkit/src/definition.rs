//! A definition on trial: the author's own plan, in the pure machine, against all answers.
//!
//! Five steps and two bad answers are some thousand states, a fraction of a second without optimisation.
//! Nothing runs: no participant, no store, no clock. The machine is asked what it would do next and told every
//! answer that could come, breadth first over distinct states, so the path to a violation is a shortest one. What
//! participants *do* is for [`explore`](crate::explore); here the definition's shape and policies are on trial.
//!
//! Bounds, all stated: what may start has started; at most two attempts per budget and one query; delays and
//! settle windows are nothing, and time passes only where nothing else can happen; on one path at most
//! [`DefinitionExploration::mishaps_max`] bad answers, one crash and one cancellation; no verb of a person but that
//! one; no news after an outcome, no `Fenced`, `Mismatch` or `Stale` answers of an attempt. The state exploration of
//! the machine's own tests covers those.

mod bounds;
mod moves;
mod promises;
mod replay;
mod report;
mod story;
mod walk;

use std::fmt;
use std::sync::Arc;

use amends::authoring::{Policies, RegistrationErrors, Saga};
use amends_core::SagaPlan;

pub use replay::{Differs, FinishedJournal, replay_journal};
pub use story::{Moment, Story};

use walk::Walk;

/// What an author says must never be: it holds of a story, or not.
type Rule = Box<dyn Fn(&Story<'_>) -> bool>;

/// Puts a definition on trial, with the default policies unless [`DefinitionExploration::policies`] gives others.
///
/// ```
/// use amends::prelude::*;
/// use amends_testkit::{Ledger, Participant, World, explore_definition};
///
/// # let mut world = World::new();
/// # let ledger = Ledger::new(&mut world);
/// # let money: Participant<u32, u32, String> = Participant::new(&ledger, "money", |n| *n);
/// # let goods: Participant<u32, u32, Never> = Participant::new(&ledger, "goods", |n| *n);
/// let (s, order) = SagaBuilder::<u32>::new("order", 1);
/// let (paid, mut s) = s.pivot("capture", money.step::<ByQuery, ByOperator>(), order);
/// let shipped = s.retriable("ship", goods.step::<ByRepeating, ByOperator>(), paid);
/// let saga = s.finish(shipped).unwrap();
///
/// let explored = explore_definition(&saga)
///     .never("a shipment before its debit", |story| story.applied("ship").before("capture"))
///     .check();
/// assert!(explored.complete, "{explored}");
/// ```
pub fn explore_definition<I: 'static, O: 'static>(saga: &Saga<I, O>) -> DefinitionExploration {
    let saga = saga.clone();
    DefinitionExploration {
        resolve: Box::new(move |policies| Ok(saga.resolve(policies)?.plan)),
        policies: Policies::new(),
        rules: Vec::new(),
        mishaps_max: 2,
        states_max: 50_000,
    }
}

/// The plan of a definition, once its policies are known.
type Resolve = Box<dyn Fn(&Policies) -> Result<Arc<SagaPlan>, RegistrationErrors>>;

/// A definition, and what must never be. Nothing is tried before [`DefinitionExploration::check`] or
/// [`DefinitionExploration::try_check`].
#[must_use = "a definition is tried by `check` or `try_check`"]
pub struct DefinitionExploration {
    resolve: Resolve,
    policies: Policies,
    rules: Vec<(String, Rule)>,
    mishaps_max: u32,
    states_max: usize,
}

/// How far a trial came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explored {
    /// Distinct states.
    pub states: usize,
    /// Ways between them that were gone.
    pub moves: usize,
    /// States in which the saga has completed.
    pub completed: usize,
    /// States in which it has turned back and undone everything.
    pub compensated: usize,
    /// States in which nothing but a person brings it on.
    pub waiting: usize,
    /// Was every state within the bounds looked at? Otherwise the number of states was.
    pub complete: bool,
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { states, moves, completed, compensated, waiting, complete } = self;
        let how = if *complete { "all of them" } else { "cut off there" };
        write!(
            f,
            "{states} states, {how}, {moves} moves: {completed} completed, {compensated} compensated, \
             {waiting} wait for a person"
        )
    }
}

/// A path on which something happens that must never be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What must never be.
    pub broken: String,
    /// Facts on the path to it: no path has fewer transitions.
    pub timeline: String,
    /// The plan, with the stages in it.
    pub picture: String,
    /// How far the trial had come.
    pub explored: Explored,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { broken, timeline, picture, explored } = self;
        write!(
            f,
            "the definition allows what must never be: {broken}\n\n{timeline}\n{picture}\n\
             found after {} states",
            explored.states
        )
    }
}

impl DefinitionExploration {
    /// With these policies. Their attempts and queries count up to the bounds, their delays not at all.
    pub fn policies(mut self, policies: &Policies) -> Self {
        self.policies = policies.clone();
        self
    }

    /// `what` must never be: `rule` holds of no story. It is asked at every state.
    pub fn never(mut self, what: &str, rule: impl Fn(&Story<'_>) -> bool + 'static) -> Self {
        self.rules.push((what.to_owned(), Box::new(rule)));
        self
    }

    /// At most so many bad answers on one path; 2 if nothing is said.
    pub fn mishaps_max(mut self, mishaps: u32) -> Self {
        self.mishaps_max = mishaps;
        self
    }

    /// At most so many states; 50 000 if nothing is said. [`Explored::complete`] says whether that was enough.
    pub fn states_max(mut self, states: usize) -> Self {
        self.states_max = states;
        self
    }

    /// Tries it.
    ///
    /// # Errors
    /// With a shortest path to what must never be.
    ///
    /// # Panics
    /// When the policies do not fit the definition, or a rule names a step that it does not have.
    pub fn try_check(self) -> Result<Explored, Box<Violation>> {
        let plan = (self.resolve)(&self.policies).unwrap_or_else(|error| panic!("{error}"));
        Walk::new(&bounds::bounded(&plan), &self.rules, self.mishaps_max, self.states_max).go()
    }

    /// Tries it.
    ///
    /// # Panics
    /// With the timeline and the picture of what must never be; and as [`DefinitionExploration::try_check`].
    #[track_caller]
    pub fn check(self) -> Explored {
        self.try_check().unwrap_or_else(|violation| panic!("{violation}"))
    }
}
