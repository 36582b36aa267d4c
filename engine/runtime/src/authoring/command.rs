//! Commands: attempts that leave as messages through the outbox.
//!
//! A step whose participant is reached through a broker gives a message instead of making a call. The message is
//! written in the commit that journals the attempt as started, so it leaves exactly if the attempt counts; the attempt
//! then waits for its reply (`Engine::reply`) or its timeout, and holds no task meanwhile.

use std::sync::Arc;

use amends_core::{ActionId, Json, RequestId, SagaId, Timestamp, TraceContext};

/// One transmission, before it is written down: what its message may speak of.
#[derive(Clone, Debug)]
pub struct Transmission {
    /// The saga.
    pub saga: SagaId,
    /// Its business key.
    pub key: Arc<str>,
    /// Its workflow.
    pub workflow: Arc<str>,
    /// The action: a step, forward or compensating.
    pub action: ActionId,
    /// The stable id of the action.
    pub request_id: RequestId,
    /// In a compensation the request id of the forward action; elsewhere the same as `request_id`.
    pub forward_request_id: RequestId,
    /// The attempt, from 1.
    pub attempt: u32,
    /// When the engine begins to ask what became of it, unless it leaves later than it was written down.
    pub deadline: Timestamp,
    /// In a compensation: the state that it expects to find.
    pub expected: Option<Json>,
    /// The trace that the saga belongs to.
    pub trace: Option<TraceContext>,
}

/// A message to a participant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Where it goes, in words that the publisher of commands understands.
    pub subject: Arc<str>,
    /// Headers, in order. Their texts hold neither line breaks nor NUL.
    pub headers: Vec<(&'static str, String)>,
    /// Its body.
    pub body: String,
}
