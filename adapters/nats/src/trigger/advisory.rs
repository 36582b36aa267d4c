//! A message that reached the end of its deliveries is no silence: it is put into intake.
//!
//! The server says it once, to whoever listens. Triggers declare consumers without a limit; this is for consumers that
//! somebody gave one.

use std::sync::Arc;

use amends::core::Timestamp;
use amends::engine::IntakeMessage;
use amends::ports::IntakeReason;
use async_nats::jetstream::consumer;
use futures_util::StreamExt as _;
use serde::Deserialize;

use super::work::Running;
use crate::taking::dedupe;

/// What the server says.
#[derive(Deserialize)]
struct Advisory {
    id: String,
    stream_seq: u64,
    deliveries: u64,
}

/// Listens for as long as this is polled.
pub(super) async fn listen(running: &Arc<Running>, consumer: &consumer::Info) {
    if consumer.config.max_deliver <= 0 {
        return std::future::pending().await;
    }
    let (stream, name) = (&consumer.stream_name, &consumer.name);
    let subject = format!("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.{stream}.{name}");
    let client = running.taker.connection.client();
    // One node is enough; if two hear it, the second adds nothing.
    let Ok(mut advisories) = client.queue_subscribe(subject, format!("amends-{name}")).await else {
        return std::future::pending().await;
    };
    while let Some(said) = advisories.next().await {
        match serde_json::from_slice::<Advisory>(&said.payload) {
            Ok(advisory) => keep(running, stream, &advisory).await,
            Err(error) => tracing::warn!(%error, "an advisory of the server cannot be read"),
        }
    }
    std::future::pending().await
}

async fn keep(running: &Arc<Running>, stream: &str, advisory: &Advisory) {
    let words = format!(
        "the consumer gave it up after {} deliveries; no saga was started for it by this consumer",
        advisory.deliveries
    );
    let found = match running.taker.connection.jetstream().get_stream_no_info(stream).await {
        Ok(of) => of.get_raw_message(advisory.stream_seq).await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let (dedupe, raw, words) = match found {
        Ok(message) => {
            let micros = message.time.unix_timestamp_nanos() / 1_000;
            let published_at = Timestamp(i64::try_from(micros).unwrap_or(i64::MAX));
            let dedupe = dedupe(advisory.stream_seq, published_at);
            (dedupe, message.payload.to_vec(), format!("{words}\nsubject: {}", message.subject))
        }
        Err(error) => {
            let dedupe = format!("{}@{}", advisory.stream_seq, advisory.id);
            (dedupe, Vec::new(), format!("{words}\nits content cannot be read any more: {error}"))
        }
    };
    let message = IntakeMessage {
        source: stream.to_owned(),
        dedupe,
        position: Some(advisory.stream_seq.to_string()),
        event_id: None,
        saga: None,
        reason: IntakeReason { code: "max-deliveries".to_owned(), words },
        raw,
    };
    running.keep_advised(message);
}
