//! Emptying the outbox. What fills it is part of the [batch](super::batch).

use amends::ports::{
    ControlOrder, Fault, LetGo, OUTBOX_LANES, OutboxKind, OutboxMessage, OutboxPlace, OutboxStanding,
    OutboxStore, WriteStats, lane_of,
};
use amends_core::{Incarnation, SagaId, Timestamp};
use async_trait::async_trait;
use sea_orm::sqlx;
use sea_orm::sqlx::postgres::PgConnection;
use uuid::Uuid;

use super::PostgresStore;
use super::controls::{changed, keep, known};
use super::sql;
use crate::failure::Failure;
use crate::unit::Unit;

pub(super) fn lane(saga: SagaId) -> i16 {
    lane_of(saga).cast_signed()
}

/// Takes an even share of the lanes. In a transaction; the lock on its `worker` row keeps the incarnation from being
/// dismissed meanwhile.
struct ClaimLanes(Incarnation);

#[async_trait]
impl Unit<PgConnection> for ClaimLanes {
    type Done = Vec<u16>;

    async fn run(&self, connection: &mut PgConnection) -> Result<Vec<u16>, Failure> {
        let me = self.0.0;
        let publishes =
            sqlx::query_scalar(sql::IS_PUBLISHER).bind(me).fetch_optional(&mut *connection).await?;
        let publishes: bool = publishes.ok_or(Failure::Fault(Fault::Fenced))?;
        if !publishes {
            sqlx::query(sql::BECOMES_PUBLISHER).bind(me).execute(&mut *connection).await?;
        }
        let publishers: i64 = sqlx::query_scalar(sql::PUBLISHERS).fetch_one(&mut *connection).await?;
        let share = (i64::from(OUTBOX_LANES) + publishers - 1) / publishers;
        for text in [sql::LANES_GIVEN_BACK, sql::LANES_TAKEN] {
            sqlx::query(text).bind(me).bind(share).execute(&mut *connection).await?;
        }
        let lanes: Vec<i16> = sqlx::query_scalar(sql::LANES_OF).bind(me).fetch_all(connection).await?;
        Ok(lanes.into_iter().map(i16::cast_unsigned).collect())
    }
}

/// Removes what was acknowledged.
struct RemovePublished {
    incarnation: Incarnation,
    published: Vec<OutboxPlace>,
}

#[async_trait]
impl Unit<PgConnection> for RemovePublished {
    type Done = u32;

    async fn run(&self, connection: &mut PgConnection) -> Result<u32, Failure> {
        let mut published = self.published.clone();
        published.sort_unstable_by_key(|place| (place.saga, place.seq, place.n));
        fn column<T>(published: &[OutboxPlace], value: impl Fn(&OutboxPlace) -> T) -> Vec<T> {
            published.iter().map(value).collect()
        }
        let remove = sqlx::query_as(sql::PUBLISHED)
            .bind(self.incarnation.0)
            .bind(column(&published, |place| lane(place.saga)))
            .bind(column(&published, |place| place.kind.word()))
            .bind(column(&published, |place| place.saga.0))
            .bind(column(&published, |place| i64::try_from(place.seq).unwrap_or(0)))
            .bind(column(&published, |place| i16::try_from(place.n).unwrap_or(-1)));
        counted(remove.fetch_one(connection).await?)
    }
}

/// Whether the incarnation is alive, and how many rows were changed.
fn counted((alive, changed): (i64, i64)) -> Result<u32, Failure> {
    if alive == 0 {
        return Err(Failure::Fault(Fault::Fenced));
    }
    Ok(u32::try_from(changed).unwrap_or(u32::MAX))
}

/// The primary key of a message. A number that its column cannot hold is one that no message has.
fn columns(OutboxPlace { kind, saga, seq, n }: OutboxPlace) -> (i16, &'static str, Uuid, i64, i16) {
    let (seq, n) = (i64::try_from(seq).unwrap_or(0), i16::try_from(n).unwrap_or(-1));
    (lane(saga), kind.word(), saga.0, seq, n)
}

/// Lets a refused message go, or finds why not. In a transaction, which waits for whoever lets the same one go or uses the same
/// operation id.
struct LettingGo {
    message: OutboxPlace,
    order: ControlOrder,
}

#[async_trait]
impl Unit<PgConnection> for LettingGo {
    type Done = LetGo;

    async fn run(&self, connection: &mut PgConnection) -> Result<LetGo, Failure> {
        let operation_id = &self.order.operation_id;
        if let Some(known) = known(connection, operation_id).await? {
            return Ok(LetGo::Known(known));
        }
        let (lane, kind, saga, seq, n) = columns(self.message);
        let gone = sqlx::query(sql::MESSAGE_LET_GO).bind(lane).bind(kind).bind(saga).bind(seq).bind(n);
        if gone.execute(&mut *connection).await?.rows_affected() > 0 {
            if !keep(connection, &self.order).await? {
                // For another message, a moment ago: this one stays, and the next look finds that order.
                return Err(Failure::Busy("an order of this id has just been given".to_owned()));
            }
            changed(connection, operation_id).await?;
            return Ok(LetGo::Done);
        }
        // It may be gone by an order of this very id.
        if let Some(known) = known(connection, operation_id).await? {
            return Ok(LetGo::Known(known));
        }
        let stands =
            sqlx::query_scalar(sql::MESSAGE_STANDS).bind(lane).bind(kind).bind(saga).bind(seq).bind(n);
        let stands: i64 = stands.fetch_one(connection).await?;
        Ok(if stands > 0 { LetGo::NotRefused } else { LetGo::NoSuchMessage })
    }
}

/// Notes that a message was refused.
struct NoteRefusal {
    incarnation: Incarnation,
    refused: OutboxPlace,
    reason: String,
    next_at: Timestamp,
}

#[async_trait]
impl Unit<PgConnection> for NoteRefusal {
    type Done = u32;

    async fn run(&self, connection: &mut PgConnection) -> Result<u32, Failure> {
        let (lane, kind, saga, seq, n) = columns(self.refused);
        let note = sqlx::query_as(sql::MESSAGE_REFUSED)
            .bind(self.incarnation.0)
            .bind(lane)
            .bind(kind)
            .bind(saga)
            .bind(seq)
            .bind(n)
            .bind(&*self.reason)
            .bind(self.next_at.0);
        counted(note.fetch_one(connection).await?)
    }
}

/// Lanes of incarnations without `worker` row lose their owner. As with sagas the dead are found first, and their
/// lanes released in a new statement.
pub(super) async fn release(connection: &mut PgConnection) -> Result<(), Failure> {
    let dead: Vec<Uuid> = sqlx::query_scalar(sql::DEAD_PUBLISHERS).fetch_all(&mut *connection).await?;
    if !dead.is_empty() {
        release_of(connection, dead).await?;
    }
    Ok(())
}

/// The lanes of these incarnations, which are gone, lose their owner.
pub(super) async fn release_of(connection: &mut PgConnection, owners: Vec<Uuid>) -> Result<(), Failure> {
    sqlx::query(sql::LANES_RELEASED).bind(owners).execute(connection).await?;
    Ok(())
}

impl PostgresStore {
    fn count_outbox(&self, changed: u32) {
        self.counters.add(&WriteStats { outbox: u64::from(changed), ..WriteStats::default() });
    }
}

#[async_trait]
impl OutboxStore for PostgresStore {
    async fn claim_lanes(&self, incarnation: Incarnation) -> Result<Vec<u16>, Fault> {
        self.transact(ClaimLanes(incarnation)).await
    }

    async fn unpublished(
        &self,
        incarnation: Incarnation,
        kind: OutboxKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<OutboxMessage>, Fault> {
        self.reader
            .within_bounds(|reader| async move { reader.unpublished(incarnation, kind, now, limit).await })
            .await
    }

    async fn remove_published(
        &self,
        incarnation: Incarnation,
        published: &[OutboxPlace],
    ) -> Result<u32, Fault> {
        let removed = self.run(RemovePublished { incarnation, published: published.to_vec() }).await?;
        self.count_outbox(removed);
        Ok(removed)
    }

    async fn note_refusal(
        &self,
        incarnation: Incarnation,
        refused: OutboxPlace,
        reason: &str,
        next_at: Timestamp,
    ) -> Result<(), Fault> {
        let reason = reason.replace('\0', "\u{fffd}");
        let noted = self.run(NoteRefusal { incarnation, refused, reason, next_at }).await?;
        self.count_outbox(noted);
        Ok(())
    }

    async fn let_go(&self, message: OutboxPlace, order: &ControlOrder) -> Result<LetGo, Fault> {
        if let Some(reason) = order.unstorable() {
            return Ok(LetGo::Unstorable { reason });
        }
        let answer = self.transact(LettingGo { message, order: order.clone() }).await?;
        self.count_outbox(u32::from(answer == LetGo::Done));
        Ok(answer)
    }

    async fn outbox(&self, limit: u32) -> Result<OutboxStanding, Fault> {
        self.reader.within_bounds(|reader| async move { reader.outbox(limit).await }).await
    }
}
