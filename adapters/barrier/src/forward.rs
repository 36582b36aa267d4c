//! A forward call.

use sea_orm::DatabaseTransaction;
use serde::{Serialize, de::DeserializeOwned};

use crate::transaction::{Written, in_savepoint};
use crate::{Answer, Call, Error, Outcome, row, rules};

/// Takes a forward call: runs `body` at most once per request id, and answers every repetition with what
/// was kept.
///
/// `body` is called only if the call is to take effect; it writes through the same `txn`. An [`Outcome`]
/// is kept when the caller commits. Its error, whatever the service means by it (not now, or not without
/// somebody's help), undoes what it wrote, keeps nothing and is passed through. Before such a failure is
/// answered, [`close_out`](crate::close_out) the attempt if another hand may have it.
///
/// # Errors
///
/// What `body` fails with, or an [`Error`] of the barrier itself.
pub async fn forward<T, R, E, B, F>(
    txn: &DatabaseTransaction,
    call: Call,
    body: B,
) -> Result<Answer<Outcome<T, R>>, E>
where
    T: Serialize + DeserializeOwned,
    R: Serialize + DeserializeOwned,
    E: From<Error>,
    B: FnOnce() -> F,
    F: Future<Output = Result<Outcome<T, R>, E>>,
{
    in_savepoint(txn, async {
        let row = row::lock(txn, call.request_id).await.map_err(Error::Database)?;
        match rules::settled(&row, &call, None)? {
            Some(answer) => Ok(Written::Nothing(answer)),
            None => rules::run(txn, &row, &call, None, body()).await,
        }
    })
    .await
}
