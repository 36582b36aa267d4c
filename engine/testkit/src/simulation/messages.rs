//! Messages: events that start sagas, commands that leave through the outbox, and the replies to them.
//!
//! Between nodes, sources and participants stands one [broker](crate::broker), which passes the suite of real ones, and in
//! front of it a connection that fails. Whoever decides at its ends does what the adapter for a real broker does, with the
//! same ports of the engine.

mod broker;
mod noted;
mod publisher;
mod receiver;
mod replies;
mod service;
mod source;
mod triggers;

pub(super) use broker::FaultyBroker;
pub use noted::{Ending, Noted};
pub(super) use publisher::Outbound;
pub use receiver::Misbehaving;
pub(super) use receiver::Receiver;
pub(super) use replies::replies;
pub(super) use service::Service;
pub(super) use source::{Event, Source};
pub(super) use triggers::triggers;

use crate::broker::ConsumerSettings;
use std::time::Duration;

/// Events that start sagas.
pub(super) const EVENTS: &str = "events";

/// Commands to participants.
pub(super) const COMMANDS: &str = "commands";

/// Their replies.
pub(super) const REPLIES: &str = "replies";

/// The consumer that all nodes share, of events and of replies.
pub(super) const NODES: &str = "nodes";

/// After how long without a word a message comes again.
pub(super) const ACK_WAIT: Duration = Duration::from_secs(30);

/// A consumer with this wait.
pub(super) fn consumer(name: &str, filter: &str) -> ConsumerSettings {
    ConsumerSettings { ack_wait: ACK_WAIT, ..ConsumerSettings::new(name, filter) }
}
