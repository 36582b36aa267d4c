//! What a person may do now, and why not: the core answers the question itself, as data.

use crate::event::Verb;
use crate::id::ActionId;
use crate::machine::person::{may_accept, may_resume};
use crate::plan::SagaPlan;
use crate::state::{Phase, SagaState};

/// One verb, for one action or for the saga as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerbOffer {
    /// What could be asked.
    pub verb: Verb,
    /// Of which action; none: of the saga.
    pub action: Option<ActionId>,
    /// Why it would be refused; none: it would be obeyed.
    pub refused: Option<String>,
}

/// The verbs whose rules come later.
const NOT_YET: [Verb; 17] = [
    Verb::RetryNow,
    Verb::SendAgain,
    Verb::Found,
    Verb::Reject,
    Verb::Supply,
    Verb::TurnBack,
    Verb::CompensateInDoubt,
    Verb::Compensate,
    Verb::Approve,
    Verb::Deny,
    Verb::Keep,
    Verb::Assign,
    Verb::SetDisposition,
    Verb::Waive,
    Verb::Close,
    Verb::Pause,
    Verb::Unpause,
];

/// Every verb, with the answer it would get now: `cancel` for the saga, `resume` and `accept` for each action
/// that has begun, and the others with the reason "not yet".
pub fn verbs(plan: &SagaPlan, state: &SagaState) -> Vec<VerbOffer> {
    let mut offers = vec![VerbOffer { verb: Verb::Cancel, action: None, refused: cancel(plan, state) }];
    for (id, a) in state.actions(plan) {
        let resume = may_resume(state, &id, a).err();
        offers.push(VerbOffer { verb: Verb::Resume, action: Some(id.clone()), refused: resume });
        let accept = may_accept(plan, state, &id, a).err();
        offers.push(VerbOffer { verb: Verb::Accept, action: Some(id), refused: accept });
    }
    let not_yet = |verb| VerbOffer { verb, action: None, refused: Some("not yet".into()) };
    offers.extend(NOT_YET.map(not_yet));
    offers
}

fn cancel(plan: &SagaPlan, state: &SagaState) -> Option<String> {
    match state.phase {
        Phase::Completed | Phase::Closed => Some("too late: the saga has ended".into()),
        Phase::Compensating | Phase::Compensated => Some("already: the saga has turned back".into()),
        Phase::Running if state.past_pivot(plan) => Some("too late: the pivot has succeeded".into()),
        Phase::Running => None,
    }
}
