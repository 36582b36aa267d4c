//! What a worker can be told. Everything that ever changes a saga arrives as one of these.

use std::sync::Arc;

use amends_core::agenda::DeskItem;
use amends_core::event::{Failure, Finding, Trigger};
use amends_core::machine::Attempted;
use amends_core::{ActionId, Json, SagaId, SagaState, Timestamp, TraceContext};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::definitions::Registered;
use super::rows::Shown;
use crate::engine::{SagaStartError, StopReason};
use crate::ports::{Fault, Label, Mail, SagaRow, Verdict};
use crate::view::Deferral;

/// A new saga is asked for. These wait in their own bounded queue, so that a flood of starts holds back its
/// callers and nothing else.
pub(crate) struct StartRequest {
    pub(crate) definition: Arc<Registered>,
    pub(crate) key: Arc<str>,
    pub(crate) input: Json,
    pub(crate) input_digest: [u8; 32],
    pub(crate) asked_at: Timestamp,
    pub(crate) occurred_at: Option<Timestamp>,
    pub(crate) trigger: Option<Trigger>,
    pub(crate) trace: Option<TraceContext>,
    pub(crate) tenant: Option<Arc<str>>,
    pub(crate) labels: Vec<Label>,
    pub(crate) reply: oneshot::Sender<Result<Started, SagaStartError>>,
}

/// What a start led to.
#[derive(Debug)]
pub(crate) enum Started {
    /// A new saga.
    New(SagaId),
    /// The same start was made before.
    Before(Box<SagaRow>),
}

/// What callers ask of sagas that exist.
pub(crate) enum Request {
    /// Mail was posted to a saga by somebody in this process: a hint, so that nobody waits for the next look.
    Posted {
        saga: SagaId,
        mail: Uuid,
        /// Whoever waits for the answer.
        told: Option<oneshot::Sender<Told>>,
    },
    /// A participant's reply, to be kept and decided by the next transition if the saga is in memory here. Nobody is told
    /// anything if it is not, or if what was to keep it never became durable: then it goes by mail.
    Bring {
        mail: Box<Mail>,
        /// The store was asked, and knows no mail of this key.
        looked: bool,
        told: oneshot::Sender<Brought>,
    },
    /// Tell when it has come so far.
    Watch {
        saga: SagaId,
        until: Until,
        /// Also if the saga is not in memory, or does not stay there; otherwise that is the answer.
        absent_too: bool,
        reply: oneshot::Sender<Watched>,
    },
    /// Tell what the saga waits for that has no permit.
    Deferrals { saga: SagaId, reply: oneshot::Sender<Vec<Deferral>> },
    /// End in an orderly way: nothing new begins, what runs is awaited until the given time.
    Drain { until: Timestamp, reply: oneshot::Sender<usize> },
}

/// How far a watcher waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// Until the saga has ended.
    End,
    /// Until it has ended, or only people can move it.
    Settled,
}

/// Somebody who waits for a saga.
pub(super) struct Watcher {
    pub(super) until: Until,
    /// It looks into the store, too.
    pub(super) looks: bool,
    pub(super) reply: oneshot::Sender<Watched>,
}

/// What somebody is told who posted mail and waits. Nothing, if it is not decided here: then the store tells.
#[derive(Debug)]
pub(crate) enum Told {
    /// It was decided, and this answer is durable.
    Answered(String),
    /// The saga cannot be read, for this reason.
    SetAside(String),
}

/// What somebody is told who brought a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brought {
    /// It is durable, and decided.
    Kept,
    /// It was durable before.
    KeptBefore,
    /// Nobody here knows whether it came before: the store does.
    Look,
}

/// What a watcher is told.
#[derive(Debug)]
pub(crate) enum Watched {
    /// The saga ended: its last state.
    Ended(Box<SagaState>),
    /// It waits for nothing but people, at these items; told to those who wait [`Until::Settled`].
    OnDesk(Vec<DeskItem>),
    /// The saga is not in this worker's memory: look in the store.
    NotHere,
    /// It was set aside, for this reason.
    SetAside(String),
}

/// What the worker's own parts report. Bounded by construction: one for each permit, each saga with a commit
/// under way, and each request made of the recovery.
pub(super) enum News {
    /// An attempt answered.
    Attempt { saga: SagaId, action: ActionId, attempt: u32, answer: Attempted },
    /// A query answered.
    Query { saga: SagaId, action: ActionId, query: u32, answer: Result<Finding, Failure> },
    /// An attempt that was journalled as started was certainly not sent: this node was not allowed to.
    Unsent { saga: SagaId, action: ActionId, attempt: u32 },
    /// The store answered a batch.
    Committed(Vec<(SagaId, Verdict)>),
    /// So long has a start waited that it may have been made, and forgotten, meanwhile: it is not submitted any more.
    Outdated { saga: SagaId, refused: SagaStartError },
    /// The store became unreachable for a part of the committer, or reachable again.
    StoreReachable { writer: usize, reachable: bool },
    /// The commits of these sagas are held up by somebody else from now on; with them, or without those that got through,
    /// so many are.
    Postponed { sagas: Vec<SagaId>, all: usize },
    /// The message of an attempt was acknowledged.
    Acknowledged { saga: SagaId, message: Uuid },
    /// The store will not have this incarnation any more.
    Dismissed(Fault),
    /// A part of the worker panicked.
    Broken(StopReason),
    /// Sagas were claimed, and unread mail was found. With `more`, other sagas are due.
    Claimed { sagas: Vec<Recovered>, mail: Vec<Mail>, more: bool },
    /// Unread mail was found.
    Mail(Vec<Mail>),
    /// Sagas that other nodes left behind were released: a claim finds some.
    Released,
    /// It is time to look for sagas that are owned here without being in memory.
    SweepDue,
    /// A page of the sagas that this incarnation owns. With `next`, there is another page after it.
    Owned { sagas: Vec<SagaId>, next: Option<SagaId> },
    /// Sagas that are owned here and were not in memory were loaded.
    Reclaimed { sagas: Vec<Recovered> },
    /// One saga was looked up.
    LookedUp { saga: SagaId, found: LookedUp },
    /// One saga was set aside.
    SetAside { saga: SagaId, reason: String },
}

/// A saga that was loaded, and is owned by this incarnation.
pub(super) struct Recovered {
    pub(super) definition: Arc<Registered>,
    pub(super) state: SagaState,
    pub(super) seq: u64,
    pub(super) shown: Shown,
}

/// What became of looking one saga up.
pub(super) enum LookedUp {
    /// It is ours now, with its unread mail.
    Mine(Box<Recovered>, Vec<Mail>),
    /// It has ended, and nobody asks anything of it.
    Ended(Box<SagaState>),
    /// It is somebody else's, cannot be run here, or does not exist.
    NotHere,
}
