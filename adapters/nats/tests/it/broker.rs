//! JetStream is the broker that the one in memory stands for: both pass one suite.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use amends_nats_testkit::Server;
use amends_testkit::broker::{
    Answer, ConsumerSettings, Delivery, Full, Keeps, Message, Stored, StreamSettings,
};
use amends_testkit::conformance::broker::{BrokerFactory, BrokerUnderTest};
use async_nats::jetstream::consumer::{self, AckPolicy, PullConsumer};
use async_nats::jetstream::stream::{self, DiscardPolicy, RetentionPolicy};
use async_nats::jetstream::{self, AckKind, context::PublishErrorKind};
use async_nats::{Client, HeaderMap};
use async_trait::async_trait;
use futures_util::StreamExt as _;

const STREAM: &str = "S";

struct Real;

struct OneStream {
    server: Mutex<Server>,
    client: Client,
    jetstream: jetstream::Context,
    /// Where the answer to each delivery goes, by consumer, sequence and number.
    answer_to: Mutex<BTreeMap<(String, u64, u64), String>>,
}

#[async_trait]
impl BrokerFactory for Real {
    type Broker = OneStream;

    async fn open(&self, settings: &StreamSettings) -> OneStream {
        let server = Server::start();
        let client = async_nats::connect(server.url()).await.unwrap();
        let jetstream = jetstream::new(client.clone());
        let config = stream::Config {
            name: STREAM.to_owned(),
            subjects: vec!["s.>".to_owned()],
            retention: match settings.keeps {
                Keeps::Everything => RetentionPolicy::Limits,
                Keeps::Untaken => RetentionPolicy::WorkQueue,
            },
            discard: DiscardPolicy::New,
            duplicate_window: settings.duplicate_window,
            max_messages: settings.messages_max.map_or(-1, |most| i64::try_from(most).unwrap()),
            max_age: settings.age_max.unwrap_or_default(),
            ..stream::Config::default()
        };
        jetstream.create_stream(config).await.unwrap();
        OneStream { server: Mutex::new(server), client, jetstream, answer_to: Mutex::default() }
    }
}

impl OneStream {
    async fn find(&self, consumer: &str) -> PullConsumer {
        self.jetstream.get_consumer_from_stream(consumer, STREAM).await.unwrap()
    }

    fn delivery(&self, consumer: &str, message: &jetstream::Message) -> Delivery {
        let info = message.info().unwrap();
        let (sequence, number) = (info.stream_sequence, u64::try_from(info.delivered).unwrap());
        let answer_to = message.reply.as_ref().unwrap().to_string();
        self.answer_to.lock().unwrap().insert((consumer.to_owned(), sequence, number), answer_to);
        let headers = message.headers.iter().flat_map(|headers| headers.iter());
        let mut headers: BTreeMap<String, String> =
            headers.map(|(name, values)| (name.to_string(), values[0].to_string())).collect();
        let message = Message {
            subject: message.subject.as_str().into(),
            id: headers.remove("Nats-Msg-Id"),
            headers,
            body: String::from_utf8(message.payload.to_vec()).unwrap(),
        };
        Delivery { stream: STREAM.to_owned(), consumer: consumer.to_owned(), sequence, number, message }
    }
}

#[async_trait]
impl BrokerUnderTest for OneStream {
    async fn consumer(&self, settings: &ConsumerSettings) {
        let ConsumerSettings { name, filter, ack_wait, deliveries_max, in_hand_max } = settings.clone();
        let config = consumer::pull::Config {
            durable_name: Some(name),
            filter_subject: filter,
            ack_policy: AckPolicy::Explicit,
            ack_wait,
            max_deliver: deliveries_max.map_or(-1, |most| i64::try_from(most).unwrap()),
            max_ack_pending: i64::try_from(in_hand_max).unwrap(),
            ..consumer::pull::Config::default()
        };
        let stream = self.jetstream.get_stream(STREAM).await.unwrap();
        stream.create_consumer(config).await.unwrap();
    }

    async fn publish(&self, message: &Message) -> Result<Stored, Full> {
        let mut headers = HeaderMap::new();
        for (name, value) in &message.headers {
            headers.insert(name.as_str(), value.as_str());
        }
        if let Some(id) = &message.id {
            headers.insert("Nats-Msg-Id", id.as_str());
        }
        let (subject, body) = (message.subject.to_string(), message.body.clone().into());
        let sent = self.jetstream.publish_with_headers(subject, headers, body).await.unwrap();
        match sent.await {
            Ok(stored) => Ok(Stored { sequence: stored.sequence, duplicate: stored.duplicate }),
            Err(error) => {
                let is_full = error.to_string().contains("maximum messages exceeded");
                assert!(error.kind() == PublishErrorKind::Other && is_full, "{error:?}");
                Err(Full)
            }
        }
    }

    async fn pull(&self, consumer: &str, most: usize, wait: Duration) -> Vec<Delivery> {
        let found = self.find(consumer).await;
        // One message is waited for; what else can be had then is taken without waiting.
        let mut first = found.batch().max_messages(1).expires(wait).messages().await.unwrap();
        let Some(first) = first.next().await else { return Vec::new() };
        let mut all = vec![first.unwrap()];
        if most > 1 {
            let mut more = found.fetch().max_messages(most - 1).messages().await.unwrap();
            while let Some(message) = more.next().await {
                all.push(message.unwrap());
            }
        }
        all.iter().map(|message| self.delivery(consumer, message)).collect()
    }

    async fn answer(&self, of: &Delivery, answer: Answer) {
        let kind = match answer {
            Answer::Ack => AckKind::Ack,
            Answer::Term => AckKind::Term,
            Answer::Nak(Duration::ZERO) => AckKind::Nak(None),
            Answer::Nak(delay) => AckKind::Nak(Some(delay)),
            Answer::Progress => AckKind::Progress,
        };
        let to = (of.consumer.clone(), of.sequence, of.number);
        let to = self.answer_to.lock().unwrap()[&to].clone();
        // Confirmed: a request, as the protocol has it.
        self.client.request(to, kind.into()).await.unwrap();
    }

    async fn restart(&mut self) {
        let server = self.server.get_mut().unwrap();
        server.stop();
        server.start_again();
        // The client comes back by itself.
        while self.client.flush().await.is_err() || self.jetstream.get_stream(STREAM).await.is_err() {}
    }
}

amends_testkit::broker_conformance!(Real);
