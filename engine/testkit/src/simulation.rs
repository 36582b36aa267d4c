//! The simulator: whole engines on one store, a broker, participants, callers and people, in one thread, in virtual
//! time, from one seed.
//!
//! A run draws workflows, starts sagas on several nodes, and lets a random part of all kinds of faults strike
//! ([`Trouble`]). Every transition that the store takes goes through a [`Checker`](checkers::Checker) for each
//! invariant. Then the faults stop, and everything must settle or stand on a desk. A failure is shrunk to the
//! shortest history that still fails ([`shrink`]).
//!
//! *Guarantees*: the same [`Setup`] gives the same history to the last byte.
//!
//! *Not simulated*: threads, real databases, brokers and networks; life-cycle events and notices. Participants keep their
//! barrier, also when their machine dies; queries and replies may lie about single sagas, which are
//! then left out of the comparison with the ledgers. Queries are calls, also while the broker answers nobody. I9 looks at
//! named dependencies only, at budgets only where clocks agree, and not where people set something for all.
//!
//! *Known*: a saga that goes over to a node whose clock is ahead of its last one's cannot know that less time has
//! passed; such a saga is held against "at most one effect" only. ARCHITECTURE.md says more. A participant that has one command in two
//! hands may say "no effect" with the one and take effect unheard with the other; the participants of a simulation close a
//! transmission out before they say that of it, which no contract asks for yet.
//!
//! In reading order: [`Setup`] and [`Trouble`] say what a run is made of, `shapes` draws workflows, `mishaps` and
//! `schedule` plan what goes wrong, `store` is the connection that fails and `messages` the one to the broker, with
//! everybody at its ends, `history` folds what was committed,
//! [`checkers`] judge it, `run` plays it.

mod bearing;
mod controls;
mod mishaps;
mod schedule;
mod setup;
mod shapes;
mod trouble;

mod history;
mod messages;
mod store;

pub mod checkers;
/// The observer of the core's tests, and the only one: here it watches committed journals.
#[path = "../../core/tests/it/invariants.rs"]
mod invariants;

mod nodes;
mod people;
mod run;
mod shrink;
mod summary;

pub use bearing::Bearing;
pub use history::{Told, Transitioned};
pub use messages::{Ending, Misbehaving, Noted};
pub use run::Simulation;
pub use setup::Setup;
pub use shrink::{Shrunk, shrink};
pub use store::{Accepted, FaultyStore, Occupied};
pub use summary::{Failure, Run, Summary, Violation};
pub use trouble::{Trouble, UnknownTrouble};
