//! Queries: asked by request and reply, and answered from what is kept.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_nats::{HeaderMap, Message, Subscriber};
use futures_util::{FutureExt as _, StreamExt as _};

use super::{Handler, NotNow, ParticipantError, Shared};
use crate::wire::{ATTEMPT, Call, DIRECTION, PROTOCOL, REQUEST_ID, Reply, SAGA, Trouble, VERSION};

/// The queries of this service, shared among its processes.
pub(super) async fn subscribe<H>(shared: &Shared<H>) -> Result<Subscriber, ParticipantError> {
    let subject = format!("{}.query.{}.>", shared.settings.prefix, shared.settings.service);
    let client = shared.connection.client();
    let wrong = |error: &dyn std::fmt::Display| ParticipantError::Subscribe {
        subject: subject.clone(),
        reason: error.to_string(),
    };
    let asked = client.queue_subscribe(subject.clone(), shared.settings.service.clone()).await;
    let asked = asked.map_err(|error| wrong(&error))?;
    client.flush().await.map_err(|error| wrong(&error))?;
    Ok(asked)
}

/// Answers queries until it is told to stop. The client subscribes again by itself.
pub(super) async fn run<H: Handler>(shared: Arc<Shared<H>>, asked: Subscriber) {
    let until_told = asked.take_until(shared.stop.cancelled());
    until_told.for_each_concurrent(shared.settings.in_flight, |message| answer(&shared, message)).await;
}

async fn answer<H: Handler>(shared: &Shared<H>, message: Message) {
    let Some(inbox) = message.reply.clone() else { return };
    shared.asked.fetch_add(1, Ordering::Relaxed);
    let empty = HeaderMap::new();
    let headers = message.headers.as_ref().unwrap_or(&empty);
    let reply = match Call::read(&message.subject, headers, &message.payload) {
        Ok(call) => {
            let worked = AssertUnwindSafe(shared.handler.query(&call)).catch_unwind().await;
            worked.unwrap_or_else(|_| Err(NotNow("the handler panicked".to_owned())))
        }
        Err(malformed) => Ok(Reply::Unclear(Trouble::new("malformed", malformed))),
    };
    let reply = match reply {
        Ok(reply) => reply,
        // Silence is a failed query: the engine asks again by its own policy.
        Err(reason) => return tracing::warn!(subject = %message.subject, %reason, "a query is not answered"),
    };
    let mut told = HeaderMap::new();
    told.insert(PROTOCOL, VERSION);
    for name in [SAGA, REQUEST_ID, DIRECTION, ATTEMPT] {
        if let Some(value) = headers.get(name) {
            told.insert(name, value.clone());
        }
    }
    let client = shared.connection.client();
    let body = reply.write(&mut told, client.max_payload());
    if let Err(error) = client.publish_with_headers(inbox, told, body.into()).await {
        tracing::warn!(%error, "the answer to a query did not leave");
    }
}
