//! Permits: how many attempts and queries may be under way at once, and who is next.
//!
//! A permit is taken *before* an attempt is journalled as started. Without one the action stays READY and
//! keeps its place in one first-come-first-served queue: a deferral, not an attempt and not a failure. Since
//! when it waits is in its state. Lanes and dependencies will divide this queue; nothing else knows of it.

use std::collections::{BTreeMap, VecDeque};

use amends_core::{ActionId, SagaId};

/// The permits of one worker.
#[derive(Debug)]
pub(super) struct Permits {
    free: usize,
    queue: VecDeque<Place>,
    held: BTreeMap<SagaId, BTreeMap<ActionId, Hold>>,
    tickets: u64,
}

#[derive(Debug)]
struct Place {
    saga: SagaId,
    action: ActionId,
    ticket: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// It has a place in the queue; the ticket tells it from an earlier place that was given up.
    Waiting(u64),
    /// A permit is kept for it.
    Granted,
}

impl Permits {
    pub(super) fn new(max: usize) -> Self {
        Self { free: max, queue: VecDeque::new(), held: BTreeMap::new(), tickets: 0 }
    }

    /// Takes a permit, or a place in the queue.
    pub(super) fn take(&mut self, saga: SagaId, action: &ActionId) -> bool {
        match self.held.get(&saga).and_then(|actions| actions.get(action)) {
            Some(Hold::Granted) => {
                self.drop_hold(saga, action);
                true
            }
            Some(Hold::Waiting(_)) => false,
            None if self.free > 0 && self.queue.is_empty() => {
                self.free -= 1;
                true
            }
            None => {
                let ticket = self.tickets;
                self.tickets += 1;
                self.queue.push_back(Place { saga, action: action.clone(), ticket });
                self.held.entry(saga).or_default().insert(action.clone(), Hold::Waiting(ticket));
                false
            }
        }
    }

    /// Gives one permit back. The saga that is named got it, and should be looked at.
    pub(super) fn give_back(&mut self) -> Option<SagaId> {
        while let Some(place) = self.queue.pop_front() {
            let hold = self.held.get_mut(&place.saga).and_then(|actions| actions.get_mut(&place.action));
            if let Some(hold) = hold
                && *hold == Hold::Waiting(place.ticket)
            {
                *hold = Hold::Granted;
                return Some(place.saga);
            }
        }
        self.free += 1;
        None
    }

    /// Gives up what `saga` holds for actions it does not want any more; names the sagas that got a permit.
    pub(super) fn keep_only(&mut self, saga: SagaId, wanted: &[ActionId]) -> Vec<SagaId> {
        let Some(actions) = self.held.get_mut(&saga) else { return Vec::new() };
        let mut returned = 0;
        actions.retain(|action, hold| {
            let keep = wanted.contains(action);
            returned += usize::from(!keep && *hold == Hold::Granted);
            keep
        });
        if actions.is_empty() {
            self.held.remove(&saga);
        }
        (0..returned).filter_map(|_| self.give_back()).collect()
    }

    fn drop_hold(&mut self, saga: SagaId, action: &ActionId) {
        if let Some(actions) = self.held.get_mut(&saga) {
            actions.remove(action);
            if actions.is_empty() {
                self.held.remove(&saga);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saga(n: u128) -> SagaId {
        SagaId(uuid::Uuid::from_u128(n))
    }

    #[test]
    fn the_first_to_ask_is_the_first_to_get() {
        let mut permits = Permits::new(1);
        let action = ActionId::forward("a");
        assert!(permits.take(saga(1), &action));
        assert!(!permits.take(saga(2), &action));
        assert!(!permits.take(saga(3), &action));
        assert_eq!(permits.give_back(), Some(saga(2)));
        assert!(!permits.take(saga(3), &action), "the permit is kept for saga 2");
        assert!(permits.take(saga(2), &action));
        assert_eq!(permits.give_back(), Some(saga(3)));
    }

    #[test]
    fn what_is_not_wanted_any_more_goes_to_the_next() {
        let mut permits = Permits::new(1);
        let action = ActionId::forward("a");
        assert!(permits.take(saga(1), &action));
        for n in 2..=4 {
            assert!(!permits.take(saga(n), &action));
        }
        assert_eq!(permits.keep_only(saga(2), &[]), Vec::new(), "a place, but no permit yet");
        assert_eq!(permits.give_back(), Some(saga(3)));
        assert_eq!(permits.keep_only(saga(3), &[]), vec![saga(4)]);
        assert!(permits.take(saga(4), &action));
        assert_eq!(permits.give_back(), None);
        assert!(permits.take(saga(5), &action));
    }
}
