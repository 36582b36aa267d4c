//! Intake: putting and closing messages. Each inside an open transaction.

use amends::ports::{Closing, Fault, Filed, IntakeClosing, IntakeFilter, IntakePut, IntakeRow, IntakeStore};
use async_trait::async_trait;
use sea_orm::sqlx::sqlite::SqliteConnection;
use sea_orm::sqlx::{self, Row as _};
use sea_orm::{FromQueryResult as _, QueryResult};
use uuid::Uuid;

use super::SqliteStore;
use crate::entity::intake;
use crate::failure::{Failure, fault};
use crate::unit::Unit;

/// Counts a message that is here; one that is put again under its own id is not counted twice.
const AGAIN: &str = "UPDATE intake SET seen = seen + (id <> ?1), last_seen = max(last_seen, ?2) \
    WHERE source = ?3 AND dedupe = ?4 RETURNING id, seen";

/// The most that is counted is the bound.
const OPEN: &str =
    "SELECT count(*) FROM (SELECT 1 FROM intake WHERE source = ? AND closed_at IS NULL LIMIT ?)";

const PUT: &str = "INSERT INTO intake (id, saga_id, first_seen, last_seen, raw_size, source, dedupe, position, \
    event_id, code, reason, raw, raw_digest) VALUES (?1,?2,?3,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)";

const CLOSE: &str = "UPDATE intake SET closed_at = ?2, disposition = ?3, closed_by = ?4, closed_because = ?5, \
    closed_operation = ?6 WHERE id = ?1 AND closed_at IS NULL";

const ROW: &str = "SELECT * FROM intake WHERE id = ?";

/// Puts a message. The write lock is held, so what is found stands until the end.
struct Put {
    put: IntakePut,
    open_max: u32,
}

#[async_trait]
impl Unit<SqliteConnection> for Put {
    type Done = Filed;

    async fn run(&self, connection: &mut SqliteConnection) -> Result<Filed, Failure> {
        let IntakePut { id, source, dedupe, position, event_id, saga, reason, raw, seen_at } = &self.put;
        let again = sqlx::query(AGAIN).bind(*id).bind(seen_at.0).bind(source.to_string());
        if let Some(row) = again.bind(dedupe.to_string()).fetch_optional(&mut *connection).await? {
            let (standing, seen): (Uuid, i64) = (row.try_get(0)?, row.try_get(1)?);
            let seen = u64::try_from(seen).unwrap_or_default();
            return Ok(if standing == *id { Filed::New } else { Filed::Again { id: standing, seen } });
        }
        let open = sqlx::query_scalar(OPEN).bind(source.to_string()).bind(i64::from(self.open_max));
        let open: i64 = open.fetch_one(&mut *connection).await?;
        if open >= i64::from(self.open_max) {
            return Ok(Filed::Full { open: self.open_max });
        }
        sqlx::query(PUT)
            .bind(*id)
            .bind(saga.map(|saga| saga.0))
            .bind(seen_at.0)
            .bind(raw.size.cast_signed())
            .bind(source.to_string())
            .bind(dedupe.to_string())
            .bind(position.clone())
            .bind(event_id.clone())
            .bind(reason.code.clone())
            .bind(reason.words.clone())
            .bind(raw.kept.clone())
            .bind(raw.digest.map(|digest| digest.to_vec()))
            .execute(&mut *connection)
            .await?;
        Ok(Filed::New)
    }
}

/// Closes a message, or finds how it was closed before.
struct Close {
    id: Uuid,
    closing: IntakeClosing,
}

#[async_trait]
impl Unit<SqliteConnection> for Close {
    type Done = Closing;

    async fn run(&self, connection: &mut SqliteConnection) -> Result<Closing, Failure> {
        let IntakeClosing { at, disposition, actor, reason, operation } = &self.closing;
        sqlx::query(CLOSE)
            .bind(self.id)
            .bind(at.0)
            .bind(disposition.spell())
            .bind(actor.to_string())
            .bind(reason.clone())
            .bind(operation.to_string())
            .execute(&mut *connection)
            .await?;
        let row = sqlx::query(ROW).bind(self.id).fetch_optional(&mut *connection).await?;
        let Some(row) = row else { return Ok(Closing::NoSuchMessage) };
        let model = intake::Model::from_query_result(&QueryResult::from(row), "").map_err(fault);
        let row = model.and_then(IntakeRow::try_from).map_err(Failure::Fault)?;
        let same = row.closed.as_ref().is_some_and(|standing| self.closing.repeats(standing));
        Ok(if same { Closing::Done(Box::new(row)) } else { Closing::Before(Box::new(row)) })
    }
}

#[async_trait]
impl IntakeStore for SqliteStore {
    async fn put_intake(&self, put: &IntakePut, open_max: u32) -> Result<Filed, Fault> {
        if let Some(reason) = put.unstorable() {
            return Ok(Filed::Unstorable { reason });
        }
        match self.transact(Put { put: put.clone(), open_max }).await {
            Err(Failure::Content(reason)) => Ok(Filed::Unstorable { reason }),
            filed => filed.map_err(Failure::into_fault),
        }
    }

    async fn list_intake(&self, filter: &IntakeFilter) -> Result<Vec<IntakeRow>, Fault> {
        self.reader.list_intake(filter).await
    }

    async fn read_intake(&self, id: Uuid) -> Result<Option<IntakeRow>, Fault> {
        self.reader.read_intake(id).await
    }

    async fn close_intake(&self, id: Uuid, closing: &IntakeClosing) -> Result<Closing, Fault> {
        if let Some(reason) = closing.unstorable() {
            return Ok(Closing::Unstorable { reason });
        }
        self.transact(Close { id, closing: closing.clone() }).await.map_err(Failure::into_fault)
    }
}
