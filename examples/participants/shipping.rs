//! The carrier fetches the goods from the warehouse.

use amends::prelude::{Contract, Never};
use amends_barrier::Outcome;
use amends_workflows::ports::{Answer, Call, Dispatch, Fault, Parcel, Shipping, code};
use async_trait::async_trait;
use sea_orm::DatabaseTransaction;
use serde::Serialize;

use super::service::{Effect, Failed, Service, name};
use super::sql;

#[async_trait]
impl Shipping for Service {
    fn contract(&self) -> Contract {
        self.promises("carrier")
    }

    async fn ship(&self, call: &Call, ask: &Dispatch) -> Answer<Parcel> {
        self.effect(call, Shipment(ask.clone())).await
    }
}

#[derive(Serialize)]
#[serde(transparent)]
struct Shipment(Dispatch);

impl Effect for Shipment {
    const CALL: &'static str = "ship-parcel";
    type Output = Parcel;
    type Refusal = Never;

    async fn apply(&self, txn: &DatabaseTransaction, call: &Call) -> Result<Outcome<Parcel, Never>, Failed> {
        let Dispatch { order, reservation, address } = &self.0;
        let update = "UPDATE reservation SET state = 'shipped' WHERE id = $1 AND state IN ('held', 'packed')";
        if sql::execute(txn, update, [reservation.as_str().into()]).await? == 0 {
            let what = format!("nothing is set aside under {reservation}");
            return Err(Fault::new(code::BAD_REQUEST, what).into());
        }
        let update = "
            UPDATE stock SET reserved = reserved - line.quantity, shipped = shipped + line.quantity
            FROM reservation_line AS line WHERE line.reservation = $1 AND stock.sku = line.sku";
        sql::execute(txn, update, [reservation.as_str().into()]).await?;
        let id = name("parcel", call);
        let insert = "INSERT INTO shipment VALUES ($1, $2, $3, $4)";
        let values =
            [id.as_str().into(), order.as_str().into(), reservation.as_str().into(), address.as_str().into()];
        sql::execute(txn, insert, values).await?;
        Ok(Outcome::Success(Parcel { tracking: id.into() }))
    }

    fn oversized(_: Parcel) -> Parcel {
        Parcel { tracking: "label".repeat(LABEL_BYTES / 5).into() }
    }
}

/// The carrier's whole label, where its number was to stand: more than anybody records.
const LABEL_BYTES: usize = 2_000_000;
