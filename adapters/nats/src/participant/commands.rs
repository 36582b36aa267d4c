//! Commands: taken, worked on, replied to, and only then acknowledged.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use async_nats::HeaderMap;
use async_trait::async_trait;
use futures_util::FutureExt as _;

use super::{Handler, NotNow, Shared};
use crate::taking::{Answer, Delivery, HeldBy, Taker, Work};
use crate::wire::{
    ATTEMPT, Call, DIRECTION, Direction, PROTOCOL, REPLY_TO, REQUEST_ID, Reply, SAGA, VERSION,
};

/// The wait before a command that could not be worked on comes again, the first time.
const DELAY_FIRST: Duration = Duration::from_millis(100);

/// What becomes of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It was replied to.
    Answered,
    /// It can never be worked on.
    Malformed,
    /// It comes again.
    PutOff,
    /// It had come and was not begun when this ended; it comes again.
    Returned,
}

#[async_trait]
impl<H: Handler> Work for Shared<H> {
    const RETURNED: usize = Ending::Returned as usize;

    fn taker(&self) -> &Taker {
        &self.taker
    }

    /// If the confirmation of an acknowledgement is lost, the command comes again and is answered from what is kept.
    async fn see_through(&self, delivery: &Delivery, _: Duration) -> usize {
        let (ending, answer) = match self.replied(delivery).await {
            Ok(ending @ Ending::Malformed) => (ending, Answer::Term("malformed")),
            Ok(ending) => {
                self.taker.status.no_longer_held(HeldBy::Service);
                (ending, Answer::Ack)
            }
            Err(reason) => {
                let doublings = u32::try_from(delivery.number.saturating_sub(1)).unwrap_or(16).min(16);
                let delay = (DELAY_FIRST * 2_u32.pow(doublings)).min(self.settings.delay_max);
                let (subject, delivered) = (delivery.subject(), delivery.number);
                tracing::warn!(subject, delivered, ?delay, %reason, "a command comes again");
                self.taker.status.held(HeldBy::Service, reason.to_string());
                (Ending::PutOff, Answer::Nak(delay))
            }
        };
        self.taker.confirm(delivery, answer).await;
        ending as usize
    }
}

/// What a handler answers. Its panic concerns this command alone.
async fn worked(answer: impl Future<Output = Result<Reply, NotNow>>) -> Result<Reply, NotNow> {
    let worked = AssertUnwindSafe(answer).catch_unwind().await;
    worked.unwrap_or_else(|_| Err(NotNow("the handler panicked".to_owned())))
}

impl<H: Handler> Shared<H> {
    /// Carries a command out, and returns once its reply is in the stream.
    async fn replied(&self, delivery: &Delivery) -> Result<Ending, NotNow> {
        let empty = HeaderMap::new();
        let headers = delivery.header_map().unwrap_or(&empty);
        let text =
            |name| headers.get(name).map(|value| value.as_str()).filter(|value: &&str| !value.is_empty());
        let (Some(reply_to), Some(_)) = (text(REPLY_TO), text(REQUEST_ID)) else {
            let subject = delivery.subject();
            tracing::error!(subject, "a command that names nobody to answer to is terminated");
            return Ok(Ending::Malformed);
        };
        let (reply, ending) = self.answered(delivery, headers).await?;
        let mut told = HeaderMap::new();
        told.insert(PROTOCOL, VERSION);
        for name in [SAGA, REQUEST_ID, DIRECTION, ATTEMPT] {
            if let Some(value) = text(name) {
                told.insert(name, value);
            }
        }
        let transmission = [REQUEST_ID, DIRECTION, ATTEMPT].map(|name| text(name).unwrap_or_default());
        told.insert("Nats-Msg-Id", format!("{}.{}", transmission.join("."), reply.word()).as_str());
        let body = reply.write(&mut told, self.connection.client().max_payload());
        let jetstream = self.connection.jetstream();
        let sent = jetstream.publish_with_headers(reply_to.to_owned(), told, body.into()).await;
        sent.map_err(NotNow::because)?.await.map_err(NotNow::because)?;
        Ok(ending)
    }

    async fn answered(&self, delivery: &Delivery, headers: &HeaderMap) -> Result<(Reply, Ending), NotNow> {
        let is_ours = headers.get(PROTOCOL).is_some_and(|version| version.as_str() == VERSION);
        let stranger = || Reply::persistent("protocol", format!("version {VERSION} is spoken here"));
        let call = match Call::read(delivery.subject(), headers, delivery.payload()) {
            Ok(call) => call,
            // Nobody of this version carries it out, so there is nothing to close.
            Err(_) if !is_ours => return Ok((stranger(), Ending::Answered)),
            Err(malformed) => return Ok((Reply::persistent("malformed", malformed), Ending::Malformed)),
        };
        let reply = if is_ours { worked(self.handler.command(&call)).await? } else { stranger() };
        let may_be_in_two_hands = call.direction == Direction::Forward && reply.says_without_effect();
        let reply = match may_be_in_two_hands {
            true => worked(self.handler.close_out(&call, reply)).await?,
            false => reply,
        };
        Ok((reply, Ending::Answered))
    }
}
