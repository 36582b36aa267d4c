//! Where a saga stands: the fold of its journal, and nothing else. Not serialised anywhere.

mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event::{Answer, Because, Failure, Omitted, Recorded, TurnReason, Verb};
use crate::id::{ActionId, Direction, Incarnation, OperationId, SagaId, StepIx};
use crate::json::Json;
use crate::plan::{SagaPlan, StepKind};
use crate::time::Timestamp;
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
    /// Who may append to its journal.
    pub owner: Incarnation,
    /// When it was started.
    pub started_at: Timestamp,
    /// The source event's own time.
    pub occurred_at: Timestamp,
    /// When a saga before its pivot turns back.
    pub deadline: Option<Timestamp>,
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
}

/// The life of one action. Forward actions and compensations have the same machine.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Action {
    /// Where it stands.
    pub stage: Stage,
    /// What is known of its effect.
    pub effect: Effect,
    /// Attempts counted so far; never reset.
    pub attempts: u32,
    /// Attempts that were counted before the present budget was granted.
    pub attempts_before: u32,
    /// Attempts granted by a `resume`; none: the policy's.
    pub granted: Option<u32>,
    /// When it first became ready, or was last resumed.
    pub ready_at: Option<Timestamp>,
    /// A `resume`'s own deadline; none: the policy's, from `ready_at`.
    pub deadline: Option<Timestamp>,
    /// The earliest possible first transmission.
    pub first_sent_at: Option<Timestamp>,
    /// The latest possible last transmission, while nothing is running.
    pub last_sent_at: Option<Timestamp>,
    /// The attempt under way: in RUNNING, or a repeat in RECONCILING.
    pub running: Option<Running>,
    /// Attempts whose outcome is unknown.
    pub unknown: Vec<u32>,
    /// When the next attempt may start, in RETRY_SCHEDULED.
    pub retry_at: Option<Timestamp>,
    /// How the unknown is being settled, in RECONCILING.
    pub settling: Option<Settling>,
    /// Queries counted so far; never reset.
    pub queries: u32,
    /// Why a person is needed, in QUARANTINED.
    pub quarantine: Option<(Because, Timestamp)>,
    /// The last failure of an attempt or query.
    pub failure: Option<Failure>,
    /// Its result, once it succeeded.
    pub output: Option<Recorded>,
    /// What the participant said no with.
    pub refusal: Option<Recorded>,
    /// When the stage last changed.
    pub since: Timestamp,
}

/// An attempt under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// Its number.
    pub attempt: u32,
    /// When it was journalled as started.
    pub since: Timestamp,
}

/// How an unknown outcome is being settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settling {
    /// Since when it is open.
    pub since: Timestamp,
    /// Queries made since then: the budget counts these.
    pub queries: u32,
    /// What comes next.
    pub plan: SettlePlan,
}

/// The next thing that is done about an unknown outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettlePlan {
    /// It has to be decided: only within the transition that made it unknown.
    Undecided,
    /// A query, not before.
    QueryAt(Timestamp),
    /// A query is under way, and perhaps asks to fence.
    Querying {
        /// Its number.
        query: u32,
        /// When it was sent: what it finds is no newer than it must be, so an absence counts from here.
        since: Timestamp,
        /// It asks to fence attempts up to this one.
        fence_through: Option<u32>,
    },
    /// A repeat, not before.
    RepeatAt(Timestamp),
    /// A repeat is under way.
    Repeating,
    /// A person is needed.
    Desk(Because, Timestamp),
}

/// Where an action stands. The law's names in capitals are these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Stage {
    /// Waits for others.
    #[default]
    Pending,
    /// May start; perhaps waits for a permit.
    Ready,
    /// An attempt is under way.
    Running,
    /// Waits to be tried again.
    RetryScheduled,
    /// The outcome is unknown and being settled.
    Reconciling,
    /// Without effect, and a person decides.
    Quarantined,
    /// It took effect.
    Succeeded,
    /// It took effect in part.
    Partial,
    /// Finally refused.
    TerminalRejected,
    /// It will not happen.
    Skipped,
}

impl Stage {
    /// Every stage, in the order of a life.
    pub const ALL: [Self; 10] = [
        Self::Pending,
        Self::Ready,
        Self::Running,
        Self::RetryScheduled,
        Self::Reconciling,
        Self::Quarantined,
        Self::Succeeded,
        Self::Partial,
        Self::TerminalRejected,
        Self::Skipped,
    ];

    /// The law's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Ready => "READY",
            Self::Running => "RUNNING",
            Self::RetryScheduled => "RETRY_SCHEDULED",
            Self::Reconciling => "RECONCILING",
            Self::Quarantined => "QUARANTINED",
            Self::Succeeded => "SUCCEEDED",
            Self::Partial => "PARTIAL",
            Self::TerminalRejected => "TERMINAL_REJECTED",
            Self::Skipped => "SKIPPED",
        }
    }

    /// Has the action an outcome?
    pub fn is_settled(self) -> bool {
        match self {
            Self::Succeeded | Self::Partial | Self::TerminalRejected | Self::Skipped => true,
            Self::Pending
            | Self::Ready
            | Self::Running
            | Self::RetryScheduled
            | Self::Reconciling
            | Self::Quarantined => false,
        }
    }
}

/// What is known of an action's effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Effect {
    /// There is none.
    #[default]
    None,
    /// There may be one.
    Possible,
    /// It is in place.
    Applied,
    /// Part of it is in place.
    Partial,
}

impl Effect {
    /// The word used on desks and in views.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Possible => "possible",
            Self::Applied => "applied",
            Self::Partial => "partial",
        }
    }
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
            Direction::Manual(_) => None,
        }
    }

    pub(crate) fn action_mut(&mut self, plan: &SagaPlan, id: &ActionId) -> Option<&mut Action> {
        let step = &mut self.steps[plan.find(&id.step)?.0];
        match id.direction {
            Direction::Forward => Some(&mut step.forward),
            Direction::Compensation => step.undo.as_mut(),
            Direction::Manual(_) => None,
        }
    }

    /// The state of the step at `ix`.
    pub fn step(&self, ix: StepIx) -> &StepState {
        &self.steps[ix.0]
    }

    /// Every action with its id, forward before compensation, in the plan's order.
    pub fn actions<'a>(&'a self, plan: &'a SagaPlan) -> impl Iterator<Item = (ActionId, &'a Action)> + 'a {
        plan.steps.iter().zip(&self.steps).flat_map(|(step, state)| {
            let forward = (ActionId::forward(step.name.clone()), &state.forward);
            let undo = state.undo.as_ref().map(|undo| (ActionId::compensation(step.name.clone()), undo));
            std::iter::once(forward).chain(undo)
        })
    }

    /// Has the compensation of this action's step become ready, or more?
    pub fn compensation_began(&self, plan: &SagaPlan, id: &ActionId) -> bool {
        let step = plan.find(&id.step).map(|ix| self.step(ix));
        step.and_then(|step| step.undo.as_ref()).is_some_and(|undo| undo.stage != Stage::Pending)
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

    /// Has the step an effect that a turned saga still has to undo?
    pub fn owes_compensation(&self, plan: &SagaPlan, ix: StepIx) -> bool {
        let step = self.step(ix);
        let undoable = plan.step(ix).kind != StepKind::Read;
        let applied = matches!(step.forward.effect, Effect::Applied | Effect::Partial);
        undoable && applied && step.undo.as_ref().is_none_or(|undo| undo.stage != Stage::Succeeded)
    }

    /// Is everything of this step and of all that depends on it settled and, where it had an effect, undone?
    pub fn unwound(&self, plan: &SagaPlan) -> Vec<bool> {
        let mut unwound = vec![false; self.steps.len()];
        for &ix in plan.graph.order().iter().rev() {
            unwound[ix.0] = self.step(ix).forward.stage.is_settled()
                && !self.owes_compensation(plan, ix)
                && plan.graph.children(ix).iter().all(|child| unwound[child.0]);
        }
        unwound
    }

    /// Open actions: begun or waiting, not settled. Zero once a saga has ended without leftovers.
    pub fn open_actions(&self, plan: &SagaPlan) -> u32 {
        let open = |a: &Action| !a.stage.is_settled() && a.stage != Stage::Pending;
        let count = self.actions(plan).filter(|(_, a)| open(a)).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

impl Action {
    /// Attempts counted since the present budget was granted.
    pub fn attempts_of_budget(&self) -> u32 {
        self.attempts - self.attempts_before
    }

    /// The recorded result, unless there is none or it was omitted.
    pub fn value(&self) -> Option<&Json> {
        self.output.as_ref().and_then(Recorded::value)
    }

    /// The marker in the place of its result, if that could not be recorded.
    pub fn omitted(&self) -> Option<&Omitted> {
        match &self.output {
            Some(Recorded::Omitted(omitted)) => Some(omitted),
            Some(Recorded::Value(_)) | None => None,
        }
    }
}
