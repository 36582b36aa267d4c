//! The handle.

use std::fmt;
use std::sync::Arc;

use amends::ports::{
    Claim, Commit, CompensationRow, DeskFilter, DeskGroup, DeskPage, DeskQuery, Fault, Loaded, SagaFilter,
    SagaPage, SagaQuery, SagaRow, SagaStore, StoreCounts, Verdict, WorkItemRow, WriteStats,
};
use amends_core::{Incarnation, SagaId, Timestamp};
use async_trait::async_trait;
use sea_orm::sqlx::postgres::PgConnection;

use super::PostgresSettings;
use super::batch::Writer;
use super::held::Patiences;
use super::hints::Hinting;
use super::nodes::ReleaseOf;
use super::open::Address;
use super::owners::{Join, Leave, SetAside};
use super::pulse::Pulse;
use super::readers::Readers;
use super::runner::{Runner, detached};
use crate::failure::Failure;
use crate::prepared::Verdicts;
use crate::query::SAGAS_PER_READ;
use crate::reader::SqlReader;
use crate::split;
use crate::stats::Counters;
use crate::unit::Unit;

/// Connections for dismissing nodes and for releasing their sagas: one may wait for somebody.
const WATCHERS: u32 = 2;

/// Connections for batches of commits that somebody holds up, so that these keep no writer waiting.
const HELD_UP: u32 = 1;

/// Sagas released per statement, so that nobody waits long for their rows.
const RELEASED_AT_ONCE: u32 = 500;

/// The store on a PostgreSQL database, which any number of processes share. Cheap to clone.
///
/// *Guarantees*: what [`Verdict::Accepted`] says is on the server's disk (`synchronous_commit=on`), whatever the
/// server's default. Reads see what is committed and wait for no writer. No call hangs: each ends within the
/// bounds of its [settings](PostgresSettings), at the latest as [`Fault::Unavailable`].
///
/// *Not guaranteed*: anything behind a pooler that hands out connections per transaction, or on a server with
/// `fsync=off`.
///
/// Joining dismisses nobody here: other incarnations may be alive. Who finds one dead dismisses it and releases
/// its sagas ([`NodeStore`](amends::ports::NodeStore)).
#[derive(Clone)]
pub struct PostgresStore {
    pub(super) reader: Readers,
    /// Batches, and nothing else, so that they wait for nobody's connection.
    batches: Runner,
    patiences: Patiences,
    writers: usize,
    pub(super) runner: Runner,
    /// What nodes tell each other goes by connections of its own.
    pub(super) watch: Runner,
    pub(super) pulse: Pulse,
    pub(super) hinting: Hinting,
    pub(super) counters: Arc<Counters>,
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("wrote", &self.stats()).finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Connects to the database at `url` (`postgres://user:password@host:port/database`), and brings its schema
    /// up to date. Its tables lie in the first schema of the user's `search_path`.
    ///
    /// # Errors
    /// [`Fault::Unavailable`] if it cannot be reached (told at once with the reason, the host and the port, never the
    /// password; only a server that is starting or has no connection left is waited for), the user may not create
    /// tables, or another process takes longer than a minute over the schema.
    pub async fn open(url: &str) -> Result<Self, Fault> {
        Self::open_with(url, PostgresSettings::default()).await
    }

    /// As [`open`](Self::open), with other settings.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_with(url: &str, settings: PostgresSettings) -> Result<Self, Fault> {
        let address = Address::parse(url)?;
        address.reach(&settings).await?;
        address.migrate(&settings).await?;
        let writers = settings.writers.max(1);
        let pool = address.writers(writers + HELD_UP, settings.batch_lock_timeout, &settings).await?;
        let batches = Runner::new(pool, &settings);
        let pool = address.writers(settings.side_writers, settings.lock_timeout, &settings).await?;
        let runner = Runner::new(pool, &settings);
        let pool = address.writers(WATCHERS, settings.lock_timeout, &settings).await?;
        let watch = Runner::new(pool, &settings);
        let pulse = Pulse::new(address.clone());
        let hinting = Hinting::new(address.clone(), &settings);
        let reader = Readers::connect(address, &settings).await?;
        let (patiences, writers) = (Patiences::of(&settings), writers as usize);
        Ok(Self {
            reader,
            batches,
            patiences,
            writers,
            runner,
            watch,
            pulse,
            hinting,
            counters: Arc::default(),
        })
    }

    /// Connects to a database that has the schema, to read only.
    ///
    /// # Errors
    /// [`Fault::Unavailable`] if it cannot be reached.
    pub async fn open_read_only(url: &str) -> Result<SqlReader, Fault> {
        Self::open_read_only_with(url, PostgresSettings::default()).await
    }

    /// As [`open_read_only`](Self::open_read_only), with other settings. Each read ends within their bounds.
    ///
    /// # Errors
    /// As [`open_read_only`](Self::open_read_only).
    pub async fn open_read_only_with(url: &str, settings: PostgresSettings) -> Result<SqlReader, Fault> {
        let address = Address::parse(url)?;
        address.reach(&settings).await?;
        Ok(SqlReader::new(Readers::connect(address, &settings).await?))
    }

    /// Finishes what is under way and closes the connections. Every other handle is then unavailable.
    pub async fn close(self) {
        self.hinting.close();
        self.batches.close().await;
        self.runner.close().await;
        self.watch.close().await;
        self.pulse.close();
        self.reader.close().await;
    }

    /// What this process has written since the store was opened.
    pub fn stats(&self) -> WriteStats {
        self.counters.read()
    }

    /// Runs a unit whose every statement is a transaction of its own.
    pub(super) async fn run<U>(&self, unit: U) -> Result<U::Done, Fault>
    where
        U: Unit<PgConnection, Done: 'static> + Send + 'static,
    {
        let runner = self.runner.clone();
        detached(async move { runner.run(&unit).await.map_err(Failure::into_fault) }).await
    }

    /// Runs a unit in one transaction.
    pub(super) async fn transact<U>(&self, unit: U) -> Result<U::Done, Fault>
    where
        U: Unit<PgConnection, Done: 'static> + Send + 'static,
    {
        let runner = self.runner.clone();
        detached(async move { runner.transact(&unit).await.map_err(Failure::into_fault) }).await
    }
}

#[async_trait]
impl SagaStore for PostgresStore {
    async fn join(&self, incarnation: Incarnation, node: &str, now: Timestamp) -> Result<(), Fault> {
        self.transact(Join { incarnation, node: node.to_owned(), now }).await
    }

    fn writers(&self) -> usize {
        self.writers
    }

    async fn commit(&self, incarnation: Incarnation, batch: &[Commit]) -> Result<Vec<Verdict>, Fault> {
        let due = batch.iter().any(Commit::leaves_its_saga_due);
        let (verdicts, batch) = Verdicts::begin(batch);
        let Self { batches, patiences, counters, .. } = self.clone();
        let found = detached(async move {
            let mut writer = Writer::new(&batches, &counters, &patiences);
            split::write(&mut writer, &counters, incarnation, &batch).await
        });
        let found = found.await?;
        if due {
            self.hinting.give(None);
        }
        Ok(verdicts.end(found))
    }

    async fn claim(&self, claim: &Claim) -> Result<Vec<SagaId>, Fault> {
        let claimed = self.run(claim.clone()).await?;
        self.counters.add(&WriteStats { claims: claimed.len() as u64, ..WriteStats::default() });
        Ok(claimed)
    }

    async fn load(&self, sagas: &[SagaId]) -> Result<Vec<Loaded>, Fault> {
        let mut all = Vec::with_capacity(sagas.len());
        for some in sagas.chunks(SAGAS_PER_READ) {
            all.extend(self.reader.within_bounds(|reader| async move { reader.load(some).await }).await?);
        }
        Ok(all)
    }

    async fn set_aside(
        &self,
        incarnation: Incarnation,
        saga: SagaId,
        reason: &str,
        now: Timestamp,
    ) -> Result<bool, Fault> {
        // The reason may quote what could not be read.
        self.run(SetAside { incarnation, saga, reason: reason.replace('\0', "\u{fffd}"), now }).await
    }

    async fn leave(&self, incarnation: Incarnation, now: Timestamp) -> Result<(), Fault> {
        self.transact(Leave { incarnation, now }).await?;
        let mut released = 0;
        loop {
            let some = self.run(ReleaseOf { incarnation, now, limit: RELEASED_AT_ONCE }).await?;
            released += some;
            if some == 0 {
                break;
            }
        }
        if released > 0 {
            // At once: this process may end as soon as it has left. What is not heard is found by looking.
            self.hinting.give_now(None).await;
        }
        Ok(())
    }
}

#[async_trait]
impl SagaQuery for PostgresStore {
    async fn find(&self, workflow: &str, key: &str) -> Result<Option<SagaRow>, Fault> {
        self.reader.find(workflow, key).await
    }

    async fn read(&self, saga: SagaId) -> Result<Option<Loaded>, Fault> {
        self.reader.read(saga).await
    }

    async fn list(&self, filter: &SagaFilter) -> Result<SagaPage, Fault> {
        self.reader.list(filter).await
    }

    async fn desk(&self, limit: u32) -> Result<Vec<(SagaId, WorkItemRow)>, Fault> {
        self.reader.desk(limit).await
    }

    async fn compensations(&self, saga: SagaId) -> Result<Vec<CompensationRow>, Fault> {
        self.reader.compensations(saga).await
    }

    async fn counts(&self) -> Result<StoreCounts, Fault> {
        self.reader.counts().await
    }
}

#[async_trait]
impl DeskQuery for PostgresStore {
    async fn desk_page(&self, filter: &DeskFilter) -> Result<DeskPage, Fault> {
        self.reader.desk_page(filter).await
    }

    async fn desk_groups(&self, filter: &DeskFilter) -> Result<Vec<DeskGroup>, Fault> {
        self.reader.desk_groups(filter).await
    }
}
