//! Whether everything runs as it should, and what does not.

use amends::core::Timestamp;

use crate::declare::Difference;
use crate::trigger::Counters;
use crate::version::ServerVersion;

/// A report on a connection and the triggers on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// Is there a connection at this moment?
    pub is_connected: bool,
    /// The version of the server.
    pub version: ServerVersion,
    /// What the server refused to this connection, in its own words.
    pub refusals: Vec<String>,
    /// Each trigger.
    pub triggers: Vec<TriggerReadiness>,
}

impl Readiness {
    /// Does everything run as it should?
    pub fn is_ready(&self) -> bool {
        self.is_connected && self.triggers.iter().all(TriggerReadiness::is_ready)
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
        for trigger in &self.triggers {
            let name = &trigger.consumer;
            match &trigger.state {
                TriggerState::Failing { reason, since } => {
                    problems.push(format!("the trigger {name} does not run since {since}: {reason}"));
                }
                TriggerState::Stopped { reason } => {
                    problems.push(format!("the trigger {name} has stopped: {reason}"));
                }
                TriggerState::Pulling => {}
            }
            if let Some(since) = trigger.stalled_since {
                let waits = trigger.counters.in_hand;
                problems.push(format!(
                    "the trigger {name} has {waits} messages in hand and ended none since {since}"
                ));
            }
            if let Some(held) = &trigger.held {
                problems.push(format!("the trigger {name} is held up: {held}"));
            }
        }
        problems
    }
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
    pub state: TriggerState,
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
        self.state == TriggerState::Pulling && self.stalled_since.is_none() && self.held.is_none()
    }
}

/// How a trigger stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TriggerState {
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
