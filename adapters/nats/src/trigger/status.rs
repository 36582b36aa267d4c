//! How a trigger stands, while it runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use amends::core::Timestamp;
use tokio::sync::Notify;

use super::ending::Counters;
use crate::declare::Difference;
use crate::readiness::TriggerState;

/// In hand for so long without an end: stalled.
const STALLED_AFTER: Duration = Duration::from_secs(10);

/// What holds a trigger up although it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HeldBy {
    /// Messages cannot be acknowledged.
    Broker,
    /// Intake takes no more.
    Intake,
    /// A person holds the starts of the workflow.
    Person,
}

pub(super) struct Status {
    standing: Mutex<Standing>,
    /// Told with every change.
    changed: Arc<Notify>,
}

struct Standing {
    state: TriggerState,
    differences: Vec<Difference>,
    held: BTreeMap<HeldBy, String>,
    /// When a delivery ended last, or the first of those in hand came.
    moved_at: Timestamp,
}

impl Status {
    pub(super) fn new(differences: Vec<Difference>, now: Timestamp, changed: Arc<Notify>) -> Self {
        let (state, held) = (TriggerState::Pulling, BTreeMap::new());
        Self { standing: Mutex::new(Standing { state, differences, held, moved_at: now }), changed }
    }

    fn lock(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Standing)) {
        change(&mut self.lock());
        self.changed.notify_waiters();
    }

    pub(super) fn pulls(&self) {
        self.change(|standing| standing.state = TriggerState::Pulling);
    }

    pub(super) fn differs(&self, differences: Vec<Difference>) {
        self.change(|standing| standing.differences = differences);
    }

    /// Since the first time that it was said in a row.
    pub(super) fn fails(&self, reason: String, now: Timestamp) {
        self.change(|standing| {
            let since = match &standing.state {
                TriggerState::Failing { since, .. } => *since,
                _ => now,
            };
            standing.state = TriggerState::Failing { since, reason };
        });
    }

    pub(super) fn stopped(&self, reason: String) {
        self.change(|standing| standing.state = TriggerState::Stopped { reason });
    }

    pub(super) fn held(&self, by: HeldBy, reason: String) {
        self.change(|standing| drop(standing.held.insert(by, reason)));
    }

    pub(super) fn no_longer_held(&self, by: HeldBy) {
        self.change(|standing| drop(standing.held.remove(&by)));
    }

    /// One more is in hand; when it came, if it is the only one.
    pub(super) fn taken(&self, first_in_hand: Option<Timestamp>) {
        self.change(|standing| standing.moved_at = first_in_hand.unwrap_or(standing.moved_at));
    }

    pub(super) fn moved(&self, now: Timestamp) {
        self.change(|standing| standing.moved_at = now);
    }

    pub(super) fn report(&self, counters: Counters, now: Timestamp) -> Report {
        let standing = self.lock();
        let stalled = counters.in_hand > 0 && now.since(standing.moved_at) > STALLED_AFTER;
        Report {
            state: standing.state.clone(),
            differences: standing.differences.clone(),
            held: standing.held.values().next().cloned(),
            stalled_since: stalled.then_some(standing.moved_at),
        }
    }
}

/// What a status says.
pub(super) struct Report {
    pub(super) state: TriggerState,
    pub(super) differences: Vec<Difference>,
    pub(super) held: Option<String>,
    pub(super) stalled_since: Option<Timestamp>,
}
