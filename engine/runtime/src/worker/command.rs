//! Commands under way: their messages within the bounds of the outbox, and how long their replies are awaited.
//!
//! The message of a command is a row of the very commit that journals its attempt as started. From then on the
//! attempt is a flight with a deadline and nothing else. It lands when its reply is read as mail, or when its time is
//! over; then it is unknown, as any attempt. The time begins with the commit, and anew when this node hears that the
//! message was acknowledged; a message that another node publishes has the time from its commit.

use amends_core::SagaId;
use uuid::Uuid;

use super::active::UnderWay;
use super::driver::Driver;
use crate::authoring::{InputProblem, Outgoing};
use crate::ports::{OUTBOX_BYTES_MAX, OUTBOX_ROWS_MAX, OUTBOX_SUBJECT_BYTES_MAX, OutboxRow};

/// What the commands of one transition may take of the outbox's bounds: the rest is for events and notices.
const BYTES_MAX: usize = OUTBOX_BYTES_MAX / 4 * 3;
const ROWS_MAX: usize = OUTBOX_ROWS_MAX / 2;

/// About as many bytes as it will have; what JSON adds to headers is within what is left for events.
fn size(message: &Outgoing) -> usize {
    let headers: usize = message.headers.iter().map(|(name, value)| name.len() + value.len() + 8).sum();
    message.subject.len() + headers + message.body.len()
}

/// A message that the outbox takes, as it is.
pub(super) fn sendable(message: Outgoing) -> Result<Outgoing, InputProblem> {
    let problem = |reason| Err(InputProblem { reason });
    let (subject, bytes) = (message.subject.len(), size(&message));
    if subject == 0 || subject > OUTBOX_SUBJECT_BYTES_MAX || message.subject.contains('\0') {
        return problem(format!(
            "a subject has 1 to {OUTBOX_SUBJECT_BYTES_MAX} bytes and no NUL, this one has {subject}"
        ));
    }
    if bytes > BYTES_MAX {
        return problem(format!("the message has {bytes} bytes, more than {BYTES_MAX}"));
    }
    if message.body.contains('\0') {
        return problem("the message's body holds NUL".to_owned());
    }
    Ok(message)
}

/// Does the message fit into the same transition as these? What does not leaves with the next one.
pub(super) fn fits(rows: &[OutboxRow], message: &Outgoing) -> bool {
    let taken: usize = rows.iter().map(|row| row.subject.len() + row.headers.len() + row.body.len()).sum();
    rows.len() < ROWS_MAX && taken + size(message) <= BYTES_MAX
}

impl Driver {
    /// A message was acknowledged: its reply has its time from now on.
    pub(super) fn acknowledged(&mut self, saga: SagaId, message: Uuid) {
        let now = self.now();
        let Some(active) = self.sagas.active.get_mut(&saga) else { return };
        for flight in &mut active.flights {
            if let UnderWay::Message { id, until, timeout } = &mut flight.under_way
                && *id == message
            {
                *until = now + *timeout;
            }
        }
    }
}
