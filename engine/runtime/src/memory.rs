//! Honest in-memory reference implementations that pass the same conformance suites as the real ones.

mod control;
mod hints;
mod intake;
mod lists;
mod mail;
mod nodes;
mod outbox;
mod purge;
mod registry;
mod store;
mod tables;

pub use store::MemoryStore;
