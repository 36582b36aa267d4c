//! One event, as extractors see it.

use amends::core::event::Trigger as TriggerRecord;
use amends::core::{Json, Timestamp, TraceContext};
use serde::de::DeserializeOwned;

/// An event that came as a message, read: CloudEvents 1.0 (structured, or binary in headers) or plain JSON.
#[derive(Clone, Debug)]
pub struct Event {
    pub(crate) stream: String,
    pub(crate) subject: String,
    pub(crate) sequence: u64,
    pub(crate) published_at: Timestamp,
    pub(crate) id: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) event_type: Option<String>,
    pub(crate) schema: Option<String>,
    pub(crate) time: Option<Timestamp>,
    pub(crate) trace: Option<TraceContext>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) data: Json,
}

impl Event {
    /// Its own id: the `id` of CloudEvents, otherwise the header `Nats-Msg-Id`.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The `source` of CloudEvents.
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// The `type` of CloudEvents.
    pub fn event_type(&self) -> Option<&str> {
        self.event_type.as_deref()
    }

    /// The `dataschema` of CloudEvents.
    pub fn schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    /// When it happened: the `time` of CloudEvents, otherwise when the stream took it.
    pub fn occurred_at(&self) -> Timestamp {
        self.time.unwrap_or(self.published_at)
    }

    /// The subject that it was published to.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// One part of the subject, from 0: of `orders.eu.placed`, 1 is `eu`.
    pub fn subject_part(&self, number: usize) -> Option<&str> {
        self.subject.split('.').nth(number)
    }

    /// The first header of this name, in whatever case.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The data: of CloudEvents the `data`, otherwise the whole message.
    pub fn json(&self) -> &Json {
        &self.data
    }

    /// The data, decoded.
    ///
    /// # Errors
    /// When it is no `T`; the answer names the place.
    pub fn data<T: DeserializeOwned>(&self) -> Result<T, Unfit> {
        let mut reader = serde_json::Deserializer::from_str(self.data.text());
        serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let place = match error.path().to_string() {
                path if path == "." => "the data".to_owned(),
                path => format!("`{path}` of the data"),
            };
            Unfit::new(format!("{place} does not fit: {}", error.into_inner()))
        })
    }

    /// What the journal keeps about where a saga came from.
    pub(crate) fn record(&self) -> TriggerRecord {
        TriggerRecord {
            source: format!("{} {}", self.stream, self.subject),
            position: Some(self.sequence.to_string()),
            event_id: self.id.clone(),
            event_type: self.event_type.clone(),
            event_version: self.event_type.as_deref().and_then(version),
        }
    }
}

/// Of names as `order.placed.v2` and `order-placed/2`, the number.
fn version(name: &str) -> Option<u32> {
    let last = name.rsplit(['.', '/']).next()?;
    last.strip_prefix('v').unwrap_or(last).parse().ok()
}

pub(crate) fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut named = headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
    named.next().map(|(_, value)| value.as_str())
}

/// A message of which no saga can be made, now or whenever it comes again. It is kept for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    pub(crate) code: &'static str,
    pub(crate) words: String,
}

impl Unfit {
    /// It is malformed, in these words.
    pub fn new(words: impl Into<String>) -> Self {
        Self { code: "malformed", words: words.into() }
    }

    /// It is of a type or version that nobody here knows, in these words.
    pub fn unknown_version(words: impl Into<String>) -> Self {
        Self { code: "unknown-version", words: words.into() }
    }

    /// Why, for filters: `malformed` or `unknown-version`.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// Why, for people.
    pub fn words(&self) -> &str {
        &self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_number_at_the_end_of_the_type() {
        assert_eq!(version("com.example.order.placed.v2"), Some(2));
        assert_eq!(version("order-placed/3"), Some(3));
        assert_eq!(version("order.placed"), None);
        assert_eq!(version("4"), Some(4));
    }
}
