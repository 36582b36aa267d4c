//! A saga, or the outbox, as JSON.

use amends::core::agenda::VerbOffer;
use amends::core::event::Recorded;
use amends::engine::OutboxView;
use amends::operator::Inspected;
use amends::view::{ActionView, SagaView};
use serde_json::{Value, json};

/// The most refused messages that are shown: an answer has to find room in one message.
const REFUSED_SHOWN_MAX: usize = 100;

/// Everything that is recorded, for programs, and the timeline for people.
pub(super) fn saga(inspected: &Inspected) -> Value {
    let view: &SagaView = &inspected.view;
    let plan = view.plan();
    let desk = view.desk.iter().map(|item| {
        json!({
            "item": item.name(), "desk": item.desk.word(), "since": item.since.to_string(),
            "attempts": item.attempts, "effect": item.effect.word(),
        })
    });
    json!({
        "saga": view.id.to_string(),
        "workflow": &*plan.workflow,
        "version": plan.version,
        "key": &*view.key,
        "phase": view.phase.word(),
        "started_at": view.started_at.to_string(),
        "ended_at": view.ended_at.map(|at| at.to_string()),
        "set_aside": view.set_aside,
        "owner": inspected.owner.map(|owner| owner.to_string()),
        "wake_at": inspected.wake_at.map(|at| at.to_string()),
        "steps": view.steps.iter().map(step).collect::<Vec<_>>(),
        "desk": desk.collect::<Vec<_>>(),
        "deferrals": view.deferrals.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "timeline": view.timeline(),
    })
}

fn step(step: &amends::view::StepView) -> Value {
    json!({
        "name": &*step.name,
        "forward": action(&step.forward),
        "compensation": step.compensation.as_ref().map(action),
    })
}

fn action(action: &ActionView) -> Value {
    json!({
        "action": action.action.to_string(),
        "stage": action.stage.name(),
        "effect": action.effect.word(),
        "attempts": action.attempts,
        "queries": action.queries,
        "since": action.since.to_string(),
        "output": action.output.as_ref().and_then(Recorded::value),
        "failure": action.failure.as_ref().map(|failure| json!({
            "kind": format!("{:?}", failure.kind), "code": failure.code, "message": failure.message,
            "rule": failure.rule, "classifier": failure.classifier,
        })),
    })
}

/// A verb with what it would do.
pub(super) fn offer(offer: &VerbOffer) -> Value {
    json!({
        "verb": format!("{:?}", offer.verb),
        "action": offer.action.as_ref().map(ToString::to_string),
        "finding": offer.finding,
        "refused": offer.refused,
        "would_write": offer.consequences,
    })
}

/// What waits to be published; of what was refused the oldest.
pub(super) fn outbox(view: &OutboxView) -> Value {
    let counts = view.counts.iter().map(|count| {
        json!({
            "kind": count.kind.word(), "waiting": count.waiting, "refused": count.refused,
            "oldest": count.oldest.to_string(),
        })
    });
    let refused = view.refused.iter().take(REFUSED_SHOWN_MAX).map(|refused| {
        let message = &refused.message;
        json!({
            "message": message.place.to_string(), "subject": &*message.subject, "refusals": message.refusals,
            "reason": refused.reason, "written_at": message.written_at.to_string(),
            "next_at": refused.next_at.to_string(),
        })
    });
    let troubles = view.troubles.iter().map(|trouble| {
        json!({
            "kind": trouble.kind.word(), "since": trouble.since.to_string(), "error": trouble.error,
        })
    });
    json!({
        "waiting": counts.collect::<Vec<_>>(),
        "refused": refused.collect::<Vec<_>>(),
        "troubles": troubles.collect::<Vec<_>>(),
    })
}
