//! I10: one saga per workflow and key.

use std::collections::BTreeMap;

use amends_core::{JournalEvent, SagaId};

use super::{Answered, Checker, Step};

/// However often and wherever a start comes, before and after its saga was purged, it is one saga; another input is told so.
/// What is older than all that is remembered is refused.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    sagas: BTreeMap<(String, String), (SagaId, String)>,
}

impl Keys {
    fn answered(&self, answered: &Answered) -> Result<(), String> {
        let Answered { workflow, key, input, saga } = answered;
        let Some((standing, of)) = self.sagas.get(&(workflow.clone(), key.clone())) else {
            return Err(format!("a start of {workflow} {key} was answered, and there is no such saga"));
        };
        match saga {
            Some(saga) if saga != standing => {
                Err(format!("{workflow} {key} is {standing}, and a start was told {saga}"))
            }
            Some(_) if input != of => {
                Err(format!("{workflow} {key} was started with {of}, and {input} is it too"))
            }
            None if input == of => {
                Err(format!("{workflow} {key} was started with {of}, and the same conflicts"))
            }
            _ => Ok(()),
        }
    }
}

impl Checker for Keys {
    fn invariant(&self) -> &'static str {
        "I10"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        let transitioned = match step {
            Step::Answered(answered) => return self.answered(answered),
            Step::TooOld { key, occurred_at, horizon } if occurred_at >= horizon => {
                return Err(format!(
                    "a start of {key} is of {occurred_at}, and refused as older than {horizon}"
                ));
            }
            Step::Transitioned(transitioned) => transitioned,
            _ => return Ok(()),
        };
        let last = transitioned.journal.last().and_then(|transition| transition.events.first());
        let Some(JournalEvent::SagaStarted(started)) = last else { return Ok(()) };
        let name = (started.workflow.to_string(), started.key.to_string());
        let saga = (started.saga, started.input.text().to_owned());
        match self.sagas.insert(name, saga) {
            Some((before, _)) if before != started.saga => {
                Err(format!("{} {} is {before} and {}", started.workflow, started.key, started.saga))
            }
            _ => Ok(()),
        }
    }
}
