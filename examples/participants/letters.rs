//! Messages to customers, and receipts on paper.

use amends::prelude::{Contract, Never};
use amends_barrier::Outcome;
use amends_workflows::names::CustomerId;
use amends_workflows::ports::{Answer, Call, Notice, Notifications, Receipt, Receipts, Sent};
use async_trait::async_trait;
use sea_orm::{DatabaseTransaction, DbErr};
use serde::Serialize;

use super::service::{Effect, Failed, Service, name};
use super::sql;

#[async_trait]
impl Notifications for Service {
    fn contract(&self) -> Contract {
        self.promises("post-office")
    }

    async fn notify(&self, call: &Call, notice: &Notice) -> Answer<Sent> {
        self.effect(call, Notifying(notice.clone())).await
    }
}

#[async_trait]
impl Receipts for Service {
    /// It would keep what it promised, as everybody on this file does; but it promises nothing.
    fn contract(&self) -> Contract {
        Contract { dependency: Some("letter-shop".into()), ..Contract::default() }
    }

    async fn print(&self, call: &Call, receipt: &Receipt) -> Answer<Sent> {
        self.effect(call, Printing(receipt.clone())).await
    }
}

#[derive(Serialize)]
#[serde(transparent)]
struct Notifying(Notice);

impl Effect for Notifying {
    const CALL: &'static str = "notify-customer";
    type Output = Sent;
    type Refusal = Never;

    async fn apply(&self, txn: &DatabaseTransaction, call: &Call) -> Result<Outcome<Sent, Never>, Failed> {
        Ok(Outcome::Success(write(txn, call, "notice", &self.0.to, &self.0.text).await?))
    }
}

#[derive(Serialize)]
#[serde(transparent)]
struct Printing(Receipt);

impl Effect for Printing {
    const CALL: &'static str = "print-receipt";
    type Output = Sent;
    type Refusal = Never;

    async fn apply(&self, txn: &DatabaseTransaction, call: &Call) -> Result<Outcome<Sent, Never>, Failed> {
        let Receipt { to, reference, amount } = &self.0;
        let text = format!("Received with thanks: {amount} for {reference}.");
        Ok(Outcome::Success(write(txn, call, "receipt", to, &text).await?))
    }
}

async fn write(
    txn: &DatabaseTransaction,
    call: &Call,
    kind: &str,
    to: &CustomerId,
    text: &str,
) -> Result<Sent, DbErr> {
    let id = name(kind, call);
    let insert = "INSERT INTO letter VALUES ($1, $2, $3, $4, $5)";
    let key = &*call.business_key;
    let values = [id.as_str().into(), kind.into(), to.as_str().into(), text.into(), key.into()];
    sql::execute(txn, insert, values).await?;
    Ok(Sent { message: id })
}
