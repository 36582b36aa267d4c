//! I6, for what people were told: the answers are those of the journal.

use std::collections::{BTreeMap, BTreeSet};

use amends_core::event::Answer;
use amends_core::{JournalEvent, OperationId, SagaId};

use super::{Checker, Step};

/// The answer to something that a person asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// Of which saga it was asked.
    pub saga: SagaId,
    /// Under which id.
    pub operation: OperationId,
    /// The answer; none: it was refused, for the state is not one for it.
    pub answer: Option<Answer>,
}

/// Whoever asks, on whatever node, however often: the answer under one operation id is the journal's, and what was
/// refused never happens.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    journalled: BTreeMap<(SagaId, OperationId), Vec<Answer>>,
    refused: BTreeSet<(SagaId, OperationId)>,
}

impl Answers {
    fn decided(&mut self, decided: &Decided) -> Result<(), String> {
        let Decided { saga, operation, answer } = decided;
        let id = (*saga, operation.clone());
        let journalled = self.journalled.get(&id);
        match answer {
            Some(answer) if journalled.is_some_and(|all| all.contains(answer)) => Ok(()),
            Some(answer) => {
                Err(format!("{operation} of {saga} was told {answer:?}, and the journal says {journalled:?}"))
            }
            None if journalled.is_some() => {
                Err(format!("{operation} of {saga} was refused, and the journal says {journalled:?}"))
            }
            None => {
                self.refused.insert(id);
                Ok(())
            }
        }
    }
}

impl Checker for Answers {
    fn invariant(&self) -> &'static str {
        "I6"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        let transitioned = match step {
            Step::Decided(decided) => return self.decided(decided),
            Step::Transitioned(transitioned) => transitioned,
            _ => return Ok(()),
        };
        let Some(row) = transitioned.journal.last() else { return Ok(()) };
        for event in &row.events {
            let JournalEvent::Answered { operation, answer, .. } = event else { continue };
            let id = (transitioned.after.id, operation.clone());
            if self.refused.contains(&id) {
                return Err(format!("{operation} of {} was refused, and then {answer:?}", id.0));
            }
            self.journalled.entry(id).or_default().push(answer.clone());
        }
        Ok(())
    }
}
