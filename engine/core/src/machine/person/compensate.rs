//! Undo: compensate in doubt, and a compensation that a person requests.

use super::{once, refuse};
use crate::event::{Answer, CompensationRequest, JournalEvent, Verb};
use crate::id::{ActionId, Direction, StepIx};
use crate::machine::scribe::Scribe;
use crate::machine::{Approval, CompensationOrder, Operation, Rejected};
use crate::state::{Ask, Phase, Stage, StepState};

/// A person orders a compensation while the forward outcome is unknown.
pub(super) fn in_doubt(s: &mut Scribe<'_>, action: ActionId, operation: Operation) -> Result<(), Rejected> {
    once(s, operation, Verb::CompensateInDoubt, |s, operation| {
        let (_, a) = s.find(&action)?;
        if s.state.phase != Phase::Compensating {
            return refuse("only a saga that has turned back compensates");
        }
        if !action.is_forward() || s.step(&action).undo.is_none() {
            return refuse(format!("nothing compensates `{action}`"));
        }
        if a.stage != Stage::Reconciling {
            return refuse(format!(
                "only a RECONCILING action can be compensated in doubt, and `{action}` is {}",
                a.stage.name()
            ));
        }
        if a.running.is_some() {
            return refuse(format!("an attempt of `{action}` is running: wait for its answer"));
        }
        if s.state.compensation_began(s.plan, &action) || a.doubt_ordered {
            return Ok(Answer::Already);
        }
        s.record(JournalEvent::InDoubtCompensationOrdered { action, operation: operation.id.clone() });
        Ok(Answer::Accepted)
    })
}

/// A person requests a compensation: a new business action, under the id that they bring.
pub(super) fn request(
    s: &mut Scribe<'_>,
    action: ActionId,
    order: CompensationOrder,
    operation: Operation,
) -> Result<(), Rejected> {
    once(s, operation, Verb::Compensate, |s, operation| {
        let missing = || Rejected::NoSuchAction(action.to_string());
        let ix = s.plan.find(&action.step).ok_or_else(missing)?;
        if !matches!(action.direction, Direction::Manual(_)) {
            return refuse(format!("`{action}` is not the id of a requested compensation"));
        }
        if s.state.manual(s.plan, &action).is_some() {
            return Ok(Answer::Already); // The same id again returns the first result.
        }
        may_request(s, ix)?;
        let (approved_by, answer) = match order.approval {
            Approval::AnotherPerson => (None, Answer::Pending),
            Approval::Policy(name) => (Some(format!("policy {name}")), Answer::Accepted),
        };
        s.record(JournalEvent::CompensationRequested(CompensationRequest {
            action,
            reason_code: order.reason_code,
            requested_by: operation.actor.clone(),
            approved_by,
            expected: order.expected,
            proposed: order.proposed,
            affected: order.affected,
            dry_run: order.dry_run,
            operation: Some(operation.id.clone()),
            reason: Some(operation.reason.clone()),
        }));
        Ok(answer)
    })
}

fn may_request(s: &Scribe<'_>, ix: StepIx) -> Result<(), Rejected> {
    let (step, name) = (s.state.step(ix), &s.plan.step(ix).name);
    if s.plan.step(ix).undo.is_none() {
        return refuse(format!("the workflow has no compensation of `{name}`"));
    }
    if !s.state.phase.is_ended() && !s.state.past_pivot(s.plan) {
        return refuse("the saga is before its pivot: turn it back, and it compensates by itself");
    }
    if !step.forward.has_effect() && !found_applied(step) {
        return refuse(format!("`{name}` has no effect that is known to be in place"));
    }
    if is_compensated(step) {
        return refuse(format!("`{name}` is compensated"));
    }
    let open = |manual: &&crate::state::Manual| !manual.action.stage.is_settled() && manual.denied.is_none();
    if let Some(manual) = step.manual.iter().find(open) {
        return refuse(format!("`{}` is open", manual.request.action));
    }
    if step.undo.as_ref().is_some_and(|undo| undo.stage != Stage::Pending && !undo.stage.is_settled()) {
        return refuse(format!("the compensation of `{name}` is open"));
    }
    Ok(())
}

/// A dispute stands because it was found applied and nothing undoes it by itself.
fn found_applied(step: &StepState) -> bool {
    use crate::event::Finding::{Applied, Partial};
    step.forward
        .dispute
        .as_ref()
        .is_some_and(|dispute| matches!(&dispute.ask, Ask::Person { found: Some(Applied(_) | Partial(_)) }))
}

/// Has a compensation undone the effect?
pub(super) fn is_compensated(step: &StepState) -> bool {
    let by_itself = step.undo.as_ref().is_some_and(|undo| {
        // "Nothing to undo" is success too, unless a forward success contradicts it.
        let found = !undo.in_doubt || undo.has_effect();
        undo.stage == Stage::Succeeded && undo.dispute.is_none() && found
    });
    by_itself || step.manual.iter().any(|manual| manual.action.has_effect())
}
