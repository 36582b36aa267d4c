//! The door for replies: what participants answer when they answer later, or to somebody else.

use std::time::Duration;

use amends_core::event::Recorded;
use amends_core::machine::Attempted;
use amends_core::{ActionId, RequestId, SagaId, SagaPlan, Timestamp};
use tokio::sync::oneshot;

use super::{Engine, IntakeError, IntakeMessage, Tombstone};
use crate::authoring::{accepted, failure_bounded, storable};
use crate::letter::{Replied, news_key, reply_key};
use crate::ports::{Fault, IntakeReason, Mail, MailKind, Posted};
use crate::worker::{Brought, Request};

/// What became of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It is durable: the saga's owner will record what it says, and act on it.
    Taken,
    /// The same reply was taken before.
    TakenBefore,
    /// The saga ended long ago and was purged, and ended as the reply says: nothing was kept.
    Agrees,
    /// There is no saga for it any more, or none yet after a long wait: it is in intake, where a person looks at it.
    Kept,
}

/// A reply was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// There is no such saga. It may be about to be: keep the reply for a bounded time and reply again, the last time
    /// with [`Engine::reply_or_keep`].
    #[error("failed to find the saga: there is none with this id")]
    Unknown,
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
    /// No saga takes it, and intake does not either.
    #[error(transparent)]
    Intake(#[from] IntakeError),
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
    /// a person decides. One for a saga that was purged goes to intake, once for each request id and outcome, unless the saga ended as it says.
    /// A result that is too large, or is not the step's output, is recorded as applied with a marker.
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
        match self.post_reply(saga, &replied, from).await {
            Ok(Addressed::Saga(reply)) => Ok(reply),
            Ok(Addressed::Nobody) => Err(ReplyError::Unknown),
            Ok(Addressed::Purged) => self.late(saga, &replied, from).await,
            Err(error) => Err(error),
        }
    }

    /// As [`Engine::reply`], and a reply to a saga that does not exist goes to intake: for adapters that have kept it
    /// for as long as a start may take.
    ///
    /// # Errors
    /// See [`ReplyError`]; never [`ReplyError::Unknown`].
    pub async fn reply_or_keep(
        &self,
        saga: SagaId,
        request: RequestId,
        attempt: Option<u32>,
        answer: Attempted,
        from: &str,
    ) -> Result<Reply, ReplyError> {
        let replied = Replied { request, attempt, answer: bounded(answer) };
        match self.post_reply(saga, &replied, from).await? {
            Addressed::Saga(reply) => Ok(reply),
            Addressed::Nobody => self.keep(saga, &replied, from, UNKNOWN_SAGA).await,
            Addressed::Purged => self.late(saga, &replied, from).await,
        }
    }

    async fn post_reply(&self, saga: SagaId, replied: &Replied, from: &str) -> Result<Addressed, ReplyError> {
        let now = self.now();
        let mail = Mail {
            id: self.next_id(now),
            saga,
            kind: MailKind::Reply,
            key: reply_key(replied),
            actor: from.into(),
            posted_at: now,
            body: spelled(replied),
        };
        if let Some(reply) = self.bring(&mail, now + BROUGHT_WITHIN).await {
            return Ok(Addressed::Saga(reply));
        }
        let brought = mail.id;
        let mail = Mail { id: self.next_id(now), ..mail };
        match self.post(&mail, now + self.limits().answer_within).await? {
            Posted::Accepted => {}
            Posted::Known(known) if known.mail.id == brought => return Ok(Addressed::Saga(Reply::Taken)),
            Posted::Known(_) => return Ok(Addressed::Saga(Reply::TakenBefore)),
            Posted::NoSuchSaga => return Ok(Addressed::Nobody),
            Posted::Purged => return Ok(Addressed::Purged),
            Posted::Full { open } => return Err(ReplyError::Full { open }),
            Posted::Unstorable { reason } => return Err(ReplyError::Unstorable(reason)),
        }
        // A hint: if nobody hears it, the next look for mail finds the reply.
        self.ask(Request::Posted { saga, mail: mail.id, told: None }).await;
        Ok(Addressed::Saga(Reply::Taken))
    }

    /// Brings a reply to its saga, if that is in memory here: it becomes durable with the transition that decides it.
    /// None: it goes by mail.
    async fn bring(&self, mail: &Mail, until: Timestamp) -> Option<Reply> {
        if mail.unstorable().is_some() {
            return None; // The poster is told why.
        }
        let mut looked = false;
        loop {
            let (told, tells) = oneshot::channel();
            if !self.ask(Request::Bring { mail: Box::new(mail.clone()), looked, told }).await {
                return None;
            }
            let told = tokio::select! {
                biased;
                told = tells => told.ok()?,
                () = self.clock().sleep_until(until) => return None,
            };
            match told {
                Brought::Kept => return Some(Reply::Taken),
                Brought::KeptBefore => return Some(Reply::TakenBefore),
                Brought::Look if looked => return None,
                Brought::Look => match self.mail().mail(mail.saga, &mail.key).await.ok()? {
                    Some(_) => return Some(Reply::TakenBefore),
                    None => looked = true,
                },
            }
        }
    }

    /// News for a purged saga starts nothing; what agrees with its kept outcome says nothing new.
    async fn late(&self, saga: SagaId, replied: &Replied, from: &str) -> Result<Reply, ReplyError> {
        let left = self.row(saga).await?.and_then(|(row, _)| Some((Tombstone::of(&row)?, row.definition)));
        let agrees = left.is_some_and(|(tombstone, definition)| {
            let Ok(definition) = self.registered(&definition) else { return false };
            agrees(&definition.plan, &tombstone, replied)
        });
        if agrees { Ok(Reply::Agrees) } else { self.keep(saga, replied, from, LATE_NEWS).await }
    }

    /// Keeps news that no saga takes, by request id and outcome.
    async fn keep(
        &self,
        saga: SagaId,
        replied: &Replied,
        from: &str,
        code: &str,
    ) -> Result<Reply, ReplyError> {
        let of = match code {
            LATE_NEWS => "which ended long ago and was purged",
            _ => "which does not exist",
        };
        let words = format!("a reply to the saga {saga}, {of}; {from} brought it");
        let message = IntakeMessage {
            source: REPLIES.to_owned(),
            dedupe: news_key(replied),
            position: None,
            event_id: None,
            saga: Some(saga),
            reason: IntakeReason { code: code.to_owned(), words },
            raw: spelled(replied).into_bytes(),
        };
        self.intake(message).await?;
        Ok(Reply::Kept)
    }
}

/// Only the saga's end is known, so only this agrees: an effect of one that completed; no effect, or a compensation, of
/// one that was compensated. Of one that people closed nothing does.
fn agrees(plan: &SagaPlan, tombstone: &Tombstone, replied: &Replied) -> bool {
    let is = |action: ActionId| action.request_id(tombstone.saga) == replied.request;
    let forward = plan.steps.iter().any(|step| is(ActionId::forward(step.name.clone())));
    let compensation = plan.steps.iter().any(|step| is(ActionId::compensation(step.name.clone())));
    match replied.answer {
        Attempted::Succeeded(_) if forward => tombstone.ended_as("completed"),
        Attempted::Succeeded(_) if compensation => tombstone.ended_as("compensated"),
        Attempted::Refused(_) if forward => tombstone.ended_as("compensated"),
        _ => false,
    }
}

/// Whose a reply is.
enum Addressed {
    Saga(Reply),
    Nobody,
    Purged,
}

/// So long somebody who brings a reply waits for the transition that keeps it; then it is posted, and whichever of the two
/// comes first keeps it.
const BROUGHT_WITHIN: Duration = Duration::from_secs(1);

/// The source of replies in intake.
const REPLIES: &str = "replies";

/// The code of news for a saga that was purged: the views show it on the discrepancy desk.
const LATE_NEWS: &str = "late-news";

/// The code of news for a saga that does not exist.
const UNKNOWN_SAGA: &str = "unknown-saga";

fn spelled(replied: &Replied) -> String {
    serde_json::to_string(replied).expect("a reply has string keys only, so it encodes")
}

/// A result that is too large becomes its marker before it is posted, and words of a failure are cut.
fn bounded(answer: Attempted) -> Attempted {
    let kept = |recorded| match recorded {
        Recorded::Value(value) => storable(value),
        omitted @ Recorded::Omitted(_) => omitted,
    };
    match answer {
        Attempted::Succeeded(output) => Attempted::Succeeded(kept(output)),
        Attempted::Refused(refusal) => Attempted::Refused(kept(refusal)),
        Attempted::Partial(output) => Attempted::Partial(output.map(kept)),
        Attempted::Transient(failure) => Attempted::Transient(failure_bounded(failure)),
        Attempted::Persistent(failure) => Attempted::Persistent(failure_bounded(failure)),
        Attempted::Unknown(failure) => Attempted::Unknown(failure_bounded(failure)),
        Attempted::Mismatch(failure) => Attempted::Mismatch(failure_bounded(failure)),
        Attempted::Accepted { wait } => accepted(wait),
        other @ (Attempted::Fenced { .. } | Attempted::Stale { .. }) => other,
    }
}
