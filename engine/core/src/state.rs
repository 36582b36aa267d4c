//! Where a saga stands: the fold of its journal, and nothing else. Not serialised anywhere.

mod action;
mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use action::{Action, Ask, Dispute, Effect, Running, SettlePlan, Settling, Stage};

use crate::event::{Answer, CloseRequested, CompensationRequest, TurnReason, Verb};
use crate::id::{ActionId, Direction, Incarnation, OperationId, SagaId, StepIx};
use crate::json::Json;
use crate::plan::{SagaPlan, StepKind};
use crate::time::Timestamp;
use crate::trace::TraceContext;
pub use values::{Given, Missing};

/// The state of one saga.
#[derive(Clone, Debug, PartialEq)]
pub struct SagaState {
    /// The saga.
    pub id: SagaId,
    /// Its business key.
    pub key: Arc<str>,
    /// Its input, as it came.
    pub input: Json,
    /// Where it stands as a whole.
    pub phase: Phase,
    /// Why it turned back, once it has.
    pub turned: Option<TurnReason>,
    /// Requests to turn back that cannot be decided yet, in the order they came.
    pub wishes: Vec<Wish>,
    /// The saga deadline passed after the pivot.
    pub late: bool,
    /// Since when it is paused, if it is.
    pub paused: Option<Timestamp>,
    /// The request to close it that waits for another person, and since when.
    pub closing: Option<(CloseRequested, Timestamp)>,
    /// Who works on a desk item, and what they decided, by the item's name.
    pub notes: BTreeMap<String, Note>,
    /// Who may append to its journal.
    pub owner: Incarnation,
    /// When it was started.
    pub started_at: Timestamp,
    /// The source event's own time.
    pub occurred_at: Timestamp,
    /// When a saga before its pivot turns back.
    pub deadline: Option<Timestamp>,
    /// The trace that its start belongs to.
    pub trace: Option<TraceContext>,
    /// On whose behalf it runs.
    pub tenant: Option<Arc<str>>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The time of the last event: no later one is earlier.
    pub at: Timestamp,
    /// The steps, in the plan's order.
    pub steps: Vec<StepState>,
    /// The side that each branch takes, in the plan's order; none while it is not decided.
    pub branches: Vec<Option<bool>>,
    /// What people were answered, by operation id.
    pub answers: BTreeMap<OperationId, (Verb, Answer)>,
}

/// The two lives of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepState {
    /// The step itself.
    pub forward: Action,
    /// Its compensation, if the plan has one.
    pub undo: Option<Action>,
    /// What a function shaped as its input, once it was first started.
    pub shaped: Option<Json>,
    /// A person waived it after the pivot.
    pub waived: bool,
    /// Compensations that persons requested, in the order they came.
    pub manual: Vec<Manual>,
}

/// A compensation that a person requested: a new business action.
#[derive(Clone, Debug, PartialEq)]
pub struct Manual {
    /// Its record.
    pub request: CompensationRequest,
    /// When it was requested.
    pub requested_at: Timestamp,
    /// Who denied it, if it was denied: then it never runs.
    pub denied: Option<String>,
    /// Its life.
    pub action: Action,
}

/// What people noted on a desk item. It goes with the item.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Note {
    /// Who works on it.
    pub assignee: Option<String>,
    /// What they decided.
    pub disposition: Option<String>,
}

/// Where a saga stands as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Going forward.
    Running,
    /// Turned back, undoing what took effect.
    Compensating,
    /// Ended: every step took effect.
    Completed,
    /// Ended: every effect was undone.
    Compensated,
    /// Ended by two people.
    Closed,
}

impl Phase {
    /// The word kept in the store.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Compensating => "compensating",
            Self::Completed => "completed",
            Self::Compensated => "compensated",
            Self::Closed => "closed",
        }
    }

    /// Has the saga ended?
    pub fn is_ended(self) -> bool {
        match self {
            Self::Completed | Self::Compensated | Self::Closed => true,
            Self::Running | Self::Compensating => false,
        }
    }
}

/// A recorded request to turn back that cannot be decided yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Whose one-time operation it was; none for a deadline.
    pub operation: Option<OperationId>,
    /// Why.
    pub reason: TurnReason,
}

impl SagaState {
    /// The action of `id`, if the plan has it.
    pub fn action(&self, plan: &SagaPlan, id: &ActionId) -> Option<&Action> {
        let step = &self.steps[plan.find(&id.step)?.0];
        match id.direction {
            Direction::Forward => Some(&step.forward),
            Direction::Compensation => step.undo.as_ref(),
            Direction::Manual(_) => {
                step.manual.iter().find(|manual| manual.request.action == *id).map(|manual| &manual.action)
            }
        }
    }

    pub(crate) fn action_mut(&mut self, plan: &SagaPlan, id: &ActionId) -> Option<&mut Action> {
        let step = &mut self.steps[plan.find(&id.step)?.0];
        match id.direction {
            Direction::Forward => Some(&mut step.forward),
            Direction::Compensation => step.undo.as_mut(),
            Direction::Manual(_) => {
                let mut all = step.manual.iter_mut();
                all.find(|manual| manual.request.action == *id).map(|manual| &mut manual.action)
            }
        }
    }

    /// The state of the step at `ix`.
    pub fn step(&self, ix: StepIx) -> &StepState {
        &self.steps[ix.0]
    }

    /// Every action with its id, in the plan's order: forward, compensation, what persons requested.
    pub fn actions<'a>(&'a self, plan: &'a SagaPlan) -> impl Iterator<Item = (ActionId, &'a Action)> + 'a {
        plan.steps.iter().zip(&self.steps).flat_map(|(step, state)| {
            let forward = (ActionId::forward(step.name.clone()), &state.forward);
            let undo = state.undo.as_ref().map(|undo| (ActionId::compensation(step.name.clone()), undo));
            let manual = state.manual.iter().map(|manual| (manual.request.action.clone(), &manual.action));
            std::iter::once(forward).chain(undo).chain(manual)
        })
    }

    /// Has the compensation of this action's step become ready, or more?
    pub fn compensation_began(&self, plan: &SagaPlan, id: &ActionId) -> bool {
        let step = plan.find(&id.step).map(|ix| self.step(ix));
        step.and_then(|step| step.undo.as_ref()).is_some_and(|undo| undo.stage != Stage::Pending)
    }

    /// Has a compensation of this action's step begun, or been requested, and not ended?
    pub fn compensation_is_open(&self, plan: &SagaPlan, id: &ActionId) -> bool {
        let Some(step) = plan.find(&id.step).map(|ix| self.step(ix)) else { return false };
        let begun = step.undo.as_ref().is_some_and(|a| a.stage != Stage::Pending && !a.is_settled());
        begun || step.manual.iter().any(|manual| manual.denied.is_none() && !manual.action.is_settled())
    }

    /// Has the compensation of this action's step answered that there was nothing to undo, started in doubt?
    pub fn compensation_found_nothing(&self, plan: &SagaPlan, id: &ActionId) -> bool {
        let undo = plan.find(&id.step).and_then(|ix| self.step(ix).undo.as_ref());
        undo.is_some_and(|undo| {
            undo.in_doubt && undo.stage == Stage::Succeeded && undo.effect == Effect::None
        })
    }

    /// Has the pivot succeeded?
    pub fn past_pivot(&self, plan: &SagaPlan) -> bool {
        plan.pivot.is_some_and(|pivot| self.step(pivot).forward.stage == Stage::Succeeded)
    }

    /// Is the pivot under way, so that a turn can only be wished for?
    pub fn pivot_in_doubt(&self, plan: &SagaPlan) -> bool {
        plan.pivot.is_some_and(|pivot| {
            let action = &self.step(pivot).forward;
            match action.stage {
                Stage::Running | Stage::Reconciling => true,
                Stage::Quarantined => action.effect == Effect::Partial,
                Stage::Pending
                | Stage::Ready
                | Stage::RetryScheduled
                | Stage::Succeeded
                | Stage::Partial
                | Stage::TerminalRejected
                | Stage::Skipped => false,
            }
        })
    }

    /// Has the pivot not succeeded? Of a workflow without one: has the saga not ended?
    pub fn before_pivot(&self, plan: &SagaPlan) -> bool {
        if plan.pivot.is_some() { !self.past_pivot(plan) } else { !self.phase.is_ended() }
    }

    /// Does nothing of this action begin any more? Of a closed saga only what a person requests still does.
    pub fn is_over(&self, id: &ActionId) -> bool {
        self.phase == Phase::Closed && !matches!(id.direction, Direction::Manual(_))
    }

    /// Has the step an effect that a turned saga still has to undo?
    pub fn owes_compensation(&self, plan: &SagaPlan, ix: StepIx) -> bool {
        let step = self.step(ix);
        let undoable = plan.step(ix).kind != StepKind::Read;
        undoable
            && step.forward.has_effect()
            && step.undo.as_ref().is_none_or(|undo| undo.stage != Stage::Succeeded)
    }

    /// Is everything of this step and of all that depends on it settled and, where it had an effect, undone?
    pub fn unwound(&self, plan: &SagaPlan) -> Vec<bool> {
        let mut unwound = vec![false; self.steps.len()];
        for &ix in plan.graph.order().iter().rev() {
            let step = self.step(ix);
            let undo_is_clear =
                step.undo.as_ref().is_none_or(|undo| undo.dispute.is_none() && undo.running.is_none());
            unwound[ix.0] = step.forward.is_settled()
                && undo_is_clear
                && !self.owes_compensation(plan, ix)
                && plan.graph.children(ix).iter().all(|child| unwound[child.0]);
        }
        unwound
    }

    /// Has an action to wait, though it is free to begin? A step, while one that it depends on is disputed; a
    /// compensation, while news of a step that depends on its step is not settled, and undone; a requested one, while
    /// an attempt of its step that news has overtaken is still under way.
    pub fn is_held(&self, plan: &SagaPlan, id: &ActionId) -> bool {
        let Some(ix) = plan.find(&id.step) else { return false };
        match id.direction {
            Direction::Forward => {
                let disputed = |parent: &StepIx| self.step(*parent).forward.dispute.is_some();
                plan.graph.parents(ix).iter().any(disputed)
            }
            Direction::Compensation => {
                let children = plan.graph.children(ix);
                if children.is_empty() {
                    return false;
                }
                let unwound = self.unwound(plan);
                children.iter().any(|child| !unwound[child.0])
            }
            Direction::Manual(_) => self.step(ix).forward.running.is_some(),
        }
    }

    /// Open actions: begun or waiting, not settled, or disputed. Zero once a saga has ended without leftovers.
    pub fn open_actions(&self, plan: &SagaPlan) -> u32 {
        let count = self.actions(plan).filter(|(id, a)| self.is_open(plan, id, a)).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    fn is_open(&self, plan: &SagaPlan, id: &ActionId, a: &Action) -> bool {
        if a.dispute.is_some() || a.running.is_some() {
            return true;
        }
        if self.is_over(id) || a.stage.is_settled() {
            return false;
        }
        a.stage != Stage::Pending || self.awaits_approval(plan, id)
    }

    /// Is this a requested compensation that another person has to approve?
    pub fn awaits_approval(&self, plan: &SagaPlan, id: &ActionId) -> bool {
        self.manual(plan, id).is_some_and(|manual| {
            manual.action.stage == Stage::Pending
                && manual.request.approved_by.is_none()
                && manual.denied.is_none()
        })
    }

    /// The record of a requested compensation.
    pub fn manual(&self, plan: &SagaPlan, id: &ActionId) -> Option<&Manual> {
        let step = plan.find(&id.step)?;
        self.step(step).manual.iter().find(|manual| manual.request.action == *id)
    }
}
