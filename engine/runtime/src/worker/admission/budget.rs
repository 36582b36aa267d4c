//! The retry budget: attempts beyond first ones are a share of first attempts, and a constant trickle.

use std::time::Duration;

use amends_core::Timestamp;

use super::rate::Bucket;
use super::window::Window;
use crate::authoring::{Rate, RetryBudget};

/// What one execution costs, in the hundredths that first attempts pay in.
const EXECUTION: u64 = 100;

/// What is left for attempts beyond first ones.
#[derive(Debug)]
pub(super) struct Budget {
    share_percent: u64,
    paid_in: Window,
    constant: Option<Bucket>,
}

impl Budget {
    pub(super) fn new(budget: RetryBudget) -> Self {
        let calls = budget.constant_per_second;
        // One at a time: what was saved up during an outage would be its second peak.
        let rate = Rate { calls, per: Duration::from_secs(1), burst: 1 };
        Self {
            share_percent: u64::from(budget.share_percent),
            paid_in: Window::new(budget.window),
            constant: (calls > 0).then(|| Bucket::new(rate)),
        }
    }

    /// Would it be the same if it were made anew?
    pub(super) fn is_at_rest(&self, now: Timestamp) -> bool {
        self.paid_in.sum(now) == 0 && self.constant.as_ref().is_none_or(|bucket| bucket.is_at_rest(now))
    }

    /// A first attempt began.
    pub(super) fn pay_in(&mut self, now: Timestamp) {
        self.paid_in.add(self.share_percent, now);
    }

    /// When an attempt beyond the first may begin; none: once first attempts have paid in enough.
    pub(super) fn ready_at(&self, now: Timestamp) -> Option<Timestamp> {
        if self.paid_in.sum(now) >= EXECUTION {
            return Some(now);
        }
        self.constant.as_ref().map(Bucket::ready_at)
    }

    /// An attempt beyond the first begins.
    pub(super) fn draw(&mut self, now: Timestamp) {
        if !self.paid_in.take(EXECUTION, now)
            && let Some(constant) = &mut self.constant
        {
            constant.take(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(1_000_000 + ms)
    }

    fn budget(share_percent: u32, constant_per_second: u32) -> Budget {
        Budget::new(RetryBudget { share_percent, constant_per_second, window: Duration::from_secs(10) })
    }

    /// How many may begin at this moment.
    fn drawn(budget: &mut Budget, now: Timestamp) -> usize {
        (0..10_000)
            .take_while(|_| {
                budget.ready_at(now).is_some_and(|at| at <= now) && {
                    budget.draw(now);
                    true
                }
            })
            .count()
    }

    #[test]
    fn a_share_of_first_attempts_may_be_retried_while_they_count() {
        let mut budget = budget(20, 0);
        assert_eq!(budget.ready_at(at(0)), None, "nothing was paid in");
        (0..50).for_each(|_| budget.pay_in(at(0)));
        assert_eq!(drawn(&mut budget, at(1_000)), 10);
        (0..50).for_each(|_| budget.pay_in(at(2_000)));
        assert_eq!(drawn(&mut budget, at(13_000)), 0, "the window has passed");
    }

    #[test]
    fn the_constant_part_trickles_and_saves_nothing_up() {
        let mut budget = budget(20, 10);
        assert_eq!(drawn(&mut budget, at(60_000)), 1);
        assert_eq!(budget.ready_at(at(60_000)), Some(at(60_100)));
        let drained: usize = (0..1_000).map(|ms| drawn(&mut budget, at(61_000 + ms))).sum();
        assert_eq!(drained, 10);
    }
}
