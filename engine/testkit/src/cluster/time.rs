//! The time of a cluster: one for all of its nodes, moved by the test alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use amends::ports::Clock;
use amends_core::Timestamp;
use async_trait::async_trait;
use tokio::sync::oneshot;

/// When somebody is to be woken, and the how-manieth sleeper it is.
type At = (Timestamp, u64);

/// Virtual time and everybody who sleeps in it.
#[derive(Debug)]
pub(super) struct Time(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    now: Timestamp,
    sleepers: BTreeMap<At, oneshot::Sender<()>>,
    slept: u64,
}

impl Time {
    pub(super) fn beginning_at(now: Timestamp) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Inner { now, sleepers: BTreeMap::new(), slept: 0 })))
    }

    pub(super) fn now(&self) -> Timestamp {
        self.lock().now
    }

    /// When the next sleeper is due; those who have gone away are forgotten.
    pub(super) fn next(&self) -> Option<Timestamp> {
        let mut inner = self.lock();
        inner.sleepers.retain(|_, sleeper| !sleeper.is_closed());
        inner.sleepers.first_key_value().map(|((at, _), _)| *at)
    }

    /// Moves time and wakes who is due.
    pub(super) fn advance_to(&self, at: Timestamp) {
        let mut inner = self.lock();
        inner.now = inner.now.max(at);
        let first_later = (Timestamp(inner.now.0 + 1), 0);
        let later = inner.sleepers.split_off(&first_later);
        for (_, sleeper) in std::mem::replace(&mut inner.sleepers, later) {
            let _ = sleeper.send(());
        }
    }

    fn sleeper(&self, at: Timestamp) -> Option<oneshot::Receiver<()>> {
        let mut inner = self.lock();
        if at <= inner.now {
            return None;
        }
        inner.slept += 1;
        let (sender, woken) = oneshot::channel();
        let ticket = inner.slept;
        inner.sleepers.insert((at, ticket), sender);
        Some(woken)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A clock in this time, perhaps wrong.
#[derive(Debug)]
pub(super) struct ClusterClock {
    pub(super) time: Arc<Time>,
    /// How far it is ahead of the others.
    pub(super) ahead: Duration,
}

#[async_trait]
impl Clock for ClusterClock {
    fn now(&self) -> Timestamp {
        self.time.now() + self.ahead
    }

    fn elapsed(&self) -> Duration {
        self.time.now().since(Timestamp(0))
    }

    async fn sleep_until(&self, at: Timestamp) {
        if let Some(woken) = self.time.sleeper(at - self.ahead) {
            let _ = woken.await;
        }
    }
}
