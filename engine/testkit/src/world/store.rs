//! The store as a world sees it: a real one, watched, behind which the process can die at a chosen commit.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use amends::memory::MemoryStore;
use amends::ports::{
    Access, Claim, Commit, CompensationRow, ControlOrder, ControlRow, ControlStore, DeskFilter, DeskGroup,
    DeskPage, DeskQuery, Fault, Forward, Introduced, LetGo, Loaded, Mail, NodeProfile, NodeRegistry, NodeRow,
    NodeStore, OpenSagas, Ordered, OutboxKind, OutboxMessage, OutboxPlace, OutboxStanding, OutboxStore, Peer,
    Posted, SagaFilter, SagaMail, SagaPage, SagaQuery, SagaRow, SagaStore, Sharing, Store, StoreCounts,
    StoredMail, StoredOrder, Verdict, WorkItemRow,
};
use amends_core::{Incarnation, SagaId, Timestamp};
use async_trait::async_trait;
use tokio::sync::Notify;

/// On which side of a commit the process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before it is durable: nothing of it was written.
    Before,
    /// After it is durable, before the engine sees the answer.
    After,
}

/// A store that counts commits, tells which sagas moved, and ends the process where it was told to.
///
/// A dead process makes no further store call: every call of it is left hanging until its runtime is dropped.
#[derive(Clone)]
pub(crate) struct WatchedStore {
    inner: MemoryStore,
    watch: Arc<Watch>,
}

/// What is known of the store beside what it keeps.
#[derive(Default)]
struct Watch {
    seen: Mutex<Seen>,
    changed: Notify,
}

#[derive(Default)]
struct Seen {
    commits: u64,
    crash: Option<(u64, Side)>,
    dead: bool,
    moved: BTreeSet<SagaId>,
}

impl WatchedStore {
    pub(crate) fn new() -> Self {
        Self { inner: MemoryStore::new(), watch: Arc::default() }
    }

    /// Commits submitted since the world began.
    pub(crate) fn commits(&self) -> u64 {
        self.seen().commits
    }

    /// The process will die at commit `n`.
    pub(crate) fn crash_at(&self, n: u64, side: Side) {
        self.seen().crash = Some((n, side));
    }

    /// Has the process died at a commit?
    pub(crate) fn is_dead(&self) -> bool {
        self.seen().dead
    }

    /// A new process begins on what the last one left.
    pub(crate) fn process_begins(&self) {
        self.seen().dead = false;
    }

    /// The sagas with new transitions since this was last asked.
    pub(crate) fn take_moved(&self) -> BTreeSet<SagaId> {
        std::mem::take(&mut self.seen().moved)
    }

    /// Returns once a saga has moved or the process has died, at once if that is so already.
    pub(crate) async fn changed(&self) {
        loop {
            let notified = self.watch.changed.notified();
            {
                let seen = self.seen();
                if seen.dead || !seen.moved.is_empty() {
                    return;
                }
            }
            notified.await;
        }
    }

    /// Returns once the process has died.
    pub(crate) async fn died(&self) {
        loop {
            let notified = self.watch.changed.notified();
            if self.is_dead() {
                return;
            }
            notified.await;
        }
    }

    /// Was everything decided that was posted to this saga?
    pub(crate) async fn has_read_all_mail(&self, saga: SagaId) -> bool {
        let mail = self.inner.mail_of(saga, u32::MAX).await.expect("a store in memory answers");
        mail.iter().all(|stored| stored.answer.is_some())
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.watch.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn die(&self) {
        self.seen().dead = true;
        self.watch.changed.notify_waiters();
    }

    async fn alive(&self) {
        if self.is_dead() {
            pending::<()>().await;
        }
    }
}

#[async_trait]
impl SagaStore for WatchedStore {
    async fn join(&self, incarnation: Incarnation, node: &str, now: Timestamp) -> Result<(), Fault> {
        self.alive().await;
        self.inner.join(incarnation, node, now).await
    }

    fn writers(&self) -> usize {
        self.inner.writers()
    }

    async fn commit(&self, incarnation: Incarnation, batch: &[Commit]) -> Result<Vec<Verdict>, Fault> {
        self.alive().await;
        let crash = {
            let mut seen = self.seen();
            seen.commits += 1;
            seen.crash.filter(|(at, _)| *at == seen.commits).map(|(_, side)| side)
        };
        if crash == Some(Side::Before) {
            self.die();
            self.alive().await;
        }
        let verdicts = self.inner.commit(incarnation, batch).await?;
        self.seen().moved.extend(batch.iter().map(|commit| commit.saga));
        if crash == Some(Side::After) {
            self.die();
            self.alive().await;
        }
        self.watch.changed.notify_waiters();
        Ok(verdicts)
    }

    async fn claim(&self, claim: &Claim) -> Result<Vec<SagaId>, Fault> {
        self.alive().await;
        self.inner.claim(claim).await
    }

    async fn load(&self, sagas: &[SagaId]) -> Result<Vec<Loaded>, Fault> {
        self.alive().await;
        self.inner.load(sagas).await
    }

    async fn set_aside(
        &self,
        incarnation: Incarnation,
        saga: SagaId,
        reason: &str,
        now: Timestamp,
    ) -> Result<bool, Fault> {
        self.alive().await;
        let done = self.inner.set_aside(incarnation, saga, reason, now).await?;
        self.seen().moved.insert(saga);
        self.watch.changed.notify_waiters();
        Ok(done)
    }

    async fn leave(&self, incarnation: Incarnation, now: Timestamp) -> Result<(), Fault> {
        self.alive().await;
        self.inner.leave(incarnation, now).await
    }
}

#[async_trait]
impl Forward for WatchedStore {
    fn behind(&self) -> &dyn Store {
        &self.inner
    }

    async fn on_the_way(&self, _call: &'static str, _access: Access) -> Result<(), Fault> {
        self.alive().await;
        Ok(())
    }
}

#[async_trait]
impl NodeStore for WatchedStore {
    fn sharing(&self) -> Sharing {
        self.inner.sharing()
    }

    async fn beat(&self, incarnation: Incarnation, within: Duration) -> Result<u64, Fault> {
        self.alive().await;
        self.inner.beat(incarnation, within).await
    }

    async fn peers(&self) -> Result<Vec<Peer>, Fault> {
        self.alive().await;
        self.inner.peers().await
    }

    async fn dismiss(&self, incarnation: Incarnation, seen: u64, now: Timestamp) -> Result<bool, Fault> {
        self.alive().await;
        self.inner.dismiss(incarnation, seen, now).await
    }

    async fn release_orphans(&self, now: Timestamp, limit: u32) -> Result<u32, Fault> {
        self.alive().await;
        self.inner.release_orphans(now, limit).await
    }

    async fn mend_clock(&self, now: Timestamp, tolerance: Duration, limit: u32) -> Result<u32, Fault> {
        self.alive().await;
        self.inner.mend_clock(now, tolerance, limit).await
    }

    async fn mine(
        &self,
        incarnation: Incarnation,
        after: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<SagaId>, Fault> {
        self.alive().await;
        self.inner.mine(incarnation, after, limit).await
    }
}

#[async_trait]
impl NodeRegistry for WatchedStore {
    async fn introduce(&self, incarnation: Incarnation, profile: &NodeProfile) -> Result<Introduced, Fault> {
        self.alive().await;
        self.inner.introduce(incarnation, profile).await
    }

    async fn joined(&self, incarnation: Incarnation) -> Result<bool, Fault> {
        self.inner.joined(incarnation).await
    }

    async fn live_nodes(&self) -> Result<Vec<NodeRow>, Fault> {
        self.inner.live_nodes().await
    }

    async fn open_sagas(&self) -> Result<Vec<OpenSagas>, Fault> {
        self.inner.open_sagas().await
    }
}

#[async_trait]
impl SagaQuery for WatchedStore {
    async fn find(&self, workflow: &str, key: &str) -> Result<Option<SagaRow>, Fault> {
        self.inner.find(workflow, key).await
    }

    async fn read(&self, saga: SagaId) -> Result<Option<Loaded>, Fault> {
        self.inner.read(saga).await
    }

    async fn list(&self, filter: &SagaFilter) -> Result<SagaPage, Fault> {
        self.inner.list(filter).await
    }

    async fn desk(&self, limit: u32) -> Result<Vec<(SagaId, WorkItemRow)>, Fault> {
        self.inner.desk(limit).await
    }

    async fn compensations(&self, saga: SagaId) -> Result<Vec<CompensationRow>, Fault> {
        self.inner.compensations(saga).await
    }

    async fn counts(&self) -> Result<StoreCounts, Fault> {
        self.inner.counts().await
    }
}

#[async_trait]
impl DeskQuery for WatchedStore {
    async fn desk_page(&self, filter: &DeskFilter) -> Result<DeskPage, Fault> {
        self.inner.desk_page(filter).await
    }

    async fn desk_groups(&self, filter: &DeskFilter) -> Result<Vec<DeskGroup>, Fault> {
        self.inner.desk_groups(filter).await
    }
}

#[async_trait]
impl SagaMail for WatchedStore {
    async fn post(&self, mail: &Mail, open_max: u32) -> Result<Posted, Fault> {
        self.alive().await;
        self.inner.post(mail, open_max).await
    }

    async fn unread(
        &self,
        incarnation: Incarnation,
        only: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<Mail>, Fault> {
        self.alive().await;
        self.inner.unread(incarnation, only, limit).await
    }

    async fn mail(&self, saga: SagaId, key: &str) -> Result<Option<StoredMail>, Fault> {
        self.inner.mail(saga, key).await
    }

    async fn mail_of(&self, saga: SagaId, limit: u32) -> Result<Vec<StoredMail>, Fault> {
        self.inner.mail_of(saga, limit).await
    }
}

#[async_trait]
impl OutboxStore for WatchedStore {
    async fn claim_lanes(&self, incarnation: Incarnation) -> Result<Vec<u16>, Fault> {
        self.alive().await;
        self.inner.claim_lanes(incarnation).await
    }

    async fn unpublished(
        &self,
        incarnation: Incarnation,
        kind: OutboxKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<OutboxMessage>, Fault> {
        self.alive().await;
        self.inner.unpublished(incarnation, kind, now, limit).await
    }

    async fn remove_published(
        &self,
        incarnation: Incarnation,
        published: &[OutboxPlace],
    ) -> Result<u32, Fault> {
        self.alive().await;
        self.inner.remove_published(incarnation, published).await
    }

    async fn note_refusal(
        &self,
        incarnation: Incarnation,
        refused: OutboxPlace,
        reason: &str,
        next_at: Timestamp,
    ) -> Result<(), Fault> {
        self.alive().await;
        self.inner.note_refusal(incarnation, refused, reason, next_at).await
    }

    async fn let_go(&self, message: OutboxPlace, order: &ControlOrder) -> Result<LetGo, Fault> {
        self.alive().await;
        self.inner.let_go(message, order).await
    }

    async fn outbox(&self, limit: u32) -> Result<OutboxStanding, Fault> {
        self.inner.outbox(limit).await
    }
}

#[async_trait]
impl ControlStore for WatchedStore {
    async fn order(&self, order: &ControlOrder) -> Result<Ordered, Fault> {
        self.alive().await;
        self.inner.order(order).await
    }

    async fn ordered(&self, operation_id: &str) -> Result<Option<StoredOrder>, Fault> {
        self.inner.ordered(operation_id).await
    }

    async fn controls(&self) -> Result<Vec<ControlRow>, Fault> {
        self.inner.controls().await
    }
}
