//! Who publishes: a broker, or whatever else messages of the outbox are for.

use async_trait::async_trait;

use super::outbox::OutboxMessage;

/// Publishes messages of the outbox. The engine sends each until it is acknowledged, in its order, at growing
/// delays: an implementation repeats nothing by itself.
#[async_trait]
pub trait Publisher: Send + Sync + 'static {
    /// Publishes one message under its [id](OutboxMessage::id). Returns once it is acknowledged: from then on the
    /// engine may forget it. Dropping the future must be safe at any moment; the same message then comes again.
    ///
    /// # Errors
    /// See [`PublishError`].
    async fn publish(&self, message: &OutboxMessage) -> Result<Published, PublishError>;
}

/// How a message was acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// It had been published before under the same id.
    pub duplicate: bool,
}

/// Why a message was not acknowledged. It stays in the outbox, and is published again under the same id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// Nobody answered, or it is not known what became of it: soon again, and other messages wait too if none gets
    /// through.
    #[error("failed to publish: {0}")]
    Unavailable(String),
    /// This message is not taken (it is too large, there is nobody of that name): later again, and shown to people.
    #[error("failed to publish, because the message is refused: {0}")]
    Refused(String),
}
