//! What a person may do now, with its consequences, and why not: the core answers the question itself, as data.
//! Nothing is decided here: every verb is put to [`decide`] as it would be asked.

use std::time::Duration;

use crate::event::{Answer, JournalEvent, Verb};
use crate::id::{ActionId, Direction, OperationId};
use crate::json::Json;
use crate::machine::person::effects_in_place;
use crate::machine::{Approval, Command, CompensationOrder, Operation, PersonFinding, Rejected, decide};
use crate::plan::SagaPlan;
use crate::state::{Effect, SagaState};
use crate::time::Timestamp;

/// One verb, for one action or for the saga as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct VerbOffer {
    /// What could be asked.
    pub verb: Verb,
    /// Of which action; none: of the saga.
    pub action: Option<ActionId>,
    /// With which finding, for `found`; else empty.
    pub finding: &'static str,
    /// Why it would be refused, or change nothing; none: it would be obeyed.
    pub refused: Option<String>,
    /// The events that it would write. Values that the person has yet to give stand as placeholders.
    pub consequences: Vec<JournalEvent>,
}

/// The operation id and the person of a question that is never journalled.
const ASKED: &str = "what-if";

/// Every verb with the answer it would get now: of the saga, then of each action.
pub fn verbs(plan: &SagaPlan, state: &SagaState, now: Timestamp) -> Vec<VerbOffer> {
    let mut offers = Vec::new();
    for (verb, command) in of_saga(plan, state) {
        offers.push(offer(plan, state, now, verb, None, "", command));
    }
    for (id, _) in state.actions(plan) {
        for (verb, finding, command) in of_action(&id, now) {
            offers.push(offer(plan, state, now, verb, Some(id.clone()), finding, command));
        }
    }
    offers
}

fn offer(
    plan: &SagaPlan,
    state: &SagaState,
    now: Timestamp,
    verb: Verb,
    action: Option<ActionId>,
    finding: &'static str,
    command: Command,
) -> VerbOffer {
    let (refused, consequences) = match decide(plan, state, command, now) {
        Ok(events) => match answer(&events) {
            Some(Answer::TooLate) => (Some("too late".to_owned()), Vec::new()),
            Some(Answer::Already) => (Some("already".to_owned()), Vec::new()),
            Some(Answer::Refused { reason }) => (Some(reason), Vec::new()),
            Some(Answer::Accepted | Answer::Pending) | None => (None, events),
        },
        Err(Rejected::State(reason)) => (Some(reason), Vec::new()),
        Err(other) => (Some(other.to_string()), Vec::new()),
    };
    VerbOffer { verb, action, finding, refused, consequences }
}

/// What this question would be answered.
fn answer(events: &[JournalEvent]) -> Option<Answer> {
    events.iter().find_map(|event| match event {
        JournalEvent::Answered { operation, answer, .. } if *operation.0 == *ASKED => Some(answer.clone()),
        _ => None,
    })
}

fn asked() -> Operation {
    Operation { id: OperationId::new(ASKED), actor: ASKED.into(), reason: ASKED.into() }
}

fn of_saga(plan: &SagaPlan, state: &SagaState) -> Vec<(Verb, Command)> {
    let open = |(id, effect): (ActionId, Effect)| (effect != Effect::Applied).then_some(id);
    let named = effects_in_place(plan, state).into_iter().filter_map(open).collect();
    let closing =
        state.closing.as_ref().map_or_else(String::new, |(closing, _)| closing.operation.to_string());
    let (request, item) = (closing, String::new());
    vec![
        (Verb::Cancel, Command::Cancel(asked())),
        (Verb::TurnBack, Command::TurnBack(asked())),
        (Verb::Pause, Command::Pause(asked())),
        (Verb::Unpause, Command::Unpause(asked())),
        (Verb::Close, Command::Close { follow_up: ASKED.into(), named, operation: asked() }),
        (Verb::Approve, Command::Approve { request: request.clone(), operation: asked() }),
        (Verb::Deny, Command::Deny { request, operation: asked() }),
        (Verb::Assign, Command::Assign { item: item.clone(), assignee: ASKED.into(), operation: asked() }),
        (
            Verb::SetDisposition,
            Command::SetDisposition { item, disposition: ASKED.into(), operation: asked() },
        ),
    ]
}

fn of_action(id: &ActionId, now: Timestamp) -> Vec<(Verb, &'static str, Command)> {
    let (action, name) = (|| id.clone(), id.to_string());
    let found = |finding| Command::FoundByPerson {
        action: id.clone(),
        finding,
        evidence: ASKED.into(),
        operation: asked(),
    };
    let output = Some(if id.is_forward() { text("null") } else { text("\"Undone\"") });
    let (until, evidence) = (now + Duration::from_secs(3_600), || ASKED.to_owned());
    let mut all = vec![
        (Verb::RetryNow, "", Command::RetryNow { action: action(), operation: asked() }),
        (Verb::Resume, "", Command::Resume { action: action(), operation: asked() }),
        (
            Verb::SendAgain,
            "",
            Command::SendAgain { action: action(), override_reason: None, operation: asked() },
        ),
        (
            Verb::Accept,
            "",
            Command::Accept { action: action(), output, evidence: evidence(), operation: asked() },
        ),
        (Verb::Found, "not applied", found(PersonFinding::NotApplied)),
        (Verb::Found, "refused", found(PersonFinding::Refused(None))),
        (Verb::Found, "partial", found(PersonFinding::Partial(None))),
        (Verb::Reject, "", Command::Reject { action: action(), operation: asked() }),
        (
            Verb::Supply,
            "",
            Command::Supply {
                action: action(),
                output: text("null"),
                evidence: evidence(),
                operation: asked(),
            },
        ),
        (Verb::CompensateInDoubt, "", Command::CompensateInDoubt { action: action(), operation: asked() }),
        (Verb::Approve, "", Command::Approve { request: name.clone(), operation: asked() }),
        (Verb::Deny, "", Command::Deny { request: name.clone(), operation: asked() }),
        (Verb::Keep, "", Command::Keep { action: action(), until, operation: asked() }),
        (
            Verb::Assign,
            "",
            Command::Assign { item: name.clone(), assignee: ASKED.into(), operation: asked() },
        ),
        (
            Verb::SetDisposition,
            "",
            Command::SetDisposition { item: name, disposition: ASKED.into(), operation: asked() },
        ),
        (Verb::Waive, "", Command::Waive { action: action(), operation: asked() }),
    ];
    if id.is_forward() {
        all.push((Verb::Compensate, "", compensate(id)));
    }
    all
}

fn compensate(of: &ActionId) -> Command {
    let action = ActionId { step: of.step.clone(), direction: Direction::Manual(uuid::Uuid::nil()) };
    let order = CompensationOrder {
        reason_code: ASKED.into(),
        approval: Approval::AnotherPerson,
        expected: None,
        proposed: None,
        affected: None,
        dry_run: None,
    };
    Command::Compensate { action, order, operation: asked() }
}

fn text(json: &str) -> Json {
    Json::parse(json).expect("it is JSON")
}
