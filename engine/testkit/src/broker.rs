//! A broker in memory: streams of durable messages, and durable pull consumers that deliver each at least once.
//!
//! It speaks no protocol and knows no network. What it does is what [the suite](crate::conformance::broker) asks of a
//! nats-server with JetStream too: ids within a duplicate window, redelivery after the ack wait, bounds, work queues.
//! Whatever fails on the way to a broker is not its business: [`simulation`](crate::simulation) has a connection that
//! fails in front of it.

mod consumer;
mod stream;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use amends::ports::Clock;
use amends_core::Timestamp;
use tokio::sync::Notify;

use consumer::Consumer;
use stream::Stream;

/// A message, as it is published and delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Tokens with dots between them.
    pub subject: Arc<str>,
    /// Within the duplicate window a message of the same id is stored once.
    pub id: Option<String>,
    /// Names and texts.
    pub headers: BTreeMap<String, String>,
    /// Its body.
    pub body: String,
}

/// How a stream keeps its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// Everything, within its limits.
    Everything,
    /// What nobody has acknowledged yet: each message is one consumer's.
    Untaken,
}

/// A stream as it should be. Full, it refuses what is new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamSettings {
    /// How it keeps its messages. Default everything.
    pub keeps: Keeps,
    /// For how long a repeated id is a duplicate. Default 2 min; at least 100 ms.
    pub duplicate_window: Duration,
    /// The most messages. Default without bound.
    pub messages_max: Option<u64>,
    /// For how long messages stay. Default without end; at least 100 ms, and not shorter than the duplicate window.
    pub age_max: Option<Duration>,
}

impl Default for StreamSettings {
    fn default() -> Self {
        Self {
            keeps: Keeps::Everything,
            duplicate_window: Duration::from_secs(120),
            messages_max: None,
            age_max: None,
        }
    }
}

/// A durable pull consumer as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerSettings {
    /// Its name.
    pub name: String,
    /// The subject that it takes in; with `.>` at its end, everything that begins so.
    pub filter: String,
    /// How long a message may be in hand without a word before it comes again. Default 30 s.
    pub ack_wait: Duration,
    /// The most deliveries of a message. Default without end.
    pub deliveries_max: Option<u64>,
    /// The most messages in hand; what comes again does not wait for room. Default 4 096.
    pub in_hand_max: usize,
}

impl ConsumerSettings {
    /// The defaults, for this name and filter.
    pub fn new(name: impl Into<String>, filter: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            filter: filter.into(),
            ack_wait: Duration::from_secs(30),
            deliveries_max: None,
            in_hand_max: 4_096,
        }
    }
}

/// A message is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its place in the stream.
    pub sequence: u64,
    /// It had been stored before, under the same id.
    pub duplicate: bool,
}

/// The stream is full: nothing was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to store the message: the stream is full")]
pub struct Full;

/// A message in hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Where it lies.
    pub stream: String,
    /// Whose it is.
    pub consumer: String,
    /// Its place in the stream.
    pub sequence: u64,
    /// How often it was delivered with this, from 1.
    pub number: u64,
    /// The message.
    pub message: Message,
}

/// What is to become of a message in hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is done with.
    Ack,
    /// It is done with, and nothing was made of it.
    Term,
    /// It comes again after this time.
    Nak(Duration),
    /// It is being worked on.
    Progress,
}

/// How much of a consumer's messages is not done with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Not delivered yet.
    pub waiting: usize,
    /// Delivered, and not answered.
    pub in_hand: usize,
}

/// A broker in memory. Clones are the same broker.
#[derive(Clone)]
pub struct MemoryBroker(Arc<Inner>);

struct Inner {
    clock: Arc<dyn Clock>,
    streams: Mutex<BTreeMap<String, Stream>>,
    /// Somebody who waits was woken since this was last asked.
    stirred: AtomicBool,
}

impl MemoryBroker {
    /// A broker without streams, in this time.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner { clock, streams: Mutex::default(), stirred: AtomicBool::new(false) }))
    }

    /// Declares a stream. One that is there stays as it is.
    pub fn stream(&self, name: &str, settings: StreamSettings) {
        self.streams().entry(name.to_owned()).or_insert_with(|| Stream::new(settings));
    }

    /// Declares a consumer of a stream. One that is there stays as it is; a new one begins with all that lies there.
    ///
    /// # Panics
    /// When there is no such stream.
    pub fn consumer(&self, stream: &str, settings: ConsumerSettings) {
        self.with(stream, |stream, _| stream.declare(settings));
    }

    /// Stores a message. It is durable when this returns.
    ///
    /// # Errors
    /// When the stream is full.
    ///
    /// # Panics
    /// When there is no such stream.
    pub fn publish(&self, stream: &str, message: Message) -> Result<Stored, Full> {
        self.publish_held(stream, message, Duration::ZERO)
    }

    /// Stores a message that nobody is given before so long.
    pub(crate) fn publish_held(
        &self,
        stream: &str,
        message: Message,
        held: Duration,
    ) -> Result<Stored, Full> {
        self.with(stream, |stream, now| stream.store(message, now, now + held))
    }

    /// The messages of a consumer that can be had now, at most so many: what comes again before what is new.
    ///
    /// # Panics
    /// When there is no such stream or consumer.
    pub fn take(&self, stream: &str, consumer: &str, most: usize) -> Vec<Delivery> {
        self.look(stream, consumer, most).taken
    }

    /// As [`Self::take`], and waits until there is one, at most so long.
    ///
    /// # Panics
    /// When there is no such stream or consumer.
    pub async fn pull(&self, stream: &str, consumer: &str, most: usize, wait: Duration) -> Vec<Delivery> {
        let until = self.0.clock.now() + wait;
        loop {
            let changed = self.with_consumer(stream, consumer, |consumer, _| consumer.changed.clone());
            let mut changed = std::pin::pin!(changed.notified());
            changed.as_mut().enable();
            let Look { taken, next } = self.look(stream, consumer, most);
            if !taken.is_empty() || self.0.clock.now() >= until {
                return taken;
            }
            let next = next.map_or(until, |next| next.min(until));
            tokio::select! {
                biased;
                () = &mut changed => {}
                () = self.0.clock.sleep_until(next) => {}
            }
        }
    }

    /// Answers for a message in hand. One that is not in hand any more, or not again yet, may be answered too: late, it
    /// counts.
    pub fn answer(&self, delivery: &Delivery, answer: Answer) {
        let Delivery { stream, consumer, sequence, .. } = delivery;
        self.with(stream, |stream, now| stream.answer(consumer, *sequence, answer, now));
    }

    /// It stops and starts again: what is durable stays, whoever waits is sent away, and of ids only those are known
    /// whose messages still lie there.
    pub fn restart(&self) {
        for stream in self.streams().values_mut() {
            stream.restart();
            stream.consumers.values().for_each(|consumer| self.wake(&consumer.changed));
        }
    }

    /// What of a consumer's messages is not done with.
    ///
    /// # Panics
    /// When there is no such stream or consumer.
    pub fn left(&self, stream: &str, consumer: &str) -> Left {
        self.with_consumer(stream, consumer, |consumer, _| consumer.left())
    }

    /// What is in hand is to come again at once, as if its ack wait were over: two have it then.
    pub(crate) fn double(&self, delivery: &Delivery) {
        self.answer(delivery, Answer::Nak(Duration::ZERO));
    }

    /// Loses a message that was acknowledged. Broken.
    pub(crate) fn lose(&self, stream: &str, sequence: u64) {
        self.with(stream, |stream, _| stream.remove(sequence));
    }

    /// What is not done with of every consumer, by stream and name.
    pub(crate) fn all_left(&self) -> Vec<(String, String, Left)> {
        let now = self.0.clock.now();
        let mut all = Vec::new();
        for (name, stream) in self.streams().iter_mut() {
            stream.expire(now);
            let left = |(consumer, of): (&String, &Consumer)| (name.clone(), consumer.clone(), of.left());
            all.extend(stream.consumers.iter().map(left));
        }
        all
    }

    /// From now on this stream has room for so many.
    pub(crate) fn resize(&self, stream: &str, messages_max: Option<u64>) {
        self.with(stream, |stream, _| stream.settings.messages_max = messages_max);
    }

    /// Was anybody woken since this was last asked?
    pub(crate) fn take_stirred(&self) -> bool {
        self.0.stirred.swap(false, Ordering::Relaxed)
    }

    fn look(&self, stream: &str, consumer: &str, most: usize) -> Look {
        self.with(stream, |found, now| found.take((stream, consumer), most, now))
    }

    fn with<T>(&self, stream: &str, act: impl FnOnce(&mut Stream, Timestamp) -> T) -> T {
        let now = self.0.clock.now();
        let mut streams = self.streams();
        let found = streams.get_mut(stream).unwrap_or_else(|| panic!("there is no stream `{stream}`"));
        found.expire(now);
        let done = act(found, now);
        for consumer in found.consumers.values_mut() {
            if std::mem::take(&mut consumer.stirs) {
                self.wake(&consumer.changed);
            }
        }
        done
    }

    fn with_consumer<T>(
        &self,
        stream: &str,
        consumer: &str,
        act: impl FnOnce(&mut Consumer, Timestamp) -> T,
    ) -> T {
        self.with(stream, |stream, now| act(stream.consumer(consumer), now))
    }

    fn wake(&self, changed: &Notify) {
        changed.notify_waiters();
        self.0.stirred.store(true, Ordering::Relaxed);
    }

    fn streams(&self) -> MutexGuard<'_, BTreeMap<String, Stream>> {
        self.0.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What can be had now, and when the next can be.
struct Look {
    taken: Vec<Delivery>,
    next: Option<Timestamp>,
}
