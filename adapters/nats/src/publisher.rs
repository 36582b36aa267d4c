//! Publishing what stands in the outbox: through JetStream, under the message's own id.
//!
//! What can fail, and what becomes of it: *no acknowledgement* is unknown, and the same message goes out again. *A stream
//! that is full, missing or without a leader, a server without resources*: nothing of the kind gets through, one message at a
//! time is tried until one does, and the outbox says why. *A message that the stream will never take* (it is too large): it
//! is refused, and holds up nothing but later events of its own saga.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::sync::Arc;

use amends::ports::{OutboxKind, OutboxMessage, PublishError, Published, Publisher};
use async_nats::HeaderMap;
use async_nats::jetstream;
use async_nats::jetstream::context::{self, PublishErrorKind};
use async_trait::async_trait;

use crate::command::{NameError, named};
use crate::connection::Connection;

/// The code of JetStream's errors that speak of the stream or the server and not of the message.
const SERVICE_UNAVAILABLE: usize = 503;

/// Publishes messages to JetStream, each under its own id as `Nats-Msg-Id`. The stream's acknowledgement, a
/// "duplicate" among them, is the acknowledgement.
///
/// Commands name their subject themselves. Events and notices go to their subject under the installation's prefix:
/// `amends.events.<workflow>.<type>`.
#[derive(Clone, Debug)]
pub struct NatsPublisher {
    connection: Connection,
    prefix: Arc<str>,
}

impl NatsPublisher {
    /// On this connection, under this prefix.
    ///
    /// # Errors
    /// When the prefix is no token of a subject.
    pub fn new(connection: Connection, prefix: &str) -> Result<Self, NameError> {
        Ok(Self { connection, prefix: named(prefix)?.into() })
    }

    fn subject(&self, message: &OutboxMessage) -> String {
        match message.place.kind {
            OutboxKind::Command => message.subject.to_string(),
            OutboxKind::Event | OutboxKind::Notice => format!("{}.{}", self.prefix, message.subject),
        }
    }
}

#[async_trait]
impl Publisher for NatsPublisher {
    async fn publish(&self, message: &OutboxMessage) -> Result<Published, PublishError> {
        let told: BTreeMap<String, String> = serde_json::from_str(&message.headers)
            .map_err(|error| PublishError::Refused(format!("its headers cannot be read: {error}")))?;
        let mut headers = HeaderMap::new();
        for (name, value) in &told {
            headers.insert(name.as_str(), value.as_str());
        }
        headers.insert("Nats-Msg-Id", message.id.to_string().as_str());
        let (jetstream, body) = (self.connection.jetstream(), message.body.clone().into());
        let subject = self.subject(message);
        let sent = jetstream.publish_with_headers(subject.clone(), headers, body).await;
        let acknowledged = match sent {
            Ok(acknowledgement) => acknowledgement.await,
            Err(error) => Err(error),
        };
        match acknowledged {
            Ok(acknowledgement) => Ok(Published { duplicate: acknowledgement.duplicate }),
            Err(error) => Err(not_acknowledged(&error, &subject)),
        }
    }
}

/// What is known of a message that was not acknowledged.
fn not_acknowledged(error: &context::PublishError, subject: &str) -> PublishError {
    match error.kind() {
        // Nobody knows: the client sends again what it holds when the server is back.
        PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe | PublishErrorKind::MaxAckPending => {
            PublishError::Unavailable(error.to_string())
        }
        // There is no such stream, or it has no leader at this moment, or its server is just starting: the answer is the same.
        PublishErrorKind::StreamNotFound => {
            PublishError::Unavailable(format!("no stream takes `{subject}` at this moment"))
        }
        _ if concerns_all(error) => PublishError::Unavailable(error.to_string()),
        _ => PublishError::Refused(error.to_string()),
    }
}

/// The stream is full, or its server has no resources: that is no fault of this message, and passes for all at once.
fn concerns_all(error: &context::PublishError) -> bool {
    let told = error.source().and_then(|source| source.downcast_ref::<jetstream::Error>());
    told.is_some_and(|told| told.code() == SERVICE_UNAVAILABLE)
}
