//! How a taker stands, while it runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use amends::core::Timestamp;
use tokio::sync::Notify;

use crate::declare::Difference;
use crate::readiness::ConsumerState;

/// What holds a taker up although it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HeldBy {
    /// Messages cannot be acknowledged.
    Broker,
    /// Intake takes no more.
    Intake,
    /// A person holds the starts of the workflow.
    Person,
    /// The service cannot work now.
    Service,
}

pub(crate) struct Status {
    standing: Mutex<Standing>,
    /// Told with every change.
    changed: Arc<Notify>,
}

struct Standing {
    state: ConsumerState,
    differences: Vec<Difference>,
    held: BTreeMap<HeldBy, String>,
    /// When a delivery ended last, or the first of those in hand came.
    moved_at: Timestamp,
}

impl Status {
    pub(super) fn new(now: Timestamp, changed: Arc<Notify>) -> Self {
        let (state, held) = (ConsumerState::Starting, BTreeMap::new());
        let standing = Standing { state, differences: Vec::new(), held, moved_at: now };
        Self { standing: Mutex::new(standing), changed }
    }

    fn lock(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Standing)) {
        change(&mut self.lock());
        self.changed.notify_waiters();
    }

    pub(crate) fn pulls(&self) {
        self.change(|standing| standing.state = ConsumerState::Pulling);
    }

    pub(super) fn differs(&self, differences: Vec<Difference>) {
        self.change(|standing| standing.differences = differences);
    }

    /// Since the first time that it was said in a row.
    pub(super) fn fails(&self, reason: String, now: Timestamp) {
        self.change(|standing| {
            let since = match &standing.state {
                ConsumerState::Failing { since, .. } => *since,
                _ => now,
            };
            standing.state = ConsumerState::Failing { since, reason };
        });
    }

    pub(super) fn stopped(&self, reason: String) {
        self.change(|standing| standing.state = ConsumerState::Stopped { reason });
    }

    pub(crate) fn held(&self, by: HeldBy, reason: String) {
        self.change(|standing| drop(standing.held.insert(by, reason)));
    }

    pub(crate) fn no_longer_held(&self, by: HeldBy) {
        self.change(|standing| drop(standing.held.remove(&by)));
    }

    /// One more is in hand; when it came, if it is the only one.
    pub(super) fn taken(&self, first_in_hand: Option<Timestamp>) {
        self.change(|standing| standing.moved_at = first_in_hand.unwrap_or(standing.moved_at));
    }

    pub(super) fn moved(&self, now: Timestamp) {
        self.change(|standing| standing.moved_at = now);
    }

    pub(super) fn report(&self, in_hand: u64, now: Timestamp, stalled_after: Duration) -> Report {
        let standing = self.lock();
        let stalled = in_hand > 0 && now.since(standing.moved_at) > stalled_after;
        Report {
            state: standing.state.clone(),
            differences: standing.differences.clone(),
            held: standing.held.values().next().cloned(),
            stalled_since: stalled.then_some(standing.moved_at),
        }
    }
}

/// What a status says.
pub(crate) struct Report {
    pub(crate) state: ConsumerState,
    pub(crate) differences: Vec<Difference>,
    pub(crate) held: Option<String>,
    pub(crate) stalled_since: Option<Timestamp>,
}
