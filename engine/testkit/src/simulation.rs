//! The simulator: whole engines on one store, their participants, callers and people, in one thread, in virtual
//! time, from one seed.
//!
//! A run draws workflows, starts sagas on several nodes, and lets a random part of all kinds of faults strike
//! ([`Trouble`]). Every transition that the store takes goes through a [`Checker`](checkers::Checker) for each
//! invariant. Then the faults stop, and everything must settle or stand on a desk. A failure is shrunk to the
//! shortest history that still fails ([`shrink`]).
//!
//! *Guarantees*: the same [`Setup`] gives the same history to the last byte.
//!
//! *Not simulated*: threads, real databases and networks, messages through a broker. Participants keep their barrier,
//! also when their machine dies; queries and replies may lie about single sagas, which are
//! then left out of the comparison with the ledgers.
//!
//! *Known*: a saga that goes over to a node whose clock is ahead of its last one's cannot know that less time has
//! passed; such a saga is held against "at most one effect" only. ARCHITECTURE.md says more.
//!
//! In reading order: [`Setup`] and [`Trouble`] say what a run is made of, `shapes` draws workflows, `mishaps` and
//! `schedule` plan what goes wrong, `store` is the connection that fails, `history` folds what was committed,
//! [`checkers`] judge it, `run` plays it.

mod bearing;
mod controls;
mod mishaps;
mod schedule;
mod setup;
mod shapes;
mod trouble;

mod history;
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
pub use run::Simulation;
pub use setup::Setup;
pub use shrink::{Shrunk, shrink};
pub use store::{Accepted, FaultyStore, Occupied};
pub use summary::{Failure, Run, Summary, Violation};
pub use trouble::{Trouble, UnknownTrouble};
