//! When nothing is on its way any more: what is counted before that may still change.

use std::fmt;
use std::time::Duration;

use super::Nats;
use crate::participants::settle_window;
use crate::report::{Events, TriggerCounts};
use amends::ports::{Clock as _, SystemClock};

/// How often it is looked.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What a message takes at most, if who has it is well: after so long it is delivered again.
pub(super) const WORK: Duration = Duration::from_secs(3);

/// The same of a command, which takes longer where slowness is planned.
pub(super) fn ack_wait(pace: f64) -> Duration {
    WORK + settle_window(pace)
}

/// What has not happened so long after it was sent does not happen any more, unless nobody serves: a command that was
/// given to a process that died comes to the next one before that.
pub(super) fn window(pace: f64) -> Duration {
    ack_wait(pace) + WORK
}

/// Messages that nobody has dealt with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Left {
    /// Events of which no trigger has made an end.
    events: u64,
    commands: u64,
    replies: u64,
}

impl Left {
    fn is_nothing(self) -> bool {
        self == Self::default()
    }
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { events, commands, replies } = self;
        write!(f, "{events} events, {commands} commands and {replies} replies left")
    }
}

impl Nats {
    /// What became of the events, once nothing is on its way any more.
    ///
    /// # Errors
    /// When the server does not say.
    pub async fn events(&self) -> anyhow::Result<Events> {
        let left = self.left().await?;
        let left = (!left.is_nothing()).then(|| left.to_string());
        let running = self.running.iter().flat_map(|running| running.triggers.readiness().triggers);
        let counted = running.map(|trigger| TriggerCounts {
            workflow: trigger.workflow,
            deliveries: trigger.counters.deliveries,
            sagas: trigger.counters.sagas,
            duplicates: trigger.counters.duplicates,
            conflicts: trigger.counters.conflicts,
            refused: trigger.counters.refused,
            intake: trigger.counters.intake,
            again: trigger.counters.failed + trigger.counters.returned,
        });
        Ok(Events { triggers: counted.collect(), left })
    }

    /// Waits until nothing is left, for as long as a command may take whose participant died over it.
    async fn left(&self) -> anyhow::Result<Left> {
        let clock = SystemClock::new();
        let until = clock.now() + window(self.pace) + WORK;
        loop {
            let left = self.look().await?;
            if left.is_nothing() || clock.now() >= until {
                return Ok(left);
            }
            clock.sleep_until(clock.now() + LOOK_EVERY).await;
        }
    }

    async fn look(&self) -> anyhow::Result<Left> {
        let jetstream = self.connection.jetstream();
        let prefix = self.prefix.to_ascii_uppercase();
        let incoming = jetstream.get_stream_no_info(self.incoming_stream()).await?;
        let mut left = Left::default();
        let running = self.running.iter().flat_map(|running| running.triggers.readiness().triggers);
        for trigger in running {
            let consumer = incoming.consumer_info(trigger.consumer).await?;
            left.events += consumer.num_pending + consumer.num_ack_pending as u64;
        }
        let messages = async |name: String| -> anyhow::Result<u64> {
            Ok(jetstream.get_stream(name).await?.cached_info().state.messages)
        };
        left.commands = messages(format!("{prefix}_COMMANDS")).await?;
        left.replies = messages(format!("{prefix}_REPLIES")).await?;
        Ok(left)
    }
}
