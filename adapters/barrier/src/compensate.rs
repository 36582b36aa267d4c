//! The compensation of a forward call.

use sea_orm::DatabaseTransaction;
use uuid::Uuid;

use crate::transaction::{Written, in_savepoint};
use crate::{Answer, Call, Error, Undo, row, rules};

/// Takes the compensation of the call `forward_request_id`: runs `body` at most once per request id of
/// the *compensation*, and closes the forward call for ever.
///
/// Where no success or partial of the forward call is kept, it answers [`Undo::NothingToUndo`] without
/// running `body`, and a forward call that comes later is fenced. Otherwise `body` undoes it through the
/// same `txn`. If it needs what the forward call answered, [`query`](crate::query) in the same
/// transaction says it. Its error undoes what it wrote, keeps nothing (no fence either; the forward call
/// still has its kept answer, so it cannot take effect again) and is passed through.
///
/// # Errors
///
/// What `body` fails with, or an [`Error`] of the barrier itself.
pub async fn compensate<E, B, F>(
    txn: &DatabaseTransaction,
    call: Call,
    forward_request_id: Uuid,
    body: B,
) -> Result<Answer<Undo>, E>
where
    E: From<Error>,
    B: FnOnce() -> F,
    F: Future<Output = Result<Undo, E>>,
{
    let compensates = Some(forward_request_id);
    in_savepoint(txn, async {
        // Always the forward row first: one order for all, so that no two wait for each other. It also
        // waits for a forward call that is running, and so never undoes half of one.
        let forward = row::lock(txn, forward_request_id).await.map_err(Error::Database)?;
        let row = row::lock(txn, call.request_id).await.map_err(Error::Database)?;
        if let Some(answer) = rules::settled(&row, &call, compensates)? {
            return Ok(Written::Nothing(answer));
        }
        forward.fence_for_ever(txn).await.map_err(Error::Database)?;
        if forward.has_effect() {
            rules::run(txn, &row, &call, compensates, body()).await
        } else {
            rules::run(txn, &row, &call, compensates, async { Ok(Undo::NothingToUndo) }).await
        }
    })
    .await
}
