//! What a person may do: every verb there is. Anything else is refused with the state as the reason, and
//! nothing changes; what is done is answered, and the same operation id gets the same answer for ever.
//!
//! One file per kind: `direction` (which way the saga goes, and whether it moves), `go_on` (let something go on),
//! `settle` (say what an outcome is), `compensate` (undo), `requests` (what two people decide), `items` (notes).

mod compensate;
mod direction;
mod go_on;
mod items;
mod requests;
mod settle;

pub(crate) use requests::effects_in_place;

use super::scribe::Scribe;
use crate::event::{Answer, JournalEvent, Verb};
use crate::machine::{Command, Operation, Rejected};

/// Obeys a person's command.
pub(super) fn obey(s: &mut Scribe<'_>, command: Command) -> Result<(), Rejected> {
    match command {
        Command::Cancel(operation) => direction::cancel(s, operation),
        Command::TurnBack(operation) => direction::turn_back(s, operation),
        Command::Pause(operation) => direction::pause(s, operation),
        Command::Unpause(operation) => direction::unpause(s, operation),
        Command::Waive { action, operation } => direction::waive(s, action, operation),
        Command::Reject { action, operation } => direction::reject(s, action, operation),
        Command::Resume { action, operation } => go_on::resume(s, action, operation),
        Command::RetryNow { action, operation } => go_on::retry_now(s, action, operation),
        Command::SendAgain { action, override_reason, operation } => {
            go_on::send_again(s, action, override_reason, operation)
        }
        Command::Keep { action, until, operation } => go_on::keep(s, action, until, operation),
        Command::Accept { action, output, evidence, operation } => {
            settle::accept(s, action, output, evidence, operation)
        }
        Command::FoundByPerson { action, finding, evidence, operation } => {
            settle::found(s, action, finding, evidence, operation)
        }
        Command::Supply { action, output, evidence, operation } => {
            settle::supply(s, action, output, evidence, operation)
        }
        Command::CompensateInDoubt { action, operation } => compensate::in_doubt(s, action, operation),
        Command::Compensate { action, order, operation } => compensate::request(s, action, order, operation),
        Command::Close { follow_up, named, operation } => requests::close(s, follow_up, named, operation),
        Command::Approve { request, operation } => requests::approve(s, request, operation),
        Command::Deny { request, operation } => requests::deny(s, request, operation),
        Command::Assign { item, assignee, operation } => {
            items::annotate(s, Verb::Assign, item, Some(assignee), None, operation)
        }
        Command::SetDisposition { item, disposition, operation } => {
            items::annotate(s, Verb::SetDisposition, item, None, Some(disposition), operation)
        }
        Command::Claim { .. }
        | Command::ClaimPaused { .. }
        | Command::Begin { .. }
        | Command::InputFailed { .. }
        | Command::DecideBranch { .. }
        | Command::ConditionFailed { .. }
        | Command::Withdraw { .. }
        | Command::Answer { .. }
        | Command::BeginQuery { .. }
        | Command::Found { .. }
        | Command::QueryFailed { .. }
        | Command::Tick => unreachable!("`advance` sends only what persons ask for here"),
    }
}

/// Does what a person asks for, once: an operation id that was used for the same verb before has its answer
/// already.
fn once(
    s: &mut Scribe<'_>,
    operation: Operation,
    verb: Verb,
    ask: impl FnOnce(&mut Scribe<'_>, &Operation) -> Result<Answer, Rejected>,
) -> Result<(), Rejected> {
    match s.state.answers.get(&operation.id) {
        Some((asked, _)) if *asked == verb => return Ok(()),
        Some((asked, _)) => {
            return Err(Rejected::state(format!(
                "the operation id `{}` was used for {asked:?} before; each operation needs its own",
                operation.id
            )));
        }
        None => {}
    }
    let answer = ask(s, &operation)?;
    answered(s, operation, verb, answer);
    Ok(())
}

/// Journals what a person was answered.
pub(super) fn answered(s: &mut Scribe<'_>, operation: Operation, verb: Verb, answer: Answer) {
    let Operation { id, actor, reason } = operation;
    s.record(JournalEvent::Answered { operation: id, verb, actor, reason, answer });
}

/// Refuses with the state as the reason.
fn refuse<T>(reason: impl Into<String>) -> Result<T, Rejected> {
    Err(Rejected::state(reason))
}
