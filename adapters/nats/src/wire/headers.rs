//! The names of `PROTOCOL.md`.

use async_nats::HeaderMap;

/// The version that is spoken here.
pub(crate) const VERSION: &str = "1";

/// The longest prefix, service and operation, in characters.
pub(crate) const PREFIX_MAX: usize = 64;

pub(crate) const PROTOCOL: &str = "Amends-Protocol";
pub(crate) const SAGA: &str = "Amends-Saga";
pub(crate) const WORKFLOW: &str = "Amends-Workflow";
pub(crate) const STEP: &str = "Amends-Step";
pub(crate) const KEY: &str = "Amends-Key";
pub(crate) const DIRECTION: &str = "Amends-Direction";
pub(crate) const REQUEST_ID: &str = "Amends-Request-Id";
pub(crate) const FORWARD_REQUEST_ID: &str = "Amends-Forward-Request-Id";
pub(crate) const ATTEMPT: &str = "Amends-Attempt";
pub(crate) const INPUT_DIGEST: &str = "Amends-Input-Digest";
pub(crate) const DEADLINE: &str = "Amends-Deadline";
pub(crate) const REPLY_TO: &str = "Amends-Reply-To";
pub(crate) const FENCE_THROUGH: &str = "Amends-Fence-Through";
pub(crate) const OUTCOME: &str = "Amends-Outcome";
pub(crate) const FENCED_THROUGH: &str = "Amends-Fenced-Through";
pub(crate) const OMITTED: &str = "Amends-Omitted";
pub(crate) const WAIT: &str = "Amends-Wait";
pub(crate) const TRACEPARENT: &str = "traceparent";
pub(crate) const TRACESTATE: &str = "tracestate";
pub(crate) const CONTENT_TYPE: &str = "Content-Type";

/// Is this a prefix, a service or an operation?
pub(crate) fn is_name(text: &str) -> bool {
    (1..=PREFIX_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// The value of a header; none where it is missing or empty.
pub(super) fn value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.as_str()).filter(|value| !value.is_empty())
}

/// Everything but unreserved characters becomes `%` and two hexadecimal digits (RFC 3986).
pub(super) fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte))
            }
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}

/// What [`percent_encoded`] was given; none, if this is not what it gives.
pub(super) fn percent_decoded(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let (byte, after) = match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                (u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()?, after)
            }
            (b'%', _) => return None,
            (byte, after) => (*byte, after),
        };
        decoded.push(byte);
        rest = after;
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_any_text_fits_into_a_header() {
        assert_eq!(percent_encoded("order-1_a.b~"), "order-1_a.b~");
        assert_eq!(percent_encoded("ä/\r\n%"), "%C3%A4%2F%0D%0A%25");
        assert_eq!(percent_decoded("%C3%A4%2F%0D%0A%25").as_deref(), Some("ä/\r\n%"));
        for wrong in ["%", "%4", "%zz", "%FF"] {
            assert_eq!(percent_decoded(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn names_are_one_token_of_a_subject() {
        assert!(is_name("payments-2_a"));
        for wrong in ["", "a.b", "a*", ">", "a b", &"x".repeat(65)] {
            assert!(!is_name(wrong), "{wrong}");
        }
    }
}
