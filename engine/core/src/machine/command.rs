//! What can be asked of the machine.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::event::{Failure, Finding, Recorded, Trigger};
use crate::id::{ActionId, Incarnation, OperationId, SagaId};
use crate::json::Json;
use crate::time::Timestamp;
use crate::trace::TraceContext;

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
    /// The trace that the start belongs to.
    pub trace: Option<TraceContext>,
    /// On whose behalf it runs.
    pub tenant: Option<Arc<str>>,
}

/// What can be asked of a saga.
#[derive(Clone, Debug)]
pub enum Command {
    /// A node takes the saga over.
    Claim {
        /// The new owner.
        incarnation: Incarnation,
    },
    /// The same, while the saga's workflow is paused: no deadline is decided before that is over.
    ClaimPaused {
        /// The new owner.
        incarnation: Incarnation,
    },
    /// Journal the next attempt of an action as started (the agenda's [`crate::agenda::Task::Start`]).
    Begin {
        /// Of which action.
        action: ActionId,
        /// The shaped input, if a function shapes it and it is the first start.
        input: Option<Json>,
        /// The state and version that a compensation expects to find. Only its first start sets them, and only
        /// where no person's request did.
        expected: Option<Json>,
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
    /// An attempt answered, whether or not it is still under way.
    Answer {
        /// Of which action.
        action: ActionId,
        /// Which one; none if the answer does not say.
        attempt: Option<u32>,
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
    /// An operator turns the saga back.
    TurnBack(Operation),
    /// No new attempt of any kind starts, until it is unpaused.
    Pause(Operation),
    /// Attempts may start again, and what time brought meanwhile is decided.
    Unpause(Operation),
    /// A person lets a quarantined action go on.
    Resume {
        /// Of which action.
        action: ActionId,
        /// Who, why, and the one-time id.
        operation: Operation,
    },
    /// A person lets the next attempt, or query, begin now.
    RetryNow {
        /// Of which action.
        action: ActionId,
        /// Who, why, and the one-time id.
        operation: Operation,
    },
    /// A person has an action of unknown outcome transmitted once more, under the same request id.
    SendAgain {
        /// Of which action.
        action: ActionId,
        /// Why the key retention, or the budget where none is stated, does not stand in the way.
        override_reason: Option<String>,
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
    /// A person settles an action with a finding.
    FoundByPerson {
        /// Of which action.
        action: ActionId,
        /// What was found.
        finding: PersonFinding,
        /// What the person relies on.
        evidence: String,
        /// Who, why, and the one-time id.
        operation: Operation,
    },
    /// A person rejects a quarantined forward action: the saga turns back.
    Reject {
        /// Which action.
        action: ActionId,
        /// Who, why, and the one-time id.
        operation: Operation,
    },
    /// A person supplies a result that could not be recorded. The runtime has checked that it decodes.
    Supply {
        /// Of which action.
        action: ActionId,
        /// The value.
        output: Json,
        /// What the person relies on.
        evidence: String,
        /// Who, why, and the one-time id.
        operation: Operation,
    },
    /// A person puts the next query off.
    Keep {
        /// Of which action.
        action: ActionId,
        /// Until when.
        until: Timestamp,
        /// Who, why, and the one-time id.
        operation: Operation,
    },
    /// A person does without a step after the pivot.
    Waive {
        /// Which action.
        action: ActionId,
        /// Who, why, and the one-time id.
        operation: Operation,
    },
    /// A person says who works on a desk item.
    Assign {
        /// The item's name: `step/direction`, or empty for the saga's own.
        item: String,
        /// Who works on it.
        assignee: String,
        /// Who, why, and the one-time id.
        operation: Operation,
    },
    /// A person says what was decided about a desk item.
    SetDisposition {
        /// The item's name: `step/direction`, or empty for the saga's own.
        item: String,
        /// What was decided.
        disposition: String,
        /// Who, why, and the one-time id.
        operation: Operation,
    },
    /// A person orders a compensation while the forward outcome is unknown.
    CompensateInDoubt {
        /// Of which forward action.
        action: ActionId,
        /// Who, why, and the one-time id.
        operation: Operation,
    },
    /// A person requests a compensation: a new business action.
    Compensate {
        /// `step/manual:<id>`, with the id that the requester brought.
        action: ActionId,
        /// What is requested.
        order: CompensationOrder,
        /// Who, why, and the one-time id.
        operation: Operation,
    },
    /// A person asks to end what cannot be finished.
    Close {
        /// What will be done about the effects that remain.
        follow_up: String,
        /// Every action whose effect is possible or partial.
        named: Vec<ActionId>,
        /// Who, why, and the one-time id.
        operation: Operation,
    },
    /// Another person approves what waits for it: a compensation by its action, a request to close by its
    /// operation id.
    Approve {
        /// What is approved.
        request: String,
        /// Who, why, and the one-time id.
        operation: Operation,
    },
    /// Another person denies it.
    Deny {
        /// What is denied.
        request: String,
        /// Who, why, and the one-time id.
        operation: Operation,
    },
}

/// What a person can find. For the engine it is what a query finds. Mail keeps it in this spelling, as it does
/// [`CompensationOrder`] and [`Approval`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PersonFinding {
    /// It had no effect, and cannot have one any more.
    NotApplied,
    /// It was finally refused: a forward action before the pivot.
    Refused(Option<Json>),
    /// It took effect in part: a forward action before the pivot.
    Partial(Option<Json>),
}

/// What a person requests when they request a compensation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompensationOrder {
    /// From the controlled vocabulary.
    pub reason_code: String,
    /// Who has to approve it.
    pub approval: Approval,
    /// The state and version that the request expects.
    pub expected: Option<Json>,
    /// What it would do.
    pub proposed: Option<Json>,
    /// What it touches.
    pub affected: Option<Json>,
    /// What the dry run showed.
    pub dry_run: Option<Json>,
}

/// Who approves a requested compensation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Another person than the requester: it waits on the approval desk.
    AnotherPerson,
    /// The policy of this name allows it: it runs at once.
    Policy(String),
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

/// What an attempt can answer, once the runtime has encoded it. A reply that comes as mail is kept in this spelling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    Accepted {
        /// Its lower bound for being asked about it.
        wait: Option<Duration>,
    },
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
