//! Mail: what anybody has to say to a saga, durable before its owner hears of it.
//!
//! Whoever wants something of a saga may be on any node; the saga has one owner. So what is wanted is posted as
//! mail, the owner decides it and writes the answer in the commit of that decision, and whoever posted reads the
//! answer. A mail is decided once: its key is unique within its saga, and posting the same key again finds the
//! first one with its answer.

use std::sync::Arc;

use amends_core::{Incarnation, SagaId, Timestamp};
use async_trait::async_trait;
use uuid::Uuid;

use super::content::no_nul;
use super::store::Fault;

/// The most unconsumed mail of one saga, where nobody says another number; more is refused to the poster.
pub const MAIL_OPEN_MAX: u32 = 64;

/// The longest body of a mail, in bytes: the largest payload that a journal keeps, and room for the words around
/// it.
pub const MAIL_BODY_BYTES_MAX: usize = (1 << 20) + 16 * 1024;

/// The longest key of a mail, in bytes.
pub const MAIL_KEY_BYTES_MAX: usize = 512;

/// What a mail is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MailKind {
    /// Something that a workflow waits for.
    Signal,
    /// A participant's answer to an attempt.
    Reply,
    /// What a person asks for.
    Operator,
    /// Its row stands in the store and cannot be read; the body says why. Nobody posts such mail, and it keeps its own
    /// kind in the store.
    Damaged,
}

impl MailKind {
    /// The word kept in the store.
    pub fn word(self) -> &'static str {
        match self {
            Self::Signal => "signal",
            Self::Reply => "reply",
            Self::Operator => "operator",
            Self::Damaged => "damaged",
        }
    }

    /// The kind of this word, of those that are posted.
    pub fn of(word: &str) -> Option<Self> {
        [Self::Signal, Self::Reply, Self::Operator].into_iter().find(|kind| kind.word() == word)
    }
}

/// One mail, as it is posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// Made by the poster, in time order: unread mail is decided in the order of these.
    pub id: Uuid,
    /// To which saga.
    pub saga: SagaId,
    /// What it is.
    pub kind: MailKind,
    /// Unique within the saga. At most [`MAIL_KEY_BYTES_MAX`] bytes.
    pub key: Arc<str>,
    /// Who says it.
    pub actor: Arc<str>,
    /// When it was posted.
    pub posted_at: Timestamp,
    /// JSON text, kept as given. At most [`MAIL_BODY_BYTES_MAX`] bytes.
    pub body: String,
}

impl Mail {
    /// Why no store can take this mail, if so; a store answers [`Posted::Unstorable`].
    pub fn unstorable(&self) -> Option<String> {
        let too_long = |name: &str, bytes: usize, max: usize| {
            (bytes > max).then(|| format!("{name} has {bytes} bytes, more than {max}"))
        };
        if self.kind == MailKind::Damaged {
            return Some("damaged mail is found, and never posted".to_owned());
        }
        if self.key.is_empty() {
            return Some("the key of a mail is empty".to_owned());
        }
        too_long("the key of a mail", self.key.len(), MAIL_KEY_BYTES_MAX)
            .or_else(|| too_long("the body of a mail", self.body.len(), MAIL_BODY_BYTES_MAX))
            .or_else(|| no_nul("key", &self.key).err())
            .or_else(|| no_nul("actor", &self.actor).err())
            .or_else(|| no_nul("body", &self.body).err())
    }
}

/// A mail as it stands in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMail {
    /// As it was posted.
    pub mail: Mail,
    /// The sequence of the transition that consumed it, once it is consumed.
    pub consumed_seq: Option<u64>,
    /// The answer as JSON text, once it is consumed.
    pub answer: Option<String>,
}

/// What became of a post. Nothing was written but for [`Posted::Accepted`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Posted {
    /// It is durable: the saga's owner will decide it.
    Accepted,
    /// A mail of this key was posted to this saga before: this one, with its answer if there is one. Also how a
    /// post whose own answer was lost finds itself.
    Known(Box<StoredMail>),
    /// There is no such saga.
    NoSuchSaga,
    /// The saga ended long ago and was purged.
    Purged,
    /// The saga has as much unconsumed mail as it may have: post it again later.
    Full {
        /// How much that is.
        open: u32,
    },
    /// No store takes its content.
    Unstorable {
        /// Why.
        reason: String,
    },
}

/// One mail that a transition consumes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumedMail {
    /// Which one.
    pub id: Uuid,
    /// The answer, as JSON text.
    pub answer: String,
    /// The mail itself, where it was brought to the saga's owner and never posted: it is written as it is consumed. If a
    /// mail of its key stands there already, that one is consumed in its place, unless it was before.
    pub brought: Option<Box<Mail>>,
}

/// The mail side of a store.
///
/// # Guarantees asked of an implementation
/// * `post` is safe to repeat after [`Fault::Unavailable`], and wants no incarnation: anybody may post.
/// * A mail is consumed by an accepted commit that names it, in the same transaction and once; a commit that is
///   refused consumes nothing, and a mail that is consumed already stays as it is.
/// * A mail that is [brought](ConsumedMail::brought) stands there afterwards as if it had been posted and consumed: the
///   same key again finds it.
/// * A saga without owner and with unread mail is taken by [`SagaStore::claim`](super::SagaStore::claim), ended
///   or not, unless it was set aside.
/// * Mail stays after it was consumed: it is what tells a repetition, and the answer.
#[async_trait]
pub trait SagaMail: Send + Sync + 'static {
    /// Posts a mail, unless its saga has `open_max` unread ones already.
    async fn post(&self, mail: &Mail, open_max: u32) -> Result<Posted, Fault>;

    /// Unread mail of sagas that this incarnation owns, in the order of ids; at most `limit`. With `only`, of
    /// that saga alone. One whose row cannot be read comes as [`MailKind::Damaged`], to be consumed as any other: unread, it
    /// would have its saga claimed, and keep it from being purged, for ever.
    async fn unread(
        &self,
        incarnation: Incarnation,
        only: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<Mail>, Fault>;

    /// The mail of this key, read or not, from any node.
    async fn mail(&self, saga: SagaId, key: &str) -> Result<Option<StoredMail>, Fault>;

    /// Everything that was posted to a saga, in the order of ids; at most `limit`.
    async fn mail_of(&self, saga: SagaId, limit: u32) -> Result<Vec<StoredMail>, Fault>;
}
