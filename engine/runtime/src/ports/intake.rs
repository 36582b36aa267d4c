//! Intake: messages that became no saga, or belong to none, kept for a person.
//!
//! Whoever takes messages in (a trigger, a receiver of replies) either makes something of each or puts it here: a
//! body that cannot be read, an event whose key stands for another input, a reply to a saga that nobody knows.
//! Then the message can be acknowledged, because nothing is lost. The same message again is counted and adds
//! nothing.

use std::sync::Arc;

use amends_core::{SagaId, Timestamp};
use async_trait::async_trait;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::content::no_nul;
use super::store::Fault;

/// The most bytes of a message that are kept; of a larger one its beginning, its size and its digest.
pub const INTAKE_RAW_BYTES_MAX: usize = 64 * 1024;

/// The most open messages of one source, where nobody says another number; more is refused to whoever brings it.
pub const INTAKE_OPEN_MAX: u32 = 10_000;

/// The longest name in an intake row, in bytes: source, dedupe, position, event id, code, actor, operation id.
pub const INTAKE_NAME_BYTES_MAX: usize = 512;

/// The longest words of a reason, in bytes.
pub const INTAKE_WORDS_BYTES_MAX: usize = 4_096;

/// The longest page of a list: each row may hold [`INTAKE_RAW_BYTES_MAX`].
pub const INTAKE_PAGE_MAX: u32 = 100;

/// A message as it came, or as much of it as is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawMessage {
    /// All of it, or its first [`INTAKE_RAW_BYTES_MAX`] bytes.
    pub kept: Vec<u8>,
    /// How many bytes it had.
    pub size: u64,
    /// SHA-256 of the whole message, where only its beginning is kept.
    pub digest: Option<[u8; 32]>,
}

impl RawMessage {
    /// Keeps as much of a message as may be kept.
    pub fn of(message: &[u8]) -> Self {
        let is_whole = message.len() <= INTAKE_RAW_BYTES_MAX;
        Self {
            kept: message[..message.len().min(INTAKE_RAW_BYTES_MAX)].to_vec(),
            size: message.len() as u64,
            digest: (!is_whole).then(|| Sha256::digest(message).into()),
        }
    }
}

/// Why a message is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntakeReason {
    /// From a small vocabulary, for filters: `malformed`, `conflict`, `refused`, `unknown-saga`, `late-news`, …
    pub code: String,
    /// The same for people, with the particulars. At most [`INTAKE_WORDS_BYTES_MAX`] bytes.
    pub words: String,
}

/// A message that is put into intake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntakePut {
    /// Made by whoever puts it, in time order.
    pub id: Uuid,
    /// Where it came from: a stream, a topic, a queue.
    pub source: Arc<str>,
    /// What tells it from every other message of its source: the event's id, its position, or request id and outcome.
    pub dedupe: Arc<str>,
    /// Where it stands in its source.
    pub position: Option<String>,
    /// The event's own id.
    pub event_id: Option<String>,
    /// The saga that it speaks of, if it names one; it need not exist.
    pub saga: Option<SagaId>,
    /// Why it is here.
    pub reason: IntakeReason,
    /// The message.
    pub raw: RawMessage,
    /// When it came.
    pub seen_at: Timestamp,
}

impl IntakePut {
    /// Why no store can keep this, if so; a store answers [`Filed::Unstorable`].
    pub fn unstorable(&self) -> Option<String> {
        let names = [
            ("source", Some(&*self.source)),
            ("dedupe", Some(&*self.dedupe)),
            ("position", self.position.as_deref()),
            ("event id", self.event_id.as_deref()),
            ("code", Some(&*self.reason.code)),
        ];
        if self.source.is_empty() || self.dedupe.is_empty() {
            return Some("a message needs a source and something that tells it from others".to_owned());
        }
        if self.raw.kept.len() > INTAKE_RAW_BYTES_MAX {
            let bytes = self.raw.kept.len();
            return Some(format!(
                "the message has {bytes} bytes, more than {INTAKE_RAW_BYTES_MAX} to be kept"
            ));
        }
        let named = names.into_iter().find_map(|(what, name)| text(what, name?, INTAKE_NAME_BYTES_MAX));
        named.or_else(|| text("the reason", &self.reason.words, INTAKE_WORDS_BYTES_MAX))
    }
}

/// Why this text cannot be kept, if so.
fn text(what: &str, text: &str, bytes_max: usize) -> Option<String> {
    if text.len() > bytes_max {
        return Some(format!("{what} has {} bytes, more than {bytes_max}", text.len()));
    }
    no_nul(what, text).err()
}

/// What became of a message that was put into intake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filed {
    /// It is kept under its own id. Also how a put whose answer was lost finds itself.
    New,
    /// It was here before, open or closed; it is counted, and nothing was added.
    Again {
        /// The id of the row that stands for it.
        id: Uuid,
        /// How often it has come.
        seen: u64,
    },
    /// The source has as many open messages as it may have: nothing was kept. Stop taking messages from it until
    /// some are closed.
    Full {
        /// How many that is.
        open: u32,
    },
    /// No store takes its content.
    Unstorable {
        /// Why.
        reason: String,
    },
}

/// What a person made of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// Nothing: it was not needed.
    Discarded,
    /// A saga was started for it.
    Started(SagaId),
    /// Its sender was answered, or what it said was taken care of elsewhere.
    Answered,
}

impl Disposition {
    /// The text kept in the store: `discarded`, `started:<saga>` or `answered`.
    pub fn spell(self) -> String {
        match self {
            Self::Discarded => "discarded".to_owned(),
            Self::Started(saga) => format!("started:{saga}"),
            Self::Answered => "answered".to_owned(),
        }
    }

    /// The disposition of this text.
    pub fn of(text: &str) -> Option<Self> {
        match text {
            "discarded" => Some(Self::Discarded),
            "answered" => Some(Self::Answered),
            _ => text.strip_prefix("started:")?.parse().ok().map(|saga| Self::Started(SagaId(saga))),
        }
    }
}

/// How a message was closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntakeClosing {
    /// When.
    pub at: Timestamp,
    /// What became of it.
    pub disposition: Disposition,
    /// Who closed it.
    pub actor: Arc<str>,
    /// Why.
    pub reason: String,
    /// Under which one-time operation id.
    pub operation: Arc<str>,
}

impl IntakeClosing {
    /// Why no store can keep this, if so; a store answers [`Closing::Unstorable`].
    pub fn unstorable(&self) -> Option<String> {
        text("the actor", &self.actor, INTAKE_NAME_BYTES_MAX)
            .or_else(|| text("the operation id", &self.operation, INTAKE_NAME_BYTES_MAX))
            .or_else(|| text("the reason", &self.reason, INTAKE_WORDS_BYTES_MAX))
    }

    /// Is it the same decision, made again under the same operation id?
    pub fn repeats(&self, standing: &Self) -> bool {
        self.operation == standing.operation && self.disposition == standing.disposition
    }
}

/// A message in intake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntakeRow {
    /// Its id.
    pub id: Uuid,
    /// Where it came from.
    pub source: Arc<str>,
    /// What tells it from every other message of its source.
    pub dedupe: Arc<str>,
    /// Where it stood when it first came.
    pub position: Option<String>,
    /// The event's own id.
    pub event_id: Option<String>,
    /// The saga that it speaks of.
    pub saga: Option<SagaId>,
    /// Why it is here.
    pub reason: IntakeReason,
    /// The message.
    pub raw: RawMessage,
    /// When it first came.
    pub first_seen: Timestamp,
    /// When it last came.
    pub last_seen: Timestamp,
    /// How often it has come.
    pub seen: u64,
    /// How it was closed; none while it is open.
    pub closed: Option<IntakeClosing>,
}

impl IntakeRow {
    /// The row of a message that comes for the first time.
    pub fn first(put: &IntakePut) -> Self {
        let IntakePut { id, source, dedupe, position, event_id, saga, reason, raw, seen_at } = put.clone();
        Self {
            id,
            source,
            dedupe,
            position,
            event_id,
            saga,
            reason,
            raw,
            first_seen: seen_at,
            last_seen: seen_at,
            seen: 1,
            closed: None,
        }
    }
}

/// What became of closing a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Closing {
    /// It is closed by this decision, now or since the same operation id was first used for it.
    Done(Box<IntakeRow>),
    /// Another decision closed it before; it stands.
    Before(Box<IntakeRow>),
    /// There is no such message.
    NoSuchMessage,
    /// No store takes the words of the decision.
    Unstorable {
        /// Why.
        reason: String,
    },
}

/// Which messages to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntakeFilter {
    /// Of this source.
    pub source: Option<String>,
    /// For this reason, by its code.
    pub code: Option<String>,
    /// Closed ones, too; by default only those that are open.
    pub closed_too: bool,
    /// After this one, in id order: the page.
    pub after: Option<Uuid>,
    /// At most so many; at most [`INTAKE_PAGE_MAX`].
    pub limit: u32,
}

impl IntakeFilter {
    /// Does it show this one?
    pub fn shows(&self, row: &IntakeRow) -> bool {
        self.source.as_deref().is_none_or(|source| *row.source == *source)
            && self.code.as_deref().is_none_or(|code| row.reason.code == code)
            && (self.closed_too || row.closed.is_none())
            && self.after.is_none_or(|after| row.id > after)
    }
}

/// The intake side of a store.
///
/// # Guarantees asked of an implementation
/// * Unique by source and dedupe: a message that is here is counted, whatever else the put says, also while its
///   source is full. Racing puts of one message keep one row.
/// * Everything may be repeated after [`Fault::Unavailable`]; a put is counted once however often it is repeated
///   under its id, unless the message was here before.
/// * No incarnation is wanted: anybody may put and close.
/// * A message that is open never goes.
#[async_trait]
pub trait IntakeStore: Send + Sync + 'static {
    /// Keeps a message, unless its source has `open_max` open ones already.
    async fn put_intake(&self, put: &IntakePut, open_max: u32) -> Result<Filed, Fault>;

    /// A page of messages in the order of their ids, which is the order in which they first came.
    async fn list_intake(&self, filter: &IntakeFilter) -> Result<Vec<IntakeRow>, Fault>;

    /// One message.
    async fn read_intake(&self, id: Uuid) -> Result<Option<IntakeRow>, Fault>;

    /// Closes a message, once.
    async fn close_intake(&self, id: Uuid, closing: &IntakeClosing) -> Result<Closing, Fault>;
}
