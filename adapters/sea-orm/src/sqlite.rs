//! The store on one SQLite file, owned by one process.
//!
//! * `lock`: an exclusive lock file, held for the store's life, proves that no other process writes.
//! * `open`: settings, and the two kinds of connections.
//! * `writer`: the one task that writes. It owns the transactions: their ROLLBACK, their retries, their fate
//!   when the caller goes away.
//! * What happens inside one transaction, `batch`: one batch; `owners`: joining, leaving, claiming; `nodes`:
//!   beating, dismissing, releasing; `mail`: posting and consuming; `outbox`: messages to publish;
//!   `intake`: messages that became no saga; `purge`: forgetting.
//! * `sql`: the statements' texts. `faults`: making errors happen.

mod batch;
mod controls;
mod faults;
mod intake;
mod lock;
mod mail;
mod nodes;
mod open;
mod outbox;
mod owners;
mod purge;
mod registry;
mod sql;
mod store;
mod writer;

pub use faults::Faults;
pub use open::SqliteSettings;
pub use store::SqliteStore;
