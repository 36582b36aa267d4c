//! The rules that forward calls and compensations share: the upper rows of the table.

use sea_orm::DatabaseTransaction;
use uuid::Uuid;

use crate::answer::Keep;
use crate::row::Model;
use crate::transaction::Written;
use crate::{Answer, Call, Error, Fence};

/// The answer that the row of a call already holds for it, or `None` if the call is to run.
///
/// The rules are asked in this order, for both directions. Only a forward call's row is ever fenced for
/// ever. That a fence covers a compensation's attempts as well follows from what a query promised when it
/// answered that they are fenced.
pub(crate) fn settled<K: Keep>(
    row: &Model,
    call: &Call,
    compensates: Option<Uuid>,
) -> Result<Option<Answer<K>>, Error> {
    if let Some(kept) = &row.input_digest
        && (*kept != call.input_digest || row.compensates != compensates)
    {
        return Ok(Some(Answer::Mismatch));
    }
    if row.fenced_for_ever {
        return Ok(Some(Answer::Fenced(Fence::ForEver)));
    }
    if let Some(kept) = row.kept()? {
        return Ok(Some(Answer::Kept(kept)));
    }
    if let Some(said) = row.said_of(call.attempt) {
        return Ok(Some(Answer::ClosedOut(said.to_owned())));
    }
    Ok(row.fence().filter(|fence| call.attempt <= fence.through()).map(Answer::Fenced))
}

/// Runs the body of a call that nothing settles, and keeps what it answers.
pub(crate) async fn run<K, E, F>(
    txn: &DatabaseTransaction,
    row: &Model,
    call: &Call,
    compensates: Option<Uuid>,
    body: F,
) -> Result<Written<Answer<K>>, E>
where
    K: Keep,
    E: From<Error>,
    F: Future<Output = Result<K, E>>,
{
    let answer = body.await?;
    row.keep(txn, call, compensates, &answer).await?;
    Ok(Written::Something(Answer::Kept(answer)))
}
