//! A participant with a ledger of effects, on a real SQLite file.

use amends_barrier::{
    Answer, Call, Closing, Error, Finding, Outcome, Undo, close_out, compensate, forward, in_transaction,
};
use sea_orm::{
    ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DatabaseTransaction, DbBackend, Statement,
};
use tempfile::TempDir;
use uuid::Uuid;

/// The service's own failure: the barrier passes it through.
#[derive(Debug)]
pub(crate) enum Failure {
    Barrier(Error),
    /// Known not to have taken effect, whatever else the service knows about it.
    NotNow,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Barrier(error)
    }
}

pub(crate) type Forwarded = Result<Answer<Outcome<String, String>>, Failure>;
pub(crate) type Found = Result<Finding<Outcome<String, String>>, Error>;

/// What the body is to do once it has written its line to the ledger.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Does {
    Succeed,
    Partly,
    Refuse,
    Fail,
}

pub(crate) struct Service {
    folder: TempDir,
    pub(crate) db: DatabaseConnection,
}

impl Service {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let db = connect(&folder).await;
        amends_barrier::install(&db).await.unwrap();
        // A service that starts again finds its table.
        amends_barrier::install(&db).await.unwrap();
        db.execute_unprepared("CREATE TABLE ledger (request_id BLOB, line TEXT)").await.unwrap();
        Self { folder, db }
    }

    /// A second process, as far as the database can tell.
    pub(crate) async fn another_connection(&self) -> DatabaseConnection {
        connect(&self.folder).await
    }

    pub(crate) async fn count(&self, table: &str) -> i64 {
        self.number(&format!("SELECT count(*) AS n FROM {table}")).await
    }

    pub(crate) async fn number(&self, sql: &str) -> i64 {
        let found = self.db.query_one_raw(Statement::from_string(DbBackend::Sqlite, sql)).await.unwrap();
        found.unwrap().try_get("", "n").unwrap()
    }

    pub(crate) async fn forward(&self, call: Call, does: Does) -> Forwarded {
        in_transaction(&self.db, async |txn| forward(txn, call, || effect(txn, call, does)).await).await
    }

    pub(crate) async fn compensate(&self, call: Call, of: Uuid, does: Does) -> Result<Answer<Undo>, Failure> {
        in_transaction(&self.db, async |txn| {
            compensate(txn, call, of, || async { effect(txn, call, does).await.map(|_| Undo::Undone) }).await
        })
        .await
    }

    /// In words that name the attempt.
    pub(crate) async fn close_out(&self, closing: Closing) -> Result<Answer<Outcome<String, String>>, Error> {
        let said = format!("busy {}", closing.attempt);
        in_transaction(&self.db, async |txn| close_out(txn, closing, &said).await).await
    }

    pub(crate) async fn query(&self, request_id: Uuid, fence: Option<u32>) -> Found {
        in_transaction(&self.db, async |txn| amends_barrier::query(txn, request_id, fence).await).await
    }

    pub(crate) async fn query_compensation(
        &self,
        request_id: Uuid,
        fence: Option<u32>,
    ) -> Result<Finding<Undo>, Error> {
        in_transaction(&self.db, async |txn| amends_barrier::query_compensation(txn, request_id, fence).await)
            .await
    }
}

async fn connect(folder: &TempDir) -> DatabaseConnection {
    let mut options =
        ConnectOptions::new(format!("sqlite://{}/service.db?mode=rwc", folder.path().display()));
    options.max_connections(1).sqlx_logging(false);
    let db = Database::connect(options).await.unwrap();
    // As a service would have it: who reads does not stand in the way of who writes.
    db.execute_unprepared("PRAGMA journal_mode = WAL").await.unwrap();
    db
}

/// Writes one line to the ledger, and then does as told. The answer names the attempt that wrote it.
pub(crate) async fn effect(
    txn: &DatabaseTransaction,
    call: Call,
    does: Does,
) -> Result<Outcome<String, String>, Failure> {
    let line = format!("attempt {}", call.attempt);
    let insert = Statement::from_sql_and_values(
        DbBackend::Sqlite,
        "INSERT INTO ledger VALUES (?, ?)",
        [call.request_id.into(), line.clone().into()],
    );
    txn.execute_raw(insert).await.map_err(Error::Database)?;
    match does {
        Does::Succeed => Ok(Outcome::Success(line)),
        Does::Partly => Ok(Outcome::Partial(Some(line))),
        Does::Refuse => Ok(Outcome::Refused(line)),
        Does::Fail => Err(Failure::NotNow),
    }
}

pub(crate) const FORWARD: Uuid = Uuid::from_u128(1);
pub(crate) const UNDO: Uuid = Uuid::from_u128(2);

/// The attempt of a request with the input that the tests call its own.
pub(crate) fn call(request_id: Uuid, attempt: u32) -> Call {
    Call { request_id, attempt, input_digest: [7; 32] }
}

/// The same with another input.
pub(crate) fn other_input(call: Call) -> Call {
    Call { input_digest: [8; 32], ..call }
}
