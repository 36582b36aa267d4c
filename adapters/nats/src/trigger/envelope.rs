//! From a message to an event: which of the three shapes it has, and what stands where in it.
//!
//! Whether a message is CloudEvents is told by its headers: `ce-specversion` for binary, the content type
//! `application/cloudevents+json` for structured. Stock clients send no content type; so a JSON object that holds
//! `specversion`, `id`, `source` and `type` as texts is read as structured, too, unless another content type is named.

use amends::core::admission::{self, Limits};
use amends::core::{Json, Timestamp, TraceContext};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::event::{Event, Unfit, header};
use crate::taking::Delivery;

const STRUCTURED: &str = "application/cloudevents+json";

/// The attributes of an event, wherever they stood.
#[derive(Default)]
struct Attributes {
    id: Option<String>,
    source: Option<String>,
    event_type: Option<String>,
    schema: Option<String>,
    time: Option<String>,
    traceparent: Option<String>,
    tracestate: Option<String>,
}

/// CloudEvents in JSON: what is asked of it stands in `read_structured`.
#[derive(Deserialize)]
struct Envelope {
    specversion: String,
    id: String,
    source: String,
    #[serde(rename = "type")]
    event_type: String,
    dataschema: Option<String>,
    time: Option<String>,
    datacontenttype: Option<String>,
    data: Option<Box<RawValue>>,
    data_base64: Option<serde::de::IgnoredAny>,
    traceparent: Option<String>,
    tracestate: Option<String>,
}

/// The four attributes that every CloudEvent has.
#[derive(Deserialize)]
struct Marks {
    #[serde(rename = "specversion")]
    _specversion: String,
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "source")]
    _source: String,
    #[serde(rename = "type")]
    _event_type: String,
}

/// Reads a message.
///
/// # Errors
/// When nobody could make a saga of it.
pub(crate) fn read(delivery: &Delivery, limits: Limits) -> Result<Event, Unfit> {
    let headers = delivery.headers();
    let content_type = header(&headers, "content-type").map(media_type);
    if content_type.as_deref() == Some("application/cloudevents-batch+json") {
        return Err(Unfit::new("a batch of events is not one event; publish each in a message of its own"));
    }
    let json =
        admission::admit(delivery.payload(), limits).map_err(|refused| Unfit::new(refused.to_string()))?;
    let binary = header(&headers, "ce-specversion");
    let structured = match content_type.as_deref() {
        Some(named) => named == STRUCTURED,
        None => binary.is_none() && json.decode::<Marks>().is_ok(),
    };
    let (attributes, data) = match binary {
        Some(version) => (read_binary(version, &headers)?, json),
        None if structured => read_structured(&json)?,
        None => (Attributes::default(), json),
    };
    let time = attributes.time.as_deref().map(timestamp).transpose()?;
    let traceparent = header(&headers, "traceparent").map(str::to_owned).or(attributes.traceparent);
    let tracestate = header(&headers, "tracestate").map(str::to_owned).or(attributes.tracestate);
    let trace = traceparent.and_then(|parent| TraceContext::parse(&parent, tracestate.as_deref()));
    let id = attributes.id.or_else(|| header(&headers, "nats-msg-id").map(str::to_owned));
    Ok(Event {
        stream: delivery.stream.clone(),
        subject: delivery.subject().to_owned(),
        sequence: delivery.sequence,
        published_at: delivery.published_at,
        id,
        source: attributes.source,
        event_type: attributes.event_type,
        schema: attributes.schema,
        time,
        trace,
        headers,
        data,
    })
}

fn read_binary(version: &str, headers: &[(String, String)]) -> Result<Attributes, Unfit> {
    known_version(version)?;
    let attribute = |name: &str| header(headers, &format!("ce-{name}")).map(percent_decoded);
    let needed = |name: &str| {
        let missing = || Unfit::new(format!("the header `ce-{name}` is missing or empty"));
        attribute(name).filter(|value| !value.is_empty()).ok_or_else(missing)
    };
    json_content(header(headers, "content-type"))?;
    Ok(Attributes {
        id: Some(needed("id")?),
        source: Some(needed("source")?),
        event_type: Some(needed("type")?),
        schema: attribute("dataschema"),
        time: attribute("time"),
        traceparent: attribute("traceparent"),
        tracestate: attribute("tracestate"),
    })
}

fn read_structured(json: &Json) -> Result<(Attributes, Json), Unfit> {
    let envelope: Envelope =
        json.decode().map_err(|error| Unfit::new(format!("it is no CloudEvent: {error}")))?;
    known_version(&envelope.specversion)?;
    for (name, value) in [("id", &envelope.id), ("source", &envelope.source), ("type", &envelope.event_type)]
    {
        if value.is_empty() {
            return Err(Unfit::new(format!("the attribute `{name}` is empty")));
        }
    }
    if envelope.data_base64.is_some() {
        return Err(Unfit::new("its data is binary (`data_base64`), and sagas are started from JSON"));
    }
    json_content(envelope.datacontenttype.as_deref())?;
    let data = envelope.data.map_or_else(|| Json::parse("null").expect("`null` is JSON"), Json::from);
    let attributes = Attributes {
        id: Some(envelope.id),
        source: Some(envelope.source),
        event_type: Some(envelope.event_type),
        schema: envelope.dataschema,
        time: envelope.time,
        traceparent: envelope.traceparent,
        tracestate: envelope.tracestate,
    };
    Ok((attributes, data))
}

fn known_version(version: &str) -> Result<(), Unfit> {
    if version == "1.0" {
        return Ok(());
    }
    Err(Unfit::unknown_version(format!("version `{version}` of CloudEvents is not known here, only `1.0`")))
}

/// Sagas are started from JSON. No content type means JSON, as CloudEvents says.
fn json_content(content_type: Option<&str>) -> Result<(), Unfit> {
    let Some(media) = content_type.map(media_type) else { return Ok(()) };
    if media == "application/json" || media == "text/json" || media.ends_with("+json") {
        return Ok(());
    }
    Err(Unfit::new(format!("its data is `{media}`, and sagas are started from JSON")))
}

/// `Application/JSON; charset=utf-8` is `application/json`.
fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

pub(crate) fn timestamp(text: &str) -> Result<Timestamp, Unfit> {
    let unreadable = |error| Unfit::new(format!("its time `{text}` is not as RFC 3339 writes it: {error}"));
    let time = async_nats::datetime::parse_rfc3339(text).map_err(unreadable)?;
    Ok(Timestamp(i64::try_from(time.unix_timestamp_nanos() / 1_000).unwrap_or(i64::MAX)))
}

/// Values in headers are percent-encoded. What is not well encoded stays as it is.
fn percent_decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| value.to_owned())
}

#[cfg(test)]
mod tests;
