//! I12: once faults are over, everything comes to an end or to a desk.

use super::{Checker, Step};

/// Nothing is unsettled, no start unanswered, no mail unread, and no message in the outbox, a bounded time after the last
/// fault.
#[derive(Clone, Copy, Debug, Default)]
pub struct Liveness;

impl Checker for Liveness {
    fn invariant(&self) -> &'static str {
        "I12"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        let Step::Settled(_, end) = step else { return Ok(()) };
        match (end.unsettled.first(), end.unanswered.first()) {
            (Some(first), _) => Err(format!("{} sagas have not settled, {first} first", end.unsettled.len())),
            (None, Some(first)) => {
                Err(format!("{} starts were never answered, {first} first", end.unanswered.len()))
            }
            (None, None) => match end.unread.first() {
                Some(first) => {
                    Err(format!("mail of {} sagas was never read, of {first} first", end.unread.len()))
                }
                None => Ok(()),
            },
        }
    }
}
