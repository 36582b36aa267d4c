//! Starting a saga in a transaction of the caller's own.

use amends::ports::{Fault, Label, PreparedStart, SagaRow};
use amends_core::{SagaId, Timestamp};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DatabaseTransaction, DbBackend, DbErr, EntityTrait, QueryFilter,
    RuntimeErr, Statement, Value, sqlx,
};

use crate::entity::saga;
use crate::failure::fault;

/// The saga without owner and due now, with its first journal row; nothing if its key is taken. No conflict target: the
/// same prepared start twice meets the primary key as well as the business key. From `$15` on it is too old.
const START: &str = "WITH new AS (INSERT INTO saga (id, owner, wake_at, wake_set_at, occurred_at, deadline, started_at, \
      version, workflow, key, digest, input_digest, phase, tenant, labels) \
      SELECT $1, NULL, $4, $4, $2, $3, $4, $5, $6, $7, $8, $9, 'running', $13, $14 \
      WHERE $15::bigint IS NULL OR $15 > extract(epoch FROM clock_timestamp()) * 1000000 \
      ON CONFLICT DO NOTHING RETURNING id) \
    INSERT INTO journal (saga_id, transition_id, seq, at, actor, events) \
    SELECT id, $10, 1, $4, $11, $12 FROM new RETURNING saga_id";

const IS_FRESH: &str = "SELECT $1 > extract(epoch FROM clock_timestamp()) * 1000000";

/// How many times it looks for who holds the key, when the holder is gone by the time one looks.
const LOOKS_MAX: u32 = 5;

/// What a start in the caller's transaction led to. Nothing of it is true for anybody else before the commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartedIn {
    /// A new saga, which exists if the transaction commits.
    New(SagaId),
    /// The same start was made before: this saga, perhaps purged long since.
    Before(Box<SagaRow>),
    /// The key stands for another input. The saga that has it is untouched, and so is the transaction.
    Conflict(Box<SagaRow>),
}

/// A start could not be written into the caller's transaction.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartInError {
    /// Only PostgreSQL takes it: a file of SQLite has one writer, which is the store's.
    #[error("failed to start the saga in this transaction: it is not one of PostgreSQL")]
    Backend,
    /// Another start of the same key came after this transaction's snapshot (REPEATABLE READ, SERIALIZABLE), or a
    /// deadlock was found. The transaction is lost: roll it back and run it again.
    #[error("failed to start the saga in this transaction: run the transaction again: {0}")]
    RunAgain(String),
    /// The key's holder came and went while this looked. Nothing was written; start again within the transaction.
    #[error("failed to start the saga in this transaction: its key changed hands meanwhile")]
    KeyMoves,
    /// It occurred before the dedupe horizon by now, though not yet when it was prepared: whether the same start was made
    /// before is forgotten. Nothing was written, and the transaction goes on. As
    /// [`SagaStartError::TooOld`](amends::engine::SagaStartError::TooOld).
    #[error(
        "failed to start the saga in this transaction: it occurred at {occurred_at}, and that is forgotten since {since}"
    )]
    TooOld {
        /// The source event's own time.
        occurred_at: Timestamp,
        /// Since when.
        since: Timestamp,
    },
    /// The statement failed, and with it the transaction.
    #[error(transparent)]
    Store(#[from] Fault),
}

/// Writes a [prepared start](amends::Engine::prepare_start) into a transaction on the store's database: PostgreSQL
/// only, because a file of SQLite has one writer, which is the store's.
///
/// The store's tables must be found by the names `saga` and `journal` on this connection: they lie in the first schema
/// of the `search_path` that the store was opened with.
///
/// # Guarantees
/// The saga exists if and only if the transaction commits; before, no engine sees it. A key that is taken does not
/// spoil the transaction. While another transaction holds the same key uncommitted, this waits for it, and so do the
/// starts of that key in every engine: keep such transactions short.
///
/// # Isolation
/// Under READ COMMITTED a repeated start always finds the saga. Under REPEATABLE READ and SERIALIZABLE a start of the
/// same key that came after this transaction's snapshot is [`StartInError::RunAgain`].
///
/// # Errors
/// See [`StartInError`].
pub async fn start_in(txn: &DatabaseTransaction, start: &PreparedStart) -> Result<StartedIn, StartInError> {
    if txn.get_database_backend() != DbBackend::Postgres {
        return Err(StartInError::Backend);
    }
    for _look in 0..LOOKS_MAX {
        let statement = Statement::from_sql_and_values(DbBackend::Postgres, START, values(start));
        if txn.query_one_raw(statement).await.map_err(failed)?.is_some() {
            return Ok(StartedIn::New(start.saga));
        }
        // In a new statement: what the insert waited for was not to be seen in the same one.
        let holder = saga::Entity::find()
            .filter(saga::Column::Workflow.eq(&*start.new.definition.workflow))
            .filter(saga::Column::Key.eq(&*start.new.key));
        if let Some(holder) = holder.one(txn).await.map_err(failed)? {
            let row = SagaRow::try_from(holder)?;
            return Ok(match row {
                row if row.id == start.saga => StartedIn::New(row.id),
                row if row.input_digest == start.new.input_digest => StartedIn::Before(Box::new(row)),
                row => StartedIn::Conflict(Box::new(row)),
            });
        }
        if let Some(since) = start.fresh_until
            && !is_fresh(txn, since).await?
        {
            return Err(StartInError::TooOld { occurred_at: start.new.occurred_at, since });
        }
    }
    Err(StartInError::KeyMoves)
}

/// By the server's clock, as the start itself.
async fn is_fresh(txn: &DatabaseTransaction, until: Timestamp) -> Result<bool, StartInError> {
    let statement = Statement::from_sql_and_values(DbBackend::Postgres, IS_FRESH, [until.0.into()]);
    let row = txn.query_one_raw(statement).await.map_err(failed)?;
    row.map_or(Ok(true), |row| row.try_get_by_index(0)).map_err(failed)
}

fn values(start: &PreparedStart) -> Vec<Value> {
    let PreparedStart { saga, new, journal, fresh_until } = start;
    vec![
        saga.0.into(),
        new.occurred_at.0.into(),
        new.deadline.map(|at| at.0).into(),
        new.started_at.0.into(),
        i32::try_from(new.definition.version).unwrap_or(i32::MAX).into(),
        (*new.definition.workflow).into(),
        (*new.key).into(),
        new.definition.digest.to_vec().into(),
        new.input_digest.to_vec().into(),
        journal.transition.0.into(),
        (*journal.actor).into(),
        journal.events.as_str().into(),
        new.tenant.as_deref().into(),
        Label::write(&new.labels).into(),
        fresh_until.map(|at| at.0).into(),
    ]
}

/// PostgreSQL's codes for a transaction that has to run again.
fn failed(error: DbErr) -> StartInError {
    if let DbErr::Conn(RuntimeErr::SqlxError(cause))
    | DbErr::Exec(RuntimeErr::SqlxError(cause))
    | DbErr::Query(RuntimeErr::SqlxError(cause)) = &error
        && let sqlx::Error::Database(cause) = &**cause
        && matches!(cause.code().as_deref(), Some("40001" | "40P01"))
    {
        return StartInError::RunAgain(cause.to_string());
    }
    StartInError::Store(fault(error))
}
