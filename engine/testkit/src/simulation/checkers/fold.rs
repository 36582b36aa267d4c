//! I6: the state is the fold of the journal, and the journal only grows.

use std::collections::{BTreeMap, BTreeSet};

use amends::ports::{JournalRow, SagaRow};
use amends_core::{SagaId, replay};

use super::{Checker, Step};

/// The sequence has no gap, times never decrease, the fold of the whole is the state, and what the store took is
/// what it still has.
#[derive(Clone, Debug, Default)]
pub struct Fold {
    taken: BTreeMap<(SagaId, u64), JournalRow>,
}

impl Checker for Fold {
    fn invariant(&self) -> &'static str {
        "I6"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step {
            Step::Impossible(saga, reason) => {
                Err(format!("the journal of {saga} cannot be folded: {reason}"))
            }
            Step::Accepted(accepted) => {
                let place = (accepted.saga, accepted.row.seq);
                self.taken.entry(place).or_insert_with(|| accepted.row.clone());
                Ok(())
            }
            Step::Transitioned(transitioned) => {
                let times = transitioned.journal.iter().rev().map(|transition| transition.at).take(2);
                if times.is_sorted_by(|later, earlier| later >= earlier) {
                    return transitioned.told("I6");
                }
                Err("time went back".to_owned())
            }
            Step::Settled(moment, end) => {
                for (saga, told) in moment.sagas {
                    if replay(&told.plan, &told.journal).as_ref() != Ok(&told.state) {
                        return Err(format!("the state of {saga} is not the fold of its journal"));
                    }
                }
                let stored =
                    end.stored.iter().flat_map(|saga| saga.journal.iter().map(|row| (saga.row.id, row)));
                let stored: BTreeMap<_, _> = stored.map(|(saga, row)| ((saga, row.seq), row)).collect();
                // What was purged has a checker of its own.
                let is_whole = |row: &&SagaRow| row.phase != "purged";
                let whole: BTreeSet<SagaId> = moment.rows.iter().filter(is_whole).map(|row| row.id).collect();
                let taken = || self.taken.iter().filter(|((saga, _), _)| whole.contains(saga));
                for (place, row) in taken() {
                    if stored.get(place) != Some(&row) {
                        return Err(format!("row {} of {} is not what it was", place.1, place.0));
                    }
                }
                if stored.keys().filter(|(saga, _)| whole.contains(saga)).count() == taken().count() {
                    Ok(())
                } else {
                    Err("rows came from nowhere".to_owned())
                }
            }
            _ => Ok(()),
        }
    }
}
