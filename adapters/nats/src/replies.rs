//! Replies: taken from JetStream, told to the engine, and acknowledged once they are durable.
//!
//! Any node takes any reply: the engine has it go to the saga's owner. A reply whose saga is not to be found is given back
//! with a growing delay for a bounded time, and is then put on the intake desk; so is one that names no saga, at once. The
//! pulling, and what can break there, is [`taking`].

use std::sync::Arc;
use std::time::Duration;

use amends::Engine;
use amends::engine::{IntakeMessage, Reply, ReplyError};
use amends::ports::IntakeReason;
use async_nats::HeaderMap;
use async_nats::jetstream::consumer;
use async_trait::async_trait;
use tokio_util::task::TaskTracker;

use crate::command::{NameError, named};
use crate::connection::Connection;
use crate::declare::{ConsumerSettings, DeclareError};
use crate::readiness::ConsumerReadiness;
use crate::taking::{self, Answer, Delivery, HeldBy, Taker, Totals, Wanted, Work};
use crate::wire::{Replied, replied};

/// The wait before a reply that the engine could not take comes again: the first time, and at most.
const DELAY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

/// How replies are taken.
#[derive(Clone, Debug)]
pub struct ReplySettings {
    /// The installation's prefix. Default `amends`.
    pub prefix: String,
    /// The engine's name, as its commands say it.
    pub engine: String,
    /// The most replies that are worked on at one time. Default 256.
    pub in_flight: usize,
    /// How often a reply to a saga that is not to be found comes, with growing delays, before it is put on the intake desk.
    /// Default 10, which is about two minutes.
    pub deliveries_max: u64,
    /// After how long without an acknowledgement a reply is delivered again. Default 30 s.
    pub ack_wait: Duration,
    /// May the consumer be created where it is missing? Otherwise readiness names it. Default yes.
    pub create: bool,
    /// Readiness calls it stalled when replies are in hand and none ended for so long. Default 10 s.
    pub stalled_after: Duration,
}

impl ReplySettings {
    /// The defaults, for an engine of this name.
    pub fn new(engine: impl Into<String>) -> Self {
        Self {
            prefix: "amends".to_owned(),
            engine: engine.into(),
            in_flight: 256,
            deliveries_max: 10,
            ack_wait: Duration::from_secs(30),
            create: true,
            stalled_after: Duration::from_secs(10),
        }
    }
}

/// How many replies were taken on this node since it began, and what became of them.
///
/// A *delivery* is one message handed over once; the same reply may come again. `deliveries` is always the sum of what
/// follows it, without `unconfirmed`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplyCounters {
    /// Deliveries taken.
    pub deliveries: u64,
    /// Those that the engine has, now or since before.
    pub taken: u64,
    /// Those that no saga takes: in intake.
    pub intake: u64,
    /// Those that no store takes: dropped, with a line in the log.
    pub dropped: u64,
    /// Those that could not be taken now. They come again.
    pub put_off: u64,
    /// Those given back because this process ends. They come again.
    pub returned: u64,
    /// Those being worked on.
    pub in_hand: u64,
    /// Among all that ended, those whose acknowledgement nobody confirmed. They may come again.
    pub unconfirmed: u64,
}

impl From<Totals> for ReplyCounters {
    fn from(totals: Totals) -> Self {
        let of = |ending: Ending| totals.endings[ending as usize];
        Self {
            deliveries: totals.deliveries,
            taken: of(Ending::Taken),
            intake: of(Ending::Intake),
            dropped: of(Ending::Dropped),
            put_off: of(Ending::PutOff),
            returned: of(Ending::Returned),
            in_hand: totals.in_hand,
            unconfirmed: totals.unconfirmed,
        }
    }
}

/// Replies cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RepliesError {
    /// A name is no token of a subject.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The consumer belongs to engines of another store.
    #[error(transparent)]
    Declare(#[from] DeclareError),
}

/// Takes replies while it is kept, and its engine runs. Dropping it ends it at once, as if the process died;
/// [`Self::stop`] lets it finish what it works on.
pub struct Replies {
    shared: Arc<Shared>,
    running: TaskTracker,
}

struct Shared {
    engine: Engine,
    /// The engine's name, as its commands say it.
    from: String,
    deliveries_max: u64,
    taker: Taker,
}

impl Replies {
    /// Begins to take replies for this engine. Whatever its consumer lacks is told by [`Self::readiness`], and tried again
    /// without end, but for a consumer that belongs to engines of another store.
    ///
    /// # Errors
    /// See [`RepliesError`].
    pub async fn take(
        engine: Engine,
        connection: Connection,
        settings: ReplySettings,
    ) -> Result<Self, RepliesError> {
        let ReplySettings { prefix, engine: from, in_flight, deliveries_max, .. } = settings;
        let (prefix, name) = (named(&prefix)?, named(&from)?);
        let consumer = ConsumerSettings {
            ack_wait: settings.ack_wait,
            ..ConsumerSettings::new(replies_stream(prefix), format!("{prefix}.reply.{name}"), name)
        };
        let wanted = Wanted {
            engine: Some(engine.clone()),
            create: settings.create,
            in_hand_max: u32::try_from(in_flight).unwrap_or(u32::MAX),
            stalled_after: settings.stalled_after,
            ..Wanted::new(consumer)
        };
        let taker = Taker::new(connection, wanted);
        // What else is wrong is looked at again, and told then.
        let known = match taker.declare().await {
            Err(error @ DeclareError::OfAnotherStore { .. }) => return Err(error.into()),
            declared => declared.ok(),
        };
        let shared = Arc::new(Shared { engine, from, deliveries_max, taker });
        let running = TaskTracker::new();
        running.spawn(taking::run(shared.clone(), known));
        running.close();
        Ok(Self { shared, running })
    }

    /// How its consumer stands: for [`Readiness::with`](crate::Readiness::with).
    pub fn readiness(&self) -> ConsumerReadiness {
        self.shared.taker.readiness()
    }

    /// What it has done on this node.
    pub fn counters(&self) -> ReplyCounters {
        self.shared.taker.tally.read().into()
    }

    /// Takes nothing new, and returns once what it works on is done.
    pub async fn stop(self) {
        self.shared.taker.close();
        self.running.wait().await;
        self.shared.taker.in_hand.wait().await;
    }
}

impl std::fmt::Debug for Replies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replies").field("engine", &self.shared.from).finish_non_exhaustive()
    }
}

impl Drop for Replies {
    fn drop(&mut self) {
        self.shared.taker.kill();
    }
}

/// What becomes of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// What it says is durable.
    Taken,
    /// It is a person's.
    Intake,
    /// No store takes it.
    Dropped,
    /// It comes again.
    PutOff,
    /// It had come and was not begun when this ended; it comes again.
    Returned,
}

#[async_trait]
impl Work for Shared {
    const RETURNED: usize = Ending::Returned as usize;

    fn taker(&self) -> &Taker {
        &self.taker
    }

    async fn see_through(&self, delivery: &Delivery, ack_wait: Duration) -> usize {
        let told = self.taker.kept_alive(delivery, ack_wait, self.told(delivery)).await;
        let (ending, answer) = match told {
            Ok(ending) => (ending, Answer::Ack),
            Err(reason) => {
                let doublings = u32::try_from(delivery.number.saturating_sub(1)).unwrap_or(16).min(16);
                let delay = (DELAY.0 * 2_u32.pow(doublings)).min(DELAY.1);
                tracing::warn!(delivery = delivery.number, ?delay, %reason, "a reply comes again");
                (Ending::PutOff, Answer::Nak(delay))
            }
        };
        self.taker.confirm(delivery, answer).await;
        ending as usize
    }

    /// When the engine ends, nothing more is pulled.
    async fn beside(self: Arc<Self>, _: &consumer::Info) {
        self.engine.until_stopped().await;
    }

    fn end(&self) -> String {
        match self.engine.stopped() {
            Some(reason) => format!("the engine has stopped: {reason}"),
            None => "it was stopped".to_owned(),
        }
    }
}

impl Shared {
    /// Makes what a reply says durable. The error says why it comes again.
    async fn told(&self, delivery: &Delivery) -> Result<Ending, String> {
        let empty = HeaderMap::new();
        match replied(delivery.header_map().unwrap_or(&empty), delivery.payload()) {
            Ok(replied) => self.tell(replied, delivery.number).await,
            Err(malformed) => self.put_away(delivery, &malformed.to_string()).await,
        }
    }

    async fn tell(&self, replied: Replied, number: u64) -> Result<Ending, String> {
        let Replied { saga, request, attempt, answer } = replied;
        let told = if number < self.deliveries_max {
            self.engine.reply(saga, request, attempt, answer, &self.from).await
        } else {
            self.engine.reply_or_keep(saga, request, attempt, answer, &self.from).await
        };
        if !matches!(told, Err(ReplyError::Store(_))) {
            self.taker.status.no_longer_held(HeldBy::Service);
        }
        match told {
            Ok(Reply::Kept) => Ok(Ending::Intake),
            Ok(_) => Ok(Ending::Taken),
            Err(error @ ReplyError::Unstorable(_)) => {
                tracing::error!(%saga, %request, %error, "a reply is dropped: no store takes it");
                Ok(Ending::Dropped)
            }
            Err(error) => {
                if matches!(error, ReplyError::Store(_)) {
                    self.taker.status.held(HeldBy::Service, error.to_string());
                }
                Err(error.to_string())
            }
        }
    }

    /// A message that answers nobody.
    async fn put_away(&self, delivery: &Delivery, reason: &str) -> Result<Ending, String> {
        let kept = self.engine.intake(IntakeMessage {
            source: delivery.stream.clone(),
            dedupe: delivery.dedupe(),
            position: Some(delivery.sequence.to_string()),
            event_id: None,
            saga: None,
            reason: IntakeReason { code: "malformed".to_owned(), words: reason.to_owned() },
            raw: delivery.payload().to_vec(),
        });
        kept.await.map(|_| Ending::Intake).map_err(|error| error.to_string())
    }
}

/// The stream that replies lie in.
pub(crate) fn replies_stream(prefix: &str) -> String {
    format!("{}_REPLIES", prefix.to_ascii_uppercase())
}
