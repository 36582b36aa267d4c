//! Many nodes on one store: who is alive, and what becomes of the sagas of who is not.
//!
//! A node is an incarnation with a `worker` row. The row holds a counter that its node moves (a *beat*); other
//! nodes watch the counter on their own clocks, so no two clocks are ever compared. Deleting the row is what
//! fences: from then on the incarnation writes nothing.

use std::time::Duration;

use amends_core::{Incarnation, SagaId, Timestamp};
use async_trait::async_trait;

use super::hints::Hints;
use super::store::Fault;

/// Who may work on a store at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// One process, and something outside the store proves it (SQLite: a lock file). Whoever joins knows that
    /// all others are dead, so nobody beats and recovery waits for no lease.
    #[default]
    Exclusive,
    /// Any number of nodes. Who is dead is known only from a counter that stands still for a lease.
    Shared,
}

/// A live incarnation, as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The incarnation.
    pub incarnation: Incarnation,
    /// Its heartbeat counter.
    pub beat: u64,
    /// What it calls itself.
    pub node: String,
}

/// The side of a store that nodes share.
///
/// # Guarantees asked of an implementation
/// * Everything here may be repeated at any moment, by any number of nodes at once, and beside live owners.
/// * Nothing here waits behind batches for longer than one transaction takes: a beat that queues is a beat
///   that comes too late.
/// * As in [`SagaStore`](super::SagaStore), no method may be raced against a timer by its caller.
#[async_trait]
pub trait NodeStore: Send + Sync + 'static {
    /// Whether the store belongs to one process.
    fn sharing(&self) -> Sharing;

    /// Moves this incarnation's counter, and answers where it stands now: at the latest `within` this time,
    /// however silent the connection is, because a beat that is waited for longer costs the lease.
    ///
    /// # Errors
    /// [`Fault::Fenced`] without `worker` row: it was dismissed, or never joined. [`Fault::Unavailable`] without an
    /// answer in time: it may have moved.
    async fn beat(&self, incarnation: Incarnation, within: Duration) -> Result<u64, Fault>;

    /// Tells this incarnation when it is worth looking: when mail was posted to a saga of its own or to one without
    /// owner, and when sagas were released that are due. The first hint comes once the store listens for others. None,
    /// if the store gives no hints; what it gives may be lost, so nobody may rely on one.
    fn hints(&self, _incarnation: Incarnation) -> Option<Hints> {
        None
    }

    /// Every incarnation with a `worker` row, this one too, in order of their ids. A row that cannot be read is said in the log
    /// and hides no other: a fault here ends the engine.
    async fn peers(&self) -> Result<Vec<Peer>, Fault>;

    /// Deletes the `worker` row of an incarnation whose counter still stands at `seen`; false if it does not,
    /// or if there is no such row. Waits for open batches of that incarnation; later ones write nothing. Its
    /// sagas keep their owner until [`release_orphans`](Self::release_orphans).
    async fn dismiss(&self, incarnation: Incarnation, seen: u64, now: Timestamp) -> Result<bool, Fault>;

    /// Releases (due now) at most `limit` sagas whose owner has no `worker` row, and answers how many. Fewer
    /// than `limit` means: none is left that nobody else is releasing.
    async fn release_orphans(&self, now: Timestamp, limit: u32) -> Result<u32, Fault>;

    /// Makes at most `limit` sagas due whose wake-up time was set further than `tolerance` after `now`: by a
    /// clock that has since been turned back. Answers how many.
    async fn mend_clock(&self, now: Timestamp, tolerance: Duration, limit: u32) -> Result<u32, Fault>;

    /// The sagas that this incarnation owns, in id order after `after`; at most `limit`. What of them is not
    /// in its memory was claimed by a call whose answer was lost.
    async fn mine(
        &self,
        incarnation: Incarnation,
        after: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<SagaId>, Fault>;
}
