//! What NATS does without an engine, on the same streams with the same bytes: the ceilings.

use std::time::Instant;

use amends_nats::Connection;
use anyhow::Context as _;
use async_nats::HeaderMap;
use async_nats::jetstream::consumer::{AckPolicy, pull};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde::Serialize;

use super::participant::ECHO;
use super::workload::{STREAM, SUBJECT, event};

/// As many acknowledgements of publishes as the engine awaits at once, and as many messages as a trigger has in hand.
const PUBLISHING: usize = 64;
const IN_HAND: usize = 256;

/// Publishes so many events, each acknowledged by the stream; how many a second.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub async fn publish(connection: &Connection, events: usize) -> anyhow::Result<f64> {
    let jetstream = connection.jetstream();
    let began = Instant::now();
    let published = stream::iter(0..events).map(|n| async move {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", format!("event-{n}").as_str());
        let sent = jetstream.publish_with_headers(SUBJECT, headers, event(n).into()).await?;
        sent.await.map(drop)
    });
    published.buffer_unordered(PUBLISHING).try_for_each(|()| async { Ok(()) }).await?;
    Ok(events as f64 / began.elapsed().as_secs_f64())
}

/// Pulls what was published and acknowledges each, confirmed; how many a second.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub async fn consume(connection: &Connection, events: usize) -> anyhow::Result<f64> {
    let of = connection.jetstream().get_stream(STREAM).await?;
    let config = pull::Config {
        durable_name: Some("raw".to_owned()),
        ack_policy: AckPolicy::Explicit,
        max_ack_pending: 4_096,
        ..pull::Config::default()
    };
    let consumer = of.create_consumer(config).await?;
    let began = Instant::now();
    let messages = consumer.stream().max_messages_per_batch(IN_HAND).messages().await?;
    let acknowledged = messages.take(events).map(|message| async move {
        let message = message.map_err(anyhow::Error::from)?;
        message.double_ack().await.map_err(|error| anyhow::anyhow!("failed to acknowledge: {error}"))
    });
    acknowledged.buffer_unordered(IN_HAND).try_for_each(|()| async { Ok(()) }).await?;
    let rate = events as f64 / began.elapsed().as_secs_f64();
    of.delete_consumer("raw").await?;
    Ok(rate)
}

/// Requests to another process, and their answers.
#[derive(Clone, Copy, Serialize)]
pub struct Asked {
    /// One after another.
    pub p50_us: f64,
    /// 64 at a time.
    pub per_second: f64,
}

/// Asks the participant's process, which answers at once.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub async fn ask(connection: &Connection, requests: usize) -> anyhow::Result<Asked> {
    let client = connection.client();
    let body = event(0);
    let mut took = Vec::new();
    for _ in 0..requests.min(1_000) {
        let one = Instant::now();
        client.request(ECHO, body.clone().into()).await.context("the participant answers")?;
        took.push(one.elapsed());
    }
    took.sort();
    let began = Instant::now();
    let asked = stream::iter(0..requests).map(|_| client.request(ECHO, body.clone().into()));
    asked.buffer_unordered(PUBLISHING).try_for_each(|_| async { Ok(()) }).await?;
    let per_second = requests as f64 / began.elapsed().as_secs_f64();
    Ok(Asked { p50_us: took[took.len() / 2].as_secs_f64() * 1e6, per_second })
}
