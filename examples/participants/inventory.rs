//! The warehouse: pieces are on the shelf, set aside, or with a customer.

use std::collections::BTreeSet;

use amends::prelude::{Contract, Finding, Never, Undo, UndoFinding};
use amends_barrier::Outcome;
use amends_workflows::names::{OrderId, Sku};
use amends_workflows::ports::{
    Answer, Call, Fault, Goods, GoodsState, Inventory, OutOfStock, Reservation, Reserve, Restock, Restocked,
    StockLine, UndoAnswer, code,
};
use async_trait::async_trait;
use sea_orm::{DatabaseTransaction, DbErr, TransactionTrait};
use serde::{Deserialize, Serialize};

use super::service::{Effect, Failed, Service, Undoing, name};
use super::sql;

#[async_trait]
impl Inventory for Service {
    fn contract(&self) -> Contract {
        self.promises("warehouse")
    }

    async fn reserve(&self, call: &Call, ask: &Reserve) -> Answer<Reservation, OutOfStock> {
        self.effect(call, Reserving(ask.clone())).await
    }

    async fn reservation(&self, call: &Call) -> Result<Finding<Reservation, OutOfStock>, Fault> {
        self.query::<Reserving>(call).await
    }

    async fn release(&self, call: &Call, order: &OrderId, expected: Option<&Goods>) -> UndoAnswer {
        self.undoing(call, Releasing { order: order.clone(), expected: expected.cloned() }).await
    }

    async fn released(&self, call: &Call) -> Result<UndoFinding, Fault> {
        self.query_undo::<Releasing>(call).await
    }

    async fn restock(&self, call: &Call, ask: &Restock) -> Answer<Restocked> {
        self.effect(call, Restocking(ask.clone())).await
    }

    async fn restocked(&self, call: &Call) -> Result<Finding<Restocked, Never>, Fault> {
        self.query::<Restocking>(call).await
    }
}

/// Puts pieces on the shelf for the first time.
pub(super) async fn stock_up(service: &Service, levels: &[(Sku, u32)]) -> Result<(), DbErr> {
    let txn = service.writer().begin().await?;
    for (sku, pieces) in levels {
        let insert = "INSERT INTO stock VALUES ($1, $2, $2, 0, 0) ON CONFLICT DO NOTHING";
        sql::execute(&txn, insert, [sku.as_str().into(), i64::from(*pieces).into()]).await?;
    }
    txn.commit().await
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Reserving(Reserve);

impl Effect for Reserving {
    const CALL: &'static str = "reserve-stock";
    type Output = Reservation;
    type Refusal = OutOfStock;

    async fn apply(
        &self,
        txn: &DatabaseTransaction,
        call: &Call,
    ) -> Result<Outcome<Reservation, OutOfStock>, Failed> {
        hold(txn, self.0.lines.iter().map(|line| line.sku.as_str())).await?;
        // All lines or none: a refusal is committed, so it is found out before anything is written.
        for line in &self.0.lines {
            let available = on_hand(txn, line).await?;
            if available < i64::from(line.quantity) {
                let available = u32::try_from(available).unwrap_or(u32::MAX);
                let (sku, wanted) = (line.sku.clone(), line.quantity);
                return Ok(Outcome::Refused(OutOfStock { sku, wanted, available }));
            }
        }
        let id = name("res", call);
        let insert = "INSERT INTO reservation VALUES ($1, $2, $3, 'held')";
        let request = call.request_id.to_string();
        let values = [id.as_str().into(), request.into(), self.0.order.as_str().into()];
        sql::execute(txn, insert, values).await?;
        for line in &self.0.lines {
            let insert = "INSERT INTO reservation_line (reservation, sku, quantity) VALUES ($1, $2, $3)";
            let quantity = i64::from(line.quantity);
            let values = [id.as_str().into(), line.sku.as_str().into(), quantity.into()];
            sql::execute(txn, insert, values).await?;
            let update = "UPDATE stock SET on_hand = on_hand - $1, reserved = reserved + $1 WHERE sku = $2";
            sql::execute(txn, update, [quantity.into(), line.sku.as_str().into()]).await?;
        }
        Ok(Outcome::Success(Reservation { id: id.into() }))
    }

    fn planned_refusal(&self) -> Option<OutOfStock> {
        let line = self.0.lines.first()?;
        Some(OutOfStock { sku: line.sku.clone(), wanted: line.quantity, available: 0 })
    }

    fn part(&self) -> Option<Self> {
        let Reserve { order, lines } = &self.0;
        Some(Self(Reserve { order: order.clone(), lines: one_piece_less(lines)? }))
    }
}

/// Whoever else wants the same goods waits, on a server too, and always in the same order.
async fn hold<'a>(txn: &DatabaseTransaction, skus: impl Iterator<Item = &'a str>) -> Result<(), DbErr> {
    for sku in skus.collect::<BTreeSet<_>>() {
        let hold = "UPDATE stock SET on_hand = on_hand WHERE sku = $1";
        sql::execute(txn, hold, [sku.into()]).await?;
    }
    Ok(())
}

/// All pieces but one; none if that would be nothing.
fn one_piece_less(lines: &[StockLine]) -> Option<Vec<StockLine>> {
    let mut lines = lines.to_vec();
    let last = lines.last_mut()?;
    last.quantity -= 1;
    lines.retain(|line| line.quantity > 0);
    (!lines.is_empty()).then_some(lines)
}

async fn on_hand(txn: &DatabaseTransaction, line: &StockLine) -> Result<i64, DbErr> {
    let select = "SELECT on_hand FROM stock WHERE sku = $1";
    let row = sql::first(txn, select, [line.sku.as_str().into()]).await?;
    row.map_or(Ok(0), |row| row.try_get("", "on_hand"))
}

#[derive(Serialize)]
struct Releasing {
    order: OrderId,
    /// No part of what is asked: a person's approval changes it, and the request stays the same.
    #[serde(skip)]
    expected: Option<Goods>,
}

impl Undoing for Releasing {
    const CALL: &'static str = "release-stock";
    const MOVES: &'static str =
        "UPDATE reservation SET state = 'packed' WHERE request_id = $1 AND state = 'held'";

    async fn undo(&self, txn: &DatabaseTransaction, call: &Call) -> Result<Undo, Failed> {
        let forward = call.forward_request_id.to_string();
        if let Some(expected) = &self.expected {
            let found = goods(txn, &forward).await?;
            if found != *expected {
                return Err(Failed::stale(&found));
            }
        }
        let update =
            "UPDATE reservation SET state = 'released' WHERE request_id = $1 AND state IN ('held', 'packed')";
        if sql::execute(txn, update, [forward.as_str().into()]).await? == 0 {
            return Err(Fault::new(code::BAD_REQUEST, "these goods were sent already").into());
        }
        let select = "
            SELECT line.sku FROM reservation_line AS line JOIN reservation ON reservation.id = line.reservation
            WHERE reservation.request_id = $1";
        let rows = sql::all(txn, select, [forward.as_str().into()]).await?;
        let skus = rows.iter().map(|row| row.try_get::<String>("", "sku")).collect::<Result<Vec<_>, _>>()?;
        hold(txn, skus.iter().map(String::as_str)).await?;
        let update = "
            UPDATE stock SET on_hand = on_hand + line.quantity, reserved = reserved - line.quantity
            FROM reservation_line AS line JOIN reservation ON reservation.id = line.reservation
            WHERE reservation.request_id = $1 AND stock.sku = line.sku";
        sql::execute(txn, update, [forward.into()]).await?;
        Ok(Undo::Undone)
    }
}

/// How the goods of this reservation stand; nobody moves them before the transaction ends.
async fn goods(txn: &DatabaseTransaction, request: &str) -> Result<Goods, DbErr> {
    let hold = "UPDATE reservation SET state = state WHERE request_id = $1 RETURNING id, state";
    let row = sql::first(txn, hold, [request.into()]).await?;
    let row = row.ok_or_else(|| DbErr::RecordNotFound("the reservation".to_owned()))?;
    let (id, state): (String, String) = (row.try_get("", "id")?, row.try_get("", "state")?);
    let state = match &*state {
        "held" => GoodsState::Held,
        "packed" => GoodsState::Packed,
        "released" => GoodsState::Released,
        "shipped" => GoodsState::Shipped,
        other => return Err(DbErr::Type(format!("goods do not stand `{other}`"))),
    };
    Ok(Goods { reservation: id.into(), state })
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Restocking(Restock);

impl Effect for Restocking {
    const CALL: &'static str = "restock";
    type Output = Restocked;
    type Refusal = Never;

    async fn apply(&self, txn: &DatabaseTransaction, _: &Call) -> Result<Outcome<Restocked, Never>, Failed> {
        hold(txn, self.0.lines.iter().map(|line| line.sku.as_str())).await?;
        let mut pieces = 0;
        for line in &self.0.lines {
            let quantity = i64::from(line.quantity);
            let update = "
                UPDATE reservation_line SET returned = returned + $1
                WHERE sku = $2 AND returned + $1 <= quantity AND reservation IN
                    (SELECT id FROM reservation WHERE order_id = $3 AND state = 'shipped')";
            let values = [quantity.into(), line.sku.as_str().into(), self.0.order.as_str().into()];
            if sql::execute(txn, update, values).await? != 1 {
                let what = format!("so much {} was never sent for order {}", line.sku, self.0.order);
                return Err(Fault::new(code::BAD_REQUEST, what).into());
            }
            let update = "UPDATE stock SET on_hand = on_hand + $1, shipped = shipped - $1 WHERE sku = $2";
            sql::execute(txn, update, [quantity.into(), line.sku.as_str().into()]).await?;
            pieces += line.quantity;
        }
        Ok(Outcome::Success(Restocked { pieces }))
    }

    fn part(&self) -> Option<Self> {
        let Restock { order, lines } = &self.0;
        Some(Self(Restock { order: order.clone(), lines: one_piece_less(lines)? }))
    }
}
