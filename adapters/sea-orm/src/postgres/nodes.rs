//! Many nodes on one database: beating, dismissing, releasing.
//!
//! These have connections of their own, so that none waits behind batches; and the heartbeat has [one](super::pulse)
//! that it shares with nothing, not even with a dismissal that waits for a batch of who is dismissed.

use std::time::Duration;

use amends::ports::{Fault, Hints, NodeStore, Peer, Sharing};
use amends_core::{Incarnation, SagaId, Timestamp};
use async_trait::async_trait;
use sea_orm::sqlx;
use sea_orm::sqlx::postgres::PgConnection;
use uuid::Uuid;

use super::PostgresStore;
use super::runner::detached;
use super::sql;
use crate::failure::Failure;
use crate::unit::Unit;

fn corrupt(reason: String) -> Failure {
    Failure::Fault(Fault::Corrupt(reason))
}

fn count(rows: u64) -> Result<u32, Failure> {
    u32::try_from(rows).map_err(|_| corrupt(format!("{rows} rows, more than asked for")))
}

/// Deletes the row of an incarnation whose counter stands still, and ends it for good. In a transaction.
struct Dismiss {
    incarnation: Incarnation,
    seen: i64,
    now: Timestamp,
}

#[async_trait]
impl Unit<PgConnection> for Dismiss {
    type Done = bool;

    async fn run(&self, connection: &mut PgConnection) -> Result<bool, Failure> {
        let dead = self.incarnation.0;
        sqlx::query(sql::NODE_ENDED).bind(dead).fetch_optional(&mut *connection).await?;
        let gone = sqlx::query(sql::WORKER_IS_DISMISSED).bind(dead).bind(self.seen);
        let gone = gone.execute(&mut *connection).await?.rows_affected() > 0;
        if gone {
            sqlx::query(sql::NODE_ENDS).bind(dead).bind(self.now.0).execute(&mut *connection).await?;
        }
        Ok(gone)
    }
}

/// Releases some of the sagas whose owner is dead. First the dead, then in a new statement their sagas: under the
/// lock of a saga that has a new owner, an old picture of who lives would take it away again.
struct ReleaseOrphans {
    now: Timestamp,
    limit: u32,
}

#[async_trait]
impl Unit<PgConnection> for ReleaseOrphans {
    type Done = u32;

    async fn run(&self, connection: &mut PgConnection) -> Result<u32, Failure> {
        super::outbox::release(connection).await?;
        let dead: Vec<Uuid> = sqlx::query_scalar(sql::DEAD_OWNERS).fetch_all(&mut *connection).await?;
        if dead.is_empty() {
            return Ok(0);
        }
        release(connection, dead, self.now, self.limit).await
    }
}

/// Releases some of the sagas of an incarnation that has left.
pub(super) struct ReleaseOf {
    pub(super) incarnation: Incarnation,
    pub(super) now: Timestamp,
    pub(super) limit: u32,
}

#[async_trait]
impl Unit<PgConnection> for ReleaseOf {
    type Done = u32;

    async fn run(&self, connection: &mut PgConnection) -> Result<u32, Failure> {
        super::outbox::release_of(connection, vec![self.incarnation.0]).await?;
        release(connection, vec![self.incarnation.0], self.now, self.limit).await
    }
}

async fn release(
    connection: &mut PgConnection,
    owners: Vec<Uuid>,
    now: Timestamp,
    limit: u32,
) -> Result<u32, Failure> {
    let release = sqlx::query(sql::RELEASE).bind(owners).bind(now.0).bind(i64::from(limit));
    count(release.execute(connection).await?.rows_affected())
}

/// Makes some sagas due whose wake-up time was set by a clock that ran ahead.
struct MendClock {
    now: Timestamp,
    latest: Timestamp,
    limit: u32,
}

#[async_trait]
impl Unit<PgConnection> for MendClock {
    type Done = u32;

    async fn run(&self, connection: &mut PgConnection) -> Result<u32, Failure> {
        let wake = sqlx::query(sql::WAKE_SET_AHEAD).bind(self.now.0).bind(self.latest.0);
        count(wake.bind(i64::from(self.limit)).execute(connection).await?.rows_affected())
    }
}

impl PostgresStore {
    async fn watch<U>(&self, unit: U) -> Result<U::Done, Fault>
    where
        U: Unit<PgConnection, Done: 'static> + Send + 'static,
    {
        let watch = self.watch.clone();
        detached(async move { watch.run(&unit).await.map_err(Failure::into_fault) }).await
    }
}

#[async_trait]
impl NodeStore for PostgresStore {
    fn sharing(&self) -> Sharing {
        Sharing::Shared
    }

    async fn beat(&self, incarnation: Incarnation, within: Duration) -> Result<u64, Fault> {
        let pulse = self.pulse.clone();
        detached(async move { pulse.beat(incarnation, within).await }).await
    }

    fn hints(&self, incarnation: Incarnation) -> Option<Hints> {
        Some(self.hinting.take(incarnation))
    }

    async fn peers(&self) -> Result<Vec<Peer>, Fault> {
        self.reader.within_bounds(|reader| async move { reader.peers().await }).await
    }

    async fn dismiss(&self, incarnation: Incarnation, seen: u64, now: Timestamp) -> Result<bool, Fault> {
        let (watch, dismiss) = (self.watch.clone(), Dismiss { incarnation, seen: seen.cast_signed(), now });
        detached(async move { watch.transact(&dismiss).await.map_err(Failure::into_fault) }).await
    }

    async fn release_orphans(&self, now: Timestamp, limit: u32) -> Result<u32, Fault> {
        let released = self.watch(ReleaseOrphans { now, limit }).await?;
        if released > 0 {
            self.hinting.give(None);
        }
        Ok(released)
    }

    async fn mend_clock(&self, now: Timestamp, tolerance: Duration, limit: u32) -> Result<u32, Fault> {
        let mended = self.watch(MendClock { now, latest: now + tolerance, limit }).await?;
        if mended > 0 {
            self.hinting.give(None);
        }
        Ok(mended)
    }

    async fn mine(
        &self,
        incarnation: Incarnation,
        after: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<SagaId>, Fault> {
        self.reader.within_bounds(|reader| async move { reader.mine(incarnation, after, limit).await }).await
    }
}
