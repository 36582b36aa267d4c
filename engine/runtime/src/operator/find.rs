//! Finding what waits: sagas, and entries of the desks.

use amends_core::{SagaId, Timestamp};

use super::Operator;
use crate::ports::{Fault, SagaFilter, SagaRow, WorkItemRow};

/// The most desk entries that one look goes through.
const DESK_MAX: u32 = 1_000;

/// Which desk entries to show; an empty filter shows all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeskFilter {
    /// On this desk: `quarantine`, `reconciliation`, `approval` or `discrepancy`.
    pub desk: Option<String>,
    /// Of this workflow.
    pub workflow: Option<String>,
    /// Of this step.
    pub step: Option<String>,
    /// For this reason, as a code: `persistent`, `attempts-spent`, …
    pub reason: Option<String>,
    /// Waiting since before this time.
    pub since_before: Option<Timestamp>,
}

impl DeskFilter {
    fn shows(&self, item: &WorkItemRow) -> bool {
        let is = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
        is(&self.desk, item.desk)
            && is(&self.workflow, &item.workflow)
            && is(&self.step, &item.step)
            && is(&self.reason, &item.reason)
            && self.since_before.is_none_or(|before| item.since < before)
    }
}

/// What waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeskEntry {
    /// Of which saga.
    pub saga: SagaId,
    /// What waits, since when and why.
    pub item: WorkItemRow,
}

impl Operator {
    /// The saga of a business key.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn find(&self, workflow: &str, key: &str) -> Result<Option<SagaRow>, Fault> {
        self.engine.query().find(workflow, key).await
    }

    /// A page of sagas, the oldest first: by workflow, phase, age, and from where the last page ended.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn list(&self, filter: &SagaFilter) -> Result<Vec<SagaRow>, Fault> {
        self.engine.query().list(filter).await
    }

    /// What waits for people, the oldest first. Of the oldest 1 000 entries, those that the filter shows.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn desk(&self, filter: &DeskFilter) -> Result<Vec<DeskEntry>, Fault> {
        let all = self.engine.query().desk(DESK_MAX).await?;
        let entries = all.into_iter().map(|(saga, item)| DeskEntry { saga, item });
        Ok(entries.filter(|entry| filter.shows(&entry.item)).collect())
    }
}
