//! Closing an attempt out, before it is said that it had no effect.

use sea_orm::DatabaseTransaction;
use serde::{Serialize, de::DeserializeOwned};
use uuid::Uuid;

use crate::{Answer, Call, Error, Fence, Outcome, row, rules};

/// The attempt of a forward call that is to be closed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closing {
    /// The request id of the call.
    pub request_id: Uuid,
    /// The attempt that had no effect.
    pub attempt: u32,
    /// The digest of its input, or `None` where it cannot be told, for instance because the input is unreadable. Then a
    /// kept answer is given whatever input it was kept for.
    pub input_digest: Option<[u8; 32]>,
}

impl From<Call> for Closing {
    fn from(Call { request_id, attempt, input_digest }: Call) -> Self {
        Self { request_id, attempt, input_digest: Some(input_digest) }
    }
}

/// Closes an attempt of a forward call out, which is about to be answered that nothing took effect, and says what is to be
/// answered.
///
/// *When to use*: wherever one transmission can be in two hands, as with a broker that delivers again what is not
/// acknowledged in time. The other hand could still take effect, unheard, after this one has said that there was none. So
/// whoever says "not now" or "not like this" calls this first, after its own transaction was rolled back, in a new one,
/// and answers once that is committed. If it cannot be committed, say nothing ([`Error::Commit`] too): the call is unknown.
///
/// It waits for a hand that is running. [`Answer::ClosedOut`] with `said` means that no transmission up to this attempt can
/// take effect any more; `said`, in whatever form the service likes, is kept with the fence, and whatever of these attempts
/// still comes is answered with it. Anything else is what another hand brought about meanwhile, or said before: answer
/// that. An attempt that a query has fenced already needs no more: `said` stands.
///
/// A compensation needs none of this: no engine takes "not undone" for an end, and the next attempt gets what is kept.
///
/// # Errors
///
/// [`Error::Database`], or [`Error::Unreadable`] if the kept answer is not of these types.
pub async fn close_out<T, R>(
    txn: &DatabaseTransaction,
    closing: Closing,
    said: &str,
) -> Result<Answer<Outcome<T, R>>, Error>
where
    T: Serialize + DeserializeOwned,
    R: Serialize + DeserializeOwned,
{
    let row = row::lock(txn, closing.request_id).await?;
    let input_digest = closing.input_digest.or_else(|| row.digest()).unwrap_or_default();
    let call = Call { request_id: closing.request_id, attempt: closing.attempt, input_digest };
    match rules::settled(&row, &call, None)? {
        // A query's, through a later attempt: what is said of this one is not said of that.
        Some(Answer::Fenced(Fence::Through(attempt))) if attempt > closing.attempt => {}
        None | Some(Answer::Fenced(Fence::Through(_))) => row.close_out(txn, closing.attempt, said).await?,
        Some(answer) => return Ok(answer),
    }
    Ok(Answer::ClosedOut(said.to_owned()))
}
