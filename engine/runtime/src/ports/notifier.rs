//! Who tells people that something waits for them.

use std::sync::Arc;

use amends_core::{SagaId, Timestamp};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::outbox::OutboxMessage;
use super::publisher::{PublishError, Published, Publisher};

/// Tells people of desk entries.
#[async_trait]
pub trait Notifier: Send + Sync + 'static {
    /// Tells of one entry. It is told at least once; whoever must not hear it twice looks at [`Notice::id`].
    ///
    /// # Errors
    /// See [`PublishError`]: the notice comes again.
    async fn notify(&self, notice: &Notice) -> Result<(), PublishError>;
}

/// Something began to wait for a person. As JSON text it is the body of its message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// The same for the same entry in the same state (desk and time of entry), however often it is told.
    pub id: Uuid,
    /// The saga.
    pub saga: SagaId,
    /// The workflow.
    pub workflow: Arc<str>,
    /// The saga's business key: other people's text.
    pub key: Arc<str>,
    /// `step/direction`; empty for the saga itself.
    pub item: String,
    /// The step; empty for the saga itself.
    pub step: String,
    /// `forward`, `compensation`, or `saga`.
    pub direction: String,
    /// `quarantine`, `reconciliation`, `approval` or `discrepancy`.
    pub desk: String,
    /// Why, as a code.
    pub reason: String,
    /// Since when.
    pub since: Timestamp,
    /// Attempts made.
    pub attempts: u32,
    /// What is known of the effect: `none`, `possible`, `applied` or `partial`.
    pub effect: String,
    /// The code of the last failure: other people's text; empty if there was none.
    pub code: String,
}

/// Publishes the notices of the outbox through a notifier.
pub(crate) struct Notifying(pub(crate) Arc<dyn Notifier>);

#[async_trait]
impl Publisher for Notifying {
    async fn publish(&self, message: &OutboxMessage) -> Result<Published, PublishError> {
        let notice = serde_json::from_str(&message.body);
        let notice: Notice =
            notice.map_err(|error| PublishError::Refused(format!("it is no notice: {error}")))?;
        self.0.notify(&notice).await?;
        Ok(Published::default())
    }
}
