//! Purging: one chunk in one short transaction, because starts of the same keys wait for it.
//!
//! First the sagas are locked, then, in a new statement, their mail is looked for: whoever posts holds a shared lock
//! on the saga's row, so a mail that was posted before is seen now, and one that comes later waits and is told that
//! the saga was purged. In one statement a mail between its snapshot and its lock would be deleted unread.

use amends::ports::{Fault, PurgeStore};
use amends_core::Timestamp;
use async_trait::async_trait;
use sea_orm::sqlx;
use sea_orm::sqlx::postgres::PgConnection;
use uuid::Uuid;

use super::PostgresStore;
use crate::failure::Failure;
use crate::unit::Unit;

/// What may be purged: ended before `$1`, at most `$2`. What another node is at work on is left to it. Those that wait
/// for somebody are left out here, so that they do not stand in front of the others for ever, and looked at again under
/// the lock.
const OVER: &str = "SELECT s.id FROM saga s WHERE s.ended_at IS NOT NULL AND s.purged_at IS NULL AND s.ended_at < $1 \
      AND s.owner IS NULL AND s.wake_at IS NULL AND s.open_actions = 0 AND s.set_aside_at IS NULL \
      AND NOT EXISTS (SELECT 1 FROM work_item w WHERE w.saga_id = s.id) \
      AND NOT EXISTS (SELECT 1 FROM mail m WHERE m.saga_id = s.id AND m.consumed_seq IS NULL) \
    ORDER BY s.ended_at LIMIT $2 FOR UPDATE OF s SKIP LOCKED";

/// Purges those of `$1` that nobody wants anything of; `$2` is now.
const PURGE: &str = "WITH c AS MATERIALIZED (SELECT x.id FROM unnest($1::uuid[]) AS x(id) \
      WHERE NOT EXISTS (SELECT 1 FROM mail m WHERE m.saga_id = x.id AND m.consumed_seq IS NULL) \
        AND NOT EXISTS (SELECT 1 FROM work_item w WHERE w.saga_id = x.id)), \
    j AS (DELETE FROM journal j USING c WHERE j.saga_id = c.id), \
    m AS (DELETE FROM mail m USING c WHERE m.saga_id = c.id), \
    k AS (DELETE FROM compensation k USING c WHERE k.saga_id = c.id) \
    UPDATE saga s SET outcome = s.phase || coalesce(': ' || s.outcome, ''), phase = 'purged', purged_at = $2, \
      tenant = NULL, source = NULL, source_position = NULL, event_id = NULL, event_type = NULL, labels = NULL \
    FROM c WHERE s.id = c.id";

const FORGET: &str = "WITH c AS MATERIALIZED (SELECT id FROM saga WHERE purged_at IS NOT NULL AND ended_at < $1 \
      ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED) \
    DELETE FROM saga s USING c WHERE s.id = c.id";

const MESSAGES: &str = "WITH c AS MATERIALIZED (SELECT id FROM intake WHERE closed_at < $1 \
      LIMIT $2 FOR UPDATE SKIP LOCKED) \
    DELETE FROM intake i USING c WHERE i.id = c.id";

/// An order and its control are written in one transaction, and an order that comes again later changes neither; so what
/// has no control in force now will have none.
const ORDERS: &str = "WITH c AS MATERIALIZED (SELECT o.operation_id FROM control_order o WHERE o.at < $1 \
      AND NOT EXISTS (SELECT 1 FROM control k WHERE k.operation_id = o.operation_id) LIMIT $2 FOR UPDATE SKIP LOCKED) \
    DELETE FROM control_order o USING c WHERE o.operation_id = c.operation_id";

/// Purges some sagas. In a transaction.
struct Purge {
    ended_before: Timestamp,
    now: Timestamp,
    limit: u32,
}

#[async_trait]
impl Unit<PgConnection> for Purge {
    type Done = u32;

    async fn run(&self, connection: &mut PgConnection) -> Result<u32, Failure> {
        let over = sqlx::query_scalar(OVER).bind(self.ended_before.0).bind(i64::from(self.limit));
        let over: Vec<Uuid> = over.fetch_all(&mut *connection).await?;
        if over.is_empty() {
            return Ok(0);
        }
        let purge = sqlx::query(PURGE).bind(over).bind(self.now.0);
        count(purge.execute(connection).await?.rows_affected())
    }
}

/// Deletes some rows that are older.
struct Delete {
    sql: &'static str,
    before: Timestamp,
    limit: u32,
}

#[async_trait]
impl Unit<PgConnection> for Delete {
    type Done = u32;

    async fn run(&self, connection: &mut PgConnection) -> Result<u32, Failure> {
        let delete = sqlx::query(self.sql).bind(self.before.0).bind(i64::from(self.limit));
        count(delete.execute(connection).await?.rows_affected())
    }
}

fn count(rows: u64) -> Result<u32, Failure> {
    u32::try_from(rows)
        .map_err(|_| Failure::Fault(Fault::Corrupt(format!("{rows} rows, more than asked for"))))
}

#[async_trait]
impl PurgeStore for PostgresStore {
    async fn purge(&self, ended_before: Timestamp, now: Timestamp, limit: u32) -> Result<u32, Fault> {
        self.transact(Purge { ended_before, now, limit }).await
    }

    async fn forget(&self, ended_before: Timestamp, limit: u32) -> Result<u32, Fault> {
        self.run(Delete { sql: FORGET, before: ended_before, limit }).await
    }

    async fn purge_intake(&self, closed_before: Timestamp, limit: u32) -> Result<u32, Fault> {
        self.run(Delete { sql: MESSAGES, before: closed_before, limit }).await
    }

    async fn purge_orders(&self, given_before: Timestamp, limit: u32) -> Result<u32, Fault> {
        self.run(Delete { sql: ORDERS, before: given_before, limit }).await
    }
}
