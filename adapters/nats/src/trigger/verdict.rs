//! What becomes of one delivery.

use amends::engine::{IntakeMessage, SagaStartError};
use amends::ports::IntakeReason;

use super::ending::Ending;
use super::event::{Event, Unfit};
use super::start::{NoSaga, Stands};
use crate::taking::Delivery;

/// The most bytes of headers that the reason in intake shows.
const HEADERS_SHOWN_MAX: usize = 1_024;

/// What is to be done with a message.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Its saga is durable.
    Done(Ending),
    /// It is a person's.
    Keep { ending: Ending, message: Box<IntakeMessage> },
    /// Starts are held: the same start is to be made again, for this reason.
    Wait(String),
    /// The engine runs no more.
    Return,
}

impl Verdict {
    pub(crate) fn of_start(started: Result<Stands, NoSaga>, delivery: &Delivery, event: &Event) -> Self {
        let not_started = match started {
            Ok(Stands { is_new: true }) => return Self::Done(Ending::Saga),
            Ok(Stands { is_new: false }) => return Self::Done(Ending::Duplicate),
            Err(NoSaga::Unfit(unfit)) => return Self::unfit(&unfit, delivery, Some(event)),
            Err(NoSaga::NotStarted(error)) => error,
        };
        match &not_started {
            SagaStartError::Stopped => Self::Return,
            SagaStartError::Held { .. } => Self::Wait(not_started.to_string()),
            // It runs under a version that this node does not know: its saga is there all the same.
            SagaStartError::UnknownDefinition(_) => Self::Done(Ending::Duplicate),
            SagaStartError::Conflict { standing, input_digest } => {
                let (refused, stands) = (hexadecimal(input_digest), hexadecimal(&standing.input_digest));
                let words = format!("{not_started}\nSHA-256 of the inputs: this {refused}, that {stands}");
                let mut message = kept("conflict", &words, delivery, Some(event));
                message.saga = Some(standing.id);
                Self::Keep { ending: Ending::Conflict, message: Box::new(message) }
            }
            SagaStartError::TooOld { .. } => {
                let message = kept("refused", &not_started.to_string(), delivery, Some(event));
                Self::Keep { ending: Ending::Refused, message: Box::new(message) }
            }
            _ => {
                let message = kept("malformed", &not_started.to_string(), delivery, Some(event));
                Self::Keep { ending: Ending::Intake, message: Box::new(message) }
            }
        }
    }

    pub(crate) fn unfit(unfit: &Unfit, delivery: &Delivery, event: Option<&Event>) -> Self {
        Self::keep(unfit.code, &unfit.words, delivery, event)
    }

    pub(crate) fn keep(code: &str, words: &str, delivery: &Delivery, event: Option<&Event>) -> Self {
        Self::Keep { ending: Ending::Intake, message: Box::new(kept(code, words, delivery, event)) }
    }
}

fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn kept(code: &str, words: &str, delivery: &Delivery, event: Option<&Event>) -> IntakeMessage {
    let headers: Vec<String> =
        delivery.headers().iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let mut words = format!("{words}\nsubject: {}", delivery.subject());
    if !headers.is_empty() {
        let mut shown = headers.join(" | ");
        shown.truncate(shown.floor_char_boundary(HEADERS_SHOWN_MAX));
        words.push_str("\nheaders: ");
        words.push_str(&shown);
    }
    IntakeMessage {
        source: delivery.stream.clone(),
        dedupe: delivery.dedupe(),
        position: Some(delivery.sequence.to_string()),
        event_id: event.and_then(Event::id).map(str::to_owned),
        saga: None,
        reason: IntakeReason { code: code.to_owned(), words },
        raw: delivery.payload().to_vec(),
    }
}
