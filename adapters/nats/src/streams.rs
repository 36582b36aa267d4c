//! The streams of an installation, as `PROTOCOL.md` has them.

use async_nats::jetstream::stream::RetentionPolicy;

use crate::command::{NameError, named};
use crate::declare::StreamSettings;
use crate::participant::commands_stream;
use crate::replies::replies_stream;

/// The streams of commands, replies and life-cycle events under this prefix, for [`Connection::declare_stream`]: change what
/// is to be otherwise before, replicas for instance.
///
/// # Errors
/// When the prefix is no token of a subject.
///
/// [`Connection::declare_stream`]: crate::Connection::declare_stream
pub fn streams(prefix: &str) -> Result<[StreamSettings; 3], NameError> {
    let prefix = named(prefix)?;
    let queue = |name: String, kind: &str| StreamSettings {
        retention: RetentionPolicy::WorkQueue,
        ..StreamSettings::new(name, [format!("{prefix}.{kind}.>")])
    };
    let events = format!("{}_EVENTS", prefix.to_ascii_uppercase());
    Ok([
        queue(commands_stream(prefix), "command"),
        queue(replies_stream(prefix), "reply"),
        StreamSettings::new(events, [format!("{prefix}.events.>")]),
    ])
}
