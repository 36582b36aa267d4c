//! What comes in at the door: one JSON document from outside, refused with its path when it is not fit.
//!
//! Lenient readers disagree about a document with a key that comes twice, a number that no `f64` holds or a
//! half of a surrogate pair; the last reader in a chain then acts on another order than the first one
//! checked. So the door is strict, and behind it a document means one thing.
//!
//! Everything that decides about untrusted text is in this file.

use std::fmt;

use amends_core::Json;
use serde::Deserialize;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde_json::value::RawValue;

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

/// Takes one document that every reader reads alike.
///
/// # Errors
/// When it is too large, is not UTF-8, is not JSON, is nested too deep, holds NUL, a key that comes twice, half of
/// a surrogate pair, or a number that does not survive: beyond the range of a double, or an integer outside
/// −2⁶³…2⁶⁴−1.
pub fn admit(bytes: &[u8]) -> Result<Json, Malformed> {
    let whole = |reason: String| Malformed { path: "$".to_owned(), reason };
    if bytes.len() > BYTES_MAX {
        return Err(whole(format!("{} bytes are more than the {BYTES_MAX} of one document", bytes.len())));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| whole(format!("invalid UTF-8 at byte {}", error.valid_up_to() + 1)))?;
    if let Some(at) = text.find('\0') {
        return Err(whole(format!("a NUL character at byte {}", at + 1)));
    }
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| syntax(text, &error))?;
    Walk { path: Path::default() }.value(raw)?;
    Json::parse(text).map_err(|error| whole(in_words(&error)))
}

/// Decodes a document as a `T`.
///
/// # Errors
/// When it is not one: an unknown or missing field, a wrong type.
pub fn decode<T: DeserializeOwned>(json: &Json) -> Result<T, Malformed> {
    let mut reader = serde_json::Deserializer::from_str(json.text());
    serde_path_to_error::deserialize(&mut reader).map_err(|error| located(&error))
}

/// A syntax error, placed: the lenient tree is read again only to learn how far the reader came.
fn syntax(text: &str, error: &serde_json::Error) -> Malformed {
    let mut reader = serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, serde_json::Value>(&mut reader) {
        Err(found) if found.path().iter().count() > DEPTH_MAX => {
            Malformed { path: "$".to_owned(), reason: format!("nested deeper than {DEPTH_MAX}") }
        }
        Err(found) if found.inner().is_syntax() || found.inner().is_eof() => located(&found),
        _ => Malformed {
            path: "$".to_owned(),
            reason: format!("{} (column {})", in_words(error), error.column()),
        },
    }
}

fn located(error: &serde_path_to_error::Error<serde_json::Error>) -> Malformed {
    let mut path = Path::default();
    for segment in error.path() {
        match segment {
            serde_path_to_error::Segment::Seq { index } => path.push_index(*index),
            serde_path_to_error::Segment::Map { key } => path.push_key(key),
            serde_path_to_error::Segment::Enum { variant } => path.push_key(variant),
            // Within a key, or before it: the column says the rest.
            serde_path_to_error::Segment::Unknown => {}
        }
    }
    let inner = error.inner();
    let column = if inner.is_data() { String::new() } else { format!(" (column {})", inner.column()) };
    Malformed { path: path.text, reason: format!("{}{column}", in_words(inner)) }
}

/// `serde_json` ends its messages with line and column; a document here is one line, and the path says more.
fn in_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().map_or_else(|| text.clone(), str::to_owned)
}

/// A place in a document, written as people read it.
struct Path {
    text: String,
    ends: Vec<usize>,
}

impl Default for Path {
    fn default() -> Self {
        Self { text: "$".to_owned(), ends: Vec::new() }
    }
}

impl Path {
    fn push_key(&mut self, key: &str) {
        self.ends.push(self.text.len());
        let plain =
            !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if plain {
            self.text.push('.');
            self.text.push_str(key);
        } else {
            self.text.push_str(&format!("[{key:?}]"));
        }
    }

    fn push_index(&mut self, index: usize) {
        self.ends.push(self.text.len());
        self.text.push_str(&format!("[{index}]"));
    }

    fn pop(&mut self) {
        if let Some(end) = self.ends.pop() {
            self.text.truncate(end);
        }
    }
}

/// One walk over a document whose syntax is known to be right.
struct Walk {
    path: Path,
}

impl Walk {
    fn refuse<T>(&self, reason: impl Into<String>) -> Result<T, Malformed> {
        Err(Malformed { path: self.path.text.clone(), reason: reason.into() })
    }

    fn value(&mut self, raw: &RawValue) -> Result<(), Malformed> {
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'{' | b'[') if self.path.ends.len() >= DEPTH_MAX => {
                self.refuse(format!("nested deeper than {DEPTH_MAX}"))
            }
            Some(b'{') => self.object(text),
            Some(b'[') => self.array(text),
            Some(b'"') => self.string(text),
            Some(b'-' | b'0'..=b'9') => self.number(text),
            _ => Ok(()),
        }
    }

    fn object(&mut self, text: &str) -> Result<(), Malformed> {
        let Members(members) = match serde_json::from_str(text) {
            Ok(members) => members,
            Err(error) => return self.refuse(in_words(&error)),
        };
        let mut seen = std::collections::HashSet::with_capacity(members.len());
        for (key, value) in &members {
            self.path.push_key(key);
            if !seen.insert(key) {
                return self.refuse("duplicate key");
            }
            if key.contains('\0') {
                return self.refuse("a key holds a NUL character");
            }
            self.value(value)?;
            self.path.pop();
        }
        Ok(())
    }

    fn array(&mut self, text: &str) -> Result<(), Malformed> {
        let items: Vec<&RawValue> = match serde_json::from_str(text) {
            Ok(items) => items,
            Err(error) => return self.refuse(in_words(&error)),
        };
        for (index, item) in items.into_iter().enumerate() {
            self.path.push_index(index);
            self.value(item)?;
            self.path.pop();
        }
        Ok(())
    }

    fn string(&self, text: &str) -> Result<(), Malformed> {
        match serde_json::from_str::<String>(text) {
            Err(error) => self.refuse(in_words(&error)),
            Ok(string) if string.contains('\0') => self.refuse("the text holds a NUL character"),
            Ok(_) => Ok(()),
        }
    }

    fn number(&self, text: &str) -> Result<(), Malformed> {
        let integer = !text.contains(['.', 'e', 'E']);
        let survives = if integer {
            text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok()
        } else {
            text.parse::<f64>().is_ok_and(f64::is_finite)
        };
        let shown: String = text.chars().take(40).collect();
        match (survives, integer) {
            (true, _) => Ok(()),
            (false, true) => self.refuse(format!("the integer {shown} is outside -2^63 to 2^64-1")),
            (false, false) => self.refuse(format!("the number {shown} is beyond the range of a double")),
        }
    }
}

/// The members of one object in the order they came, each key unescaped; keys that come twice are kept.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry::<String, &'de RawValue>()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}
