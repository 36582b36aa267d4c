//! What the world is told of a transition, as messages of its commit: life-cycle events and notices. Pure.

use std::collections::BTreeSet;
use std::sync::Arc;

use amends_core::agenda::DeskItem;
use amends_core::state::Phase;
use amends_core::{JournalEvent, SagaId, SagaPlan, SagaState, Timestamp};
use serde::Serialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::rows::{kept, reason_text};
use crate::ports::{Notice, OutboxKind, OutboxRow, message_id};

/// Who is told what.
#[derive(Clone, Debug, Default)]
pub(crate) struct Audience {
    /// Workflows whose life-cycle events are published.
    pub(crate) events: BTreeSet<Arc<str>>,
    /// Desk entries are announced by messages.
    pub(crate) notices: bool,
}

/// A transition, as far as it is told.
pub(super) struct Moved<'a> {
    pub(super) plan: &'a SagaPlan,
    /// After it.
    pub(super) state: &'a SagaState,
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    pub(super) events: &'a [JournalEvent],
    /// The phase before it; none for a saga that did not exist.
    pub(super) was: Option<Phase>,
    /// Desk entries that were not there before.
    pub(super) entered: &'a [DeskItem],
    /// The names of desk entries that are gone.
    pub(super) left: Vec<&'a str>,
}

impl Audience {
    /// Adds the messages of a transition to those that it has already. Nothing for nobody.
    pub(super) fn tell(&self, moved: &Moved<'_>, messages: &mut Vec<OutboxRow>) {
        if !self.events.is_empty() && self.events.contains(&moved.plan.workflow) {
            life_cycle(moved, messages);
        }
        if self.notices {
            messages.extend(moved.entered.iter().map(|item| notice(moved, item)));
        }
    }
}

/// What happened in the life of the saga, in this order: it started, a person is needed, no longer needed, it ended.
fn life_cycle(moved: &Moved<'_>, messages: &mut Vec<OutboxRow>) {
    let Moved { state, was, .. } = *moved;
    let mut push = |word: &str, more: Value| {
        let n = u16::try_from(messages.len()).expect("a transition has few messages");
        messages.push(event(moved, n, word, more));
    };
    if moved.events.iter().any(|event| matches!(event, JournalEvent::SagaStarted(_))) {
        push("started", json!({ "occurred_at": state.occurred_at.to_string() }));
    }
    for item in moved.entered {
        push("needs-attention", attention(item));
    }
    for item in &moved.left {
        push("attention-ended", json!({ "item": item }));
    }
    if was != Some(state.phase) && state.phase.is_ended() {
        let reason = state.turned.as_ref().map(reason_text);
        push(state.phase.word(), json!({ "reason": reason }));
    }
}

fn attention(item: &DeskItem) -> Value {
    json!({
        "item": item.name(),
        "step": item.step(),
        "direction": item.direction(),
        "desk": item.desk.word(),
        "reason": item.because.code(),
        "since": item.since.to_string(),
    })
}

/// The order of a saga's events: a later one is greater, as text too. Transition and number within it.
fn sequence(seq: u64, n: u16) -> String {
    format!("{seq:020}.{n:05}")
}

/// A CloudEvents 1.0 document in the JSON format.
#[derive(Serialize)]
struct CloudEvent<'a> {
    specversion: &'static str,
    id: Uuid,
    source: String,
    r#type: String,
    subject: String,
    time: String,
    datacontenttype: &'static str,
    /// The extension of that name: consumers drop what is not greater than what they had of the same subject.
    sequence: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tracestate: Option<&'a str>,
    data: Map<String, Value>,
}

fn event(moved: &Moved<'_>, n: u16, word: &str, more: Value) -> OutboxRow {
    let Moved { plan, state, seq, at, .. } = *moved;
    let mut data = Map::new();
    data.insert("saga".to_owned(), json!(state.id));
    data.insert("sequence".to_owned(), json!(seq));
    data.insert("workflow".to_owned(), json!(plan.workflow));
    data.insert("version".to_owned(), json!(plan.version));
    data.insert("key".to_owned(), json!(state.key));
    data.insert("outcome".to_owned(), json!(state.phase.word()));
    if let Value::Object(more) = more {
        data.extend(more);
    }
    let id = message_id(state.id, seq, n);
    let document = CloudEvent {
        specversion: "1.0",
        id,
        source: format!("/amends/workflows/{}", plan.workflow),
        r#type: format!("amends.saga.{word}"),
        subject: state.id.to_string(),
        time: at.to_string(),
        datacontenttype: "application/json",
        sequence: sequence(seq, n),
        traceparent: state.trace.as_ref().map(|trace| trace.traceparent()),
        tracestate: state.trace.as_ref().and_then(|trace| trace.tracestate()),
        data,
    };
    OutboxRow {
        id,
        kind: OutboxKind::Event,
        subject: format!("events.{}.{word}", plan.workflow).into(),
        headers: headers(state, "application/cloudevents+json; charset=utf-8"),
        body: text(&document),
    }
}

/// The id tells the entry and its state: the same entry in the same state is one notice, however often it is written.
fn notice_id(saga: SagaId, item: &DeskItem) -> Uuid {
    let state = format!("notice/{}/{}/{}", item.name(), item.desk.word(), item.since.0);
    Uuid::new_v5(&saga.0, state.as_bytes())
}

fn notice(moved: &Moved<'_>, item: &DeskItem) -> OutboxRow {
    let Moved { plan, state, .. } = *moved;
    let notice = Notice {
        id: notice_id(state.id, item),
        saga: state.id,
        workflow: plan.workflow.clone(),
        key: state.key.clone(),
        item: item.name(),
        step: item.step().to_owned(),
        direction: item.direction().to_owned(),
        desk: item.desk.word().to_owned(),
        reason: item.because.code().to_owned(),
        since: item.since,
        attempts: item.attempts,
        effect: item.effect.word().to_owned(),
        code: item.failure.as_ref().map(|failure| kept(&failure.code).into_owned()).unwrap_or_default(),
    };
    OutboxRow {
        id: notice.id,
        kind: OutboxKind::Notice,
        subject: format!("notices.{}.{}", plan.workflow, notice.desk).into(),
        headers: headers(state, "application/json"),
        body: text(&notice),
    }
}

fn headers(state: &SagaState, content_type: &str) -> String {
    let mut headers = Map::new();
    headers.insert("content-type".to_owned(), json!(content_type));
    if let Some(trace) = &state.trace {
        headers.insert("traceparent".to_owned(), json!(trace.traceparent()));
    }
    Value::Object(headers).to_string()
}

fn text(document: &impl Serialize) -> String {
    serde_json::to_string(document).expect("it has text keys only, so it encodes")
}
