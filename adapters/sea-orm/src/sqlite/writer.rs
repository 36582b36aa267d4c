//! The one task that writes.
//!
//! Callers send it a message and wait for the answer. If a caller goes away, only the answer is lost: the
//! transaction it asked for commits or rolls back as a whole, and nobody ever meets a connection inside
//! somebody else's transaction. So no future that holds a transaction is ever dropped before its end, except
//! with the whole runtime, and then the connection closes, which rolls back.
//!
//! What can fail, and what happens then:
//! * the write lock is busy: SQLite waits `busy_timeout`, the writer tries `busy_retries` times more, then the
//!   call ends as unavailable;
//! * a row is refused for its content: the batch is halved until the culprit stands alone;
//! * not every row is new: nothing is kept, and the batch is written again commit by commit;
//! * ROLLBACK itself fails, or COMMIT's answer is lost: the connection is closed, and the next call opens one.
//!   The same rows may then be submitted again: their transition ids tell whether they stand.

use std::sync::Arc;

use amends::ports::{CLOCK_TOLERANCE, Claim, Fault, LetGo, Ordered, Posted, Sharing, Verdict, WriteStats};
use amends_core::{Incarnation, SagaId, Timestamp};
use async_trait::async_trait;
use sea_orm::DatabaseConnection;
use sea_orm::sqlx::sqlite::SqliteConnection;
use sea_orm::sqlx::{self, Connection as _};
use tokio::sync::{mpsc, oneshot};

use super::batch::{Batch, Manner};
use super::controls::Give;
use super::lock::LockFile;
use super::mail::Post;
use super::nodes::{Beat, Dismiss, MendClock, Release};
use super::outbox::{ClaimLanes, LettingGo, NoteRefusal, RemovePublished};
use super::owners::{Join, Leave, SetAside};
use super::{Faults, SqliteSettings, sql};
use crate::failure::Failure;
use crate::prepared::Prepared;
use crate::split::{self, WriteBatch, Written};
use crate::stats::Counters;
use crate::unit::Unit;

/// Sagas released per transaction, so that nobody waits long for the write lock.
const MOVED_AT_ONCE: u32 = 500;

/// An answer to a caller, who may have gone away.
pub(super) type Answer<T> = oneshot::Sender<Result<T, Fault>>;

/// A unit on its way to the writer, with the way of its answer.
#[async_trait]
pub(super) trait Errand: Send {
    /// Runs it in one transaction, and answers.
    async fn serve(self: Box<Self>, writer: &mut Writer);
}

/// A unit whose failure its caller judges.
pub(super) struct Asked<U: Unit<SqliteConnection>> {
    pub(super) unit: U,
    pub(super) answer: oneshot::Sender<Result<U::Done, Failure>>,
}

#[async_trait]
impl<U: Unit<SqliteConnection> + Send> Errand for Asked<U> {
    async fn serve(self: Box<Self>, writer: &mut Writer) {
        let Self { unit, answer } = *self;
        answer.send(writer.transact(&unit).await).ok();
    }
}

/// What the writer is asked to do.
pub(super) enum Request {
    Commit { incarnation: Incarnation, batch: Vec<Prepared>, answer: Answer<Vec<(usize, Verdict)>> },
    Claim { claim: Claim, answer: Answer<Vec<SagaId>> },
    Join { join: Join, answer: Answer<()> },
    Leave { leave: Leave, answer: Answer<()> },
    SetAside { set_aside: SetAside, answer: Answer<()> },
    Beat { beat: Beat, answer: Answer<u64> },
    Dismiss { dismiss: Dismiss, answer: Answer<bool> },
    Release { release: Release, answer: Answer<u32> },
    MendClock { mend: MendClock, answer: Answer<u32> },
    Post { post: Post, answer: Answer<Posted> },
    ClaimLanes { claim: ClaimLanes, answer: Answer<Vec<u16>> },
    RemovePublished { remove: RemovePublished, answer: Answer<u32> },
    NoteRefusal { note: NoteRefusal, answer: Answer<u32> },
    LetGo { letting_go: LettingGo, answer: Answer<LetGo> },
    Order { give: Give, answer: Answer<Ordered> },
    Unit(Box<dyn Errand>),
    Close { answer: Answer<()> },
}

pub(super) struct Writer {
    /// Where a new connection comes from.
    pub(super) db: DatabaseConnection,
    /// None before the first call, and after a connection could not be trusted any more.
    pub(super) connection: Option<SqliteConnection>,
    /// The connection was told to refuse writes.
    pub(super) query_only: bool,
    pub(super) settings: SqliteSettings,
    pub(super) faults: Faults,
    pub(super) counters: Arc<Counters>,
    /// Held until the connection is closed.
    pub(super) lock: LockFile,
}

impl Writer {
    /// Serves until it is told to close, or no handle of the store is left.
    pub(super) async fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        let mut closed = None;
        while let Some(request) = requests.recv().await {
            if let Some(answer) = self.serve(request).await {
                closed = Some(answer);
                break;
            }
        }
        drop(requests);
        let Self { db, connection, lock, .. } = self;
        if let Some(connection) = connection {
            // The file is consistent whether or not this succeeds.
            connection.close().await.ok();
        }
        db.close().await.ok();
        drop(lock);
        if let Some(answer) = closed {
            answer.send(Ok(())).ok();
        }
    }

    /// Does what is asked; a request to close is handed back. That a caller has gone away is not an error.
    async fn serve(&mut self, request: Request) -> Option<Answer<()>> {
        match request {
            Request::Commit { incarnation, batch, answer } => {
                let counters = self.counters.clone();
                answer.send(split::write(self, &counters, incarnation, &batch).await).ok();
            }
            Request::Claim { claim, answer } => {
                answer.send(self.claim(&claim).await).ok();
            }
            Request::Join { join, answer } => {
                answer.send(self.join(&join).await).ok();
            }
            Request::Leave { leave, answer } => {
                answer.send(self.then_release(&leave, leave.now).await).ok();
            }
            Request::SetAside { set_aside, answer } => {
                answer.send(self.one(&set_aside).await).ok();
            }
            Request::Beat { beat, answer } => {
                answer.send(self.one(&beat).await).ok();
            }
            Request::Dismiss { dismiss, answer } => {
                answer.send(self.one(&dismiss).await).ok();
            }
            Request::Release { release, answer } => {
                answer.send(self.one(&release).await).ok();
            }
            Request::MendClock { mend, answer } => {
                answer.send(self.one(&mend).await).ok();
            }
            Request::Post { post, answer } => {
                answer.send(self.post(&post).await).ok();
            }
            Request::ClaimLanes { claim, answer } => {
                answer.send(self.one(&claim).await).ok();
            }
            Request::RemovePublished { remove, answer } => {
                answer.send(self.changed_outbox(&remove).await).ok();
            }
            Request::NoteRefusal { note, answer } => {
                answer.send(self.changed_outbox(&note).await).ok();
            }
            Request::LetGo { letting_go, answer } => {
                answer.send(self.let_go(&letting_go).await).ok();
            }
            Request::Order { give, answer } => {
                answer.send(self.one(&give).await).ok();
            }
            Request::Unit(errand) => errand.serve(self).await,
            Request::Close { answer } => return Some(answer),
        }
        None
    }

    async fn claim(&mut self, claim: &Claim) -> Result<Vec<SagaId>, Fault> {
        let claimed = self.transact(claim).await.map_err(Failure::into_fault)?;
        self.counters.add(&WriteStats { claims: claimed.len() as u64, ..WriteStats::default() });
        Ok(claimed)
    }

    /// Content that the database refuses is refused to the poster.
    async fn post(&mut self, post: &Post) -> Result<Posted, Fault> {
        match self.transact(post).await {
            Ok(posted) => {
                let mail = u64::from(posted == Posted::Accepted);
                self.counters.add(&WriteStats { mail, ..WriteStats::default() });
                Ok(posted)
            }
            Err(Failure::Content(reason)) => Ok(Posted::Unstorable { reason }),
            Err(failure) => Err(failure.into_fault()),
        }
    }

    async fn changed_outbox(&mut self, unit: &impl Unit<SqliteConnection, Done = u32>) -> Result<u32, Fault> {
        let changed = self.one(unit).await?;
        self.counters.add(&WriteStats { outbox: u64::from(changed), ..WriteStats::default() });
        Ok(changed)
    }

    async fn let_go(&mut self, letting_go: &LettingGo) -> Result<LetGo, Fault> {
        let answer = self.one(letting_go).await?;
        let outbox = u64::from(answer == LetGo::Done);
        self.counters.add(&WriteStats { outbox, ..WriteStats::default() });
        Ok(answer)
    }

    async fn join(&mut self, join: &Join) -> Result<(), Fault> {
        if join.sharing == Sharing::Shared {
            return self.one(join).await;
        }
        self.then_release(join, join.now).await?;
        let mend = MendClock { now: join.now, tolerance: CLOCK_TOLERANCE, limit: MOVED_AT_ONCE };
        while self.one(&mend).await? > 0 {}
        Ok(())
    }

    /// Then releases the sagas of incarnations without `worker` row, in chunks; repeating it adds nothing.
    async fn then_release(
        &mut self,
        first: &impl Unit<SqliteConnection, Done = ()>,
        now: Timestamp,
    ) -> Result<(), Fault> {
        self.one(first).await?;
        while self.one(&Release { now, limit: MOVED_AT_ONCE }).await? > 0 {}
        Ok(())
    }

    async fn one<U: Unit<SqliteConnection>>(&mut self, unit: &U) -> Result<U::Done, Fault> {
        self.transact(unit).await.map_err(Failure::into_fault)
    }

    /// Runs `unit` in one transaction, and again while the write lock is busy, within bounds.
    async fn transact<U: Unit<SqliteConnection>>(&mut self, unit: &U) -> Result<U::Done, Failure> {
        let mut busy = String::new();
        for _ in 0..=self.settings.busy_retries {
            match self.transact_once(unit).await {
                Err(Failure::Busy(reason)) => busy = reason,
                ended => return ended,
            }
        }
        Err(Failure::Busy(busy))
    }

    async fn transact_once<U: Unit<SqliteConnection>>(&mut self, unit: &U) -> Result<U::Done, Failure> {
        let connection = self.connection().await?;
        sqlx::query(sql::BEGIN).execute(&mut *connection).await?;
        let ended = match unit.run(connection).await {
            Ok(done) => match sqlx::query(sql::COMMIT).execute(&mut *connection).await {
                Ok(_) => Ok(done),
                Err(error) => Err(Failure::from(error)),
            },
            Err(failure) => Err(failure),
        };
        match ended {
            Ok(_) if self.faults.loses_this_answer() => {
                self.disconnect().await;
                let reason = "the connection was closed before COMMIT was answered".to_owned();
                Err(Failure::Fault(Fault::Unavailable(reason)))
            }
            Ok(done) => Ok(done),
            Err(failure) => {
                self.roll_back().await;
                Err(failure)
            }
        }
    }

    /// After some errors SQLite has rolled back by itself, and says that no transaction is active. After any
    /// other failure the connection cannot be trusted to be outside a transaction.
    async fn roll_back(&mut self) {
        let Some(connection) = self.connection.as_mut() else { return };
        if let Err(error) = sqlx::query(sql::ROLLBACK).execute(connection).await
            && !error.to_string().contains("no transaction is active")
        {
            tracing::warn!(%error, "rolling back failed; the writer's connection is closed and opened anew");
            self.disconnect().await;
        }
    }

    async fn disconnect(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.close().await.ok();
        }
    }

    async fn connection(&mut self) -> Result<&mut SqliteConnection, Failure> {
        if self.connection.is_none() {
            let pooled = self.db.get_sqlite_connection_pool().acquire().await?;
            self.connection = Some(pooled.detach());
            self.query_only = false;
        }
        let connection = self.connection.as_mut().expect("it was just connected");
        let refuses = self.faults.refuses_writes();
        if refuses != self.query_only {
            let text = if refuses { "PRAGMA query_only = ON" } else { "PRAGMA query_only = OFF" };
            sqlx::query(text).execute(&mut *connection).await?;
            self.query_only = refuses;
        }
        Ok(connection)
    }
}

#[async_trait]
impl WriteBatch for Writer {
    async fn write(&mut self, incarnation: Incarnation, part: &[Prepared]) -> Result<Written, Failure> {
        let mut written = Err(Failure::NotAllNew);
        for manner in [Manner::Together, Manner::OneByOne] {
            if matches!(written, Err(Failure::NotAllNew)) {
                written = self.transact(&Batch { incarnation, commits: part, manner }).await;
            }
        }
        written
    }
}
