//! What was sold, read from the warehouse's and the gateway's tables.

use amends::prelude::Contract;
use amends_workflows::names::OrderId;
use amends_workflows::ports::{Answer, Call, CallError, Fault, NoSale, Sale, Sales, StockLine, code};
use async_trait::async_trait;
use sea_orm::{DatabaseConnection, DbErr};

use super::payments::{amount_of, money};
use super::service::{Failed, Question, Service};
use super::sql;

#[async_trait]
impl Sales for Service {
    fn contract(&self) -> Contract {
        Contract { dependency: Some("sales".into()), ..Contract::default() }
    }

    async fn sale(&self, call: &Call, order: &OrderId) -> Answer<Sale, NoSale> {
        self.question(call, WhatWasSold(order.clone())).await
    }
}

struct WhatWasSold(OrderId);

impl Question for WhatWasSold {
    const CALL: &'static str = "read-sale";
    type Output = Sale;
    type Refusal = NoSale;

    async fn ask(&self, db: &DatabaseConnection) -> Answer<Sale, NoSale> {
        match self.look(db).await {
            Ok(Seen::Sold(sale)) => Ok(sale),
            Ok(Seen::InTheMaking) => Err(Fault::new(code::TOO_EARLY, "the order is being worked on").into()),
            Ok(Seen::Nothing) => Err(CallError::Refused(self.planned_refusal())),
            Err(error) => Err(Fault::from(Failed::from(error)).into()),
        }
    }

    fn planned_refusal(&self) -> NoSale {
        NoSale { order: self.0.clone() }
    }
}

enum Seen {
    Sold(Sale),
    InTheMaking,
    Nothing,
}

impl WhatWasSold {
    async fn look(&self, db: &DatabaseConnection) -> Result<Seen, DbErr> {
        let order = self.0.as_str();
        let select = "
            SELECT EXISTS (SELECT 1 FROM reservation WHERE order_id = $1 AND state = 'held')
                OR EXISTS (SELECT 1 FROM \"authorization\" WHERE reference = $1 AND state = 'held') AS open";
        let open = sql::first(db, select, [order.into()]).await?;
        if open.map(|row| row.try_get::<bool>("", "open")).transpose()?.unwrap_or(false) {
            return Ok(Seen::InTheMaking);
        }
        let select = "
            SELECT capture.id, capture.minor, capture.currency, capture.refunded
            FROM capture JOIN \"authorization\" ON \"authorization\".id = capture.authorization
            WHERE \"authorization\".reference = $1";
        let Some(row) = sql::first(db, select, [order.into()]).await? else { return Ok(Seen::Nothing) };
        Ok(Seen::Sold(Sale {
            capture: row.try_get::<String>("", "id")?.into(),
            captured: amount_of(&row)?,
            refunded: money(row.try_get("", "refunded")?, row.try_get("", "currency")?)?,
            sent: self.sent(db).await?,
        }))
    }

    async fn sent(&self, db: &DatabaseConnection) -> Result<Vec<StockLine>, DbErr> {
        let select = "
            SELECT line.sku, line.quantity - line.returned AS quantity
            FROM reservation_line AS line JOIN reservation ON reservation.id = line.reservation
            WHERE reservation.order_id = $1 AND reservation.state = 'shipped'
            ORDER BY line.sku";
        let rows = sql::all(db, select, [self.0.as_str().into()]).await?;
        let line = |row: &sea_orm::QueryResult| {
            let quantity: i64 = row.try_get("", "quantity")?;
            let quantity = u32::try_from(quantity).unwrap_or(u32::MAX);
            Ok(StockLine { sku: row.try_get::<String>("", "sku")?.into(), quantity })
        };
        rows.iter().map(line).collect()
    }
}
