//! Starts that are not made now: what was made before is answered all the same.

use std::sync::Arc;

use amends_core::Timestamp;

use super::{Engine, SagaHandle, SagaStartError, Tombstone};
use crate::ports::{Fault, SagaRow};
use crate::worker::{Backoff, Registered};

impl Engine {
    /// Refuses a start that people hold, or that may have been made and forgotten.
    pub(super) fn not_now(
        &self,
        workflow: &Arc<str>,
        occurred_at: Option<Timestamp>,
    ) -> Option<SagaStartError> {
        let board = self.0.board.current();
        if let Some(hold) = board.hold_of(workflow) {
            return Some(SagaStartError::Held {
                workflow: workflow.clone(),
                by: hold.by.clone(),
                reason: hold.reason.clone(),
                since: hold.since,
            });
        }
        self.0.limits.retention.too_old(occurred_at?, self.now())
    }

    /// Of a start that is refused now: what it led to before, if that still stands. A store that does not answer is
    /// waited for, because nobody else knows.
    pub(super) async fn what_stands<O>(
        &self,
        definition: Arc<Registered>,
        key: &str,
        input_digest: [u8; 32],
        refused: SagaStartError,
    ) -> Result<SagaHandle<O>, SagaStartError> {
        let mut backoff = Backoff::default();
        loop {
            match self.0.reads.query.find(&definition.reference.workflow, key).await {
                Ok(Some(row)) if row.input_digest == input_digest => {
                    return self.started_before(&row, definition);
                }
                Ok(Some(row)) => {
                    return Err(SagaStartError::Conflict { standing: Box::new(row), input_digest });
                }
                Err(Fault::Unavailable(_)) if self.stopped().is_none() => backoff.wait(self.clock()).await,
                Err(Fault::Unavailable(_)) => return Err(SagaStartError::Stopped),
                Ok(None) | Err(_) => return Err(refused),
            }
        }
    }

    /// Of a purged saga nothing is left that its own definition would be needed for.
    pub(super) fn started_before<O>(
        &self,
        row: &SagaRow,
        asked: Arc<Registered>,
    ) -> Result<SagaHandle<O>, SagaStartError> {
        match self.registered(&row.definition) {
            Ok(definition) => Ok(self.handle(row.id, definition)),
            Err(_) if Tombstone::of(row).is_some() => Ok(self.handle(row.id, asked)),
            Err(unknown) => Err(unknown.into()),
        }
    }
}
