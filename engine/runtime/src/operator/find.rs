//! Finding what waits: sagas, and entries of the desks.

use super::Operator;
use crate::ports::{DeskFilter, DeskGroup, DeskPage, Fault, SagaFilter, SagaPage, SagaRow};

impl Operator {
    /// The saga of a business key.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn find(&self, workflow: &str, key: &str) -> Result<Option<SagaRow>, Fault> {
        self.engine.query().find(workflow, key).await
    }

    /// A page of sagas, the oldest first: by workflow, phase, tenant, age, step and reason, or all that need attention. The
    /// next page begins at [`SagaPage::next`].
    ///
    /// # Errors
    /// When the store does not answer. A row that cannot be read is no error: it is named in the page.
    pub async fn list(&self, filter: &SagaFilter) -> Result<SagaPage, Fault> {
        self.engine.query().list(filter).await
    }

    /// A page of what waits for people, the oldest first: by desk, workflow, step, reason, fingerprint, tenant and age. The
    /// next page begins at [`DeskPage::next`].
    ///
    /// # Not shown here
    /// What belongs to no saga that is still there: messages that became none, and late news of sagas that were purged.
    /// Both are in [`intake`](Self::intake), late news under the code `late-news`.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub async fn desk(&self, filter: &DeskFilter) -> Result<DeskPage, Fault> {
        self.engine.desks().desk_page(filter).await
    }

    /// The same entries, counted by what they have in common, the largest group first. One group is listed by
    /// [`DeskFilter::fingerprint`].
    ///
    /// # Errors
    /// When the store does not answer, or what it holds cannot be read.
    pub async fn desk_groups(&self, filter: &DeskFilter) -> Result<Vec<DeskGroup>, Fault> {
        self.engine.desks().desk_groups(filter).await
    }
}
