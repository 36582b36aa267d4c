//! The transaction around a call, and the savepoint inside it.

use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr, SqliteTransactionMode,
    TransactionOptions, TransactionTrait,
};

use crate::Error;

/// Runs `work` in a transaction of its own: commits when it answers, rolls back when it fails.
///
/// On SQLite the transaction begins `IMMEDIATE`: it waits its turn (the connection's busy timeout) before
/// it reads anything, which is how calls serialise there. `work` runs once; nothing here retries, for
/// whoever sent the call does.
///
/// # Cancellation
///
/// A future that is dropped before it commits rolls back. On PostgreSQL, run it in a task of its own
/// (`tokio::spawn`) where the caller may be cancelled: the driver forgets about a `BEGIN` that was dropped
/// on its way, and the next user of that connection would write into a transaction that nobody commits.
///
/// # Errors
///
/// What `work` fails with; [`Error::Database`] if no transaction could be begun; [`Error::Commit`] if it
/// is unknown whether the commit took place.
pub async fn in_transaction<A, E, W>(db: &DatabaseConnection, work: W) -> Result<A, E>
where
    E: From<Error>,
    W: AsyncFnOnce(&DatabaseTransaction) -> Result<A, E>,
{
    let options = TransactionOptions {
        sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
        ..TransactionOptions::default()
    };
    let txn = db.begin_with_options(options).await.map_err(Error::Database)?;
    match work(&txn).await {
        Ok(answer) => {
            txn.commit().await.map_err(Error::Commit)?;
            Ok(answer)
        }
        Err(failure) => {
            // The failure is the news. Should this fail too, the connection is gone, and the database
            // rolls back what it never committed.
            let _ = txn.rollback().await;
            Err(failure)
        }
    }
}

/// What a part of a transaction answers, and whether that part is to stay.
pub(crate) enum Written<A> {
    Something(A),
    Nothing(A),
}

/// Runs a part of the caller's transaction that stays only if it answers [`Written::Something`].
///
/// So a body that fails leaves nothing even where the caller goes on and commits, and a call that is
/// answered without effect leaves no empty row.
pub(crate) async fn in_savepoint<A, E>(
    txn: &DatabaseTransaction,
    part: impl Future<Output = Result<Written<A>, E>>,
) -> Result<A, E>
where
    E: From<Error>,
{
    txn.execute_unprepared("SAVEPOINT amends_barrier").await.map_err(Error::Database)?;
    let (answer, stays) = match part.await {
        Ok(Written::Something(answer)) => (Ok(answer), true),
        Ok(Written::Nothing(answer)) => (Ok(answer), false),
        Err(failure) => (Err(failure), false),
    };
    leave_savepoint(txn, stays).await.map_err(Error::Database)?;
    answer
}

async fn leave_savepoint(txn: &DatabaseTransaction, stays: bool) -> Result<(), DbErr> {
    if !stays {
        txn.execute_unprepared("ROLLBACK TO SAVEPOINT amends_barrier").await?;
    }
    txn.execute_unprepared("RELEASE SAVEPOINT amends_barrier").await?;
    Ok(())
}
