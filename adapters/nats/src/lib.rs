//! NATS for Amends: one saga per event, whatever is delivered.
//!
//! [`Connection`] is one connection to a server or cluster, with its version read and its refusals kept.
//!
//! It is *not* a broker client for application code: use `async-nats` for that.

mod connection;
mod settings;
mod version;

pub use connection::{ConnectError, Connection};
pub use settings::{Login, NatsSettings, Tls};
pub use version::ServerVersion;
