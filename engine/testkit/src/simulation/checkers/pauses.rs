//! I5, for what people ordered of a whole workflow: while it is paused, nothing of it begins.

use std::collections::BTreeMap;
use std::time::Duration;

use amends_core::{JournalEvent, Timestamp};

use super::{Checker, Step};

/// How long until every node has heard of it: stalls of the store, and a freeze within the lease.
const HEARD_WITHIN: Duration = Duration::from_secs(30);

/// While a workflow is paused no attempt of any kind starts in its sagas, on any node.
#[derive(Clone, Debug, Default)]
pub struct Pauses {
    since: BTreeMap<String, Timestamp>,
}

impl Checker for Pauses {
    fn invariant(&self) -> &'static str {
        "I5"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step {
            Step::Paused { workflow, at: Some(at) } => {
                self.since.insert((*workflow).to_owned(), *at);
            }
            Step::Paused { workflow, at: None } => {
                self.since.remove(*workflow);
            }
            // Who stood still has heard of nothing.
            Step::Woke { at } => self.since.values_mut().for_each(|since| *since = *at),
            Step::Transitioned(transitioned) => {
                let workflow = &*transitioned.plan.workflow;
                let Some(since) = self.since.get(workflow) else { return Ok(()) };
                let starts = |event: &JournalEvent| matches!(event, JournalEvent::Started { .. });
                let begins = transitioned.journal.last().is_some_and(|row| row.events.iter().any(starts));
                if begins && transitioned.at > *since + HEARD_WITHIN {
                    let key = &transitioned.after.key;
                    return Err(format!("an attempt of {key} began, and {workflow} is paused since {since}"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
