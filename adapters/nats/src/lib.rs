//! NATS for Amends: one saga per event, whatever is delivered.
//!
//! [`Connection`] is one connection to a server or cluster, with its version read and its refusals kept. A [`Trigger`]
//! says which events start which sagas, and [`Triggers`] run them. [`Commands`] are steps whose participant is reached by
//! messages, [`NatsPublisher`] has them leave, [`Replies`] brings the answers; a service that takes part is a
//! [`Participant`], by the contract in `PROTOCOL.md` beside this crate. `OPERATING.md` beside this crate says what a server
//! must be, which permissions each role needs, and what the reports mean. An [`EngineService`] answers as a NATS micro
//! service.
//!
//! It is *not* a broker client for application code (use `async-nats` for that), and *not* exactly-once: a message may be
//! delivered any number of times; what is one is its saga.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use amends::{Engine, Saga};
//! use amends_nats::{Connection, NatsSettings, StreamSettings, Trigger, Triggers};
//!
//! # async fn run(engine: Engine, saga: Saga<u32, u64>) -> Result<(), Box<dyn std::error::Error>> {
//! let connection = Connection::open(NatsSettings::new("nats://127.0.0.1:4222")).await?;
//! let orders = Trigger::on("ORDERS", "orders.placed")
//!     .workflow(&saga) // the event's data is its input, the event's id its key
//!     .declare_stream(StreamSettings::new("ORDERS", ["orders.>"]));
//! let triggers = Triggers::on(&connection, &engine).with(orders).start().await?;
//! for problem in triggers.readiness().problems() {
//!     eprintln!("{problem}");
//! }
//! triggers.stop(Duration::from_secs(5)).await; // what is in hand is ended first
//! # Ok(())
//! # }
//! ```

pub mod service;
pub mod trigger;

mod command;
mod connection;
mod declare;
mod heard;
mod owner;
mod participant;
mod publisher;
mod readiness;
mod replies;
mod settings;
mod streams;
mod taking;
mod version;
mod wire;

pub use command::{CommandStep, Commands, NameError, Operation};
pub use connection::{ConnectError, Connection};
pub use declare::{ConsumerSettings, DeclareError, Difference, StreamSettings};
pub use participant::{
    Handler, NotNow, Participant, ParticipantCounters, ParticipantError, ParticipantSettings,
};
pub use publisher::NatsPublisher;
pub use readiness::{ConsumerReadiness, ConsumerState, Readiness, TriggerReadiness};
pub use replies::{Replies, RepliesError, ReplyCounters, ReplySettings};
pub use service::{EngineService, ServiceError, ServiceSettings};
pub use settings::{Login, NatsSettings, Tls};
pub use streams::streams;
pub use trigger::{Counters, Event, Trigger, TriggerLimits, Triggers, TriggersBuilder, TriggersError, Unfit};
pub use version::ServerVersion;
pub use wire::{Call, Direction, MalformedCall, Reply, Trouble};
