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

/// A fault that goes on is said in one of so many rounds: once an hour.
const SAID_EVERY: u32 = 60;

/// A tombstone stays so much longer than its horizon: a start that has just passed the check of its own time must
/// still find it. One that waits longer is checked again before each submission.
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
#[derive(Clone, Copy, Debug)]
enum What {
    Sagas,
    Messages,
    Orders,
    Tombstones,
}

impl What {
    const ALL: [Self; 4] = [Self::Sagas, Self::Messages, Self::Orders, Self::Tombstones];
}

impl Purge {
    /// Runs until the worker is gone. What cannot be purged keeps nothing else from it.
    pub(super) async fn run(self) {
        let mut failed = What::ALL.map(|_| 0);
        while !self.news.is_closed() && self.lease.held().await.is_ok() {
            for (what, failed) in What::ALL.into_iter().zip(&mut failed) {
                match self.purge(what).await {
                    Ok(rows) => {
                        *failed = 0;
                        if rows > 0 {
                            tracing::info!(?what, rows, "purged what ended long ago");
                        }
                    }
                    Err(fault) => {
                        if *failed % SAID_EVERY == 0 {
                            tracing::warn!(?what, %fault, "purging fails; it is tried again every minute");
                        }
                        *failed += 1;
                    }
                }
            }
            self.clock.sleep_until(self.clock.now() + EVERY).await;
        }
    }

    async fn purge(&self, what: What) -> Result<u64, Fault> {
        let Retention { purge_after, forget_after } = self.retention;
        let after = match what {
            What::Sagas | What::Messages | What::Orders => purge_after,
            What::Tombstones => forget_after.map(|after| after.saturating_add(FORGET_LATER)),
        };
        match after {
            Some(after) => self.chunks(what, before(self.clock.now(), after)).await,
            None => Ok(0),
        }
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
