//! Letting a message go that nobody takes.

use amends_core::{Rejected, Timestamp};

use super::controls::same_order;
use super::{Answer, By, OperateError, Operator};
use crate::Engine;
use crate::ports::{ControlOrder, Fault, LetGo, OutboxKind, OutboxPlace};
use crate::worker::Backoff;

impl Operator {
    /// Lets a message go that was refused: it is not published any more, and the later events of its saga go out. What it
    /// says is lost to whoever it was for; the saga does not change, and its journal still tells it. [`Engine::outbox`] lists
    /// what was refused. Who let it go and why is kept as an order on a control is, for as long as those are.
    ///
    /// Answered `Accepted`. Refused is a message that is gone (published, or let go before), and one that was never refused.
    /// A command belongs to an attempt that is journalled as started, so it is refused while anything of its saga is open:
    /// decide about its action first. Once its saga is over nothing waits for it, and it can only arrive too late.
    ///
    /// A try that is under way may still get through.
    ///
    /// # Errors
    /// As [`OperateError`] says.
    pub async fn let_go(&self, message: OutboxPlace, by: By) -> Result<Answer, OperateError> {
        by.check()?;
        let engine = &self.engine;
        let order = ControlOrder {
            operation_id: by.operation_id.0.to_string(),
            key: format!("outbox/{message}").into(),
            value: None,
            actor: by.actor,
            reason: by.reason,
            at: engine.now(),
        };
        // What was answered before stands, whatever became of the saga since.
        if let Some(known) = engine.board().store().ordered(&order.operation_id).await? {
            return same_order(&known, &order).map(|_| Answer::Accepted);
        }
        if message.kind == OutboxKind::Command {
            engine.nothing_waits_for_commands_of(message).await?;
        }
        match engine.let_message_go(message, &order, order.at + engine.limits().answer_within).await? {
            LetGo::Done => {
                let ControlOrder { actor, reason, .. } = &order;
                tracing::warn!(%message, actor, reason, "a message that was refused is let go");
                engine.wake_publisher(message.kind);
                Ok(Answer::Accepted)
            }
            LetGo::Known(known) => same_order(&known, &order).map(|_| Answer::Accepted),
            LetGo::NoSuchMessage => Err(refused(format!(
                "`{message}` does not wait to be published: it was published, or let go before"
            ))),
            LetGo::NotRefused => {
                Err(refused(format!("`{message}` was not refused by anybody, and is still to be published")))
            }
            LetGo::Unstorable { reason } => Err(OperateError::Incomplete(reason)),
        }
    }
}

fn refused(reason: String) -> OperateError {
    OperateError::Refused(Rejected::State(reason))
}

impl Engine {
    /// Is the saga over, whose command this is?
    async fn nothing_waits_for_commands_of(&self, message: OutboxPlace) -> Result<(), OperateError> {
        match self.row(message.saga).await? {
            Some((row, _)) if row.ended_at.is_none() || row.open_actions > 0 => Err(refused(format!(
                "`{message}` is a command, its attempt is journalled as started, and its saga is not over: \
                 decide about its action first"
            ))),
            _ => Ok(()),
        }
    }

    /// A store that does not answer is asked again until then.
    async fn let_message_go(
        &self,
        message: OutboxPlace,
        order: &ControlOrder,
        until: Timestamp,
    ) -> Result<LetGo, Fault> {
        let mut backoff = Backoff::default();
        loop {
            match self.outbox_store().let_go(message, order).await {
                Err(Fault::Unavailable(_)) if self.now() < until => backoff.wait(self.clock()).await,
                answered => return answered,
            }
        }
    }
}
