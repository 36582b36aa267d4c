//! Upkeep of what ended long ago: it is purged in small chunks, with pauses, so that nobody waits for it.
//!
//! Every node may do it at the same time: a saga that another one is purging is left to it. A store that does not
//! answer is asked again a minute later. Nothing here needs to be fenced: what may be purged is decided under the
//! lock of the saga's row, and nobody owns it.

use std::sync::Arc;
use std::time::Duration;

use amends_core::Timestamp;
use tokio::sync::mpsc::UnboundedSender;

use super::input::News;
use super::lease::Lease;
use crate::engine::Retention;
use crate::ports::{Clock, Fault, PurgeStore};

/// Sagas purged by one call.
const CHUNK: u32 = 100;

/// How long it waits between two calls: a node purges at most a thousand sagas per second.
const PAUSE: Duration = Duration::from_millis(100);

/// How often it begins.
const EVERY: Duration = Duration::from_secs(60);

/// A tombstone stays so much longer than its horizon: a start that has just passed the check of its own time must
/// still find it.
const FORGET_LATER: Duration = Duration::from_secs(3_600);

/// Everything that the loop owns.
pub(super) struct Purge {
    pub(super) store: Arc<dyn PurgeStore>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) lease: Arc<Lease>,
    pub(super) retention: Retention,
    pub(super) news: UnboundedSender<News>,
}

/// What is purged in one round.
#[derive(Clone, Copy)]
enum What {
    Sagas,
    Messages,
    Orders,
    Tombstones,
}

impl Purge {
    /// Runs until the worker is gone.
    pub(super) async fn run(self) {
        while !self.news.is_closed() && self.lease.held().await.is_ok() {
            match self.round().await {
                Ok(0) => {}
                Ok(rows) => tracing::info!(rows, "purged what ended long ago"),
                Err(fault) => tracing::debug!(%fault, "purging goes on later"),
            }
            self.clock.sleep_until(self.clock.now() + EVERY).await;
        }
    }

    async fn round(&self) -> Result<u64, Fault> {
        let now = self.clock.now();
        let mut all = 0;
        if let Some(after) = self.retention.purge_after {
            all += self.chunks(What::Sagas, before(now, after)).await?;
            all += self.chunks(What::Messages, before(now, after)).await?;
            all += self.chunks(What::Orders, before(now, after)).await?;
        }
        if let Some(after) = self.retention.forget_after {
            all += self.chunks(What::Tombstones, before(now, after.saturating_add(FORGET_LATER))).await?;
        }
        Ok(all)
    }

    async fn chunks(&self, what: What, before: Timestamp) -> Result<u64, Fault> {
        let mut all = 0;
        loop {
            let gone = match what {
                What::Sagas => self.store.purge(before, self.clock.now(), CHUNK).await?,
                What::Messages => self.store.purge_intake(before, CHUNK).await?,
                What::Orders => self.store.purge_orders(before, CHUNK).await?,
                What::Tombstones => self.store.forget(before, CHUNK).await?,
            };
            all += u64::from(gone);
            if gone < CHUNK || self.news.is_closed() {
                return Ok(all);
            }
            self.clock.sleep_until(self.clock.now() + PAUSE).await;
        }
    }
}

fn before(now: Timestamp, after: Duration) -> Timestamp {
    let micros = i64::try_from(after.as_micros()).unwrap_or(i64::MAX);
    Timestamp(now.0.saturating_sub(micros))
}
