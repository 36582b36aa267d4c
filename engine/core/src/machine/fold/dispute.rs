//! News of what is settled: it is kept, and where it contradicts the record it stands as a dispute until a
//! query, or a person, finds out.

use super::{Folded, action, expect, find};
use crate::event::{Because, Finding, JournalEvent, News};
use crate::id::ActionId;
use crate::machine::settle::settle_of;
use crate::machine::table::Moment;
use crate::plan::{SagaPlan, Settle};
use crate::state::{Action, Ask, Dispute, Effect, Phase, SagaState, Stage};
use crate::time::Timestamp;

pub(super) fn fold(plan: &SagaPlan, state: &mut SagaState, at: Timestamp, event: &JournalEvent) -> Folded {
    match event {
        JournalEvent::NewsRecorded(news) => {
            let (action, _) = find(plan, state, &news.action)?;
            if action.running.is_some_and(|running| Some(running.attempt) == news.attempt) {
                expect(action.stage.is_settled(), "the answer of a running attempt is acted upon")?;
                action::answered(action, news.attempt, at);
            }
            Ok(())
        }
        JournalEvent::Disputed(news) => disputed(plan, state, at, news),
        JournalEvent::DisputeSettled { action, finding } => settled(plan, state, at, action, finding),
        other => unreachable!("fold sends only news here, not {other:?}"),
    }
}

fn disputed(plan: &SagaPlan, state: &mut SagaState, at: Timestamp, news: &News) -> Folded {
    let closed = state.phase == Phase::Closed;
    let ix = plan.find(&news.action.step).ok_or("the workflow has no such step")?;
    let asks = !closed && settle_of(plan.step(ix), &news.action) == Settle::ByQuery;
    let (action, _) = find(plan, state, &news.action)?;
    expect(closed || action.stage.is_settled(), "only what is settled can be disputed")?;
    expect(action.dispute.is_none(), "it is disputed already")?;
    action::answered(action, news.attempt, at);
    let ask = if asks { Ask::QueryAt(at) } else { Ask::Person { found: None } };
    let (news, recorded) = (news.finding.clone(), action.effect);
    action.dispute = Some(Dispute { since: at, news, recorded, ask });
    action.effect = Effect::Possible;
    Ok(())
}

fn settled(
    plan: &SagaPlan,
    state: &mut SagaState,
    at: Timestamp,
    id: &ActionId,
    finding: &Finding,
) -> Folded {
    let closed = state.phase == Phase::Closed;
    let without = if may_skip(plan, state, id) {
        Without::Skips
    } else if state.phase == Phase::Running || is_owed(plan, state, id) {
        Without::Reopens
    } else {
        Without::Stands
    };
    let (action, _) = find(plan, state, id)?;
    let dispute = action.dispute.take().ok_or("nothing is disputed")?;
    action.effect = dispute.recorded;
    if closed {
        let had = matches!(action.stage, Stage::Succeeded | Stage::Partial);
        let without = matches!(finding, Finding::Refused(_) | Finding::Fenced { .. } | Finding::Absent);
        if had && without {
            action.effect = Effect::None; // It is known better.
        }
        return Ok(()); // The item closes, and nothing else moves any more.
    }
    match finding {
        Finding::Applied(output) => {
            if action.stage != Stage::Succeeded {
                action::shift(action, Moment::FoundApplied, at)?;
                action.output = Some(output.clone());
            }
            if id.is_forward() {
                action.effect = Effect::Applied;
            }
            if action.value().is_none() && output.value().is_some() {
                action.output = Some(output.clone());
            }
        }
        Finding::Partial(output) => {
            if action.stage != Stage::Partial {
                action::shift(action, Moment::FoundPartial, at)?;
            }
            action.effect = Effect::Partial;
            if let Some(output) = output {
                action.output = Some(output.clone());
            }
        }
        Finding::Refused(_) | Finding::Fenced { .. } | Finding::Absent => {
            without_effect(action, without, at)?;
        }
        Finding::InProgress | Finding::Unclear { .. } => return Err("that settles no dispute".into()),
    }
    action::settled(plan, state, id, at)
}

/// May a step that was recorded as SUCCEEDED become SKIPPED? Not past the pivot (or the end), and not once its
/// compensation was requested: then the step stands, and only its effect is known better.
pub(in crate::machine) fn may_skip(plan: &SagaPlan, state: &SagaState, id: &ActionId) -> bool {
    id.is_forward() && state.before_pivot(plan) && !state.compensation_began(plan, id)
}

/// Is this a compensation of an effect that is, or may be, in place?
fn is_owed(plan: &SagaPlan, state: &SagaState, id: &ActionId) -> bool {
    let forward = plan.find(&id.step).map(|ix| &state.step(ix).forward);
    !id.is_forward() && forward.is_some_and(|forward| forward.effect != Effect::None)
}

/// What becomes of a recorded success that had no effect.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Without {
    /// It is SKIPPED: the saga turns back, and has nothing to undo here.
    Skips,
    /// It stands QUARANTINED: a compensation is still owed, and past the pivot recovery is forward.
    Reopens,
    /// The stage stands, and only the effect is known better: the saga has ended, or undoes it already.
    Stands,
}

fn without_effect(action: &mut Action, without: Without, at: Timestamp) -> Folded {
    let had = matches!(action.stage, Stage::Succeeded | Stage::Partial);
    action.effect = Effect::None;
    match without {
        Without::Skips if had => action::shift(action, Moment::FoundWithout, at)?,
        Without::Reopens if had => {
            action::shift(action, Moment::Reopened, at)?;
            action.quarantine = Some((Because::FoundByPerson, at));
            action.output = None;
            action.settled_by = None;
        }
        Without::Skips | Without::Reopens | Without::Stands => {}
    }
    Ok(())
}
