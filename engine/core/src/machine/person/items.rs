//! Notes on desk items: assign, set disposition. They are journalled, and nothing else changes.

use super::{once, refuse};
use crate::agenda::desk;
use crate::event::{Answer, JournalEvent, Verb};
use crate::machine::scribe::Scribe;
use crate::machine::{Operation, Rejected};

pub(super) fn annotate(
    s: &mut Scribe<'_>,
    verb: Verb,
    item: String,
    assignee: Option<String>,
    disposition: Option<String>,
    operation: Operation,
) -> Result<(), Rejected> {
    once(s, operation, verb, |s, operation| {
        if desk(s.plan, s.state).iter().all(|there| there.name() != item) {
            return match item.as_str() {
                "" => refuse("the saga has no desk item of its own"),
                item => refuse(format!("no desk item is named `{item}`")),
            };
        }
        let operation = operation.id.clone();
        s.record(JournalEvent::ItemAnnotated { item, operation, assignee, disposition });
        Ok(Answer::Accepted)
    })
}
