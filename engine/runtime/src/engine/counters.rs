//! What a node has done, counted: attempts, queries and calls.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::Engine;

/// What this engine has done since it was started, on this node alone.
///
/// An *attempt* is one execution of a step or a compensation, as its journal counts it; a *call* is one request that left
/// for a participant. They differ: a query is a call and no attempt; a command whose acknowledgement was lost is published
/// again, which is two calls of one attempt; an attempt that was journalled and taken back before it was sent is no call.
/// How often a message was handed over by a broker is a third number, a *delivery*, and the adapter's to tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineCounters {
    /// Attempts whose start became durable here, of steps and of compensations.
    pub attempts: u64,
    /// Queries whose start became durable here.
    pub queries: u64,
    /// Requests that left: attempts and queries that were sent, and every publishing of a command.
    pub calls: u64,
}

/// The counters while they count.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    attempts: AtomicU64,
    queries: AtomicU64,
    calls: AtomicU64,
}

impl Counted {
    pub(crate) fn attempt(&self) {
        self.attempts.fetch_add(1, Relaxed);
    }

    pub(crate) fn query(&self) {
        self.queries.fetch_add(1, Relaxed);
    }

    pub(crate) fn call(&self) {
        self.calls.fetch_add(1, Relaxed);
    }
}

impl Engine {
    /// What this node has done since it was started.
    pub fn counters(&self) -> EngineCounters {
        let Counted { attempts, queries, calls } = &*self.0.counted;
        EngineCounters {
            attempts: attempts.load(Relaxed),
            queries: queries.load(Relaxed),
            calls: calls.load(Relaxed),
        }
    }
}
