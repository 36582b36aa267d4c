//! Commands and queries: written by the engine, read by participants.

use std::sync::Arc;

use amends::core::{ActionId, Json, RequestId, SagaId, TraceContext};
use amends::{ForwardOutcome, Outgoing, Transmission};
use async_nats::HeaderMap;
use uuid::Uuid;

use super::headers::{
    ATTEMPT, CONTENT_TYPE, DEADLINE, DIRECTION, FENCE_THROUGH, FORWARD_REQUEST_ID, INPUT_DIGEST, KEY,
    PROTOCOL, REPLY_TO, REQUEST_ID, SAGA, STEP, TRACEPARENT, TRACESTATE, VERSION, WORKFLOW, percent_decoded,
    percent_encoded, value,
};
use amends::core::event::Recorded;

/// Which of a step's actions a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The step itself.
    Forward,
    /// Its compensation.
    Compensation,
}

impl Direction {
    /// The word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Compensation => "compensation",
        }
    }
}

/// A command or a query, as a participant reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The last token of the subject.
    pub operation: String,
    /// Forward, or compensation.
    pub direction: Direction,
    /// The stable id of the action: the key of the barrier.
    pub request_id: Uuid,
    /// In a compensation: the request id of the call that it undoes.
    pub forward_request_id: Option<Uuid>,
    /// The attempt, from 1; in a query how many were made.
    pub attempt: u32,
    /// Equal inputs have equal digests.
    pub input_digest: [u8; 32],
    /// In a query: close out every attempt up to this one, if nothing is kept.
    pub fence_through: Option<u32>,
    /// Whose action it is.
    pub saga: SagaId,
    /// That saga's business key, if it was told.
    pub key: Option<String>,
    /// The trace that it belongs to.
    pub trace: Option<TraceContext>,
    /// The step's input; in a compensation the object of `PROTOCOL.md`, section 3.
    pub body: Json,
}

/// A command that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to read a command: {0}")]
pub struct MalformedCall(pub String);

impl Call {
    /// Reads a command or a query.
    ///
    /// # Errors
    /// When a header is missing or is not what it says, or the body is not JSON.
    pub fn read(subject: &str, headers: &HeaderMap, body: &[u8]) -> Result<Self, MalformedCall> {
        let needed = |name| value(headers, name).ok_or_else(|| MalformedCall(format!("`{name}` is missing")));
        let wrong = |name: &str, is: &str| MalformedCall(format!("`{name}` is not {is}"));
        let id =
            |name| needed(name).and_then(|text| Uuid::try_parse(text).map_err(|_| wrong(name, "a UUID")));
        let direction = match needed(DIRECTION)? {
            "forward" => Direction::Forward,
            "compensation" => Direction::Compensation,
            _ => return Err(wrong(DIRECTION, "`forward` or `compensation`")),
        };
        let forward_request_id = match direction {
            Direction::Forward => None,
            Direction::Compensation => Some(id(FORWARD_REQUEST_ID)?),
        };
        let attempt = needed(ATTEMPT)?.parse().map_err(|_| wrong(ATTEMPT, "a number"))?;
        let fence_through = match value(headers, FENCE_THROUGH) {
            Some(text) => Some(text.parse().map_err(|_| wrong(FENCE_THROUGH, "a number"))?),
            None => None,
        };
        let text =
            std::str::from_utf8(body).map_err(|_| MalformedCall("the body is not UTF-8".to_owned()))?;
        let trace = value(headers, TRACEPARENT)
            .and_then(|parent| TraceContext::parse(parent, value(headers, TRACESTATE)));
        Ok(Self {
            operation: subject.rsplit('.').next().unwrap_or_default().to_owned(),
            direction,
            request_id: id(REQUEST_ID)?,
            forward_request_id,
            attempt,
            input_digest: digest(needed(INPUT_DIGEST)?)
                .ok_or_else(|| wrong(INPUT_DIGEST, "64 hexadecimal digits"))?,
            fence_through,
            saga: SagaId(id(SAGA)?),
            key: value(headers, KEY).and_then(percent_decoded),
            trace,
            body: Json::parse(text)
                .map_err(|error| MalformedCall(format!("the body is not JSON: {error}")))?,
        })
    }
}

fn digest(hex: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    if hex.len() != 64 || !hex.is_ascii() {
        return None;
    }
    for (byte, at) in digest.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&hex[at..at + 2], 16).ok()?;
    }
    Some(digest)
}

/// What both a command and a query say of the action.
struct About<'a> {
    saga: SagaId,
    workflow: Option<&'a str>,
    step: Option<&'a str>,
    key: &'a str,
    direction: Direction,
    request: RequestId,
    forward: RequestId,
    attempt: u32,
    trace: Option<&'a TraceContext>,
}

impl About<'_> {
    fn headers(&self, input: &Json) -> Result<Vec<(&'static str, String)>, String> {
        let hex = input.canonical_digest().map_err(|refused| refused.to_string())?;
        let hex: String = hex.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut headers = vec![
            (PROTOCOL, VERSION.to_owned()),
            (SAGA, self.saga.to_string()),
            (KEY, percent_encoded(self.key)),
            (DIRECTION, self.direction.word().to_owned()),
            (REQUEST_ID, self.request.to_string()),
            (ATTEMPT, self.attempt.to_string()),
            (INPUT_DIGEST, hex),
            (CONTENT_TYPE, "application/json".to_owned()),
        ];
        headers.extend(self.workflow.map(|name| (WORKFLOW, name.to_owned())));
        headers.extend(self.step.map(|name| (STEP, name.to_owned())));
        if self.direction == Direction::Compensation {
            headers.push((FORWARD_REQUEST_ID, self.forward.to_string()));
        }
        if let Some(trace) = self.trace {
            headers.push((TRACEPARENT, trace.traceparent().to_owned()));
            headers.extend(trace.tracestate().map(|state| (TRACESTATE, state.to_owned())));
        }
        Ok(headers)
    }
}

/// A command: what an attempt is, on the wire. The error says why there can be none.
pub(crate) fn command(
    subject: Arc<str>,
    reply_to: &str,
    of: &Transmission,
    input: &Json,
    forward: Option<&ForwardOutcome>,
) -> Result<Outgoing, String> {
    let about = About {
        saga: of.saga,
        workflow: Some(&of.workflow),
        step: Some(&of.action.step),
        key: &of.key,
        direction: direction_of(&of.action),
        request: of.request_id,
        forward: of.forward_request_id,
        attempt: of.attempt,
        trace: of.trace.as_ref(),
    };
    let mut headers = about.headers(input)?;
    headers.push((REPLY_TO, reply_to.to_owned()));
    headers.push((DEADLINE, of.deadline.to_string()));
    let body = match forward {
        None => input.text().to_owned(),
        Some(forward) => undoing(input, forward, of.expected.as_ref()),
    };
    Ok(Outgoing { subject, headers, body })
}

/// A query: headers and body.
pub(crate) fn query(cx: &amends::StepContext, input: &Json) -> Result<(HeaderMap, String), String> {
    let direction = match cx.request_id() == cx.forward_request_id() {
        true => Direction::Forward,
        false => Direction::Compensation,
    };
    let about = About {
        saga: cx.saga_id(),
        workflow: None,
        step: None,
        key: cx.business_key(),
        direction,
        request: cx.request_id(),
        forward: cx.forward_request_id(),
        attempt: cx.attempt(),
        trace: cx.trace(),
    };
    let mut headers = HeaderMap::new();
    for (name, value) in about.headers(input)? {
        headers.insert(name, value.as_str());
    }
    if let Some(through) = cx.fence_through() {
        headers.insert(FENCE_THROUGH, through.to_string().as_str());
    }
    let body = match direction {
        Direction::Forward => input.text().to_owned(),
        Direction::Compensation => undoing(input, &ForwardOutcome::InDoubt, None),
    };
    Ok((headers, body))
}

fn direction_of(action: &ActionId) -> Direction {
    if action.is_forward() { Direction::Forward } else { Direction::Compensation }
}

/// The body of a compensation.
fn undoing(input: &Json, forward: &ForwardOutcome, expected: Option<&Json>) -> String {
    let known = match forward {
        ForwardOutcome::Completed(Recorded::Value(result)) => format!(r#"{{"completed":{result}}}"#),
        ForwardOutcome::Completed(Recorded::Omitted(omitted)) => {
            let reason = serde_json::to_string(&omitted.reason).expect("text is always JSON");
            format!(r#"{{"unrecorded":{reason}}}"#)
        }
        ForwardOutcome::Partial(Some(Recorded::Value(result))) => format!(r#"{{"partial":{result}}}"#),
        ForwardOutcome::Partial(_) => r#"{"partial":null}"#.to_owned(),
        ForwardOutcome::InDoubt => r#""in_doubt""#.to_owned(),
    };
    match expected {
        Some(expected) => format!(r#"{{"input":{input},"forward":{known},"expected":{expected}}}"#),
        None => format!(r#"{{"input":{input},"forward":{known}}}"#),
    }
}

#[cfg(test)]
mod tests {
    use amends::core::Timestamp;

    use super::*;

    fn transmission(action: ActionId) -> Transmission {
        let saga = SagaId(Uuid::from_u128(7));
        Transmission {
            saga,
            key: "order/1".into(),
            workflow: "order".into(),
            request_id: action.request_id(saga),
            forward_request_id: ActionId::forward(action.step.clone()).request_id(saga),
            action,
            attempt: 2,
            deadline: Timestamp(1_796_055_120_250_000),
            expected: None,
            trace: TraceContext::parse(
                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                Some("a=1"),
            ),
        }
    }

    fn heard(outgoing: &Outgoing) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in &outgoing.headers {
            headers.insert(*name, value.as_str());
        }
        headers
    }

    fn json(text: &str) -> Json {
        Json::parse(text).expect("JSON")
    }

    #[test]
    fn a_participant_reads_what_the_engine_writes() {
        let of = transmission(ActionId::forward("charge"));
        let input = json(r#"{"b": 1.50, "a": 1}"#);
        let subject: Arc<str> = "amends.command.payments.charge".into();
        let outgoing = command(subject, "amends.reply.shop", &of, &input, None).expect("a command");
        let call =
            Call::read(&outgoing.subject, &heard(&outgoing), outgoing.body.as_bytes()).expect("it is one");
        assert_eq!(call.operation, "charge");
        assert_eq!((call.direction, call.attempt, call.saga), (Direction::Forward, 2, of.saga));
        assert_eq!((call.request_id, call.forward_request_id), (of.request_id.0, None));
        assert_eq!(call.input_digest, json(r#"{"a":1,"b":1.50}"#).canonical_digest().expect("a digest"));
        assert_eq!(call.key.as_deref(), Some("order/1"));
        assert_eq!((call.body, call.trace), (input, of.trace));
    }

    #[test]
    fn a_compensation_says_what_it_undoes() {
        let mut of = transmission(ActionId::compensation("charge"));
        of.expected = Some(json(r#"{"version":3}"#));
        let forward = ForwardOutcome::Completed(Recorded::Value(json(r#""ch_1""#)));
        let outgoing = command("s".into(), "r", &of, &json("4"), Some(&forward)).expect("a command");
        assert_eq!(outgoing.body, r#"{"input":4,"forward":{"completed":"ch_1"},"expected":{"version":3}}"#);
        let call = Call::read("s", &heard(&outgoing), outgoing.body.as_bytes()).expect("it is one");
        assert_eq!(call.forward_request_id, Some(of.forward_request_id.0));
    }

    #[test]
    fn a_call_without_one_of_its_headers_is_named_with_it() {
        let of = transmission(ActionId::compensation("charge"));
        let outgoing =
            command("s".into(), "r", &of, &json("4"), Some(&ForwardOutcome::InDoubt)).expect("a command");
        for name in [SAGA, DIRECTION, REQUEST_ID, FORWARD_REQUEST_ID, ATTEMPT, INPUT_DIGEST] {
            let mut without = HeaderMap::new();
            for (other, value) in outgoing.headers.iter().filter(|(other, _)| *other != name) {
                without.insert(*other, value.as_str());
            }
            let refused = Call::read("s", &without, b"4").expect_err("a header is missing");
            assert!(refused.to_string().contains(name), "{refused}");
        }
        assert!(Call::read("s", &heard(&outgoing), b"{").is_err());
        assert!(Call::read("s", &heard(&outgoing), b"\xff").is_err());
    }
}
