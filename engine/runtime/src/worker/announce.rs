//! What the log says about a saga, once it is durable.

use std::sync::Arc;

use amends_core::agenda::DeskItem;
use amends_core::event::{Because, Failure, Next};
use amends_core::{ActionId, JournalEvent, SagaPlan, SagaState};

use super::rows::kind_word;
use crate::visible::visible;

/// Something that the log will say after acceptance.
pub(super) enum Notice {
    /// Something waits for a person.
    Desk(Box<DeskItem>),
    /// An attempt or query failed, and this was decided.
    Failure(Box<FailureNotice>),
}

/// The recorded decision after a failure.
pub(super) struct FailureNotice {
    action: ActionId,
    attempt: u32,
    policy: Arc<str>,
    failure: Failure,
    next: Next,
}

/// Notes every failure with its decision.
pub(super) fn failures(notices: &mut Vec<Notice>, plan: &SagaPlan, events: &[JournalEvent]) {
    for event in events {
        let (action, attempt, failure, next) = match event {
            JournalEvent::Failed { action, attempt, failure, next }
            | JournalEvent::BecameUnknown { action, attempt, failure, next } => {
                (action, *attempt, failure, next)
            }
            JournalEvent::QueryFailed { action, query, failure, next } => (action, *query, failure, next),
            JournalEvent::Planned { action, failure: Some(failure), next } => (action, 0, failure, next),
            _ => continue,
        };
        let is_query = matches!(event, JournalEvent::QueryFailed { .. });
        let policy = plan.find(&action.step).map(|ix| plan.step(ix)).map_or("", |step| {
            match (is_query, action.is_forward()) {
                (true, _) => &step.query.name,
                (false, true) => &step.retry.name,
                (false, false) => &step.compensation.name,
            }
        });
        notices.push(Notice::Failure(Box::new(FailureNotice {
            action: action.clone(),
            attempt,
            policy: policy.into(),
            failure: failure.clone(),
            next: next.clone(),
        })));
    }
}

/// Says it.
pub(super) fn say(notices: Vec<Notice>, plan: &SagaPlan, state: &SagaState) {
    for notice in notices {
        match notice {
            Notice::Desk(item) => tracing::warn!(
                saga = %state.id,
                workflow = %plan.workflow,
                key = %visible(&state.key),
                step = item.step(),
                direction = item.direction(),
                desk = item.desk.word(),
                reason = item.because.code(),
                attempts = item.attempts,
                effect = item.effect.word(),
                code = %visible(item.failure.as_ref().map_or("", |failure| failure.code.as_str())),
                "a person is needed",
            ),
            Notice::Failure(notice) => {
                let (decision, because) = decision(&notice.next);
                tracing::info!(
                    saga = %state.id,
                    workflow = %plan.workflow,
                    key = %visible(&state.key),
                    step = %notice.action.step,
                    direction = if notice.action.is_forward() { "forward" } else { "compensation" },
                    attempt = notice.attempt,
                    kind = kind_word(notice.failure.kind),
                    code = %visible(&notice.failure.code),
                    rule = %notice.failure.rule,
                    classifier = %notice.failure.classifier,
                    retry.attempt = notice.attempt,
                    retry.policy = %notice.policy,
                    retry.decision = decision,
                    retry.reason = because.map_or("", Because::code),
                    "a call did not settle its action",
                );
            }
        }
    }
}

/// The word for a decision, and its reason if it has one.
fn decision(next: &Next) -> (&'static str, Option<Because>) {
    match next {
        Next::Retry { .. } => ("retry", None),
        Next::Quarantine { because } => ("quarantine", Some(*because)),
        Next::TurnBack { because } => ("turn-back", Some(*because)),
        Next::Skip { because } => ("skip", Some(*because)),
        Next::Reject => ("reject", None),
        Next::Done => ("done", None),
        Next::Query { .. } => ("query", None),
        Next::Repeat { .. } => ("repeat", None),
        Next::Desk { because } => ("desk", Some(*because)),
        Next::Stay => ("stay", None),
    }
}
