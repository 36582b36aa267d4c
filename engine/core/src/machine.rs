//! The machine: command in, facts out, agenda polled.
//!
//! [`decide`] turns a command into facts and changes nothing; [`apply`] folds one fact into the state;
//! [`replay`] is the fold of a whole journal; [`crate::agenda()`] asks the state what to do next. Effects are
//! asked for by the agenda and never returned by `decide`, so a restart is `replay` and `agenda`.
//!
//! In reading order: [`table`] says which stage follows which; `fold` applies facts; `derive` moves what
//! follows from other moves; then one file per question that `decide` answers.

mod command;
pub mod table;

mod derive;
mod fold;

mod answer;
mod attempt;
pub(crate) mod branch;
mod dispute;
mod news;
pub(crate) mod person;
pub(crate) mod retry;
mod scribe;
pub(crate) mod settle;
mod timers;
mod turn;

pub use command::{Approval, Attempted, Command, CompensationOrder, Operation, PersonFinding, Start};

use crate::event::{JournalEvent, SagaStarted, Transition};
use crate::plan::SagaPlan;
use crate::state::SagaState;
use crate::time::Timestamp;
use scribe::Scribe;

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
}

impl Rejected {
    pub(crate) fn state(reason: impl Into<String>) -> Self {
        Self::State(reason.into())
    }
}

/// A journal that no machine of this plan can have written: hole, unknown step, impossible transition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("replay the journal at sequence {seq}: {reason}")]
pub struct CorruptJournal {
    /// The row; 0 where only the event is known.
    pub seq: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// The first facts of a new saga, and its state.
pub fn start(plan: &SagaPlan, start: Start, now: Timestamp) -> (SagaState, Vec<JournalEvent>) {
    let occurred_at = start.occurred_at.unwrap_or(now);
    let started = SagaStarted {
        saga: start.saga,
        workflow: plan.workflow.clone(),
        version: plan.version,
        key: start.key,
        input: start.input,
        occurred_at,
        deadline: plan.deadline.map(|after| occurred_at + after),
        owner: start.owner,
        trigger: start.trigger,
        trace: start.trace,
        tenant: start.tenant,
    };
    let mut state = SagaState::born(plan, &started, now);
    derive::derive(plan, &mut state, now);
    (state, vec![JournalEvent::SagaStarted(started)])
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
/// `now` earlier than the saga's newest fact counts as that fact's time: times in a journal never decrease.
///
/// # Errors
/// As [`decide`].
pub fn advance(
    plan: &SagaPlan,
    state: &mut SagaState,
    command: Command,
    now: Timestamp,
) -> Result<Vec<JournalEvent>, Rejected> {
    let now = now.max(state.at);
    let mut scribe = Scribe::new(plan, state, now);
    match command {
        Command::Claim { incarnation } => timers::claim(&mut scribe, incarnation),
        Command::ClaimPaused { incarnation } => timers::claim_paused(&mut scribe, incarnation),
        Command::Begin { action, input, expected } => {
            attempt::begin(&mut scribe, action, input, expected)?;
        }
        Command::InputFailed { action, failure } => attempt::input_failed(&mut scribe, action, failure)?,
        Command::DecideBranch { branch, taken } => branch::decide(&mut scribe, &branch, taken)?,
        Command::ConditionFailed { branch, failure } => {
            branch::condition_failed(&mut scribe, &branch, failure)?;
        }
        Command::Withdraw { action, attempt } => attempt::withdraw(&mut scribe, action, attempt)?,
        Command::Answer { action, attempt, answer } => {
            answer::answer(&mut scribe, action, attempt, answer)?;
        }
        Command::BeginQuery { action } => settle::begin_query(&mut scribe, action)?,
        Command::Found { action, query, finding } => settle::found(&mut scribe, action, query, finding)?,
        Command::QueryFailed { action, query, failure } => {
            settle::query_failed(&mut scribe, action, query, failure)?;
        }
        Command::Tick => timers::tick(&mut scribe),
        asked @ (Command::Cancel(_)
        | Command::TurnBack(_)
        | Command::Pause(_)
        | Command::Unpause(_)
        | Command::Resume { .. }
        | Command::RetryNow { .. }
        | Command::SendAgain { .. }
        | Command::Accept { .. }
        | Command::FoundByPerson { .. }
        | Command::Reject { .. }
        | Command::Supply { .. }
        | Command::Keep { .. }
        | Command::Waive { .. }
        | Command::Assign { .. }
        | Command::SetDisposition { .. }
        | Command::CompensateInDoubt { .. }
        | Command::Compensate { .. }
        | Command::Close { .. }
        | Command::Approve { .. }
        | Command::Deny { .. }) => person::obey(&mut scribe, asked)?,
    }
    turn::conclude(&mut scribe);
    Ok(scribe.finish())
}

/// Folds one fact into the state.
///
/// # Errors
/// When no machine of this plan can have written it.
pub fn apply(
    plan: &SagaPlan,
    mut state: SagaState,
    at: Timestamp,
    event: &JournalEvent,
) -> Result<SagaState, CorruptJournal> {
    match fold::fold(plan, &mut state, at, event) {
        Ok(()) => Ok(state),
        Err(reason) => Err(CorruptJournal { seq: 0, reason }),
    }
}

/// The fold of a whole journal.
///
/// # Errors
/// When the sequence has a hole, does not begin with a start of this plan, or holds an impossible fact.
pub fn replay(plan: &SagaPlan, journal: &[Transition]) -> Result<SagaState, CorruptJournal> {
    let corrupt = |seq, reason: &str| CorruptJournal { seq, reason: reason.to_owned() };
    let first = journal.first().ok_or_else(|| corrupt(0, "the journal is empty"))?;
    let Some(JournalEvent::SagaStarted(started)) = first.events.first() else {
        return Err(corrupt(first.seq, "the journal does not begin with SagaStarted"));
    };
    if (&*started.workflow, started.version) != (&*plan.workflow, plan.version) {
        let of = format!("it is of {} version {}", started.workflow, started.version);
        return Err(corrupt(first.seq, &of));
    }
    let mut state = SagaState::born(plan, started, first.at);
    derive::derive(plan, &mut state, first.at);
    for (expected, transition) in (1..).zip(journal) {
        if transition.seq != expected {
            return Err(corrupt(transition.seq, &format!("sequence {expected} is missing")));
        }
        let skip = usize::from(expected == 1);
        for event in &transition.events[skip..] {
            fold::fold(plan, &mut state, transition.at, event)
                .map_err(|reason| CorruptJournal { seq: transition.seq, reason })?;
        }
        // A row without facts (a question that was refused) counts for time all the same.
        state.at = state.at.max(transition.at);
    }
    Ok(state)
}
