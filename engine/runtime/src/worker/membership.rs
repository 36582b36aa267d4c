//! Who else is alive, and what becomes of the sagas of who is not. A loop, not a start-up step.
//!
//! * Where nodes share the store: watches the others' counters on this node's own clock, dismisses who stands
//!   still for a lease, and releases the sagas of incarnations without `worker` row, in chunks. The ordinary
//!   claim takes them from there, on any node that knows their definitions and has room.
//! * Once a minute, everywhere: sagas whose wake-up time was set by a clock that ran ahead are due, and sagas
//!   that are owned here without being in memory are looked for.
//!
//! What can fail: *the node that dismissed another dies before it has released anything*: every node releases
//! orphans once per lease, whoever dismissed their owner. *This node was frozen, or could not reach the
//! store*: what it last saw of the others says nothing; it begins to watch anew. *Two nodes dismiss or
//! release at once*: each saga is released once, and the second dismissal finds nothing.

mod observer;

use std::sync::Arc;
use std::time::Duration;

use amends_core::{Incarnation, Timestamp};
use tokio::sync::mpsc::UnboundedSender;

use super::heartbeat;
use super::input::News;
use super::lease::Lease;
use crate::ports::{CLOCK_TOLERANCE, Clock, Fault, NodeStore, Sharing};
use observer::Observer;

/// Sagas moved by one call, so that nobody waits long behind it.
const CHUNK: u32 = 500;

/// How often the clock guard and the sweep run.
const UPKEEP_EVERY: Duration = Duration::from_secs(60);

/// Everything that the loop owns.
pub(super) struct Membership {
    store: Arc<dyn NodeStore>,
    incarnation: Incarnation,
    clock: Arc<dyn Clock>,
    lease: Arc<Lease>,
    length: Duration,
    news: UnboundedSender<News>,
    observer: Observer,
    /// When orphans are released next, whoever dismissed their owner.
    orphans_at: Timestamp,
    upkeep_at: Timestamp,
}

impl Membership {
    pub(super) fn new(
        store: Arc<dyn NodeStore>,
        incarnation: Incarnation,
        clock: Arc<dyn Clock>,
        (lease, length): (Arc<Lease>, Duration),
        news: UnboundedSender<News>,
    ) -> Self {
        let now = clock.now();
        // Joining a store of one's own has done the first upkeep.
        let upkeep_at = if store.sharing() == Sharing::Exclusive { now + UPKEEP_EVERY } else { now };
        let observer = Observer::new(incarnation, length);
        Self { store, incarnation, clock, lease, length, news, observer, orphans_at: now, upkeep_at }
    }

    /// Runs until the worker is gone or dismissed. A store that does not answer is asked again in the next
    /// round.
    pub(super) async fn run(mut self) {
        let shared = self.store.sharing() == Sharing::Shared;
        let every = if shared { heartbeat::interval(self.length) } else { UPKEEP_EVERY };
        while !self.news.is_closed() {
            if self.lease.held().await.is_err() {
                return;
            }
            let others = if shared { self.others().await } else { Ok(()) };
            let goes_on = matches!(others, Ok(()) | Err(Fault::Unavailable(_)));
            // Whoever holds up the one keeps nobody from the other.
            let upkeep = if goes_on { self.upkeep().await } else { Ok(()) };
            for ended in [others, upkeep] {
                match ended {
                    Ok(()) => {}
                    Err(Fault::Unavailable(reason)) => {
                        tracing::debug!(%reason, "the store does not answer; this is looked at again later");
                    }
                    Err(fault) => {
                        let _ = self.news.send(News::Dismissed(fault));
                        return;
                    }
                }
            }
            self.clock.sleep_until(self.clock.now() + every).await;
        }
    }

    /// Dismisses who does not beat, and releases orphans.
    async fn others(&mut self) -> Result<(), Fault> {
        let asked_at = self.clock.elapsed();
        let peers = self.store.peers().await?;
        let silent = self.observer.silent(&peers, asked_at, self.clock.elapsed());
        let mut unanswered = Ok(());
        for peer in silent {
            let dismissed = match self.store.dismiss(peer.incarnation, peer.beat, self.clock.now()).await {
                Ok(dismissed) => dismissed,
                // Whoever holds the row of one dead node must not keep all others alive.
                Err(Fault::Unavailable(reason)) => {
                    unanswered = Err(Fault::Unavailable(reason));
                    continue;
                }
                Err(fault) => return Err(fault),
            };
            if dismissed {
                tracing::warn!(
                    incarnation = %peer.incarnation,
                    node = peer.node,
                    by = %self.incarnation,
                    "a node has not beaten for a lease and is dismissed; its sagas are released",
                );
                self.orphans_at = self.clock.now();
            }
        }
        if self.clock.now() >= self.orphans_at {
            self.release().await?;
            self.orphans_at = self.clock.now() + self.length;
        }
        unanswered
    }

    async fn release(&self) -> Result<(), Fault> {
        let mut all = 0;
        loop {
            self.lease.held().await?;
            let released = self.store.release_orphans(self.clock.now(), CHUNK).await?;
            all += released;
            if released > 0 {
                let _ = self.news.send(News::Released);
            }
            if released < CHUNK {
                break;
            }
        }
        if all > 0 {
            tracing::info!(sagas = all, "released the sagas of nodes that are gone");
        }
        Ok(())
    }

    async fn upkeep(&mut self) -> Result<(), Fault> {
        if self.clock.now() < self.upkeep_at {
            return Ok(());
        }
        self.upkeep_at = self.clock.now() + UPKEEP_EVERY;
        let _ = self.news.send(News::SweepDue);
        let mut all = 0;
        loop {
            self.lease.held().await?;
            let mended = self.store.mend_clock(self.clock.now(), CLOCK_TOLERANCE, CHUNK).await?;
            all += mended;
            if mended < CHUNK {
                break;
            }
        }
        if all > 0 {
            tracing::warn!(
                sagas = all,
                "wake-up times were set by a clock that ran ahead; the sagas are due now"
            );
        }
        Ok(())
    }
}
