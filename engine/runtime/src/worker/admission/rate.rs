//! A token bucket, kept as one time: the generic cell rate algorithm (ITU-T I.371).

use std::time::Duration;

use amends_core::Timestamp;

use crate::authoring::Rate;

/// Calls evenly spread, with a burst after a pause.
#[derive(Debug)]
pub(super) struct Bucket {
    interval: Duration,
    /// How far ahead of its even time a call may begin.
    tolerance: Duration,
    /// When the next call would begin if all were evenly spread.
    due: Timestamp,
}

impl Bucket {
    pub(super) fn new(rate: Rate) -> Self {
        let interval = (rate.per / rate.calls.max(1)).max(Duration::from_micros(1));
        let tolerance = interval.saturating_mul(rate.burst.saturating_sub(1));
        Self { interval, tolerance, due: Timestamp(i64::MIN) }
    }

    /// When the next call may begin; it may now, if that is not after now.
    pub(super) fn ready_at(&self) -> Timestamp {
        self.due - self.tolerance
    }

    /// Would it be the same if it were made anew?
    pub(super) fn is_at_rest(&self, now: Timestamp) -> bool {
        self.due <= now
    }

    /// A call begins.
    pub(super) fn take(&mut self, now: Timestamp) {
        self.due = self.due.max(now) + self.interval;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of the calls that are wanted each millisecond of `millis` begin, in each second.
    fn begun(bucket: &mut Bucket, millis: std::ops::Range<i64>) -> Vec<u32> {
        let mut seconds = Vec::new();
        for ms in millis {
            let now = Timestamp::from_millis(ms);
            let second = usize::try_from(ms / 1_000).expect("it is small");
            seconds.resize(seconds.len().max(second + 1), 0);
            while bucket.ready_at() <= now {
                bucket.take(now);
                seconds[second] += 1;
            }
        }
        seconds
    }

    #[test]
    fn a_flood_is_spread_evenly_after_one_burst() {
        let mut bucket = Bucket::new(Rate { calls: 100, per: Duration::from_secs(1), burst: 10 });
        assert_eq!(begun(&mut bucket, 0..3_000), [109, 100, 100]);
    }

    #[test]
    fn a_pause_saves_up_no_more_than_the_burst() {
        let mut bucket = Bucket::new(Rate { calls: 100, per: Duration::from_secs(1), burst: 10 });
        begun(&mut bucket, 0..1_000);
        let now = Timestamp::from_millis(60_000);
        let at_once = (0..1_000)
            .take_while(|_| {
                bucket.ready_at() <= now && {
                    bucket.take(now);
                    true
                }
            })
            .count();
        assert_eq!(at_once, 10);
        assert_eq!(bucket.ready_at(), Timestamp::from_millis(60_010));
    }
}
