//! How fast one kind of messages is published: how many at a time, and when again after a failure.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use amends_core::Timestamp;

use crate::engine::OutboxTrouble;
use crate::ports::{Fault, OutboxKind, OutboxPlace, lane_of};
use crate::visible::visible;

/// The first and the longest wait after a failure.
const WAIT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

/// The most messages whose failures are remembered; what is forgotten is tried again at once.
const HELD_MAX: usize = 256;

/// What does not get through, for whoever asks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trouble(Arc<Mutex<Option<(Timestamp, String)>>>);

impl Trouble {
    /// What does not get through now.
    pub(super) fn now(&self, kind: OutboxKind) -> Option<OutboxTrouble> {
        let trouble = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        trouble.map(|(since, error)| OutboxTrouble { kind, since, error })
    }

    fn set(&self, at: Timestamp, error: String) {
        let mut trouble = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = trouble.as_ref().map_or(at, |(since, _)| *since);
        *trouble = Some((since, error));
    }

    fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A message that did not get through.
struct Held {
    tries: u32,
    next_at: Timestamp,
    /// What had gone through by its first failure.
    went_through: u64,
}

/// The pace of one kind.
pub(super) struct Pace {
    trouble: Trouble,
    under_way_max: usize,
    /// Of messages in lanes of this node.
    held: HashMap<OutboxPlace, Held>,
    lanes: Vec<u16>,
    /// How many have been answered.
    went_through: u64,
    /// Failures since the last answer: the way itself is closed. What was under way together and fails together is one.
    failures: u32,
    /// How many may be under way: one after a failure, and one more with every answer.
    window: usize,
    /// Nothing is sent or read before.
    resume_at: Timestamp,
}

fn wait(failures: u32) -> Duration {
    let (first, longest) = WAIT;
    first.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1))).min(longest)
}

impl Pace {
    pub(super) fn new(trouble: Trouble, under_way_max: usize) -> Self {
        Self {
            trouble,
            under_way_max,
            held: HashMap::new(),
            lanes: Vec::new(),
            went_through: 0,
            failures: 0,
            window: under_way_max,
            resume_at: Timestamp(i64::MIN),
        }
    }

    /// How many more may be sent, while so many are under way.
    pub(super) fn room(&self, under_way: usize, now: Timestamp) -> usize {
        let max = if now < self.resume_at { 0 } else { self.window };
        max.saturating_sub(under_way)
    }

    /// Does anything get through, as far as is known?
    pub(super) fn gets_through(&self) -> bool {
        self.failures == 0
    }

    /// Must this message still wait?
    pub(super) fn holds(&self, place: OutboxPlace, now: Timestamp) -> bool {
        self.held.get(&place).is_some_and(|held| held.next_at > now)
    }

    /// How many messages are remembered for their failures.
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    /// These lanes are the node's from now on; what failed in others is not its to try again.
    pub(super) fn keep_lanes(&mut self, lanes: &[u16]) {
        self.lanes = lanes.to_vec();
        self.held.retain(|place, _| lanes.contains(&lane_of(place.saga)));
    }

    /// When waiting ends next.
    pub(super) fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let resume = (self.failures > 0 || self.resume_at > now).then_some(self.resume_at);
        let held = self.held.values().map(|held| held.next_at);
        held.chain(resume).filter(|at| *at > now).min()
    }

    /// A message was answered.
    pub(super) fn went_through(&mut self, place: OutboxPlace) {
        self.held.remove(&place);
        self.went_through += 1;
        self.failures = 0;
        self.window = (self.window + 1).min(self.under_way_max);
        self.resume_at = Timestamp(i64::MIN);
        self.trouble.end();
    }

    /// The store keeps in mind that this message does not get through.
    pub(super) fn went_elsewhere(&mut self, place: OutboxPlace) {
        self.held.remove(&place);
    }

    /// A message was not answered, while so many others are under way. Says how often that happened to it, as far as
    /// others got through since: a way that is closed for all says nothing of one.
    pub(super) fn failed(
        &mut self,
        place: OutboxPlace,
        under_way: usize,
        reason: &str,
        now: Timestamp,
    ) -> u32 {
        // Else it was sent with the one that failed first, and tells nothing new.
        if self.failures == 0 || (now >= self.resume_at && under_way == 0) {
            self.failures = self.failures.saturating_add(1);
            self.resume_at = now + wait(self.failures);
            self.window = 1;
            if self.failures == 1 {
                tracing::warn!(
                    reason = %visible(reason),
                    kind = place.kind.word(),
                    "a message does not get through; it is tried again"
                );
            }
        }
        self.trouble.set(now, reason.to_owned());
        let went_through = self.went_through;
        let is_full = self.held.len() >= HELD_MAX && !self.held.contains_key(&place);
        if is_full || !self.lanes.contains(&lane_of(place.saga)) {
            return 0;
        }
        let held = self.held.entry(place).or_insert(Held { tries: 0, next_at: now, went_through });
        held.tries += 1;
        held.next_at = now + wait(held.tries);
        if held.went_through < went_through { held.tries } else { 0 }
    }

    /// The store does not answer, or cannot be read: its readers have their own word for that.
    pub(super) fn store_failed(&mut self, fault: &Fault, now: Timestamp) {
        self.resume_at = self.resume_at.max(now + WAIT.0);
        match fault {
            Fault::Unavailable(_) => tracing::debug!(%fault, "the outbox does not answer"),
            _ => tracing::error!(%fault, "the outbox cannot be read"),
        }
    }
}

#[cfg(test)]
mod tests {
    use amends_core::SagaId;
    use uuid::Uuid;

    use super::*;
    use crate::ports::OUTBOX_LANES;

    fn place(n: u128) -> OutboxPlace {
        OutboxPlace { kind: OutboxKind::Event, saga: SagaId(Uuid::from_u128(n)), seq: 1, n: 0 }
    }

    /// Memory for failures is bounded: what another node tries again must not take it from this one's messages.
    #[test]
    fn what_failed_in_lanes_that_are_another_nodes_now_is_forgotten() {
        let mut pace = Pace::new(Trouble::default(), 64);
        let all: Vec<u16> = (0..OUTBOX_LANES).collect();
        pace.keep_lanes(&all);
        let places: Vec<OutboxPlace> = (0..).map(place).take(HELD_MAX).collect();
        for place in &places {
            pace.failed(*place, 0, "no broker", Timestamp(0));
        }
        assert_eq!(pace.held(), HELD_MAX);

        let (mine, theirs): (Vec<OutboxPlace>, Vec<_>) =
            places.iter().partition(|place| lane_of(place.saga) == 3);
        assert!(!mine.is_empty() && !theirs.is_empty());
        pace.keep_lanes(&[3]);
        assert_eq!(pace.held(), mine.len());
        assert_eq!(pace.failed(theirs[0], 0, "no broker", Timestamp(0)), 0, "a call that ends later");
        assert_eq!(pace.held(), mine.len());
        assert!(pace.holds(mine[0], Timestamp(0)) && !pace.holds(theirs[0], Timestamp(0)));
    }
}
