//! I6 and I7, for what is purged: nothing goes that is not over, and nobody forgets what is left of it too early.

use std::collections::BTreeSet;
use std::time::Duration;

use amends::ports::SagaRow;
use amends_core::SagaId;
use amends_core::agenda::desk;

use super::{Checker, Moment, Step};
use crate::simulation::history::Told;
use crate::simulation::nodes::{FORGOTTEN_AFTER, PURGED_AFTER};

/// Only what ended long ago is purged, whole, with its outcome; and only what was purged is forgotten, later still.
#[derive(Clone, Debug, Default)]
pub struct Purged {
    clocks_differ: bool,
    purged: BTreeSet<SagaId>,
}

impl Purged {
    /// Where clocks agree, times are looked at too.
    pub fn new(clocks_differ: bool) -> Self {
        Self { clocks_differ, purged: BTreeSet::new() }
    }

    fn is_over(&self, moment: &Moment<'_>, row: &SagaRow, told: &Told) -> Result<(), String> {
        let Told { plan, state, .. } = told;
        let key = &row.key;
        if !state.phase.is_ended() || state.open_actions(plan) > 0 || !desk(plan, state).is_empty() {
            return Err(format!("{key} was purged, and is {} and not over", state.phase.word()));
        }
        let outcome = row.outcome.as_deref().and_then(|outcome| outcome.split(':').next());
        if outcome != Some(state.phase.word()) {
            return Err(format!("{key} was purged as {outcome:?}, and is {}", state.phase.word()));
        }
        self.is_old(moment, told, PURGED_AFTER).map_err(|reason| format!("{key} was purged {reason}"))
    }

    fn is_old(&self, moment: &Moment<'_>, told: &Told, least: Duration) -> Result<(), String> {
        let Some(ended_at) = told.state.ended_at else { return Err("and has not ended".to_owned()) };
        let age = moment.now.since(ended_at);
        if self.clocks_differ || age >= least { Ok(()) } else { Err(format!("{age:?} after its end")) }
    }

    fn look(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for row in moment.rows.iter().filter(|row| row.phase == "purged") {
            if self.purged.insert(row.id)
                && let Some(told) = moment.sagas.get(&row.id)
            {
                self.is_over(moment, row, told)?;
            }
        }
        let there: BTreeSet<SagaId> = moment.rows.iter().map(|row| row.id).collect();
        for (saga, told) in moment.sagas.iter().filter(|(saga, _)| !there.contains(saga)) {
            let key = &told.state.key;
            self.is_old(moment, told, FORGOTTEN_AFTER)
                .map_err(|reason| format!("{key} was forgotten {reason}"))?;
            self.purged.insert(*saga);
        }
        Ok(())
    }
}

impl Checker for Purged {
    fn invariant(&self) -> &'static str {
        "I6"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step {
            Step::Passed(moment) | Step::Settled(moment, _) => self.look(moment),
            _ => Ok(()),
        }
    }
}
