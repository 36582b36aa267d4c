//! What waits to be published, and what keeps it.

use amends_core::Timestamp;

use super::Engine;
use crate::ports::{Fault, OutboxCount, OutboxKind, OutboxStore, RefusedMessage};

/// The most refused messages that [`Engine::outbox`] lists.
const REFUSED_MAX: u32 = 1_000;

/// What waits to be published.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutboxView {
    /// Each kind of which something waits.
    pub counts: Vec<OutboxCount>,
    /// What was refused and stays, the oldest first; at most 1 000.
    pub refused: Vec<RefusedMessage>,
    /// What does not get through at present, from this node.
    pub troubles: Vec<OutboxTrouble>,
}

/// Messages of one kind do not get through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxTrouble {
    /// The kind.
    pub kind: OutboxKind,
    /// Since when nothing of it was acknowledged that was tried.
    pub since: Timestamp,
    /// The last error.
    pub error: String,
}

impl Engine {
    /// What waits to be published, whoever publishes it: for readiness and for people.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn outbox(&self) -> Result<OutboxView, Fault> {
        let standing = self.0.outbox.outbox(REFUSED_MAX).await?;
        let mut troubles = self.0.publishing.troubles();
        for OutboxCount { kind, oldest, .. } in &standing.counts {
            if !self.0.publishing.publishes(*kind) {
                let error = format!("nobody publishes {}s here", kind.word());
                troubles.push(OutboxTrouble { kind: *kind, since: *oldest, error });
            }
        }
        Ok(OutboxView { counts: standing.counts, refused: standing.refused, troubles })
    }

    pub(crate) fn outbox_store(&self) -> &dyn OutboxStore {
        &*self.0.outbox
    }

    /// There may be something to publish that waited until now.
    pub(crate) fn wake_publisher(&self, kind: OutboxKind) {
        self.0.publishing.wake(kind);
    }
}
