//! What comes in at the door: one JSON document from outside, refused with its path when it is not fit.
//!
//! What makes a document fit is the engine's to say ([`amends_core::admission`]), for it holds what steps give
//! back against the same rules. Here are the shop's own limits, and the types that its lines must have.

use std::fmt::{self, Write as _};

use amends_core::Json;
use amends_core::admission::{self, Limits, Refused};
use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;

/// The largest document, in bytes.
pub const BYTES_MAX: usize = 64 * 1024;

/// The deepest nesting of arrays and objects.
pub const DEPTH_MAX: usize = 32;

/// Why a document was refused, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The place, as in `$.order.items[0].quantity`.
    pub path: String,
    /// For people.
    pub reason: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

impl From<Refused> for Malformed {
    fn from(Refused { path, reason }: Refused) -> Self {
        Self { path, reason: reason.to_string() }
    }
}

/// Takes one document that every reader reads alike.
///
/// # Errors
/// See [`admission::Reason`].
pub fn admit(bytes: &[u8]) -> Result<Json, Malformed> {
    Ok(admission::admit(bytes, Limits { bytes_max: BYTES_MAX, depth_max: DEPTH_MAX })?)
}

/// Decodes a document as a `T`.
///
/// # Errors
/// When it is not one: an unknown or missing field, a wrong type.
pub fn decode<T: DeserializeOwned>(json: &Json) -> Result<T, Malformed> {
    let mut reader = serde_json::Deserializer::from_str(json.text());
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let mut path = "$".to_owned();
        for segment in error.path() {
            // Writing to a `String` cannot fail.
            let _ = match segment {
                Segment::Seq { index } => write!(path, "[{index}]"),
                Segment::Map { key } | Segment::Enum { variant: key } => write!(path, ".{key}"),
                // Within a key, or before it.
                Segment::Unknown => Ok(()),
            };
        }
        Malformed { path, reason: in_words(error.inner()) }
    })
}

/// `serde_json` ends its messages with line and column; a document here is one line, and the path says more.
fn in_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().map_or_else(|| text.clone(), str::to_owned)
}
