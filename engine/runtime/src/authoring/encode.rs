//! From typed answers to what the journal keeps. "Cannot store the result" never becomes "the step failed".

use std::time::Duration;

use amends_core::Json;
use amends_core::admission::{self, Limits, Reason, Refused};
use amends_core::event::{Failure, FailureKind, Finding as Found, Omitted, Recorded};
use amends_core::machine::Attempted;
use sha2::{Digest as _, Sha256};

use super::error::{CompensationError, Finding, Problem, QueryError, StepError, Undo, UndoFinding, WAIT_MAX};
use super::payload::Payload;
use super::precondition::Preview;

/// The largest payload that is kept, in bytes of JSON text.
pub const PAYLOAD_BYTES_MAX: usize = Limits::DEFAULT.bytes_max;

/// A value as it is recorded, or a marker in its place.
pub(crate) fn recorded<T: Payload>(value: &T) -> Recorded {
    match Json::encode(value) {
        Ok(json) => storable(json),
        Err(error) => {
            let reason = unwritable(&error).to_string();
            Recorded::Omitted(Omitted { reason, digest: None, size: 0 })
        }
    }
}

/// A document as it is recorded, or a marker in its place.
pub(crate) fn storable(json: Json) -> Recorded {
    match unstorable(&json) {
        None => Recorded::Value(json),
        Some(refused) => Recorded::Omitted(omitted(refused.to_string(), json.text())),
    }
}

/// Why a document may not be kept, if it may not: the journal keeps what the door admits, so that whatever is
/// kept can be a later step's input, and every store and reader takes it alike.
pub(crate) fn unstorable(json: &Json) -> Option<Refused> {
    admission::check(json, Limits::DEFAULT).err()
}

/// A value whose `Serialize` fails.
pub(crate) fn unwritable(error: &serde_json::Error) -> Refused {
    Refused::whole(Reason::Unwritable { reason: error.to_string() })
}

pub(crate) fn omitted(reason: String, text: &str) -> Omitted {
    let digest = Sha256::digest(text.as_bytes());
    let hex = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Omitted { reason, digest: Some(hex), size: text.len() as u64 }
}

pub(crate) fn attempted<T: Payload, R: Payload>(answer: Result<T, StepError<R>>) -> Attempted {
    match answer {
        Ok(output) => Attempted::Succeeded(recorded(&output)),
        Err(StepError::Accepted { wait }) => accepted(wait),
        Err(StepError::Transient(problem)) => Attempted::Transient(problem.failure(FailureKind::Transient)),
        Err(StepError::Persistent(problem)) => {
            Attempted::Persistent(problem.failure(FailureKind::Persistent))
        }
        Err(StepError::Refused(refusal)) => Attempted::Refused(recorded(&refusal)),
        Err(StepError::Unknown(problem)) => Attempted::Unknown(problem.failure(FailureKind::Unknown)),
        Err(StepError::Partial(output)) => Attempted::Partial(output.map(storable)),
        Err(StepError::Fenced { through }) => Attempted::Fenced { through },
        Err(StepError::Mismatch(problem)) => Attempted::Mismatch(problem.failure(FailureKind::Unknown)),
    }
}

/// A wait that is nonsense is cut, whoever says it.
pub(crate) fn accepted(wait: Option<Duration>) -> Attempted {
    Attempted::Accepted { wait: wait.map(|wait| wait.min(WAIT_MAX)) }
}

pub(crate) fn undone(answer: Result<Undo, CompensationError>) -> Attempted {
    match answer {
        Ok(undo) => Attempted::Succeeded(undo_recorded(undo)),
        Err(CompensationError::Accepted { wait }) => accepted(wait),
        Err(CompensationError::Transient(problem)) => {
            Attempted::Transient(problem.failure(FailureKind::Transient))
        }
        Err(CompensationError::Persistent(problem)) => {
            Attempted::Persistent(problem.failure(FailureKind::Persistent))
        }
        Err(CompensationError::Unknown(problem)) => Attempted::Unknown(problem.failure(FailureKind::Unknown)),
        Err(CompensationError::Mismatch(problem)) => {
            Attempted::Mismatch(problem.failure(FailureKind::Unknown))
        }
        Err(CompensationError::Stale { found }) => Attempted::Stale { found: shown(found) },
    }
}

/// What was found, for a person; words in its place when it may not be kept.
fn shown(found: Json) -> Json {
    match unstorable(&found) {
        None => found,
        Some(reason) => {
            Json::encode(&format!("what was found cannot be kept: {reason}")).expect("text is always JSON")
        }
    }
}

fn undo_recorded(undo: Undo) -> Recorded {
    Recorded::Value(Json::encode(&undo).expect("a unit variant is a JSON string"))
}

pub(crate) fn found<T: Payload, R: Payload>(
    answer: Result<Finding<T, R>, QueryError>,
) -> Result<Found, Failure> {
    let finding = answer.map_err(|QueryError(problem)| problem.failure(FailureKind::Unknown))?;
    Ok(match finding {
        Finding::Applied(output) => Found::Applied(recorded(&output)),
        Finding::Partial(output) => Found::Partial(output.as_ref().map(recorded)),
        Finding::Refused(refusal) => Found::Refused(recorded(&refusal)),
        Finding::Fenced { through } => Found::Fenced { through },
        Finding::Absent => Found::Absent,
        Finding::InProgress => Found::InProgress,
        Finding::Unclear(report) => Found::Unclear { report: super::error::bounded(report) },
    })
}

pub(crate) fn undo_found(answer: Result<UndoFinding, QueryError>) -> Result<Found, Failure> {
    let finding = answer.map_err(|QueryError(problem)| problem.failure(FailureKind::Unknown))?;
    Ok(match finding {
        UndoFinding::Undone => Found::Applied(undo_recorded(Undo::Undone)),
        UndoFinding::NothingToUndo => Found::Applied(undo_recorded(Undo::NothingToUndo)),
        UndoFinding::Fenced { through } => Found::Fenced { through },
        UndoFinding::Absent => Found::Absent,
        UndoFinding::InProgress => Found::InProgress,
        UndoFinding::Unclear(report) => Found::Unclear { report: super::error::bounded(report) },
    })
}

/// What a dry run showed, if it can be kept.
pub(crate) fn previewed(answer: Result<Preview, QueryError>) -> Result<Preview, Failure> {
    let preview = answer.map_err(|QueryError(problem)| problem.failure(FailureKind::Unknown))?;
    match preview.refused() {
        None => Ok(preview),
        Some(refused) => {
            let message = format!("what was found cannot be kept: {refused}");
            Err(Problem::new("unwritable-state", message).failure(FailureKind::Persistent))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_too_large_is_omitted_with_digest_and_size() {
        let Recorded::Omitted(omitted) = recorded(&"x".repeat(PAYLOAD_BYTES_MAX)) else {
            panic!("it does not fit");
        };
        assert_eq!(omitted.size, PAYLOAD_BYTES_MAX as u64 + 2);
        assert_eq!(omitted.digest.map(|digest| digest.len()), Some(64));
    }

    #[test]
    fn a_nul_is_omitted_but_an_escaped_backslash_before_u0000_is_text() {
        assert!(matches!(recorded(&"a\0b".to_owned()), Recorded::Omitted(_)));
        assert!(matches!(recorded(&"\\u0000".to_owned()), Recorded::Value(_)));
        assert!(matches!(recorded(&"\\\0".to_owned()), Recorded::Omitted(_)));
    }
}
