//! Purging: one chunk in one transaction, which holds the write lock: nobody posts or claims meanwhile.

use std::sync::LazyLock;

use amends::ports::{Fault, PurgeStore};
use amends_core::Timestamp;
use async_trait::async_trait;
use sea_orm::sqlx;
use sea_orm::sqlx::sqlite::SqliteConnection;

use super::SqliteStore;
use crate::failure::Failure;
use crate::unit::Unit;

/// What may be purged: ended before `?1`, at most `?2`. What is deleted with it changes nothing of this, so the same
/// sagas are found by each statement of the transaction. It begins as the index `saga_ended` does.
const OVER: &str = "SELECT s.id FROM saga s WHERE s.ended_at IS NOT NULL AND s.purged_at IS NULL AND s.ended_at < ?1 \
    AND s.owner IS NULL AND s.wake_at IS NULL AND s.open_actions = 0 AND s.set_aside_at IS NULL \
    AND NOT EXISTS (SELECT 1 FROM work_item w WHERE w.saga_id = s.id) \
    AND NOT EXISTS (SELECT 1 FROM mail m WHERE m.saga_id = s.id AND m.consumed_seq IS NULL) \
    ORDER BY s.ended_at, s.id LIMIT ?2";

static EMPTIED: LazyLock<[String; 3]> = LazyLock::new(|| {
    ["journal", "mail", "compensation"].map(|table| format!("DELETE FROM {table} WHERE saga_id IN ({OVER})"))
});

static PURGED: LazyLock<String> = LazyLock::new(|| {
    format!(
        "UPDATE saga SET outcome = phase || coalesce(': ' || outcome, ''), phase = 'purged', purged_at = ?3, \
         tenant = NULL, source = NULL, source_position = NULL, event_id = NULL, event_type = NULL, labels = NULL \
         WHERE id IN ({OVER})"
    )
});

const FORGOTTEN: &str = "DELETE FROM saga WHERE id IN (SELECT id FROM saga WHERE purged_at IS NOT NULL AND ended_at < ?1 \
    ORDER BY ended_at LIMIT ?2)";

const MESSAGES: &str = "DELETE FROM intake WHERE id IN (SELECT id FROM intake WHERE closed_at < ?1 LIMIT ?2)";

const ORDERS: &str = "DELETE FROM control_order WHERE operation_id IN (SELECT o.operation_id FROM control_order o \
    WHERE o.at < ?1 AND NOT EXISTS (SELECT 1 FROM control c WHERE c.operation_id = o.operation_id) LIMIT ?2)";

/// Purges some sagas.
struct Purge {
    ended_before: Timestamp,
    now: Timestamp,
    limit: u32,
}

#[async_trait]
impl Unit<SqliteConnection> for Purge {
    type Done = u32;

    async fn run(&self, connection: &mut SqliteConnection) -> Result<u32, Failure> {
        let (before, limit) = (self.ended_before.0, i64::from(self.limit));
        for table in EMPTIED.iter() {
            sqlx::query(table.as_str()).bind(before).bind(limit).execute(&mut *connection).await?;
        }
        let purged = sqlx::query(PURGED.as_str()).bind(before).bind(limit).bind(self.now.0);
        count(purged.execute(&mut *connection).await?.rows_affected())
    }
}

/// Deletes some rows that are older.
struct Delete {
    sql: &'static str,
    before: Timestamp,
    limit: u32,
}

#[async_trait]
impl Unit<SqliteConnection> for Delete {
    type Done = u32;

    async fn run(&self, connection: &mut SqliteConnection) -> Result<u32, Failure> {
        let delete = sqlx::query(self.sql).bind(self.before.0).bind(i64::from(self.limit));
        count(delete.execute(&mut *connection).await?.rows_affected())
    }
}

fn count(rows: u64) -> Result<u32, Failure> {
    u32::try_from(rows)
        .map_err(|_| Failure::Fault(Fault::Corrupt(format!("{rows} rows, more than asked for"))))
}

#[async_trait]
impl PurgeStore for SqliteStore {
    async fn purge(&self, ended_before: Timestamp, now: Timestamp, limit: u32) -> Result<u32, Fault> {
        self.transact(Purge { ended_before, now, limit }).await.map_err(Failure::into_fault)
    }

    async fn forget(&self, ended_before: Timestamp, limit: u32) -> Result<u32, Fault> {
        let delete = Delete { sql: FORGOTTEN, before: ended_before, limit };
        self.transact(delete).await.map_err(Failure::into_fault)
    }

    async fn purge_intake(&self, closed_before: Timestamp, limit: u32) -> Result<u32, Fault> {
        let delete = Delete { sql: MESSAGES, before: closed_before, limit };
        self.transact(delete).await.map_err(Failure::into_fault)
    }

    async fn purge_orders(&self, given_before: Timestamp, limit: u32) -> Result<u32, Fault> {
        let delete = Delete { sql: ORDERS, before: given_before, limit };
        self.transact(delete).await.map_err(Failure::into_fault)
    }
}

#[cfg(test)]
mod tests {
    use sea_orm::sqlx::sqlite::SqliteConnectOptions;
    use sea_orm::sqlx::{AssertSqlSafe, ConnectOptions as _, Row as _};

    use super::*;

    #[tokio::test]
    async fn whatever_is_purged_is_found_by_its_time_and_not_among_all_rows() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("store.db");
        let store = SqliteStore::open(&path).await.expect("a new file");
        let mut person = SqliteConnectOptions::new().filename(&path).connect().await.expect("the file opens");
        for (sql, index) in [
            (OVER, "saga_ended"),
            (FORGOTTEN, "saga_purged"),
            (MESSAGES, "intake_closed"),
            (ORDERS, "control_order_at"),
        ] {
            let plan = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
            let plan = sqlx::query(plan).fetch_all(&mut person).await.expect("it has a plan");
            let plan: Vec<String> = plan.iter().map(|row| row.get("detail")).collect();
            assert!(plan.iter().any(|step| step.contains(index)), "{sql}: {plan:?}");
        }
        drop(store);
    }
}
