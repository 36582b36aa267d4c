//! The simplest notifier.

use async_trait::async_trait;

use crate::ports::{Notice, Notifier, PublishError};
use crate::visible::visible;

/// Tells the log of desk entries, as warnings. At least once, also of those that were made while no process lived
/// to tell them.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogNotifier;

#[async_trait]
impl Notifier for LogNotifier {
    async fn notify(&self, notice: &Notice) -> Result<(), PublishError> {
        tracing::warn!(
            id = %notice.id,
            saga = %notice.saga,
            workflow = %notice.workflow,
            key = %visible(&notice.key),
            step = notice.step,
            direction = notice.direction,
            desk = notice.desk,
            reason = notice.reason,
            attempts = notice.attempts,
            effect = notice.effect,
            code = %visible(&notice.code),
            "a person is needed",
        );
        Ok(())
    }
}
