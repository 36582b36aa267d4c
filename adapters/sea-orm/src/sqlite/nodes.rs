//! Several nodes on the file: beating, dismissing, releasing. Each inside an open transaction.

use std::time::Duration;

use amends::ports::{Fault, NodeStore, Peer, Sharing};
use amends_core::{Incarnation, SagaId, Timestamp};
use async_trait::async_trait;
use sea_orm::sqlx::sqlite::SqliteConnection;
use sea_orm::sqlx::{self, Row as _};

use super::SqliteStore;
use super::sql;
use super::writer::Request;
use crate::failure::Failure;
use crate::unit::Unit;

/// Moves an incarnation's counter.
pub(super) struct Beat {
    pub(super) incarnation: Incarnation,
}

#[async_trait]
impl Unit<SqliteConnection> for Beat {
    type Done = u64;

    async fn run(&self, connection: &mut SqliteConnection) -> Result<u64, Failure> {
        let beat = sqlx::query(sql::BEAT).bind(self.incarnation.0).fetch_optional(&mut *connection).await?;
        Ok(beat.ok_or(Failure::Fault(Fault::Fenced))?.try_get::<i64, _>(0)?.cast_unsigned())
    }
}

/// Deletes the row of an incarnation whose counter stands still.
pub(super) struct Dismiss {
    pub(super) incarnation: Incarnation,
    pub(super) seen: u64,
    pub(super) now: Timestamp,
}

#[async_trait]
impl Unit<SqliteConnection> for Dismiss {
    type Done = bool;

    async fn run(&self, connection: &mut SqliteConnection) -> Result<bool, Failure> {
        let dismiss = sqlx::query(sql::DISMISS).bind(self.incarnation.0).bind(self.seen.cast_signed());
        if dismiss.execute(&mut *connection).await?.rows_affected() == 0 {
            return Ok(false);
        }
        let end = sqlx::query(sql::NODE_ENDS).bind(self.now.0).bind(self.incarnation.0);
        end.execute(&mut *connection).await?;
        Ok(true)
    }
}

/// Releases some of the sagas whose owner has no `worker` row, and answers how many.
pub(super) struct Release {
    pub(super) now: Timestamp,
    pub(super) limit: u32,
}

#[async_trait]
impl Unit<SqliteConnection> for Release {
    type Done = u32;

    async fn run(&self, connection: &mut SqliteConnection) -> Result<u32, Failure> {
        super::outbox::release(connection).await?;
        let release = sqlx::query(sql::RELEASE).bind(self.now.0).bind(i64::from(self.limit));
        count(release.execute(&mut *connection).await?.rows_affected())
    }
}

/// Makes some sagas due whose wake-up time was set by a clock that ran ahead, and answers how many.
pub(super) struct MendClock {
    pub(super) now: Timestamp,
    pub(super) tolerance: Duration,
    pub(super) limit: u32,
}

#[async_trait]
impl Unit<SqliteConnection> for MendClock {
    type Done = u32;

    async fn run(&self, connection: &mut SqliteConnection) -> Result<u32, Failure> {
        let latest = self.now + self.tolerance;
        let wake =
            sqlx::query(sql::WAKE_SET_AHEAD).bind(self.now.0).bind(latest.0).bind(i64::from(self.limit));
        count(wake.execute(&mut *connection).await?.rows_affected())
    }
}

fn count(rows: u64) -> Result<u32, Failure> {
    u32::try_from(rows)
        .map_err(|_| Failure::Fault(Fault::Corrupt(format!("{rows} rows, more than asked for"))))
}

#[async_trait]
impl NodeStore for SqliteStore {
    fn sharing(&self) -> Sharing {
        self.sharing
    }

    async fn beat(&self, incarnation: Incarnation, _within: Duration) -> Result<u64, Fault> {
        self.ask(|answer| Request::Beat { beat: Beat { incarnation }, answer }).await
    }

    async fn peers(&self) -> Result<Vec<Peer>, Fault> {
        self.reader.peers().await
    }

    async fn dismiss(&self, incarnation: Incarnation, seen: u64, now: Timestamp) -> Result<bool, Fault> {
        let dismiss = Dismiss { incarnation, seen, now };
        self.ask(|answer| Request::Dismiss { dismiss, answer }).await
    }

    async fn release_orphans(&self, now: Timestamp, limit: u32) -> Result<u32, Fault> {
        self.ask(|answer| Request::Release { release: Release { now, limit }, answer }).await
    }

    async fn mend_clock(&self, now: Timestamp, tolerance: Duration, limit: u32) -> Result<u32, Fault> {
        self.ask(|answer| Request::MendClock { mend: MendClock { now, tolerance, limit }, answer }).await
    }

    async fn mine(
        &self,
        incarnation: Incarnation,
        after: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<SagaId>, Fault> {
        self.reader.mine(incarnation, after, limit).await
    }
}
