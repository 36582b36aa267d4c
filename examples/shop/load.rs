//! The lines: one JSON document each, read one by one, so that a bad one costs nothing but itself.
//!
//! ```json
//! {"order": {"order": "O-1001", …}, "faults": [{"call": "capture-payment", "kind": "slow", "millis": 900}]}
//! {"payment": {"payment": "P-2001", …}, "note": "for people"}
//! {"refund": {"refund": "R-3001", "order": "O-1001", …}}
//! {"resume": {"saga": "order/O-1001", "action": "ship-parcel/forward", "reason": "credential renewed"}}
//! {"cancel": {"saga": "order/O-1002", "reason": "the customer called"}}
//! ```
//!
//! The last two are an operator's, and there are more ([`VERBS`]): each is given when the saga that it names stands
//! as the verb expects, mostly on a desk, once, under an operation id made from the line's position. `faults` are bad days of the participants, planned: what
//! they do wrong about this key.

mod verbs;

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read as _};

use amends::core::Json;
use amends::ports::KEY_BYTES_MAX;
use amends_workflows::order::OrderPlaced;
use amends_workflows::payment::PaymentRequested;
use amends_workflows::refund::RefundRequested;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::admission::{self, BYTES_MAX, Malformed};
use crate::participants::PlannedFault;

// The interface of this module is:
pub use verbs::{Late, Operator, VERBS, Verb};

/// Everything that was read.
#[derive(Debug, Default)]
pub struct Lines {
    /// Lines that mean something, in the order they came.
    pub good: Vec<Line>,
    /// Lines that were refused, with their numbers.
    pub malformed: Vec<(usize, Malformed)>,
}

/// One line that means something.
#[derive(Clone, Debug)]
pub struct Line {
    /// From 1.
    pub number: usize,
    /// What it says.
    pub event: Event,
}

/// What a line says.
#[derive(Clone, Debug)]
pub enum Event {
    /// A saga is to be started.
    Start(Box<Start>),
    /// A person does something about a saga that stands on a desk.
    Operator(Operator),
}

/// A saga by the names that people know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SagaName {
    /// Its workflow.
    pub workflow: String,
    /// Its business key.
    pub key: String,
}

impl std::fmt::Display for SagaName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.workflow, self.key)
    }
}

/// A saga that is to be started.
#[derive(Clone, Debug)]
pub struct Start {
    /// Which.
    pub saga: SagaName,
    /// Its input, as it came: it decodes as what the workflow takes.
    pub input: Json,
    /// The saga that it is a sequel of: a refund comes after its order.
    pub after: Option<SagaName>,
    /// Bad days of its participants.
    pub faults: Vec<PlannedFault>,
}

/// Reads lines to the end.
///
/// # Errors
/// When the source cannot be read. A bad line is not an error.
pub fn read(mut from: impl BufRead) -> io::Result<Lines> {
    let mut lines = Lines::default();
    let mut bytes = Vec::new();
    let mut number = 0;
    while next_line(&mut from, &mut bytes)? {
        number += 1;
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        if text.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match understand(text) {
            Ok(event) => lines.good.push(Line { number, event }),
            Err(malformed) => lines.malformed.push((number, malformed)),
        }
    }
    Ok(lines)
}

/// Takes the next line, with its end. Of one that is too long only so much is kept as shows that it is.
fn next_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let room = BYTES_MAX as u64 + 2;
    if from.by_ref().take(room).read_until(b'\n', line)? == 0 {
        return Ok(false);
    }
    if !line.ends_with(b"\n") && line.len() as u64 == room {
        from.skip_until(b'\n')?;
    }
    Ok(true)
}

/// A line as it is written down: exactly one that starts a saga, or one verb.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a line, an object")]
struct Written {
    order: Option<OrderPlaced>,
    payment: Option<PaymentRequested>,
    refund: Option<RefundRequested>,
    #[serde(default)]
    faults: Vec<PlannedFault>,
    #[serde(default, rename = "note")]
    _note: Option<String>,
}

/// What a line begins with, before anybody looks closer.
#[derive(Deserialize)]
struct Named(BTreeMap<String, Box<RawValue>>);

/// The payload of a starting line, as the text that came.
#[derive(Deserialize)]
struct Payload {
    #[serde(alias = "payment", alias = "refund")]
    order: Box<RawValue>,
}

fn understand(text: &[u8]) -> Result<Event, Malformed> {
    if text.starts_with(BYTE_ORDER_MARK) {
        let reason = "begins with a byte order mark; save the file as UTF-8 without one".to_owned();
        return Err(Malformed { path: "$".to_owned(), reason });
    }
    let line = admission::admit(text)?;
    an_object("$", line.text())?;
    let complaint = |reason: String| Malformed { path: "$".to_owned(), reason };
    let Named(mut fields) = admission::decode(&line)?;
    let all = || STARTS.iter().chain(&VERBS).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let is_meant = |name: &&String| STARTS.contains(&name.as_str()) || VERBS.contains(&name.as_str());
    let meant: Vec<String> = fields.keys().filter(is_meant).cloned().collect();
    let meant = match &*meant {
        [meant] => meant.as_str(),
        [] => {
            let other = fields.keys().find(|name| !BESIDES.contains(&name.as_str()));
            return Err(complaint(match other {
                Some(other) => format!("unknown field `{other}`; a line has one of {}", all()),
                None => format!("missing one of {}", all()),
            }));
        }
        several => return Err(complaint(format!("more than one meaning: {}", several.join(", ")))),
    };
    if VERBS.contains(&meant) {
        let content = fields.remove(meant).unwrap_or_default();
        fields.remove("note");
        if let Some(other) = fields.keys().next() {
            let reason = match &**other {
                "faults" => "an operator's line plans no faults".to_owned(),
                other => format!("unknown field `{other}` beside `{meant}`"),
            };
            return Err(Malformed { path: format!("$.{other}"), reason });
        }
        return verbs::read(meant, &content).map(Event::Operator);
    }
    let Written { order, payment, refund, faults, _note } = admission::decode(&line)?;
    let start = |workflow: &str, key: &str, after| -> Result<Event, Malformed> {
        let Payload { order: input } = admission::decode(&line)?;
        an_object(&format!("$.{workflow}"), input.get())?;
        check_key(workflow, key)?;
        let saga = SagaName { workflow: workflow.to_owned(), key: key.to_owned() };
        Ok(Event::Start(Box::new(Start { saga, input: input.into(), after, faults: faults.clone() })))
    };
    match (order, payment, refund) {
        (Some(order), _, _) => start("order", order.order().as_str(), None),
        (_, Some(payment), _) => start("payment", payment.payment().as_str(), None),
        (_, _, Some(refund)) => {
            let order = SagaName { workflow: "order".to_owned(), key: refund.order.to_string() };
            start("refund", refund.refund.as_str(), Some(order))
        }
        (None, None, None) => Err(complaint(format!("`{meant}` is null"))),
    }
}

/// What starts a saga.
const STARTS: [&str; 3] = ["order", "payment", "refund"];

/// What a starting line may have besides.
const BESIDES: [&str; 2] = ["faults", "note"];

/// Some editors put it before the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Serde also takes the values of an object in a row, as an array: `["O-1", …]` would be an order.
fn an_object(path: &str, text: &str) -> Result<(), Malformed> {
    if text.trim_start().starts_with('{') {
        return Ok(());
    }
    let reason = "this is no object; a line is one, as in {\"order\": {\"order\": \"O-1\", …}}".to_owned();
    Err(Malformed { path: path.to_owned(), reason })
}

/// The engine bounds its keys; here is the place where that still has a path.
fn check_key(workflow: &str, key: &str) -> Result<(), Malformed> {
    if (1..=KEY_BYTES_MAX).contains(&key.len()) {
        return Ok(());
    }
    let reason = format!("a key has 1 to {KEY_BYTES_MAX} bytes, this one has {}", key.len());
    Err(Malformed { path: format!("$.{workflow}.{workflow}"), reason })
}
