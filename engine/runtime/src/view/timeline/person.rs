//! What people did. That they were obeyed, who they are and what they asked for stands in the answer beside it.

use amends_core::event::Finding;
use amends_core::{JournalEvent, Timestamp};

use super::{found, name, unless_done, wait, word};

pub(super) fn line(event: &JournalEvent, at: Timestamp) -> String {
    match event {
        JournalEvent::Paused { .. } => "paused: no attempt starts".to_owned(),
        JournalEvent::Unpaused { .. } => "goes on".to_owned(),
        JournalEvent::CloseRequested(closing) => {
            format!("to be closed, once another person approves; then: {}", closing.follow_up)
        }
        JournalEvent::Closed { approved_by, effects_in_place, .. } => {
            let left: Vec<String> = effects_in_place.iter().map(name).collect();
            let left = if left.is_empty() { "nothing".to_owned() } else { left.join(", ") };
            format!("closed, approved by {approved_by}; left in place: {left}")
        }
        JournalEvent::Resumed { action, attempts, .. } => {
            format!("{} resumed with {attempts} attempts", name(action))
        }
        JournalEvent::AcceptedByPerson { action, evidence, .. } => {
            format!("{} accepted as applied ({evidence})", name(action))
        }
        JournalEvent::FoundByPerson { action, finding, evidence, next, .. } => {
            let found = if *finding == Finding::Absent { "not applied".to_owned() } else { found(finding) };
            format!("{} found {found} by a person ({evidence}){}", name(action), unless_done(next, at))
        }
        JournalEvent::HurriedByPerson { action, .. } => format!("{} goes on now", name(action)),
        JournalEvent::SendAgainOrdered { action, override_reason, .. } => {
            let why = override_reason.as_ref();
            let why = why.map(|why| format!(" past its key retention ({why})")).unwrap_or_default();
            format!("{} is sent again{why}", name(action))
        }
        JournalEvent::RejectedByPerson { action, .. } => format!("{} rejected", name(action)),
        JournalEvent::Supplied { action, evidence, .. } => {
            format!("{}: its result was supplied ({evidence})", name(action))
        }
        JournalEvent::Waived { action, .. } => format!("{} waived", name(action)),
        JournalEvent::KeptWaiting { action, until, .. } => {
            format!("{} kept waiting for {}", name(action), wait(until.since(at)))
        }
        JournalEvent::ItemAnnotated { item, assignee, disposition, .. } => {
            let item = if item.is_empty() { "the saga" } else { item };
            let notes = [("assigned to", assignee), ("disposition", disposition)];
            let notes = notes.iter().filter_map(|(what, note)| Some(format!("{what} {}", note.as_ref()?)));
            format!("{item}: {}", notes.collect::<Vec<_>>().join(", "))
        }
        JournalEvent::InDoubtCompensationOrdered { action, .. } => {
            format!("{} is compensated in doubt", name(action))
        }
        JournalEvent::CompensationRequested(request) => {
            let (action, by) = (name(&request.action), &request.requested_by);
            let approved = request.approved_by.as_ref();
            let approved = approved.map_or("waits for approval".to_owned(), |by| format!("approved by {by}"));
            format!("{action} requested by {by} ({}), {approved}", request.reason_code)
        }
        JournalEvent::RequestDecided { request, by, approved, .. } => {
            format!("{request} {} by {by}", if *approved { "approved" } else { "denied" })
        }
        other => word(other),
    }
}
