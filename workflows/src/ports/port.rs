//! How a participant is reached: by calls, or by messages.

use std::sync::Arc;

use amends::core::Json;
use amends::core::event::Finding as Found;
use amends::prelude::{
    CompensationError, Contract, Finding, Forward, Payload, Problem, QueryError, StepContext, StepError,
    UndoFinding,
};
use amends::{ForwardOutcome, Outgoing, Transmission};
use async_trait::async_trait;
use serde::Serialize;

/// One participant, called or written to. Which of the two is no part of a workflow: both have the same steps, and a saga
/// that was begun with one goes on with the other.
pub enum Port<P: ?Sized> {
    /// It is called, and its answer is waited for.
    Calls(Arc<P>),
    /// It is written to: an attempt is a message that leaves with the commit that records it, and nothing waits for the
    /// reply but the saga.
    Messages(Arc<dyn Messages>),
}

/// The messages to one participant. An adapter for a broker implements it.
#[async_trait]
pub trait Messages: Send + Sync + 'static {
    /// What the participant promises, on this way to it.
    fn contract(&self) -> Contract;

    /// The message that an attempt is: of the operation itself or, with what is known of that, of its compensation.
    ///
    /// # Errors
    /// When there can be no message.
    fn command(
        &self,
        of: &Transmission,
        operation: &str,
        ask: &Json,
        forward: Option<&ForwardOutcome>,
    ) -> Result<Outgoing, Problem>;

    /// Asks what became of the request of `cx`, which was the operation or its compensation.
    ///
    /// # Errors
    /// When there is no answer.
    async fn query(&self, cx: &StepContext, operation: &str, ask: &Json) -> Result<Found, QueryError>;
}

impl<P: ?Sized> Port<P> {
    /// What the participant promises: `contract` asks it, where it is called.
    pub fn contract(&self, contract: impl FnOnce(&P) -> Contract) -> Contract {
        match self {
            Self::Calls(participant) => contract(participant),
            Self::Messages(messages) => messages.contract(),
        }
    }

    /// Whom to call. Steps whose participant is written to are never run, so it is there.
    ///
    /// # Errors
    /// When it is written to.
    pub fn called(&self) -> Result<&P, NotCalled> {
        match self {
            Self::Calls(participant) => Ok(participant),
            Self::Messages(_) => Err(NotCalled),
        }
    }

    /// The message that an attempt is, where the participant is written to: [`amends::Step::command`].
    ///
    /// # Errors
    /// When there can be no message.
    pub fn command(
        &self,
        of: &Transmission,
        operation: &str,
        ask: &impl Serialize,
    ) -> Result<Option<Outgoing>, Problem> {
        let Self::Messages(messages) = self else { return Ok(None) };
        messages.command(of, operation, &written(ask)?, None).map(Some)
    }

    /// The message that an attempt of the compensation is, likewise: [`amends::Compensate::undo_command`].
    ///
    /// # Errors
    /// When there can be no message.
    pub fn undo_command<T: Payload>(
        &self,
        of: &Transmission,
        operation: &str,
        ask: &impl Serialize,
        forward: &Forward<T>,
    ) -> Result<Option<Outgoing>, Problem> {
        let Self::Messages(messages) = self else { return Ok(None) };
        messages.command(of, operation, &written(ask)?, Some(&forward.outcome()?)).map(Some)
    }
}

/// Asks by message what became of an operation.
///
/// # Errors
/// When there is no answer.
pub async fn find<T: Payload, R: Payload>(
    messages: &dyn Messages,
    cx: &StepContext,
    operation: &str,
    ask: &impl Serialize,
) -> Result<Finding<T, R>, QueryError> {
    let ask = written(ask).map_err(QueryError)?;
    messages.query(cx, operation, &ask).await.map(Finding::read)
}

/// Asks by message what became of a compensation.
///
/// # Errors
/// When there is no answer.
pub async fn find_undo(
    messages: &dyn Messages,
    cx: &StepContext,
    operation: &str,
    ask: &impl Serialize,
) -> Result<UndoFinding, QueryError> {
    let ask = written(ask).map_err(QueryError)?;
    messages.query(cx, operation, &ask).await.map(UndoFinding::read)
}

fn written(ask: &impl Serialize) -> Result<Json, Problem> {
    Json::encode(ask).map_err(|error| Problem::new("ask", error))
}

impl<P: ?Sized> Clone for Port<P> {
    fn clone(&self) -> Self {
        match self {
            Self::Calls(participant) => Self::Calls(participant.clone()),
            Self::Messages(messages) => Self::Messages(messages.clone()),
        }
    }
}

/// A participant that is written to was to be called.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("failed to call a participant that takes messages")]
pub struct NotCalled;

impl<R> From<NotCalled> for StepError<R> {
    fn from(error: NotCalled) -> Self {
        Self::persistent("not-called", error)
    }
}

impl From<NotCalled> for CompensationError {
    fn from(error: NotCalled) -> Self {
        Self::persistent("not-called", error)
    }
}
