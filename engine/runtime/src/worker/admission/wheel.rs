//! Whose turn it is: shares of lanes, of which nothing is lost while a lane is empty.

use crate::engine::LaneShares;

/// First attempts, retries, reconciliation, compensation.
pub(super) const LANES: usize = 4;

/// Smooth weighted round robin over the lanes that have something to send.
///
/// Of the turns in which the same lanes have something, each gets its share of *their* shares, spread evenly. A
/// lane that has nothing saves nothing up: the others have its turns.
#[derive(Debug)]
pub(super) struct Wheel {
    shares: [i64; LANES],
    credit: [i64; LANES],
}

impl Wheel {
    pub(super) fn new(shares: LaneShares) -> Self {
        let LaneShares { first, retry, reconciliation, compensation } = shares;
        let shares = [first, retry, reconciliation, compensation].map(|share| i64::from(share.max(1)));
        Self { shares, credit: [0; LANES] }
    }

    /// The lane whose turn is next, of those that have something.
    pub(super) fn next(&self, has: [bool; LANES]) -> Option<usize> {
        let lanes = (0..LANES).filter(|lane| has[*lane]);
        lanes.rev().max_by_key(|lane| self.credit[*lane] + self.shares[*lane])
    }

    /// This lane had its turn, of those that had something.
    pub(super) fn turn(&mut self, has: [bool; LANES], lane: usize) {
        for other in (0..LANES).filter(|other| has[*other]) {
            self.credit[other] += self.shares[other];
            self.credit[lane] -= self.shares[other];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wheel() -> Wheel {
        Wheel::new(LaneShares { first: 5, retry: 1, reconciliation: 2, compensation: 2 })
    }

    fn turns(wheel: &mut Wheel, has: [bool; LANES], count: usize) -> [usize; LANES] {
        let mut had = [0; LANES];
        for _ in 0..count {
            let lane = wheel.next(has).expect("one of them has something");
            wheel.turn(has, lane);
            had[lane] += 1;
        }
        had
    }

    #[test]
    fn every_lane_gets_its_share_while_all_have_something() {
        assert_eq!(turns(&mut wheel(), [true; LANES], 100), [50, 10, 20, 20]);
    }

    #[test]
    fn what_an_empty_lane_does_not_use_the_others_have() {
        let mut wheel = wheel();
        assert_eq!(turns(&mut wheel, [false, true, false, false], 1_000), [0, 1_000, 0, 0]);
        assert_eq!(
            turns(&mut wheel, [true, true, false, false], 60),
            [50, 10, 0, 0],
            "and nobody owes for it"
        );
    }

    #[test]
    fn a_share_is_spread_evenly_and_not_had_at_one_go() {
        let (mut wheel, mut gap, mut longest) = (wheel(), 0, 0);
        for _ in 0..1_000 {
            let lane = wheel.next([true; LANES]).expect("all have something");
            wheel.turn([true; LANES], lane);
            gap = if lane == 0 { 0 } else { gap + 1 };
            longest = longest.max(gap);
        }
        assert!(longest <= 2, "first attempts waited for {longest} turns");
    }

    #[test]
    fn a_share_of_zero_counts_as_one() {
        let mut wheel = Wheel::new(LaneShares { first: 1, retry: 0, reconciliation: 0, compensation: 0 });
        assert_eq!(turns(&mut wheel, [true; LANES], 4), [1; LANES]);
    }
}
