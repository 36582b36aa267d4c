//! The time of each saga, and the one alarm behind every timer.

use std::collections::BTreeSet;
use std::time::Duration;

use amends_core::{SagaId, Timestamp};

/// A saga's own time: what the node's clock shows, or ahead of that by as much as the saga's journal was when it was
/// loaded.
///
/// Times in a journal do not decrease, also when the next node's clock is behind; and what lasts (a settle window,
/// a delay, a deadline) is measured by what passes while the saga is in memory. So a saga whose journal is ahead
/// goes on from its newest time at the ordinary pace, and nobody else's time moves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SagaTime {
    ahead: Duration,
}

impl SagaTime {
    /// Goes on from the newest time of a journal that was loaded when the node's clock showed `now`.
    pub(super) fn going_on_from(newest: Timestamp, now: Timestamp) -> Self {
        Self { ahead: newest.since(now) }
    }

    /// How far it is ahead of the node's clock.
    pub(super) fn ahead(self) -> Duration {
        self.ahead
    }

    /// The saga's time when the node's clock shows this.
    pub(super) fn at(self, node: Timestamp) -> Timestamp {
        node + self.ahead
    }

    /// What the node's clock shows at this time of the saga.
    pub(super) fn on_node(self, saga: Timestamp) -> Timestamp {
        saga - self.ahead
    }
}

/// When each saga is to be looked at again, as the node's clock shows it: at most one time per saga, taken anew after every transition.
#[derive(Debug, Default)]
pub(super) struct Timers(BTreeSet<(Timestamp, SagaId)>);

impl Timers {
    /// Replaces a saga's time.
    pub(super) fn set(&mut self, saga: SagaId, was: Option<Timestamp>, at: Option<Timestamp>) {
        if was == at {
            return;
        }
        if let Some(was) = was {
            self.0.remove(&(was, saga));
        }
        if let Some(at) = at {
            self.0.insert((at, saga));
        }
    }

    /// The earliest time.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.0.first().map(|(at, _)| *at)
    }

    /// Takes the earliest saga that is due.
    pub(super) fn due(&mut self, now: Timestamp) -> Option<SagaId> {
        let (at, saga) = *self.0.first()?;
        if at > now {
            return None;
        }
        self.0.remove(&(at, saga));
        Some(saga)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saga_goes_on_from_its_newest_time_at_the_ordinary_pace() {
        let ahead = SagaTime::going_on_from(Timestamp(5_000), Timestamp(1_000));
        assert_eq!(
            (ahead.at(Timestamp(1_000)), ahead.at(Timestamp(1_500))),
            (Timestamp(5_000), Timestamp(5_500))
        );
        assert_eq!(ahead.on_node(Timestamp(5_500)), Timestamp(1_500));
        let behind = SagaTime::going_on_from(Timestamp(500), Timestamp(1_000));
        assert_eq!(behind.at(Timestamp(1_200)), Timestamp(1_200));
    }

    #[test]
    fn a_saga_has_one_time() {
        let (mut timers, saga) = (Timers::default(), SagaId(uuid::Uuid::from_u128(1)));
        timers.set(saga, None, Some(Timestamp(5)));
        timers.set(saga, Some(Timestamp(5)), Some(Timestamp(9)));
        assert_eq!((timers.due(Timestamp(8)), timers.next()), (None, Some(Timestamp(9))));
        assert_eq!((timers.due(Timestamp(9)), timers.due(Timestamp(9))), (Some(saga), None));
    }
}
