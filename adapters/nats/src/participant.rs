//! The participant's side: a service that takes commands of sagas, answers queries, and keeps its barrier.
//!
//! [`Participant::start`] does what `PROTOCOL.md` asks of the wire. What is done, and the barrier, is the service's own
//! [`Handler`], in a transaction of its own.
//!
//! Failure cases. *The process dies* anywhere: the command comes again, the barrier answers from what is kept, the reply is
//! published again under its id. *The handler cannot work now, or panics*: nothing is answered, the command comes again
//! after a growing delay. *The stream does not take the reply*: the same. *The consumer is gone, or the
//! server*: it is declared again, for as long as the participant runs.

mod commands;
mod queries;

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, Consumer, pull};
use async_nats::jetstream::stream::Stream;
use async_trait::async_trait;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::connection::Connection;
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
/// When a call returns, what it answers is committed.
#[async_trait]
pub trait Handler: Send + Sync + 'static {
    /// Takes a command.
    ///
    /// # Errors
    /// When the service cannot work now; the command comes again.
    async fn command(&self, call: &Call) -> Result<Reply, NotNow>;

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
    /// The stream of commands cannot be used.
    #[error("failed to take commands from the stream {stream}: {reason}; the engine's operator declares it")]
    Stream {
        /// The stream.
        stream: String,
        /// Why not.
        reason: String,
    },
}

/// A service that takes part in sagas, while this is kept. Dropping it ends it at once; [`Self::stop`] lets it finish
/// what it works on.
#[derive(Debug)]
pub struct Participant {
    stop: CancellationToken,
    parts: Vec<JoinHandle<()>>,
}

/// What every part of a participant needs.
struct Shared<H> {
    connection: Connection,
    settings: ParticipantSettings,
    handler: H,
    stop: CancellationToken,
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
        let stop = CancellationToken::new();
        let shared = Arc::new(Shared { connection, settings, handler, stop: stop.clone() });
        shared.declare().await?;
        let asked = queries::subscribe(&shared).await?;
        let parts =
            vec![tokio::spawn(commands::run(shared.clone())), tokio::spawn(queries::run(shared, asked))];
        Ok(Self { stop, parts })
    }

    /// Takes nothing new, and returns once what it works on is done.
    pub async fn stop(mut self) {
        self.stop.cancel();
        for part in &mut self.parts {
            let _ = part.await;
        }
    }
}

impl Drop for Participant {
    fn drop(&mut self) {
        self.parts.iter().for_each(JoinHandle::abort);
    }
}

impl<H> Shared<H> {
    fn stream(&self) -> String {
        commands_stream(&self.settings.prefix)
    }

    /// The durable consumer of this service, as `PROTOCOL.md`, section 2, has it.
    async fn declare(&self) -> Result<Consumer<pull::Config>, ParticipantError> {
        let ParticipantSettings { service, prefix, ack_wait, .. } = &self.settings;
        let config = pull::Config {
            durable_name: Some(service.clone()),
            filter_subject: format!("{prefix}.command.{service}.>"),
            ack_policy: AckPolicy::Explicit,
            ack_wait: *ack_wait,
            max_deliver: -1,
            ..pull::Config::default()
        };
        let wrong = |error: &dyn std::fmt::Display| ParticipantError::Stream {
            stream: self.stream(),
            reason: error.to_string(),
        };
        let stream: Stream =
            self.connection.jetstream().get_stream(self.stream()).await.map_err(|error| wrong(&error))?;
        stream.create_consumer(config).await.map_err(|error| wrong(&error))
    }
}

/// The stream that commands lie in.
pub(crate) fn commands_stream(prefix: &str) -> String {
    format!("{}_COMMANDS", prefix.to_ascii_uppercase())
}
