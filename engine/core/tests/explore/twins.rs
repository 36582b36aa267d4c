//! Two states with one key are one state to the search. So every move that one of them can make, the other can make,
//! too, at the same cost, and both come to one key again. This is compared, for a sample.

use std::collections::{BTreeMap, HashMap};

use amends_core::machine::advance;
use amends_core::{SagaPlan, SagaState, Timestamp};

use crate::key::{self, Key};
use crate::left::Left;
use crate::moves::{Does, Moves};
use crate::story;

/// One state is compared with so many others.
const COMPARED_MAX: u32 = 16;

/// States that were kept to be compared, by their keys.
#[derive(Default)]
pub(crate) struct Twins(HashMap<Key, Kept>);

struct Kept {
    state: SagaState,
    now: Timestamp,
    compared: u32,
}

impl Twins {
    pub(crate) fn keep(&mut self, key: Key, state: SagaState, now: Timestamp) {
        self.0.entry(key).or_insert(Kept { state, now, compared: 0 });
    }

    /// Compares this state with the one that was kept under its key; was there one, and was it another?
    ///
    /// # Errors
    /// What one of them can do and the other cannot.
    pub(crate) fn compare(
        &mut self,
        plan: &SagaPlan,
        alike: &[usize],
        key: Key,
        state: &SagaState,
        now: Timestamp,
        left: Left,
    ) -> Result<bool, String> {
        let Some(kept) = self.0.get_mut(&key) else { return Ok(false) };
        let same = (&kept.state, kept.now) == (state, now);
        if same || kept.compared == COMPARED_MAX {
            return Ok(false);
        }
        kept.compared += 1;
        let one = onward(plan, alike, &kept.state, kept.now, left);
        let other = onward(plan, alike, state, now, left);
        let twin = story::ending(plan, &kept.state, kept.now);
        for (mine, theirs, whose) in [(&one, &other, "it"), (&other, &one, "this one")] {
            if let Some((_, said)) = mine.iter().find(|(step, _)| !theirs.contains_key(step)) {
                return Err(format!(
                    "another state has the same key:\n{twin}and only {whose} goes on by {said}"
                ));
            }
        }
        Ok(true)
    }
}

/// What is done, what it costs, and the key that it leads to.
type Step = (String, String, Key);

/// Where the moves of a state lead, but for those that leave it as it is, and one move in full for each.
fn onward(
    plan: &SagaPlan,
    alike: &[usize],
    state: &SagaState,
    now: Timestamp,
    left: Left,
) -> BTreeMap<Step, String> {
    let at = key::of(plan, alike, state, now, left);
    let mut onward = BTreeMap::new();
    for one in Moves::of(plan, state, now, left).all {
        let after = left.after(one.cost).expect("only what can be paid is made");
        let said = format!("{:?}", one.does);
        let mut next = state.clone();
        let now = match one.does {
            Does::Pass(to) => to,
            Does::Obey(command) => {
                if advance(plan, &mut next, *command, now).is_err() {
                    continue;
                }
                now
            }
        };
        let key = key::of(plan, alike, &next, now, after);
        if key != at {
            onward.insert((word(&said), format!("{:?}", one.cost), key), said);
        }
    }
    onward
}

/// The name of what is done: `Obey(Answer { action: …` is an `Answer`.
fn word(said: &str) -> String {
    let inner = said.strip_prefix("Obey(").unwrap_or(said);
    inner.chars().take_while(|letter| letter.is_alphanumeric()).collect()
}
