//! Orders about what people set for everybody. They go by the connections of the watch, so that no order waits
//! behind batches.

use amends::ports::{CONTROLS_MAX, ControlOrder, ControlRow, ControlStore, Fault, Ordered, StoredOrder};
use async_trait::async_trait;
use sea_orm::sqlx::postgres::PgConnection;
use sea_orm::sqlx::{self, Row as _};
use sea_orm::{FromQueryResult as _, QueryResult};

use super::PostgresStore;
use super::runner::detached;
use super::sql;
use crate::entity::control_order;
use crate::failure::{Failure, fault};
use crate::unit::Unit;

/// The order of this id.
pub(super) async fn known(
    connection: &mut PgConnection,
    operation_id: &str,
) -> Result<Option<Box<StoredOrder>>, Failure> {
    let known = sqlx::query(sql::ORDER_OF_ID).bind(operation_id);
    let Some(row) = known.fetch_optional(connection).await? else { return Ok(None) };
    let model = control_order::Model::from_query_result(&QueryResult::from(row), "");
    Ok(Some(Box::new(StoredOrder::from(model.map_err(fault).map_err(Failure::Fault)?))))
}

/// Keeps an order, as one that changed nothing; whether it was new. Of two orders of one id the second waits here for the
/// first.
pub(super) async fn keep(connection: &mut PgConnection, order: &ControlOrder) -> Result<bool, Failure> {
    let ControlOrder { operation_id, key, value, actor, reason, at } = order;
    let kept = sqlx::query(sql::ORDER_KEEP).bind(operation_id).bind(&**key).bind(value.as_deref());
    let kept = kept.bind(actor).bind(reason).bind(at.0).execute(connection).await?;
    Ok(kept.rows_affected() > 0)
}

/// Says that an order changed something.
pub(super) async fn changed(connection: &mut PgConnection, operation_id: &str) -> Result<(), Failure> {
    sqlx::query(sql::ORDER_CHANGED).bind(operation_id).execute(connection).await?;
    Ok(())
}

/// Gives one order, or finds why not. In a transaction.
struct Give(ControlOrder);

#[async_trait]
impl Unit<PgConnection> for Give {
    type Done = Ordered;

    async fn run(&self, connection: &mut PgConnection) -> Result<Ordered, Failure> {
        let ControlOrder { operation_id, key, value, actor, reason, at } = &self.0;
        if let Some(known) = known(connection, operation_id).await? {
            return Ok(Ordered::Known(known));
        }
        if value.is_some() {
            let room = sqlx::query(sql::CONTROL_ROOM).bind(&**key).fetch_one(&mut *connection).await?;
            let (in_force, stands): (i64, i64) = (room.try_get(0)?, room.try_get(1)?);
            if stands == 0 && in_force >= i64::from(CONTROLS_MAX) {
                return Ok(Ordered::Full { in_force: u32::try_from(in_force).unwrap_or(u32::MAX) });
            }
        }
        if !keep(connection, &self.0).await? {
            let known = known(connection, operation_id).await?;
            return known
                .map(Ordered::Known)
                .ok_or_else(|| Failure::Busy("an order of this id was there and is gone".to_owned()));
        }
        let change = match value {
            Some(value) => sqlx::query(sql::CONTROL_SET)
                .bind(&**key)
                .bind(value)
                .bind(actor)
                .bind(reason)
                .bind(operation_id)
                .bind(at.0),
            None => sqlx::query(sql::CONTROL_LIFT).bind(&**key),
        };
        let is_changed = change.execute(&mut *connection).await?.rows_affected() > 0;
        if is_changed {
            changed(connection, operation_id).await?;
        }
        Ok(Ordered::Done { changed: is_changed })
    }
}

#[async_trait]
impl ControlStore for PostgresStore {
    async fn order(&self, order: &ControlOrder) -> Result<Ordered, Fault> {
        if let Some(reason) = order.unstorable() {
            return Ok(Ordered::Unstorable { reason });
        }
        let (watch, give) = (self.watch.clone(), Give(order.clone()));
        detached(async move { watch.transact(&give).await.map_err(Failure::into_fault) }).await
    }

    async fn ordered(&self, operation_id: &str) -> Result<Option<StoredOrder>, Fault> {
        self.reader.within_bounds(|reader| async move { reader.ordered(operation_id).await }).await
    }

    async fn controls(&self) -> Result<Vec<ControlRow>, Fault> {
        self.reader.within_bounds(|reader| async move { reader.controls().await }).await
    }
}
