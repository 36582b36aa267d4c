//! The barrier of the fakes: the rules of a participant that keeps one, in memory.

use std::time::Duration;

use amends::authoring::{ContextParts, StepContext};
use amends::prelude::{Contract, Finding, Undo, UndoFinding};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Books, FakeShop};
use crate::ports::{Answer, Call, CallError, Fault, UndoAnswer, code};

/// What is kept under one request id.
#[derive(Default)]
pub(super) struct Row {
    asked: Value,
    kept: Option<Kept>,
    fenced: u32,
}

#[derive(Clone)]
enum Kept {
    Done(Value),
    Refused(Value),
    Undone(Undo),
}

fn value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).unwrap()
}

fn typed<T: DeserializeOwned>(of: Value) -> T {
    serde_json::from_value(of).unwrap()
}

fn fault<E: From<Fault>>(code: &'static str) -> E {
    Fault::new(code, "said the barrier").into()
}

impl FakeShop {
    /// What everybody here promises.
    pub(super) fn promises() -> Contract {
        Contract {
            settle_window: Some(Duration::from_secs(10)),
            key_retention: Some(Duration::from_secs(7 * 24 * 3_600)),
            keeps_answers: true,
            dependency: Some("shop".into()),
        }
    }

    /// A forward call: `body` runs at most once, and what it answers is kept.
    pub(super) fn forward<T, R>(
        &self,
        call: &Call,
        ask: &impl Serialize,
        body: impl FnOnce(&mut Books) -> Result<T, CallError<R>>,
    ) -> Answer<T, R>
    where
        T: Serialize + DeserializeOwned,
        R: Serialize + DeserializeOwned,
    {
        let mut books = self.books();
        let row = books.rows.entry(call.request_id).or_default();
        match row.kept.clone() {
            Some(_) if row.asked != value(ask) => return Err(fault(code::MISMATCH)),
            Some(Kept::Done(result)) => return Ok(typed(result)),
            Some(Kept::Refused(reason)) => return Err(CallError::Refused(typed(reason))),
            Some(Kept::Undone(_)) => return Err(fault(code::MISMATCH)),
            None if call.attempt <= row.fenced => return Err(fault(code::FENCED)),
            None => {}
        }
        let answer = body(&mut books);
        let kept = match &answer {
            Ok(result) => Kept::Done(value(result)),
            Err(CallError::Refused(reason)) => Kept::Refused(value(reason)),
            Err(CallError::Accepted { .. } | CallError::Partial(_) | CallError::Failed(_)) => return answer,
        };
        let row = books.rows.entry(call.request_id).or_default();
        (row.asked, row.kept) = (value(ask), Some(kept));
        if answer.is_ok() {
            self.0.ledger.took_effect(&self.0.name, &self.context(call));
        }
        answer
    }

    /// A compensation: `body` runs at most once, and only if the forward call took effect.
    pub(super) fn backward(&self, call: &Call, body: impl FnOnce(&mut Books)) -> UndoAnswer {
        let mut books = self.books();
        let row = books.rows.entry(call.request_id).or_default();
        match row.kept.clone() {
            Some(Kept::Undone(undo)) => return Ok(undo),
            Some(_) => return Err(fault(code::MISMATCH)),
            None if call.attempt <= row.fenced => return Err(fault(code::FENCED)),
            None => {}
        }
        let forward = books.rows.entry(call.forward_request_id).or_default();
        forward.fenced = u32::MAX;
        let undo = match forward.kept {
            Some(Kept::Done(_)) => {
                body(&mut books);
                self.0.ledger.took_effect(&self.0.name, &self.context(call));
                Undo::Undone
            }
            _ => Undo::NothingToUndo,
        };
        books.rows.entry(call.request_id).or_default().kept = Some(Kept::Undone(undo));
        Ok(undo)
    }

    /// A query about a forward call.
    pub(super) fn find<T: DeserializeOwned, R: DeserializeOwned>(&self, call: &Call) -> Finding<T, R> {
        let mut books = self.books();
        let row = books.rows.entry(call.request_id).or_default();
        match (row.kept.clone(), call.fence_through) {
            (Some(Kept::Done(result)), _) => Finding::Applied(typed(result)),
            (Some(Kept::Refused(reason)), _) => Finding::Refused(typed(reason)),
            (Some(Kept::Undone(_)), _) => Finding::Unclear("this is a compensation".to_owned()),
            (None, Some(through)) => {
                row.fenced = row.fenced.max(through);
                Finding::Fenced { through: row.fenced }
            }
            (None, None) => Finding::Absent,
        }
    }

    /// A query about a compensation.
    pub(super) fn find_undo(&self, call: &Call) -> UndoFinding {
        let mut books = self.books();
        let row = books.rows.entry(call.request_id).or_default();
        match (row.kept.clone(), call.fence_through) {
            (Some(Kept::Undone(Undo::Undone)), _) => UndoFinding::Undone,
            (Some(Kept::Undone(Undo::NothingToUndo)), _) => UndoFinding::NothingToUndo,
            (Some(_), _) => UndoFinding::Unclear("this is a forward call".to_owned()),
            (None, Some(through)) => {
                row.fenced = row.fenced.max(through);
                UndoFinding::Fenced { through: row.fenced }
            }
            (None, None) => UndoFinding::Absent,
        }
    }

    /// The call as the test kit's ledger wants to know it.
    fn context(&self, call: &Call) -> StepContext {
        let clock = self.0.clock.clone();
        StepContext::new(ContextParts {
            saga: call.saga,
            key: call.business_key.clone(),
            request_id: call.request_id,
            forward_request_id: call.forward_request_id,
            attempt: call.attempt,
            fence_through: call.fence_through,
            expected: None,
            trace: None,
            deadline: clock.now() + call.time_left,
            clock,
            stop: Default::default(),
        })
    }
}
