//! One delivery, from being taken to being acknowledged.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use amends::Engine;
use amends::engine::{IntakeError, IntakeMessage};
use amends::ports::Fault;
use async_nats::jetstream::consumer;
use async_trait::async_trait;
use futures_util::FutureExt as _;

use super::ending::Ending;
use super::start::Starts;
use super::verdict::Verdict;
use super::{TriggerLimits, advisory, envelope};
use crate::taking::{Answer, Delivery, HeldBy, Taker, Work};

/// The first and the longest wait before something is put into a full intake again.
const FULL_WAIT: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// The first and the longest wait before a start that is held is made again.
const HELD_WAIT: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

/// Everything that a running trigger needs.
pub(super) struct Running {
    pub(super) taker: Taker,
    pub(super) limits: TriggerLimits,
    pub(super) starter: Arc<dyn Starts>,
    pub(super) engine: Engine,
}

/// It could not be kept.
enum NotKept {
    /// The engine runs no more.
    Stopped,
    /// The message itself is at fault: a mistake of ours.
    Unstorable(String),
}

#[async_trait]
impl Work for Running {
    const RETURNED: usize = Ending::Returned as usize;

    fn taker(&self) -> &Taker {
        &self.taker
    }

    async fn see_through(&self, delivery: &Delivery, ack_wait: Duration) -> usize {
        let settled = self.taker.kept_alive(delivery, ack_wait, self.settled(delivery));
        let (answer, ending) = settled.await;
        self.taker.confirm(delivery, answer).await;
        tracing::debug!(
            stream = delivery.stream,
            sequence = delivery.sequence,
            delivery = delivery.number,
            ?ending,
            "a message ended"
        );
        ending as usize
    }

    /// Listens for what the broker gives up; when the engine ends, nothing more is pulled.
    async fn beside(self: Arc<Self>, consumer: &consumer::Info) {
        tokio::select! {
            () = advisory::listen(&self, consumer) => {}
            _ = self.engine.until_stopped() => {}
        }
    }

    fn end(&self) -> String {
        match self.engine.stopped() {
            Some(reason) => format!("the engine has stopped: {reason}"),
            None => "it was stopped".to_owned(),
        }
    }
}

impl Running {
    async fn settled(&self, delivery: &Delivery) -> (Answer, Ending) {
        let settled = self.taker.unless_given_back(self.decided(delivery)).await;
        settled.unwrap_or((Answer::Nak(Duration::ZERO), Ending::Returned))
    }

    async fn decided(&self, delivery: &Delivery) -> (Answer, Ending) {
        let failures_max = self.limits.failures_max.max(1);
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
                    self.taker.status.held(HeldBy::Person, reason);
                    self.taker.sleep(wait).await;
                    wait = (wait * 2).min(longest);
                }
                verdict => {
                    if wait != HELD_WAIT.0 {
                        self.taker.status.no_longer_held(HeldBy::Person);
                    }
                    return verdict;
                }
            }
        }
    }

    async fn started(&self, delivery: &Delivery) -> Verdict {
        match envelope::read(delivery, self.limits.message) {
            Ok(event) => {
                let started = self.starter.start(&self.engine, &event).await;
                Verdict::of_start(started, delivery, &event)
            }
            Err(unfit) => Verdict::unfit(&unfit, delivery, None),
        }
    }

    fn engine_is_gone(&self) -> (Answer, Ending) {
        self.taker.close();
        (Answer::Nak(Duration::ZERO), Ending::Returned)
    }

    fn failure_delay(&self, delivery: u64) -> Duration {
        let (first, longest) = self.limits.failure_delay;
        let doublings = u32::try_from(delivery.saturating_sub(1)).unwrap_or(u32::MAX).min(31);
        first.saturating_mul(1 << doublings).min(longest)
    }

    /// Puts a message into intake that the broker will not deliver any more.
    pub(super) fn keep_advised(self: &Arc<Self>, message: IntakeMessage) {
        let running = self.clone();
        self.taker.in_hand.spawn(async move {
            let kept = running.taker.unless_given_back(running.keep(&message)).await;
            if !matches!(kept, Some(Ok(()))) {
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
                    self.taker.status.no_longer_held(HeldBy::Intake);
                    return Ok(());
                }
                Err(IntakeError::Unstorable(reason)) => return Err(NotKept::Unstorable(reason)),
                Err(IntakeError::Store(Fault::Unavailable(_))) if self.engine.stopped().is_none() => {
                    self.taker.sleep(wait).await;
                }
                Err(full @ IntakeError::Full { .. }) => {
                    self.taker.status.held(HeldBy::Intake, full.to_string());
                    self.taker.sleep(wait).await;
                    wait = (wait * 2).min(longest);
                }
                Err(_) => return Err(NotKept::Stopped),
            }
        }
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
