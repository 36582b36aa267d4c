//! One delivery of one message: where it stands, how often it came, and how it is answered.

use std::time::Duration;

use amends::core::Timestamp;
use async_nats::{HeaderMap, jetstream};

/// A message that was handed to us. The broker's own count says how often.
pub(crate) struct Delivery {
    message: async_nats::Message,
    pub(crate) stream: String,
    pub(crate) sequence: u64,
    /// 1: for the first time.
    pub(crate) number: u64,
    pub(crate) published_at: Timestamp,
}

impl Delivery {
    /// Reads what the server says about it; none, if this is no message of JetStream.
    pub(crate) fn of(message: jetstream::Message) -> Option<Self> {
        let info = message.info().ok()?;
        let stream = info.stream.to_owned();
        let (sequence, number) = (info.stream_sequence, u64::try_from(info.delivered).unwrap_or(1));
        let micros = info.published.unix_timestamp_nanos() / 1_000;
        let published_at = Timestamp(i64::try_from(micros).unwrap_or(i64::MAX));
        Some(Self { message: message.message, stream, sequence, number, published_at })
    }

    #[cfg(test)]
    pub(crate) fn sample(message: async_nats::Message) -> Self {
        let published_at = Timestamp::from_millis(1_000);
        Self { message, stream: "ORDERS".to_owned(), sequence: 7, number: 1, published_at }
    }

    pub(crate) fn subject(&self) -> &str {
        &self.message.subject
    }

    pub(crate) fn payload(&self) -> &[u8] {
        &self.message.payload
    }

    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        let headers = self.message.headers.iter().flat_map(|headers| headers.iter());
        headers
            .flat_map(|(name, values)| {
                values.iter().map(move |value| (name.to_string(), value.as_str().to_owned()))
            })
            .collect()
    }

    /// The headers as they came; none, if there are none.
    pub(crate) fn header_map(&self) -> Option<&HeaderMap> {
        self.message.headers.as_ref()
    }

    /// Where its answer goes.
    pub(crate) fn reply(&self) -> String {
        self.message.reply.as_ref().map(ToString::to_string).unwrap_or_default()
    }

    /// What tells it from every other message of its stream, and of one that had its name before.
    pub(crate) fn dedupe(&self) -> String {
        dedupe(self.sequence, self.published_at)
    }
}

/// What tells a message from every other one, of this stream and of one that had its name before.
pub(crate) fn dedupe(sequence: u64, published_at: Timestamp) -> String {
    format!("{sequence}@{}", published_at.0)
}

/// What the broker is to do with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is done with.
    Ack,
    /// It is done with, and no saga was made of it, for this reason.
    Term(&'static str),
    /// It comes again after this time.
    Nak(Duration),
    /// It is being worked on.
    Progress,
}

impl Answer {
    /// As the protocol of JetStream writes it.
    pub(crate) fn on_the_wire(self) -> String {
        match self {
            Self::Ack => "+ACK".to_owned(),
            Self::Term(reason) => format!("+TERM {reason}"),
            Self::Nak(delay) => format!("-NAK {{\"delay\":{}}}", delay.as_nanos()),
            Self::Progress => "+WPI".to_owned(),
        }
    }
}
