//! The line before one dependency, or before one for one tenant: four lanes, and which of them is next.

use amends_core::Timestamp;

use super::dependency::Dependency;
use super::queue::{KINDS, Kind, Place, Queue};
use super::wheel::{LANES, Wheel};
use crate::engine::LaneShares;

/// A dependency and those who wait for it.
#[derive(Debug)]
pub(super) struct Line {
    /// Of which group.
    pub(super) group: usize,
    pub(super) dependency: Dependency,
    pub(super) lanes: [Queue; LANES],
    wheel: Wheel,
}

impl Line {
    pub(super) fn new(dependency: Dependency, group: usize, shares: LaneShares) -> Self {
        Self { group, dependency, lanes: Default::default(), wheel: Wheel::new(shares) }
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.lanes.iter().any(|lane| lane.has_any([true; KINDS.len()]))
    }

    /// Would it be the same if it were made anew?
    pub(super) fn is_at_rest(&self, now: Timestamp) -> bool {
        self.is_empty() && self.dependency.is_at_rest(now)
    }

    /// The lane whose turn is next, if anybody in this line may go now.
    pub(super) fn next(&self, now: Timestamp) -> Option<usize> {
        let may_go = self.may_go(now);
        self.wheel.next(self.has(may_go))
    }

    /// Lets one of this lane go.
    pub(super) fn pop(&mut self, lane: usize, now: Timestamp) -> Option<(Kind, Place)> {
        let may_go = self.may_go(now);
        self.wheel.turn(self.has(may_go), lane);
        self.lanes[lane].pop(may_go)
    }

    /// When, by time alone, somebody in this line may go who may not go now.
    pub(super) fn opens_at(&self, now: Timestamp) -> Option<Timestamp> {
        let waiting = KINDS.into_iter().filter(|kind| self.lanes.iter().any(|lane| lane.has(*kind)));
        waiting.filter_map(|kind| self.dependency.missing(kind, now)?.until()).min()
    }

    fn may_go(&self, now: Timestamp) -> [bool; KINDS.len()] {
        KINDS.map(|kind| self.dependency.missing(kind, now).is_none())
    }

    fn has(&self, may_go: [bool; KINDS.len()]) -> [bool; LANES] {
        std::array::from_fn(|lane| self.lanes[lane].has_any(may_go))
    }
}
