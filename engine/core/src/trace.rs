//! The trace that a saga belongs to, as the W3C recommendation *Trace Context* writes it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The trace that a saga belongs to: what HTTP and messaging carry as `traceparent` and `tracestate`.
///
/// The engine opens no spans of its own. It keeps what the start came with and hands it to every attempt, query
/// and compensation, after a crash too, so that participants continue the same trace.
///
/// A value of this type is well formed: what is not never becomes one (see [`TraceContext::parse`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Kept")]
pub struct TraceContext {
    traceparent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tracestate: Option<String>,
}

/// As it stands in a journal.
#[derive(Deserialize)]
struct Kept {
    traceparent: String,
    #[serde(default)]
    tracestate: Option<String>,
}

impl TryFrom<Kept> for TraceContext {
    type Error = &'static str;

    fn try_from(kept: Kept) -> Result<Self, Self::Error> {
        Self::parse(&kept.traceparent, kept.tracestate.as_deref()).ok_or("that is no `traceparent`")
    }
}

/// Vendors need not pass on more than this, in bytes.
const STATE_BYTES_MAX: usize = 512;
/// A list with more members is not well formed.
const STATE_MEMBERS_MAX: usize = 32;
/// `00-`, 32 digits, `-`, 16 digits, `-`, 2 digits.
const PARENT_BYTES: usize = 55;

impl TraceContext {
    /// Reads the two headers. Several `tracestate` headers are one, joined by commas.
    ///
    /// Malformed input is ignored, as the recommendation asks: a start never fails for its trace.
    /// - A malformed `traceparent` gives none: `tracestate` is not even looked at, and the saga has no trace.
    /// - A malformed `tracestate` is dropped, and `traceparent` stands.
    /// - A `tracestate` of more than 512 bytes loses whole members from its end.
    /// - A `traceparent` of a later version than `00` is read as far as `00` knows it, and becomes one of `00`.
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let traceparent = parent(traceparent.trim_matches([' ', '\t']))?;
        Some(Self { traceparent, tracestate: tracestate.and_then(state) })
    }

    /// The header `traceparent`, of version `00`.
    pub fn traceparent(&self) -> &str {
        &self.traceparent
    }

    /// The header `tracestate`, if there is any. At most 512 bytes.
    pub fn tracestate(&self) -> Option<&str> {
        self.tracestate.as_deref()
    }

    /// The id of the trace: 32 hexadecimal digits.
    pub fn trace_id(&self) -> &str {
        &self.traceparent[3..35]
    }

    /// The id of the span that started the saga: 16 hexadecimal digits.
    pub fn parent_id(&self) -> &str {
        &self.traceparent[36..52]
    }

    /// Did the caller say that it records the trace?
    pub fn is_sampled(&self) -> bool {
        u8::from_str_radix(&self.traceparent[53..], 16).is_ok_and(|flags| flags & 1 == 1)
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.traceparent)
    }
}

fn parent(text: &str) -> Option<String> {
    if text.len() < PARENT_BYTES || !text.is_ascii() {
        return None;
    }
    let (head, rest) = text.split_at(PARENT_BYTES);
    let mut parts = head.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let lengths = [version.len(), trace.len(), span.len(), flags.len()];
    let well_formed = lengths == [2, 32, 16, 2]
        && parts.next().is_none()
        && [version, trace, span, flags].iter().all(|part| part.bytes().all(is_digit))
        && [trace, span].iter().all(|id| id.bytes().any(|digit| digit != b'0'));
    match version {
        _ if !well_formed => None,
        "ff" => None,
        "00" => rest.is_empty().then(|| head.to_owned()),
        _ if rest.is_empty() || rest.starts_with('-') => {
            let sampled = u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1);
            Some(format!("00-{trace}-{span}-{:02x}", u8::from(sampled)))
        }
        _ => None,
    }
}

fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// The well-formed list without its empty members, within the limit; none if nothing is left.
fn state(text: &str) -> Option<String> {
    let members = text.split(',').map(|member| member.trim_matches([' ', '\t']));
    let members: Vec<&str> = members.filter(|member| !member.is_empty()).collect();
    if members.len() > STATE_MEMBERS_MAX || !members.iter().all(|member| is_member(member)) {
        return None;
    }
    let mut kept = String::new();
    for member in members {
        let comma = usize::from(!kept.is_empty());
        if kept.len() + comma + member.len() > STATE_BYTES_MAX {
            break;
        }
        if comma == 1 {
            kept.push(',');
        }
        kept.push_str(member);
    }
    (!kept.is_empty()).then_some(kept)
}

/// `key=value`, or `tenant@system=value`.
fn is_member(member: &str) -> bool {
    let Some((key, value)) = member.split_once('=') else { return false };
    let key_byte = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/' | b'@');
    let value_byte = |byte: u8| matches!(byte, b' '..=b'~') && byte != b',' && byte != b'=';
    let begins_well =
        key.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    begins_well
        && key.len() <= 256
        && key.bytes().all(key_byte)
        && key.bytes().filter(|byte| *byte == b'@').count() <= 1
        && (1..=256).contains(&value.len())
        && value.bytes().all(value_byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn kept(state: &str) -> Option<String> {
        TraceContext::parse(PARENT, Some(state)).expect("the parent is well formed").tracestate
    }

    #[test]
    fn the_example_of_the_recommendation_is_read() {
        let trace = TraceContext::parse(PARENT, Some("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE")).unwrap();
        assert_eq!(trace.traceparent(), PARENT);
        assert_eq!(trace.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(trace.parent_id(), "00f067aa0ba902b7");
        assert_eq!(trace.tracestate(), Some("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"));
        assert!(trace.is_sampled());
    }

    #[test]
    fn a_malformed_parent_gives_no_trace_at_all() {
        let malformed = [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "0g-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.more",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902bä-01",
        ];
        for parent in malformed {
            assert_eq!(TraceContext::parse(parent, Some("a=1")), None, "{parent}");
        }
    }

    #[test]
    fn a_later_version_is_read_as_far_as_this_one_knows_it() {
        for (later, known) in [
            ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "01"),
            ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-fe-what-will-be", "00"),
        ] {
            let trace = TraceContext::parse(later, None).unwrap();
            assert_eq!(
                trace.to_string(),
                format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{known}")
            );
        }
    }

    #[test]
    fn a_malformed_state_is_dropped_and_the_parent_stands() {
        let long = format!("a={}", "x".repeat(257));
        for malformed in
            ["a", "=1", "a=", "A=1", "a=1,b", "a=1=2", "a@b@c=1", "a=\u{e4}", "@a=1", &long, " , "]
        {
            assert_eq!(kept(malformed), None, "{malformed}");
        }
        let members: Vec<String> = (0..33).map(|n| format!("k{n}=1")).collect();
        assert_eq!(kept(&members.join(",")), None);
        assert_eq!(kept(&members[1..].join(",")).map(|state| state.split(',').count()), Some(32));
    }

    #[test]
    fn a_long_state_loses_whole_members_from_its_end() {
        assert_eq!(kept(" a=1 ,\t,tenant@sys=2 ").as_deref(), Some("a=1,tenant@sys=2"));
        let members = ["a", "b", "c"].map(|key| format!("{key}={}", "x".repeat(253)));
        let kept = kept(&members.join(",")).unwrap();
        assert_eq!(kept, members[..2].join(","));
        assert!(kept.len() <= STATE_BYTES_MAX);
    }

    #[test]
    fn a_journal_cannot_hold_what_is_no_trace() {
        let text = format!(r#"{{"traceparent":"{PARENT}"}}"#);
        let trace: TraceContext = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&trace).unwrap(), text);
        assert!(serde_json::from_str::<TraceContext>(r#"{"traceparent":"00"}"#).is_err());
    }
}
