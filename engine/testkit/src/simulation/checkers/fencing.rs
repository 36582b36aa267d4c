//! I8: one writer at a time.

use std::collections::{BTreeMap, BTreeSet};

use amends_core::{Incarnation, SagaId, TransitionId};

use super::{Checker, Step};

/// No two transitions at one sequence, and nothing new from an incarnation without `worker` row.
#[derive(Clone, Debug, Default)]
pub struct Fencing {
    taken: BTreeMap<(SagaId, u64), TransitionId>,
    ended: BTreeSet<Incarnation>,
}

impl Checker for Fencing {
    fn invariant(&self) -> &'static str {
        "I8"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step {
            Step::Ended(incarnation) => {
                self.ended.insert(*incarnation);
            }
            Step::Accepted(accepted) => {
                let (saga, seq, by) = (accepted.saga, accepted.row.seq, accepted.by);
                let before = self.taken.insert((saga, seq), accepted.row.transition);
                if before.is_some_and(|before| before != accepted.row.transition) {
                    return Err(format!("two transitions were taken at sequence {seq} of {saga}"));
                }
                if before.is_none() && self.ended.contains(&by) {
                    return Err(format!("{by} appended sequence {seq} of {saga} after it was dismissed"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
