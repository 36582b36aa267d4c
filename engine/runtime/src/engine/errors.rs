//! What can go wrong with an engine, one type for each thing that is asked of it.
//!
//! Every text is a sentence of its own that begins with "failed to"; an error that only hands another one on
//! adds nothing to it. So a program may print any of them as it is.

use std::sync::Arc;
use std::time::Duration;

use amends_core::admission::Refused;
use amends_core::event::Omitted;
use amends_core::{Rejected, SagaId, Timestamp};
use uuid::Uuid;

use super::Tombstone;
use crate::ports::{Fault, IntakeClosing, NodeRow, SagaRow};
use crate::visible::visible;

/// The engine cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The author's mistakes, all of them; nothing was registered.
    #[error("{}", .0.join("; "))]
    Registration(Vec<String>),
    /// Live nodes of the store have another lease: nobody would know when somebody is dead. Give this one the same; to
    /// change it, stop all nodes first.
    #[error(
        "failed to join with a lease of {lease:?}: {} has another one, and all nodes of a store have the same",
        told(others)
    )]
    OtherLease {
        /// The lease of this one.
        lease: Duration,
        /// Who has another.
        others: Vec<NodeRow>,
    },
    /// The store does not let this process in.
    #[error(transparent)]
    Store(#[from] Fault),
}

fn told(nodes: &[NodeRow]) -> String {
    let told = nodes.iter().map(|row| {
        let lease = row.profile.lease.unwrap_or_default();
        format!("node `{}` ({}) with {lease:?}", visible(&row.node), row.incarnation)
    });
    told.collect::<Vec<_>>().join(", ")
}

/// Why an engine runs no more.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StopReason {
    /// It was asked to.
    #[error("it was shut down")]
    ShutDown,
    /// A person ended it from elsewhere: see [`OperatedNode::drain`](crate::operator::OperatedNode::drain).
    #[error("it was drained by {by}: {reason}")]
    Drained {
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
    /// It was killed: a simulation.
    #[error("it was killed")]
    Killed,
    /// The store will not have it any more: it was fenced out, or nobody knows what is stored.
    #[error("the store dismissed it: {0}")]
    Dismissed(Fault),
    /// A part of it panicked: it has a bug, or something has that it was given (the store, the clock, the ids). Its sagas
    /// go on elsewhere after a lease, or with the next start.
    #[error("{part} panicked: {panic}")]
    Broken {
        /// Which part.
        part: &'static str,
        /// What the panic said.
        panic: String,
    },
}

/// No definition of this shape is registered here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "failed to find the definition of {workflow} version {version}: none of its shape is registered here; register it, and \
     where it has changed, under a new version beside the old one"
)]
pub struct UnknownDefinition {
    /// The workflow.
    pub workflow: Arc<str>,
    /// Its version.
    pub version: u32,
}

/// A saga was not started.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SagaStartError {
    /// The key stands for another input. Neither wins: a person decides what the second one was.
    #[error(
        "failed to start the saga: the key `{}` of {} belongs to {} already, which began with another input",
        visible(&standing.key), standing.definition.workflow, standing.id
    )]
    Conflict {
        /// The saga that has the key, untouched.
        standing: Box<SagaRow>,
        /// The digest of the input that was refused.
        input_digest: [u8; 32],
    },
    /// No such workflow is registered here.
    #[error("failed to start the saga: no workflow `{0}` is registered")]
    NotRegistered(String),
    /// The saga exists, and its definition is not registered here.
    #[error(transparent)]
    UnknownDefinition(#[from] UnknownDefinition),
    /// The key is unusable.
    #[error("failed to start the saga: {0}")]
    Key(String),
    /// The tenant is unusable.
    #[error("failed to start the saga: {0}")]
    Tenant(String),
    /// A person holds the starts of this workflow, and there is no saga of this key. Make the same start again once
    /// they are released; a trigger stops pulling.
    #[error("failed to start the saga: starts of workflow `{workflow}` are held by {by} since {since}: {}", visible(.reason))]
    Held {
        /// The workflow.
        workflow: Arc<str>,
        /// Who holds them.
        by: String,
        /// Why.
        reason: String,
        /// Since when.
        since: Timestamp,
    },
    /// It occurred before the dedupe horizon: whether it was started before is forgotten, so it is not started now, nor
    /// whenever it comes again. A person decides; see [`Retention::forget_after`](super::Retention).
    #[error(
        "failed to start the saga: it occurred at {occurred_at}, and what was started before {horizon} is forgotten"
    )]
    TooOld {
        /// The source event's own time.
        occurred_at: Timestamp,
        /// Nothing older is started.
        horizon: Timestamp,
    },
    /// The input is refused at the door, now and whenever it comes again; the path says where it is wrong.
    #[error("failed to read the saga's input: {0}")]
    Input(Refused),
    /// The store refuses its content.
    #[error("failed to store the saga: {0}")]
    Unstorable(String),
    /// The engine runs no more. Whether the saga exists is unknown: make the same start again.
    #[error("failed to start the saga: the engine has stopped")]
    Stopped,
}

/// What a person asked was not done, or not yet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OperateError {
    /// The state does not allow it; nothing changed. The answer is kept: asking again under the same operation id
    /// is refused again.
    #[error("failed to {0}")]
    Refused(#[from] Rejected),
    /// The value does not decode as what it should be. Nothing was posted.
    #[error("failed to read the given result: {0}")]
    Output(String),
    /// Nobody may ask so: who, why or the operation id is missing, or cannot be kept. Nothing was posted.
    #[error("failed to ask: {0}")]
    Incomplete(String),
    /// There is no such saga.
    #[error("failed to find the saga: there is none with this id")]
    Unknown,
    /// The saga ended long ago, and was purged.
    #[error("failed to find the saga: it ended long ago and was purged")]
    Purged,
    /// There is no such message in intake.
    #[error("failed to find the message: none in intake has the id {0}")]
    NoSuchMessage(Uuid),
    /// Another decision closed the message before; it stands.
    #[error(
        "failed to close the message: {} closed it before, as {}, under the operation id `{}`",
        visible(&.0.actor), .0.disposition.spell(), visible(&.0.operation)
    )]
    ClosedBefore(Box<IntakeClosing>),
    /// The saga has as much undecided mail as it may have. Ask again later under the same operation id.
    #[error("failed to ask: {open} questions to this saga wait to be decided already; ask again later")]
    Full {
        /// How many wait.
        open: u32,
    },
    /// The saga was set aside. What was asked is kept, and decided once the saga can be read again.
    #[error("failed to read the saga: it was set aside: {0}")]
    SetAside(String),
    /// Nobody has decided it within the patience of [`Limits::answer_within`](crate::Limits::answer_within): the
    /// saga's owner is busy or gone, or no running node knows its definition. What was asked is kept and will be
    /// decided; ask again under the same operation id for the answer.
    #[error("failed to decide in time: what was asked is kept; ask again under the same operation id")]
    Unanswered,
    /// The engine runs no more. What was asked may be kept, and decided by another; ask again under the same
    /// operation id.
    #[error("failed to decide: the engine has stopped; ask again under the same operation id")]
    Stopped,
    /// The store does not answer. Ask again under the same operation id.
    #[error(transparent)]
    Store(#[from] Fault),
}

/// There is no outcome to be had.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutcomeError {
    /// The saga was set aside: a person looks after it.
    #[error("failed to await the outcome: the saga was set aside: {0}")]
    SetAside(String),
    /// It ended long ago and was purged: how it ended is known, its result is not.
    #[error("failed to read the result: {0}")]
    Purged(Box<Tombstone>),
    /// It completed, and its result could not be recorded.
    #[error("failed to read the result: it was not recorded ({})", .0.reason)]
    Unrecorded(Omitted),
    /// It completed, and its result does not decode.
    #[error("failed to read the result: {0}")]
    Undecodable(String),
    /// There is no such saga.
    #[error("failed to find the saga: there is none with this id")]
    Unknown,
    /// Its journal cannot be read.
    #[error("failed to read the saga: {0}")]
    Unreadable(String),
    /// The store does not answer.
    #[error(transparent)]
    Store(#[from] Fault),
    /// The engine runs no more; the saga goes on with the next start.
    #[error("failed to await the outcome: the engine has stopped")]
    Stopped,
}

/// A saga cannot be shown.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// There is no such saga.
    #[error("failed to find the saga: there is none with the id {0}")]
    Unknown(SagaId),
    /// It ended long ago and was purged; what is left of it.
    #[error("failed to show the saga: {0}")]
    Purged(Box<Tombstone>),
    /// Its definition is not registered here.
    #[error(transparent)]
    UnknownDefinition(#[from] UnknownDefinition),
    /// Its journal cannot be read.
    #[error("failed to read the saga: {0}")]
    Unreadable(String),
    /// The store does not answer.
    #[error(transparent)]
    Store(#[from] Fault),
}
