//! A real server on the loopback, and an engine that tells it what waits for a person.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use amends::Engine;
use amends::memory::MemoryStore;
use amends::ports::{OutboxKind, OutboxMessage, OutboxPlace, PublishError, Publisher as _};
use amends::prelude::*;
use amends_core::{SagaId, Timestamp};
use amends_webhook::Webhook;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use uuid::Uuid;

/// One request, as it came over the wire.
#[derive(Debug)]
struct Received {
    line: String,
    headers: BTreeMap<String, String>,
    body: String,
    /// Where the answer goes.
    stream: TcpStream,
}

impl Received {
    async fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        let head_ends = |bytes: &[u8]| bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let mut some = [0; 1_024];
        loop {
            let read = stream.read(&mut some).await.expect("a request");
            assert!(read > 0, "the request ends early: {}", String::from_utf8_lossy(&bytes));
            bytes.extend_from_slice(&some[..read]);
            let Some(end) = head_ends(&bytes) else { continue };
            let head = String::from_utf8(bytes[..end].to_vec()).expect("text");
            let mut lines = head.lines();
            let line = lines.next().expect("a request line").to_owned();
            let header = |line: &str| {
                let (name, value) = line.split_once(':').expect("a header");
                (name.to_ascii_lowercase(), value.trim().to_owned())
            };
            let headers: BTreeMap<String, String> = lines.map(header).collect();
            let length: usize = headers["content-length"].parse().expect("a length");
            if bytes.len() < end + 4 + length {
                continue;
            }
            let body = String::from_utf8(bytes[end + 4..].to_vec()).expect("text");
            return Self { line, headers, body, stream };
        }
    }

    fn key(&self) -> &str {
        &self.headers["idempotency-key"]
    }

    async fn answer(&mut self, status: &str) {
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        self.stream.write_all(answer.as_bytes()).await.expect("it answers");
    }
}

/// Requests in the order they came; whoever takes one answers it.
struct Server {
    url: String,
    requests: mpsc::UnboundedReceiver<Received>,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/notices?team=stock", listener.local_addr().expect("an address"));
        let (came, requests) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let came = came.clone();
                tokio::spawn(async move { came.send(Received::read(stream).await) });
            }
        });
        Self { url, requests }
    }

    async fn next(&mut self) -> Received {
        self.requests.recv().await.expect("the server lives as long as the test")
    }

    fn webhook(&self) -> Webhook {
        let webhook = Webhook::to(&self.url).expect("an address");
        webhook.secret("authorization", "Bearer s3cret").expect("a header").timeout(Duration::from_secs(60))
    }
}

/// Waits for a person at once.
struct Pay;

impl Step for Pay {
    type Input = u32;
    type Output = u32;
    type Refusal = String;
    type Settle = ByOperator;

    async fn run(&self, _: &StepContext, _: u32) -> Result<u32, StepError<String>> {
        Err(StepError::persistent("credential", "the credential has expired"))
    }
}

async fn engine(store: &Arc<MemoryStore>, webhook: Webhook) -> (Engine, amends::Saga<u32, u32>) {
    let (s, amount) = SagaBuilder::<u32>::new("order", 1);
    let (paid, s) = s.pivot("pay", Pay, amount);
    let saga = s.finish(paid).expect("a sound workflow");
    let engine = Engine::builder(store.clone()).register(saga.clone()).notifier(Arc::new(webhook));
    (engine.start().await.expect("the engine starts"), saga)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notice_is_posted_again_under_the_same_key_after_a_kill_and_after_an_error() {
    let (store, mut server) = (Arc::new(MemoryStore::new()), Server::start().await);
    let (first, saga) = engine(&store, server.webhook()).await;
    first.start(&saga, "order-1", 5).await.expect("it starts");
    let mut told = server.next().await;
    assert_eq!(told.line, "POST /notices?team=stock HTTP/1.1");
    assert_eq!(told.headers["authorization"], "Bearer s3cret");
    assert_eq!(told.headers["content-type"], "application/json");
    // The receiver has it, and the engine dies before it hears so.
    first.abort().await;
    told.answer("200 OK").await;

    let (second, _) = engine(&store, server.webhook()).await;
    let mut again = server.next().await;
    assert_eq!((again.key(), &again.body), (told.key(), &told.body));
    again.answer("503 Service Unavailable").await;
    let mut third = server.next().await;
    assert_eq!((third.key(), &third.body), (told.key(), &told.body));
    third.answer("204 No Content").await;

    second.shutdown(Duration::from_secs(60)).await.expect("it ends when the notice is out");
    assert!(second.outbox().await.expect("it reads").counts.is_empty(), "acknowledged is removed");
    let notice: amends::ports::Notice = serde_json::from_str(&told.body).expect("a notice");
    assert_eq!(notice.id.to_string(), told.key());
    assert_eq!((&*notice.key, &*notice.desk, &*notice.code), ("order-1", "quarantine", "credential"));
}

fn message() -> OutboxMessage {
    let saga = SagaId(Uuid::from_u128(7));
    OutboxMessage {
        place: OutboxPlace { kind: OutboxKind::Event, saga, seq: 1, n: 0 },
        id: Uuid::from_u128(9),
        written_at: Timestamp(0),
        subject: "events.order.started".into(),
        headers: r#"{"content-type":"application/cloudevents+json","traceparent":"00-a-b-01"}"#.to_owned(),
        body: "{\"é\": 1.0}".to_owned(),
        refusals: 0,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_headers_of_a_message_become_those_of_the_request() {
    let mut server = Server::start().await;
    let webhook = server.webhook();
    let posting = tokio::spawn(async move { webhook.publish(&message()).await });
    let mut told = server.next().await;
    assert_eq!(told.headers["content-type"], "application/cloudevents+json");
    assert_eq!(told.headers["traceparent"], "00-a-b-01");
    assert_eq!(told.key(), Uuid::from_u128(9).to_string());
    assert_eq!(told.body, "{\"é\": 1.0}");
    told.answer("202 Accepted").await;
    assert!(posting.await.expect("it ends").is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_redirect_is_followed_and_nothing_is_retried_by_itself() {
    for (status, refused) in [("307 Temporary Redirect\r\nlocation: /elsewhere", true), ("500 Oh", false)] {
        let mut server = Server::start().await;
        let webhook = server.webhook();
        let posting = tokio::spawn(async move { webhook.publish(&message()).await });
        server.next().await.answer(status).await;
        let error = posting.await.expect("it ends").expect_err("it is no acknowledgement");
        assert_eq!(matches!(error, PublishError::Refused(_)), refused, "{error}");
        assert!(server.requests.try_recv().is_err(), "one message is one request");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_gone_or_silent_is_unavailable() {
    let mut server = Server::start().await;
    let webhook = server.webhook().timeout(Duration::from_millis(200));
    let posting = tokio::spawn(async move { webhook.publish(&message()).await });
    let silent = server.next().await;
    assert!(matches!(posting.await.expect("it ends"), Err(PublishError::Unavailable(_))));
    drop(silent);

    let nobody = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", nobody.local_addr().expect("an address"));
    drop(nobody);
    let gone = Webhook::to(&url).expect("an address").publish(&message()).await;
    assert!(matches!(gone, Err(PublishError::Unavailable(_))), "{gone:?}");
}
