//! Hints: that it is worth looking, now.
//!
//! Sagas without owner and unread mail are found by looking, from time to time; that alone is relied on. A hint
//! saves the wait. It may be late, be lost, come for nothing, or come many times.

use std::sync::Arc;

use tokio::sync::Notify;

/// The hints for one incarnation. Clones give and take the same hints.
///
/// Hints that nobody has taken yet are one hint, however many were given: so there is nothing to bound.
#[derive(Clone, Debug, Default)]
pub struct Hints(Arc<Notify>);

impl Hints {
    /// Says that it is worth looking.
    pub fn give(&self) {
        self.0.notify_one();
    }

    /// Returns once a hint was given, at once if one was since this last returned. Dropping the future loses no
    /// hint.
    pub async fn next(&self) {
        self.0.notified().await;
    }

    /// Is this the last handle? Then nobody takes what is given.
    pub fn is_forgotten(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}
