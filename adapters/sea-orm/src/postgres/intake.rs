//! Intake: putting and closing messages.

use std::sync::LazyLock;

use amends::ports::{Closing, Fault, Filed, IntakeClosing, IntakeFilter, IntakePut, IntakeRow, IntakeStore};
use async_trait::async_trait;
use sea_orm::sqlx::postgres::PgConnection;
use sea_orm::sqlx::{self, Row as _};
use sea_orm::{FromQueryResult as _, QueryResult};
use uuid::Uuid;

use super::PostgresStore;
use super::runner::detached;
use super::sql::columns;
use crate::entity::intake;
use crate::failure::{Failure, fault};
use crate::unit::Unit;

/// How many times a message is put when what it met is gone by the time one looks.
const PUTS_MAX: u32 = 5;

/// Counts a message that is here, or keeps it, unless its source has `$13` open ones; one that is put again under its
/// own id is not counted twice. No row: the source is full, or another put of the same message came between.
const PUT: &str = "WITH again AS (UPDATE intake SET seen = seen + (id <> $1)::integer, \
      last_seen = greatest(last_seen, $3) WHERE source = $5 AND dedupe = $6 RETURNING id, seen), \
    new AS (INSERT INTO intake (id, saga_id, first_seen, last_seen, raw_size, source, dedupe, position, event_id, \
      code, reason, raw, raw_digest) SELECT $1, $2, $3, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12 \
      WHERE NOT EXISTS (SELECT 1 FROM again) AND (SELECT count(*) FROM \
        (SELECT 1 FROM intake WHERE source = $5 AND closed_at IS NULL LIMIT $13) AS open) < $13 \
      ON CONFLICT DO NOTHING RETURNING id, seen) \
    SELECT id, seen FROM again UNION ALL SELECT id, seen FROM new";

const OPEN: &str =
    "SELECT count(*) FROM (SELECT 1 FROM intake WHERE source = $1 AND closed_at IS NULL LIMIT $2) AS open";

const CLOSE: &str = "UPDATE intake SET closed_at = $2, disposition = $3, closed_by = $4, closed_because = $5, \
    closed_operation = $6 WHERE id = $1 AND closed_at IS NULL";

static ROW: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM intake WHERE id = $1", columns::<intake::Column>()));

/// Puts a message, or finds why not.
struct Put {
    put: IntakePut,
    open_max: u32,
}

#[async_trait]
impl Unit<PgConnection> for Put {
    type Done = Filed;

    async fn run(&self, connection: &mut PgConnection) -> Result<Filed, Failure> {
        let IntakePut { id, source, dedupe, position, event_id, saga, reason, raw, seen_at } = &self.put;
        for _ in 0..PUTS_MAX {
            let put = sqlx::query(PUT)
                .bind(*id)
                .bind(saga.map(|saga| saga.0))
                .bind(seen_at.0)
                .bind(raw.size.cast_signed())
                .bind(&**source)
                .bind(&**dedupe)
                .bind(position.as_deref())
                .bind(event_id.as_deref())
                .bind(&*reason.code)
                .bind(&*reason.words)
                .bind(&*raw.kept)
                .bind(raw.digest.as_ref().map(|digest| &digest[..]))
                .bind(i64::from(self.open_max));
            if let Some(row) = put.fetch_optional(&mut *connection).await? {
                let (standing, seen): (Uuid, i64) = (row.try_get(0)?, row.try_get(1)?);
                let seen = u64::try_from(seen).unwrap_or_default();
                return Ok(if standing == *id { Filed::New } else { Filed::Again { id: standing, seen } });
            }
            // In a new statement: another put of the same message is not to be seen in the one that met it.
            let open = sqlx::query_scalar(OPEN).bind(&**source).bind(i64::from(self.open_max));
            let open: i64 = open.fetch_one(&mut *connection).await?;
            if open >= i64::from(self.open_max) {
                let here = "SELECT count(*) FROM intake WHERE source = $1 AND dedupe = $2";
                let here = sqlx::query_scalar(here).bind(&**source).bind(&**dedupe);
                let here: i64 = here.fetch_one(&mut *connection).await?;
                if here == 0 {
                    return Ok(Filed::Full { open: self.open_max });
                }
            }
        }
        Err(Failure::Busy("what this message met was gone each time one looked".to_owned()))
    }
}

/// Closes a message, or finds how it was closed before.
struct Close {
    id: Uuid,
    closing: IntakeClosing,
}

#[async_trait]
impl Unit<PgConnection> for Close {
    type Done = Closing;

    async fn run(&self, connection: &mut PgConnection) -> Result<Closing, Failure> {
        let IntakeClosing { at, disposition, actor, reason, operation } = &self.closing;
        sqlx::query(CLOSE)
            .bind(self.id)
            .bind(at.0)
            .bind(disposition.spell())
            .bind(&**actor)
            .bind(&**reason)
            .bind(&**operation)
            .execute(&mut *connection)
            .await?;
        let row = sqlx::query(&**ROW).bind(self.id).fetch_optional(connection).await?;
        let Some(row) = row else { return Ok(Closing::NoSuchMessage) };
        let model = intake::Model::from_query_result(&QueryResult::from(row), "").map_err(fault);
        let row = model.and_then(IntakeRow::try_from).map_err(Failure::Fault)?;
        let same = row.closed.as_ref().is_some_and(|standing| self.closing.repeats(standing));
        Ok(if same { Closing::Done(Box::new(row)) } else { Closing::Before(Box::new(row)) })
    }
}

#[async_trait]
impl IntakeStore for PostgresStore {
    async fn put_intake(&self, put: &IntakePut, open_max: u32) -> Result<Filed, Fault> {
        if let Some(reason) = put.unstorable() {
            return Ok(Filed::Unstorable { reason });
        }
        let (runner, put) = (self.runner.clone(), Put { put: put.clone(), open_max });
        let filed = detached(async move {
            match runner.run(&put).await {
                Err(Failure::Content(reason)) => Ok(Filed::Unstorable { reason }),
                filed => filed.map_err(Failure::into_fault),
            }
        });
        filed.await
    }

    async fn list_intake(&self, filter: &IntakeFilter) -> Result<Vec<IntakeRow>, Fault> {
        self.reader.within_bounds(|reader| async move { reader.list_intake(filter).await }).await
    }

    async fn read_intake(&self, id: Uuid) -> Result<Option<IntakeRow>, Fault> {
        self.reader.within_bounds(|reader| async move { reader.read_intake(id).await }).await
    }

    async fn close_intake(&self, id: Uuid, closing: &IntakeClosing) -> Result<Closing, Fault> {
        if let Some(reason) = closing.unstorable() {
            return Ok(Closing::Unstorable { reason });
        }
        self.run(Close { id, closing: closing.clone() }).await
    }
}
