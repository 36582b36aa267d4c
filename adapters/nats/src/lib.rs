//! NATS for Amends: one saga per event, whatever is delivered.
//!
//! [`Connection`] is one connection to a server or cluster, with its version read and its refusals kept. A [`Trigger`]
//! says which events start which sagas, and [`Triggers`] run them. `OPERATING.md` beside this crate says what a server
//! must be, which permissions each role needs, and what the reports mean. An [`EngineService`] answers as a NATS micro
//! service.
//!
//! It is *not* a broker client for application code (use `async-nats` for that), and *not* exactly-once: a message may be
//! delivered any number of times; what is one is its saga.

pub mod service;
pub mod trigger;

mod connection;
mod declare;
mod readiness;
mod settings;
mod version;

pub use connection::{ConnectError, Connection};
pub use declare::{ConsumerSettings, DeclareError, Difference, StreamSettings};
pub use readiness::{Readiness, TriggerReadiness, TriggerState};
pub use service::{EngineService, ServiceError, ServiceSettings};
pub use settings::{Login, NatsSettings, Tls};
pub use trigger::{Counters, Event, Trigger, TriggerLimits, Triggers, TriggersBuilder, TriggersError, Unfit};
pub use version::ServerVersion;
