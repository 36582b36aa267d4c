//! A unit of work: what happens inside one transaction, or in one statement that is one.

use async_trait::async_trait;

use crate::failure::Failure;

/// The body of one transaction on a connection of type `C`. A function of its inputs, because it may run again.
///
/// It neither begins nor ends the transaction: whoever runs it does, and rolls back whenever the body fails.
#[async_trait]
pub(crate) trait Unit<C>: Sync {
    /// What it found out.
    type Done: Send;

    /// Runs on a connection that the runner holds for it alone.
    async fn run(&self, connection: &mut C) -> Result<Self::Done, Failure>;
}
