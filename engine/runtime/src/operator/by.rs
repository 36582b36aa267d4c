//! Who asks.

use amends_core::OperationId;
use amends_core::machine::Operation;

use super::OperateError;

/// The longest name of a person, and the longest operation id, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// The longest reason, in bytes.
const REASON_BYTES_MAX: usize = 4_096;

/// Who asks, why, and under which one-time id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct By {
    /// The person, as your own identities name them. At most 200 bytes.
    pub actor: String,
    /// Their reason, for whoever reads the journal later. At most 4 096 bytes.
    pub reason: String,
    /// Chosen by the caller, unique within the saga: repeating it returns the stored answer. At most 200 bytes.
    pub operation_id: OperationId,
}

impl By {
    /// Says who, why, and under which id.
    pub fn new(
        actor: impl Into<String>,
        reason: impl Into<String>,
        operation_id: impl Into<std::sync::Arc<str>>,
    ) -> Self {
        let operation_id = OperationId::new(operation_id);
        Self { actor: actor.into(), reason: reason.into(), operation_id }
    }

    /// Nobody asks without a name, a reason and an id.
    pub(super) fn check(&self) -> Result<(), OperateError> {
        said("the actor", &self.actor, NAME_BYTES_MAX)?;
        said("the reason", &self.reason, REASON_BYTES_MAX)?;
        said("the operation id", &self.operation_id.0, NAME_BYTES_MAX)
    }
}

/// Is something said, within its bounds?
pub(super) fn said(what: &str, text: &str, bytes_max: usize) -> Result<(), OperateError> {
    let wrong = if text.trim().is_empty() {
        format!("{what} is empty, and every intervention says who, why and under which id")
    } else if text.len() > bytes_max {
        format!("{what} has {} bytes, more than {bytes_max}", text.len())
    } else if text.contains('\0') {
        format!("{what} holds NUL")
    } else {
        return Ok(());
    };
    Err(OperateError::Incomplete(wrong))
}

/// What a person relies on must be said, too.
pub(super) fn evidence(text: &str) -> Result<(), OperateError> {
    match said("the evidence", text, REASON_BYTES_MAX) {
        Err(OperateError::Incomplete(_)) if text.trim().is_empty() => {
            Err(OperateError::Incomplete("the evidence is empty: say what the decision relies on".to_owned()))
        }
        said => said,
    }
}

impl From<Operation> for By {
    fn from(operation: Operation) -> Self {
        Self { actor: operation.actor, reason: operation.reason, operation_id: operation.id }
    }
}
