//! What became of a call.

use sea_orm::DatabaseTransaction;
use serde::{Serialize, de::DeserializeOwned};
use uuid::Uuid;

use crate::answer::Keep;
use crate::{Error, Fence, Finding, Outcome, Undo, row};

/// Says what became of the forward call `request_id`.
///
/// With `fence_through` it waits for a call that is running and, if nothing is kept then, closes the
/// request id up to that attempt: no transmission of it can take effect any more once the caller has
/// committed, so commit before you answer. Without, it writes nothing and waits for nobody.
///
/// # Errors
///
/// [`Error::Database`], or [`Error::Unreadable`] if the kept answer is not of these types.
pub async fn query<T, R>(
    txn: &DatabaseTransaction,
    request_id: Uuid,
    fence_through: Option<u32>,
) -> Result<Finding<Outcome<T, R>>, Error>
where
    T: Serialize + DeserializeOwned,
    R: Serialize + DeserializeOwned,
{
    find(txn, request_id, fence_through).await
}

/// Says what became of the compensation `request_id` (its own request id, not its forward call's), as
/// [`query`] does for a forward call.
///
/// # Errors
///
/// [`Error::Database`], or [`Error::Unreadable`] if this is not the request id of a compensation.
pub async fn query_compensation(
    txn: &DatabaseTransaction,
    request_id: Uuid,
    fence_through: Option<u32>,
) -> Result<Finding<Undo>, Error> {
    find(txn, request_id, fence_through).await
}

async fn find<K: Keep>(
    txn: &DatabaseTransaction,
    request_id: Uuid,
    fence_through: Option<u32>,
) -> Result<Finding<K>, Error> {
    match fence_through {
        Some(attempt) => find_or_fence(txn, request_id, attempt).await,
        None => look(txn, request_id).await,
    }
}

async fn find_or_fence<K: Keep>(
    txn: &DatabaseTransaction,
    request_id: Uuid,
    attempt: u32,
) -> Result<Finding<K>, Error> {
    let row = row::lock(txn, request_id).await?;
    if let Some(kept) = row.kept()? {
        return Ok(Finding::Kept(kept));
    }
    // A fence never moves back: what an earlier query promised stays promised.
    match row.fence() {
        Some(fence) if attempt <= fence.through() => Ok(Finding::Fenced(fence)),
        _ => {
            row.fence_through(txn, attempt).await?;
            Ok(Finding::Fenced(Fence::Through(attempt)))
        }
    }
}

async fn look<K: Keep>(txn: &DatabaseTransaction, request_id: Uuid) -> Result<Finding<K>, Error> {
    let Some(row) = row::look(txn, request_id).await? else { return Ok(Finding::Absent) };
    if let Some(kept) = row.kept()? {
        return Ok(Finding::Kept(kept));
    }
    Ok(if row::is_held(txn, request_id).await? { Finding::InProgress } else { Finding::Absent })
}
