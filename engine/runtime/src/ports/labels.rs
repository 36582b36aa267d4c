//! What a saga is found and told apart by, beside its key: its tenant, and a few labels.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The longest name of a tenant, in bytes.
pub const TENANT_BYTES_MAX: usize = 200;

/// The most labels of one saga.
pub const LABELS_MAX: usize = 8;

/// The longest name of a label, in bytes.
pub const LABEL_NAME_BYTES_MAX: usize = 50;

/// The longest text of a label, in bytes.
pub const LABEL_TEXT_BYTES_MAX: usize = 200;

/// A short typed pair, for people and lists: the customer, the amount.
///
/// Whoever prints one (`{}` or `{:?}`) shows a digest in place of a sensitive value; who may see it reads `value`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Its name. 1 to 50 of a-z, A-Z, 0-9, `-`, `_`, `.`.
    pub name: String,
    /// Its value.
    pub value: LabelValue,
    /// Not for everybody's eyes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sensitive: bool,
}

/// The value of a label.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LabelValue {
    /// Yes or no.
    Truth(bool),
    /// A whole number; of money, its minor units.
    Number(i64),
    /// At most 200 bytes.
    Text(String),
}

impl Label {
    /// A text.
    pub fn text(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), value: LabelValue::Text(text.into()), sensitive: false }
    }

    /// A whole number.
    pub fn number(name: impl Into<String>, number: impl Into<i64>) -> Self {
        Self { name: name.into(), value: LabelValue::Number(number.into()), sensitive: false }
    }

    /// Yes or no.
    pub fn truth(name: impl Into<String>, truth: bool) -> Self {
        Self { name: name.into(), value: LabelValue::Truth(truth), sensitive: false }
    }

    /// Not for everybody's eyes: desks, logs and exports show a digest.
    #[must_use]
    pub fn sensitive(self) -> Self {
        Self { sensitive: true, ..self }
    }

    /// Why it cannot be kept, if so.
    pub fn unstorable(&self) -> Option<String> {
        let Self { name, value, .. } = self;
        let sound = (1..=LABEL_NAME_BYTES_MAX).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
        if !sound {
            return Some(format!(
                "`{name}` is no name of a label: use 1 to 50 of a-z, A-Z, 0-9, `-`, `_` and `.`"
            ));
        }
        match value {
            LabelValue::Text(text) if text.len() > LABEL_TEXT_BYTES_MAX => {
                Some(format!("label `{name}` has {} bytes, more than {LABEL_TEXT_BYTES_MAX}", text.len()))
            }
            LabelValue::Text(text) if text.contains('\0') => Some(format!("label `{name}` holds NUL")),
            _ => None,
        }
    }

    /// Labels as the text that stores keep; none for none.
    pub fn write(labels: &[Self]) -> Option<String> {
        let text = || serde_json::to_string(labels).expect("labels have string keys only, so they encode");
        (!labels.is_empty()).then(text)
    }

    /// Labels from the text that stores keep.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub fn read(text: Option<&str>) -> Result<Vec<Self>, String> {
        text.map_or(Ok(Vec::new()), |text| {
            serde_json::from_str(text).map_err(|error| format!("read the labels: {error}"))
        })
    }
}

impl fmt::Display for LabelValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truth(truth) => truth.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl fmt::Debug for LabelValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truth(truth) => truth.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => write!(f, "{text:?}"),
        }
    }
}

/// `customer=c-17`, or `customer=sha256:…` where it is sensitive.
impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, value, sensitive } = self;
        if *sensitive {
            let digest = Sha256::digest(format!("{name}={value}"));
            let short: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
            return write!(f, "{name}=sha256:{short}");
        }
        write!(f, "{name}={value}")
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Label({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_as_they_were_written() {
        let labels = vec![
            Label::text("customer", "c \"17\"").sensitive(),
            Label::number("amount", -5),
            Label::truth("gift", true),
        ];
        let text = Label::write(&labels).expect("there are some");
        assert_eq!(Label::read(Some(&text)), Ok(labels));
        assert_eq!((Label::write(&[]), Label::read(None)), (None, Ok(Vec::new())));
        assert!(Label::read(Some("[1]")).is_err());
    }

    #[test]
    fn nobody_prints_what_is_sensitive() {
        let secret = Label::text("customer", "ann").sensitive();
        for shown in [secret.to_string(), format!("{secret:?}")] {
            assert!(!shown.contains("ann") && shown.contains("customer=sha256:"), "{shown}");
        }
        assert_eq!(Label::text("customer", "ann").to_string(), "customer=ann");
        assert_ne!(secret.to_string(), Label::text("customer", "bob").sensitive().to_string());
    }

    #[test]
    fn what_no_store_takes_is_told() {
        for name in ["", "a b", "ä", &"x".repeat(51)] {
            assert!(Label::text(name, "v").unstorable().is_some(), "{name}");
        }
        assert!(Label::text("n", "x".repeat(201)).unstorable().is_some());
        assert!(Label::text("n", "a\0b").unstorable().is_some());
        assert!(Label::text("n", "x".repeat(200)).unstorable().is_none());
    }
}
