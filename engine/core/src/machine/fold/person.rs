//! What people ordered of one action, or found out about it.

use super::{Folded, action, expect, find};
use crate::event::{Because, Finding, JournalEvent, Omitted, Recorded};
use crate::id::{ActionId, StepIx};
use crate::json::Json;
use crate::machine::table::Moment;
use crate::plan::{SagaPlan, Source};
use crate::state::{Action, Ask, Dispute, Effect, SagaState, SettlePlan, Stage};
use crate::time::Timestamp;

pub(super) fn fold(plan: &SagaPlan, state: &mut SagaState, at: Timestamp, event: &JournalEvent) -> Folded {
    let id = action_of(event);
    let (action, read) = find(plan, state, id)?;
    one(action, read, at, event)?;
    match event {
        JournalEvent::Supplied { .. } => release_successors(plan, state, id, at)?,
        JournalEvent::Waived { .. } => {
            let ix = plan.find(&id.step).expect("the action was found");
            state.steps[ix.0].waived = true;
        }
        _ => {}
    }
    action::settled(plan, state, id, at)
}

fn action_of(event: &JournalEvent) -> &ActionId {
    match event {
        JournalEvent::Resumed { action, .. }
        | JournalEvent::AcceptedByPerson { action, .. }
        | JournalEvent::FoundByPerson { action, .. }
        | JournalEvent::HurriedByPerson { action, .. }
        | JournalEvent::SendAgainOrdered { action, .. }
        | JournalEvent::RejectedByPerson { action, .. }
        | JournalEvent::Supplied { action, .. }
        | JournalEvent::Waived { action, .. }
        | JournalEvent::KeptWaiting { action, .. }
        | JournalEvent::InDoubtCompensationOrdered { action, .. } => action,
        other => unreachable!("fold sends only what people ordered here, not {other:?}"),
    }
}

fn one(action: &mut Action, read: bool, at: Timestamp, event: &JournalEvent) -> Folded {
    match event {
        JournalEvent::Resumed { attempts, deadline, .. } => {
            resumed(action, at)?;
            action.granted = Some(*attempts);
            action.deadline = Some(*deadline);
            Ok(())
        }
        JournalEvent::AcceptedByPerson { output, .. } => {
            let output = accepted(output.as_ref());
            match &mut action.dispute {
                Some(dispute) => said(dispute, Finding::Applied(output)),
                None => action::succeed(action, read, output, at),
            }
        }
        JournalEvent::FoundByPerson { finding, next, .. } => match &mut action.dispute {
            Some(dispute) => said(dispute, finding.clone()),
            None => action::found(action, finding, next, at),
        },
        JournalEvent::HurriedByPerson { .. } if action.stage == Stage::RetryScheduled => {
            action::shift(action, Moment::Hurried, at)?;
            action.retry_at = None;
            action.ordered = true;
            Ok(())
        }
        JournalEvent::HurriedByPerson { .. } => settle(action, SettlePlan::QueryAt(at)),
        JournalEvent::SendAgainOrdered { .. } => {
            action.ordered = true;
            settle(action, SettlePlan::OrderedAt(at))
        }
        JournalEvent::RejectedByPerson { .. } => action::without_effect(action, Moment::Refused, at),
        JournalEvent::Supplied { output, .. } => {
            expect(action.omitted().is_some(), "its result is recorded")?;
            action.output = Some(Recorded::Value(output.clone()));
            Ok(())
        }
        JournalEvent::Waived { .. } => action::without_effect(action, Moment::Skipped, at),
        JournalEvent::KeptWaiting { until, .. } => settle(action, SettlePlan::QueryAt(*until)),
        JournalEvent::InDoubtCompensationOrdered { .. } => {
            action.doubt_ordered = true;
            Ok(())
        }
        other => unreachable!("fold sends only what people ordered here, not {other:?}"),
    }
}

/// What a person said about a dispute. If that settles it, a fact of its own follows.
fn said(dispute: &mut Dispute, finding: Finding) -> Folded {
    dispute.ask = Ask::Person { found: Some(finding) };
    Ok(())
}

/// READY again, with the attempts counted anew from here.
pub(super) fn resumed(action: &mut Action, at: Timestamp) -> Folded {
    expect(action.effect == Effect::None, "what may have an effect is not tried again")?;
    action::shift(action, Moment::Resumed, at)?;
    action.quarantine = None;
    action.attempts_before = action.attempts;
    action.ready_at = Some(at);
    action.ordered = true;
    Ok(())
}

fn settle(action: &mut Action, plan: SettlePlan) -> Folded {
    expect(action.running.is_none(), "an attempt is running")?;
    action.settling.as_mut().ok_or("nothing is being settled")?.plan = plan;
    Ok(())
}

/// What is recorded as the result when a person accepts without one.
fn accepted(output: Option<&Json>) -> Recorded {
    match output {
        Some(value) => Recorded::Value(value.clone()),
        None => Recorded::Omitted(Omitted {
            reason: "accepted by a person without a result".into(),
            digest: None,
            size: 0,
        }),
    }
}

/// Steps that were quarantined because a result was missing become READY once all their results are there.
fn release_successors(plan: &SagaPlan, state: &mut SagaState, id: &ActionId, at: Timestamp) -> Folded {
    let of = plan.find(&id.step).expect("the action was found");
    for ix in plan.indices() {
        let read = plan.step(ix).input.sources().iter().any(|source| reads(plan, *source, of));
        let decides =
            plan.sides_around(ix).any(|side| plan.graph.decision_parents(side.branch).contains(&of));
        let waits = (read || decides) && waits_for_input(&state.step(ix).forward);
        if waits && (!read || has_input(plan, state, ix)) {
            resumed(&mut state.steps[ix.0].forward, at)?;
        }
    }
    Ok(())
}

fn waits_for_input(action: &Action) -> bool {
    action.stage == Stage::Quarantined && action.quarantine.is_some_and(|(why, _)| why == Because::Input)
}

/// Does this source perhaps stand for the result of the step `of`?
fn reads(plan: &SagaPlan, source: Source, of: StepIx) -> bool {
    match source {
        Source::SagaInput => false,
        Source::Step(ix) => ix == of,
        Source::Branch(ix) => {
            let gives = plan.branch(ix).gives;
            [true, false]
                .into_iter()
                .filter_map(|taken| gives.of(taken))
                .any(|source| reads(plan, source, of))
        }
    }
}

fn has_input(plan: &SagaPlan, state: &SagaState, ix: StepIx) -> bool {
    plan.step(ix).input.sources().iter().all(|source| state.given(plan, *source).is_ok())
}
