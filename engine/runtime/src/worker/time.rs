//! The engine's time, and the one alarm behind every timer.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use amends_core::{SagaId, Timestamp};
use async_trait::async_trait;

use crate::ports::Clock;

/// A clock that never shows a time before the newest time of a journal it was told of: times in a journal
/// do not decrease, also when the next process runs on a machine whose clock is behind.
pub(crate) struct EngineClock {
    inner: Arc<dyn Clock>,
    ahead: AtomicI64,
}

impl EngineClock {
    pub(crate) fn new(inner: Arc<dyn Clock>) -> Self {
        Self { inner, ahead: AtomicI64::new(0) }
    }

    /// From now on no time before `newest` is shown; the clock goes on from there at its ordinary pace.
    pub(crate) fn not_before(&self, newest: Timestamp) {
        let behind = newest.0.saturating_sub(self.inner.now().0);
        self.ahead.fetch_max(behind.max(0), Ordering::Relaxed);
    }

    fn ahead(&self) -> i64 {
        self.ahead.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Clock for EngineClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.inner.now().0.saturating_add(self.ahead()))
    }

    /// A lease runs on the process's own clock, however far journals are ahead of it.
    fn elapsed(&self) -> Duration {
        self.inner.elapsed()
    }

    async fn sleep_until(&self, at: Timestamp) {
        self.inner.sleep_until(Timestamp(at.0.saturating_sub(self.ahead()))).await;
    }
}

/// When each saga is to be looked at again: at most one time per saga, taken anew after every transition.
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
    use crate::ports::SystemClock;

    #[tokio::test(start_paused = true)]
    async fn time_is_never_before_the_newest_journal() {
        let clock = EngineClock::new(Arc::new(SystemClock::starting_at(Timestamp(1_000))));
        clock.not_before(Timestamp(5_000));
        clock.not_before(Timestamp(3_000));
        assert_eq!(clock.now(), Timestamp(5_000));
        clock.sleep_until(Timestamp(2_005_000)).await;
        assert_eq!(clock.now(), Timestamp(2_005_000));
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
