//! The door for messages that become no saga: for adapters.

use std::borrow::Cow;

use amends_core::SagaId;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::Engine;
use crate::ports::{
    Fault, Filed, INTAKE_NAME_BYTES_MAX, INTAKE_WORDS_BYTES_MAX, IntakePut, IntakeReason, RawMessage,
};
use crate::visible::visible;
use crate::worker::Backoff;

/// A message that becomes no saga, as an adapter has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntakeMessage {
    /// Where it came from: a stream, a topic, a queue. Open messages are bounded by source.
    pub source: String,
    /// What tells it from every other message of its source: the event's id, or its position.
    pub dedupe: String,
    /// Where it stands in its source.
    pub position: Option<String>,
    /// The event's own id.
    pub event_id: Option<String>,
    /// The saga that it speaks of, if it names one; it need not exist.
    pub saga: Option<SagaId>,
    /// Why it is here: a code for filters, and words for people.
    pub reason: IntakeReason,
    /// The message as it came. Of a large one the beginning is kept, with size and digest: see
    /// [`INTAKE_RAW_BYTES_MAX`](crate::ports::INTAKE_RAW_BYTES_MAX).
    pub raw: Vec<u8>,
}

/// A message in intake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The id of its row.
    pub id: Uuid,
    /// How often it has come; 1: this is the first time.
    pub seen: u64,
}

/// A message was not kept. Do not acknowledge it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IntakeError {
    /// The source has as many open messages as it may have. Stop taking messages from it until people have closed
    /// some; this one then comes again.
    #[error(
        "failed to keep the message: {open} messages of `{}` wait for a person already; close some of them",
        visible(of)
    )]
    Full {
        /// The source.
        of: String,
        /// How many are open.
        open: u32,
    },
    /// The message has no source, or nothing that tells it from others: the adapter's mistake.
    #[error("failed to keep the message: {0}")]
    Unstorable(String),
    /// The store does not answer. Put it again.
    #[error(transparent)]
    Store(#[from] Fault),
}

impl Engine {
    /// Keeps a message that becomes no saga, for a person: see [`Operator::intake`](crate::operator::Operator::intake).
    ///
    /// # Guarantees
    /// The message is durable when this returns, so it may be acknowledged. The same message again, from any node, is
    /// counted and adds nothing, also after it was closed. Hostile text is no error: what cannot be kept as it is (NUL,
    /// too long) is kept in a visible spelling, and a `dedupe` of that kind by its digest.
    ///
    /// # Errors
    /// See [`IntakeError`].
    pub async fn intake(&self, message: IntakeMessage) -> Result<Kept, IntakeError> {
        let now = self.now();
        let put = IntakePut {
            id: self.next_id(now),
            source: keepable(&message.source, INTAKE_NAME_BYTES_MAX).into(),
            dedupe: distinct(&message.dedupe).into(),
            position: message.position.map(|text| keepable(&text, INTAKE_NAME_BYTES_MAX).into_owned()),
            event_id: message.event_id.map(|text| keepable(&text, INTAKE_NAME_BYTES_MAX).into_owned()),
            saga: message.saga,
            reason: IntakeReason {
                code: keepable(&message.reason.code, INTAKE_NAME_BYTES_MAX).into_owned(),
                words: keepable(&message.reason.words, INTAKE_WORDS_BYTES_MAX).into_owned(),
            },
            raw: RawMessage::of(&message.raw),
            seen_at: now,
        };
        let (until, mut backoff) = (now + self.limits().answer_within, Backoff::default());
        loop {
            return match self.intake_store().put_intake(&put, self.limits().intake_open_max).await {
                Err(Fault::Unavailable(_)) if self.now() < until && self.stopped().is_none() => {
                    backoff.wait(self.clock()).await;
                    continue;
                }
                Err(fault) => Err(fault.into()),
                Ok(Filed::New) => Ok(Kept { id: put.id, seen: 1 }),
                Ok(Filed::Again { id, seen }) => Ok(Kept { id, seen }),
                Ok(Filed::Full { open }) => Err(IntakeError::Full { of: put.source.to_string(), open }),
                Ok(Filed::Unstorable { reason }) => Err(IntakeError::Unstorable(reason)),
            };
        }
    }
}

/// The text without NUL, and not longer than this.
fn keepable(text: &str, bytes_max: usize) -> Cow<'_, str> {
    if text.len() <= bytes_max && !text.contains('\0') {
        return Cow::Borrowed(text);
    }
    let mut kept = text.replace('\0', "\u{fffd}");
    if kept.len() > bytes_max {
        const CUT: &str = "…";
        kept.truncate(kept.floor_char_boundary(bytes_max - CUT.len()));
        kept.push_str(CUT);
    }
    Cow::Owned(kept)
}

/// The text, or its digest where it cannot be kept as it is: two of them never become one.
fn distinct(text: &str) -> Cow<'_, str> {
    if text.len() <= INTAKE_NAME_BYTES_MAX && !text.contains('\0') {
        return Cow::Borrowed(text);
    }
    let digest: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    Cow::Owned(format!("sha256:{digest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_kept_in_a_spelling_that_every_store_takes() {
        assert_eq!(keepable("evt-1", 8), "evt-1");
        assert_eq!(keepable("a\0b", 8), "a\u{fffd}b");
        let long = "ä".repeat(300);
        let kept = keepable(&long, INTAKE_NAME_BYTES_MAX);
        assert!(kept.len() <= INTAKE_NAME_BYTES_MAX && kept.ends_with("ä…"), "{kept}");
    }

    #[test]
    fn two_names_that_cannot_be_kept_stay_two() {
        let long = "x".repeat(INTAKE_NAME_BYTES_MAX);
        let (one, other) = (format!("{long}1"), format!("{long}2"));
        assert_eq!(distinct("evt-1"), "evt-1");
        assert_ne!(distinct(&one), distinct(&other));
        assert_ne!(distinct("a\0"), distinct("a\u{fffd}"));
    }
}
