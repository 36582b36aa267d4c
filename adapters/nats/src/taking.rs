//! Taking messages from a durable consumer, for as long as somebody wants it: for triggers, replies and commands alike.
//!
//! A [`Taker`] asks its consumer for as many messages as there is room for, and sees each through in a task of its own, as
//! its [`Work`] says. What can break, and what becomes of it:
//!
//! * *The consumer is gone, or the server, or the way to it*: two heartbeats are missed, or the server says so; the
//!   consumer is looked at, declared again where that is allowed, and the pull made again, without end.
//! * *It stops in order*: nothing more is pulled; what is in hand is finished, or given back, and then comes again at once,
//!   here or elsewhere.
//! * *It is killed, or its process dies*: what was in hand comes again after the consumer's `ack_wait`.

mod delivery;
mod pull;
mod session;
mod status;
mod tally;

use std::sync::Arc;
use std::time::Duration;

use amends::Engine;
use amends::core::Timestamp;
use amends::ports::{Clock, SystemClock};
use async_nats::jetstream::consumer;
use async_trait::async_trait;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connection::{Connection, RequestFailure};
use crate::declare::{ConsumerSettings, DeclareError, Difference, StreamSettings};
use crate::owner;
use crate::readiness::ConsumerReadiness;
pub(crate) use delivery::{Answer, Delivery, dedupe};
use session::End;
pub(crate) use status::{HeldBy, Report, Status};
pub(crate) use tally::{Tally, Totals};

/// The first and the longest wait before what broke is tried again.
const AGAIN: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// What is taken, and how much of it at one time.
pub(crate) struct Wanted {
    /// The consumer as it should be.
    pub(crate) consumer: ConsumerSettings,
    /// Its stream, if that is to be declared as well.
    pub(crate) stream: Option<StreamSettings>,
    /// The engine whose store the consumer belongs to; none for a service's.
    pub(crate) engine: Option<Engine>,
    /// May what is missing be created?
    pub(crate) create: bool,
    /// The most messages in hand.
    pub(crate) in_hand_max: u32,
    /// How long one pull waits for messages, and how often the server says meanwhile that it is there.
    pub(crate) pull: (Duration, Duration),
    /// In hand for so long without an end: stalled.
    pub(crate) stalled_after: Duration,
    /// How often an acknowledgement is sent until it is confirmed.
    pub(crate) confirmations_max: u32,
}

impl Wanted {
    /// This consumer, created where it is missing, with the usual numbers.
    pub(crate) fn new(consumer: ConsumerSettings) -> Self {
        Self {
            consumer,
            stream: None,
            engine: None,
            create: true,
            in_hand_max: 256,
            pull: (Duration::from_secs(30), Duration::from_secs(1)),
            stalled_after: Duration::from_secs(10),
            confirmations_max: 2,
        }
    }
}

/// What is done with messages.
#[async_trait]
pub(crate) trait Work: Send + Sync + 'static {
    /// The ending of a delivery that was given back: its place in the tally.
    const RETURNED: usize;

    fn taker(&self) -> &Taker;

    /// Sees a delivery through, its answer to the broker included; its ending, as a place in the tally.
    async fn see_through(&self, delivery: &Delivery, ack_wait: Duration) -> usize;

    /// Runs beside the pull, and ends it by returning.
    async fn beside(self: Arc<Self>, consumer: &consumer::Info) {
        let _ = consumer;
        std::future::pending().await
    }

    /// Why it runs no more.
    fn end(&self) -> String {
        "it was stopped".to_owned()
    }
}

/// A consumer, and what this process has in hand of it.
pub(crate) struct Taker {
    pub(crate) connection: Connection,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) wanted: Wanted,
    pub(crate) tally: Tally,
    pub(crate) status: Status,
    /// Room for messages in hand.
    room: Arc<Semaphore>,
    /// What is in hand, and what else has to end before this does.
    pub(crate) in_hand: TaskTracker,
    /// Nothing more is pulled.
    closing: CancellationToken,
    /// What is in hand is given back.
    giving_back: CancellationToken,
    /// Everything ends where it stands.
    killed: CancellationToken,
}

impl Taker {
    pub(crate) fn new(connection: Connection, wanted: Wanted) -> Self {
        Self::with(connection, wanted, Arc::new(SystemClock::new()), Arc::default())
    }

    /// With this clock; `changed` is told whenever anything of it changes.
    pub(crate) fn with(
        connection: Connection,
        wanted: Wanted,
        clock: Arc<dyn Clock>,
        changed: Arc<Notify>,
    ) -> Self {
        Self {
            connection,
            room: Arc::new(Semaphore::new(wanted.in_hand_max.max(1) as usize)),
            status: Status::new(clock.now(), changed),
            clock,
            wanted,
            tally: Tally::default(),
            in_hand: TaskTracker::new(),
            closing: CancellationToken::new(),
            giving_back: CancellationToken::new(),
            killed: CancellationToken::new(),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) async fn sleep(&self, wait: Duration) {
        self.clock.sleep_until(self.clock.now() + wait).await;
    }

    /// Declares what is missing, where that is allowed, and notes what differs.
    pub(crate) async fn declare(&self) -> Result<consumer::Info, DeclareError> {
        let Wanted { consumer, stream, engine, create, .. } = &self.wanted;
        let mut differences: Vec<Difference> = match stream {
            Some(stream) => self.connection.declare_stream(stream, *create).await?,
            None => Vec::new(),
        };
        let mark = engine.as_ref().map(owner::mark).unwrap_or_default();
        let (found, more) = self.connection.declare_consumer(consumer, mark, *create).await?;
        if let Some(engine) = engine {
            owner::look(engine, consumer.of(), &found).await?;
        }
        differences.extend(more);
        for difference in &differences {
            tracing::warn!(%difference, "a setting is not as it should be; it is left as it is");
        }
        self.status.differs(differences);
        Ok(found)
    }

    /// Nothing more is pulled.
    pub(crate) fn close(&self) {
        self.closing.cancel();
    }

    /// What is in hand is given back.
    pub(crate) fn give_back(&self) {
        self.giving_back.cancel();
    }

    /// Everything ends where it stands, as if the process died.
    pub(crate) fn kill(&self) {
        self.killed.cancel();
    }

    async fn unless_killed(&self, work: impl Future<Output = ()>) {
        tokio::select! {
            biased;
            () = self.killed.cancelled() => {}
            () = work => {}
        }
    }

    /// What comes of this; none, if everything in hand is given back before.
    pub(crate) async fn unless_given_back<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.giving_back.cancelled() => None,
            done = work => Some(done),
        }
    }

    /// While it is being worked on, the broker is told so, that it does not deliver it elsewhere.
    pub(crate) async fn kept_alive<T>(
        &self,
        delivery: &Delivery,
        ack_wait: Duration,
        work: impl Future<Output = T>,
    ) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = self.sleep(ack_wait / 3) => {
                    let progress = Answer::Progress.on_the_wire();
                    if let Err(error) = self.connection.client().publish(delivery.reply(), progress.into()).await {
                        tracing::debug!(%error, "the broker could not be told that a message is being worked on");
                    }
                }
            }
        }
    }

    /// Answers the broker, and waits until it has heard it.
    pub(crate) async fn confirm(&self, delivery: &Delivery, answer: Answer) {
        for _ in 0..self.wanted.confirmations_max {
            match self.connection.request(delivery.reply(), answer.on_the_wire()).await {
                Ok(()) => return self.status.no_longer_held(HeldBy::Broker),
                Err(RequestFailure::Silence(reason)) => tracing::debug!(reason, "no confirmation"),
                Err(RequestFailure::NobodyThere) => break,
                Err(RequestFailure::Refused(refusal)) => {
                    let reason = format!("messages cannot be acknowledged: {refusal}");
                    self.status.held(HeldBy::Broker, reason);
                    break;
                }
            }
        }
        self.tally.unconfirmed();
    }

    fn took(&self) {
        let first_in_hand = self.tally.taken().then(|| self.now());
        self.status.taken(first_in_hand);
    }

    fn ended(&self, ending: usize) {
        self.tally.ended(ending);
        self.status.moved(self.now());
    }

    pub(crate) fn report(&self) -> (Totals, Report) {
        let totals = self.tally.read();
        (totals, self.status.report(totals.in_hand, self.now(), self.wanted.stalled_after))
    }

    /// A report on the consumer, without what is particular to its work.
    pub(crate) fn readiness(&self) -> ConsumerReadiness {
        let (totals, Report { state, differences, held, stalled_since }) = self.report();
        ConsumerReadiness {
            consumer: self.wanted.consumer.name.clone(),
            stream: self.wanted.consumer.stream.clone(),
            state,
            stalled_since,
            held,
            in_hand: totals.in_hand,
            differences,
        }
    }
}

/// Pulls until it is told to stop, or the work ends by itself. Whatever breaks is looked at and made again. `known` is the
/// consumer, if it was declared already.
pub(crate) async fn run<W: Work>(work: Arc<W>, known: Option<consumer::Info>) {
    work.taker().unless_killed(running(&work, known)).await;
}

async fn running<W: Work>(work: &Arc<W>, mut known: Option<consumer::Info>) {
    let taker = work.taker();
    let mut wait = AGAIN.0;
    while !taker.closing.is_cancelled() {
        let consumer = match known.take() {
            Some(consumer) => consumer,
            None => match taker.declare().await {
                Ok(consumer) => consumer,
                Err(error) => {
                    taker.failed(error.to_string(), &mut wait).await;
                    continue;
                }
            },
        };
        let began = taker.now();
        let end = tokio::select! {
            end = session::run(work, &consumer) => end,
            () = work.clone().beside(&consumer) => End::Closing,
        };
        match end {
            End::Closing => break,
            End::Broken(reason) => {
                if taker.now().since(began) > AGAIN.1 {
                    wait = AGAIN.0;
                }
                taker.failed(reason, &mut wait).await;
            }
        }
    }
    taker.closing.cancel();
    taker.status.stopped(work.end());
    taker.in_hand.close();
}

impl Taker {
    async fn failed(&self, reason: String, wait: &mut Duration) {
        let consumer = &self.wanted.consumer.name;
        tracing::warn!(consumer, reason, "messages do not come; it is tried again");
        self.status.fails(reason, self.now());
        tokio::select! {
            biased;
            () = self.closing.cancelled() => {}
            () = self.sleep(*wait) => {}
        }
        *wait = (*wait * 2).min(AGAIN.1);
    }
}
