//! What goes with every call, and what comes back when no result does.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use amends::core::{Json, RequestId, SagaId};
use amends::prelude::{Coded, Never, StepContext, Undo};

/// Who asks, and which transmission this is. An adapter for a real service sends it along, for instance as
/// headers.
#[derive(Clone, Debug)]
pub struct Call {
    /// The stable id of the request: the same for every attempt, after every crash.
    pub request_id: RequestId,
    /// In a compensation the request it undoes; elsewhere the same as `request_id`.
    pub forward_request_id: RequestId,
    /// Which attempt this is, from 1; in a query, how many were made.
    pub attempt: u32,
    /// In a query: close out every attempt up to this one before answering.
    pub fence_through: Option<u32>,
    /// The saga, for traces and logs.
    pub saga: SagaId,
    /// What the saga is about, for the participant's own records.
    pub business_key: Arc<str>,
    /// How long the caller still listens.
    pub time_left: Duration,
}

impl Call {
    /// The call that an attempt, a compensation or a query makes.
    #[must_use]
    pub fn of(cx: &StepContext) -> Self {
        Self {
            request_id: cx.request_id(),
            forward_request_id: cx.forward_request_id(),
            attempt: cx.attempt(),
            fence_through: cx.fence_through(),
            saga: cx.saga_id(),
            business_key: cx.business_key().into(),
            time_left: cx.remaining(),
        }
    }
}

/// What a participant answers to a call that is to take effect, or to a read.
pub type Answer<T, R = Never> = Result<T, CallError<R>>;

/// Why a call has no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallError<R = Never> {
    /// The participant said no, finally, and nothing took effect.
    Refused(R),
    /// The participant has taken it, and will answer later.
    Accepted {
        /// Its wish not to be asked before.
        wait: Option<Duration>,
    },
    /// It took effect in part; what there is of a result.
    Partial(Option<Json>),
    /// Something failed; its code says what, and the rules what that means.
    Failed(Fault),
}

impl<R> From<Fault> for CallError<R> {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault)
    }
}

/// What a participant answers to a compensation.
pub type UndoAnswer = Result<Undo, UndoError>;

/// Why a compensation has no result: it can neither be refused nor done in part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UndoError {
    /// The participant has taken it, and will answer later.
    Accepted {
        /// Its wish not to be asked before.
        wait: Option<Duration>,
    },
    /// What was to be undone has moved since, and somebody has to look before anything is overwritten.
    Stale {
        /// How it stands now.
        found: Json,
    },
    /// As [`CallError::Failed`].
    Failed(Fault),
}

impl From<Fault> for UndoError {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault)
    }
}

/// A failure in the participant's own words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The structured code. Rules look at nothing else.
    pub code: Cow<'static, str>,
    /// For people.
    pub message: String,
    /// The participant's wish not to be asked again before.
    pub retry_after: Option<Duration>,
}

impl Fault {
    /// A failure with this code.
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), retry_after: None }
    }

    /// No answer came: the call may have been lost, or its answer.
    #[must_use]
    pub fn lost(message: impl Into<String>) -> Self {
        Self::new(code::REPLY_LOST, message)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Coded for Fault {
    fn code(&self) -> &str {
        &self.code
    }

    fn wait(&self) -> Option<Duration> {
        self.retry_after
    }
}

/// The codes that the participants' descriptions list.
pub mod code {
    /// Busy, restarting, shedding load: nothing was done.
    pub const UNAVAILABLE: &str = "unavailable";
    /// Too many calls: nothing was done, and `retry_after` says when to come again.
    pub const RATE_LIMITED: &str = "rate_limited";
    /// What is asked for depends on something that has not happened yet: nothing was done.
    pub const TOO_EARLY: &str = "too_early";
    /// The caller's credential was not accepted: nothing was done.
    pub const BAD_CREDENTIAL: &str = "bad_credential";
    /// The caller asks for something that cannot be: nothing was done.
    pub const BAD_REQUEST: &str = "bad_request";
    /// This transmission was closed out by a fence or by its compensation: it has no effect.
    pub const FENCED: &str = "fenced";
    /// The request id is held with other parameters.
    pub const MISMATCH: &str = "mismatch";
    /// The adapter's own word for a call that brought no answer.
    pub const REPLY_LOST: &str = "reply_lost";
}
