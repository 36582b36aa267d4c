//! The worklists with a person in front of them, computed from the state alone.

use crate::event::{Because, Failure};
use crate::id::ActionId;
use crate::plan::SagaPlan;
use crate::state::{Effect, SagaState, SettlePlan, Stage};
use crate::time::Timestamp;

/// The desks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Desk {
    /// Known without effect; a person decides how it goes on.
    Quarantine,
    /// Nobody knows whether it took effect, and nothing but a person can find out.
    Reconciliation,
    /// A compensation waits for approval.
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
    /// Which action.
    pub action: ActionId,
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
}

/// Everything of this saga that waits for a person.
pub fn desk(plan: &SagaPlan, state: &SagaState) -> Vec<DeskItem> {
    let mut items = Vec::new();
    for (id, action) in state.actions(plan) {
        let (desk, because, since) = match (action.stage, action.quarantine, action.settling) {
            (Stage::Quarantined, Some((because, since)), _) => (Desk::Quarantine, because, since),
            // An outcome that its own compensation is settling waits for that, not for a person.
            (Stage::Reconciling, _, _) if id.is_forward() && state.compensation_began(plan, &id) => continue,
            (Stage::Reconciling, _, Some(settling)) => match settling.plan {
                SettlePlan::Desk(because, since) => (Desk::Reconciliation, because, since),
                _ => continue,
            },
            _ => continue,
        };
        items.push(DeskItem {
            action: id,
            desk,
            because,
            since,
            attempts: action.attempts,
            effect: action.effect,
            failure: action.failure.clone(),
        });
    }
    items
}
