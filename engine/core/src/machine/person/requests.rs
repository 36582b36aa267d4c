//! What two people decide: close, approve, deny.

use super::compensate::is_compensated;
use super::{answered, once, refuse};
use crate::event::{Answer, Because, CloseRequested, JournalEvent, Verb};
use crate::id::ActionId;
use crate::machine::scribe::Scribe;
use crate::machine::{Operation, Rejected, turn};
use crate::plan::{SagaPlan, StepKind};
use crate::state::{Effect, SagaState, Stage};

/// A person asks to end what cannot be finished.
pub(super) fn close(
    s: &mut Scribe<'_>,
    follow_up: String,
    named: Vec<ActionId>,
    operation: Operation,
) -> Result<(), Rejected> {
    once(s, operation, Verb::Close, |s, operation| {
        may_close(s, &named)?;
        if let Some((closing, _)) = &s.state.closing {
            return refuse(format!(
                "`{}` asked to close it already, and waits for another person",
                closing.by
            ));
        }
        s.record(JournalEvent::CloseRequested(CloseRequested {
            operation: operation.id.clone(),
            by: operation.actor.clone(),
            reason: operation.reason.clone(),
            follow_up,
            named,
        }));
        Ok(Answer::Pending)
    })
}

fn may_close(s: &Scribe<'_>, named: &[ActionId]) -> Result<(), Rejected> {
    if s.state.phase.is_ended() {
        return refuse("the saga has ended");
    }
    if let Some((id, _)) = s.state.actions(s.plan).find(|(_, a)| a.running.is_some()) {
        return refuse(format!("an attempt of `{id}` is running: wait for its answer"));
    }
    let open = effects_in_place(s.plan, s.state)
        .into_iter()
        .filter(|(_, effect)| matches!(effect, Effect::Possible | Effect::Partial))
        .find(|(id, _)| !named.contains(id));
    match open {
        Some((id, effect)) => {
            refuse(format!("the effect of `{id}` is {}: the closing has to name it", effect.word()))
        }
        None => Ok(()),
    }
}

/// The effects that are in place, or may be: of every step that is not compensated, and of compensations that
/// are not known to have been made or not.
pub(crate) fn effects_in_place(plan: &SagaPlan, state: &SagaState) -> Vec<(ActionId, Effect)> {
    let mut effects = Vec::new();
    for (id, a) in state.actions(plan) {
        let ix = plan.find(&id.step).expect("it is an action of the plan");
        let stands = if id.is_forward() {
            plan.step(ix).kind != StepKind::Read
                && a.effect != Effect::None
                && !is_compensated(state.step(ix))
        } else {
            matches!(a.effect, Effect::Possible | Effect::Partial)
        };
        if stands {
            effects.push((id, a.effect));
        }
    }
    effects
}

/// What waits for another person.
enum Waiting {
    Closing(CloseRequested),
    Stale,
    Requested { by: String, asked: Option<Operation> },
}

fn waiting(s: &Scribe<'_>, request: &str) -> Result<Waiting, Rejected> {
    if let Some((closing, _)) = &s.state.closing
        && *closing.operation.0 == *request
    {
        return Ok(Waiting::Closing(closing.clone()));
    }
    let nothing = || match request {
        "" => Rejected::state("no request to close it waits for another person"),
        request => Rejected::state(format!("nothing named `{request}` waits for approval")),
    };
    let action: ActionId = request.parse().map_err(|_| nothing())?;
    let a = s.state.action(s.plan, &action).ok_or_else(nothing)?;
    if s.state.is_over(&action) {
        return refuse("the saga was closed");
    }
    if a.quarantine.is_some_and(|(because, _)| because == Because::Stale) && a.stage == Stage::Quarantined {
        return Ok(Waiting::Stale);
    }
    match s.state.manual(s.plan, &action).filter(|_| s.state.awaits_approval(s.plan, &action)) {
        Some(manual) => {
            let by = manual.request.requested_by.clone();
            let reason = manual.request.reason.clone().unwrap_or_default();
            let asked =
                manual.request.operation.clone().map(|id| Operation { id, actor: by.clone(), reason });
            Ok(Waiting::Requested { by, asked })
        }
        None => Err(nothing()),
    }
}

/// Another person approves what waits for it.
pub(super) fn approve(s: &mut Scribe<'_>, request: String, operation: Operation) -> Result<(), Rejected> {
    once(s, operation, Verb::Approve, |s, operation| {
        let waiting = waiting(s, &request)?;
        let requester = match &waiting {
            Waiting::Closing(closing) => Some(&closing.by),
            Waiting::Requested { by, .. } => Some(by),
            Waiting::Stale => None,
        };
        if requester == Some(&operation.actor) {
            return refuse("another person than the requester has to approve it");
        }
        match waiting {
            Waiting::Closing(closing) => closed(s, closing, &operation.actor)?,
            Waiting::Stale => decided(s, request, operation, true),
            Waiting::Requested { asked, .. } => {
                decided(s, request, operation, true);
                if let Some(asked) = asked {
                    answered(s, asked, Verb::Compensate, Answer::Accepted);
                }
            }
        }
        Ok(Answer::Accepted)
    })
}

fn closed(s: &mut Scribe<'_>, closing: CloseRequested, approved_by: &str) -> Result<(), Rejected> {
    may_close(s, &closing.named)?; // What has changed since the request may have to be named, too.
    let CloseRequested { operation, by, reason, .. } = closing;
    let effects_in_place = effects_in_place(s.plan, s.state).into_iter().map(|(id, _)| id).collect();
    // A wish that could not be decided is answered: there is nothing left to turn back.
    for wish in s.state.wishes.clone() {
        turn::answer_wish(s, wish, &Answer::TooLate);
    }
    let (request, approved_by) = (operation.clone(), approved_by.to_owned());
    s.record(JournalEvent::Closed { request, approved_by, effects_in_place });
    answered(s, Operation { id: operation, actor: by, reason }, Verb::Close, Answer::Accepted);
    Ok(())
}

fn decided(s: &mut Scribe<'_>, request: String, operation: &Operation, approved: bool) {
    let (operation, by) = (operation.id.clone(), operation.actor.clone());
    s.record(JournalEvent::RequestDecided { operation, request, by, approved });
}

/// Another person denies it: a request is off, and a stale compensation stays quarantined.
pub(super) fn deny(s: &mut Scribe<'_>, request: String, operation: Operation) -> Result<(), Rejected> {
    once(s, operation, Verb::Deny, |s, operation| {
        let waiting = waiting(s, &request)?;
        decided(s, request, operation, false);
        let reason = format!("denied by {}: {}", operation.actor, operation.reason);
        let (asked, verb) = match waiting {
            Waiting::Closing(closing) => {
                let CloseRequested { operation: id, by: actor, reason, .. } = closing;
                (Some(Operation { id, actor, reason }), Verb::Close)
            }
            Waiting::Requested { asked, .. } => (asked, Verb::Compensate),
            Waiting::Stale => (None, Verb::Compensate),
        };
        if let Some(asked) = asked {
            answered(s, asked, verb, Answer::Refused { reason });
        }
        Ok(Answer::Accepted)
    })
}
