//! The store: an append-only journal per saga with a few indexed columns beside it.

use std::sync::Arc;
use std::time::Duration;

use amends_core::{Incarnation, SagaId, Timestamp, TransitionId};
use async_trait::async_trait;

use super::control::ControlStore;
use super::intake::IntakeStore;
use super::lists::{DeskQuery, SagaFilter, SagaPage};
use super::mail::{ConsumedMail, SagaMail};
use super::nodes::NodeStore;
use super::outbox::{OutboxRow, OutboxStore};
use super::purge::PurgeStore;
use super::registry::NodeRegistry;
use super::rows::{
    CompensationChange, CompensationRow, DefinitionRef, ItemChange, JournalRow, NewSaga, SagaChange, SagaRow,
    WorkItemRow,
};

/// One transition of one saga, with everything that must be true in the same instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The saga.
    pub saga: SagaId,
    /// Its row, with the first transition.
    pub start: Option<NewSaga>,
    /// The journal row: the fence.
    pub journal: JournalRow,
    /// A change of phase, or a release.
    pub change: Option<SagaChange>,
    /// Desk entries that came, changed or went.
    pub items: Vec<ItemChange>,
    /// Compensation records that began or ended.
    pub compensations: Vec<CompensationChange>,
    /// Mail that it decides, with the answers.
    pub mail: Vec<ConsumedMail>,
    /// Messages to publish.
    pub outbox: Vec<OutboxRow>,
}

/// What became of one commit of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is durable, now or since an earlier submission of the same transition id.
    Accepted,
    /// Another transition stands at this sequence: load the saga anew, nothing of this commit was written.
    Occupied {
        /// The transition that stands there.
        by: TransitionId,
    },
    /// The key is taken by another saga: nothing of this commit was written.
    KeyTaken(Box<SagaRow>),
    /// The store refuses the *content* of this commit, alone in its transaction; nothing of it was written.
    /// Submitting it again gives the same answer.
    Unstorable {
        /// The store's own words.
        reason: String,
    },
    /// Somebody else holds what this commit needs (its key, its saga's row), or it alone took too long: nothing of
    /// it was written, and the others of its batch did not wait for it. Submit the same rows again, later.
    Later {
        /// The store's own words.
        reason: String,
    },
}

/// A store call that failed as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The store cannot be reached, is busy, full or read-only, or its answer was lost: the call may or may
    /// not have taken effect. Submit the same rows again.
    #[error("failed to reach the store: {0}")]
    Unavailable(String),
    /// This incarnation has no `worker` row any more: it was taken over, and must stop at once.
    #[error("failed to write as this incarnation: it was fenced out by another node")]
    Fenced,
    /// Another process owns the store.
    #[error("failed to open the store: {0}")]
    InUse(String),
    /// What is stored cannot be read.
    #[error("failed to read the store: {0}")]
    Corrupt(String),
}

/// A wake-up time that was set further in the future than this was set by a clock that has since been turned
/// back: it is due, or its saga would sleep for as long as the clock was wrong.
pub const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);

/// Which sagas a node can take.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The node.
    pub incarnation: Incarnation,
    /// Due at this time.
    pub now: Timestamp,
    /// At most so many.
    pub limit: u32,
    /// Only these definitions.
    pub definitions: Arc<[DefinitionRef]>,
    /// This saga only, due or not.
    pub only: Option<SagaId>,
}

/// One saga with its whole journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Its row.
    pub row: SagaRow,
    /// Its journal, in sequence.
    pub journal: Vec<JournalRow>,
}

/// The write side of a store. Where it is [exclusive](super::Sharing::Exclusive), for one incarnation at a time.
///
/// # Guarantees asked of an implementation
/// * `commit`: for each saga the journal row, its start, change, items, compensations, consumed mail and
///   messages are written together or not at all; a refused commit of a batch leaves no trace and does not touch the others;
///   a batch of an incarnation without `worker` row writes nothing ([`Fault::Fenced`]).
/// * Whoever holds one saga or one key holds up no other one: a commit that cannot be written for that reason
///   comes back as [`Verdict::Later`], a claim leaves such sagas out, `set_aside` says so. Where the store knows no
///   lock but the one on everything, a call ends as [`Fault::Unavailable`] instead.
/// * Resubmitting a batch after [`Fault::Unavailable`] is safe at any moment, also while the first one is
///   still under way.
/// * No method may be raced against a timer by its caller: implementations own their own deadlines.
#[async_trait]
pub trait SagaStore: Send + Sync + 'static {
    /// Registers this incarnation. Where one process owns the store this proves that earlier incarnations are
    /// dead and releases their sagas (due now), as well as those whose wake-up time was set by a clock that ran
    /// ahead of `now` by more than [`CLOCK_TOLERANCE`]. Where nodes share it, it touches nobody else.
    async fn join(&self, incarnation: Incarnation, node: &str, now: Timestamp) -> Result<(), Fault>;

    /// How many batches are worth submitting at the same time. Each saga is bound to one writer, so that no two
    /// of them ever meet at a saga of this node. One, unless the store says otherwise.
    fn writers(&self) -> usize {
        1
    }

    /// Writes a batch: at most one commit per saga; one verdict per commit, in order.
    async fn commit(&self, incarnation: Incarnation, batch: &[Commit]) -> Result<Vec<Verdict>, Fault>;

    /// Takes sagas without owner that are due by their time, then those that have unread mail. The caller then
    /// appends `Claimed` before it does anything.
    async fn claim(&self, claim: &Claim) -> Result<Vec<SagaId>, Fault>;

    /// Loads sagas with their journals; those that do not exist are left out.
    async fn load(&self, sagas: &[SagaId]) -> Result<Vec<Loaded>, Fault>;

    /// Sets a saga aside that this incarnation cannot read: no owner, not due, visible with its reason. One
    /// that another incarnation owns is left alone; an incarnation without `worker` row sets nothing aside
    /// ([`Fault::Fenced`]). False if somebody else holds the saga just now: nothing was written, ask again later.
    async fn set_aside(
        &self,
        incarnation: Incarnation,
        saga: SagaId,
        reason: &str,
        now: Timestamp,
    ) -> Result<bool, Fault>;

    /// The last act of an incarnation: its `worker` row goes, and its remaining sagas are released (due now).
    async fn leave(&self, incarnation: Incarnation, now: Timestamp) -> Result<(), Fault>;
}

/// How many rows there are, for audits and benchmarks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// Sagas.
    pub sagas: u64,
    /// Journal rows.
    pub journal_rows: u64,
    /// Bytes of journal text.
    pub journal_bytes: u64,
    /// Open desk entries.
    pub work_items: u64,
    /// Compensation records.
    pub compensations: u64,
}

/// The read side of a store: what is committed, without waiting for writers.
#[async_trait]
pub trait SagaQuery: Send + Sync + 'static {
    /// The saga of a business key.
    async fn find(&self, workflow: &str, key: &str) -> Result<Option<SagaRow>, Fault>;

    /// One saga with its journal.
    async fn read(&self, saga: SagaId) -> Result<Option<Loaded>, Fault>;

    /// A page of sagas in id order (which is start order). A row that cannot be read is named in it and hides no other.
    async fn list(&self, filter: &SagaFilter) -> Result<SagaPage, Fault>;

    /// Desk entries, the oldest first; at most `limit`.
    async fn desk(&self, limit: u32) -> Result<Vec<(SagaId, WorkItemRow)>, Fault>;

    /// The compensation records of a saga, in the order they were requested.
    async fn compensations(&self, saga: SagaId) -> Result<Vec<CompensationRow>, Fault>;

    /// How many rows there are.
    async fn counts(&self) -> Result<StoreCounts, Fault>;
}

/// Everything that an engine asks of one store.
pub trait Store:
    SagaStore
    + SagaQuery
    + DeskQuery
    + SagaMail
    + NodeStore
    + NodeRegistry
    + OutboxStore
    + ControlStore
    + IntakeStore
    + PurgeStore
{
}

impl<S> Store for S where
    S: SagaStore
        + SagaQuery
        + DeskQuery
        + SagaMail
        + NodeStore
        + NodeRegistry
        + OutboxStore
        + ControlStore
        + IntakeStore
        + PurgeStore
{
}
