//! The handle.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use amends::ports::{
    Claim, Commit, CompensationRow, DeskFilter, DeskGroup, DeskPage, DeskQuery, Fault, Loaded, Mail, Posted,
    SagaFilter, SagaMail, SagaPage, SagaQuery, SagaRow, SagaStore, Sharing, StoreCounts, StoredMail, Verdict,
    WorkItemRow, WriteStats,
};
use amends_core::{Incarnation, SagaId, Timestamp};
use async_trait::async_trait;
use sea_orm::sqlx::sqlite::SqliteConnection;
use tokio::sync::{mpsc, oneshot};

use super::lock::LockFile;
use super::mail::Post;
use super::owners::{Join, Leave, SetAside};
use super::writer::{Answer, Asked, Request, Writer};
use super::{Faults, SqliteSettings, open};
use crate::failure::Failure;
use crate::prepared::Verdicts;
use crate::query::Queries;
use crate::reader::SqlReader;
use crate::stats::Counters;
use crate::unit::Unit;

/// Requests that may wait for the writer before their senders do.
const REQUESTS_WAITING: usize = 256;

/// The store on one SQLite file, which this process owns for as long as a handle of it lives. Cheap to clone.
///
/// *Guarantees*: what [`Verdict::Accepted`] says is on the disk (`synchronous=FULL`). Reads see what is
/// committed and wait for no writer. No call hangs: each ends within the bounds of its
/// [settings](SqliteSettings), at the latest as [`Fault::Unavailable`].
///
/// *Not guaranteed*: anything on network file systems, whose locks do not hold.
#[derive(Clone)]
pub struct SqliteStore {
    pub(super) sharing: Sharing,
    pub(super) reader: Queries,
    writer: mpsc::Sender<Request>,
    counters: Arc<Counters>,
    faults: Faults,
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("wrote", &self.stats()).finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens the file at `database` (a path, or a `sqlite:` URL), creates it if it does not exist, and brings
    /// its schema up to date.
    ///
    /// # Errors
    /// [`Fault::InUse`] if another process has it open, or another store of this one for longer than 1 s, in which a
    /// store that was dropped lets go; [`Fault::Unavailable`] if it cannot be opened;
    /// [`Fault::Corrupt`] if it is no database.
    pub async fn open(database: impl AsRef<Path>) -> Result<Self, Fault> {
        Self::open_with(database, SqliteSettings::default()).await
    }

    /// As [`open`](Self::open), with other settings.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_with(database: impl AsRef<Path>, settings: SqliteSettings) -> Result<Self, Fault> {
        let path = open::path_of(database.as_ref())?;
        let lock = LockFile::take(&path).await?;
        let db = open::writer(&path, &settings).await?;
        let reader = Queries::new(open::readers(&path, &settings).await?);
        let (faults, counters) = (Faults::default(), Arc::new(Counters::default()));
        let writer = Writer {
            db,
            connection: None,
            query_only: false,
            settings,
            faults: faults.clone(),
            counters: counters.clone(),
            lock,
        };
        let sharing = writer.settings.sharing;
        let (sender, requests) = mpsc::channel(REQUESTS_WAITING);
        tokio::spawn(writer.run(requests));
        Ok(Self { sharing, reader, writer: sender, counters, faults })
    }

    /// Opens the file at `database` for reading only: no lock is taken, whoever owns it goes on undisturbed.
    ///
    /// # Errors
    /// [`Fault::Unavailable`] if it does not exist or cannot be opened.
    pub async fn open_read_only(database: impl AsRef<Path>) -> Result<SqlReader, Fault> {
        let path = open::path_of(database.as_ref())?;
        if !path.exists() {
            return Err(Fault::Unavailable(format!("{} does not exist", path.display())));
        }
        Ok(SqlReader::new(Queries::new(open::readers(&path, &SqliteSettings::default()).await?)))
    }

    /// Finishes what was asked, closes the file and gives up its lock. Every other handle is then unavailable.
    ///
    /// Dropping the last handle does the same, some time later.
    ///
    /// # Errors
    /// [`Fault::Unavailable`] if it was closed before.
    pub async fn close(self) -> Result<(), Fault> {
        self.reader.close().await;
        self.ask(|answer| Request::Close { answer }).await
    }

    /// What was written since the store was opened.
    pub fn stats(&self) -> WriteStats {
        self.counters.read()
    }

    /// Makes the real connection fail, for tests.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Runs a unit in one transaction of the writer.
    pub(super) async fn transact<U>(&self, unit: U) -> Result<U::Done, Failure>
    where
        U: Unit<SqliteConnection> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let closed = || Failure::Fault(Fault::Unavailable("the store was closed".to_owned()));
        let errand = Box::new(Asked { unit, answer });
        self.writer.send(Request::Unit(errand)).await.map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }

    pub(super) async fn ask<T>(&self, request: impl FnOnce(Answer<T>) -> Request) -> Result<T, Fault> {
        let (answer, answered) = oneshot::channel();
        let closed = || Fault::Unavailable("the store was closed".to_owned());
        self.writer.send(request(answer)).await.map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }
}

#[async_trait]
impl SagaStore for SqliteStore {
    async fn join(&self, incarnation: Incarnation, node: &str, now: Timestamp) -> Result<(), Fault> {
        let join = Join { sharing: self.sharing, incarnation, node: node.to_owned(), now };
        self.ask(|answer| Request::Join { join, answer }).await
    }

    async fn commit(&self, incarnation: Incarnation, batch: &[Commit]) -> Result<Vec<Verdict>, Fault> {
        let (verdicts, batch) = Verdicts::begin(batch);
        let found = self.ask(|answer| Request::Commit { incarnation, batch, answer }).await?;
        Ok(verdicts.end(found))
    }

    async fn claim(&self, claim: &Claim) -> Result<Vec<SagaId>, Fault> {
        let claim = claim.clone();
        self.ask(|answer| Request::Claim { claim, answer }).await
    }

    async fn load(&self, sagas: &[SagaId]) -> Result<Vec<Loaded>, Fault> {
        self.reader.load(sagas).await
    }

    async fn set_aside(
        &self,
        incarnation: Incarnation,
        saga: SagaId,
        reason: &str,
        now: Timestamp,
    ) -> Result<bool, Fault> {
        // The reason may quote what could not be read.
        let set_aside = SetAside { incarnation, saga, reason: reason.replace('\0', "\u{fffd}"), now };
        self.ask(|answer| Request::SetAside { set_aside, answer }).await?;
        Ok(true)
    }

    async fn leave(&self, incarnation: Incarnation, now: Timestamp) -> Result<(), Fault> {
        let leave = Leave { incarnation, now };
        self.ask(|answer| Request::Leave { leave, answer }).await
    }
}

#[async_trait]
impl SagaQuery for SqliteStore {
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
impl DeskQuery for SqliteStore {
    async fn desk_page(&self, filter: &DeskFilter) -> Result<DeskPage, Fault> {
        self.reader.desk_page(filter).await
    }

    async fn desk_groups(&self, filter: &DeskFilter) -> Result<Vec<DeskGroup>, Fault> {
        self.reader.desk_groups(filter).await
    }
}

#[async_trait]
impl SagaMail for SqliteStore {
    async fn post(&self, mail: &Mail, open_max: u32) -> Result<Posted, Fault> {
        if let Some(reason) = mail.unstorable() {
            return Ok(Posted::Unstorable { reason });
        }
        let post = Post { mail: mail.clone(), open_max };
        self.ask(|answer| Request::Post { post, answer }).await
    }

    async fn unread(
        &self,
        incarnation: Incarnation,
        only: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<Mail>, Fault> {
        self.reader.unread(incarnation, only, limit).await
    }

    async fn mail(&self, saga: SagaId, key: &str) -> Result<Option<StoredMail>, Fault> {
        self.reader.mail(saga, key).await
    }

    async fn mail_of(&self, saga: SagaId, limit: u32) -> Result<Vec<StoredMail>, Fault> {
        self.reader.mail_of(saga, limit).await
    }
}
