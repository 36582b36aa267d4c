//! What is to be published.

use amends::ports::{
    Fault, OutboxCount, OutboxKind, OutboxMessage, OutboxStanding, REFUSAL_WAIT_MAX, RefusedMessage,
};
use amends_core::{Incarnation, Timestamp};
use sea_orm::{
    ColumnTrait, ConnectionTrait as _, DbBackend, EntityTrait, FromQueryResult as _, IdenStatic as _,
    Iterable as _, PaginatorTrait, QueryFilter, QueryOrder, QuerySelect, Statement,
};

use super::{Queries, fault, readable};
use crate::entity::{outbox, worker};

/// Of the events of a saga only the first, and nothing that was refused and is not due again.
const READY: &str = "(o.next_at <= $3 OR o.next_at > $4) AND ($1 <> 'event' OR NOT EXISTS (SELECT 1 FROM outbox e \
    WHERE e.lane = o.lane AND e.kind = o.kind AND e.saga_id = o.saga_id AND (e.seq, e.n) < (o.seq, o.n)))";

/// `$1` the kind, `$2` the incarnation, `$3` now, `$4` later than any refused message may wait, `$5` the limit.
fn unpublished(backend: DbBackend) -> String {
    // By name: with `*`, a statement prepared before a later schema would fail after it.
    let columns: Vec<String> =
        outbox::Column::iter().map(|column| format!("o.{}", column.as_str())).collect();
    let columns = columns.join(", ");
    match backend {
        // The first of each lane in the order of its index, and of those the first: to sort all that waits would
        // take long when much does.
        DbBackend::Postgres => format!(
            "SELECT {columns} FROM (SELECT o.* FROM outbox_lane l CROSS JOIN LATERAL \
               (SELECT o.lane, o.kind, o.saga_id, o.seq, o.n FROM outbox o WHERE o.lane = l.lane AND o.kind = $1 \
                AND {READY} ORDER BY o.saga_id, o.seq, o.n LIMIT $5) o \
               WHERE l.owner = $2 ORDER BY o.saga_id, o.seq, o.n LIMIT $5) k \
             JOIN outbox o ON (o.lane, o.kind, o.saga_id, o.seq, o.n) = (k.lane, k.kind, k.saga_id, k.seq, k.n) \
             ORDER BY o.saga_id, o.seq, o.n"
        ),
        // In the order of writing, which the index keeps.
        _ => format!(
            "SELECT {columns} FROM outbox o INDEXED BY outbox_kind WHERE o.kind = $1 AND {READY} \
             AND o.lane IN (SELECT lane FROM outbox_lane WHERE owner = $2) ORDER BY o.rowid LIMIT $5"
        ),
    }
}

impl Queries {
    /// Messages of one kind in the lanes of `incarnation`. That it is dismissed meanwhile does no harm: nobody may
    /// act on an answer without looking at its lease.
    pub(crate) async fn unpublished(
        &self,
        incarnation: Incarnation,
        kind: OutboxKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<OutboxMessage>, Fault> {
        let alive = worker::Entity::find_by_id(incarnation.0).count(&self.db).await.map_err(fault)?;
        if alive == 0 {
            return Err(Fault::Fenced);
        }
        let backend = self.db.get_database_backend();
        let values = [
            kind.word().into(),
            incarnation.0.into(),
            now.0.into(),
            (now + REFUSAL_WAIT_MAX).0.into(),
            i64::from(limit).into(),
        ];
        let statement = Statement::from_sql_and_values(backend, unpublished(backend), values);
        let rows = self.db.query_all_raw(statement).await.map_err(fault)?;
        Ok(readable(&rows, "a message of the outbox", |row| {
            OutboxMessage::try_from(outbox::Model::from_query_result(row, "").map_err(fault)?)
        }))
    }

    pub(crate) async fn outbox(&self, limit: u32) -> Result<OutboxStanding, Fault> {
        let counts: Vec<(String, i64, i64, i64)> = outbox::Entity::find()
            .select_only()
            .column(outbox::Column::Kind)
            .column_as(outbox::Column::Kind.count(), "waiting")
            .column_as(outbox::Column::WrittenAt.min(), "oldest")
            .column_as(outbox::Column::Refused.count(), "refused")
            .group_by(outbox::Column::Kind)
            .into_tuple()
            .all(&self.db)
            .await
            .map_err(fault)?;
        let mut standing = OutboxStanding::default();
        for (kind, waiting, oldest, refused) in counts {
            standing.counts.push(OutboxCount {
                kind: outbox::kind(&kind)?,
                waiting: waiting.cast_unsigned(),
                oldest: Timestamp(oldest),
                refused: refused.cast_unsigned(),
            });
        }
        standing.counts.sort_by_key(|count| count.kind);
        let refused = outbox::Entity::find()
            .filter(outbox::Column::Refusals.gt(0))
            .order_by_asc(outbox::Column::WrittenAt)
            .order_by_asc(outbox::Column::SagaId)
            .limit(u64::from(limit));
        let rows = self.rows(&refused).await?;
        standing.refused = readable(&rows, "a refused message of the outbox", |row| {
            RefusedMessage::try_from(outbox::Model::from_query_result(row, "").map_err(fault)?)
        });
        Ok(standing)
    }
}
