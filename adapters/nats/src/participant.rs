//! The participant's side: a service that takes commands of sagas, answers queries, and keeps its barrier.
//!
//! [`Participant::start`] does what `PROTOCOL.md` asks of the wire. What is done, and the barrier, is the service's own
//! [`Handler`], in a transaction of its own.
//!
//! Whoever answers that nothing took effect has closed that transmission out before: the broker may have given the command
//! to another hand meanwhile. That is one more transaction of the service, of failing commands only.
//!
//! Failure cases. *The process dies* anywhere: the command comes again, the barrier answers from what is kept, the reply is
//! published again under its id. *The handler cannot work now, or panics*: nothing is answered, the command comes again
//! after a growing delay. *An attempt cannot be closed out*: the same. *The stream does not take the reply*: the same. What can break in pulling is
//! [`taking`](crate::taking)'s.

mod commands;
mod queries;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::commands::Ending;
use crate::connection::Connection;
use crate::declare::{ConsumerSettings, DeclareError};
use crate::readiness::ConsumerReadiness;
use crate::taking::{self, Taker, Wanted};
use crate::wire::{Call, PREFIX_MAX, Reply, is_name};

/// The service cannot work now, for this reason: nothing took effect, and the command comes again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to work now: {0}")]
pub struct NotNow(pub String);

impl NotNow {
    /// For this reason.
    pub fn because(reason: impl std::fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

/// What a service does for sagas.
///
/// # Guarantees asked of an implementation
/// It keeps the barrier of `PROTOCOL.md`, section 6, in the transaction of its effects: `amends-barrier` does that in SQL.
/// When a call returns, what it answers is committed. A refusal is kept as an effect is.
#[async_trait]
pub trait Handler: Send + Sync + 'static {
    /// Takes a command.
    ///
    /// # Errors
    /// When the service cannot work now; the command comes again.
    async fn command(&self, call: &Call) -> Result<Reply, NotNow>;

    /// Closes this attempt of a forward command out, which is about to be answered with `reply`: that nothing took effect.
    /// The same command may be in another hand, whose effect nobody would hear of any more. Asked for by the helper after
    /// [`Self::command`] has failed so, and where it turns a command away itself.
    ///
    /// `PROTOCOL.md`, section 7, has the steps. Gives what is to be answered: `reply` once no transmission up to this attempt can take effect any more, or what the
    /// barrier holds by now (`amends_barrier::close_out`). An operation that changes nothing gives `reply` as it is.
    ///
    /// # Errors
    /// When it could not be made durable: nothing is answered, and the command comes again.
    async fn close_out(&self, call: &Call, reply: Reply) -> Result<Reply, NotNow>;

    /// Says what became of a request; [`Call::fence_through`] says when it is to be closed out.
    ///
    /// # Errors
    /// When the service cannot work now: the query fails, and the engine asks again.
    async fn query(&self, call: &Call) -> Result<Reply, NotNow>;
}

/// Who a participant is, and how much it takes on.
#[derive(Clone, Debug)]
pub struct ParticipantSettings {
    /// Its name on the wire: 1 to 64 of A–Z, a–z, 0–9, `-`, `_`.
    pub service: String,
    /// The installation's prefix. Default `amends`.
    pub prefix: String,
    /// The most commands, and the most queries, that are worked on at one time. Default 64.
    pub in_flight: usize,
    /// After how long without an acknowledgement a command is delivered again. Default 30 s.
    pub ack_wait: Duration,
    /// The longest wait before a command that could not be worked on comes again. Default 30 s.
    pub delay_max: Duration,
    /// May the consumer be created where it is missing? Otherwise readiness names it. Default yes.
    pub create: bool,
    /// Readiness calls it stalled when commands are in hand and none ended for so long. Default 10 s.
    pub stalled_after: Duration,
}

impl ParticipantSettings {
    /// The defaults, for a service of this name.
    pub fn new(service: impl Into<String>) -> Self {
        Self {
            service: service.into(),
            prefix: "amends".to_owned(),
            in_flight: 64,
            ack_wait: Duration::from_secs(30),
            delay_max: Duration::from_secs(30),
            create: true,
            stalled_after: Duration::from_secs(10),
        }
    }
}

/// A participant cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParticipantError {
    /// A name that is no token of a subject.
    #[error(
        "failed to begin as `{0}`: a service and a prefix are 1 to {PREFIX_MAX} of A–Z, a–z, 0–9, `-`, `_`"
    )]
    Name(String),
    /// The stream of commands, which the engine's operator declares, or the consumer on it, cannot be used.
    #[error(transparent)]
    Declare(#[from] DeclareError),
    /// Queries cannot be subscribed to.
    #[error("failed to subscribe to {subject}: {reason}")]
    Subscribe {
        /// The subject.
        subject: String,
        /// Why not.
        reason: String,
    },
}

/// How many commands and queries a service took in this process since it began, and what became of them.
///
/// A *delivery* is one message handed over once; the same command may come again. `deliveries` is always the sum of what
/// follows it, without `unconfirmed` and `queries`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParticipantCounters {
    /// Deliveries of commands taken.
    pub deliveries: u64,
    /// Those that were answered, from what was kept too.
    pub answered: u64,
    /// Those that were no commands: answered as far as they say to whom, and terminated.
    pub malformed: u64,
    /// Those that could not be worked on now. They come again.
    pub put_off: u64,
    /// Those given back because this process ends. They come again.
    pub returned: u64,
    /// Those being worked on.
    pub in_hand: u64,
    /// Among all that ended, those whose acknowledgement nobody confirmed. They may come again.
    pub unconfirmed: u64,
    /// Queries that came.
    pub queries: u64,
}

/// A service that takes part in sagas, while this is kept. Dropping it ends it at once, as if the process died;
/// [`Self::stop`] lets it finish what it works on.
pub struct Participant {
    taker: Arc<dyn HasTaker>,
    /// How many queries came.
    asked: Arc<AtomicU64>,
    stop: CancellationToken,
    running: TaskTracker,
}

/// What every part of a participant needs.
struct Shared<H> {
    connection: Connection,
    settings: ParticipantSettings,
    handler: H,
    taker: Taker,
    stop: CancellationToken,
    asked: Arc<AtomicU64>,
}

/// A participant, whatever its handler is.
trait HasTaker: Send + Sync {
    fn taker(&self) -> &Taker;
}

impl<H: Handler> HasTaker for Shared<H> {
    fn taker(&self) -> &Taker {
        &self.taker
    }
}

impl Participant {
    /// Begins to take commands and to answer queries. Its consumer stands when this returns.
    ///
    /// # Errors
    /// See [`ParticipantError`].
    pub async fn start<H: Handler>(
        connection: Connection,
        settings: ParticipantSettings,
        handler: H,
    ) -> Result<Self, ParticipantError> {
        if let Some(wrong) = [&settings.service, &settings.prefix].into_iter().find(|name| !is_name(name)) {
            return Err(ParticipantError::Name(wrong.clone()));
        }
        let taker = Taker::new(connection.clone(), wanted(&settings));
        let consumer = taker.declare().await?;
        let (stop, asked) = (CancellationToken::new(), Arc::default());
        let shared = Shared { connection, settings, handler, taker, stop: stop.clone(), asked };
        let shared = Arc::new(shared);
        let queries = queries::subscribe(&shared).await?;
        shared.taker.status.pulls();
        let running = TaskTracker::new();
        running.spawn(taking::run(shared.clone(), Some(consumer)));
        running.spawn(queries::run(shared.clone(), queries));
        running.close();
        Ok(Self { asked: shared.asked.clone(), taker: shared, stop, running })
    }

    /// How its consumer stands: for [`Readiness::with`](crate::Readiness::with).
    pub fn readiness(&self) -> ConsumerReadiness {
        self.taker.taker().readiness()
    }

    /// What it has done in this process.
    pub fn counters(&self) -> ParticipantCounters {
        let totals = self.taker.taker().tally.read();
        let of = |ending: Ending| totals.endings[ending as usize];
        ParticipantCounters {
            deliveries: totals.deliveries,
            answered: of(Ending::Answered),
            malformed: of(Ending::Malformed),
            put_off: of(Ending::PutOff),
            returned: of(Ending::Returned),
            in_hand: totals.in_hand,
            unconfirmed: totals.unconfirmed,
            queries: self.asked.load(Ordering::Relaxed),
        }
    }

    /// Takes nothing new, and returns once what it works on is done.
    pub async fn stop(self) {
        self.taker.taker().close();
        self.stop.cancel();
        self.running.wait().await;
        self.taker.taker().in_hand.wait().await;
    }
}

impl std::fmt::Debug for Participant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let of = &self.taker.taker().wanted.consumer.name;
        f.debug_struct("Participant").field("service", of).finish_non_exhaustive()
    }
}

impl Drop for Participant {
    fn drop(&mut self) {
        self.stop.cancel();
        self.taker.taker().kill();
    }
}

/// The durable consumer of this service, as `PROTOCOL.md`, section 2, has it.
fn wanted(settings: &ParticipantSettings) -> Wanted {
    let ParticipantSettings { service, prefix, in_flight, .. } = settings;
    let filter = format!("{prefix}.command.{service}.>");
    let consumer = ConsumerSettings {
        ack_wait: settings.ack_wait,
        // The server's own number, which processes of this service in other languages declare.
        ack_pending_max: 1_000,
        ..ConsumerSettings::new(commands_stream(prefix), filter, service)
    };
    Wanted {
        create: settings.create,
        in_hand_max: u32::try_from(*in_flight).unwrap_or(u32::MAX),
        stalled_after: settings.stalled_after,
        // A login may be allowed to answer once what was delivered to it.
        confirmations_max: 1,
        ..Wanted::new(consumer)
    }
}

/// The stream that commands lie in.
pub(crate) fn commands_stream(prefix: &str) -> String {
    format!("{}_COMMANDS", prefix.to_ascii_uppercase())
}
