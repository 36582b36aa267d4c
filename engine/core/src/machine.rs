//! The machine: command in, facts out, agenda polled.
//!
//! [`decide`] turns a command into facts and changes nothing; [`apply`] folds one fact into the state;
//! [`replay`] is the fold of a whole journal; [`crate::agenda()`] asks the state what to do next. Effects are
//! asked for by the agenda and never returned by `decide`, so a restart is `replay` and `agenda`.

mod command;

pub use command::{Attempted, Command, Operation, Start};

use crate::event::{JournalEvent, Transition};
use crate::plan::SagaPlan;
use crate::state::SagaState;
use crate::time::Timestamp;

/// The command cannot be obeyed in this state. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejected {
    /// The plan has no such action.
    #[error("decide: the workflow has no action `{0}`")]
    NoSuchAction(String),
    /// The state does not allow it; the reason is for the person or caller who asked.
    #[error("decide: {0}")]
    State(String),
    /// The rule is not built yet.
    #[error("decide: not yet: {0}")]
    NotYet(String),
}

/// A journal that no machine of this plan can have written: hole, unknown step, impossible transition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("replay the journal at sequence {seq}: {reason}")]
pub struct CorruptJournal {
    /// The row.
    pub seq: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// The first facts of a new saga, and its state.
pub fn start(plan: &SagaPlan, start: Start, now: Timestamp) -> (SagaState, Vec<JournalEvent>) {
    let _ = (plan, start, now);
    unreachable!()
}

/// Which facts follow from `command`. Reads no clock, draws no randomness, changes nothing; every event it
/// returns, [`apply`] accepts.
///
/// # Errors
/// When the state does not allow the command.
pub fn decide(
    plan: &SagaPlan,
    state: &SagaState,
    command: Command,
    now: Timestamp,
) -> Result<Vec<JournalEvent>, Rejected> {
    let mut scratch = state.clone();
    advance(plan, &mut scratch, command, now)
}

/// [`decide`] and [`apply`] in one pass over one state, for the hot path. On an error the state is untouched.
///
/// # Errors
/// As [`decide`].
pub fn advance(
    plan: &SagaPlan,
    state: &mut SagaState,
    command: Command,
    now: Timestamp,
) -> Result<Vec<JournalEvent>, Rejected> {
    let _ = (plan, state, command, now);
    Err(Rejected::NotYet("the machine".into()))
}

/// Folds one fact into the state.
///
/// # Errors
/// When no machine of this plan can have written it.
pub fn apply(
    plan: &SagaPlan,
    state: SagaState,
    at: Timestamp,
    event: &JournalEvent,
) -> Result<SagaState, CorruptJournal> {
    let _ = (plan, at, event);
    Ok(state)
}

/// The fold of a whole journal.
///
/// # Errors
/// When the sequence has a hole, does not begin with a start of this plan, or holds an impossible fact.
pub fn replay(plan: &SagaPlan, journal: &[Transition]) -> Result<SagaState, CorruptJournal> {
    let _ = (plan, journal);
    Err(CorruptJournal { seq: 0, reason: "empty".into() })
}
