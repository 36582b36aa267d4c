//! What a store keeps, as the engine hands it over: plain rows, no business meaning.
//!
//! A store never interprets `events`; the few columns beside it are indexes into the truth, written in the
//! same commit.

use std::sync::Arc;

use amends_core::{Incarnation, SagaId, Timestamp, TransitionId};

use super::labels::Label;

/// A definition that a node can run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DefinitionRef {
    /// The workflow's name.
    pub workflow: Arc<str>,
    /// Its version, at most [`VERSION_MAX`](super::VERSION_MAX).
    pub version: u32,
    /// The digest of its shape.
    pub digest: [u8; 32],
}

/// The row of a saga that is being started. It is born owned by the node that commits it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSaga {
    /// What it runs.
    pub definition: DefinitionRef,
    /// Unique within the workflow. At most 512 bytes.
    pub key: Arc<str>,
    /// SHA-256 of the canonical input: tells a repeated start from a conflicting one.
    pub input_digest: [u8; 32],
    /// The source event's own time.
    pub occurred_at: Timestamp,
    /// When a saga before its pivot turns back.
    pub deadline: Option<Timestamp>,
    /// When it was started.
    pub started_at: Timestamp,
    /// On whose behalf it runs. At most 200 bytes.
    pub tenant: Option<Arc<str>>,
    /// What its workflow says of its input. At most 8.
    pub labels: Vec<Label>,
}

/// One row of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalRow {
    /// 1, 2, 3 … without gaps: with the saga's id, the fence.
    pub seq: u64,
    /// When it was decided.
    pub at: Timestamp,
    /// `engine`, or a person.
    pub actor: Arc<str>,
    /// Made before it was submitted.
    pub transition: TransitionId,
    /// The events as JSON text, kept as given.
    pub events: String,
}

/// A start that an adapter writes within a transaction of the caller's: a saga without owner, due at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedStart {
    /// The saga.
    pub saga: SagaId,
    /// Its row.
    pub new: NewSaga,
    /// Its first journal row, which says that nobody owns it.
    pub journal: JournalRow,
    /// From then on it is beyond the dedupe horizon, and is not written any more: what it repeats may be forgotten. None:
    /// nothing is forgotten.
    pub fresh_until: Option<Timestamp>,
}

/// A change of phase, or a release. Not written at every step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SagaChange {
    /// `running`, `compensating`, `completed`, `compensated` or `closed`.
    pub phase: &'static str,
    /// The reason of the phase, for people and lists.
    pub outcome: Option<String>,
    /// Actions begun and not settled.
    pub open_actions: u32,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Give the saga up. A saga that has ended without open actions is always given up.
    pub release: Option<Release>,
}

impl SagaChange {
    /// Is the saga given up with this change? One that has ended is, whoever owns it; any other only by its owner.
    pub fn gives_up(&self) -> bool {
        self.release.is_some() || (self.ended_at.is_some() && self.open_actions == 0)
    }
}

/// Gives a saga up: no owner, and due again at `wake_at`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// When it is due; none: not by time.
    pub wake_at: Option<Timestamp>,
}

/// A desk entry of one action, or of the saga itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkItemRow {
    /// `step/direction`; empty for the saga itself.
    pub item: String,
    /// `quarantine`, `reconciliation`, `approval` or `discrepancy`.
    pub desk: &'static str,
    /// Why, as a code.
    pub reason: String,
    /// Since when.
    pub since: Timestamp,
    /// The workflow.
    pub workflow: Arc<str>,
    /// The step, for grouping.
    pub step: String,
    /// `forward` or `compensation`.
    pub direction: String,
    /// What is known of the effect.
    pub effect: &'static str,
    /// Groups alike items: (workflow, step, code, rule).
    pub fingerprint: String,
    /// Attempts made.
    pub attempts: u32,
    /// Class of the last failure.
    pub error_kind: Option<String>,
    /// Its code, or how that begins: at most [`WORK_ITEM_TEXT_BYTES_MAX`] bytes, as the next two.
    pub error_code: Option<String>,
    /// The rule that decided its class.
    pub error_rule: Option<String>,
    /// The classifier's version.
    pub classifier: Option<String>,
}

/// The difference of a saga's desk entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemChange {
    /// A new entry, or a changed one.
    Put(Box<WorkItemRow>),
    /// The entry named so is gone.
    Remove(String),
}

impl ItemChange {
    /// The name of the entry that is gone.
    pub fn removed(&self) -> Option<&str> {
        match self {
            Self::Put(_) => None,
            Self::Remove(item) => Some(item),
        }
    }
}

/// The longest that a code, a rule or a classifier is in a desk entry, in bytes. They are other people's texts, and stores
/// find entries by them; the journal has them whole.
pub const WORK_ITEM_TEXT_BYTES_MAX: usize = 512;

/// The difference of a saga's compensation records: one insert when it is requested, one update when it ends, and
/// one in between where another person approves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompensationChange {
    /// A compensation was requested.
    Requested {
        /// Its request id.
        id: uuid::Uuid,
        /// Of which step.
        step: String,
        /// The saga's business key.
        business_key: Arc<str>,
        /// Why, from the controlled vocabulary.
        reason_code: String,
        /// `engine`, or a person.
        requested_by: String,
        /// A person, or the policy that allows it; none while nobody has approved it.
        approved_by: Option<String>,
        /// What it expects and would do.
        particulars: Box<CompensationParticulars>,
        /// When.
        created_at: Timestamp,
    },
    /// A person approved it.
    Approved {
        /// Its request id.
        id: uuid::Uuid,
        /// Who.
        approved_by: String,
    },
    /// It ended.
    Ended {
        /// Its request id.
        id: uuid::Uuid,
        /// When.
        ended_at: Timestamp,
        /// Its result as JSON text: `"Undone"`, `"NothingToUndo"` or `"Denied"`.
        result: String,
    },
}

/// What a compensation expects and would do, as JSON text; none where nobody said it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CompensationParticulars {
    /// The state and version that it expects to find.
    pub expected: Option<String>,
    /// What it would do.
    pub proposed: Option<String>,
    /// What it touches.
    pub affected: Option<String>,
    /// What a dry run showed.
    pub dry_run: Option<String>,
}

/// A compensation record, as it stands in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompensationRow {
    /// Its request id.
    pub id: uuid::Uuid,
    /// Of which step.
    pub step: String,
    /// The saga's business key.
    pub business_key: Arc<str>,
    /// Why, from the controlled vocabulary.
    pub reason_code: String,
    /// `engine`, or a person.
    pub requested_by: String,
    /// A person, or the policy that allows it; none while nobody has approved it.
    pub approved_by: Option<String>,
    /// What it expects and would do.
    pub particulars: CompensationParticulars,
    /// When it was requested.
    pub created_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Its result as JSON text, once it ended.
    pub result: Option<String>,
}

/// The row of a saga, as it stands in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SagaRow {
    /// The saga.
    pub id: SagaId,
    /// What it runs.
    pub definition: DefinitionRef,
    /// Its business key.
    pub key: Arc<str>,
    /// Digest of its canonical input.
    pub input_digest: [u8; 32],
    /// `running`, `compensating`, `completed`, `compensated`, `closed` or `purged`.
    pub phase: String,
    /// The reason of the phase; of a purged saga, [how it ended](super::kept_outcome).
    pub outcome: Option<String>,
    /// Who advances it.
    pub owner: Option<Incarnation>,
    /// When it is due.
    pub wake_at: Option<Timestamp>,
    /// Actions begun and not settled.
    pub open_actions: u32,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Why it cannot be read, if it was set aside.
    pub set_aside: Option<String>,
    /// On whose behalf it runs.
    pub tenant: Option<Arc<str>>,
    /// What its workflow says of its input.
    pub labels: Vec<Label>,
}
