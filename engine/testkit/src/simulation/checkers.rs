//! The invariants of ARCHITECTURE.md, each by a checker of its own that watches what happens.
//!
//! I1 to I5 are told from a journal, by the same observer that holds every test of the core against them.

mod accounts;
mod answers;
mod desks;
mod events;
mod facts;
mod fencing;
mod fold;
mod keys;
mod ledgers;
mod limbo;
mod liveness;
mod pauses;
mod permits;
mod purged;
mod redeliveries;

use std::collections::{BTreeMap, BTreeSet};

use amends::ports::{IntakeRow, Loaded, SagaRow, WorkItemRow};
use amends_core::{Incarnation, SagaId, Timestamp};

pub use accounts::Accounts;
pub use answers::{Answers, Decided};
pub use desks::Desks;
pub use events::Events;
pub use facts::Facts;
pub use fencing::Fencing;
pub use fold::Fold;
pub use keys::Keys;
pub use ledgers::Ledgers;
pub use limbo::Limbo;
pub use liveness::Liveness;
pub use pauses::Pauses;
pub use permits::Permits;
pub use purged::Purged;
pub use redeliveries::Redeliveries;

use super::history::{Told, Transitioned};
use super::messages::Noted;
use super::store::Accepted;

/// Watches one invariant.
pub trait Checker {
    /// Which one: `I1` to `I13`.
    fn invariant(&self) -> &'static str;

    /// Sees what happened next.
    ///
    /// # Errors
    /// When that breaks the invariant: how.
    fn observe(&mut self, step: &Step<'_>) -> Result<(), String>;
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// The store took a journal row, for the first time or again.
    Accepted(&'a Accepted),
    /// The store took a row that no machine can have written there.
    Impossible(SagaId, &'a str),
    /// A saga moved.
    Transitioned(&'a Transitioned<'a>),
    /// An incarnation was dismissed, or left.
    Ended(Incarnation),
    /// Somebody who started a saga was answered.
    Answered(&'a Answered),
    /// A start was refused for its age.
    TooOld {
        /// Of which key.
        key: &'a str,
        /// When its event occurred.
        occurred_at: Timestamp,
        /// Nothing older is started.
        horizon: Timestamp,
    },
    /// Something happened to a message.
    Message(&'a Noted),
    /// Somebody who asked something of a saga was answered.
    Decided(&'a Decided),
    /// A workflow is paused since then; none: perhaps no more.
    Paused {
        /// Which one.
        workflow: &'a str,
        /// Since when.
        at: Option<Timestamp>,
    },
    /// Nodes that stood still go on.
    Woke {
        /// When.
        at: Timestamp,
    },
    /// Time has passed, and nothing can go on at this moment.
    Passed(&'a Moment<'a>),
    /// Faults are long over.
    Settled(&'a Moment<'a>, &'a End),
}

/// The answer to a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Of which workflow.
    pub workflow: String,
    /// Under which key.
    pub key: String,
    /// With which input, as JSON text.
    pub input: String,
    /// The saga that it is; none: the key stands for another input.
    pub saga: Option<SagaId>,
}

/// Everything at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// When.
    pub now: Timestamp,
    /// Every saga, as far as its journal goes.
    pub sagas: &'a BTreeMap<SagaId, Told>,
    /// Every saga, as its row stands in the store.
    pub rows: &'a [SagaRow],
    /// Sagas with mail that nobody has read.
    pub unread: &'a BTreeSet<SagaId>,
}

/// What stands in the store at the end, and what has not come to one.
#[derive(Clone, Debug, Default)]
pub struct End {
    /// Every saga with its journal.
    pub stored: Vec<Loaded>,
    /// Every desk entry.
    pub items: Vec<(SagaId, WorkItemRow)>,
    /// Sagas that neither settled nor stand on a desk.
    pub unsettled: Vec<SagaId>,
    /// Starts that nobody answered, each in words.
    pub unanswered: Vec<String>,
    /// Sagas with mail that nobody has read.
    pub unread: Vec<SagaId>,
    /// Messages that the broker still has, and what the outbox still has.
    pub unfinished: Vec<String>,
    /// Everything in intake.
    pub intake: Vec<IntakeRow>,
}
