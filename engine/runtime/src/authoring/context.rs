//! What an attempt knows about itself.

use std::sync::Arc;
use std::time::Duration;

use amends_core::{Json, RequestId, SagaId, Timestamp, TraceContext};
use tokio_util::sync::CancellationToken;

use super::error::CompensationError;
use super::payload::Payload;
use super::precondition::Precondition;
use crate::ports::Clock;

/// What an attempt, a compensation or a query knows about itself. Cheap to clone.
#[derive(Clone)]
pub struct StepContext(Arc<Inner>);

struct Inner {
    saga: SagaId,
    key: Arc<str>,
    request_id: RequestId,
    forward_request_id: RequestId,
    attempt: u32,
    fence_through: Option<u32>,
    expected: Option<Precondition>,
    trace: Option<TraceContext>,
    deadline: Timestamp,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
}

/// What a [`StepContext`] is made from; only the worker and test kits make one.
#[derive(Clone)]
pub struct ContextParts {
    /// The saga.
    pub saga: SagaId,
    /// Its business key.
    pub key: Arc<str>,
    /// Of the action itself.
    pub request_id: RequestId,
    /// Of its forward action: the same, except in compensations.
    pub forward_request_id: RequestId,
    /// The attempt, or for a query the number of attempts made.
    pub attempt: u32,
    /// For a query: fence attempts up to this one.
    pub fence_through: Option<u32>,
    /// For a compensation: what it expects to find.
    pub expected: Option<Precondition>,
    /// The trace that the saga belongs to.
    pub trace: Option<TraceContext>,
    /// When the attempt times out.
    pub deadline: Timestamp,
    /// The engine's clock.
    pub clock: Arc<dyn Clock>,
    /// Cancelled when the engine would rather have it stop.
    pub stop: CancellationToken,
}

impl StepContext {
    /// Puts a context together.
    pub fn new(parts: ContextParts) -> Self {
        let ContextParts {
            saga,
            key,
            request_id,
            forward_request_id,
            attempt,
            fence_through,
            expected,
            trace,
            deadline,
            clock,
            stop,
        } = parts;
        let inner = Inner {
            saga,
            key,
            request_id,
            forward_request_id,
            attempt,
            fence_through,
            expected,
            trace,
            deadline,
            clock,
            stop,
        };
        Self(Arc::new(inner))
    }

    /// The stable id of this action. Send it with every call: it is what makes a repeat safe.
    pub fn request_id(&self) -> RequestId {
        self.0.request_id
    }

    /// In a compensation the request id of the forward action, so that the participant can refuse a late
    /// forward request; elsewhere the same as [`Self::request_id`].
    pub fn forward_request_id(&self) -> RequestId {
        self.0.forward_request_id
    }

    /// The saga.
    pub fn saga_id(&self) -> SagaId {
        self.0.saga
    }

    /// The saga's business key.
    pub fn business_key(&self) -> &str {
        &self.0.key
    }

    /// The number of this attempt, from 1. In a query: how many attempts were made.
    pub fn attempt(&self) -> u32 {
        self.0.attempt
    }

    /// In a query: the engine asks the participant to close out every attempt up to this one, so that none of
    /// them can take effect any more. Answer `Finding::Fenced { through }` once that is so.
    pub fn fence_through(&self) -> Option<u32> {
        self.0.fence_through
    }

    /// In a compensation and its queries: the state and version that it expects to find. What
    /// [`Compensate::expected`](super::Compensate::expected) said before the first attempt, or what a person's
    /// request or approval says instead; none if nobody said anything.
    pub fn expected(&self) -> Option<&Precondition> {
        self.0.expected.as_ref()
    }

    /// Compares the state that the participant is in with what is expected. Call it where the effect is undone, in
    /// the same transaction. Nothing expected: anything will do.
    ///
    /// # Errors
    /// [`CompensationError::Stale`] when it moved, key order and white space of its JSON aside.
    pub fn check_expected<T: Payload>(&self, found: &T) -> Result<(), CompensationError> {
        let Some(expected) = self.expected() else { return Ok(()) };
        let met = Json::encode(found).is_ok_and(|found| expected.is_met_by(&found));
        if met { Ok(()) } else { Err(CompensationError::stale(found)) }
    }

    /// The trace that the saga belongs to, as its start gave it: the same in every attempt, query and compensation,
    /// after a crash too. Send it on as `traceparent` and `tracestate`.
    pub fn trace(&self) -> Option<&TraceContext> {
        self.0.trace.as_ref()
    }

    /// How long this attempt has left before it times out: what adapters forward to participants.
    pub fn remaining(&self) -> Duration {
        self.0.deadline.since(self.0.clock.now())
    }

    /// The engine's clock: a step that waits, waits through it.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.clock
    }

    /// Cancelled when the saga has turned back while the attempt runs. Stopping is optional; the answer still
    /// counts, and an attempt that may have had an effect must answer `Unknown`.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.0.stop
    }
}
