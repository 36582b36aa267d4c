//! Whoever takes messages on a node.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use amends::Engine;
use amends::ports::Clock;

use super::broker::FaultyBroker;

/// What is wrong on purpose with those who handle messages: each is caught by a checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misbehaving {
    /// The broker loses messages that it has acknowledged.
    LosesMessages,
    /// Events are acknowledged before their saga is durable.
    AcknowledgesFirst,
    /// The place of an event in its stream is its key, and not its id.
    KeysByPlace,
    /// An event whose saga was there already is not acknowledged.
    LeavesDuplicates,
    /// What cannot be read is terminated, and put nowhere.
    DropsBad,
}

/// What takes messages for one engine.
#[derive(Clone)]
pub(crate) struct Receiver {
    engine: Engine,
    broker: FaultyBroker,
    /// Nothing more is taken: the engine has said that it takes nothing.
    closing: Arc<AtomicBool>,
}

/// The most messages of a kind that one node has in hand.
pub(super) const IN_HAND_MAX: usize = 16;

impl Receiver {
    pub(crate) fn new(engine: Engine, broker: FaultyBroker) -> Self {
        Self { engine, broker, closing: Arc::default() }
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn broker(&self) -> &FaultyBroker {
        &self.broker
    }

    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closing.load(Ordering::Relaxed) || self.engine.stopped().is_some()
    }

    pub(super) fn clock(&self) -> &Arc<dyn Clock> {
        self.broker.clock()
    }

    pub(super) async fn sleep(&self, wait: Duration) {
        self.clock().sleep_until(self.clock().now() + wait).await;
    }
}

/// `first`, doubled with every delivery after the first, at most `longest`.
pub(super) fn delay((first, longest): (Duration, Duration), delivery: u64) -> Duration {
    let doublings = u32::try_from(delivery.saturating_sub(1)).unwrap_or(16).min(16);
    first.saturating_mul(1 << doublings).min(longest)
}
