//! Commands: taken, worked on, replied to, and only then acknowledged.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::{AckKind, Message};
use futures_util::FutureExt as _;

use super::{Handler, NotNow, Shared};
use crate::pull;
use crate::wire::{ATTEMPT, Call, DIRECTION, PROTOCOL, REPLY_TO, REQUEST_ID, Reply, SAGA, VERSION};

/// The wait before a command that could not be worked on comes again, the first time.
const DELAY_FIRST: Duration = Duration::from_millis(100);

/// Takes commands until it is told to stop.
pub(super) async fn run<H: Handler>(shared: Arc<Shared<H>>) {
    let taker = shared.clone();
    let take = |message| {
        let shared = taker.clone();
        async move { take(&shared, message).await }
    };
    pull::run("commands", || shared.declare(), shared.settings.in_flight, &shared.stop, take).await;
}

/// What becomes of a message once it is answered.
enum Done {
    /// It is not delivered again.
    Taken,
    /// It can never be worked on.
    Bad,
}

async fn take<H: Handler>(shared: &Shared<H>, message: Message) {
    let empty = HeaderMap::new();
    let headers = message.headers.as_ref().unwrap_or(&empty);
    let text = |name| headers.get(name).map(|value| value.as_str()).filter(|value: &&str| !value.is_empty());
    let (Some(reply_to), Some(_)) = (text(REPLY_TO), text(REQUEST_ID)) else {
        tracing::error!(subject = %message.subject, "a command that names nobody to answer to is terminated");
        return acknowledge(&message, AckKind::Term).await;
    };
    let answer = match answer(shared, &message, headers).await {
        Ok(answer) => answer,
        Err(reason) => return put_off(shared, &message, &reason).await,
    };
    let (reply, done) = answer;
    let mut told = HeaderMap::new();
    told.insert(PROTOCOL, VERSION);
    for name in [SAGA, REQUEST_ID, DIRECTION, ATTEMPT] {
        if let Some(value) = text(name) {
            told.insert(name, value);
        }
    }
    let transmission = [REQUEST_ID, DIRECTION, ATTEMPT].map(|name| text(name).unwrap_or_default());
    told.insert("Nats-Msg-Id", format!("{}.{}", transmission.join("."), reply.word()).as_str());
    let body = reply.write(&mut told);
    let jetstream = shared.connection.jetstream();
    let published =
        async { jetstream.publish_with_headers(reply_to.to_owned(), told, body.into()).await?.await };
    if let Err(error) = published.await {
        return put_off(shared, &message, &NotNow::because(error)).await;
    }
    match done {
        Done::Taken => {
            // If the confirmation is lost, the command comes again and is answered from what is kept.
            if let Err(error) = message.double_ack().await {
                tracing::debug!(%error, "a command may come again");
            }
        }
        Done::Bad => acknowledge(&message, AckKind::Term).await,
    }
}

async fn answer<H: Handler>(
    shared: &Shared<H>,
    message: &Message,
    headers: &HeaderMap,
) -> Result<(Reply, Done), NotNow> {
    if headers.get(PROTOCOL).is_none_or(|version| version.as_str() != VERSION) {
        let reply = Reply::persistent("protocol", format!("version {VERSION} is spoken here"));
        return Ok((reply, Done::Taken));
    }
    let call = match Call::read(&message.subject, headers, &message.payload) {
        Ok(call) => call,
        Err(malformed) => return Ok((Reply::persistent("malformed", malformed), Done::Bad)),
    };
    let worked = AssertUnwindSafe(shared.handler.command(&call)).catch_unwind().await;
    let reply = worked.unwrap_or_else(|_| Err(NotNow("the handler panicked".to_owned())))?;
    Ok((reply, Done::Taken))
}

/// Nothing is answered: the command comes again, ever later.
async fn put_off<H>(shared: &Shared<H>, message: &Message, reason: &NotNow) {
    let delivered = message.info().map_or(1, |info| info.delivered);
    let doublings = u32::try_from(delivered.saturating_sub(1)).unwrap_or(16).min(16);
    let delay = (DELAY_FIRST * 2_u32.pow(doublings)).min(shared.settings.delay_max);
    tracing::warn!(subject = %message.subject, delivered, ?delay, %reason, "a command comes again");
    acknowledge(message, AckKind::Nak(Some(delay))).await;
}

async fn acknowledge(message: &Message, kind: AckKind) {
    if let Err(error) = message.ack_with(kind).await {
        tracing::debug!(%error, "a command may come again");
    }
}
