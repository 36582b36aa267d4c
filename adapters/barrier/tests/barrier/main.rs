//! The barrier against a real SQLite file: its table row by row, and its transactions.

#![expect(clippy::unwrap_used, reason = "the service of the tests fails its test, like the tests themselves")]

mod service;
mod table;
mod transactions;
