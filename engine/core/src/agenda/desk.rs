//! The worklists with a person in front of them, computed from the state alone.

use crate::event::{Because, Failure};
use crate::id::{ActionId, Direction};
use crate::plan::SagaPlan;
use crate::state::{Action, Effect, Note, SagaState, Stage};
use crate::time::Timestamp;

/// The desks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Desk {
    /// Known without effect; a person decides how it goes on.
    Quarantine,
    /// Nobody knows whether it took effect, and nothing but a person can find out.
    Reconciliation,
    /// Another person has to approve it: a compensation that was requested or is stale, or a closing.
    Approval,
    /// News contradicts what is recorded.
    Discrepancy,
}

impl Desk {
    /// The word kept in the store.
    pub fn word(self) -> &'static str {
        match self {
            Self::Quarantine => "quarantine",
            Self::Reconciliation => "reconciliation",
            Self::Approval => "approval",
            Self::Discrepancy => "discrepancy",
        }
    }
}

/// One entry: what waits for a person, since when and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeskItem {
    /// Which action; none: the saga itself.
    pub action: Option<ActionId>,
    /// On which desk.
    pub desk: Desk,
    /// Why.
    pub because: Because,
    /// Since when.
    pub since: Timestamp,
    /// Attempts made.
    pub attempts: u32,
    /// What is known of the effect.
    pub effect: Effect,
    /// The last failure.
    pub failure: Option<Failure>,
    /// Who works on it, and what they decided.
    pub note: Note,
}

impl DeskItem {
    /// Its name within the saga: `step/direction`, or empty for the saga's own item.
    pub fn name(&self) -> String {
        self.action.as_ref().map(ToString::to_string).unwrap_or_default()
    }

    /// The step's name; empty for the saga's own item.
    pub fn step(&self) -> &str {
        self.action.as_ref().map_or("", |action| &*action.step)
    }

    /// Which of the step's actions: `forward` or `compensation`; `saga` for the saga's own item.
    pub fn direction(&self) -> &'static str {
        match self.action.as_ref().map(|action| action.direction) {
            Some(Direction::Forward) => "forward",
            Some(Direction::Compensation | Direction::Manual(_)) => "compensation",
            None => "saga",
        }
    }
}

/// Everything of this saga that waits for a person.
pub fn desk(plan: &SagaPlan, state: &SagaState) -> Vec<DeskItem> {
    let mut items = Vec::new();
    for (id, action) in state.actions(plan) {
        let Some((desk, because, since)) = place(plan, state, &id, action) else { continue };
        items.push(DeskItem {
            desk,
            because,
            since,
            attempts: action.attempts,
            effect: action.effect,
            failure: action.failure.clone(),
            note: Note::default(),
            action: Some(id),
        });
    }
    if let Some((_, since)) = &state.closing {
        items.push(DeskItem {
            action: None,
            desk: Desk::Approval,
            because: Because::Approval,
            since: *since,
            attempts: 0,
            effect: Effect::None,
            failure: None,
            note: Note::default(),
        });
    }
    if !state.notes.is_empty() {
        for item in &mut items {
            item.note = state.notes.get(&item.name()).cloned().unwrap_or_default();
        }
    }
    items
}

/// On which desk an action lies, why and since when, if it lies on one.
fn place(
    plan: &SagaPlan,
    state: &SagaState,
    id: &ActionId,
    a: &Action,
) -> Option<(Desk, Because, Timestamp)> {
    if let Some(dispute) = &a.dispute {
        return Some((Desk::Discrepancy, Because::Contradiction, dispute.since));
    }
    if state.is_over(id) {
        return None;
    }
    match a.stage {
        Stage::Quarantined => {
            let (because, since) = a.quarantine?;
            let stale = because == Because::Stale;
            Some((if stale { Desk::Approval } else { Desk::Quarantine }, because, since))
        }
        // An outcome that its own compensation is settling waits for that, not for a person.
        Stage::Reconciling if id.is_forward() && state.compensation_began(plan, id) => None,
        Stage::Reconciling => {
            let (because, since) = a.settling?.item?;
            Some((Desk::Reconciliation, because, since))
        }
        Stage::Pending => {
            let manual = state.manual(plan, id).filter(|_| state.awaits_approval(plan, id))?;
            Some((Desk::Approval, Because::Approval, manual.requested_at))
        }
        Stage::Ready
        | Stage::Running
        | Stage::RetryScheduled
        | Stage::Succeeded
        | Stage::Partial
        | Stage::TerminalRejected
        | Stage::Skipped => None,
    }
}
