//! What two people decide: a person requests, another approves or denies.

use super::{Folded, end, expect, find, fresh, person};
use crate::event::{Because, CompensationRequest, JournalEvent};
use crate::id::ActionId;
use crate::machine::table::Moment;
use crate::plan::SagaPlan;
use crate::state::{Ask, Manual, Phase, SagaState, SettlePlan, Stage};
use crate::time::Timestamp;

pub(super) fn fold(plan: &SagaPlan, state: &mut SagaState, at: Timestamp, event: &JournalEvent) -> Folded {
    match event {
        JournalEvent::CloseRequested(request) => {
            expect(state.closing.is_none(), "a request to close it waits already")?;
            state.closing = Some((request.clone(), at));
            Ok(())
        }
        JournalEvent::Closed { request, .. } => {
            let asked = state.closing.take().is_some_and(|(closing, _)| closing.operation == *request);
            expect(asked, "nobody asked to close it so")?;
            end(state, state.phase, Phase::Closed, at)?;
            state.wishes.clear();
            state.paused = None;
            stop_asking(state);
            Ok(())
        }
        JournalEvent::CompensationRequested(request) => requested(plan, state, at, request),
        JournalEvent::RequestDecided { request, by, approved, .. } => {
            decided(plan, state, at, request, by, *approved)
        }
        other => unreachable!("fold sends only requests here, not {other:?}"),
    }
}

/// No query of a closed saga is begun. Of an unknown outcome nobody waits for one any more: what it finds is news. One
/// about a dispute may still close its item.
fn stop_asking(state: &mut SagaState) {
    for step in &mut state.steps {
        for action in std::iter::once(&mut step.forward).chain(step.undo.as_mut()) {
            if let Some(settling) = &mut action.settling {
                settling.plan = SettlePlan::Person;
            }
            if let Some(dispute) = &mut action.dispute
                && matches!(dispute.ask, Ask::QueryAt(_))
            {
                dispute.ask = Ask::Person { found: None };
            }
        }
    }
}

fn requested(plan: &SagaPlan, state: &mut SagaState, at: Timestamp, request: &CompensationRequest) -> Folded {
    let ix = plan.find(&request.action.step).ok_or("the workflow has no such step")?;
    expect(state.manual(plan, &request.action).is_none(), "it was requested before")?;
    let mut action = fresh(at);
    action.expected = request.expected.clone();
    if request.approved_by.is_some() {
        super::shift(&mut action, Moment::Unblocked, at)?;
        action.ready_at = Some(at);
    }
    let manual = Manual { request: request.clone(), requested_at: at, denied: None, action };
    state.steps[ix.0].manual.push(manual);
    Ok(())
}

/// A request to close is known by its operation, a compensation by its action.
fn decided(
    plan: &SagaPlan,
    state: &mut SagaState,
    at: Timestamp,
    request: &str,
    by: &str,
    approved: bool,
) -> Folded {
    if state.closing.as_ref().is_some_and(|(closing, _)| *closing.operation.0 == *request) {
        expect(!approved, "an approved request closes the saga")?;
        state.closing = None;
        return Ok(());
    }
    let id: ActionId = request.parse().map_err(|_| "nobody requested that")?;
    let (action, _) = find(plan, state, &id)?;
    if action.stage == Stage::Quarantined {
        expect(action.found_instead.is_some(), "it does not wait for approval")?;
        if approved {
            // It starts with the present version as its expectation.
            action.expected = action.found_instead.take();
            (action.granted, action.deadline) = (None, None);
            return person::resumed(action, at);
        }
        action.quarantine = Some((Because::Denied, at));
        return Ok(());
    }
    expect(action.stage == Stage::Pending, "it does not wait for approval")?;
    if approved {
        super::shift(action, Moment::Unblocked, at)?;
        action.ready_at = Some(at);
    }
    let ix = plan.find(&id.step).expect("the action was found");
    let mut all = state.steps[ix.0].manual.iter_mut();
    let manual = all.find(|manual| manual.request.action == id).ok_or("nobody requested that")?;
    if approved {
        manual.request.approved_by = Some(by.to_owned());
    } else {
        manual.denied = Some(by.to_owned());
    }
    Ok(())
}
