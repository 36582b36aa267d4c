//! What an attempt, a compensation or a query can answer. There is no blanket conversion from errors: each
//! `?` says what it means.

use std::fmt::Display;
use std::time::Duration;

use amends_core::Json;
use amends_core::event::{Failure, FailureKind, Omitted};

use super::payload::Payload;

/// Wait hints beyond this are nonsense and count as this.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(24 * 3_600);
/// Messages are cut here: they are for people.
const MESSAGE_BYTES_MAX: usize = 4_096;

/// What is known of a failure: a structured code that rules look at, and words for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) rule: String,
    pub(crate) classifier: String,
    pub(crate) wait: Option<Duration>,
}

impl Problem {
    /// A structured code, for instance `rate-limited`, and words for people (cut at 4 096 bytes).
    pub fn new(code: impl Into<String>, message: impl Display) -> Self {
        Self {
            code: bounded(code.into()),
            message: bounded(message.to_string()),
            rule: "step".into(),
            classifier: String::new(),
            wait: None,
        }
    }

    /// The participant asked not to be called again before `wait` has passed: a lower bound for the next
    /// attempt. It never skips the attempt limit or a deadline. More than 24 hours count as 24 hours.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait.min(WAIT_MAX));
        self
    }

    /// [`Self::wait`] from a number of seconds as participants write it. A negative or non-numeric hint is
    /// ignored; more than 24 hours, infinity included, count as 24 hours.
    #[must_use]
    pub fn wait_seconds(self, seconds: f64) -> Self {
        if seconds.is_nan() || seconds < 0.0 {
            return self;
        }
        let wait = Duration::try_from_secs_f64(seconds).unwrap_or(WAIT_MAX);
        self.wait(wait)
    }

    pub(crate) fn failure(self, kind: FailureKind) -> Failure {
        let Self { code, message, rule, classifier, wait } = self;
        Failure { kind, code, message, rule, classifier, hint: wait }
    }
}

/// A failure in the words of somebody else, as it can be recorded.
pub(crate) fn failure_bounded(failure: Failure) -> Failure {
    let Failure { kind, code, message, rule, classifier, hint } = failure;
    let (code, message) = (bounded(code), bounded(message));
    let (rule, classifier, hint) = (bounded(rule), bounded(classifier), hint.map(|hint| hint.min(WAIT_MAX)));
    Failure { kind, code, message, rule, classifier, hint }
}

/// At most [`MESSAGE_BYTES_MAX`] bytes, without NUL (which PostgreSQL refuses and SQLite cuts at).
pub(crate) fn bounded(text: String) -> String {
    let mut text = if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text };
    if text.len() > MESSAGE_BYTES_MAX {
        let cut = (0..=MESSAGE_BYTES_MAX).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(cut);
    }
    text
}

/// What a forward attempt answers when it does not succeed. Exhaustive: authors may rely on it.
///
/// The ordinary way to one is `?`: first say which errors are a final no, then let a
/// [`Classifier`](super::Classifier) judge the rest by their codes. A code that no rule knows is unknown.
///
/// ```
/// use amends::prelude::*;
///
/// /// What the gateway's client gives.
/// struct GatewayError { code: String }
/// # impl std::fmt::Display for GatewayError {
/// #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(&self.code) }
/// # }
///
/// impl Coded for GatewayError {
///     fn code(&self) -> &str { &self.code }
/// }
///
/// fn rules() -> Classifier {
///     Classifier::new("gateway/1").rule("rate_limited", Class::Transient).rule("bad_key", Class::Persistent)
/// }
///
/// fn charged(answer: Result<u64, GatewayError>) -> Result<u64, StepError<String>> {
///     let declined = |error: &GatewayError| (error.code == "declined").then(|| error.code.clone());
///     Ok(answer.refuse_if(declined)?.classify(&rules(), "charge")?)
/// }
///
/// let answer = |code: &str| charged(Err(GatewayError { code: code.to_owned() }));
/// assert!(matches!(answer("declined"), Err(StepError::Refused(_))));
/// assert!(matches!(answer("rate_limited"), Err(StepError::Transient(_))));
/// assert!(matches!(answer("socket closed"), Err(StepError::Unknown(_))));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepError<R> {
    /// The participant has taken it and will answer later: it is asked about, never sent again before the step
    /// deadline.
    Accepted {
        /// Not to be asked about before so long; more than 24 hours count as 24 hours.
        wait: Option<Duration>,
    },
    /// Known **not** to have taken effect; may work later. Retried within the budget.
    Transient(Problem),
    /// Known not to have taken effect; will not heal by itself (credential, route, schema, code). Quarantined.
    Persistent(Problem),
    /// The participant said no, finally; nothing took effect. Before the pivot the saga turns back.
    Refused(R),
    /// May or may not have taken effect. Settled by query, by repeating or by an operator; never re-executed
    /// blindly.
    Unknown(Problem),
    /// Took effect in part; the output, as far as there is one.
    Partial(Option<Json>),
    /// This transmission is closed out and had no effect.
    Fenced {
        /// No transmission up to this attempt can take effect any more.
        through: u32,
    },
    /// The participant holds this request id with other parameters.
    Mismatch(Problem),
}

impl<R> StepError<R> {
    /// The participant has taken it and will answer later; perhaps it said how long that takes:
    /// `StepError::accepted(minutes(2))`, or `StepError::accepted(None)`.
    pub fn accepted(wait: impl Into<Option<Duration>>) -> Self {
        Self::Accepted { wait: wait.into() }
    }

    /// Known not to have taken effect; may work later.
    pub fn transient(code: impl Into<String>, message: impl Display) -> Self {
        Self::Transient(Problem::new(code, message))
    }

    /// Known not to have taken effect; will not heal by itself.
    pub fn persistent(code: impl Into<String>, message: impl Display) -> Self {
        Self::Persistent(Problem::new(code, message))
    }

    /// May or may not have taken effect.
    pub fn unknown(code: impl Into<String>, message: impl Display) -> Self {
        Self::Unknown(Problem::new(code, message))
    }
}

/// What a compensation answers when it does not succeed.
///
/// A compensation should be built so that it cannot fail for business reasons: when it does, the effect it
/// was to undo stands, everything the saga did before it stays too, and a person finds the action in
/// *quarantine* (persistent, or out of attempts) or on the *reconciliation* desk (unknown).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompensationError {
    /// The participant has taken it and will answer later: it is asked about, never sent again before the deadline
    /// of its policy.
    Accepted {
        /// Not to be asked about before so long; more than 24 hours count as 24 hours.
        wait: Option<Duration>,
    },
    /// Known not to have taken effect; may work later.
    Transient(Problem),
    /// Known not to have taken effect; will not heal by itself.
    Persistent(Problem),
    /// May or may not have taken effect.
    Unknown(Problem),
    /// The participant holds this request id with other parameters.
    Mismatch(Problem),
    /// The state that the compensation expected has moved; what was found instead. Nothing took effect; a person
    /// finds it on the approval desk, with both.
    Stale {
        /// What was found.
        found: Json,
    },
}

impl CompensationError {
    /// The participant has taken it and will answer later; perhaps it said how long that takes.
    pub fn accepted(wait: impl Into<Option<Duration>>) -> Self {
        Self::Accepted { wait: wait.into() }
    }

    /// The state that the compensation expected has moved; what was found instead, in the shape of
    /// [`Compensate::expected`](super::Compensate::expected): a person who approves it all the same makes it what
    /// the next attempt expects.
    pub fn stale<T: Payload>(found: &T) -> Self {
        match Json::encode(found) {
            Ok(found) => Self::Stale { found },
            Err(error) => Self::persistent("unwritable-state", error),
        }
    }

    /// Known not to have taken effect; may work later.
    pub fn transient(code: impl Into<String>, message: impl Display) -> Self {
        Self::Transient(Problem::new(code, message))
    }

    /// Known not to have taken effect; will not heal by itself.
    pub fn persistent(code: impl Into<String>, message: impl Display) -> Self {
        Self::Persistent(Problem::new(code, message))
    }

    /// May or may not have taken effect.
    pub fn unknown(code: impl Into<String>, message: impl Display) -> Self {
        Self::Unknown(Problem::new(code, message))
    }
}

/// The query itself failed: nothing is known that was not known before. No attempt counter moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError(pub Problem);

impl QueryError {
    /// With a code and words for people.
    pub fn new(code: impl Into<String>, message: impl Display) -> Self {
        Self(Problem::new(code, message))
    }
}

/// What a query found out about a forward action. Exhaustive: authors may rely on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding<T, R> {
    /// It took effect; here is the result.
    Applied(T),
    /// It took effect in part; the result, as far as there is one.
    Partial(Option<T>),
    /// It was finally refused.
    Refused(R),
    /// No transmission up to this attempt can take effect any more.
    Fenced {
        /// The last attempt that is closed out.
        through: u32,
    },
    /// The participant knows nothing of it. Means "without effect" only after the contract's settle window.
    Absent,
    /// It is being worked on.
    InProgress,
    /// Something that is none of these; the report is for a person.
    Unclear(String),
}

/// What a query found out about a compensation. Exhaustive: authors may rely on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoFinding {
    /// The effect was undone.
    Undone,
    /// There was nothing to undo.
    NothingToUndo,
    /// No transmission of the compensation up to this attempt can take effect any more.
    Fenced {
        /// The last attempt that is closed out.
        through: u32,
    },
    /// The participant knows nothing of it.
    Absent,
    /// It is being worked on.
    InProgress,
    /// Something that is none of these; the report is for a person.
    Unclear(String),
}

/// What a compensation did. "Nothing to undo" is success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Undo {
    /// The effect was undone.
    Undone,
    /// There was nothing to undo.
    NothingToUndo,
}

/// What a compensation is told of its forward action. Exhaustive: the author cannot forget a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forward<T> {
    /// It succeeded with this result.
    Completed(T),
    /// It succeeded, but its result could not be recorded: the reason, and digest and size where there was a text.
    Unrecorded(Omitted),
    /// It took effect in part; the result, as far as there is one.
    Partial(Option<T>),
    /// Nobody knows whether it took effect: undo it if it did, and refuse it if it comes late.
    InDoubt,
}
