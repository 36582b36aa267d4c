//! The outbox: filled with the batch that a message follows from, emptied by whoever owns the lane. Each inside an
//! open transaction.

use amends::ports::{
    ControlOrder, Fault, LetGo, OUTBOX_LANES, OutboxKind, OutboxMessage, OutboxPlace, OutboxRow,
    OutboxStanding, OutboxStore, lane_of,
};
use amends_core::{Incarnation, SagaId, Timestamp};
use async_trait::async_trait;
use sea_orm::sqlx::sqlite::SqliteConnection;
use sea_orm::sqlx::{self, Row as _};

use super::SqliteStore;
use super::batch::{Bound, send};
use super::controls::{keep, known};
use super::owners::fence;
use super::sql::{self, SQL};
use super::writer::Request;
use crate::failure::Failure;
use crate::prepared::Prepared;
use crate::unit::Unit;

/// Writes the messages of accepted commits; how many.
pub(super) async fn put(connection: &mut SqliteConnection, accepted: &[&Prepared]) -> Result<u64, Failure> {
    let mut rows: Vec<(&Prepared, usize)> = Vec::new();
    for commit in accepted {
        rows.extend((0..commit.outbox.len()).map(|n| (*commit, n)));
    }
    let bind = |query: Bound, (commit, n): &(&Prepared, usize)| {
        let OutboxRow { id, kind, subject, headers, body } = &commit.outbox[*n];
        query
            .bind(i64::from(lane_of(SagaId(commit.saga))))
            .bind(kind.word())
            .bind(commit.saga)
            .bind(commit.seq)
            .bind(i64::try_from(*n).expect("a storable commit has few messages"))
            .bind(*id)
            .bind(commit.at)
            .bind(subject.clone())
            .bind(headers.clone())
            .bind(body.clone())
    };
    send(connection, &SQL.outbox, &rows, |query| query, bind).await
}

/// Lanes of who is gone lose their owner.
pub(super) async fn release(connection: &mut SqliteConnection) -> Result<(), Failure> {
    sqlx::query(sql::LANES_RELEASED).execute(&mut *connection).await?;
    Ok(())
}

fn bind_place(query: Bound, place: &OutboxPlace) -> Bound {
    query
        .bind(i64::from(lane_of(place.saga)))
        .bind(place.kind.word())
        .bind(place.saga.0)
        // A sequence that the column cannot hold is one that no message has.
        .bind(i64::try_from(place.seq).unwrap_or(0))
        .bind(i64::from(place.n))
}

/// Takes an even share of the lanes.
pub(super) struct ClaimLanes {
    incarnation: Incarnation,
}

#[async_trait]
impl Unit<SqliteConnection> for ClaimLanes {
    type Done = Vec<u16>;

    async fn run(&self, connection: &mut SqliteConnection) -> Result<Vec<u16>, Failure> {
        fence(connection, self.incarnation).await?;
        let me = self.incarnation.0;
        sqlx::query(sql::IS_PUBLISHER).bind(me).execute(&mut *connection).await?;
        let publishers: i64 = sqlx::query(sql::PUBLISHERS).fetch_one(&mut *connection).await?.try_get(0)?;
        let share = (i64::from(OUTBOX_LANES) + publishers - 1) / publishers;
        for text in [sql::LANES_GIVEN_BACK, sql::LANES_TAKEN] {
            sqlx::query(text).bind(me).bind(share).execute(&mut *connection).await?;
        }
        let lanes = sqlx::query(sql::LANES_OF).bind(me).fetch_all(&mut *connection).await?;
        lanes.iter().map(|row| Ok(row.try_get::<u16, _>(0)?)).collect()
    }
}

/// Removes what was acknowledged, and answers how many that were.
pub(super) struct RemovePublished {
    incarnation: Incarnation,
    published: Vec<OutboxPlace>,
}

#[async_trait]
impl Unit<SqliteConnection> for RemovePublished {
    type Done = u32;

    async fn run(&self, connection: &mut SqliteConnection) -> Result<u32, Failure> {
        fence(connection, self.incarnation).await?;
        let me = self.incarnation.0;
        let removed =
            send(connection, &SQL.published, &self.published, |query| query.bind(me), bind_place).await?;
        Ok(u32::try_from(removed).unwrap_or(u32::MAX))
    }
}

/// Notes that a message was refused, and answers whether it is there, as a number.
pub(super) struct NoteRefusal {
    incarnation: Incarnation,
    refused: OutboxPlace,
    reason: String,
    next_at: Timestamp,
}

#[async_trait]
impl Unit<SqliteConnection> for NoteRefusal {
    type Done = u32;

    async fn run(&self, connection: &mut SqliteConnection) -> Result<u32, Failure> {
        fence(connection, self.incarnation).await?;
        let note = sqlx::query(sql::MESSAGE_REFUSED).bind(self.reason.clone()).bind(self.next_at.0);
        let note = bind_place(note, &self.refused).bind(self.incarnation.0);
        let noted = note.execute(&mut *connection).await?.rows_affected();
        Ok(u32::try_from(noted).unwrap_or(u32::MAX))
    }
}

/// Lets a refused message go, or finds why not.
pub(super) struct LettingGo {
    message: OutboxPlace,
    order: ControlOrder,
}

#[async_trait]
impl Unit<SqliteConnection> for LettingGo {
    type Done = LetGo;

    async fn run(&self, connection: &mut SqliteConnection) -> Result<LetGo, Failure> {
        if let Some(known) = known(connection, &self.order.operation_id).await? {
            return Ok(LetGo::Known(known));
        }
        let gone = bind_place(sqlx::query(sql::MESSAGE_LET_GO), &self.message);
        if gone.execute(&mut *connection).await?.rows_affected() > 0 {
            keep(connection, &self.order, true).await?;
            return Ok(LetGo::Done);
        }
        let stands = bind_place(sqlx::query(sql::MESSAGE_STANDS), &self.message);
        let stands = stands.fetch_optional(connection).await?.is_some();
        Ok(if stands { LetGo::NotRefused } else { LetGo::NoSuchMessage })
    }
}

#[async_trait]
impl OutboxStore for SqliteStore {
    async fn claim_lanes(&self, incarnation: Incarnation) -> Result<Vec<u16>, Fault> {
        let claim = ClaimLanes { incarnation };
        self.ask(|answer| Request::ClaimLanes { claim, answer }).await
    }

    async fn unpublished(
        &self,
        incarnation: Incarnation,
        kind: OutboxKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<OutboxMessage>, Fault> {
        self.reader.unpublished(incarnation, kind, now, limit).await
    }

    async fn remove_published(
        &self,
        incarnation: Incarnation,
        published: &[OutboxPlace],
    ) -> Result<u32, Fault> {
        let remove = RemovePublished { incarnation, published: published.to_vec() };
        self.ask(|answer| Request::RemovePublished { remove, answer }).await
    }

    async fn note_refusal(
        &self,
        incarnation: Incarnation,
        refused: OutboxPlace,
        reason: &str,
        next_at: Timestamp,
    ) -> Result<(), Fault> {
        let reason = reason.replace('\0', "\u{fffd}");
        let note = NoteRefusal { incarnation, refused, reason, next_at };
        self.ask(|answer| Request::NoteRefusal { note, answer }).await?;
        Ok(())
    }

    async fn let_go(&self, message: OutboxPlace, order: &ControlOrder) -> Result<LetGo, Fault> {
        if let Some(reason) = order.unstorable() {
            return Ok(LetGo::Unstorable { reason });
        }
        let letting_go = LettingGo { message, order: order.clone() };
        self.ask(|answer| Request::LetGo { letting_go, answer }).await
    }

    async fn outbox(&self, limit: u32) -> Result<OutboxStanding, Fault> {
        self.reader.outbox(limit).await
    }
}
