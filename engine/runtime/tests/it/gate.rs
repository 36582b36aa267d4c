//! A store whose commits a test can hold up, lose, or answer otherwise: the outside of the engine, not a part
//! of it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use amends::core::{Incarnation, SagaId, Timestamp, TransitionId};
use amends::memory::MemoryStore;
use amends::ports::{
    Access, Claim, Commit, CompensationRow, ControlOrder, ControlRow, ControlStore, DeskFilter, DeskGroup,
    DeskPage, DeskQuery, Fault, Forward, Introduced, LetGo, Loaded, Mail, MailKind, NodeProfile,
    NodeRegistry, NodeRow, NodeStore, OpenSagas, Ordered, OutboxKind, OutboxMessage, OutboxPlace,
    OutboxStanding, OutboxStore, Peer, Posted, SagaFilter, SagaMail, SagaPage, SagaQuery, SagaRow, SagaStore,
    Sharing, Store, StoreCounts, StoredMail, StoredOrder, Verdict, WorkItemRow,
};
use async_trait::async_trait;
use tokio::sync::Semaphore;

/// The transitions of one batch.
type Batch = Vec<(SagaId, u64)>;

#[derive(Clone)]
pub(crate) struct GatedStore {
    pub(crate) inner: MemoryStore,
    /// One permit per batch that may go on. Open at first.
    pub(crate) gate: Arc<Semaphore>,
    /// So many commits take effect and their answers are lost.
    pub(crate) lost_answers: Arc<AtomicU32>,
    /// So many commits do not reach the store.
    pub(crate) unreachable: Arc<AtomicU32>,
    /// The next transition with this sequence is answered `Occupied` and not written.
    pub(crate) occupy: Arc<Mutex<Option<u64>>>,
    /// The next transition with this sequence is answered `Unstorable` and not written.
    pub(crate) refuse: Arc<Mutex<Option<u64>>>,
    /// So many removals of published messages never return, and change nothing.
    pub(crate) kept: Arc<AtomicU32>,
    /// How many published messages each removal was of.
    pub(crate) removals: Arc<Mutex<Vec<usize>>>,
    /// Starts under these keys are answered `Later` and not written.
    pub(crate) held_keys: Arc<Mutex<BTreeSet<String>>>,
    /// Transitions of these sagas are answered `Later` and not written.
    pub(crate) held_sagas: Arc<Mutex<BTreeSet<SagaId>>>,
    /// Transitions with this sequence are answered `Later` and not written.
    pub(crate) held_seq: Arc<Mutex<Option<u64>>>,
    /// So many mails were posted.
    pub(crate) posts: Arc<AtomicU32>,
    /// How many batches it takes at the same time.
    pub(crate) writers: Arc<AtomicUsize>,
    /// Every batch that came, with its sagas and their sequences.
    pub(crate) batches: Arc<Mutex<Vec<Batch>>>,
    /// So many lists of sagas are not answered.
    pub(crate) silent_lists: Arc<AtomicU32>,
    /// So many searches for a business key are not answered.
    pub(crate) silent_finds: Arc<AtomicU32>,
    /// Journals of this key come back with a broken row.
    pub(crate) broken_key: Arc<Mutex<Option<String>>>,
    /// Mail of this key comes as one that cannot be read.
    pub(crate) damaged_mail: Arc<Mutex<Option<String>>>,
    /// Calls of these names fail for good, of the ports that are nobody's main business.
    pub(crate) fails: Arc<Mutex<BTreeSet<&'static str>>>,
    /// The next call of this name ends in a panic.
    pub(crate) panics: Arc<Mutex<Option<&'static str>>>,
    /// Nobody is dismissed: somebody else holds the rows of the others.
    pub(crate) dismisses_nobody: Arc<AtomicBool>,
}

impl GatedStore {
    pub(crate) fn new() -> Arc<Self> {
        Self::before(MemoryStore::new())
    }

    /// As [`new`](Self::new), for several engines.
    pub(crate) fn shared() -> Arc<Self> {
        Self::before(MemoryStore::shared())
    }

    fn before(inner: MemoryStore) -> Arc<Self> {
        Arc::new(Self {
            inner,
            gate: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
            lost_answers: Arc::default(),
            unreachable: Arc::default(),
            occupy: Arc::default(),
            refuse: Arc::default(),
            kept: Arc::default(),
            removals: Arc::default(),
            held_keys: Arc::default(),
            held_sagas: Arc::default(),
            held_seq: Arc::default(),
            posts: Arc::default(),
            writers: Arc::new(AtomicUsize::new(1)),
            batches: Arc::default(),
            silent_lists: Arc::default(),
            silent_finds: Arc::default(),
            broken_key: Arc::default(),
            damaged_mail: Arc::default(),
            fails: Arc::default(),
            panics: Arc::default(),
            dismisses_nobody: Arc::default(),
        })
    }

    /// From now on batches wait, until permits are added.
    pub(crate) fn close(&self) {
        self.gate.forget_permits(Semaphore::MAX_PERMITS);
    }

    fn holds(&self, commit: &Commit) -> bool {
        let key = commit.start.as_ref().map(|start| &*start.key);
        key.is_some_and(|key| self.held_keys.lock().unwrap().contains(key))
            || self.held_sagas.lock().unwrap().contains(&commit.saga)
            || *self.held_seq.lock().unwrap() == Some(commit.journal.seq)
    }

    /// Panics if the test says that this call does.
    fn may_panic(&self, call: &'static str) {
        let panics = self.panics.lock().unwrap().take_if(|panics| *panics == call);
        assert!(panics.is_none(), "the store has a bug in `{call}`");
    }

    pub(crate) fn open(&self) {
        self.gate.add_permits(Semaphore::MAX_PERMITS / 2);
    }
}

fn take_one(count: &AtomicU32) -> bool {
    count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok()
}

fn take_if(slot: &Mutex<Option<u64>>, seq: u64) -> bool {
    slot.lock().unwrap().take_if(|wanted| *wanted == seq).is_some()
}

#[async_trait]
impl SagaStore for GatedStore {
    async fn join(&self, incarnation: Incarnation, node: &str, now: Timestamp) -> Result<(), Fault> {
        self.inner.join(incarnation, node, now).await
    }

    fn writers(&self) -> usize {
        self.writers.load(Ordering::SeqCst)
    }

    async fn commit(&self, incarnation: Incarnation, batch: &[Commit]) -> Result<Vec<Verdict>, Fault> {
        let named = batch.iter().map(|commit| (commit.saga, commit.journal.seq)).collect();
        self.batches.lock().unwrap().push(named);
        self.may_panic("commit");
        self.gate.acquire().await.expect("the gate is never taken away").forget();
        if take_one(&self.unreachable) {
            return Err(Fault::Unavailable("the test says so".to_owned()));
        }
        let mut verdicts = Vec::new();
        for commit in batch {
            let seq = commit.journal.seq;
            if self.holds(commit) {
                verdicts.push(Verdict::Later { reason: "the test says so".to_owned() });
            } else if take_if(&self.occupy, seq) {
                verdicts.push(Verdict::Occupied { by: TransitionId(Default::default()) });
            } else if take_if(&self.refuse, seq) {
                verdicts.push(Verdict::Unstorable { reason: "the test says so".to_owned() });
            } else {
                verdicts.extend(self.inner.commit(incarnation, std::slice::from_ref(commit)).await?);
            }
        }
        if take_one(&self.lost_answers) {
            return Err(Fault::Unavailable("the answer was lost".to_owned()));
        }
        Ok(verdicts)
    }

    async fn claim(&self, claim: &Claim) -> Result<Vec<SagaId>, Fault> {
        self.may_panic("claim");
        self.inner.claim(claim).await
    }

    async fn load(&self, sagas: &[SagaId]) -> Result<Vec<Loaded>, Fault> {
        let mut loaded = self.inner.load(sagas).await?;
        let broken = self.broken_key.lock().unwrap().clone();
        for saga in &mut loaded {
            if broken.as_deref() == Some(&*saga.row.key) {
                saga.journal[0].events = "[{\"NobodyKnows\":{}}]".to_owned();
            }
        }
        Ok(loaded)
    }

    async fn set_aside(
        &self,
        incarnation: Incarnation,
        saga: SagaId,
        reason: &str,
        now: Timestamp,
    ) -> Result<bool, Fault> {
        self.inner.set_aside(incarnation, saga, reason, now).await
    }

    async fn leave(&self, incarnation: Incarnation, now: Timestamp) -> Result<(), Fault> {
        self.inner.leave(incarnation, now).await
    }
}

/// Of the ports that it does not change, nothing is written out.
#[async_trait]
impl Forward for GatedStore {
    fn behind(&self) -> &dyn Store {
        &self.inner
    }

    async fn on_the_way(&self, call: &'static str, _: Access) -> Result<(), Fault> {
        match self.fails.lock().unwrap().contains(call) {
            true => Err(Fault::Corrupt(format!("the test says that `{call}` fails"))),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl NodeStore for GatedStore {
    fn sharing(&self) -> Sharing {
        self.inner.sharing()
    }

    async fn beat(&self, incarnation: Incarnation, within: Duration) -> Result<u64, Fault> {
        self.may_panic("beat");
        self.inner.beat(incarnation, within).await
    }

    async fn peers(&self) -> Result<Vec<Peer>, Fault> {
        self.may_panic("peers");
        self.inner.peers().await
    }

    async fn dismiss(&self, incarnation: Incarnation, seen: u64, now: Timestamp) -> Result<bool, Fault> {
        if self.dismisses_nobody.load(Ordering::SeqCst) {
            return Err(Fault::Unavailable("somebody else holds the row".to_owned()));
        }
        self.inner.dismiss(incarnation, seen, now).await
    }

    async fn release_orphans(&self, now: Timestamp, limit: u32) -> Result<u32, Fault> {
        self.inner.release_orphans(now, limit).await
    }

    async fn mend_clock(&self, now: Timestamp, tolerance: Duration, limit: u32) -> Result<u32, Fault> {
        self.inner.mend_clock(now, tolerance, limit).await
    }

    async fn mine(
        &self,
        incarnation: Incarnation,
        after: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<SagaId>, Fault> {
        self.inner.mine(incarnation, after, limit).await
    }
}

#[async_trait]
impl NodeRegistry for GatedStore {
    async fn introduce(&self, incarnation: Incarnation, profile: &NodeProfile) -> Result<Introduced, Fault> {
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
impl SagaQuery for GatedStore {
    async fn find(&self, workflow: &str, key: &str) -> Result<Option<SagaRow>, Fault> {
        if take_one(&self.silent_finds) {
            return Err(Fault::Unavailable("nobody answers".to_owned()));
        }
        self.inner.find(workflow, key).await
    }

    async fn read(&self, saga: SagaId) -> Result<Option<Loaded>, Fault> {
        self.inner.read(saga).await
    }

    async fn list(&self, filter: &SagaFilter) -> Result<SagaPage, Fault> {
        if take_one(&self.silent_lists) {
            return Err(Fault::Unavailable("nobody answers".to_owned()));
        }
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
impl DeskQuery for GatedStore {
    async fn desk_page(&self, filter: &DeskFilter) -> Result<DeskPage, Fault> {
        self.inner.desk_page(filter).await
    }

    async fn desk_groups(&self, filter: &DeskFilter) -> Result<Vec<DeskGroup>, Fault> {
        self.inner.desk_groups(filter).await
    }
}

#[async_trait]
impl SagaMail for GatedStore {
    async fn post(&self, mail: &Mail, open_max: u32) -> Result<Posted, Fault> {
        self.posts.fetch_add(1, Ordering::SeqCst);
        self.inner.post(mail, open_max).await
    }

    async fn unread(
        &self,
        incarnation: Incarnation,
        only: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<Mail>, Fault> {
        let mut unread = self.inner.unread(incarnation, only, limit).await?;
        let key = self.damaged_mail.lock().unwrap().clone();
        for mail in unread.iter_mut().filter(|mail| Some(&*mail.key) == key.as_deref()) {
            *mail = Mail { kind: MailKind::Damaged, key: "".into(), body: "the test".into(), ..mail.clone() };
        }
        Ok(unread)
    }

    async fn mail(&self, saga: SagaId, key: &str) -> Result<Option<StoredMail>, Fault> {
        self.inner.mail(saga, key).await
    }

    async fn mail_of(&self, saga: SagaId, limit: u32) -> Result<Vec<StoredMail>, Fault> {
        self.inner.mail_of(saga, limit).await
    }
}

#[async_trait]
impl OutboxStore for GatedStore {
    async fn claim_lanes(&self, incarnation: Incarnation) -> Result<Vec<u16>, Fault> {
        self.inner.claim_lanes(incarnation).await
    }

    async fn unpublished(
        &self,
        incarnation: Incarnation,
        kind: OutboxKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<OutboxMessage>, Fault> {
        self.may_panic("unpublished");
        self.inner.unpublished(incarnation, kind, now, limit).await
    }

    async fn remove_published(
        &self,
        incarnation: Incarnation,
        published: &[OutboxPlace],
    ) -> Result<u32, Fault> {
        if take_one(&self.kept) {
            std::future::pending::<()>().await;
        }
        self.removals.lock().unwrap().push(published.len());
        self.inner.remove_published(incarnation, published).await
    }

    async fn note_refusal(
        &self,
        incarnation: Incarnation,
        refused: OutboxPlace,
        reason: &str,
        next_at: Timestamp,
    ) -> Result<(), Fault> {
        self.inner.note_refusal(incarnation, refused, reason, next_at).await
    }

    async fn let_go(&self, message: OutboxPlace, order: &ControlOrder) -> Result<LetGo, Fault> {
        self.inner.let_go(message, order).await
    }

    async fn outbox(&self, limit: u32) -> Result<OutboxStanding, Fault> {
        self.inner.outbox(limit).await
    }
}

#[async_trait]
impl ControlStore for GatedStore {
    async fn order(&self, order: &ControlOrder) -> Result<Ordered, Fault> {
        self.inner.order(order).await
    }

    async fn ordered(&self, operation_id: &str) -> Result<Option<StoredOrder>, Fault> {
        self.inner.ordered(operation_id).await
    }

    async fn controls(&self) -> Result<Vec<ControlRow>, Fault> {
        self.may_panic("controls");
        self.inner.controls().await
    }
}
