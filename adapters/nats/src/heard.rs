//! What is heard of a connection beside the answers on it.
//!
//! What the server refuses (a missing permission) it tells beside the answer, which then never comes; so its words are kept
//! here, and whoever waited in vain finds them. Whoever is too slow is told even less: the server hangs up, and the client
//! library drops what its buffer does not hold. Both are counted. Neither loses anything: what was pulled comes again after the
//! consumer's `ack_wait`, a reply that is not acknowledged comes again, whoever asked and was not answered asks again.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use async_nats::{Event, ServerError};

/// The most refusals of the server that are kept.
const REFUSALS_MAX: usize = 64;

#[derive(Default)]
pub(crate) struct Heard {
    /// In the server's own words.
    refusals: Mutex<VecDeque<String>>,
    connections_lost: AtomicU64,
    messages_dropped: AtomicU64,
}

impl Heard {
    /// Something happened to the connection: it is logged, and kept or counted.
    pub(crate) fn event(&self, event: &Event) {
        match event {
            Event::Connected => tracing::info!("NATS is there"),
            Event::Disconnected => {
                self.connections_lost.fetch_add(1, Ordering::Relaxed);
                tracing::warn!("NATS is gone; connecting again");
            }
            Event::SlowConsumer(subscription) => {
                let dropped = self.messages_dropped.fetch_add(1, Ordering::Relaxed) + 1;
                // They come by the thousand.
                if dropped.is_power_of_two() {
                    tracing::warn!(
                        subscription,
                        dropped,
                        "messages are not taken quickly enough and are dropped"
                    );
                }
            }
            Event::ServerError(ServerError::Other(words)) => {
                tracing::warn!(%words, "the nats-server refuses");
                self.refuses(general(words));
            }
            other => tracing::warn!(event = %other, "NATS"),
        }
    }

    fn refuses(&self, refusal: String) {
        let mut kept = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.contains(&refusal) {
            return;
        }
        if kept.len() == REFUSALS_MAX {
            kept.pop_front();
        }
        kept.push_back(refusal);
    }

    /// The oldest first.
    pub(crate) fn refusals(&self) -> Vec<String> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    pub(crate) fn connections_lost(&self) -> u64 {
        self.connections_lost.load(Ordering::Relaxed)
    }

    /// At least: the library itself does not tell of all.
    pub(crate) fn messages_dropped(&self) -> u64 {
        self.messages_dropped.load(Ordering::Relaxed)
    }
}

/// Every acknowledgement has a subject of its own, which ends in numbers: for all of one consumer the refusal is one.
pub(crate) fn general(words: &str) -> String {
    let Some(from) = words.find("$JS.ACK.") else { return words.to_owned() };
    let subject = words[from..].split('"').next().unwrap_or_default();
    let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    let named: Vec<&str> = subject.split('.').take_while(|part| !is_number(part)).collect();
    words.replace(subject, &format!("{}.>", named.join(".")))
}

#[cfg(test)]
mod tests {
    use super::general;

    #[test]
    fn refused_acknowledgements_of_one_consumer_are_one_refusal() {
        let words = "Permissions Violation for Publish to \"$JS.ACK.ORDERS.amends-order.1.7.9.1796083430.0\"";
        let one = "Permissions Violation for Publish to \"$JS.ACK.ORDERS.amends-order.>\"";
        assert_eq!(general(words), one);
        assert_eq!(general("$JS.ACK.ORDERS.c.2.8.10.17.0"), "$JS.ACK.ORDERS.c.>");
        let other = "Permissions Violation for Publish to \"$JS.API.CONSUMER.INFO.S.C\"";
        assert_eq!(general(other), other);
    }
}
