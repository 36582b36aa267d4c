//! Lists for people: sagas and entries of the desks, filtered, in pages.
//!
//! What cannot be read is named in its page beside what can: one damaged row hides no other.

use std::ops::Deref;

use amends_core::{SagaId, Timestamp};
use async_trait::async_trait;

use super::rows::{SagaRow, WorkItemRow};
use super::store::Fault;

/// The longest page.
pub const PAGE_MAX: u32 = 1_000;

/// Which sagas to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SagaFilter {
    /// Of this workflow.
    pub workflow: Option<String>,
    /// In this phase.
    pub phase: Option<String>,
    /// Of this tenant.
    pub tenant: Option<String>,
    /// Started at this time or later.
    pub started_from: Option<Timestamp>,
    /// Started before this time.
    pub started_before: Option<Timestamp>,
    /// Only those that stand on a desk, or were set aside.
    pub needing_attention: bool,
    /// Only those that were set aside.
    pub set_aside: bool,
    /// With an entry on a desk for this reason, as a code: `persistent`, `attempts-spent`, …
    pub reason: Option<String>,
    /// With an entry of this step on a desk.
    pub step: Option<String>,
    /// After this one, in id order: the page.
    pub after: Option<SagaId>,
    /// At most so many; at most 1 000.
    pub limit: u32,
}

impl SagaFilter {
    /// Does it ask for what stands on a desk, and only for that?
    pub fn asks_for_entries(&self) -> bool {
        self.reason.is_some() || self.step.is_some()
    }
}

/// A row that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// Of which saga; nil, if not even that can be read.
    pub saga: SagaId,
    /// Why.
    pub reason: String,
}

/// A page of sagas in id order, which is start order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SagaPage {
    /// Those that can be read.
    pub rows: Vec<SagaRow>,
    /// Those that cannot.
    pub damaged: Vec<Damaged>,
    /// From where the next page goes on ([`SagaFilter::after`]); none if this is the last. A page without rows need not
    /// be the last: all of it may be damaged.
    pub next: Option<SagaId>,
}

impl Deref for SagaPage {
    type Target = [SagaRow];

    fn deref(&self) -> &[SagaRow] {
        &self.rows
    }
}

impl IntoIterator for SagaPage {
    type Item = SagaRow;
    type IntoIter = std::vec::IntoIter<SagaRow>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows.into_iter()
    }
}

/// Which desk entries to show; the default shows all, the oldest first, 1 000 in a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeskFilter {
    /// On this desk: `quarantine`, `reconciliation`, `approval` or `discrepancy`.
    pub desk: Option<String>,
    /// Of this workflow.
    pub workflow: Option<String>,
    /// Of this step.
    pub step: Option<String>,
    /// For this reason, as a code: `persistent`, `attempts-spent`, …
    pub reason: Option<String>,
    /// Alike: of this fingerprint.
    pub fingerprint: Option<String>,
    /// Of sagas of this tenant.
    pub tenant: Option<String>,
    /// Waiting since this time or later.
    pub since_from: Option<Timestamp>,
    /// Waiting since before this time.
    pub since_before: Option<Timestamp>,
    /// After this one: the page.
    pub after: Option<DeskCursor>,
    /// At most so many; at most 1 000.
    pub limit: u32,
}

impl Default for DeskFilter {
    fn default() -> Self {
        Self {
            desk: None,
            workflow: None,
            step: None,
            reason: None,
            fingerprint: None,
            tenant: None,
            since_from: None,
            since_before: None,
            after: None,
            limit: PAGE_MAX,
        }
    }
}

impl DeskFilter {
    /// Is this entry one of those it asks for, wherever the page begins? The tenant is not looked at.
    pub fn shows(&self, item: &WorkItemRow) -> bool {
        let is = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
        is(&self.desk, item.desk)
            && is(&self.workflow, &item.workflow)
            && is(&self.step, &item.step)
            && is(&self.reason, &item.reason)
            && is(&self.fingerprint, &item.fingerprint)
            && self.since_from.is_none_or(|from| item.since >= from)
            && self.since_before.is_none_or(|before| item.since < before)
    }
}

/// A place in the order of desk entries: by age, then by saga and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeskCursor {
    /// Since when the entry waits.
    pub since: Timestamp,
    /// Of which saga.
    pub saga: SagaId,
    /// Its name.
    pub item: String,
}

/// What waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeskEntry {
    /// Of which saga.
    pub saga: SagaId,
    /// What waits, since when and why.
    pub item: WorkItemRow,
}

impl DeskEntry {
    /// Its place.
    pub fn cursor(&self) -> DeskCursor {
        DeskCursor { since: self.item.since, saga: self.saga, item: self.item.item.clone() }
    }
}

/// A page of desk entries, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeskPage {
    /// Those that can be read.
    pub entries: Vec<DeskEntry>,
    /// Those that cannot.
    pub damaged: Vec<Damaged>,
    /// From where the next page goes on; none if this is the last.
    pub next: Option<DeskCursor>,
}

/// Entries that are alike: of one desk, workflow, step and fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeskGroup {
    /// On which desk.
    pub desk: String,
    /// Of which workflow.
    pub workflow: String,
    /// Of which step; empty for sagas themselves.
    pub step: String,
    /// What they have in common.
    pub fingerprint: String,
    /// How many there are.
    pub entries: u64,
    /// Since when the oldest waits.
    pub oldest: Timestamp,
}

/// The side of a store that lists what waits for people.
#[async_trait]
pub trait DeskQuery: Send + Sync + 'static {
    /// A page of entries, the oldest first.
    async fn desk_page(&self, filter: &DeskFilter) -> Result<DeskPage, Fault>;

    /// Alike entries counted, the largest group first, then by desk and fingerprint; at most `filter.limit` groups.
    /// Where the page begins is not looked at.
    async fn desk_groups(&self, filter: &DeskFilter) -> Result<Vec<DeskGroup>, Fault>;
}
