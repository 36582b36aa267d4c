//! What events are made of.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::id::{ActionId, Incarnation, OperationId, SagaId};
use crate::json::Json;
use crate::time::Timestamp;
use crate::trace::TraceContext;

/// How a saga began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SagaStarted {
    /// The saga.
    pub saga: SagaId,
    /// Its workflow.
    pub workflow: Arc<str>,
    /// The version it stays on.
    pub version: u32,
    /// Its business key, unique within the workflow.
    pub key: Arc<str>,
    /// The input, as it came.
    pub input: Json,
    /// The source event's own time.
    pub occurred_at: Timestamp,
    /// When a saga before its pivot turns back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// Who started it, and owns it.
    pub owner: Incarnation,
    /// The message that triggered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// The trace that the start belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
    /// On whose behalf it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<Arc<str>>,
}

/// The message that triggered a saga.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    /// Where it came from, for instance a stream.
    pub source: String,
    /// Its position there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// Its own id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
    /// Its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_type: Option<String>,
    /// The version of its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_version: Option<u32>,
}

/// A result or refusal: the value, or a marker in its place. "Cannot be stored" never becomes "failed".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recorded {
    /// The value as JSON text.
    Value(Json),
    /// The value could not be recorded.
    Omitted(Omitted),
}

impl Recorded {
    /// The value, unless it was omitted.
    pub fn value(&self) -> Option<&Json> {
        match self {
            Self::Value(value) => Some(value),
            Self::Omitted(_) => None,
        }
    }
}

/// Why a value is missing, and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Omitted {
    /// Too large, held NUL, could not be encoded, not supplied.
    pub reason: String,
    /// SHA-256 of its text in hex, where there was a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Its size in bytes.
    pub size: u64,
}

/// Why an attempt may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartCause {
    /// Its action became ready, or was resumed.
    Ready,
    /// A scheduled retry is due.
    Retry,
    /// A declared repeat of an unknown one.
    Repeat,
    /// A person ordered it: retry now, or send again.
    Ordered,
}

/// Why a saga turned back, or should.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnReason {
    /// A participant refused.
    Refused {
        /// Which step.
        step: Arc<str>,
    },
    /// A step took effect in part.
    Partial {
        /// Which step.
        step: Arc<str>,
    },
    /// A step spent its budget, and its policy is to turn back.
    Exhausted {
        /// Which step.
        step: Arc<str>,
    },
    /// It was cancelled.
    Cancelled {
        /// By whom.
        by: String,
        /// Why.
        reason: String,
    },
    /// The saga's deadline passed before its pivot.
    Deadline,
    /// An operator turned it back, or rejected a step.
    Operator {
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
    /// A recorded outcome was contradicted.
    Contradiction {
        /// Which step.
        step: Arc<str>,
    },
}

/// What is known of a failed attempt or query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The class it was given.
    pub kind: FailureKind,
    /// The participant's structured code, or the engine's: `timeout`, `panic`, `executor-died`.
    pub code: String,
    /// For people; never matched on. At most 4 096 bytes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The rule that decided the class.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
    /// The version of the classifier that holds the rule.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub classifier: String,
    /// The participant's lower bound for the next attempt, as it was understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<Duration>,
}

/// The classes of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Known not to have taken effect; may work later.
    Transient,
    /// Known not to have taken effect; will not heal by itself.
    Persistent,
    /// May or may not have taken effect.
    Unknown,
    /// The participant answered in a way whose rule was not built yet: only in journals of an earlier version.
    NotYet,
}

/// What was decided after an answer, a finding, a failure or a point in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// Another attempt, not before.
    Retry {
        /// The earliest time.
        at: Timestamp,
    },
    /// Without effect, and a person decides.
    Quarantine {
        /// Why no retry.
        because: Because,
    },
    /// Without effect, and the saga turns back; the action is skipped.
    TurnBack {
        /// Why no retry.
        because: Because,
    },
    /// Without effect, in a saga that has turned or wishes to: nothing more of it.
    Skip {
        /// Why no retry.
        because: Because,
    },
    /// Finally refused; the saga turns back.
    Reject,
    /// It took effect.
    Done,
    /// The outcome is open: a query, not before.
    Query {
        /// The earliest time.
        at: Timestamp,
    },
    /// The outcome is open: a repeat, not before.
    Repeat {
        /// The earliest time.
        at: Timestamp,
    },
    /// The outcome is open: the reconciliation desk.
    Desk {
        /// Why nothing more can be done without a person.
        because: Because,
    },
    /// This answer moves nothing: another transmission is still unknown, and its plan stands.
    Stay,
}

/// The reason of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// It will not heal by itself.
    Persistent,
    /// The saga has turned back, or a turn is wished for.
    Turned,
    /// The nearest deadline has passed.
    DeadlinePassed,
    /// The next attempt would start after the nearest deadline.
    DeadlineWouldPass,
    /// All attempts of the budget were made.
    AttemptsSpent,
    /// All queries of the budget were made.
    QueriesSpent,
    /// Nothing but a person can find out.
    NoQuery,
    /// The participant may have forgotten the request id by then.
    RetentionPassed,
    /// The input could not be built, or is too large; nothing was sent.
    Input,
    /// The rule for this answer was not built yet: only in journals of an earlier version.
    NotYet,
    /// It took effect in part, and nothing undoes it by itself.
    Partial,
    /// Somebody else closed the transmission out.
    Fenced,
    /// The participant holds the request id with other parameters.
    Mismatch,
    /// What the compensation expected to find has moved.
    Stale,
    /// Another person has to approve it.
    Approval,
    /// Another person denied it.
    Denied,
    /// A person found that it had no effect.
    FoundByPerson,
    /// It needs the result of a step that was waived.
    Waived,
    /// News contradicts what is recorded.
    Contradiction,
}

impl Because {
    /// The code used on desks and in views.
    pub fn code(self) -> &'static str {
        match self {
            Self::Persistent => "persistent",
            Self::Turned => "turned",
            Self::DeadlinePassed => "deadline-passed",
            Self::DeadlineWouldPass => "deadline-would-pass",
            Self::AttemptsSpent => "attempts-spent",
            Self::QueriesSpent => "queries-spent",
            Self::NoQuery => "no-query",
            Self::RetentionPassed => "retention-passed",
            Self::Input => "input",
            Self::NotYet => "not-yet",
            Self::Partial => "partial",
            Self::Fenced => "fenced",
            Self::Mismatch => "mismatch",
            Self::Stale => "stale",
            Self::Approval => "approval",
            Self::Denied => "denied",
            Self::FoundByPerson => "found-by-person",
            Self::Waived => "waived",
            Self::Contradiction => "contradiction",
        }
    }
}

/// What a query found. For a compensation `Applied` holds `Undone` or `NothingToUndo`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// It took effect; here is the result.
    Applied(Recorded),
    /// It took effect in part.
    Partial(Option<Recorded>),
    /// It was finally refused.
    Refused(Recorded),
    /// No transmission up to this attempt can take effect any more.
    Fenced {
        /// The last attempt that is closed out.
        through: u32,
    },
    /// The participant knows nothing of it.
    Absent,
    /// It is being worked on.
    InProgress,
    /// Something that is neither: the report is for a person.
    Unclear {
        /// What was found. At most 4 096 bytes.
        report: String,
    },
}

/// What a person may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// Turn the saga back.
    Cancel,
    /// Let a quarantined action go on.
    Resume,
    /// Settle an action as applied.
    Accept,
    /// Let the next attempt, or query, begin now.
    RetryNow,
    /// Transmit an action whose outcome is unknown once more.
    SendAgain,
    /// Settle an action with a finding.
    Found,
    /// Reject a quarantined forward action: the saga turns back.
    Reject,
    /// Supply a result that could not be recorded.
    Supply,
    /// Turn the saga back, as its operator.
    TurnBack,
    /// Compensate while the forward outcome is unknown.
    CompensateInDoubt,
    /// Request a compensation.
    Compensate,
    /// Approve what waits for another person.
    Approve,
    /// Deny it.
    Deny,
    /// Put the next query off.
    Keep,
    /// Say who works on a desk item.
    Assign,
    /// Say what was decided about a desk item.
    SetDisposition,
    /// Do without a step after the pivot.
    Waive,
    /// End what cannot be finished.
    Close,
    /// Let no new attempt start.
    Pause,
    /// Let attempts start again.
    Unpause,
}

/// What a person was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It was done.
    Accepted,
    /// The point of no return has passed.
    TooLate,
    /// It cannot be decided yet: the same operation id later gives the final answer.
    Pending,
    /// It had been done before.
    Already,
    /// It cannot be done; the state is the reason.
    Refused {
        /// Why.
        reason: String,
    },
}

/// News of an action that is settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct News {
    /// Of which action.
    pub action: ActionId,
    /// Of which transmission.
    pub attempt: Option<u32>,
    /// What it says.
    pub finding: Finding,
    /// Why it changes nothing, or what it contradicts.
    pub why: String,
}

/// A request to close a saga.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloseRequested {
    /// The one-time operation id.
    pub operation: OperationId,
    /// Who asks.
    pub by: String,
    /// Why.
    pub reason: String,
    /// What will be done about the effects that remain.
    pub follow_up: String,
    /// The effects that are possible or partial and that the requester knows of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<ActionId>,
}

/// A person's request for a compensation: a new business action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompensationRequest {
    /// `step/manual:<id>`.
    pub action: ActionId,
    /// From the controlled vocabulary.
    pub reason_code: String,
    /// Who asks.
    pub requested_by: String,
    /// Who, or which policy, approved.
    pub approved_by: Option<String>,
    /// The state and version that the request expects.
    pub expected: Option<Json>,
    /// What it would do.
    pub proposed: Option<Json>,
    /// What it touches.
    pub affected: Option<Json>,
    /// What the dry run showed.
    pub dry_run: Option<Json>,
    /// The one-time operation id of the request: it gets the final answer once it is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
    /// Why they ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
