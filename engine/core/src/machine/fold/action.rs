//! Facts of one action: its attempts and their answers, and how the unknown is settled.

use super::{Folded, NOTHING_TO_UNDO, expect, find};
use crate::event::{
    Because, Failure, FailureKind, Finding, JournalEvent, Next, Omitted, Recorded, StartCause,
};
use crate::id::{ActionId, Direction};
use crate::machine::table::{self, Moment};
use crate::plan::{SagaPlan, StepKind};
use crate::state::{Action, Ask, Effect, Running, SagaState, SettlePlan, Settling, Stage};
use crate::time::Timestamp;

pub(super) fn fold(plan: &SagaPlan, state: &mut SagaState, at: Timestamp, event: &JournalEvent) -> Folded {
    let id = action_of(event);
    if let JournalEvent::Started { input: Some(input), .. } = event {
        let ix = plan.find(&id.step).ok_or_else(|| format!("the workflow has no step `{}`", id.step))?;
        state.steps[ix.0].shaped = Some(input.clone());
    }
    let (action, read) = find(plan, state, id)?;
    one(action, read, at, event)?;
    settled(plan, state, id, at)
}

/// What follows for the step once an action of it has moved: the stage's promises are checked, and a success
/// settles more than itself.
pub(super) fn settled(plan: &SagaPlan, state: &mut SagaState, id: &ActionId, at: Timestamp) -> Folded {
    let (action, _) = find(plan, state, id)?;
    check(action, id)?;
    if action.stage != Stage::Succeeded {
        return Ok(());
    }
    let nothing = action.value().is_some_and(|value| value.text() == NOTHING_TO_UNDO);
    let ix = plan.find(&id.step).expect("the action was found");
    match id.direction {
        Direction::Compensation => settle_in_doubt(&mut state.steps[ix.0].forward, nothing, at)?,
        Direction::Manual(_) if !nothing => end_dispute(&mut state.steps[ix.0].forward),
        Direction::Manual(_) => {}
        Direction::Forward if plan.pivot == Some(ix) => {
            // There is no way back now. A wish of a person still has to be answered; a deadline's does not.
            state.wishes.retain(|wish| wish.operation.is_some());
        }
        Direction::Forward => {}
    }
    Ok(())
}

/// A compensation that a person requested has undone what stood as a discrepancy.
fn end_dispute(forward: &mut Action) {
    if let Some(dispute) = forward.dispute.take() {
        forward.effect = dispute.recorded;
    }
}

/// A compensation that ran in doubt settles its forward action too.
fn settle_in_doubt(forward: &mut Action, nothing: bool, at: Timestamp) -> Folded {
    if forward.stage != Stage::Reconciling {
        return Ok(());
    }
    if nothing {
        without_effect(forward, Moment::Skipped, at)
    } else {
        let marker = Omitted { reason: "settled by its compensation".into(), digest: None, size: 0 };
        succeed(forward, false, Recorded::Omitted(marker), at)
    }
}

fn action_of(event: &JournalEvent) -> &ActionId {
    match event {
        JournalEvent::Started { action, .. }
        | JournalEvent::Withdrawn { action, .. }
        | JournalEvent::Succeeded { action, .. }
        | JournalEvent::Refused { action, .. }
        | JournalEvent::Failed { action, .. }
        | JournalEvent::BecameUnknown { action, .. }
        | JournalEvent::Accepted { action, .. }
        | JournalEvent::PartlyApplied { action, .. }
        | JournalEvent::FencedOut { action, .. }
        | JournalEvent::Mismatched { action, .. }
        | JournalEvent::WentStale { action, .. }
        | JournalEvent::QueryStarted { action, .. }
        | JournalEvent::QueryAnswered { action, .. }
        | JournalEvent::QueryFailed { action, .. }
        | JournalEvent::Planned { action, .. } => action,
        other => unreachable!("fold sends only attempts and queries here, not {other:?}"),
    }
}

fn one(action: &mut Action, read: bool, at: Timestamp, event: &JournalEvent) -> Folded {
    match event {
        JournalEvent::Started { attempt, cause, expected, .. } => {
            if expected.is_some() {
                action.expected.clone_from(expected);
            }
            let (repeats, ordered) = (action.stage == Stage::Reconciling, action.ordered);
            started(action, read, Running { attempt: *attempt, since: at, cause: *cause, repeats, ordered })
        }
        JournalEvent::Withdrawn { attempt, .. } => withdrawn(action, *attempt, at),
        JournalEvent::Succeeded { attempt, output, .. } => {
            answered(action, *attempt, at);
            action.settled_by = *attempt;
            succeed(action, read, output.clone(), at)
        }
        JournalEvent::Refused { attempt, refusal, next, .. } => {
            answered(action, *attempt, at);
            action.refusal = Some(refusal.clone());
            follow(action, next, at)
        }
        JournalEvent::Failed { attempt, failure, next, .. } => {
            answered(action, Some(*attempt), at);
            action.failure = Some(failure.clone());
            follow(action, next, at)
        }
        JournalEvent::BecameUnknown { attempt, failure, next, .. } => {
            unknown(action, *attempt, at)?;
            action.failure = Some(failure.clone());
            follow(action, next, at)
        }
        JournalEvent::Accepted { attempt, next, .. } => {
            unknown(action, *attempt, at)?;
            if let Some(settling) = &mut action.settling {
                settling.accepted = true;
                if matches!(settling.plan, SettlePlan::RepeatAt(_)) {
                    settling.plan = SettlePlan::Reply; // What the participant has taken is not repeated.
                }
            }
            follow(action, next, at)
        }
        JournalEvent::PartlyApplied { attempt, output, next, .. } => {
            answered(action, *attempt, at);
            action.settled_by = *attempt;
            partly(action, output.as_ref(), next, at)
        }
        JournalEvent::FencedOut { attempt, through, next, .. } => {
            answered(action, Some(*attempt), at);
            let report = format!("closed out through attempt {through}");
            action.failure = Some(reported("answer", closed_out(next), "fenced", report));
            follow(action, next, at)
        }
        JournalEvent::Mismatched { attempt, failure, .. } => {
            unknown(action, *attempt, at)?;
            action.failure = Some(failure.clone());
            follow(action, &Next::Desk { because: Because::Mismatch }, at)
        }
        JournalEvent::WentStale { attempt, found, .. } => {
            answered(action, Some(*attempt), at);
            action.found_instead = Some(found.clone());
            follow(action, &Next::Quarantine { because: Because::Stale }, at)
        }
        other => asked(action, at, other),
    }
}

/// Queries, and what was decided without an answer.
fn asked(action: &mut Action, at: Timestamp, event: &JournalEvent) -> Folded {
    match event {
        JournalEvent::QueryStarted { query, fence_through, .. } => {
            query_started(action, *query, *fence_through, at)
        }
        JournalEvent::QueryAnswered { finding, next, .. } => query_answered(action, finding, next, at),
        JournalEvent::QueryFailed { failure, next, .. } => {
            action.failure = Some(failure.clone());
            match &mut action.dispute {
                Some(dispute) => {
                    dispute.ask = Ask::Person { found: None };
                    Ok(())
                }
                None => follow(action, next, at),
            }
        }
        JournalEvent::Planned { failure, next, .. } => {
            if let Some(failure) = failure {
                action.failure = Some(failure.clone());
            }
            follow(action, next, at)
        }
        other => unreachable!("fold sends only attempts and queries here, not {other:?}"),
    }
}

/// A takeover: whatever was under way is unknown now, for nobody listens to it any more.
pub(super) fn orphan(plan: &SagaPlan, state: &mut SagaState, at: Timestamp) -> Folded {
    for (step, planned) in state.steps.iter_mut().zip(&plan.steps) {
        let read = planned.kind == StepKind::Read;
        let forward = std::iter::once((&mut step.forward, read));
        let manual = step.manual.iter_mut().map(|manual| (&mut manual.action, false));
        for (action, read) in forward.chain(step.undo.iter_mut().map(|undo| (undo, false))).chain(manual) {
            if let Some(Ask::Querying { .. }) = action.dispute.as_ref().map(|dispute| &dispute.ask) {
                action.dispute.as_mut().expect("it was looked at").ask = Ask::QueryAt(at);
            }
            if let Some(running) = action.running.take() {
                action.last_sent_at = Some(at);
                if action.stage.is_settled() {
                    continue; // News had settled it; whatever this one says comes as news, too.
                }
                if read {
                    shift(action, Moment::RetryPlanned, at)?;
                } else {
                    action.unknown.push(running.attempt);
                    open(action, at)?;
                }
            } else if let Some(Settling { plan: SettlePlan::Querying { .. }, .. }) = action.settling {
                open(action, at)?;
            }
        }
    }
    Ok(())
}

/// The outcome is open, and how it goes on is not decided yet.
fn open(action: &mut Action, at: Timestamp) -> Folded {
    shift(action, Moment::BecameUnknown, at)?;
    action.effect = Effect::Possible;
    action.retry_at = None;
    action.quarantine = None;
    let settling = action.settling.get_or_insert(Settling {
        since: at,
        queries: 0,
        asked: 0,
        accepted: false,
        plan: SettlePlan::Undecided,
        item: None,
    });
    settling.plan = SettlePlan::Undecided;
    Ok(())
}

/// The outcome of this transmission is not known. What is planned about others stands until it is decided anew.
fn unknown(action: &mut Action, attempt: u32, at: Timestamp) -> Folded {
    let plan = action.settling.map(|settling| settling.plan);
    answered(action, Some(attempt), at);
    action.unknown.push(attempt);
    open(action, at)?;
    if let (Some(settling), Some(plan)) = (&mut action.settling, plan) {
        settling.plan = if plan == SettlePlan::Repeating { SettlePlan::Undecided } else { plan };
    }
    if let (Some(_), Some(settling)) = (action.running, &mut action.settling) {
        settling.plan = SettlePlan::Repeating;
    }
    Ok(())
}

fn started(action: &mut Action, read: bool, running: Running) -> Folded {
    expect(running.attempt == action.attempts + 1, "the attempt's number does not follow")?;
    expect(action.running.is_none(), "an attempt is running already")?;
    expect(action.dispute.is_none(), "what is disputed is not tried")?;
    shift(action, Moment::Started, running.since)?;
    action.attempts = running.attempt;
    action.running = Some(running);
    action.first_sent_at.get_or_insert(running.since);
    action.retry_at = None;
    action.ordered = false;
    if !read {
        action.effect = Effect::Possible;
    }
    if let Some(settling) = &mut action.settling {
        settling.plan = SettlePlan::Repeating;
    }
    Ok(())
}

fn withdrawn(action: &mut Action, attempt: u32, at: Timestamp) -> Folded {
    let running = action.running.filter(|running| running.attempt == attempt);
    let running = running.ok_or("that attempt is not running")?;
    if action.stage.is_settled() {
        action.running = None; // News had settled it.
        return Ok(());
    }
    shift(action, Moment::Withdrawn, at)?;
    action.running = None;
    action.ordered = running.ordered;
    action.attempts -= 1;
    if action.attempts == 0 {
        action.first_sent_at = None;
    }
    match &mut action.settling {
        // What made it unknown has been settled meanwhile, by answers that moved nothing.
        Some(_) if action.unknown.is_empty() => {
            without_effect(action, Moment::RetryPlanned, at)?;
            action.retry_at = Some(at);
        }
        Some(settling) => {
            settling.plan = match running.cause {
                StartCause::Ordered if running.repeats => SettlePlan::OrderedAt(at),
                StartCause::Repeat => SettlePlan::RepeatAt(at),
                // It was no repeat, and none is ordered: news made an earlier one unknown while it ran.
                StartCause::Ordered | StartCause::Ready | StartCause::Retry => SettlePlan::Undecided,
            };
        }
        None => action.effect = Effect::None,
    }
    Ok(())
}

/// The transmission has answered: it is neither running nor unknown any more.
pub(super) fn answered(action: &mut Action, attempt: Option<u32>, at: Timestamp) {
    if action.running.is_some_and(|running| Some(running.attempt) == attempt) {
        action.running = None;
        action.last_sent_at = Some(at);
    }
    action.unknown.retain(|unknown| Some(*unknown) != attempt);
}

pub(super) fn succeed(action: &mut Action, read: bool, output: Recorded, at: Timestamp) -> Folded {
    shift(action, Moment::Succeeded, at)?;
    let nothing = output.value().is_some_and(|value| value.text() == NOTHING_TO_UNDO);
    action.effect = if read || nothing { Effect::None } else { Effect::Applied };
    action.output = Some(output);
    clear(action);
    Ok(())
}

/// It took effect in part: its own compensation undoes that, or a person decides.
fn partly(action: &mut Action, output: Option<&Recorded>, next: &Next, at: Timestamp) -> Folded {
    match next {
        Next::Done => {
            shift(action, Moment::PartlyApplied, at)?;
            clear(action);
        }
        Next::Quarantine { because } => {
            shift(action, Moment::Quarantined, at)?;
            clear(action);
            action.quarantine = Some((*because, at));
        }
        other => return Err(format!("{other:?} cannot follow a partial effect")),
    }
    action.effect = Effect::Partial;
    if let Some(output) = output {
        action.output = Some(output.clone());
    }
    Ok(())
}

fn query_started(action: &mut Action, query: u32, fence_through: Option<u32>, at: Timestamp) -> Folded {
    expect(query == action.queries + 1, "the query's number does not follow")?;
    action.queries = query;
    action.asked_to_fence = action.asked_to_fence.max(fence_through.unwrap_or_default());
    if let Some(dispute) = &mut action.dispute {
        dispute.ask = Ask::Querying { query, since: at };
        return Ok(());
    }
    let settling = action.settling.as_mut().ok_or("nothing is being settled")?;
    settling.asked += 1;
    if !settling.accepted {
        settling.queries += 1;
    }
    settling.plan = SettlePlan::Querying { query, since: at, fence_through };
    Ok(())
}

fn query_answered(action: &mut Action, finding: &Finding, next: &Next, at: Timestamp) -> Folded {
    if let Some(dispute) = &mut action.dispute {
        dispute.ask = Ask::Person { found: Some(finding.clone()) };
        return Ok(());
    }
    let silent = matches!(finding, Finding::InProgress);
    if let Some(settling) = action.settling.as_mut().filter(|settling| settling.accepted && !silent) {
        settling.queries += 1;
    }
    found(action, finding, next, at)
}

/// Moves the action as a query's finding, or a person's, was judged.
pub(super) fn found(action: &mut Action, finding: &Finding, next: &Next, at: Timestamp) -> Folded {
    match (finding, next) {
        (Finding::Applied(output), Next::Done) => return succeed(action, false, output.clone(), at),
        (Finding::Partial(output), Next::Done | Next::Quarantine { .. }) => {
            return partly(action, output.as_ref(), next, at);
        }
        (Finding::Refused(refusal), Next::Reject) => action.refusal = Some(refusal.clone()),
        (Finding::Refused(refusal), _) => {
            let said = refusal.value().map(|value| value.text().to_owned()).unwrap_or_default();
            action.failure = Some(reported("query", FailureKind::Persistent, "refused", said));
        }
        // Written before partial findings had a rule.
        (Finding::Partial(_), _) => {
            let report = "it took effect in part".to_owned();
            action.failure = Some(reported("query", FailureKind::NotYet, "partial", report));
        }
        (Finding::Unclear { report }, _) => {
            action.failure = Some(reported("query", FailureKind::Unknown, "unclear", report.clone()));
        }
        (Finding::Applied(_) | Finding::Fenced { .. } | Finding::Absent | Finding::InProgress, _) => {}
    }
    follow(action, next, at)
}

/// What was reported, for the person at the desk.
fn reported(rule: &str, kind: FailureKind, code: &str, message: String) -> Failure {
    let (code, rule) = (code.into(), rule.into());
    Failure { kind, code, message, rule, classifier: String::new(), hint: None }
}

/// What the engine had closed out itself was judged as what may work later; all else waits for a person.
fn closed_out(next: &Next) -> FailureKind {
    match next {
        Next::Quarantine { because: Because::Fenced } => FailureKind::Persistent,
        Next::Retry { .. } | Next::TurnBack { .. } | Next::Quarantine { .. } => FailureKind::Transient,
        _ => FailureKind::Persistent,
    }
}

/// Moves the action as it was decided.
pub(super) fn follow(action: &mut Action, next: &Next, at: Timestamp) -> Folded {
    match next {
        Next::Retry { at: due } => {
            if action.stage != Stage::RetryScheduled {
                without_effect(action, Moment::RetryPlanned, at)?;
            }
            action.retry_at = Some(*due);
            Ok(())
        }
        Next::Quarantine { because } => {
            without_effect(action, Moment::Quarantined, at)?;
            action.quarantine = Some((*because, at));
            Ok(())
        }
        Next::TurnBack { .. } | Next::Skip { .. } => without_effect(action, Moment::Skipped, at),
        Next::Reject => without_effect(action, Moment::Refused, at),
        Next::Done => Err("only a success is done".into()),
        Next::Query { at: due } => settle(action, SettlePlan::QueryAt(*due)),
        Next::Repeat { at: due } => settle(action, SettlePlan::RepeatAt(*due)),
        Next::Desk { because } => {
            settle(action, SettlePlan::Person)?;
            let settling = action.settling.as_mut().expect("it is being settled");
            settling.accepted = false;
            // The item stays, with its own since.
            let since = settling.item.map_or(at, |(_, since)| since);
            settling.item = Some((*because, since));
            Ok(())
        }
        Next::Stay => {
            let idle = action.running.is_none();
            if let Some(settling) = action.settling.as_mut().filter(|_| idle)
                && matches!(settling.plan, SettlePlan::Undecided | SettlePlan::Repeating)
            {
                settling.plan = SettlePlan::Reply;
            }
            Ok(())
        }
    }
}

fn settle(action: &mut Action, plan: SettlePlan) -> Folded {
    let settling = action.settling.as_mut().ok_or("nothing is being settled")?;
    settling.plan = plan;
    Ok(())
}

/// Every transmission so far is known to have had no effect.
pub(in crate::machine) fn without_effect(action: &mut Action, moment: Moment, at: Timestamp) -> Folded {
    shift(action, moment, at)?;
    action.effect = Effect::None;
    clear(action);
    Ok(())
}

fn clear(action: &mut Action) {
    action.unknown.clear();
    action.settling = None;
    action.retry_at = None;
    action.quarantine = None;
}

/// Moves the stage as the table allows.
pub(in crate::machine) fn shift(action: &mut Action, moment: Moment, at: Timestamp) -> Folded {
    let from = action.stage;
    let to = table::next(from, moment)
        .ok_or_else(|| format!("{} cannot follow {}", moment.label(), from.name()))?;
    if to != from {
        action.stage = to;
        action.since = at;
    }
    Ok(())
}

/// What a stage implies of the effect, and what a compensation never becomes. Two exceptions: a partial effect
/// that nothing undoes stands QUARANTINED, and what is disputed may have an effect in any stage.
fn check(action: &Action, id: &ActionId) -> Folded {
    let implied = match action.stage {
        Stage::Quarantined => matches!(action.effect, Effect::None | Effect::Partial),
        Stage::Pending | Stage::Ready | Stage::RetryScheduled | Stage::Skipped | Stage::TerminalRejected => {
            action.effect == Effect::None
        }
        Stage::Running | Stage::Reconciling | Stage::Succeeded | Stage::Partial => true,
    };
    let disputed = action.dispute.is_some() && action.effect == Effect::Possible;
    expect(implied || disputed, "the stage implies that there is no effect")?;
    let forward_only = matches!(action.stage, Stage::Skipped | Stage::Partial | Stage::TerminalRejected);
    expect(id.is_forward() || !forward_only, "a compensation cannot end so")
}
