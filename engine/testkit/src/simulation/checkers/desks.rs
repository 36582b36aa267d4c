//! I13: the desks are what the journals say.

use amends::ports::WorkItemRow;
use amends_core::agenda::desk;
use amends_core::{SagaPlan, SagaState};

use super::{Checker, Step};

/// The entries of a saga are those of its state, exactly, after every transition and at the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Desks;

fn compare<'a>(
    plan: &SagaPlan,
    state: &SagaState,
    items: impl Iterator<Item = &'a WorkItemRow>,
) -> Result<(), String> {
    let mut wanted: Vec<_> = desk(plan, state)
        .into_iter()
        .map(|item| {
            let name = (item.name(), item.desk.word(), item.because.code().to_owned());
            (name, item.since, item.effect.word(), item.attempts)
        })
        .collect();
    let mut stored: Vec<_> = items
        .map(|row| ((row.item.clone(), row.desk, row.reason.clone()), row.since, row.effect, row.attempts))
        .collect();
    wanted.sort();
    stored.sort();
    if wanted == stored {
        return Ok(());
    }
    Err(format!("the desks of {} have {stored:?}, and its journal says {wanted:?}", state.key))
}

impl Checker for Desks {
    fn invariant(&self) -> &'static str {
        "I13"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step {
            Step::Transitioned(transitioned) => {
                compare(transitioned.plan, transitioned.after, transitioned.items.iter())
            }
            Step::Settled(moment, end) => {
                for (saga, told) in moment.sagas {
                    let items = end.items.iter().filter(|(of, _)| of == saga).map(|(_, item)| item);
                    compare(&told.plan, &told.state, items)?;
                }
                let unknown = end.items.iter().find(|(saga, _)| !moment.sagas.contains_key(saga));
                unknown.map_or(Ok(()), |(saga, _)| Err(format!("an entry is of {saga}, which there is not")))
            }
            _ => Ok(()),
        }
    }
}
