//! What can be asked of the machine.

use std::sync::Arc;

use crate::event::{Failure, Finding, Recorded, Trigger};
use crate::id::{ActionId, Incarnation, OperationId, SagaId};
use crate::json::Json;
use crate::time::Timestamp;

/// A new saga.
#[derive(Clone, Debug)]
pub struct Start {
    /// Its id, made by the starter.
    pub saga: SagaId,
    /// Its business key.
    pub key: Arc<str>,
    /// Its input, as it came.
    pub input: Json,
    /// The source event's own time; by default the start.
    pub occurred_at: Option<Timestamp>,
    /// Who starts it, and owns it.
    pub owner: Incarnation,
    /// The message that triggered it.
    pub trigger: Option<Trigger>,
}

/// What can be asked of a saga.
#[derive(Clone, Debug)]
pub enum Command {
    /// A node takes the saga over.
    Claim {
        /// The new owner.
        incarnation: Incarnation,
    },
    /// Journal the next attempt of an action as started (the agenda's [`crate::agenda::Task::Start`]).
    Begin {
        /// Of which action.
        action: ActionId,
        /// The shaped input, if a function shapes it and it is the first start.
        input: Option<Json>,
    },
    /// The input of an action cannot be built, or is too large: nothing was sent.
    InputFailed {
        /// Of which action.
        action: ActionId,
        /// Why.
        failure: Failure,
    },
    /// The condition of a branch was evaluated (the agenda's [`crate::agenda::Task::Decide`]).
    DecideBranch {
        /// Its name.
        branch: Arc<str>,
        /// Does the condition hold?
        taken: bool,
    },
    /// The condition of a branch cannot be evaluated: a value is missing, or the author's function panicked.
    ConditionFailed {
        /// Its name.
        branch: Arc<str>,
        /// Why.
        failure: Failure,
    },
    /// A started attempt was certainly never sent.
    Withdraw {
        /// Of which action.
        action: ActionId,
        /// Which one.
        attempt: u32,
    },
    /// An attempt answered.
    Answer {
        /// Of which action.
        action: ActionId,
        /// Which one.
        attempt: u32,
        /// What it answered.
        answer: Attempted,
    },
    /// Journal the next query as started (the agenda's [`crate::agenda::Task::Query`]).
    BeginQuery {
        /// Of which action.
        action: ActionId,
    },
    /// A query found something.
    Found {
        /// Of which action.
        action: ActionId,
        /// Which query.
        query: u32,
        /// What it found.
        finding: Finding,
    },
    /// A query itself failed.
    QueryFailed {
        /// Of which action.
        action: ActionId,
        /// Which query.
        query: u32,
        /// Why.
        failure: Failure,
    },
    /// Decide what time has brought.
    Tick,
    /// A person cancels the saga.
    Cancel(Operation),
    /// A person lets a quarantined action go on.
    Resume {
        /// Of which action.
        action: ActionId,
        /// Who, why, and the one-time id.
        operation: Operation,
    },
    /// A person settles an action as applied. The runtime has checked that `output` decodes.
    Accept {
        /// Of which action.
        action: ActionId,
        /// The result, if one is needed. Of a compensation: `Undone` or `NothingToUndo`.
        output: Option<Json>,
        /// What the person relies on.
        evidence: String,
        /// Who, why, and the one-time id.
        operation: Operation,
    },
}

/// Who asks, why, and under which one-time id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Repeating it returns the stored answer.
    pub id: OperationId,
    /// The person.
    pub actor: String,
    /// Their reason.
    pub reason: String,
}

/// What an attempt can answer, once the runtime has encoded it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempted {
    /// It took effect.
    Succeeded(Recorded),
    /// Finally refused.
    Refused(Recorded),
    /// Known not to have taken effect; may work later. The hint is in the failure.
    Transient(Failure),
    /// Known not to have taken effect; will not heal by itself.
    Persistent(Failure),
    /// May or may not have taken effect.
    Unknown(Failure),
    /// The participant has taken it and will answer later.
    Accepted,
    /// It took effect in part.
    Partial(Option<Recorded>),
    /// This transmission is closed out.
    Fenced {
        /// No transmission up to this attempt can take effect.
        through: u32,
    },
    /// The participant holds this request id with other parameters.
    Mismatch(Failure),
    /// A compensation's expected state has moved.
    Stale {
        /// What was found.
        found: Json,
    },
}
