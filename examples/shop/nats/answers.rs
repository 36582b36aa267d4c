//! What a participant answers, in the words of the wire.
//!
//! Over a wire it is the participant that says what its own codes mean: by the rules that callers go by.

use amends::prelude::{Class, Classifier, Finding, Undo, UndoFinding};
use amends_barrier::{self as barrier, Outcome};
use amends_nats::{Call, NotNow, Reply, Trouble};
use amends_workflows::ports::{Answer, CallError, Fault, UndoAnswer, UndoError, code};
use serde::Serialize;
use serde_json::Value;

/// The answer to a command.
pub(super) fn told<T: Serialize, R: Serialize>(
    rules: &Classifier,
    call: &Call,
    answer: Answer<T, R>,
) -> Reply {
    match answer {
        Ok(result) => Reply::applied(&result),
        Err(CallError::Refused(reason)) => Reply::refused(&reason),
        Err(CallError::Accepted { wait }) => Reply::Accepted(wait),
        Err(CallError::Partial(result)) => Reply::Partial(result),
        Err(CallError::Failed(fault)) if fault.code == code::FENCED => Reply::Fenced(call.attempt),
        Err(CallError::Failed(fault)) => failed(rules, call, fault),
    }
}

/// The answer to a command that was closed out: what was said, or what another process has done meanwhile.
pub(super) fn closed_out(answer: barrier::Answer<Outcome<Value, Value>>) -> Reply {
    match answer {
        barrier::Answer::ClosedOut(said) => Reply::from_said(&said),
        barrier::Answer::Kept(Outcome::Success(result)) => Reply::applied(&result),
        barrier::Answer::Kept(Outcome::Partial(result)) => Reply::partial(result.as_ref()),
        barrier::Answer::Kept(Outcome::Refused(reason)) => Reply::refused(&reason),
        barrier::Answer::Fenced(fence) => Reply::Fenced(fence.through()),
        barrier::Answer::Mismatch => Reply::Mismatch,
    }
}

/// The answer to a compensation.
pub(super) fn undone(rules: &Classifier, call: &Call, answer: UndoAnswer) -> Reply {
    match answer {
        Ok(Undo::Undone) => Reply::undone(),
        Ok(Undo::NothingToUndo) => Reply::nothing_to_undo(),
        Err(UndoError::Accepted { wait }) => Reply::Accepted(wait),
        Err(UndoError::Stale { found }) => Reply::Stale(found),
        // As for callers: this transmission was closed out, and the next one is a later attempt.
        Err(UndoError::Failed(fault)) if fault.code == code::FENCED => {
            Reply::Transient(Trouble::new(fault.code, fault.message))
        }
        Err(UndoError::Failed(fault)) => failed(rules, call, fault),
    }
}

fn failed(rules: &Classifier, call: &Call, fault: Fault) -> Reply {
    let Fault { code, message, retry_after } = fault;
    if code == code::MISMATCH {
        return Reply::Mismatch;
    }
    let class = rules.class_of(&call.operation, &code);
    let trouble = Trouble { wait: retry_after, ..Trouble::new(code, message) };
    match class {
        Class::Transient => Reply::Transient(trouble),
        Class::Persistent => Reply::Persistent(trouble),
        Class::Unknown => Reply::Unknown(trouble),
    }
}

/// The answer to a query. Where the participant cannot look, it is silent.
pub(super) fn found<T: Serialize, R: Serialize>(
    finding: Result<Finding<T, R>, Fault>,
) -> Result<Reply, NotNow> {
    Ok(match finding.map_err(NotNow::because)? {
        Finding::Applied(result) => Reply::applied(&result),
        Finding::Partial(result) => Reply::partial(result.as_ref()),
        Finding::Refused(reason) => Reply::refused(&reason),
        Finding::Fenced { through } => Reply::Fenced(through),
        Finding::Absent => Reply::Absent,
        Finding::InProgress => Reply::InProgress,
        Finding::Unclear(report) => Reply::Unclear(Trouble::new("unclear", report)),
    })
}

/// The answer to a query about a compensation.
pub(super) fn undo_found(finding: Result<UndoFinding, Fault>) -> Result<Reply, NotNow> {
    Ok(match finding.map_err(NotNow::because)? {
        UndoFinding::Undone => Reply::undone(),
        UndoFinding::NothingToUndo => Reply::nothing_to_undo(),
        UndoFinding::Fenced { through } => Reply::Fenced(through),
        UndoFinding::Absent => Reply::Absent,
        UndoFinding::InProgress => Reply::InProgress,
        UndoFinding::Unclear(report) => Reply::Unclear(Trouble::new("unclear", report)),
    })
}
