//! Which messages are which events, and which are none.

use amends::core::admission::Limits;
use amends::core::{Json, Timestamp};
use async_nats::{HeaderMap, Message};
use serde::Deserialize;

use super::super::event::{Event, Unfit};
use super::{percent_decoded, read};
use crate::taking::Delivery;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn message(headers: &[(&str, &str)], payload: &[u8]) -> Result<Event, Unfit> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, *value);
    }
    let message = Message {
        subject: "orders.eu.placed".into(),
        reply: None,
        payload: payload.to_vec().into(),
        headers: (!headers.is_empty()).then_some(map),
        status: None,
        description: None,
        length: payload.len(),
    };
    read(&Delivery::sample(message), Limits::DEFAULT)
}

fn text(headers: &[(&str, &str)], payload: &str) -> Result<Event, Unfit> {
    message(headers, payload.as_bytes())
}

const STRUCTURED: &str = r#"{
    "specversion": "1.0", "id": "e-1", "source": "/shop", "type": "order.placed.v2",
    "time": "2026-11-30T16:12:00.250Z", "dataschema": "order/2", "traceparent":
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "data": {"amount": 1.50}
}"#;

#[test]
fn structured_cloud_events_are_read_with_and_without_their_content_type() {
    for headers in [&[("content-type", "application/cloudevents+json; charset=utf-8")][..], &[]] {
        let event = text(headers, STRUCTURED).unwrap();
        assert_eq!((event.id(), event.source()), (Some("e-1"), Some("/shop")));
        assert_eq!((event.event_type(), event.schema()), (Some("order.placed.v2"), Some("order/2")));
        assert_eq!(event.occurred_at(), Timestamp(1_796_055_120_250_000));
        assert_eq!(event.json().text(), r#"{"amount": 1.50}"#);
        assert_eq!(event.trace.as_ref().map(|trace| trace.traceparent()), Some(PARENT));
        assert_eq!(event.record().event_version, Some(2));
        assert_eq!(event.record().source, "ORDERS orders.eu.placed");
    }
}

#[test]
fn binary_cloud_events_are_read_from_their_headers() {
    let headers = [
        ("Content-Type", "application/json"),
        ("ce-specversion", "1.0"),
        ("Ce-Id", "e%201"),
        ("ce-source", "/shop"),
        ("ce-type", "order.placed"),
        ("ce-time", "2026-11-30T17:12:00+01:00"),
        ("traceparent", PARENT),
        ("tracestate", "a=1"),
    ];
    let event = text(&headers, "7").unwrap();
    assert_eq!((event.id(), event.event_type()), (Some("e 1"), Some("order.placed")));
    assert_eq!(event.occurred_at(), Timestamp(1_796_055_120_000_000));
    assert_eq!(event.data::<u32>(), Ok(7));
    assert_eq!(event.trace.as_ref().and_then(|trace| trace.tracestate()), Some("a=1"));
    let incomplete = text(&headers[..3], "7").unwrap_err();
    assert_eq!(incomplete.words(), "the header `ce-source` is missing or empty");
}

#[test]
fn plain_json_takes_its_id_from_the_message_and_its_time_from_the_stream() {
    let event = text(&[("Nats-Msg-Id", "m-1")], r#"{"id": "another"}"#).unwrap();
    assert_eq!(event.id(), Some("m-1"));
    assert_eq!(event.occurred_at(), Timestamp::from_millis(1_000));
    assert_eq!((event.subject(), event.subject_part(1)), ("orders.eu.placed", Some("eu")));
    assert_eq!(event.header("nats-msg-id"), Some("m-1"));
    // What only looks like an event is data where the content type says so.
    let data = text(&[("content-type", "application/json")], STRUCTURED).unwrap();
    assert_eq!((data.id(), data.json().text()), (None, Json::parse(STRUCTURED).unwrap().text()));
}

#[test]
fn an_event_without_data_has_null_as_its_data() {
    let event = r#"{"specversion": "1.0", "id": "e-1", "source": "/", "type": "t"}"#;
    assert_eq!(text(&[], event).unwrap().data::<()>(), Ok(()));
}

#[test]
fn what_nobody_could_start_a_saga_from_is_told_with_the_reason() {
    let refused = |headers: &[(&str, &str)], payload: &str| text(headers, payload).unwrap_err();
    let structured =
        |change: &str, to: &str| refused(&[], &STRUCTURED.replace(change, to)).words().to_owned();

    assert_eq!(refused(&[], "").words(), "$: EOF while parsing a value (byte 0)");
    assert_eq!(refused(&[], r#"{"a": 1, "a": 1}"#).words(), "$.a: duplicate key");
    assert!(
        refused(&[], &format!("{}{}", "[".repeat(65), "]".repeat(65))).words().contains("deeper than 64")
    );
    assert!(message(&[], b"\"\xff\"").unwrap_err().words().contains("invalid UTF-8"));
    let large = format!("\"{}\"", "x".repeat(1 << 20));
    assert!(refused(&[], &large).words().contains("bytes are more than"));

    assert_eq!(refused(&[], &STRUCTURED.replace("\"1.0\"", "\"0.3\"")).code(), "unknown-version");
    assert_eq!(structured("e-1", ""), "the attribute `id` is empty");
    assert!(structured("2026-11-30T", "yesterday ").contains("is not as RFC 3339 writes it"));
    assert!(structured("\"data\": {", "\"data_base64\": {").contains("binary"));
    assert!(
        structured("\"dataschema\": \"order/2\"", "\"datacontenttype\": \"text/xml\"").contains("`text/xml`")
    );
    let named = [("content-type", "application/cloudevents+json")];
    assert!(refused(&named, "{}").words().contains("no CloudEvent"));
    let batch = [("content-type", "application/cloudevents-batch+json")];
    assert!(refused(&batch, "[]").words().contains("a batch"));
}

#[test]
fn data_that_does_not_decode_is_told_with_its_place() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Order {
        lines: Vec<Line>,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    struct Line {
        pieces: u32,
    }
    let event = text(&[], r#"{"lines": [{"pieces": 1}, {"pieces": -1}]}"#).unwrap();
    let unfit = event.data::<Order>().unwrap_err();
    assert!(
        unfit.words().starts_with("`lines[1].pieces` of the data does not fit: invalid value"),
        "{unfit:?}"
    );
    let unfit = text(&[], "7").unwrap().data::<Order>().unwrap_err();
    assert!(unfit.words().starts_with("the data does not fit: invalid type"), "{unfit:?}");
}

#[test]
fn header_values_are_percent_decoded_where_they_are_well_encoded() {
    assert_eq!(percent_decoded("a%20b%C3%A4"), "a bä");
    assert_eq!(percent_decoded("100%"), "100%");
    assert_eq!(percent_decoded("%zz%4"), "%zz%4");
    assert_eq!(percent_decoded("%ff"), "%ff");
}
