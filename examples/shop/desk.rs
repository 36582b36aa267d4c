//! What a person can do about something on a desk: asked of the engine, and said so that it can be done.

use amends::SagaView;
use amends::core::Timestamp;
use amends::core::agenda::verbs;
use amends::core::event::Verb;

use crate::load::SagaName;
use crate::report::Offers;

/// What can be done now about `action` of the saga.
pub fn offers(name: &SagaName, view: &SagaView, action: &str, now: Timestamp) -> Offers {
    let mut offers = Offers::default();
    // The names come from a database: as JSON, whatever they hold, they are one line that can be read back.
    let json = |text: &str| serde_json::Value::from(text).to_string();
    let saga = json(&name.to_string());
    for offer in verbs(view.plan(), view.state(), now) {
        let about_another = offer.action.is_some_and(|other| other.to_string() != action);
        if offer.refused.is_some() || about_another {
            continue;
        }
        match offer.verb {
            Verb::Resume => {
                offers.verbs.push("resume");
                let action = json(action);
                offers.lines.push(format!(
                    r#"{{"resume": {{"saga": {saga}, "action": {action}, "reason": "say why"}}}}"#
                ));
            }
            Verb::Cancel => {
                offers.verbs.push("cancel");
                offers.lines.push(format!(r#"{{"cancel": {{"saga": {saga}, "reason": "say why"}}}}"#));
            }
            Verb::Accept => offers.verbs.push("accept"),
            // The core knows more of them than a handle has.
            _ => {}
        }
    }
    offers
}
