//! Writes facts down and folds each at once, so that the next decision sees them.

use super::fold;
use crate::event::JournalEvent;
use crate::id::{ActionId, Direction, StepIx};
use crate::machine::Rejected;
use crate::plan::{RetryPolicy, SagaPlan, StepKind, StepPlan};
use crate::state::{Action, SagaState};
use crate::time::Timestamp;

pub(super) struct Scribe<'a> {
    pub(super) plan: &'a SagaPlan,
    pub(super) state: &'a mut SagaState,
    pub(super) now: Timestamp,
    events: Vec<JournalEvent>,
}

impl<'a> Scribe<'a> {
    pub(super) fn new(plan: &'a SagaPlan, state: &'a mut SagaState, now: Timestamp) -> Self {
        Self { plan, state, now, events: Vec::new() }
    }

    /// Writes one fact down.
    ///
    /// # Panics
    /// When the fold refuses it: a fault of the machine, found here rather than at the next replay.
    pub(super) fn record(&mut self, event: JournalEvent) {
        if let Err(reason) = fold::fold(self.plan, self.state, self.now, &event) {
            panic!("the machine decided what its own fold refuses ({reason}): {event:?}");
        }
        self.events.push(event);
    }

    pub(super) fn finish(self) -> Vec<JournalEvent> {
        self.events
    }

    /// The step and the action of `id`.
    pub(super) fn find(&self, id: &ActionId) -> Result<(StepIx, &Action), Rejected> {
        let missing = || Rejected::NoSuchAction(id.to_string());
        let ix = self.plan.find(&id.step).ok_or_else(missing)?;
        let action = self.state.action(self.plan, id).ok_or_else(missing)?;
        Ok((ix, action))
    }

    /// The action of `id`, which was found before.
    pub(super) fn action(&self, id: &ActionId) -> &Action {
        self.state.action(self.plan, id).expect("the action was found before")
    }

    pub(super) fn step(&self, id: &ActionId) -> &'a StepPlan {
        let ix = self.plan.find(&id.step).expect("the action was found before");
        self.plan.step(ix)
    }

    /// The policy of the attempts of `id`.
    pub(super) fn policy(&self, id: &ActionId) -> &'a RetryPolicy {
        policy(self.step(id), id)
    }

    pub(super) fn is_pivot(&self, id: &ActionId) -> bool {
        id.is_forward() && self.step(id).kind == StepKind::Pivot
    }

    pub(super) fn is_read(&self, id: &ActionId) -> bool {
        id.is_forward() && self.step(id).kind == StepKind::Read
    }
}

/// The policy of the attempts of `id`, an action of `step`.
pub(crate) fn policy<'a>(step: &'a StepPlan, id: &ActionId) -> &'a RetryPolicy {
    match id.direction {
        Direction::Forward => &step.retry,
        Direction::Compensation | Direction::Manual(_) => &step.compensation,
    }
}
