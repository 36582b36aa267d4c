//! One subscription that asks a consumer for messages, so many at a time as there is room.
//!
//! At most one request is open. The library's own stream asks for more before the last ones were taken, so messages
//! would wait in its buffer while their time runs out; and its batch does not notice a server that is silent. What the client
//! drops is not waited for until the request expires: it is asked for anew, on another subscription.

use std::time::Duration;

use async_nats::jetstream;
use async_nats::{Request, StatusCode, Subscriber};
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::json;

use crate::connection::Connection;

/// Below this a busy machine would look silent.
const HEARTBEAT_MIN: Duration = Duration::from_millis(100);

pub(super) struct Pull {
    connection: Connection,
    subscriber: Subscriber,
    inbox: String,
    /// What is asked, below the prefix of the API.
    subject: String,
    expires: Duration,
    heartbeat: Duration,
    /// How many messages the last request was for, and of those that have not come, while it is open.
    asked: usize,
    open: usize,
    /// How many messages the client had dropped when that was made.
    dropped: u64,
}

/// What came.
pub(super) enum Pulled {
    Message(Box<jetstream::Message>),
    /// The request has ended; another one may be made.
    Finished,
    /// No more will come on this subscription.
    Broken(String),
}

impl Pull {
    pub(super) async fn open(
        connection: &Connection,
        (stream, consumer): (&str, &str),
        (expires, heartbeat): (Duration, Duration),
    ) -> Result<Self, String> {
        let inbox = connection.client().new_inbox();
        let expires = expires.max(HEARTBEAT_MIN * 2);
        let subscriber = connection.client().subscribe(inbox.clone()).await;
        Ok(Self {
            connection: connection.clone(),
            subscriber: subscriber.map_err(|error| format!("no answer can be subscribed to: {error}"))?,
            inbox,
            subject: format!("CONSUMER.MSG.NEXT.{stream}.{consumer}"),
            expires,
            heartbeat: heartbeat.clamp(HEARTBEAT_MIN, expires / 2),
            asked: 0,
            open: 0,
            dropped: connection.messages_dropped(),
        })
    }

    /// Asks for so many messages.
    pub(super) async fn ask(&mut self, messages: usize) -> Result<(), String> {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let wanted = json!({
            "batch": messages, "expires": nanos(self.expires), "idle_heartbeat": nanos(self.heartbeat),
        });
        let request = Request::new().payload(wanted.to_string().into()).inbox(self.inbox.clone());
        let sent = self.connection.jetstream().send_request(self.subject.clone(), request).await;
        (self.asked, self.open) = (messages, messages);
        self.dropped = self.connection.messages_dropped();
        sent.map_err(|error| format!("the request for messages could not be sent: {error}"))
    }

    /// The next that comes. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Pulled {
        loop {
            if self.open == 0 {
                return Pulled::Finished;
            }
            let message = match tokio::time::timeout(self.heartbeat * 2, self.subscriber.next()).await {
                Ok(Some(message)) => message,
                Ok(None) => return Pulled::Broken("the connection was closed".to_owned()),
                Err(_) => return Pulled::Broken(self.silence()),
            };
            let description = message.description.as_deref().unwrap_or_default();
            match message.status {
                None | Some(StatusCode::OK) => {
                    self.open -= 1;
                    return Pulled::Message(Box::new(self.of_jetstream(message)));
                }
                Some(StatusCode::IDLE_HEARTBEAT) if self.may_have_dropped() => {
                    return Pulled::Broken("the client dropped messages that nobody had taken".to_owned());
                }
                Some(StatusCode::IDLE_HEARTBEAT) => {}
                Some(StatusCode::TIMEOUT | StatusCode::NOT_FOUND) => self.open = 0,
                Some(StatusCode::NO_RESPONDERS) => {
                    return Pulled::Broken("nobody answers for the consumer".to_owned());
                }
                Some(status) => return Pulled::Broken(format!("the server says: {description} ({status})")),
            }
        }
    }

    /// What has come and was not taken.
    pub(super) fn untaken(mut self) -> Vec<jetstream::Message> {
        let mut untaken = Vec::new();
        while let Some(Some(message)) = self.subscriber.next().now_or_never() {
            if message.status.is_none_or(|status| status == StatusCode::OK) {
                untaken.push(self.of_jetstream(message));
            }
        }
        untaken
    }

    fn of_jetstream(&self, message: async_nats::Message) -> jetstream::Message {
        jetstream::Message { message, context: self.connection.jetstream().clone() }
    }

    /// Others share the client, and what it dropped may be theirs; but of a burst that finds no room some come.
    fn may_have_dropped(&self) -> bool {
        self.open < self.asked && self.connection.messages_dropped() != self.dropped
    }

    /// Why nothing came: a permission that is missing is told elsewhere.
    fn silence(&self) -> String {
        match self.connection.refusal_of(&self.subject) {
            Some(refusal) => format!("the login has not the permission ({refusal})"),
            None => "the server has been silent for two heartbeats".to_owned(),
        }
    }
}
