//! The publisher of every node's outbox.

use amends::ports::{OutboxMessage, PublishError, Published, Publisher};
use async_trait::async_trait;

use super::COMMANDS;
use super::broker::{Fault, FaultyBroker};
use crate::broker::Message;

/// Publishes commands, each under its own id.
pub(crate) struct Outbound(pub(crate) FaultyBroker);

#[async_trait]
impl Publisher for Outbound {
    async fn publish(&self, message: &OutboxMessage) -> Result<Published, PublishError> {
        let headers = serde_json::from_str(&message.headers);
        let headers = headers.map_err(|error| PublishError::Refused(format!("its headers: {error}")))?;
        let sent = Message {
            subject: message.subject.clone(),
            id: Some(message.id.to_string()),
            headers,
            body: message.body.clone(),
        };
        match self.0.publish(COMMANDS, sent).await {
            Ok(stored) => Ok(Published { duplicate: stored.duplicate }),
            Err(Fault::Silence) => Err(PublishError::Unavailable("nobody answered".to_owned())),
            Err(Fault::Full) => Err(PublishError::Refused("the stream is full".to_owned())),
        }
    }
}
