//! Orders about what people set for everybody. Inside an open transaction, which holds the write lock.

use amends::ports::{CONTROLS_MAX, ControlOrder, ControlRow, ControlStore, Fault, Ordered, StoredOrder};
use async_trait::async_trait;
use sea_orm::FromQueryResult as _;
use sea_orm::QueryResult;
use sea_orm::sqlx::sqlite::SqliteConnection;
use sea_orm::sqlx::{self, Row as _};

use super::SqliteStore;
use super::sql;
use super::writer::Request;
use crate::entity::control_order;
use crate::failure::{Failure, fault};
use crate::unit::Unit;

/// The order of this id.
pub(super) async fn known(
    connection: &mut SqliteConnection,
    operation_id: &str,
) -> Result<Option<Box<StoredOrder>>, Failure> {
    let known = sqlx::query(sql::ORDER_OF_ID).bind(operation_id.to_owned());
    let Some(row) = known.fetch_optional(connection).await? else { return Ok(None) };
    let model = control_order::Model::from_query_result(&QueryResult::from(row), "");
    Ok(Some(Box::new(StoredOrder::from(model.map_err(fault).map_err(Failure::Fault)?))))
}

/// Keeps an order, and whether it changed anything.
pub(super) async fn keep(
    connection: &mut SqliteConnection,
    order: &ControlOrder,
    changed: bool,
) -> Result<(), Failure> {
    let ControlOrder { operation_id, key, value, actor, reason, at } = order;
    sqlx::query(sql::ORDER_KEEP)
        .bind(operation_id.clone())
        .bind(key.to_string())
        .bind(value.clone())
        .bind(actor.clone())
        .bind(reason.clone())
        .bind(at.0)
        .bind(changed)
        .execute(connection)
        .await?;
    Ok(())
}

/// Gives one order, or finds why not.
pub(super) struct Give(pub(super) ControlOrder);

#[async_trait]
impl Unit<SqliteConnection> for Give {
    type Done = Ordered;

    async fn run(&self, connection: &mut SqliteConnection) -> Result<Ordered, Failure> {
        let ControlOrder { operation_id, key, value, actor, reason, at } = &self.0;
        if let Some(known) = known(connection, operation_id).await? {
            return Ok(Ordered::Known(known));
        }
        let changed = match value {
            Some(value) => {
                let room = sqlx::query(sql::CONTROL_ROOM).bind(key.to_string());
                let room = room.fetch_one(&mut *connection).await?;
                let (in_force, stands): (i64, i64) = (room.try_get(0)?, room.try_get(1)?);
                if stands == 0 && in_force >= i64::from(CONTROLS_MAX) {
                    return Ok(Ordered::Full { in_force: u32::try_from(in_force).unwrap_or(u32::MAX) });
                }
                sqlx::query(sql::CONTROL_SET)
                    .bind(key.to_string())
                    .bind(value.clone())
                    .bind(actor.clone())
                    .bind(reason.clone())
                    .bind(operation_id.clone())
                    .bind(at.0)
            }
            None => sqlx::query(sql::CONTROL_LIFT).bind(key.to_string()),
        };
        let changed = changed.execute(&mut *connection).await?.rows_affected() > 0;
        keep(connection, &self.0, changed).await?;
        Ok(Ordered::Done { changed })
    }
}

#[async_trait]
impl ControlStore for SqliteStore {
    async fn order(&self, order: &ControlOrder) -> Result<Ordered, Fault> {
        if let Some(reason) = order.unstorable() {
            return Ok(Ordered::Unstorable { reason });
        }
        let give = Give(order.clone());
        self.ask(|answer| Request::Order { give, answer }).await
    }

    async fn ordered(&self, operation_id: &str) -> Result<Option<StoredOrder>, Fault> {
        self.reader.ordered(operation_id).await
    }

    async fn controls(&self) -> Result<Vec<ControlRow>, Fault> {
        self.reader.controls().await
    }
}
