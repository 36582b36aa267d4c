//! Pulling from a durable consumer, for as long as somebody wants it: a consumer that is gone, a server that is gone and a
//! pull that falls silent all end in declaring the consumer again.

use std::fmt::Display;
use std::future::{Future, ready};
use std::time::Duration;

use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::{Consumer, pull};
use futures_util::StreamExt as _;
use tokio_util::sync::CancellationToken;

/// How long one pull waits for messages, and how often the server says meanwhile that it is there.
const PULL: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(5));
/// The wait before the consumer is declared again.
const AGAIN: Duration = Duration::from_millis(500);

/// Takes messages, at most `in_flight` at one time, until it is told to stop; what was begun is finished.
pub(crate) async fn run<Declared, Error, Taken>(
    what: &str,
    declare: impl Fn() -> Declared,
    in_flight: usize,
    stop: &CancellationToken,
    take: impl Fn(Message) -> Taken,
) where
    Declared: Future<Output = Result<Consumer<pull::Config>, Error>>,
    Error: Display,
    Taken: Future<Output = ()>,
{
    while !stop.is_cancelled() {
        match declare().await {
            Ok(consumer) => unbroken(what, &consumer, in_flight, stop, &take).await,
            Err(error) => tracing::warn!(%error, "{what} do not come"),
        }
        tokio::select! {
            () = a_while() => {}
            () = stop.cancelled() => {}
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a participant has no engine, whose clock it could ask")]
async fn a_while() {
    tokio::time::sleep(AGAIN).await;
}

/// Returns when the consumer has to be looked at, or it is time to stop.
async fn unbroken<Taken: Future<Output = ()>>(
    what: &str,
    consumer: &Consumer<pull::Config>,
    in_flight: usize,
    stop: &CancellationToken,
    take: impl Fn(Message) -> Taken,
) {
    let (expires, heartbeat) = PULL;
    let pulling = consumer.stream().max_messages_per_batch(in_flight).expires(expires).heartbeat(heartbeat);
    let messages = match pulling.messages().await {
        Ok(messages) => messages,
        Err(error) => return tracing::warn!(%error, "{what} do not come"),
    };
    let good = messages.take_until(stop.cancelled()).take_while(|message| {
        if let Err(error) = message {
            tracing::warn!(%error, "{what} do not come");
        }
        ready(message.is_ok())
    });
    good.filter_map(|message| ready(message.ok())).for_each_concurrent(in_flight, take).await;
}
