//! Branches: the condition is the author's, the decision is journalled once and never re-evaluated.
//!
//! The agenda asks for a decision as soon as everything is there that the condition reads; the runtime evaluates
//! it and commands the decision, or says that it cannot be had. Then the first step of the branch stands
//! QUARANTINED, as one whose input cannot be built; a `resume` of it asks for the decision anew. Until it is
//! decided no step of the branch begins, and none is accepted as applied.

use super::fold::without_effect;
use super::retry;
use super::scribe::Scribe;
use super::table::Moment;
use crate::event::{Because, Failure, JournalEvent};
use crate::id::{ActionId, BranchIx, StepIx};
use crate::machine::Rejected;
use crate::plan::{SagaPlan, Side, Source};
use crate::state::{Phase, SagaState, Stage};
use crate::time::Timestamp;

/// The condition of a branch was evaluated.
pub(super) fn decide(s: &mut Scribe<'_>, branch: &str, taken: bool) -> Result<(), Rejected> {
    let ix = find(s, branch)?;
    may_decide(s.plan, s.state, ix).map_err(Rejected::State)?;
    s.record(JournalEvent::BranchDecided { branch: branch.to_owned(), taken });
    Ok(())
}

/// The condition of a branch cannot be evaluated: nothing was sent, a person decides.
pub(super) fn condition_failed(s: &mut Scribe<'_>, branch: &str, failure: Failure) -> Result<(), Rejected> {
    let ix = find(s, branch)?;
    may_decide(s.plan, s.state, ix).map_err(Rejected::State)?;
    let waits = |step: &StepIx| matches!(s.state.step(*step).forward.stage, Stage::Pending | Stage::Ready);
    let Some(first) = s.plan.steps_within(ix).find(waits) else {
        return Err(Rejected::state(format!("the branch `{branch}` is in quarantine already")));
    };
    let action = ActionId::forward(s.plan.step(first).name.clone());
    let next = retry::persistent(s, &action, Because::Input);
    s.record(JournalEvent::Planned { action, failure: Some(failure), next });
    Ok(())
}

fn find(s: &Scribe<'_>, branch: &str) -> Result<BranchIx, Rejected> {
    s.plan
        .find_branch(branch)
        .ok_or_else(|| Rejected::state(format!("the workflow has no branch `{branch}`")))
}

/// Is everything there that the decision needs?
fn may_decide(plan: &SagaPlan, state: &SagaState, ix: BranchIx) -> Result<(), String> {
    let branch = &plan.branch(ix).name;
    if state.phase != Phase::Running || state.turned.is_some() {
        return Err("the saga has turned back or ended: nothing goes forward".into());
    }
    if let Some(taken) = state.branches[ix.0] {
        let word = if taken { "taken" } else { "not taken" };
        return Err(format!("the branch `{branch}` is decided: {word}"));
    }
    if plan.sides_around_branch(ix).any(|side| state.branches[side.branch.0] != Some(side.taken)) {
        return Err(format!("the branch `{branch}` stands in a side that is not taken so far"));
    }
    if let Some(step) = plan.graph.decision_parents(ix).iter().find(|step| !is_there(state, **step)) {
        return Err(format!("the branch `{branch}` waits for `{}`", plan.step(*step).name));
    }
    if is_moot(plan, state, ix) {
        return Err(format!("the branch `{branch}` has nothing left to decide"));
    }
    Ok(())
}

/// Was every step of the branch waived before it was decided?
fn is_moot(plan: &SagaPlan, state: &SagaState, ix: BranchIx) -> bool {
    plan.steps_within(ix).all(|step| state.step(step).forward.stage.is_settled())
}

fn is_there(state: &SagaState, step: StepIx) -> bool {
    matches!(state.step(step).forward.stage, Stage::Succeeded | Stage::Skipped)
}

/// The branches whose decision is to be made now. One in quarantine waits for a person.
pub(crate) fn to_decide(plan: &SagaPlan, state: &SagaState) -> impl Iterator<Item = BranchIx> {
    let in_quarantine =
        |ix| plan.steps_within(ix).any(|step| state.step(step).forward.stage == Stage::Quarantined);
    plan.branch_indices().filter(move |ix| may_decide(plan, state, *ix).is_ok() && !in_quarantine(*ix))
}

/// Does `step` wait for another step, or for the decision of a branch? What is READY can wait too: a resume
/// leads there from wherever the quarantine came.
pub(crate) fn waits(plan: &SagaPlan, state: &SagaState, step: StepIx) -> bool {
    let read = plan.step(step).input.sources().iter().filter_map(|source| match source {
        Source::Branch(branch) => Some(*branch),
        Source::SagaInput | Source::Step(_) => None,
    });
    plan.graph.parents(step).iter().any(|parent| !is_there(state, *parent))
        || undecided_around(plan, state, step).is_some()
        || read.into_iter().any(|ix| state.branches[ix.0].is_none() && !is_moot(plan, state, ix))
}

/// The innermost branch around `step` that is not decided.
pub(crate) fn undecided_around(plan: &SagaPlan, state: &SagaState, step: StepIx) -> Option<BranchIx> {
    plan.sides_around(step).map(|side| side.branch).find(|branch| state.branches[branch.0].is_none())
}

/// A decision: the side not taken is skipped, with the branches inside it.
pub(super) fn fold(
    plan: &SagaPlan,
    state: &mut SagaState,
    branch: &str,
    taken: bool,
    at: Timestamp,
) -> Result<(), String> {
    let ix = plan.find_branch(branch).ok_or_else(|| format!("the workflow has no branch `{branch}`"))?;
    may_decide(plan, state, ix)?;
    state.branches[ix.0] = Some(taken);
    for step in plan.steps_of(Side { branch: ix, taken: !taken }) {
        let action = &mut state.steps[step.0].forward;
        if !action.stage.is_settled() {
            without_effect(action, Moment::Skipped, at)?;
        }
    }
    Ok(())
}
