//! The journal's vocabulary: past-tense facts, and the only truth about a saga.
//!
//! The JSON of these types is a promise: an event, once named and shaped, is neither renamed nor reshaped.
//! New facts are new events or new optional fields. Every *decision* that depended on a number (a policy, the
//! clock) is in its event, so that state = fold(journal) whatever the numbers are today.

mod facts;

pub use facts::*;

use serde::{Deserialize, Serialize};

use crate::id::{ActionId, Incarnation, OperationId, TransitionId};
use crate::json::Json;
use crate::time::Timestamp;

/// One journal row: everything that one decision changed, accepted or refused by the store as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transition {
    /// 1, 2, 3 … without gaps.
    pub seq: u64,
    /// When it was decided; never before the previous one.
    pub at: Timestamp,
    /// `engine`, or the person who asked for it.
    pub actor: String,
    /// Made before the transition is submitted.
    pub id: TransitionId,
    /// What happened, in order.
    pub events: Vec<JournalEvent>,
}

/// One fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum JournalEvent {
    // --- the saga --------------------------------------------------------------------------------------
    /// The saga exists, for one business key, owned by its starter.
    SagaStarted(SagaStarted),
    /// A node took the saga over. Every attempt that another incarnation was running is now unknown.
    Claimed {
        /// The new owner.
        incarnation: Incarnation,
    },
    /// A branch was decided, once for ever. The side not taken is skipped.
    BranchDecided {
        /// The branch's name.
        branch: String,
        /// The side taken: `true`, or the first of two.
        taken: bool,
    },
    /// The saga turned back: from now on no forward action begins.
    TurnedBack {
        /// Why.
        reason: TurnReason,
    },
    /// A turn was asked for while the pivot was under way; it is answered when the pivot is settled.
    WishRecorded {
        /// Whose one-time operation it was; none for a deadline.
        operation: Option<OperationId>,
        /// Why the saga should turn back.
        reason: TurnReason,
    },
    /// What a person asked was answered; the same operation id gets the same answer for ever.
    Answered {
        /// The one-time operation id.
        operation: OperationId,
        /// What was asked.
        verb: Verb,
        /// Who asked.
        actor: String,
        /// Why they asked.
        reason: String,
        /// The answer.
        answer: Answer,
    },
    /// The saga deadline passed after the pivot: it stops nothing.
    MarkedLate {},
    /// Every step took effect, or was skipped by a branch or a waiver.
    Completed {},
    /// Every effect was compensated.
    Compensated {},
    /// No new attempt starts until unpaused.
    Paused {
        /// The one-time operation id.
        operation: OperationId,
    },
    /// Attempts may start again.
    Unpaused {
        /// The one-time operation id.
        operation: OperationId,
    },
    /// A person asked to close what cannot be finished.
    CloseRequested(CloseRequested),
    /// Another person approved: the saga ended with these effects in place.
    Closed {
        /// The operation of the request that was approved.
        request: OperationId,
        /// Who approved.
        approved_by: String,
        /// Actions whose effect remains or may remain.
        effects_in_place: Vec<ActionId>,
    },

    // --- attempts --------------------------------------------------------------------------------------
    /// An attempt is about to be sent. It counts from here.
    Started {
        /// Of which action.
        action: ActionId,
        /// From 1; never reset.
        attempt: u32,
        /// Why it may start.
        cause: StartCause,
        /// The shaped input, with the first start of a step whose input a function shapes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Json>,
        /// The state and version that a compensation expects to find, with its first start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected: Option<Json>,
    },
    /// The attempt was certainly never sent; it does not count.
    Withdrawn {
        /// Of which action.
        action: ActionId,
        /// The attempt that was journalled as started.
        attempt: u32,
    },
    /// It took effect.
    Succeeded {
        /// Of which action.
        action: ActionId,
        /// Which transmission answered; none if the answer named none.
        attempt: Option<u32>,
        /// The result. Of a compensation: `Undone` or `NothingToUndo`.
        output: Recorded,
    },
    /// The participant said no, finally; nothing took effect.
    Refused {
        /// Of which action.
        action: ActionId,
        /// Which transmission answered.
        attempt: Option<u32>,
        /// What it said.
        refusal: Recorded,
        /// What follows.
        next: Next,
    },
    /// It did not take effect, and what was decided.
    Failed {
        /// Of which action.
        action: ActionId,
        /// Which transmission failed.
        attempt: u32,
        /// Transient or persistent, and why.
        failure: Failure,
        /// The decision, with its reason.
        next: Next,
    },
    /// Nobody knows whether it took effect, or the answer cannot be acted upon yet; it is being settled.
    BecameUnknown {
        /// Of which action.
        action: ActionId,
        /// Which transmission.
        attempt: u32,
        /// What is known.
        failure: Failure,
        /// How it goes on.
        next: Next,
    },
    /// The participant has taken it and will answer later.
    Accepted {
        /// Of which action.
        action: ActionId,
        /// Which transmission.
        attempt: u32,
        /// Not to be asked about before.
        not_before: Option<Timestamp>,
        /// How it goes on.
        next: Next,
    },
    /// It took effect in part.
    PartlyApplied {
        /// Of which action.
        action: ActionId,
        /// Which transmission.
        attempt: Option<u32>,
        /// What there is of a result.
        output: Option<Recorded>,
        /// What follows.
        next: Next,
    },
    /// The transmission is closed out and has no effect.
    FencedOut {
        /// Of which action.
        action: ActionId,
        /// Which transmission.
        attempt: u32,
        /// No transmission up to this attempt can take effect.
        through: u32,
        /// What follows.
        next: Next,
    },
    /// The participant holds this request id with other parameters.
    Mismatched {
        /// Of which action.
        action: ActionId,
        /// Which transmission.
        attempt: u32,
        /// What was reported.
        failure: Failure,
    },
    /// The state that a compensation expected has moved.
    WentStale {
        /// Of which compensation.
        action: ActionId,
        /// Which transmission.
        attempt: u32,
        /// What the request expected.
        expected: Option<Json>,
        /// What was found.
        found: Json,
    },

    // --- settling the unknown, and time ---------------------------------------------------------------------
    /// A query is about to be sent. It counts from here.
    QueryStarted {
        /// Of which action.
        action: ActionId,
        /// From 1; never reset.
        query: u32,
        /// The query asks the participant to fence attempts up to this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fence_through: Option<u32>,
    },
    /// A query found something, and what was decided.
    QueryAnswered {
        /// Of which action.
        action: ActionId,
        /// Which query.
        query: u32,
        /// What it found.
        finding: Finding,
        /// The decision.
        next: Next,
    },
    /// A query itself failed. No attempt counter moves.
    QueryFailed {
        /// Of which action.
        action: ActionId,
        /// Which query.
        query: u32,
        /// Why.
        failure: Failure,
        /// How it goes on.
        next: Next,
    },
    /// The way on was decided without an answer: after a takeover, or because time ran out.
    Planned {
        /// Of which action.
        action: ActionId,
        /// What led to it, when it was a failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
        /// The decision.
        next: Next,
    },

    // --- late news --------------------------------------------------------------------------------------
    /// News that changes nothing: a duplicate, or late.
    NewsRecorded(News),
    /// News that contradicts what is recorded.
    Disputed(News),
    /// The dispute is settled.
    DisputeSettled {
        /// Of which action.
        action: ActionId,
        /// What was found.
        finding: Finding,
    },

    // --- persons ----------------------------------------------------------------------------------------
    /// A quarantined action may go on with a fresh budget, under the same request id.
    Resumed {
        /// Of which action.
        action: ActionId,
        /// The one-time operation id.
        operation: OperationId,
        /// Attempts granted, from now.
        attempts: u32,
        /// Until when.
        deadline: Timestamp,
    },
    /// A person settled the action as applied.
    AcceptedByPerson {
        /// Of which action.
        action: ActionId,
        /// The one-time operation id.
        operation: OperationId,
        /// The result, if one is needed.
        output: Option<Json>,
        /// What the person relies on.
        evidence: String,
    },
    /// A person settled the action with a finding.
    FoundByPerson {
        /// Of which action.
        action: ActionId,
        /// The one-time operation id.
        operation: OperationId,
        /// What was found.
        finding: Finding,
        /// What the person relies on.
        evidence: String,
        /// What follows.
        next: Next,
    },
    /// A person ordered the next attempt, or query, now.
    HurriedByPerson {
        /// Of which action.
        action: ActionId,
        /// The one-time operation id.
        operation: OperationId,
    },
    /// A person ordered one more transmission of an unknown action.
    SendAgainOrdered {
        /// Of which action.
        action: ActionId,
        /// The one-time operation id.
        operation: OperationId,
        /// Why the key retention does not stand in the way.
        override_reason: Option<String>,
    },
    /// A person rejected a quarantined forward action.
    RejectedByPerson {
        /// Of which action.
        action: ActionId,
        /// The one-time operation id.
        operation: OperationId,
    },
    /// A person supplied a result that could not be recorded.
    Supplied {
        /// Of which action.
        action: ActionId,
        /// The one-time operation id.
        operation: OperationId,
        /// The value.
        output: Json,
        /// What the person relies on.
        evidence: String,
    },
    /// A person waived a step after the pivot.
    Waived {
        /// Of which action.
        action: ActionId,
        /// The one-time operation id.
        operation: OperationId,
    },
    /// A person put the next query off.
    KeptWaiting {
        /// Of which action.
        action: ActionId,
        /// The one-time operation id.
        operation: OperationId,
        /// Until when.
        until: Timestamp,
    },
    /// A desk item was assigned, or its disposition set.
    ItemAnnotated {
        /// `step/direction`, or empty for the saga's own item.
        item: String,
        /// The one-time operation id.
        operation: OperationId,
        /// Who works on it.
        assignee: Option<String>,
        /// What they decided.
        disposition: Option<String>,
    },
    /// A person ordered a compensation while the forward outcome is unknown.
    InDoubtCompensationOrdered {
        /// Of which forward action.
        action: ActionId,
        /// The one-time operation id.
        operation: OperationId,
    },
    /// A person requested a compensation.
    CompensationRequested(CompensationRequest),
    /// A request was approved or denied.
    RequestDecided {
        /// The one-time operation id of the decision.
        operation: OperationId,
        /// The operation or compensation that was decided about.
        request: String,
        /// Who decided.
        by: String,
        /// Approved, or denied.
        approved: bool,
    },
}
