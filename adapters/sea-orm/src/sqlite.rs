//! The store on one SQLite file, owned by one process.
//!
//! * `lock`: an exclusive lock file, held for the store's life, proves that no other process writes.
//! * `open`: settings, and the two kinds of connections.
//! * `writer`: the one task that writes. It owns the transactions: their ROLLBACK, their retries, their fate
//!   when the caller goes away.
//! * `unit`: what happens inside one transaction. `batch`: one batch; `owners`: joining, leaving, claiming.
//! * `sql`: the statements' texts. `failure`: whose fault an error is. `faults`: making them happen.

mod batch;
mod failure;
mod faults;
mod lock;
mod open;
mod owners;
mod sql;
mod store;
mod unit;
mod writer;

pub use faults::Faults;
pub use open::SqliteSettings;
pub use store::SqliteStore;

pub(crate) use failure::read_fault;
