//! A durable pull consumer: what it has not delivered yet, and what is in hand.

use std::collections::BTreeMap;
use std::sync::Arc;

use amends_core::Timestamp;
use tokio::sync::Notify;

use super::stream::takes_in;
use super::{Answer, ConsumerSettings, Left};

pub(super) struct Consumer {
    settings: ConsumerSettings,
    /// Rings when there may be more to have.
    pub(super) changed: Arc<Notify>,
    /// It is to ring.
    pub(super) stirs: bool,
    /// Never delivered, and from when on each can be.
    waiting: BTreeMap<u64, Timestamp>,
    in_hand: BTreeMap<u64, InHand>,
}

struct InHand {
    /// When it comes again.
    due: Timestamp,
    number: u64,
}

impl Consumer {
    pub(super) fn new<'a>(
        settings: ConsumerSettings,
        lies_there: impl Iterator<Item = (u64, &'a str, Timestamp)>,
    ) -> Self {
        let mine = lies_there.filter(|(_, subject, _)| takes_in(&settings.filter, subject));
        let waiting = mine.map(|(sequence, _, at)| (sequence, at)).collect();
        Self { settings, changed: Arc::default(), stirs: false, waiting, in_hand: BTreeMap::new() }
    }

    /// A message was stored.
    pub(super) fn hear(&mut self, sequence: u64, subject: &str, not_before: Timestamp) {
        if takes_in(&self.settings.filter, subject) {
            self.waiting.insert(sequence, not_before);
            self.stirs = true;
        }
    }

    /// A message is there no more.
    pub(super) fn forget(&mut self, sequence: u64) {
        self.waiting.remove(&sequence);
        self.stirs |= self.in_hand.remove(&sequence).is_some();
    }

    /// What can be had now, with the number of each delivery, and when there may be more.
    pub(super) fn take(&mut self, most: usize, now: Timestamp) -> (Vec<(u64, u64)>, Option<Timestamp>) {
        if let Some(most) = self.settings.deliveries_max {
            self.in_hand.retain(|_, in_hand| in_hand.number < most || in_hand.due > now);
        }
        let mut again: Vec<(Timestamp, u64)> = self
            .in_hand
            .iter()
            .filter(|(_, of)| of.due <= now)
            .map(|(sequence, of)| (of.due, *sequence))
            .collect();
        again.sort_unstable();
        let again = again.into_iter().map(|(_, sequence)| sequence).take(most);
        let mut due: Vec<u64> = again.collect();
        let room = self.settings.in_hand_max.saturating_sub(self.in_hand.len()).min(most - due.len());
        let new = self.waiting.iter().filter(|(_, not_before)| **not_before <= now).take(room);
        due.extend(new.map(|(sequence, _)| *sequence));
        let deliver = |sequence: u64| {
            self.waiting.remove(&sequence);
            let again_at = now + self.settings.ack_wait;
            let in_hand = self.in_hand.entry(sequence).or_insert(InHand { due: again_at, number: 0 });
            in_hand.due = again_at;
            in_hand.number += 1;
            (sequence, in_hand.number)
        };
        let taken = due.into_iter().map(deliver).collect();
        let next = self.in_hand.values().map(|of| of.due).chain(self.waiting.values().copied());
        (taken, next.filter(|at| *at > now).min())
    }

    /// Says whether the message was in hand.
    pub(super) fn answer(&mut self, sequence: u64, answer: Answer, now: Timestamp) -> bool {
        let ack_wait = self.settings.ack_wait;
        let Some(in_hand) = self.in_hand.get_mut(&sequence) else { return false };
        match answer {
            Answer::Ack | Answer::Term => drop(self.in_hand.remove(&sequence)),
            Answer::Nak(delay) => in_hand.due = now + delay,
            Answer::Progress => in_hand.due = now + ack_wait,
        }
        self.stirs = true;
        true
    }

    pub(super) fn left(&self) -> Left {
        Left { waiting: self.waiting.len(), in_hand: self.in_hand.len() }
    }
}
