//! What a person may do: `resume` and `accept`. (`cancel` is in `turn`.) The other verbs come later, and are
//! refused with the reason "not yet" by [`crate::agenda::verbs`].

use super::branch;
use super::scribe::Scribe;
use super::turn::{already_asked, answered};
use crate::event::{Answer, JournalEvent, Verb};
use crate::id::{ActionId, StepIx};
use crate::json::Json;
use crate::machine::fold::{NOTHING_TO_UNDO, UNDONE};
use crate::machine::{Operation, Rejected};
use crate::plan::SagaPlan;
use crate::state::{Action, SagaState, Stage};

/// A quarantined action goes on with a fresh, stated budget, under the same request id.
pub(super) fn resume(s: &mut Scribe<'_>, action: ActionId, operation: Operation) -> Result<(), Rejected> {
    if already_asked(s, &operation, Verb::Resume)? {
        return Ok(());
    }
    let (_, a) = s.find(&action)?;
    may_resume(s.state, &action, a).map_err(Rejected::State)?;
    let policy = s.policy(&action);
    let (attempts, deadline) = (policy.max_attempts, s.now + policy.give_up_after);
    s.record(JournalEvent::Resumed { action, operation: operation.id.clone(), attempts, deadline });
    answered(s, operation, Verb::Resume, Answer::Accepted);
    Ok(())
}

pub(crate) fn may_resume(state: &SagaState, id: &ActionId, a: &Action) -> Result<(), String> {
    if state.phase.is_ended() {
        return Err("the saga has ended".into());
    }
    if a.stage != Stage::Quarantined {
        return Err(format!("only a QUARANTINED action can be resumed, and `{id}` is {}", a.stage.name()));
    }
    if id.is_forward() && state.turned.is_some() {
        return Err("the saga has turned back: nothing goes forward".into());
    }
    Ok(())
}

/// A person settles an action as applied.
pub(super) fn accept(
    s: &mut Scribe<'_>,
    action: ActionId,
    output: Option<Json>,
    evidence: String,
    operation: Operation,
) -> Result<(), Rejected> {
    if already_asked(s, &operation, Verb::Accept)? {
        return Ok(());
    }
    let (ix, a) = s.find(&action)?;
    may_accept(s.plan, s.state, &action, a).map_err(Rejected::State)?;
    check_output(s.plan, ix, &action, output.as_ref())?;
    s.record(JournalEvent::AcceptedByPerson { action, operation: operation.id.clone(), output, evidence });
    answered(s, operation, Verb::Accept, Answer::Accepted);
    Ok(())
}

pub(crate) fn may_accept(
    plan: &SagaPlan,
    state: &SagaState,
    id: &ActionId,
    a: &Action,
) -> Result<(), String> {
    if state.phase.is_ended() {
        return Err("the saga has ended".into());
    }
    if id.is_forward() && state.compensation_began(plan, id) {
        return Err(format!("the compensation of `{}` settles it", id.step));
    }
    let undecided = plan.find(&id.step).and_then(|ix| branch::undecided_around(plan, state, ix));
    if let Some(branch) = undecided.filter(|_| id.is_forward()) {
        return Err(format!("the branch `{}` is not decided", plan.branch(branch).name));
    }
    match a.stage {
        Stage::Quarantined => Ok(()),
        Stage::Reconciling if a.running.is_none() => Ok(()),
        Stage::Reconciling => Err(format!("an attempt of `{id}` is running: wait for its answer")),
        Stage::Pending
        | Stage::Ready
        | Stage::Running
        | Stage::RetryScheduled
        | Stage::Succeeded
        | Stage::Partial
        | Stage::TerminalRejected
        | Stage::Skipped => Err(format!(
            "only a QUARANTINED or RECONCILING action can be accepted, and `{id}` is {}",
            a.stage.name()
        )),
    }
}

fn check_output(plan: &SagaPlan, ix: StepIx, id: &ActionId, output: Option<&Json>) -> Result<(), Rejected> {
    match output {
        Some(value) if id.is_forward() || matches!(value.text(), UNDONE | NOTHING_TO_UNDO) => Ok(()),
        Some(value) => Err(Rejected::state(format!(
            "a compensation is accepted with {UNDONE} or {NOTHING_TO_UNDO}, not with {value}"
        ))),
        None if id.is_forward() && !plan.needs_output(ix) => Ok(()),
        None if id.is_forward() => {
            let step = &plan.step(ix).name;
            Err(Rejected::state(format!(
                "another step, or the result, needs the output of `{step}`: give it"
            )))
        }
        None => Err(Rejected::state(format!("say {UNDONE} or {NOTHING_TO_UNDO}"))),
    }
}
