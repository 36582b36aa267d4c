//! Payloads: JSON text, kept exactly as it came.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::admission::{self, Limits, Refused};

/// A JSON document as the text that came: white space, key order and number spelling are kept.
///
/// Cheap to clone. Equality is of the *text*; two documents that mean the same have the same
/// [`Json::canonical_digest`].
#[derive(Clone)]
pub struct Json(Arc<RawValue>);

impl Json {
    /// Encodes a value.
    ///
    /// # Errors
    /// When the value's `Serialize` fails, for instance for a map whose keys are not strings.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self::from)
    }

    /// Takes text that must be one JSON document.
    ///
    /// # Errors
    /// When it is not.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<Box<RawValue>>(text).map(Self::from)
    }

    /// Decodes the document as a `T`.
    ///
    /// # Errors
    /// When the document is not a `T`; the error names line and column.
    pub fn decode<'de, T: Deserialize<'de>>(&'de self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.text())
    }

    /// The text.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// SHA-256 of the canonical form: keys sorted, white space gone, strings unescaped and escaped anew,
    /// number *text* kept. So key order and white space do not matter, and `100`, `100.0` and `"100"`
    /// are three values.
    ///
    /// # Errors
    /// When the text is not a JSON document that the strict reader of [`crate::admission`] accepts (a duplicate
    /// key, for instance), whatever its size.
    pub fn canonical_digest(&self) -> Result<[u8; 32], Refused> {
        let canonical = admission::canonical(self.text(), Limits::NONE)?;
        Ok(Sha256::digest(canonical.as_bytes()).into())
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        Self(Arc::from(raw))
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl Serialize for Json {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> [u8; 32] {
        Json::parse(text).expect("JSON").canonical_digest().expect("the text is strict JSON")
    }

    #[test]
    fn key_order_white_space_and_escapes_do_not_change_the_digest() {
        assert_eq!(digest(r#"{"a": 1, "b": [1, {"y":"\u0041"}]}"#), digest(r#"{"b":[1,{"y":"A"}],"a":1}"#));
    }

    #[test]
    fn number_text_matters() {
        assert_ne!(digest("100"), digest("100.0"));
        assert_ne!(digest("100"), digest("\"100\""));
    }

    #[test]
    fn a_duplicate_key_has_no_canonical_form_even_when_escaped() {
        let twice = Json::parse(r#"{"o":{"amount":1,"amoun\u0074":2}}"#).expect("lenient syntax");
        let refused = twice.canonical_digest().expect_err("strict reading refuses it");
        assert_eq!(refused.to_string(), "$.o.amount: duplicate key");
    }
}
