//! What can do harm when it is decided wrongly. Each says what it risks.

use amends_core::ActionId;
use amends_core::event::Answer;

use super::by::said;
use super::{By, OperateError, OperatedSaga};
use crate::letter::Ask;

/// The longest text that a risk is taken with, in bytes.
const RISK_BYTES_MAX: usize = 4_096;

/// Verbs that take a risk. Got from [`OperatedSaga::risky`].
#[derive(Clone, Copy, Debug)]
pub struct Risky<'a> {
    saga: &'a OperatedSaga,
}

impl<'a> Risky<'a> {
    pub(super) fn new(saga: &'a OperatedSaga) -> Self {
        Self { saga }
    }

    /// Transmits an action of unknown outcome once more although its participant may have forgotten the request id,
    /// or its attempts are spent.
    ///
    /// *Risk*: the effect happens twice.
    ///
    /// # Errors
    /// As every verb.
    pub async fn send_again_despite(
        &self,
        action: ActionId,
        why_it_is_safe: impl Into<String>,
        by: By,
    ) -> Result<Answer, OperateError> {
        let why = why_it_is_safe.into();
        said("why it is safe", &why, RISK_BYTES_MAX)?;
        self.saga.ask(Ask::SendAgain { action, override_reason: Some(why) }, by).await
    }

    /// Starts the compensation of an action whose outcome is unknown, in a saga that has turned back.
    ///
    /// *Risk*: without a barrier at the participant, the late request takes effect after it was undone.
    ///
    /// # Errors
    /// As every verb.
    pub async fn compensate_in_doubt(&self, action: ActionId, by: By) -> Result<Answer, OperateError> {
        self.saga.ask(Ask::CompensateInDoubt { action }, by).await
    }

    /// Asks to end what cannot be finished. Pending until [another person approves](Self::approve_close). Every action
    /// whose effect is possible or partial must be named.
    ///
    /// *Risk*: effects stay in place that nobody looks after, but for the `follow_up` that is said here.
    ///
    /// # Errors
    /// As every verb.
    pub async fn close(
        &self,
        follow_up: impl Into<String>,
        named: Vec<ActionId>,
        by: By,
    ) -> Result<Answer, OperateError> {
        let follow_up = follow_up.into();
        said("the follow-up", &follow_up, RISK_BYTES_MAX)?;
        self.saga.ask(Ask::Close { follow_up, named }, by).await
    }

    /// Approves a request to close, by its operation id, as another person than the requester: the saga ends.
    ///
    /// *Risk*: as [`close`](Self::close).
    ///
    /// # Errors
    /// As every verb.
    pub async fn approve_close(&self, request: impl ToString, by: By) -> Result<Answer, OperateError> {
        self.saga.ask(Ask::Approve { request: request.to_string() }, by).await
    }
}
