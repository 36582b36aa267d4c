//! What is planned to go wrong *within* a call: all of it goes through the barrier, so that the barrier keeps it
//! and answers the next call by itself.

use amends_barrier::{self as barrier, Outcome};
use amends_workflows::ports::{Call, Fault, code};
use sea_orm::{DatabaseTransaction, TransactionTrait};
use serde::Serialize;

use super::super::sql;
use super::{Effect, Failed, Service, Undoing, transmission};

/// The same call, refused.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Refusing<E>(pub(super) E);

impl<E: Effect> Effect for Refusing<E> {
    const CALL: &'static str = E::CALL;
    type Output = E::Output;
    type Refusal = E::Refusal;

    async fn apply(
        &self,
        _: &DatabaseTransaction,
        _: &Call,
    ) -> Result<Outcome<E::Output, E::Refusal>, Failed> {
        refused(&self.0)
    }
}

fn refused<E: Effect>(ask: &E) -> Result<Outcome<E::Output, E::Refusal>, Failed> {
    let refused = ask.planned_refusal().map(Outcome::Refused);
    refused.ok_or_else(|| Fault::new(code::BAD_REQUEST, "this cannot be refused").into())
}

/// The same call, of which only a part is done.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct InPart<E>(pub(super) E);

impl<E: Effect> Effect for InPart<E> {
    const CALL: &'static str = E::CALL;
    type Output = E::Output;
    type Refusal = E::Refusal;

    async fn apply(
        &self,
        txn: &DatabaseTransaction,
        call: &Call,
    ) -> Result<Outcome<E::Output, E::Refusal>, Failed> {
        let part = self.0.part();
        let part = part.ok_or_else(|| Fault::new(code::BAD_REQUEST, "this has no parts"))?;
        Ok(match part.apply(txn, call).await? {
            Outcome::Success(output) => Outcome::Partial(Some(output)),
            other => other,
        })
    }
}

impl Service {
    /// Somebody has sent other values under this request id before, and they were refused.
    pub(super) async fn hold_otherwise<E: Effect>(&self, call: &Call, ask: &E) -> Result<(), Fault> {
        let input_digest = barrier::digest(&("other values", ask)).map_err(Failed::from)?;
        let other = barrier::Call { input_digest, ..transmission(call, ask)? };
        let kept = barrier::in_transaction(&self.0.writer, async |txn| {
            barrier::forward(txn, other, || async { refused(ask) }).await
        })
        .await;
        kept.map(drop).map_err(Fault::from)
    }

    /// Somebody has closed this transmission out before it arrived.
    pub(super) async fn fence<E: Effect>(&self, call: &Call, _: &E) -> Result<(), Fault> {
        let fenced = barrier::in_transaction(&self.0.writer, async |txn| {
            barrier::query::<E::Output, E::Refusal>(txn, call.request_id.0, Some(call.attempt)).await
        })
        .await;
        Ok(fenced.map(drop).map_err(Failed::from)?)
    }

    /// Whether the barrier has an answer for this call, so that there is nothing left to plan.
    pub(super) async fn is_answered<E: Effect>(&self, call: &Call, _: &E) -> Result<bool, Fault> {
        let txn = self.0.reader.begin().await.map_err(Failed::from)?;
        let found = barrier::query::<E::Output, E::Refusal>(&txn, call.request_id.0, None).await;
        Ok(matches!(found.map_err(Failed::from)?, barrier::Finding::Kept(_)))
    }

    /// Somebody moves what the compensation is to undo.
    pub(super) async fn move_it<U: Undoing>(&self, call: &Call) -> Result<(), Fault> {
        let forward = call.forward_request_id.to_string();
        sql::execute(&self.0.writer, U::MOVES, [forward.into()]).await.map_err(Failed::from)?;
        Ok(())
    }

    /// Is this the first time that it is asked so about this business key?
    pub(super) async fn is_first(&self, call: &Call, name: &str) -> Result<bool, Fault> {
        Ok(self.count(call, name).await.map_err(Failed::from)? == 1)
    }
}
