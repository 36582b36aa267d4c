//! The store of Amends in a SQL database, through SeaORM.
//!
//! Reads go through entities and are the same on every backend. Writes are a few statements of the backend's
//! own, each prepared once, because one batch of many sagas is one transaction (`sqlite::batch`,
//! `postgres::batch`).
//!
//! This crate decides nothing: what a transition means is the engine's business, here it is rows.

mod entity;
mod failure;
mod postgres;
mod prepared;
mod query;
mod reader;
mod split;
mod sqlite;
mod start_in;
mod stats;
mod unit;

// The public interface is:
pub use postgres::{PostgresSettings, PostgresStore};
pub use reader::SqlReader;
pub use sqlite::{Faults, SqliteSettings, SqliteStore};
pub use start_in::{StartInError, StartedIn, start_in};
