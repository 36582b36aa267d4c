//! Whether everything runs as it should, and what does not.

use amends::core::Timestamp;

use crate::connection::Connection;
use crate::declare::Difference;
use crate::trigger::Counters;
use crate::version::ServerVersion;

/// A report on a connection and what takes messages on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// Is there a connection at this moment?
    pub is_connected: bool,
    /// The version of the server.
    pub version: ServerVersion,
    /// What the server refused to this connection, in its own words.
    pub refusals: Vec<String>,
    /// How often the connection was lost since it was opened: see [`Connection::connections_lost`].
    pub connections_lost: u64,
    /// How many messages the client dropped since then: see [`Connection::messages_dropped`].
    pub messages_dropped: u64,
    /// Each trigger.
    pub triggers: Vec<TriggerReadiness>,
    /// The consumers of replies and of commands that were [added](Self::with).
    pub consumers: Vec<ConsumerReadiness>,
}

impl Connection {
    /// A report on the connection alone.
    pub fn readiness(&self) -> Readiness {
        Readiness {
            is_connected: self.is_connected(),
            version: self.version(),
            refusals: self.refusals(),
            connections_lost: self.connections_lost(),
            messages_dropped: self.messages_dropped(),
            triggers: Vec::new(),
            consumers: Vec::new(),
        }
    }
}

impl Readiness {
    /// Adds the consumer of an engine's replies, or of a service's commands.
    #[must_use]
    pub fn with(mut self, consumer: ConsumerReadiness) -> Self {
        self.consumers.push(consumer);
        self
    }

    /// Does everything run as it should?
    pub fn is_ready(&self) -> bool {
        self.is_connected
            && self.triggers.iter().all(TriggerReadiness::is_ready)
            && self.consumers.iter().all(ConsumerReadiness::is_ready)
    }

    /// What is wrong, or worth knowing: one sentence each, without those of the settings that differ.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if !self.is_connected {
            problems.push("there is no connection to NATS".to_owned());
        }
        if self.version < ServerVersion::ADVISED {
            let (found, advised) = (self.version, ServerVersion::ADVISED);
            problems.push(format!("the nats-server is version {found}; {advised} or later is advised"));
        }
        problems.extend(self.refusals.iter().map(|refusal| format!("the nats-server refused: {refusal}")));
        if self.messages_dropped > 0 {
            let dropped = self.messages_dropped;
            problems.push(format!(
                "{dropped} messages at least were dropped by the client, because they were not taken quickly enough"
            ));
        }
        for trigger in &self.triggers {
            let TriggerReadiness { consumer, state, stalled_since, held, counters, .. } = trigger;
            let who = format!("the trigger {consumer}");
            problems.extend(problems_of(
                &who,
                state,
                stalled_since.zip(Some(counters.in_hand)),
                held.as_ref(),
            ));
        }
        for consumer in &self.consumers {
            let ConsumerReadiness { consumer, stream, state, stalled_since, held, in_hand, .. } = consumer;
            let who = format!("the consumer {consumer} of {stream}");
            problems.extend(problems_of(&who, state, stalled_since.zip(Some(*in_hand)), held.as_ref()));
        }
        problems
    }
}

fn problems_of(
    who: &str,
    state: &ConsumerState,
    stalled: Option<(Timestamp, u64)>,
    held: Option<&String>,
) -> impl Iterator<Item = String> {
    let state = match state {
        ConsumerState::Starting => Some(format!("{who} has not begun yet")),
        ConsumerState::Failing { reason, since } => {
            Some(format!("{who} does not run since {since}: {reason}"))
        }
        ConsumerState::Stopped { reason } => Some(format!("{who} has stopped: {reason}")),
        ConsumerState::Pulling => None,
    };
    let stalled = stalled
        .map(|(since, in_hand)| format!("{who} has {in_hand} messages in hand and ended none since {since}"));
    let held = held.map(|held| format!("{who} is held up: {held}"));
    [state, stalled, held].into_iter().flatten()
}

/// A report on one trigger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerReadiness {
    /// Its consumer, which is its name.
    pub consumer: String,
    /// The stream.
    pub stream: String,
    /// The workflow whose sagas it starts.
    pub workflow: String,
    /// How it stands.
    pub state: ConsumerState,
    /// Since when no message that is in hand has ended, if that is for longer than 10 s: the engine or its store do not
    /// take starts.
    pub stalled_since: Option<Timestamp>,
    /// What holds it up, in words: for instance that intake is full.
    pub held: Option<String>,
    /// Settings of its stream and consumer that are not as they should be, and were left as they are.
    pub differences: Vec<Difference>,
    /// What it has done.
    pub counters: Counters,
}

impl TriggerReadiness {
    /// Does it run as it should?
    pub fn is_ready(&self) -> bool {
        self.state == ConsumerState::Pulling && self.stalled_since.is_none() && self.held.is_none()
    }
}

/// A report on the consumer of an engine's replies, or of a service's commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerReadiness {
    /// Its name: that of the engine, or of the service.
    pub consumer: String,
    /// The stream.
    pub stream: String,
    /// How it stands.
    pub state: ConsumerState,
    /// Since when no message that is in hand has ended, if that is for longer than the settings say.
    pub stalled_since: Option<Timestamp>,
    /// What holds it up, in words.
    pub held: Option<String>,
    /// Messages being worked on.
    pub in_hand: u64,
    /// Settings of the consumer that are not as they should be, and were left as they are.
    pub differences: Vec<Difference>,
}

impl ConsumerReadiness {
    /// Does it run as it should?
    pub fn is_ready(&self) -> bool {
        self.state == ConsumerState::Pulling && self.stalled_since.is_none() && self.held.is_none()
    }
}

/// How the pulling from a consumer stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConsumerState {
    /// It has not looked for its consumer yet.
    Starting,
    /// It pulls messages, or has as many in hand as it may.
    Pulling,
    /// Its stream or consumer cannot be used. It is tried again without end.
    Failing {
        /// Since when.
        since: Timestamp,
        /// Why, with the name of what is missing.
        reason: String,
    },
    /// It runs no more.
    Stopped {
        /// Why.
        reason: String,
    },
}
