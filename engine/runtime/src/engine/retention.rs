//! How long what has ended is kept, and what is left of it afterwards.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use amends_core::{SagaId, Timestamp};

use super::SagaStartError;
use crate::ports::SagaRow;

/// How long what has ended is kept. By default for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// So long after its end a saga is purged: its key, digests, outcome and times stay, everything else goes. One
    /// that waits for a person, has an open action, unread mail, or was set aside stays whole. Messages in intake go so
    /// long after they were closed, and orders about controls so long after they were given, unless what they set is still in
    /// force: their operation ids are then unknown. At least one hour, longer than any commit can be under way; shorter counts as one
    /// hour. Default: never.
    pub purge_after: Option<Duration>,
    /// The dedupe horizon: so long after its end, and an hour, the rest of a purged saga may go, too. From then on its
    /// key would start a new saga; so a start whose [`occurred_at`](crate::StartOptions::occurred_at) is older is
    /// refused. One that does not say when it occurred cannot be refused: choose it longer than any source keeps its
    /// messages. Not shorter than `purge_after`. Default: never.
    pub forget_after: Option<Duration>,
}

/// Below this a commit of the saga's last owner might still be under way.
const PURGE_AFTER_MIN: Duration = Duration::from_secs(3_600);

impl Retention {
    pub(super) fn bounded(self) -> Self {
        let purge_after = self.purge_after.map(|after| after.max(PURGE_AFTER_MIN));
        let forget_after = purge_after.and_then(|least| Some(self.forget_after?.max(least)));
        Self { purge_after, forget_after }
    }

    /// Refuses a start that may have been made and forgotten. What waits is asked this again, where it goes on: it must
    /// be written before what it repeats is forgotten.
    pub(crate) fn too_old(&self, occurred_at: Timestamp, now: Timestamp) -> Option<SagaStartError> {
        let horizon = self.horizon(now)?;
        (occurred_at < horizon).then_some(SagaStartError::TooOld { occurred_at, horizon })
    }

    /// When a start that occurred then passes the horizon.
    pub(super) fn fresh_until(&self, occurred_at: Timestamp) -> Option<Timestamp> {
        Some(occurred_at + self.forget_after?)
    }

    /// Starts that occurred before this are refused.
    fn horizon(&self, now: Timestamp) -> Option<Timestamp> {
        let micros = i64::try_from(self.forget_after?.as_micros()).ok()?;
        Some(Timestamp(now.0.saturating_sub(micros)))
    }
}

/// What is left of a saga that was purged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// The saga.
    pub saga: SagaId,
    /// What it ran.
    pub workflow: Arc<str>,
    /// In which version.
    pub version: u32,
    /// Its business key.
    pub key: Arc<str>,
    /// How it ended: `completed`, `compensated` or `closed`, and why if it turned back.
    pub outcome: String,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

impl Tombstone {
    /// None: the saga was not purged.
    pub(crate) fn of(row: &SagaRow) -> Option<Self> {
        (row.phase == PURGED).then(|| Self {
            saga: row.id,
            workflow: row.definition.workflow.clone(),
            version: row.definition.version,
            key: row.key.clone(),
            outcome: row.outcome.clone().unwrap_or_default(),
            started_at: row.started_at,
            ended_at: row.ended_at,
        })
    }

    /// Did it end so: `completed`, `compensated` or `closed`?
    pub fn ended_as(&self, phase: &str) -> bool {
        self.outcome.split(':').next() == Some(phase)
    }
}

impl fmt::Display for Tombstone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the saga {} of {} was purged; it ended", self.saga, self.workflow)?;
        if let Some(at) = self.ended_at {
            write!(f, " at {at}")?;
        }
        write!(f, " as {}", crate::visible::visible(&self.outcome))
    }
}

/// The phase of a saga that was purged.
const PURGED: &str = "purged";
