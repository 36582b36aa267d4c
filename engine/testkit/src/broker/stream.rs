//! A stream: what lies in it, which ids it knows, and who takes from it.

use std::collections::BTreeMap;

use amends_core::Timestamp;

use super::consumer::Consumer;
use super::{Answer, ConsumerSettings, Delivery, Full, Keeps, Look, Message, Stored, StreamSettings};

pub(super) struct Stream {
    pub(super) settings: StreamSettings,
    pub(super) consumers: BTreeMap<String, Consumer>,
    messages: BTreeMap<u64, Kept>,
    last: u64,
    /// The sequence of each id, and when it was stored.
    ids: BTreeMap<String, (u64, Timestamp)>,
}

struct Kept {
    message: Message,
    at: Timestamp,
}

impl Stream {
    pub(super) fn new(settings: StreamSettings) -> Self {
        let (consumers, messages, ids) = Default::default();
        Self { settings, consumers, messages, last: 0, ids }
    }

    pub(super) fn declare(&mut self, settings: ConsumerSettings) {
        let lies_there =
            self.messages.iter().map(|(sequence, kept)| (*sequence, &*kept.message.subject, kept.at));
        let consumer = || Consumer::new(settings.clone(), lies_there);
        self.consumers.entry(settings.name.clone()).or_insert_with(consumer);
    }

    pub(super) fn consumer(&mut self, name: &str) -> &mut Consumer {
        self.consumers.get_mut(name).unwrap_or_else(|| panic!("there is no consumer `{name}`"))
    }

    /// What is too old goes, and so do ids beyond the window.
    pub(super) fn expire(&mut self, now: Timestamp) {
        let window = self.settings.duplicate_window;
        self.ids.retain(|_, (_, at)| *at + window > now);
        let Some(age) = self.settings.age_max else { return };
        let old = self.messages.iter().filter(|(_, kept)| kept.at + age <= now);
        let old: Vec<u64> = old.map(|(sequence, _)| *sequence).collect();
        old.into_iter().for_each(|sequence| self.remove(sequence));
    }

    pub(super) fn store(
        &mut self,
        message: Message,
        now: Timestamp,
        not_before: Timestamp,
    ) -> Result<Stored, Full> {
        let known = message.id.as_ref().and_then(|id| self.ids.get(id));
        if let Some((sequence, _)) = known {
            return Ok(Stored { sequence: *sequence, duplicate: true });
        }
        if self.settings.messages_max.is_some_and(|most| self.messages.len() as u64 >= most) {
            return Err(Full);
        }
        self.last += 1;
        let sequence = self.last;
        self.ids.extend(message.id.clone().map(|id| (id, (sequence, now))));
        for consumer in self.consumers.values_mut() {
            consumer.hear(sequence, &message.subject, not_before);
        }
        self.messages.insert(sequence, Kept { message, at: now });
        Ok(Stored { sequence, duplicate: false })
    }

    pub(super) fn take(&mut self, (stream, name): (&str, &str), most: usize, now: Timestamp) -> Look {
        let (due, next) = self.consumer(name).take(most, now);
        let delivery = |(sequence, number): (u64, u64)| {
            let message = self.messages.get(&sequence)?.message.clone();
            Some(Delivery { stream: stream.to_owned(), consumer: name.to_owned(), sequence, number, message })
        };
        Look { taken: due.into_iter().filter_map(delivery).collect(), next }
    }

    pub(super) fn answer(&mut self, consumer: &str, sequence: u64, answer: Answer, now: Timestamp) {
        let was_in_hand = self.consumer(consumer).answer(sequence, answer, now);
        let is_done = matches!(answer, Answer::Ack | Answer::Term);
        if was_in_hand && is_done && self.settings.keeps == Keeps::Untaken {
            self.remove(sequence);
        }
    }

    pub(super) fn restart(&mut self) {
        let Self { ids, messages, .. } = self;
        ids.retain(|_, (sequence, _)| messages.contains_key(sequence));
    }

    pub(super) fn remove(&mut self, sequence: u64) {
        self.messages.remove(&sequence);
        self.consumers.values_mut().for_each(|consumer| consumer.forget(sequence));
    }
}

/// Does a filter take in a subject?
pub(super) fn takes_in(filter: &str, subject: &str) -> bool {
    match filter.strip_suffix('>') {
        Some(beginning) => subject.len() > beginning.len() && subject.starts_with(beginning),
        None => filter == subject,
    }
}
