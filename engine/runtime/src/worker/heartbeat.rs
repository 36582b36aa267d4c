//! The heartbeat: a task that does nothing else, so that nothing else can hold it up.
//!
//! It moves this incarnation's counter ten times per lease. What can fail: *the store does not answer*, or not
//! within a fifth of a lease, as on a connection that fell silent: it is asked again soon, and after half a lease this node [stops acting](super::lease) until it answers. *This
//! node was frozen*: the first thing it does is this. *The counter is gone*: another node dismissed this one;
//! the engine stops, and says so to everybody.

use std::sync::Arc;
use std::time::Duration;

use amends_core::Incarnation;
use tokio::sync::mpsc::UnboundedSender;

use super::input::News;
use super::lease::Lease;
use crate::ports::{Clock, Fault, NodeStore};

/// Heartbeats per lease, while all is well.
const BEATS_PER_LEASE: u32 = 10;

/// A heartbeat that has no answer after this part of a lease counts as failed. So one that is lost on its way
/// leaves time for another one within half a lease.
const BEAT_WITHIN: u32 = 5;

/// How often nodes beat, and look whether the others do.
pub(super) fn interval(lease: Duration) -> Duration {
    lease / BEATS_PER_LEASE
}

/// Beats until the worker is gone or dismissed.
pub(super) async fn run(
    store: Arc<dyn NodeStore>,
    incarnation: Incarnation,
    clock: Arc<dyn Clock>,
    (lease, length): (Arc<Lease>, Duration),
    news: UnboundedSender<News>,
) {
    let mut failing = false;
    while !news.is_closed() {
        let sent_at = clock.elapsed();
        let wait = match store.beat(incarnation, length / BEAT_WITHIN).await {
            Ok(_) => {
                lease.renew(sent_at);
                failing = false;
                interval(length)
            }
            Err(Fault::Unavailable(reason)) => {
                if !failing {
                    tracing::warn!(%reason, "the heartbeat failed; without one this node soon stops acting");
                }
                failing = true;
                interval(length) / 4
            }
            Err(fault) => {
                lease.end();
                let _ = news.send(News::Dismissed(fault));
                return;
            }
        };
        clock.sleep_until(clock.now() + wait).await;
    }
}
