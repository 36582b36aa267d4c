//! What a person can do about something on a desk: asked of the engine, and said so that it can be done.

use amends::SagaView;
use amends::core::agenda::{VerbOffer, verbs};
use amends::core::event::Verb;
use amends::core::state::Effect;
use amends::core::{ActionId, Direction, Timestamp};
use serde_json::json;
use uuid::Uuid;

use crate::load::SagaName;
use crate::report::Offers;

/// What can be done now about `action` of the saga: first what is about the action itself.
pub fn offers(name: &SagaName, view: &SagaView, action: &str, now: Timestamp) -> Offers {
    let obeyed = verbs(view.plan(), view.state(), now).into_iter().filter(|offer| offer.refused.is_none());
    let (of_action, of_saga): (Vec<VerbOffer>, Vec<VerbOffer>) =
        obeyed.partition(|offer| offer.action.is_some());
    let (mut verbs, mut lines): (Vec<&'static str>, Vec<(usize, String)>) = Default::default();
    let about_it = |offer: &VerbOffer| offer.action.as_ref().is_some_and(|it| it.to_string() == action);
    for offer in of_action.into_iter().filter(about_it).chain(of_saga) {
        let Some((verb, line)) = line(&name.to_string(), view, &offer) else { continue };
        if !verbs.contains(&verb) {
            verbs.push(verb);
        }
        lines.push((place(verb), line));
    }
    verbs.sort_by_key(|verb| place(verb));
    lines.sort_by_key(|(place, _)| *place);
    Offers { verbs, lines: lines.into_iter().map(|(_, line)| line).collect() }
}

/// What settles a matter stands before what only moves it, and what may do something twice or give up stands last.
const ORDER: [&str; 20] = [
    "approve",
    "resume",
    "retry_now",
    "accept",
    "found",
    "supply",
    "waive",
    "reject",
    "deny",
    "cancel",
    "turn_back",
    "pause",
    "unpause",
    "keep",
    "assign",
    "set_disposition",
    "compensate_in_doubt",
    "compensate",
    "send_again",
    "close",
];

fn place(verb: &str) -> usize {
    ORDER.iter().position(|other| *other == verb).unwrap_or(ORDER.len())
}

/// The line that asks for it: as JSON, whatever the names in it hold, it is one line that can be read back. None
/// for what the lines of the shop cannot say.
fn line(saga: &str, view: &SagaView, offer: &VerbOffer) -> Option<(&'static str, String)> {
    let action = offer.action.as_ref().map(ToString::to_string);
    let (why, evidence) = ("say why", "say what you rely on");
    let simple = || json!({"saga": saga, "action": action, "reason": why});
    let of_saga = || json!({"saga": saga, "reason": why});
    let (verb, content) = match offer.verb {
        Verb::Resume => ("resume", simple()),
        Verb::RetryNow => ("retry_now", simple()),
        Verb::SendAgain => ("send_again", simple()),
        Verb::Reject => ("reject", simple()),
        Verb::Waive => ("waive", simple()),
        Verb::CompensateInDoubt => ("compensate_in_doubt", simple()),
        Verb::Keep => ("keep", json!({"saga": saga, "action": action, "seconds": 3_600, "reason": why})),
        Verb::Assign if on_a_desk(view, offer) => {
            ("assign", json!({"saga": saga, "action": action, "to": "say who", "reason": why}))
        }
        Verb::SetDisposition if on_a_desk(view, offer) => {
            let content =
                json!({"saga": saga, "action": action, "disposition": "say what was decided", "reason": why});
            ("set_disposition", content)
        }
        Verb::Compensate => {
            let step = offer.action.as_ref().map(|action| &*action.step).unwrap_or_default();
            let made = view.state().actions(view.plan()).filter(|(id, _)| *id.step == *step && is_manual(id));
            let action = format!("{step}/manual:{}", Uuid::from_u128(1 + made.count() as u128));
            let content = json!({"saga": saga, "action": action, "reason_code": "say which", "reason": why});
            ("compensate", content)
        }
        Verb::Accept | Verb::Supply => {
            let verb = if offer.verb == Verb::Accept { "accept" } else { "supply" };
            let result = if offer.action.as_ref().is_some_and(ActionId::is_forward) {
                json!(null)
            } else {
                json!("Undone")
            };
            let content = json!({"saga": saga, "action": action, "result": result, "evidence": evidence, "reason": why});
            (verb, content)
        }
        Verb::Found => {
            let finding = offer.finding.replace(' ', "_");
            let content = json!({"saga": saga, "action": action, "finding": finding, "evidence": evidence, "reason": why});
            ("found", content)
        }
        Verb::Approve if offer.action.is_some() => ("approve", simple()),
        Verb::Deny if offer.action.is_some() => ("deny", simple()),
        Verb::Approve => ("approve", of_saga()),
        Verb::Deny => ("deny", of_saga()),
        Verb::Cancel => ("cancel", of_saga()),
        Verb::TurnBack => ("turn_back", of_saga()),
        Verb::Pause => ("pause", of_saga()),
        Verb::Unpause => ("unpause", of_saga()),
        Verb::Close => {
            let content = json!({"saga": saga, "named": open(view), "follow_up": "say what will be done", "reason": why});
            ("close", content)
        }
        _ => return None,
    };
    let content = in_order(&content);
    Some((verb, format!(r#"{{"{verb}": {content}}}"#)))
}

fn is_manual(action: &ActionId) -> bool {
    matches!(action.direction, Direction::Manual(_))
}

/// Is this one of the things that wait for a person?
fn on_a_desk(view: &SagaView, offer: &VerbOffer) -> bool {
    view.desk.iter().any(|item| item.action == offer.action)
}

/// The effects that whoever closes the saga has to name.
fn open(view: &SagaView) -> Vec<String> {
    let open = |effect: Effect| matches!(effect, Effect::Possible | Effect::Partial);
    let actions = view.steps.iter().flat_map(|step| [Some(&step.forward), step.compensation.as_ref()]);
    actions.flatten().filter(|at| open(at.effect)).map(|at| at.action.to_string()).collect()
}

/// As people write it: the saga first, the reason last, a space after each comma and colon.
fn in_order(content: &serde_json::Value) -> String {
    let fields = [
        "saga",
        "action",
        "named",
        "to",
        "disposition",
        "seconds",
        "finding",
        "result",
        "evidence",
        "follow_up",
        "reason_code",
        "reason",
    ];
    let fields = fields.iter().filter_map(|field| Some(format!(r#""{field}": {}"#, content.get(field)?)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
}
