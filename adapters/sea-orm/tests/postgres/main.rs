//! The store on a real PostgreSQL server, which `tests/run` starts.

mod conformance;
mod faults;
#[path = "../views/kept.rs"]
mod kept;
mod nodes;
mod proxy;
mod rows;
mod server;
mod views;
