//! The in-memory store.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amends_core::{Incarnation, SagaId, Timestamp};
use async_trait::async_trait;

use super::tables::Tables;
use crate::ports::{
    Claim, Commit, CompensationRow, Fault, Loaded, Mail, Posted, SagaFilter, SagaMail, SagaPage, SagaQuery,
    SagaRow, SagaStore, StoreCounts, StoredMail, Verdict, WorkItemRow, WriteStats,
};

/// A store in memory: for tests and simulations, with the semantics of the SQLite store.
///
/// *When to use*: wherever no data has to outlive the process.
///
/// *Guarantees*: everything that [`SagaStore`] asks; one call is one indivisible step; nothing in it depends
/// on time, chance or scheduling. A clone is the same store, so the data outlives an engine that is dropped
/// in the middle of anything, which is how a test lets a process die and start again.
///
/// *Not guaranteed*: durability. Like the SQLite store it belongs to one incarnation at a time, and joining
/// fences out whoever joined before; unless it was made to be [`shared`](Self::shared).
#[derive(Clone, Default)]
pub struct MemoryStore {
    tables: Arc<Mutex<Tables>>,
}

impl MemoryStore {
    /// An empty store that belongs to one engine at a time.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store that any number of engines share, each as a node of its own.
    pub fn shared() -> Self {
        Self { tables: Arc::new(Mutex::new(Tables::shared())) }
    }

    /// What was written since the store was made.
    pub fn stats(&self) -> WriteStats {
        self.lock().stats
    }

    /// A panic under the lock can only be a broken invariant of [`Tables`]; what other sagas wrote is whole.
    pub(super) fn lock(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("sagas", &self.lock().saga_count()).finish_non_exhaustive()
    }
}

/// Panics if the batch holds two commits of one saga: the caller's mistake, in every store.
fn assert_one_commit_per_saga(batch: &[Commit]) {
    let mut sagas: Vec<SagaId> = batch.iter().map(|commit| commit.saga).collect();
    sagas.sort_unstable();
    assert!(sagas.windows(2).all(|pair| pair[0] != pair[1]), "at most one commit per saga and batch");
}

#[async_trait]
impl SagaStore for MemoryStore {
    async fn join(&self, incarnation: Incarnation, node: &str, now: Timestamp) -> Result<(), Fault> {
        if self.lock().join(incarnation, node, now) { Ok(()) } else { Err(Fault::Fenced) }
    }

    async fn commit(&self, incarnation: Incarnation, batch: &[Commit]) -> Result<Vec<Verdict>, Fault> {
        assert_one_commit_per_saga(batch);
        let mut tables = self.lock();
        if !tables.is_worker(incarnation) {
            return Err(Fault::Fenced);
        }
        let before = tables.stats.journal_rows;
        let verdicts = batch.iter().map(|commit| tables.commit(incarnation, commit)).collect();
        if tables.stats.journal_rows > before {
            tables.stats.commits += 1;
        }
        Ok(verdicts)
    }

    async fn claim(&self, claim: &Claim) -> Result<Vec<SagaId>, Fault> {
        let mut tables = self.lock();
        if tables.is_worker(claim.incarnation) { Ok(tables.claim(claim)) } else { Err(Fault::Fenced) }
    }

    async fn load(&self, sagas: &[SagaId]) -> Result<Vec<Loaded>, Fault> {
        let tables = self.lock();
        Ok(sagas.iter().filter_map(|saga| tables.load(*saga)).collect())
    }

    async fn set_aside(
        &self,
        incarnation: Incarnation,
        saga: SagaId,
        reason: &str,
        _now: Timestamp,
    ) -> Result<bool, Fault> {
        let mut tables = self.lock();
        if !tables.is_worker(incarnation) {
            return Err(Fault::Fenced);
        }
        tables.set_aside(incarnation, saga, reason);
        Ok(true)
    }

    async fn leave(&self, incarnation: Incarnation, now: Timestamp) -> Result<(), Fault> {
        self.lock().leave(incarnation, now);
        Ok(())
    }
}

#[async_trait]
impl SagaQuery for MemoryStore {
    async fn find(&self, workflow: &str, key: &str) -> Result<Option<SagaRow>, Fault> {
        Ok(self.lock().find(workflow, key).cloned())
    }

    async fn read(&self, saga: SagaId) -> Result<Option<Loaded>, Fault> {
        Ok(self.lock().load(saga))
    }

    async fn list(&self, filter: &SagaFilter) -> Result<SagaPage, Fault> {
        Ok(self.lock().list(filter))
    }

    async fn desk(&self, limit: u32) -> Result<Vec<(SagaId, WorkItemRow)>, Fault> {
        let tables = self.lock();
        let mut items: Vec<_> = tables.items().collect();
        items.sort_by(|(saga, a), (other, b)| (a.since, saga, &a.item).cmp(&(b.since, other, &b.item)));
        Ok(items.into_iter().take(limit as usize).map(|(saga, item)| (saga, item.clone())).collect())
    }

    async fn compensations(&self, saga: SagaId) -> Result<Vec<CompensationRow>, Fault> {
        Ok(self.lock().compensations(saga))
    }

    async fn counts(&self) -> Result<StoreCounts, Fault> {
        let tables = self.lock();
        Ok(StoreCounts {
            sagas: tables.saga_count() as u64,
            journal_rows: tables.journal_rows().count() as u64,
            journal_bytes: tables.journal_rows().map(|row| row.events.len() as u64).sum(),
            work_items: tables.items().count() as u64,
            compensations: tables.compensation_count() as u64,
        })
    }
}

#[async_trait]
impl SagaMail for MemoryStore {
    async fn post(&self, mail: &Mail, open_max: u32) -> Result<Posted, Fault> {
        Ok(self.lock().post(mail, open_max))
    }

    async fn unread(
        &self,
        incarnation: Incarnation,
        only: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<Mail>, Fault> {
        Ok(self.lock().unread(incarnation, only, limit as usize))
    }

    async fn mail(&self, saga: SagaId, key: &str) -> Result<Option<StoredMail>, Fault> {
        Ok(self.lock().mail(saga, key).cloned())
    }

    async fn mail_of(&self, saga: SagaId, limit: u32) -> Result<Vec<StoredMail>, Fault> {
        Ok(self.lock().mail_of(saga).take(limit as usize).cloned().collect())
    }
}
