//! Replies and findings: written by participants, read by the engine.

use std::fmt::Display;
use std::time::Duration;

use amends::core::event::{Failure, FailureKind, Finding, Omitted, Recorded};
use amends::core::machine::Attempted;
use amends::core::{Json, RequestId, SagaId};
use async_nats::HeaderMap;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::headers::{ATTEMPT, FENCED_THROUGH, OMITTED, OUTCOME, REQUEST_ID, SAGA, WAIT, value};

/// Who classifies what comes over the wire: the participant itself, by the word that it answers.
const CLASSIFIER: &str = "amends-nats/1";
/// A wait of more counts as this.
const WAIT_MAX: Duration = Duration::from_secs(24 * 3_600);
/// What the headers of a reply may take of a message, in bytes.
const HEADERS_BYTES_MAX: usize = 4_096;
/// Words for people are cut here, in bytes.
const MESSAGE_BYTES_MAX: usize = 4_096;

/// What a participant answers to a command or a query: `PROTOCOL.md`, section 4.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reply {
    /// It took effect; the result, or of a compensation `"Undone"` or `"NothingToUndo"`.
    Applied(Json),
    /// Taken, and answered later by another reply; not to be asked about before so long.
    Accepted(Option<Duration>),
    /// No, finally; nothing took effect.
    Refused(Json),
    /// Nothing took effect; may work later.
    Transient(Trouble),
    /// Nothing took effect; will not heal by itself.
    Persistent(Trouble),
    /// The participant itself cannot tell.
    Unknown(Trouble),
    /// It took effect in part; what there is of a result.
    Partial(Option<Json>),
    /// This transmission is closed out: no attempt up to this one can take effect.
    Fenced(u32),
    /// The request id is held with another input.
    Mismatch,
    /// The state that a compensation expected has moved: what was found.
    Stale(Json),
    /// A call of this request runs at this moment.
    InProgress,
    /// Nothing is committed under this request id.
    Absent,
    /// Something that is none of these.
    Unclear(Trouble),
}

/// A code for rules, and words for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// A structured code, for instance `rate-limited`.
    pub code: String,
    /// For people. The engine keeps 4 096 bytes of it.
    #[serde(default)]
    pub message: String,
    /// Not to be tried again before so long.
    #[serde(skip)]
    pub wait: Option<Duration>,
}

/// What is kept of a reply that said that nothing took effect.
#[derive(Serialize, Deserialize)]
struct Said {
    outcome: String,
    trouble: Trouble,
}

/// The code of an attempt that was closed out, nobody can tell any more why.
const CLOSED_OUT: &str = "closed-out";

impl Trouble {
    /// With a code and words.
    pub fn new(code: impl Into<String>, message: impl Display) -> Self {
        Self { code: code.into(), message: message.to_string(), wait: None }
    }

    fn failure(self, kind: FailureKind) -> Failure {
        let Self { code, mut message, wait } = self;
        message.truncate(message.floor_char_boundary(MESSAGE_BYTES_MAX));
        Failure {
            kind,
            code: code.replace('\0', "\u{fffd}"),
            message: message.replace('\0', "\u{fffd}"),
            rule: "participant".to_owned(),
            classifier: CLASSIFIER.to_owned(),
            hint: wait,
        }
    }
}

/// A reply that cannot even be told to a saga.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to read a reply: {0}")]
pub(crate) struct MalformedReply(pub(crate) String);

impl Reply {
    /// It took effect, with this result.
    ///
    /// # Panics
    /// When the result has no JSON form, for instance a map whose keys are not texts.
    pub fn applied<T: Serialize + ?Sized>(result: &T) -> Self {
        Self::Applied(Json::encode(result).expect("the result has a JSON form"))
    }

    /// No, finally, for this reason.
    ///
    /// # Panics
    /// As [`Self::applied`].
    pub fn refused<T: Serialize + ?Sized>(refusal: &T) -> Self {
        Self::Refused(Json::encode(refusal).expect("the refusal has a JSON form"))
    }

    /// It took effect in part; what there is of a result.
    ///
    /// # Panics
    /// As [`Self::applied`].
    pub fn partial<T: Serialize + ?Sized>(result: Option<&T>) -> Self {
        Self::Partial(result.map(|result| Json::encode(result).expect("the result has a JSON form")))
    }

    /// A compensation undid the effect.
    pub fn undone() -> Self {
        Self::applied("Undone")
    }

    /// A compensation found nothing to undo.
    pub fn nothing_to_undo() -> Self {
        Self::applied("NothingToUndo")
    }

    /// Nothing took effect; may work later.
    pub fn transient(code: impl Into<String>, message: impl Display) -> Self {
        Self::Transient(Trouble::new(code, message))
    }

    /// Nothing took effect; will not heal by itself.
    pub fn persistent(code: impl Into<String>, message: impl Display) -> Self {
        Self::Persistent(Trouble::new(code, message))
    }

    /// The text in which a service keeps what it says of an attempt that it closes out: of [`Self::Transient`] and
    /// [`Self::Persistent`] all but the time to wait.
    pub fn to_said(&self) -> String {
        let (outcome, trouble) = match self {
            Self::Transient(trouble) | Self::Persistent(trouble) => (self.word(), trouble.clone()),
            Self::Stale(found) => ("persistent", Trouble::new("stale", found)),
            other => ("transient", Trouble::new(CLOSED_OUT, other.word())),
        };
        serde_json::to_string(&Said { outcome: outcome.to_owned(), trouble }).expect("texts are always JSON")
    }

    /// What [`Self::to_said`] wrote, to be said again. Of any other text, that nothing took effect, with the code
    /// `closed-out`: that is what it means to have closed an attempt out.
    pub fn from_said(text: &str) -> Self {
        match serde_json::from_str(text) {
            Ok(Said { outcome, trouble }) if outcome == "persistent" => Self::Persistent(trouble),
            Ok(Said { trouble, .. }) => Self::Transient(trouble),
            Err(_) => Self::transient(CLOSED_OUT, text),
        }
    }

    /// Does it say that nothing took effect, which no kept answer bears out? A refusal is kept. Said of a forward command,
    /// that its expected state has moved counts as `persistent`.
    pub(crate) fn says_without_effect(&self) -> bool {
        matches!(self, Self::Transient(_) | Self::Persistent(_) | Self::Stale(_))
    }

    /// The word on the wire.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Applied(_) => "applied",
            Self::Accepted(_) => "accepted",
            Self::Refused(_) => "refused",
            Self::Transient(_) => "transient",
            Self::Persistent(_) => "persistent",
            Self::Unknown(_) => "unknown",
            Self::Partial(_) => "partial",
            Self::Fenced(_) => "fenced",
            Self::Mismatch => "mismatch",
            Self::Stale(_) => "stale",
            Self::InProgress => "in-progress",
            Self::Absent => "absent",
            Self::Unclear(_) => "unclear",
        }
    }

    /// Adds the headers that belong to the answer, and gives the body, for a server that takes messages of so many bytes.
    /// A result, a refusal or a state that is larger is left out: the answer itself never is.
    pub(crate) fn write(&self, headers: &mut HeaderMap, bytes_max: usize) -> String {
        headers.insert(OUTCOME, self.word());
        let problem = |trouble: &Trouble| serde_json::to_string(trouble).expect("texts are always JSON");
        let wait = match self {
            Self::Accepted(wait) => *wait,
            Self::Transient(trouble) => trouble.wait,
            _ => None,
        };
        if let Some(wait) = wait {
            headers.insert(WAIT, wait.as_secs_f64().to_string().as_str());
        }
        match self {
            Self::Applied(value) | Self::Refused(value) | Self::Partial(Some(value)) | Self::Stale(value) => {
                let (bytes, room) = (value.text().len(), bytes_max.saturating_sub(HEADERS_BYTES_MAX));
                if bytes > room {
                    let reason = format!("it has {bytes} bytes, and a message takes {room} of them");
                    headers.insert(OMITTED, reason.as_str());
                    return String::new();
                }
                value.text().to_owned()
            }
            Self::Transient(trouble)
            | Self::Persistent(trouble)
            | Self::Unknown(trouble)
            | Self::Unclear(trouble) => problem(trouble),
            Self::Mismatch => problem(&Trouble::new("mismatch", "this request is held with another input")),
            Self::Fenced(through) => {
                headers.insert(FENCED_THROUGH, through.to_string().as_str());
                String::new()
            }
            Self::Accepted(_) | Self::Partial(None) | Self::InProgress | Self::Absent => String::new(),
        }
    }
}

/// A reply to a command, as the engine takes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Replied {
    pub(crate) saga: SagaId,
    pub(crate) request: RequestId,
    pub(crate) attempt: Option<u32>,
    pub(crate) answer: Attempted,
}

/// Reads a reply. What it says is never lost for its form: a word or a body that is not of the contract is unknown.
pub(crate) fn replied(headers: &HeaderMap, body: &[u8]) -> Result<Replied, MalformedReply> {
    let id = |name| {
        let text = value(headers, name).ok_or_else(|| MalformedReply(format!("`{name}` is missing")))?;
        Uuid::try_parse(text).map_err(|_| MalformedReply(format!("`{name}` is not a UUID")))
    };
    let attempt = match value(headers, ATTEMPT) {
        Some(text) => Some(text.parse().map_err(|_| MalformedReply(format!("`{ATTEMPT}` is not a number")))?),
        None => None,
    };
    let answer = attempted(headers, body);
    Ok(Replied { saga: SagaId(id(SAGA)?), request: RequestId(id(REQUEST_ID)?), attempt, answer })
}

fn attempted(headers: &HeaderMap, body: &[u8]) -> Attempted {
    match value(headers, OUTCOME) {
        Some("applied") => Attempted::Succeeded(recorded(headers, body)),
        Some("accepted") => Attempted::Accepted { wait: wait(headers) },
        Some("refused") => Attempted::Refused(recorded(headers, body)),
        Some("transient") => {
            let trouble = Trouble { wait: wait(headers), ..trouble(body) };
            Attempted::Transient(trouble.failure(FailureKind::Transient))
        }
        Some("persistent") => Attempted::Persistent(trouble(body).failure(FailureKind::Persistent)),
        Some("unknown") => Attempted::Unknown(trouble(body).failure(FailureKind::Unknown)),
        Some("partial") => Attempted::Partial(has_result(headers, body).then(|| recorded(headers, body))),
        Some("fenced") => match fenced(headers) {
            Some(through) => Attempted::Fenced { through },
            None => unreadable(format!("a reply `fenced` without a number in `{FENCED_THROUGH}`")),
        },
        Some("mismatch") => Attempted::Mismatch(trouble(body).failure(FailureKind::Unknown)),
        Some("stale") => match json(body) {
            Ok(found) => Attempted::Stale { found },
            Err(reason) => unreadable(format!("a reply `stale` whose body is {reason}")),
        },
        Some(other) => unreadable(format!("`{other}` is no outcome of a command")),
        None => unreadable(format!("`{OUTCOME}` is missing")),
    }
}

/// Reads the answer to a query. The error is what a person should read.
pub(crate) fn found(headers: Option<&HeaderMap>, body: &[u8]) -> Finding {
    let unclear = |report: String| Finding::Unclear { report };
    let Some(headers) = headers else { return unclear("an answer without headers".to_owned()) };
    match value(headers, OUTCOME) {
        Some("applied") => Finding::Applied(recorded(headers, body)),
        Some("refused") => Finding::Refused(recorded(headers, body)),
        Some("partial") => Finding::Partial(has_result(headers, body).then(|| recorded(headers, body))),
        Some("fenced") => match fenced(headers) {
            Some(through) => Finding::Fenced { through },
            None => unclear(format!("`fenced` without a number in `{FENCED_THROUGH}`")),
        },
        Some("in-progress") => Finding::InProgress,
        Some("absent") => Finding::Absent,
        Some(other) => {
            let Trouble { code, message, .. } = trouble(body);
            let mut report = format!("{other}: {code}: {message}").replace('\0', "\u{fffd}");
            report.truncate(report.floor_char_boundary(MESSAGE_BYTES_MAX));
            unclear(report)
        }
        None => unclear(format!("`{OUTCOME}` is missing")),
    }
}

fn unreadable(message: String) -> Attempted {
    Attempted::Unknown(Trouble::new("unreadable", message).failure(FailureKind::Unknown))
}

fn json(body: &[u8]) -> Result<Json, String> {
    let text = std::str::from_utf8(body).map_err(|_| "not UTF-8".to_owned())?;
    Json::parse(text).map_err(|error| format!("not JSON: {error}"))
}

/// "Cannot read the result" never becomes "it did not take effect".
fn recorded(headers: &HeaderMap, body: &[u8]) -> Recorded {
    let omitted = |reason| Recorded::Omitted(Omitted { reason, digest: None, size: body.len() as u64 });
    match (value(headers, OMITTED), json(body)) {
        (None, Ok(value)) => Recorded::Value(value),
        (None, Err(reason)) => omitted(reason),
        (Some(reason), _) => {
            let mut reason = format!("left out by the participant: {reason}").replace('\0', "\u{fffd}");
            reason.truncate(reason.floor_char_boundary(MESSAGE_BYTES_MAX));
            omitted(reason)
        }
    }
}

fn has_result(headers: &HeaderMap, body: &[u8]) -> bool {
    !body.is_empty() || value(headers, OMITTED).is_some()
}

fn trouble(body: &[u8]) -> Trouble {
    serde_json::from_slice(body).unwrap_or_else(|_| Trouble::new("unreadable", "no problem was told"))
}

fn fenced(headers: &HeaderMap) -> Option<u32> {
    value(headers, FENCED_THROUGH)?.parse().ok()
}

/// A negative hint, or one that is no number, is ignored; more than a day is a day.
fn wait(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = value(headers, WAIT)?.parse().ok()?;
    if seconds.is_nan() || seconds < 0.0 {
        return None;
    }
    Some(Duration::try_from_secs_f64(seconds).unwrap_or(WAIT_MAX).min(WAIT_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::headers::{DIRECTION, PROTOCOL};

    /// As much as a server takes by default.
    const BYTES_MAX: usize = 1_048_576;

    fn headers(reply: &Reply) -> (HeaderMap, String) {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            (PROTOCOL, "1"),
            (SAGA, "00000000-0000-0000-0000-000000000007"),
            (REQUEST_ID, "00000000-0000-0000-0000-000000000008"),
            (DIRECTION, "forward"),
            (ATTEMPT, "2"),
        ] {
            headers.insert(name, value);
        }
        let body = reply.write(&mut headers, BYTES_MAX);
        (headers, body)
    }

    fn heard(reply: &Reply) -> Attempted {
        let (headers, body) = headers(reply);
        let replied = replied(&headers, body.as_bytes()).expect("it names whom it answers");
        assert_eq!((replied.saga.0.as_u128(), replied.request.0.as_u128(), replied.attempt), (7, 8, Some(2)));
        replied.answer
    }

    #[test]
    fn what_was_said_of_an_attempt_that_was_closed_out_is_said_again() {
        for said in
            [Reply::transient("busy", "come back"), Reply::persistent("forbidden", "ask \"somebody\"")]
        {
            assert_eq!(Reply::from_said(&said.to_said()), said);
        }
        // Whatever is kept, it is kept because nothing took effect.
        assert_eq!(Reply::from_said("a text of its own"), Reply::transient(CLOSED_OUT, "a text of its own"));
        let moved = Reply::Stale(Json::parse("3").expect("JSON"));
        assert_eq!(Reply::from_said(&moved.to_said()), Reply::persistent("stale", 3));
        assert!(Reply::from_said(&Reply::applied(&7).to_said()).says_without_effect());
    }

    #[test]
    fn the_engine_reads_what_a_participant_writes() {
        assert_eq!(
            heard(&Reply::applied("ch_1")),
            Attempted::Succeeded(Recorded::Value(Json::encode("ch_1").expect("text")))
        );
        assert_eq!(heard(&Reply::Fenced(3)), Attempted::Fenced { through: 3 });
        assert_eq!(heard(&Reply::Partial(None)), Attempted::Partial(None));
        let half = Some(Duration::from_millis(1_500));
        assert_eq!(heard(&Reply::Accepted(half)), Attempted::Accepted { wait: half });
        let busy = Trouble { wait: half, ..Trouble::new("busy", "later") };
        let Attempted::Transient(failure) = heard(&Reply::Transient(busy)) else { panic!("transient") };
        assert_eq!((failure.code.as_str(), failure.hint), ("busy", half));
        assert!(matches!(heard(&Reply::Mismatch), Attempted::Mismatch(_)));
        assert!(matches!(heard(&Reply::Absent), Attempted::Unknown(_)), "that is an answer to a query only");
    }

    #[test]
    fn a_success_whose_result_cannot_be_read_is_a_success() {
        let (headers, _) = headers(&Reply::applied("x"));
        let replied = replied(&headers, b"\xff").expect("it names whom it answers");
        assert!(matches!(replied.answer, Attempted::Succeeded(Recorded::Omitted(_))));
        assert!(matches!(found(Some(&headers), b"{"), Finding::Applied(Recorded::Omitted(_))));
    }

    #[test]
    fn a_result_larger_than_a_message_is_left_out_and_the_success_is_told() {
        let large = Reply::applied(&"x".repeat(BYTES_MAX));
        let (headers, body) = headers(&large);
        assert_eq!(body, "");
        let Attempted::Succeeded(Recorded::Omitted(omitted)) = heard(&large) else { panic!("a success") };
        assert!(omitted.reason.contains("1048578 bytes"), "{}", omitted.reason);
        assert!(matches!(found(Some(&headers), b""), Finding::Applied(Recorded::Omitted(_))));
        let part = Reply::partial(Some(&"x".repeat(BYTES_MAX)));
        assert!(matches!(heard(&part), Attempted::Partial(Some(Recorded::Omitted(_)))));
    }

    #[test]
    fn an_unknown_word_is_unknown_and_never_a_failure() {
        let (mut headers, body) = headers(&Reply::Absent);
        headers.insert(OUTCOME, "done-maybe");
        assert!(matches!(attempted(&headers, body.as_bytes()), Attempted::Unknown(_)));
        assert!(matches!(found(Some(&headers), body.as_bytes()), Finding::Unclear { .. }));
        assert!(matches!(found(None, b""), Finding::Unclear { .. }));
    }

    #[test]
    fn nonsense_waits_are_ignored_and_endless_ones_bounded() {
        let mut headers = HeaderMap::new();
        for (text, understood) in [("-1", None), ("soon", None), ("NaN", None), ("1e99", Some(WAIT_MAX))] {
            headers.insert(WAIT, text);
            assert_eq!(wait(&headers), understood, "{text}");
        }
    }
}
