//! I7: no limbo.

use amends_core::agenda::desk;

use super::{Checker, Step};

/// Whatever is unfinished has an owner, a wake-up time, unread mail, a named pause or a person in front of it.
/// Whether it also has something under way, or to do, the observer tells from its journal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limbo;

impl Checker for Limbo {
    fn invariant(&self) -> &'static str {
        "I7"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        let moment = match step {
            Step::Transitioned(transitioned) => return transitioned.told("I7"),
            Step::Passed(moment) => moment,
            _ => return Ok(()),
        };
        for row in moment.rows {
            let Some(told) = moment.sagas.get(&row.id) else { continue };
            let finished = told.state.phase.is_ended() && told.state.open_actions(&told.plan) == 0;
            let has_someone = row.owner.is_some()
                || row.wake_at.is_some()
                || row.set_aside.is_some()
                || moment.unread.contains(&row.id)
                || told.state.paused.is_some()
                || !desk(&told.plan, &told.state).is_empty();
            if !finished && !has_someone {
                return Err(format!("{} (key {}) is unfinished, and nothing will move it", row.id, row.key));
            }
        }
        Ok(())
    }
}
