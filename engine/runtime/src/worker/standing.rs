//! When a saga waits for nothing but people.

use amends_core::agenda::{DeskItem, Wait, agenda};
use amends_core::{SagaPlan, SagaState, Timestamp};

/// What the saga stands at, if nothing of it is under way, due or scheduled, so that only people can move it.
/// Deadlines do not count: they end waiting, they bring nothing about that somebody waits for.
pub(crate) fn on_desk(plan: &SagaPlan, state: &SagaState, now: Timestamp) -> Option<Vec<DeskItem>> {
    if state.phase.is_ended() {
        return None;
    }
    let asked = agenda(plan, state, now.max(state.at));
    if !asked.tasks.is_empty() {
        return None;
    }
    // A pause is a person's too, and has no entry on a desk.
    let waits = asked.waits.into_iter().filter(|wait| !matches!(wait, Wait::Paused { .. }));
    let people = waits.map(|wait| match wait {
        Wait::Person(item) => Some(item),
        _ => None,
    });
    people.collect::<Option<Vec<_>>>().filter(|items| !items.is_empty())
}
