//! Whether a participant's machine runs.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts deaths and returns: odd while it is dead.
#[derive(Debug, Default)]
pub(super) struct Life(AtomicU64);

impl Life {
    /// Which life, or which death, this is.
    pub(super) fn present(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn is_dead(&self) -> bool {
        !self.present().is_multiple_of(2)
    }

    pub(super) fn end(&self) {
        self.0.fetch_or(1, Ordering::Relaxed);
    }

    pub(super) fn begin(&self) {
        if self.is_dead() {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}
