//! Messages that became no saga: finding them, and saying what became of them.

use amends_core::Timestamp;
use uuid::Uuid;

use super::{By, OperateError, Operator};
use crate::Engine;
use crate::ports::{Closing, Disposition, Fault, IntakeClosing, IntakeFilter, IntakeRow};
use crate::worker::Backoff;

/// Messages that wait for a person because no saga could be made of them, or because they belong to none.
///
/// A message is closed once, by saying what became of it. What is to be done is done first: the right saga is started,
/// the sender is answered.
#[derive(Clone, Debug)]
pub struct OperatedIntake {
    engine: Engine,
}

impl Operator {
    /// Messages that became no saga. Those with the code `late-news` speak of sagas that ended long ago, and belong on
    /// the discrepancy desk.
    pub fn intake(&self) -> OperatedIntake {
        OperatedIntake { engine: self.engine.clone() }
    }
}

impl OperatedIntake {
    /// A page of messages, the oldest first: by source, by reason, and from where the last page ended. Closed ones only
    /// where the filter asks for them. At most 100.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn list(&self, filter: &IntakeFilter) -> Result<Vec<IntakeRow>, Fault> {
        self.engine.intake_store().list_intake(filter).await
    }

    /// One message, if there is one with this id.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn read(&self, id: Uuid) -> Result<Option<IntakeRow>, Fault> {
        self.engine.intake_store().read_intake(id).await
    }

    /// Says what became of a message. Asking again under the same operation id gives the same answer and changes
    /// nothing.
    ///
    /// # Errors
    /// [`OperateError::Incomplete`], [`OperateError::NoSuchMessage`], [`OperateError::Unknown`] if it was
    /// started as a saga that does not exist, [`OperateError::ClosedBefore`] if another decision stands, or when the
    /// store does not answer.
    pub async fn close(&self, id: Uuid, disposition: Disposition, by: By) -> Result<IntakeRow, OperateError> {
        by.check()?;
        let now = self.engine.now();
        let closing = IntakeClosing {
            at: now,
            disposition,
            actor: by.actor.into(),
            reason: by.reason,
            operation: by.operation_id.0,
        };
        if let Disposition::Started(saga) = disposition
            && self.engine.row(saga).await?.is_none()
        {
            return Err(OperateError::Unknown);
        }
        match self.closed(id, &closing, now + self.engine.limits().answer_within).await? {
            Closing::Done(row) => Ok(*row),
            Closing::Before(row) => {
                let standing = row.closed.expect("what was closed before is closed");
                Err(OperateError::ClosedBefore(Box::new(standing)))
            }
            Closing::NoSuchMessage => Err(OperateError::NoSuchMessage(id)),
            Closing::Unstorable { reason } => Err(OperateError::Incomplete(reason)),
        }
    }

    /// A store that does not answer is asked again until then.
    async fn closed(&self, id: Uuid, closing: &IntakeClosing, until: Timestamp) -> Result<Closing, Fault> {
        let mut backoff = Backoff::default();
        loop {
            match self.engine.intake_store().close_intake(id, closing).await {
                Err(Fault::Unavailable(_))
                    if self.engine.now() < until && self.engine.stopped().is_none() =>
                {
                    backoff.wait(self.engine.clock()).await;
                }
                closed => return closed,
            }
        }
    }
}
