//! The payment gateway and the books. Money moves between four accounts: with the customers, held for them,
//! taken but not settled, and the merchant's.

use amends::prelude::{Contract, Finding, Never, Undo, UndoFinding};
use amends_barrier::Outcome;
use amends_workflows::Money;
use amends_workflows::names::CardToken;
use amends_workflows::ports::{
    Answer, Authorization, Authorize, Call, Capture, CaptureFunds, DeclineReason, Declined, Fault, Ledger,
    Payments, RefundFunds, Refunded, Settle, Settlement, UndoAnswer, code,
};
use async_trait::async_trait;
use sea_orm::{DatabaseTransaction, DbErr, QueryResult};
use serde::{Deserialize, Serialize};

use super::service::{Effect, Failed, Service, Undoing, name};
use super::sql;

#[async_trait]
impl Payments for Service {
    fn contract(&self) -> Contract {
        self.promises("payment-gateway")
    }

    async fn authorize(&self, call: &Call, ask: &Authorize) -> Answer<Authorization, Declined> {
        self.effect(call, Authorizing(ask.clone())).await
    }

    async fn authorization(&self, call: &Call) -> Result<Finding<Authorization, Declined>, Fault> {
        self.query::<Authorizing>(call).await
    }

    async fn void(&self, call: &Call, reference: &str) -> UndoAnswer {
        self.undoing(call, Voiding { reference: reference.to_owned() }).await
    }

    async fn voided(&self, call: &Call) -> Result<UndoFinding, Fault> {
        self.query_undo::<Voiding>(call).await
    }

    async fn capture(&self, call: &Call, ask: &CaptureFunds) -> Answer<Capture, Declined> {
        self.effect(call, Capturing(ask.clone())).await
    }

    async fn captured(&self, call: &Call) -> Result<Finding<Capture, Declined>, Fault> {
        self.query::<Capturing>(call).await
    }

    async fn refund(&self, call: &Call, ask: &RefundFunds) -> Answer<Refunded, Declined> {
        self.effect(call, Refunding(ask.clone())).await
    }
}

#[async_trait]
impl Ledger for Service {
    fn contract(&self) -> Contract {
        self.promises("ledger")
    }

    async fn settle(&self, call: &Call, ask: &Settle) -> Answer<Settlement> {
        self.effect(call, Settling(ask.clone())).await
    }

    async fn settled(&self, call: &Call) -> Result<Finding<Settlement, Never>, Fault> {
        self.query::<Settling>(call).await
    }
}

/// Writes a movement: what leaves one account reaches the other.
async fn book(
    txn: &DatabaseTransaction,
    call: &Call,
    kind: &str,
    amount: Money,
    (from, to): (&str, &str),
) -> Result<(), DbErr> {
    let insert = "INSERT INTO movement (request_id, kind, business_key) VALUES ($1, $2, $3) RETURNING id";
    let values = [call.request_id.to_string().into(), kind.into(), (&*call.business_key).into()];
    let row = sql::first(txn, insert, values).await?;
    let row = row.ok_or_else(|| DbErr::RecordNotFound("the new movement".to_owned()))?;
    let movement: i64 = row.try_get("", "id")?;
    let insert = "INSERT INTO entry VALUES ($1, $2, $4, -$5), ($1, $3, $4, $5)";
    let currency = amount.currency().code();
    let values = [movement.into(), from.into(), to.into(), currency.into(), amount.minor().into()];
    sql::execute(txn, insert, values).await?;
    Ok(())
}

/// Does the row hold exactly this much?
fn is(row: &QueryResult, amount: Money) -> Result<bool, DbErr> {
    let (minor, currency): (i64, String) = (row.try_get("", "minor")?, row.try_get("", "currency")?);
    Ok(minor == amount.minor() && currency == amount.currency().code())
}

fn declined<T>(reason: DeclineReason) -> Outcome<T, Declined> {
    Outcome::Refused(Declined { reason })
}

/// As with the test cards of real gateways, the card itself says what is wrong with it.
fn fault_of(card: &CardToken) -> Option<DeclineReason> {
    let is = |prefix: &str| card.as_str().starts_with(prefix);
    match () {
        () if is("tok-stolen") => Some(DeclineReason::StolenCard),
        () if is("tok-expired") => Some(DeclineReason::ExpiredCard),
        () if is("tok-empty") => Some(DeclineReason::InsufficientFunds),
        () => None,
    }
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Authorizing(Authorize);

impl Effect for Authorizing {
    const CALL: &'static str = "authorize-payment";
    type Output = Authorization;
    type Refusal = Declined;

    async fn apply(
        &self,
        txn: &DatabaseTransaction,
        call: &Call,
    ) -> Result<Outcome<Authorization, Declined>, Failed> {
        let Authorize { reference, card, amount, .. } = &self.0;
        if let Some(reason) = fault_of(card) {
            return Ok(declined(reason));
        }
        let id = name("auth", call);
        let insert = "INSERT INTO \"authorization\" VALUES ($1, $2, $3, $4, $5, $6, 'held')";
        let values = [
            id.as_str().into(),
            call.request_id.to_string().into(),
            reference.as_str().into(),
            card.as_str().into(),
            amount.minor().into(),
            amount.currency().code().into(),
        ];
        sql::execute(txn, insert, values).await?;
        book(txn, call, "authorize", *amount, ("customers", "held")).await?;
        Ok(Outcome::Success(Authorization { id: id.into(), amount: *amount }))
    }

    fn planned_refusal(&self) -> Option<Declined> {
        Some(Declined { reason: DeclineReason::InsufficientFunds })
    }
}

#[derive(Serialize)]
struct Voiding {
    reference: String,
}

impl Undoing for Voiding {
    const CALL: &'static str = "void-payment";

    async fn undo(&self, txn: &DatabaseTransaction, call: &Call) -> Result<Undo, Failed> {
        let update = "UPDATE \"authorization\" SET state = 'voided' WHERE request_id = $1 AND state = 'held' \
                      RETURNING minor, currency";
        let forward = call.forward_request_id.to_string();
        let Some(row) = sql::first(txn, update, [forward.into()]).await? else {
            return Err(Fault::new(code::BAD_REQUEST, "this money was taken already").into());
        };
        book(txn, call, "void", amount_of(&row)?, ("held", "customers")).await?;
        Ok(Undo::Undone)
    }
}

/// The amount in a row's `minor` and `currency`.
pub(super) fn amount_of(row: &QueryResult) -> Result<Money, DbErr> {
    money(row.try_get("", "minor")?, row.try_get("", "currency")?)
}

/// An amount from the columns it is kept in.
pub(super) fn money(minor: i64, currency: String) -> Result<Money, DbErr> {
    let currency = serde_json::from_value(currency.into()).map_err(|e| DbErr::Type(e.to_string()))?;
    Ok(Money::from_minor(minor, currency))
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Capturing(CaptureFunds);

impl Effect for Capturing {
    const CALL: &'static str = "capture-payment";
    type Output = Capture;
    type Refusal = Declined;

    async fn apply(
        &self,
        txn: &DatabaseTransaction,
        call: &Call,
    ) -> Result<Outcome<Capture, Declined>, Failed> {
        let CaptureFunds { authorization, amount } = &self.0;
        // On a server too, nobody else takes it or lets go of it meanwhile.
        let hold = "UPDATE \"authorization\" SET state = 'held' WHERE id = $1 AND state = 'held' \
                    RETURNING minor, currency";
        let held = sql::first(txn, hold, [authorization.as_str().into()]).await?;
        let held = held.as_ref().map(amount_of).transpose()?;
        let rest = held.and_then(|held| held.minus(*amount).ok()).filter(|rest| rest.minor() >= 0);
        let Some(rest) = rest else {
            return Ok(declined(DeclineReason::NothingHeld));
        };
        let update = "UPDATE \"authorization\" SET state = 'captured' WHERE id = $1";
        sql::execute(txn, update, [authorization.as_str().into()]).await?;
        let id = name("cap", call);
        let insert = "INSERT INTO capture (id, \"authorization\", minor, currency) VALUES ($1, $2, $3, $4)";
        let (minor, currency) = (amount.minor(), amount.currency().code());
        let values = [id.as_str().into(), authorization.as_str().into(), minor.into(), currency.into()];
        sql::execute(txn, insert, values).await?;
        book(txn, call, "capture", *amount, ("held", "clearing")).await?;
        if rest.is_positive() {
            // A hold is used up by its capture: what was not taken is let go of.
            book(txn, call, "void", rest, ("held", "customers")).await?;
        }
        Ok(Outcome::Success(Capture { id: id.into(), amount: *amount }))
    }

    fn planned_refusal(&self) -> Option<Declined> {
        Some(Declined { reason: DeclineReason::NothingHeld })
    }

    fn part(&self) -> Option<Self> {
        let CaptureFunds { authorization, amount } = &self.0;
        let half = Money::from_minor(amount.minor() / 2, amount.currency());
        half.is_positive().then(|| Self(CaptureFunds { authorization: authorization.clone(), amount: half }))
    }
}

#[derive(Serialize)]
#[serde(transparent)]
struct Refunding(RefundFunds);

impl Effect for Refunding {
    const CALL: &'static str = "refund-payment";
    type Output = Refunded;
    type Refusal = Declined;

    async fn apply(
        &self,
        txn: &DatabaseTransaction,
        call: &Call,
    ) -> Result<Outcome<Refunded, Declined>, Failed> {
        let RefundFunds { capture, amount } = &self.0;
        let (minor, currency) = (amount.minor(), amount.currency().code());
        let update = "UPDATE capture SET refunded = refunded + $1 \
                      WHERE id = $2 AND currency = $3 AND refunded + $1 <= minor";
        let values = [minor.into(), capture.as_str().into(), currency.into()];
        if sql::execute(txn, update, values).await? == 0 {
            return Ok(declined(DeclineReason::NothingToRefund));
        }
        let id = name("ref", call);
        let insert = "INSERT INTO refund VALUES ($1, $2, $3, $4, $5)";
        let key = &*call.business_key;
        let values = [id.as_str().into(), capture.as_str().into(), key.into(), minor.into(), currency.into()];
        sql::execute(txn, insert, values).await?;
        // Settled money comes back from the merchant, the rest from where it lies.
        let select = "SELECT 1 AS settled FROM settlement WHERE capture = $1";
        let settled = sql::first(txn, select, [capture.as_str().into()]).await?.is_some();
        let from = if settled { "merchant" } else { "clearing" };
        book(txn, call, "refund", *amount, (from, "customers")).await?;
        Ok(Outcome::Success(Refunded { id: id.into(), amount: *amount }))
    }

    fn planned_refusal(&self) -> Option<Declined> {
        Some(Declined { reason: DeclineReason::NothingToRefund })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Settling(Settle);

impl Effect for Settling {
    const CALL: &'static str = "settle-payment";
    type Output = Settlement;
    type Refusal = Never;

    async fn apply(
        &self,
        txn: &DatabaseTransaction,
        call: &Call,
    ) -> Result<Outcome<Settlement, Never>, Failed> {
        let Settle { capture, amount } = &self.0;
        let select = "SELECT minor, currency FROM capture WHERE id = $1 AND refunded = 0 \
                      AND NOT EXISTS (SELECT 1 FROM settlement WHERE capture = $1)";
        let taken = sql::first(txn, select, [capture.as_str().into()]).await?;
        if !taken.map(|row| is(&row, *amount)).transpose()?.unwrap_or(false) {
            let what = format!("there are no {amount} to settle under {capture}");
            return Err(Fault::new(code::BAD_REQUEST, what).into());
        }
        let id = name("set", call);
        let insert = "INSERT INTO settlement VALUES ($1, $2, $3, $4)";
        let (minor, currency) = (amount.minor(), amount.currency().code());
        let values = [id.as_str().into(), capture.as_str().into(), minor.into(), currency.into()];
        sql::execute(txn, insert, values).await?;
        book(txn, call, "settle", *amount, ("clearing", "merchant")).await?;
        Ok(Outcome::Success(Settlement { id: id.into(), amount: *amount }))
    }
}
