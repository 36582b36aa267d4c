//! How deliveries end, counted.

use std::sync::atomic::{AtomicU64, Ordering};

/// The most ways in which a delivery may end.
pub(crate) const ENDINGS: usize = 7;

/// Counts deliveries while they come and end. What an ending means is its owner's to say.
#[derive(Default)]
pub(crate) struct Tally {
    deliveries: AtomicU64,
    endings: [AtomicU64; ENDINGS],
    unconfirmed: AtomicU64,
}

/// What was counted at one moment: `deliveries` is the sum of all endings and of `in_hand`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) deliveries: u64,
    pub(crate) endings: [u64; ENDINGS],
    pub(crate) in_hand: u64,
    pub(crate) unconfirmed: u64,
}

impl Tally {
    /// One more is in hand. Was none before?
    pub(super) fn taken(&self) -> bool {
        let idle = self.read().in_hand == 0;
        self.deliveries.fetch_add(1, Ordering::SeqCst);
        idle
    }

    pub(super) fn ended(&self, ending: usize) {
        self.endings[ending].fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn unconfirmed(&self) {
        self.unconfirmed.fetch_add(1, Ordering::SeqCst);
    }

    /// The endings first: what is taken meanwhile is in hand, and never less than nothing.
    pub(crate) fn read(&self) -> Totals {
        let endings = self.endings.each_ref().map(|ending| ending.load(Ordering::SeqCst));
        let unconfirmed = self.unconfirmed.load(Ordering::SeqCst);
        let deliveries = self.deliveries.load(Ordering::SeqCst);
        let in_hand = deliveries - endings.iter().sum::<u64>();
        Totals { deliveries, endings, in_hand, unconfirmed }
    }
}
