//! Replies, taken by any node: told to the engine, and acknowledged once they are durable. As the adapter does it.

use std::time::Duration;

use amends::engine::ReplyError;
use amends_core::machine::Attempted;
use amends_core::{RequestId, SagaId};
use tokio::task::JoinSet;

use super::noted::Ending;
use super::receiver::{IN_HAND_MAX, Receiver, delay};
use super::{NODES, REPLIES};
use crate::broker::{Answer, Delivery, Message};

/// The wait before a reply that the engine could not take comes again: the first time, and at most.
const DELAY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

/// At which delivery a reply to a saga that is not to be found is put into intake.
const DELIVERIES_MAX: u64 = 10;

/// What a participant says of a request.
pub(super) struct Told {
    pub(super) saga: SagaId,
    pub(super) request: RequestId,
    pub(super) attempt: u32,
    pub(super) answer: Attempted,
}

impl Told {
    /// As a message, under an id that only the same reply has.
    pub(super) fn message(&self) -> Message {
        let Self { saga, request, attempt, answer } = self;
        let body = serde_json::to_string(answer).expect("an answer is JSON");
        let headers =
            [("saga", saga.to_string()), ("request", request.to_string()), ("attempt", attempt.to_string())];
        let word = body.split([':', '{']).find(|word| !word.is_empty()).unwrap_or_default();
        Message {
            subject: "reply".into(),
            id: Some(format!("{request}.{attempt}.{word}")),
            headers: headers.map(|(name, value)| (name.to_owned(), value)).into(),
            body,
        }
    }

    fn read(message: &Message) -> Option<Self> {
        let id = |name| message.headers.get(name)?.parse().ok();
        Some(Self {
            saga: SagaId(id("saga")?),
            request: RequestId(id("request")?),
            attempt: message.headers.get("attempt")?.parse().ok()?,
            answer: serde_json::from_str(&message.body).ok()?,
        })
    }
}

/// Takes replies until the engine ends.
pub(crate) async fn replies(receiver: Receiver) {
    let mut in_hand = JoinSet::new();
    while !receiver.is_closed() {
        while in_hand.len() >= IN_HAND_MAX {
            in_hand.join_next().await;
        }
        for delivery in receiver.broker().pull(REPLIES, NODES, IN_HAND_MAX - in_hand.len()).await {
            let receiver = receiver.clone();
            in_hand.spawn(async move { receiver.take_reply(delivery).await });
        }
    }
}

impl Receiver {
    async fn take_reply(&self, delivery: Delivery) {
        let Some(Told { saga, request, attempt, answer }) = Told::read(&delivery.message) else {
            return self.broker().answer(&delivery, Answer::Term);
        };
        let told = if delivery.number < DELIVERIES_MAX {
            self.engine().reply(saga, request, Some(attempt), answer, "a broker").await
        } else {
            self.engine().reply_or_keep(saga, request, Some(attempt), answer, "a broker").await
        };
        let (ending, answer) = match told {
            Ok(_) | Err(ReplyError::Unstorable(_)) => (Ending::Taken, Answer::Ack),
            Err(_) => (Ending::Later, Answer::Nak(delay(DELAY, delivery.number))),
        };
        self.broker().ended(REPLIES, &delivery, ending);
        self.broker().answer(&delivery, answer);
    }
}
