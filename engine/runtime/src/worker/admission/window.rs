//! Counting within a sliding window: ten slots, of which the oldest is forgotten as time goes on.

use std::time::Duration;

use amends_core::Timestamp;

const SLOTS: i64 = 10;

/// A count over the last window, to a tenth of it.
#[derive(Debug)]
pub(super) struct Window {
    slot_us: i64,
    slots: [Slot; SLOTS as usize],
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Which tenth it holds, counted from the epoch.
    number: i64,
    count: u64,
}

impl Window {
    pub(super) fn new(window: Duration) -> Self {
        let window_us = i64::try_from(window.as_micros()).unwrap_or(i64::MAX);
        Self { slot_us: (window_us / SLOTS).max(1), slots: Default::default() }
    }

    pub(super) fn add(&mut self, count: u64, now: Timestamp) {
        let number = self.number(now);
        let slot = &mut self.slots[place(number)];
        if slot.number != number {
            *slot = Slot { number, count: 0 };
        }
        slot.count += count;
    }

    pub(super) fn sum(&self, now: Timestamp) -> u64 {
        let newest = self.number(now);
        self.slots.iter().filter(|slot| counts(slot, newest)).map(|slot| slot.count).sum()
    }

    /// Takes so much away, from the oldest slots first; nothing, if there is less.
    pub(super) fn take(&mut self, count: u64, now: Timestamp) -> bool {
        if self.sum(now) < count {
            return false;
        }
        let (newest, mut left) = (self.number(now), count);
        for number in (newest - SLOTS + 1)..=newest {
            let slot = &mut self.slots[place(number)];
            if slot.number == number {
                let taken = slot.count.min(left);
                slot.count -= taken;
                left -= taken;
            }
        }
        true
    }

    pub(super) fn clear(&mut self) {
        self.slots = Default::default();
    }

    fn number(&self, now: Timestamp) -> i64 {
        now.0.div_euclid(self.slot_us)
    }
}

fn place(number: i64) -> usize {
    usize::try_from(number.rem_euclid(SLOTS)).expect("a remainder of ten is small")
}

fn counts(slot: &Slot, newest: i64) -> bool {
    slot.number > newest - SLOTS && slot.number <= newest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(1_000_000 + ms)
    }

    #[test]
    fn what_is_older_than_the_window_is_forgotten() {
        let mut window = Window::new(Duration::from_secs(1));
        window.add(3, at(0));
        window.add(4, at(500));
        assert_eq!(window.sum(at(950)), 7);
        assert_eq!(window.sum(at(1_000)), 4);
        assert_eq!(window.sum(at(1_500)), 0);
        window.add(1, at(5_000));
        assert_eq!(window.sum(at(5_000)), 1, "a slot that is used again begins anew");
    }

    #[test]
    fn the_oldest_is_taken_first_and_never_more_than_there_is() {
        let mut window = Window::new(Duration::from_secs(1));
        window.add(3, at(0));
        window.add(4, at(500));
        assert!(!window.take(8, at(600)));
        assert!(window.take(5, at(600)));
        assert_eq!(window.sum(at(600)), 2);
        assert_eq!(window.sum(at(1_100)), 2, "what is left is of the newer slot");
    }
}
