//! I12, for messages: none comes again for ever.

use super::{Checker, Step};
use crate::simulation::messages::Noted;

/// More deliveries than any fault explains.
const DELIVERIES_MAX: u64 = 200;

/// A bounded time after the last fault nothing waits at the broker, nothing is in hand, and the outbox is empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct Redeliveries;

impl Checker for Redeliveries {
    fn invariant(&self) -> &'static str {
        "I12"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step {
            Step::Message(Noted::Delivered { stream, sequence, number }) if *number > DELIVERIES_MAX => {
                Err(format!("{sequence} of {stream} was delivered {number} times"))
            }
            Step::Settled(_, end) => match end.unfinished.first() {
                Some(first) => Err(format!("messages have come to no end: {first}")),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}
