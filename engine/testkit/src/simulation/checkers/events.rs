//! I10, for events: one saga for each.

use std::collections::BTreeMap;

use amends_core::{JournalEvent, SagaId};

use super::{Checker, Step};

/// However often, however late and to whomever an event is delivered, it is one saga.
#[derive(Clone, Debug, Default)]
pub struct Events {
    sagas: BTreeMap<String, SagaId>,
}

impl Checker for Events {
    fn invariant(&self) -> &'static str {
        "I10"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        let Step::Transitioned(transitioned) = step else { return Ok(()) };
        let first = transitioned.journal.last().and_then(|transition| transition.events.first());
        let Some(JournalEvent::SagaStarted(started)) = first else { return Ok(()) };
        let Some(id) = started.trigger.as_ref().and_then(|trigger| trigger.event_id.clone()) else {
            return Ok(());
        };
        match self.sagas.insert(id.clone(), started.saga) {
            Some(before) if before != started.saga => {
                Err(format!("the event {id} is the saga {before}, and {}", started.saga))
            }
            _ => Ok(()),
        }
    }
}
