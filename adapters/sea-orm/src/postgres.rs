//! The store on PostgreSQL, shared by any number of processes.
//!
//! * `open`: settings, the schema, and the two kinds of connections; `reach`: what is told where there are none.
//! * `runner`: who holds a connection while something is written, and what becomes of it when that fails;
//!   `readers`: the same for what is read.
//! * `batch`: one batch is one statement; `held`: what it waits for; `owners`: joining, leaving, claiming;
//!   `nodes`: dismissing, releasing; `pulse`: beating; `mail`: posting; `outbox`: messages to publish;
//!   `controls`: what people set for everybody; `intake`: messages that became no saga; `purge`:
//!   forgetting; `hints`: LISTEN and NOTIFY.
//! * `sql`: the statements' texts. `store`: the handle.
//!
//! The journal's primary key decides between two writers; the `worker` row, which each batch locks against
//! removal, fences whoever was dismissed. Nothing else does: `saga` holds no version and no lease.

mod batch;
mod controls;
mod held;
mod hints;
mod intake;
mod mail;
mod nodes;
mod open;
mod outbox;
mod owners;
mod pulse;
mod purge;
mod reach;
mod readers;
mod registry;
mod runner;
mod sql;
mod store;

pub use open::PostgresSettings;
pub use store::PostgresStore;
