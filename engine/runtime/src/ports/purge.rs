//! Purging: what ended long ago leaves its key and how it ended, and nothing else.
//!
//! A business key must be remembered for longer than its saga: a trigger that is delivered once more a month later
//! must find that it was handled. So a purged saga keeps its row, with id, key, digests, outcome and times; journal,
//! mail, desk entries and compensation records go.

use amends_core::Timestamp;
use async_trait::async_trait;

use super::store::Fault;

/// The outcome that a purged saga keeps: how it ended, and why if that was said.
pub fn kept_outcome(phase: &str, outcome: Option<&str>) -> String {
    match outcome {
        Some(reason) => format!("{phase}: {reason}"),
        None => phase.to_owned(),
    }
}

/// The side of a store that forgets.
///
/// # Guarantees asked of an implementation
/// * A saga is purged whole or not at all, and only if nothing of it is under way, waits for a person, or has unread
///   mail: no owner, no wake-up time, no open action, no desk entry, not set aside. Whoever posts mail at the same
///   instant is either read before, or told that the saga was purged.
/// * A start under the key of a purged saga finds it, as it finds any other.
/// * Any number of nodes may purge at once, beside live ones; each call is short, and may be repeated at any moment.
#[async_trait]
pub trait PurgeStore: Send + Sync + 'static {
    /// Purges sagas that ended before then, those that ended first to begin with; at most `limit`. Answers how many:
    /// fewer than `limit` means that no more can be purged now.
    async fn purge(&self, ended_before: Timestamp, now: Timestamp, limit: u32) -> Result<u32, Fault>;

    /// Removes what is left of purged sagas that ended before then; at most `limit`. From then on their keys are free.
    async fn forget(&self, ended_before: Timestamp, limit: u32) -> Result<u32, Fault>;

    /// Removes messages in intake that were closed before then; at most `limit`. Open ones stay for ever.
    async fn purge_intake(&self, closed_before: Timestamp, limit: u32) -> Result<u32, Fault>;

    /// Removes orders about [controls](super::ControlStore) that were given before then; at most `limit`. Those that set
    /// what is still in force stay. From then on their operation ids are unknown.
    async fn purge_orders(&self, given_before: Timestamp, limit: u32) -> Result<u32, Fault>;
}
