//! A unit of work: what happens inside one transaction.

use async_trait::async_trait;
use sea_orm::sqlx::sqlite::SqliteConnection;

use super::failure::Failure;

/// The body of one transaction. A function of its inputs, because it may run again.
///
/// It neither begins nor ends the transaction: the [writer](super::writer) does, and rolls back whenever the
/// body fails.
#[async_trait]
pub(super) trait Unit: Sync {
    /// What it found out.
    type Done: Send;

    /// Runs inside an open transaction that holds the write lock.
    async fn run(&self, connection: &mut SqliteConnection) -> Result<Self::Done, Failure>;
}
