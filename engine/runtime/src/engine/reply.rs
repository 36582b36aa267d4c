//! The door for replies: what participants answer when they answer later, or to somebody else.

use amends_core::event::Recorded;
use amends_core::machine::Attempted;
use amends_core::{RequestId, SagaId};

use super::Engine;
use crate::authoring::storable;
use crate::letter::{Replied, reply_key};
use crate::ports::{Fault, Mail, MailKind, Posted};
use crate::worker::Request;

/// What became of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It is durable: the saga's owner will record what it says, and act on it.
    Taken,
    /// The same reply was taken before.
    TakenBefore,
}

/// A reply was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// There is no such saga.
    #[error("failed to find the saga: there is none with this id")]
    Unknown,
    /// The saga ended long ago and was purged: a person has to look at the reply.
    #[error("failed to find the saga: it ended long ago and was purged")]
    Purged,
    /// The saga has as much undecided mail as it may have. Reply again later.
    #[error(
        "failed to take the reply: {open} mails to this saga wait to be decided already; reply again later"
    )]
    Full {
        /// How many wait.
        open: u32,
    },
    /// The reply cannot be kept.
    #[error("failed to keep the reply: {0}")]
    Unstorable(String),
    /// The store does not answer. Reply again.
    #[error(transparent)]
    Store(#[from] Fault),
}

impl Engine {
    /// Takes what a participant says of a request, late or not, whoever owns the saga: for adapters.
    ///
    /// `attempt` is the transmission that is answered; a reply that names none can only be a success, or a refusal
    /// where the participant keeps answers by request id. `from` says who brought the reply, for the audit.
    ///
    /// # Guarantees
    /// The reply is durable when this returns. The same reply to the same attempt is taken once. It is recorded
    /// whatever it says: it settles its transmission, or is kept as a duplicate, or opens a discrepancy that a query or
    /// a person decides. A result that is too large, or is not the step's output, is recorded as applied with a marker.
    ///
    /// # Not guaranteed
    /// That the request id belongs to the saga: a reply to no action of it is kept with that answer, and changes
    /// nothing.
    ///
    /// # Errors
    /// See [`ReplyError`].
    pub async fn reply(
        &self,
        saga: SagaId,
        request: RequestId,
        attempt: Option<u32>,
        answer: Attempted,
        from: &str,
    ) -> Result<Reply, ReplyError> {
        let replied = Replied { request, attempt, answer: bounded(answer) };
        let now = self.now();
        let mail = Mail {
            id: self.next_id(now),
            saga,
            kind: MailKind::Reply,
            key: reply_key(&replied),
            actor: from.into(),
            posted_at: now,
            body: serde_json::to_string(&replied).expect("a reply has string keys only, so it encodes"),
        };
        let posted = self.post(&mail, now + self.limits().answer_within).await?;
        let taken = match posted {
            Posted::Accepted => Reply::Taken,
            Posted::Known(_) => return Ok(Reply::TakenBefore),
            Posted::NoSuchSaga => return Err(ReplyError::Unknown),
            Posted::Purged => return Err(ReplyError::Purged),
            Posted::Full { open } => return Err(ReplyError::Full { open }),
            Posted::Unstorable { reason } => return Err(ReplyError::Unstorable(reason)),
        };
        // A hint: if nobody hears it, the next look for mail finds the reply.
        self.ask(Request::Posted { saga, mail: mail.id, told: None }).await;
        Ok(taken)
    }
}

/// A result that is too large becomes its marker before it is posted.
fn bounded(answer: Attempted) -> Attempted {
    let kept = |recorded| match recorded {
        Recorded::Value(value) => storable(value),
        omitted @ Recorded::Omitted(_) => omitted,
    };
    match answer {
        Attempted::Succeeded(output) => Attempted::Succeeded(kept(output)),
        Attempted::Refused(refusal) => Attempted::Refused(kept(refusal)),
        Attempted::Partial(output) => Attempted::Partial(output.map(kept)),
        other => other,
    }
}
