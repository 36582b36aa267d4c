//! Replies: taken from JetStream, told to the engine, and acknowledged once they are durable.
//!
//! Any node takes any reply: the engine has it go to the saga's owner. A reply whose saga is not to be found is given back
//! with a growing delay for a bounded time, and is then put on the intake desk; so is one that names no saga, at once.

use std::sync::Arc;
use std::time::Duration;

use amends::Engine;
use amends::engine::{IntakeMessage, ReplyError};
use amends::ports::IntakeReason;
use async_nats::HeaderMap;
use async_nats::jetstream::consumer::{AckPolicy, Consumer, pull};
use async_nats::jetstream::{AckKind, Message};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::command::{NameError, named};
use crate::connection::Connection;
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
    pub deliveries_max: i64,
    /// After how long without an acknowledgement a reply is delivered again. Default 30 s.
    pub ack_wait: Duration,
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
        }
    }
}

/// Takes replies while it is kept. Dropping it ends it at once; [`Self::stop`] lets it finish what it works on.
#[derive(Debug)]
pub struct Replies {
    stop: CancellationToken,
    running: Option<JoinHandle<()>>,
}

struct Shared {
    engine: Engine,
    connection: Connection,
    settings: ReplySettings,
    stop: CancellationToken,
}

impl Replies {
    /// Begins to take replies for this engine.
    ///
    /// # Errors
    /// When a name is no token of a subject.
    pub fn take(engine: Engine, connection: Connection, settings: ReplySettings) -> Result<Self, NameError> {
        named(&settings.prefix)?;
        named(&settings.engine)?;
        let stop = CancellationToken::new();
        let shared = Arc::new(Shared { engine, connection, settings, stop: stop.clone() });
        let running = tokio::spawn(async move {
            let taker = shared.clone();
            let take = |message| {
                let shared = taker.clone();
                async move { shared.take(message).await }
            };
            crate::pull::run("replies", || shared.declare(), shared.settings.in_flight, &shared.stop, take)
                .await;
        });
        Ok(Self { stop, running: Some(running) })
    }

    /// Takes nothing new, and returns once what it works on is done.
    pub async fn stop(mut self) {
        self.stop.cancel();
        if let Some(running) = self.running.take() {
            let _ = running.await;
        }
    }
}

impl Drop for Replies {
    fn drop(&mut self) {
        self.running.iter().for_each(JoinHandle::abort);
    }
}

/// What becomes of a message.
enum Ending {
    /// What it says is durable.
    Taken,
    /// It comes again.
    Later(String),
}

impl Shared {
    async fn declare(&self) -> Result<Consumer<pull::Config>, async_nats::Error> {
        let ReplySettings { prefix, engine, ack_wait, .. } = &self.settings;
        let stream = self.connection.jetstream().get_stream(replies_stream(prefix)).await?;
        let config = pull::Config {
            durable_name: Some(engine.clone()),
            filter_subject: format!("{prefix}.reply.{engine}"),
            ack_policy: AckPolicy::Explicit,
            ack_wait: *ack_wait,
            max_deliver: -1,
            ..pull::Config::default()
        };
        Ok(stream.create_consumer(config).await?)
    }

    async fn take(&self, message: Message) {
        let delivered = message.info().map_or(1, |info| info.delivered);
        let empty = HeaderMap::new();
        let ending = match replied(message.headers.as_ref().unwrap_or(&empty), &message.payload) {
            Ok(replied) => self.tell(replied, delivered).await,
            Err(malformed) => self.put_away(&message, &malformed.to_string()).await,
        };
        let acknowledged = match ending {
            Ending::Taken => message.double_ack().await,
            Ending::Later(reason) => {
                let doublings = u32::try_from(delivered.saturating_sub(1)).unwrap_or(16).min(16);
                let delay = (DELAY.0 * 2_u32.pow(doublings)).min(DELAY.1);
                tracing::warn!(delivered, ?delay, %reason, "a reply comes again");
                message.ack_with(AckKind::Nak(Some(delay))).await
            }
        };
        if let Err(error) = acknowledged {
            tracing::debug!(%error, "a reply may come again; it is taken once");
        }
    }

    async fn tell(&self, replied: Replied, delivered: i64) -> Ending {
        let Replied { saga, request, attempt, answer } = replied;
        let from = &self.settings.engine;
        let told = if delivered < self.settings.deliveries_max {
            self.engine.reply(saga, request, attempt, answer, from).await
        } else {
            self.engine.reply_or_keep(saga, request, attempt, answer, from).await
        };
        match told {
            Ok(_) => Ending::Taken,
            Err(error @ ReplyError::Unstorable(_)) => {
                tracing::error!(%saga, %request, %error, "a reply is dropped: no store takes it");
                Ending::Taken
            }
            Err(error) => Ending::Later(error.to_string()),
        }
    }

    /// A message that answers nobody.
    async fn put_away(&self, message: &Message, reason: &str) -> Ending {
        let Ok(info) = message.info() else { return Ending::Later("it tells no position".to_owned()) };
        let position = info.stream_sequence.to_string();
        let kept = self.engine.intake(IntakeMessage {
            source: info.stream.to_owned(),
            dedupe: position.clone(),
            position: Some(position),
            event_id: None,
            saga: None,
            reason: IntakeReason { code: "malformed".to_owned(), words: reason.to_owned() },
            raw: message.payload.to_vec(),
        });
        match kept.await {
            Ok(_) => Ending::Taken,
            Err(error) => Ending::Later(error.to_string()),
        }
    }
}

/// The stream that replies lie in.
pub(crate) fn replies_stream(prefix: &str) -> String {
    format!("{}_REPLIES", prefix.to_ascii_uppercase())
}
