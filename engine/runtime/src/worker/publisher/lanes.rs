//! Claiming lanes: once where one process owns the store, again and again where nodes share it.

use super::{Outbox, Outside};
use crate::ports::{Fault, Sharing};
use crate::worker::input::News;

/// Runs until the worker is dismissed or told to end.
pub(super) async fn run(outside: Outside, outbox: Outbox) {
    let mut lanes = Vec::new();
    while !outside.is_over() && !outbox.ending.is_cancelled() {
        if outside.lease.held().await.is_err() {
            return;
        }
        match outside.store.claim_lanes(outside.incarnation).await {
            Ok(claimed) => {
                if claimed != lanes {
                    tracing::debug!(lanes = claimed.len(), "lanes of the outbox are this node's");
                    lanes.clone_from(&claimed);
                    outbox.lanes_changed(claimed);
                }
                if outside.sharing == Sharing::Exclusive {
                    return;
                }
            }
            Err(Fault::Fenced) => {
                let _ = outside.news.send(News::Dismissed(Fault::Fenced));
                return;
            }
            Err(fault) => tracing::debug!(%fault, "the outbox does not answer; its lanes are claimed later"),
        }
        let next_look = outside.clock.now() + outside.bounds.look_every;
        tokio::select! {
            biased;
            () = outbox.ending.cancelled() => {}
            () = outside.clock.sleep_until(next_look) => {}
        }
    }
}
