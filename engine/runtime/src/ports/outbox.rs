//! The outbox: what is to be published, durable in the commit of the transition that it follows from.
//!
//! A row stays until whoever it is for has acknowledged it, so it is published at least once and always under the
//! same message id. Rows lie in lanes, a hash of their saga's id. A lane has one owner, as a saga has: it is
//! claimed by an incarnation and released when that is gone. Who publishes need not own the sagas, and the rows of
//! ended and of unowned sagas go out too.

use std::sync::Arc;
use std::time::Duration;

use amends_core::{Incarnation, SagaId, Timestamp};
use async_trait::async_trait;
use uuid::Uuid;

use super::content::no_nul;
use super::control::{ControlOrder, StoredOrder};
use super::store::Fault;

/// How many lanes there are. More nodes than this can publish only in turns.
pub const OUTBOX_LANES: u16 = 16;

/// The most messages of one transition.
pub const OUTBOX_ROWS_MAX: usize = 1_024;

/// The most bytes of all messages of one transition together: subjects, headers and bodies.
pub const OUTBOX_BYTES_MAX: usize = 4 << 20;

/// The longest subject, in bytes.
pub const OUTBOX_SUBJECT_BYTES_MAX: usize = 512;

/// The longest that a refused message waits until it is tried again. One that would wait longer was refused by a
/// clock that ran ahead, and is due.
pub const REFUSAL_WAIT_MAX: Duration = Duration::from_secs(300);

/// What a message is, which decides who publishes it and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OutboxKind {
    /// Something has happened. Of each saga one waits for the other: the next is published when the one before was
    /// acknowledged.
    Event,
    /// A participant is to do something. None waits for another.
    Command,
    /// People are told something. None waits for another.
    Notice,
}

impl OutboxKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Event, Self::Command, Self::Notice];

    /// The word kept in the store.
    pub fn word(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Command => "command",
            Self::Notice => "notice",
        }
    }

    /// The kind of this word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// One message, as a commit hands it over. Its place among the commit's messages is its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxRow {
    /// The same whenever it is published: [`message_id`], unless the message itself says what tells it from others.
    pub id: Uuid,
    /// What it is.
    pub kind: OutboxKind,
    /// Where it goes, in words that its publisher understands. At most [`OUTBOX_SUBJECT_BYTES_MAX`] bytes.
    pub subject: Arc<str>,
    /// A JSON object of names and texts, as text.
    pub headers: String,
    /// As it is published.
    pub body: String,
}

/// The id of the message with number `n` of a transition: derived, so a transition that is submitted again brings
/// the same one.
pub fn message_id(saga: SagaId, seq: u64, n: u16) -> Uuid {
    Uuid::new_v5(&saga.0, format!("outbox/{seq}/{n}").as_bytes())
}

/// The lane of a saga.
pub fn lane_of(saga: SagaId) -> u16 {
    let folded = saga.0.as_bytes().iter().fold(0, |folded, byte| folded ^ byte);
    u16::from(folded) % OUTBOX_LANES
}

/// Why no store can take these messages, if so.
pub(super) fn storable(rows: &[OutboxRow]) -> Result<(), String> {
    if rows.len() > OUTBOX_ROWS_MAX {
        return Err(format!("{} messages in one transition, more than {OUTBOX_ROWS_MAX}", rows.len()));
    }
    let bytes: usize = rows.iter().map(|row| row.subject.len() + row.headers.len() + row.body.len()).sum();
    if bytes > OUTBOX_BYTES_MAX {
        return Err(format!("messages of {bytes} bytes in one transition, more than {OUTBOX_BYTES_MAX}"));
    }
    for OutboxRow { subject, headers, body, .. } in rows {
        if subject.is_empty() || subject.len() > OUTBOX_SUBJECT_BYTES_MAX {
            let bytes = subject.len();
            return Err(format!("a subject has 1 to {OUTBOX_SUBJECT_BYTES_MAX} bytes, this one has {bytes}"));
        }
        no_nul("subject", subject)?;
        no_nul("headers", headers)?;
        no_nul("body of a message", body)?;
    }
    Ok(())
}

/// Where a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutboxPlace {
    /// What it is.
    pub kind: OutboxKind,
    /// Of which saga.
    pub saga: SagaId,
    /// The transition that it follows from.
    pub seq: u64,
    /// Its number among that transition's messages, from 0.
    pub n: u16,
}

impl OutboxPlace {
    /// The place of this name, as [`Display`](std::fmt::Display) writes it.
    pub fn of(name: &str) -> Option<Self> {
        let mut parts = name.split('/');
        let (kind, saga, at) = (parts.next()?, parts.next()?, parts.next()?);
        let (seq, n) = at.split_once('.')?;
        let place = Self {
            kind: OutboxKind::of(kind)?,
            saga: SagaId(saga.parse().ok()?),
            seq: seq.parse().ok()?,
            n: n.parse().ok()?,
        };
        // One name only: what is written otherwise names nothing.
        (place.to_string() == name).then_some(place)
    }
}

impl std::fmt::Display for OutboxPlace {
    /// `event/<saga>/<sequence>.<number>`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kind, saga, seq, n } = self;
        write!(f, "{}/{saga}/{seq}.{n}", kind.word())
    }
}

/// A message as it stands in the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxMessage {
    /// Where.
    pub place: OutboxPlace,
    /// The same whenever it is published.
    pub id: Uuid,
    /// When its transition was decided.
    pub written_at: Timestamp,
    /// Where it goes.
    pub subject: Arc<str>,
    /// A JSON object of names and texts, as text.
    pub headers: String,
    /// As it is published.
    pub body: String,
    /// How often it was refused.
    pub refusals: u32,
}

/// A message that was refused and stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedMessage {
    /// The message.
    pub message: OutboxMessage,
    /// Why it was refused last.
    pub reason: String,
    /// When it is tried again.
    pub next_at: Timestamp,
}

/// How many messages of one kind wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboxCount {
    /// The kind.
    pub kind: OutboxKind,
    /// All that are not acknowledged.
    pub waiting: u64,
    /// The time of the oldest of them.
    pub oldest: Timestamp,
    /// Those of them that were refused.
    pub refused: u64,
}

/// What stands in an outbox, whoever publishes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutboxStanding {
    /// Each kind of which something waits, in the order of [`OutboxKind::ALL`].
    pub counts: Vec<OutboxCount>,
    /// What was refused, the oldest first.
    pub refused: Vec<RefusedMessage>,
}

/// What became of an order to let a message go. Nothing was written but for [`LetGo::Done`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LetGo {
    /// The message is gone, and the order is durable.
    Done,
    /// An order of this id was given before: this one. Also how one whose answer was lost finds itself.
    Known(Box<StoredOrder>),
    /// No such message stands in the outbox.
    NoSuchMessage,
    /// It was never refused: it is still to be published.
    NotRefused,
    /// No store takes the order's content.
    Unstorable {
        /// Why.
        reason: String,
    },
}

/// The outbox of a store. Messages come into it by [`commit`](super::SagaStore::commit).
///
/// # Guarantees asked of an implementation
/// * Messages are written with the accepted commit that holds them, or not at all.
/// * The fence is that of sagas: an incarnation without `worker` row claims, reads, removes and notes nothing
///   ([`Fault::Fenced`]). Where the sagas of the gone are released, their lanes are released too.
/// * Every call may be repeated.
#[async_trait]
pub trait OutboxStore: Send + Sync + 'static {
    /// Takes free lanes up to an even share among all incarnations that have asked for lanes and are alive, and
    /// gives back what it has above that. Answers the lanes that it owns then, in order.
    async fn claim_lanes(&self, incarnation: Incarnation) -> Result<Vec<u16>, Fault>;

    /// Messages of one kind in the lanes that `incarnation` owns, of each saga in order; at most `limit`, and fewer only
    /// if there are no more. Without those that were refused and are not due again at `now`. Of the events of a saga only the first that stands
    /// in the outbox, or none if that is not due.
    async fn unpublished(
        &self,
        incarnation: Incarnation,
        kind: OutboxKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<OutboxMessage>, Fault>;

    /// Removes messages that were acknowledged, as far as they stand in lanes that `incarnation` owns. Answers how
    /// many.
    async fn remove_published(
        &self,
        incarnation: Incarnation,
        published: &[OutboxPlace],
    ) -> Result<u32, Fault>;

    /// Notes that a message was refused: it stays, with the reason, and is not read before `next_at`. One that is
    /// gone, or stands in a lane of another, is left alone.
    async fn note_refusal(
        &self,
        incarnation: Incarnation,
        refused: OutboxPlace,
        reason: &str,
        next_at: Timestamp,
    ) -> Result<(), Fault>;

    /// Removes a message that was refused, whoever owns its lane, and keeps the order that says who wants so and why: both or
    /// neither. The order stands with those of [controls](super::ControlStore::ordered), and is purged with them. Wants no
    /// incarnation.
    async fn let_go(&self, message: OutboxPlace, order: &ControlOrder) -> Result<LetGo, Fault>;

    /// What stands in the outbox, on any node; of the refused at most `limit`.
    async fn outbox(&self, limit: u32) -> Result<OutboxStanding, Fault>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_message_has_the_same_id_and_no_other_has_it() {
        let (one, other) = (SagaId(Uuid::from_u128(1)), SagaId(Uuid::from_u128(2)));
        assert_eq!(message_id(one, 12, 3), message_id(one, 12, 3));
        let all = [(one, 12, 3), (one, 12, 4), (one, 13, 3), (one, 1, 23), (other, 12, 3)];
        let mut ids: Vec<Uuid> = all.map(|(saga, seq, n)| message_id(saga, seq, n)).to_vec();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all.len());
    }

    #[test]
    fn a_place_is_found_by_its_name_and_by_no_other_spelling() {
        let place = OutboxPlace { kind: OutboxKind::Event, saga: SagaId(Uuid::from_u128(7)), seq: 12, n: 3 };
        let name = place.to_string();
        assert_eq!(name, "event/00000000-0000-0000-0000-000000000007/12.3");
        assert_eq!(OutboxPlace::of(&name), Some(place));
        let no_names = ["", "event/x/12.3", "news/00000000-0000-0000-0000-000000000007/12.3"];
        let misspelt =
            [name.replace("12.", "012."), name.replace(".3", ""), format!("{name}/"), format!("{name}.4")];
        for wrong in no_names.into_iter().chain(misspelt.iter().map(String::as_str)) {
            assert_eq!(OutboxPlace::of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sagas_spread_over_all_lanes() {
        let mut lanes: Vec<u16> =
            (0..64_u128).map(|n| lane_of(SagaId(Uuid::from_u128((n << 64) | 0x7000)))).collect();
        lanes.sort_unstable();
        lanes.dedup();
        assert_eq!(lanes, (0..OUTBOX_LANES).collect::<Vec<_>>());
    }
}
