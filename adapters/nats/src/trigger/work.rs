//! One delivery, from being taken to being acknowledged.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use amends::Engine;
use amends::core::Timestamp;
use amends::engine::{IntakeError, IntakeMessage};
use amends::ports::{Clock, Fault};
use futures_util::FutureExt as _;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Declared;
use super::delivery::{Answer, Delivery};
use super::ending::{Counts, Ending};
use super::envelope;
use super::status::{HeldBy, Status};
use super::verdict::Verdict;
use crate::connection::{Connection, RequestFailure};

/// The first and the longest wait before something is put into a full intake again.
const FULL_WAIT: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// The first and the longest wait before a start that is held is made again.
const HELD_WAIT: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

/// How often an acknowledgement is sent until it is confirmed.
const CONFIRMATIONS_MAX: u32 = 2;

/// Everything that a running trigger needs.
pub(super) struct Running {
    pub(super) declared: Declared,
    pub(super) connection: Connection,
    pub(super) engine: Engine,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) counts: Counts,
    pub(super) status: Status,
    /// Room for messages in hand.
    pub(super) room: Arc<Semaphore>,
    /// What is in hand.
    pub(super) in_hand: TaskTracker,
    /// Nothing more is pulled.
    pub(super) closing: CancellationToken,
    /// What is in hand is given back.
    pub(super) giving_back: CancellationToken,
}

/// It could not be kept.
enum NotKept {
    /// The engine runs no more.
    Stopped,
    /// The message itself is at fault: a mistake of ours.
    Unstorable(String),
}

impl Running {
    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) async fn sleep(&self, wait: Duration) {
        self.clock.sleep_until(self.clock.now() + wait).await;
    }

    fn take(&self) {
        let first_in_hand = self.counts.taken().then(|| self.now());
        self.status.taken(first_in_hand);
    }

    /// Sees one delivery through.
    pub(super) async fn see_through(&self, delivery: Delivery, ack_wait: Duration) {
        self.take();
        let (answer, ending) = self.kept_alive(&delivery, ack_wait, self.settled(&delivery)).await;
        self.confirm(&delivery, answer).await;
        self.counts.ended(ending);
        self.status.moved(self.now());
        tracing::debug!(
            stream = delivery.stream,
            sequence = delivery.sequence,
            delivery = delivery.number,
            ?ending,
            "a message ended"
        );
    }

    /// Gives back what was pulled and not taken.
    pub(super) async fn give_back(&self, delivery: Delivery) {
        self.take();
        self.confirm(&delivery, Answer::Nak(Duration::ZERO)).await;
        self.counts.ended(Ending::Returned);
        self.status.moved(self.now());
    }

    /// While it is being worked on, the broker is told so, that it does not deliver it elsewhere.
    async fn kept_alive<T>(
        &self,
        delivery: &Delivery,
        ack_wait: Duration,
        work: impl Future<Output = T>,
    ) -> T {
        let mut work = pin!(work);
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

    async fn settled(&self, delivery: &Delivery) -> (Answer, Ending) {
        tokio::select! {
            biased;
            () = self.giving_back.cancelled() => (Answer::Nak(Duration::ZERO), Ending::Returned),
            settled = self.decided(delivery) => settled,
        }
    }

    async fn decided(&self, delivery: &Delivery) -> (Answer, Ending) {
        let failures_max = self.declared.limits.failures_max.max(1);
        let verdict = if delivery.number > failures_max.saturating_mul(2) {
            let words = format!("it was delivered {} times and never came to an end", delivery.number);
            Verdict::keep("failing", &words, delivery, None)
        } else {
            match AssertUnwindSafe(self.released(delivery)).catch_unwind().await {
                Ok(verdict) => verdict,
                Err(panic) => {
                    let words = format!("our own code failed on it: {}", panic_text(&*panic));
                    tracing::error!(
                        stream = delivery.stream,
                        sequence = delivery.sequence,
                        words,
                        "a trigger failed"
                    );
                    if delivery.number < failures_max {
                        return (Answer::Nak(self.failure_delay(delivery.number)), Ending::Failed);
                    }
                    Verdict::keep("failing", &words, delivery, None)
                }
            }
        };
        match verdict {
            Verdict::Done(ending) => (Answer::Ack, ending),
            Verdict::Return | Verdict::Wait(_) => self.engine_is_gone(),
            Verdict::Keep { ending, message } => match self.keep(&message).await {
                Ok(()) => (Answer::Term(message_code(&message)), ending),
                Err(NotKept::Stopped) => self.engine_is_gone(),
                Err(NotKept::Unstorable(reason)) => {
                    tracing::error!(reason, "a message cannot be put into intake");
                    (Answer::Nak(self.failure_delay(delivery.number)), Ending::Failed)
                }
            },
        }
    }

    /// Makes the start again until nobody holds it.
    async fn released(&self, delivery: &Delivery) -> Verdict {
        let (mut wait, longest) = HELD_WAIT;
        loop {
            match self.started(delivery).await {
                Verdict::Wait(reason) if self.engine.stopped().is_none() => {
                    self.status.held(HeldBy::Person, reason);
                    self.sleep(wait).await;
                    wait = (wait * 2).min(longest);
                }
                verdict => {
                    if wait != HELD_WAIT.0 {
                        self.status.no_longer_held(HeldBy::Person);
                    }
                    return verdict;
                }
            }
        }
    }

    async fn started(&self, delivery: &Delivery) -> Verdict {
        match envelope::read(delivery, self.declared.limits.message) {
            Ok(event) => {
                let started = self.declared.starter.start(&self.engine, &event).await;
                Verdict::of_start(started, delivery, &event)
            }
            Err(unfit) => Verdict::unfit(&unfit, delivery, None),
        }
    }

    fn engine_is_gone(&self) -> (Answer, Ending) {
        self.closing.cancel();
        (Answer::Nak(Duration::ZERO), Ending::Returned)
    }

    fn failure_delay(&self, delivery: u64) -> Duration {
        let (first, longest) = self.declared.limits.failure_delay;
        let doublings = u32::try_from(delivery.saturating_sub(1)).unwrap_or(u32::MAX).min(31);
        first.saturating_mul(1 << doublings).min(longest)
    }

    /// Puts a message into intake that the broker will not deliver any more.
    pub(super) fn keep_advised(self: &Arc<Self>, message: IntakeMessage) {
        let running = self.clone();
        self.in_hand.spawn(async move {
            let kept = tokio::select! {
                biased;
                () = running.giving_back.cancelled() => Err(NotKept::Stopped),
                kept = running.keep(&message) => kept,
            };
            if kept.is_err() {
                tracing::error!(
                    ?message,
                    "a message that is not delivered any more could not be put into intake"
                );
            }
        });
    }

    /// Puts a message into intake, however long that takes.
    async fn keep(&self, message: &IntakeMessage) -> Result<(), NotKept> {
        let (mut wait, longest) = FULL_WAIT;
        loop {
            match self.engine.intake(message.clone()).await {
                Ok(_) => {
                    let IntakeMessage { source, position, reason, .. } = message;
                    tracing::warn!(source, ?position, reason.code, reason.words, "a message started no saga");
                    self.status.no_longer_held(HeldBy::Intake);
                    return Ok(());
                }
                Err(IntakeError::Unstorable(reason)) => return Err(NotKept::Unstorable(reason)),
                Err(IntakeError::Store(Fault::Unavailable(_))) if self.engine.stopped().is_none() => {
                    self.sleep(wait).await;
                }
                Err(full @ IntakeError::Full { .. }) => {
                    self.status.held(HeldBy::Intake, full.to_string());
                    self.sleep(wait).await;
                    wait = (wait * 2).min(longest);
                }
                Err(_) => return Err(NotKept::Stopped),
            }
        }
    }

    /// Answers the broker, and waits until it has heard it.
    async fn confirm(&self, delivery: &Delivery, answer: Answer) {
        for _ in 0..CONFIRMATIONS_MAX {
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
        self.counts.unconfirmed();
    }
}

/// The codes that this adapter gives, as words for the broker's own log.
fn message_code(message: &IntakeMessage) -> &'static str {
    match message.reason.code.as_str() {
        "conflict" => "conflict",
        "refused" => "refused",
        "failing" => "failing",
        "unknown-version" => "unknown-version",
        _ => "malformed",
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
        .unwrap_or_else(|| "a panic".to_owned())
}
