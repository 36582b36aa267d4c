//! The broker's streams, the service, and nodes on one file; how they are started, killed and waited for.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use amends::core::SagaId;
use amends::engine::SagaHandle;
use amends::ports::{OutboxKind, Publisher, Store};
use amends::prelude::*;
use amends::{Engine, Limits, Outcome, Saga};
use amends_nats::{
    Commands, Connection, Login, NatsPublisher, NatsSettings, Participant, ParticipantSettings, Replies,
    ReplySettings, StreamSettings, Trigger, TriggerLimits, Triggers, streams,
};
use amends_sea_orm::SqliteStore;
use async_nats::HeaderMap;
use async_nats::jetstream::consumer::{self, PullConsumer};
use async_nats::jetstream::stream;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::service::{SERVICE, Service};

pub(crate) const ORDERS: &str = "ORDERS";
pub(crate) const COMMANDS: &str = "AMENDS_COMMANDS";
pub(crate) const REPLIES: &str = "AMENDS_REPLIES";
pub(crate) const EVENTS: &str = "AMENDS_EVENTS";
/// The consumer of the trigger.
pub(crate) const TRIGGER: &str = "amends-order";
/// The engine's name on the wire.
pub(crate) const ENGINE: &str = "test";

/// How long a condition is waited for: far longer than it takes, for a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(90);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) order: String,
    /// Nothing cannot be charged: such an order is turned back.
    pub(crate) amount: u64,
}

impl Payload for Order {
    const SCHEMA: &'static str = "order/1";
}

impl Order {
    /// Every fifth is turned back.
    pub(crate) fn number(number: u32) -> Self {
        Self { order: format!("o-{number}"), amount: if number % 5 == 4 { 0 } else { u64::from(number) + 1 } }
    }

    fn event(&self) -> String {
        let data = serde_json::to_string(self).unwrap();
        let id = &self.order;
        format!(r#"{{"specversion":"1.0","id":"{id}","source":"/shop","type":"order.placed","data":{data}}}"#)
    }
}

/// `reserve → charge`, both by commands: the first can be undone, the second is the point of no return.
pub(crate) fn order_saga(commands: &Commands, timeout: Duration, retry: &'static str) -> Saga<Order, u64> {
    // While a command lies in its stream its absence says nothing; after this long the service closes it out.
    let within = |contract| Contract { settle_window: Some(Duration::from_secs(2)), ..contract };
    let step = |operation| commands.step::<Order, u64, String>(SERVICE, operation).unwrap().contract(within);
    let (mut s, order) = SagaBuilder::<Order>::new("order", 1);
    let set = |operation| step(operation).timeout(timeout).retry(retry).query("quick");
    let reserved = s.step("reserve", set("reserve"), order);
    let (charged, s) = s.pivot("charge", set("charge"), order.after(reserved));
    s.finish(charged).expect("the definition is right")
}

fn policies() -> Policies {
    let (base, cap) = (Duration::from_millis(100), Duration::from_millis(500));
    let timeout = Duration::from_secs(1);
    let once = RetryPolicy { max_attempts: 1, on_exhausted: Exhausted::TurnBack, ..RetryPolicy::default() };
    Policies::new()
        .retry("once", once)
        .query("quick", QueryPolicy { base, cap, timeout, max_queries: 100, ..QueryPolicy::default() })
}

/// What lies outside of every node. The server is somebody else's.
pub(crate) struct World {
    pub(crate) url: String,
    /// The test's own.
    pub(crate) connection: Connection,
    pub(crate) service: Service,
    folder: TempDir,
}

impl World {
    /// With the streams as they are by default.
    pub(crate) async fn on(url: String) -> Self {
        Self::with(url, |_| {}).await
    }

    /// With streams that are otherwise.
    pub(crate) async fn with(url: String, change: impl Fn(&mut StreamSettings)) -> Self {
        let connection = connect(&url).await;
        let orders = StreamSettings::new(ORDERS, ["orders.>"]);
        for mut settings in streams("amends").unwrap().into_iter().chain([orders]) {
            change(&mut settings);
            until("the stream is declared", async || {
                connection.declare_stream(&settings, true).await.is_ok()
            })
            .await;
        }
        let folder = tempfile::tempdir().unwrap();
        let service = Service::open(folder.path()).await;
        Self { url, connection, service, folder }
    }

    pub(crate) async fn connect(&self) -> Connection {
        connect(&self.url).await
    }

    /// Where its files are.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The file of the engine.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("amends.db")
    }

    /// A process of the service.
    pub(crate) async fn participant(&self) -> Participant {
        self.participant_with(self.connect().await, |_| {}).await
    }

    pub(crate) async fn participant_with(
        &self,
        connection: Connection,
        change: impl FnOnce(&mut ParticipantSettings),
    ) -> Participant {
        let mut settings = ParticipantSettings::new(SERVICE);
        settings.ack_wait = Duration::from_secs(5);
        change(&mut settings);
        Participant::start(connection, settings, self.service.clone()).await.unwrap()
    }

    /// A node as most tests want it.
    pub(crate) async fn node(&self) -> Node {
        self.node_with(|_| {}).await
    }

    /// The only node on the file.
    pub(crate) async fn node_with(&self, change: impl FnOnce(&mut Plan)) -> Node {
        let mut plan = Plan::new(self.connect().await);
        change(&mut plan);
        Node::start(&self.file(), plan).await
    }

    /// Publishes the order's event until the broker says that it has it.
    pub(crate) async fn place(&self, number: u32) {
        place(&self.connection, number).await;
    }

    pub(crate) async fn stream(&self, name: &str) -> stream::Info {
        stream_info(&self.connection, name).await
    }

    /// How many messages lie in a stream.
    pub(crate) async fn messages(&self, name: &str) -> u64 {
        self.stream(name).await.state.messages
    }

    /// What a consumer is like, once it is there.
    pub(crate) async fn consumer(&self, name: &str, stream: &str) -> consumer::Info {
        loop {
            if let Some(info) = consumer_info(&self.connection, name, stream).await {
                return info;
            }
            look_again().await;
        }
    }

    /// Publishes a reply by hand, as often as one likes: it has no id for the broker.
    pub(crate) async fn reply(&self, saga: SagaId, request: uuid::Uuid, outcome: &str, body: &str) {
        let mut headers = HeaderMap::new();
        headers.insert("Amends-Protocol", "1");
        headers.insert("Amends-Saga", saga.to_string().as_str());
        headers.insert("Amends-Request-Id", request.to_string().as_str());
        headers.insert("Amends-Direction", "forward");
        headers.insert("Amends-Attempt", "1");
        headers.insert("Amends-Outcome", outcome);
        let jetstream = self.connection.jetstream();
        let subject = format!("amends.reply.{ENGINE}");
        let sent = jetstream.publish_with_headers(subject, headers, body.to_owned().into()).await;
        sent.unwrap().await.unwrap();
    }
}

/// How a node is.
pub(crate) struct Plan {
    pub(crate) connection: Connection,
    /// Takes its replies; otherwise the same.
    pub(crate) hears_by: Option<Connection>,
    /// Publishes its commands; otherwise NATS itself.
    pub(crate) publisher: Option<Arc<dyn Publisher>>,
    /// How long an attempt may take.
    pub(crate) timeout: Duration,
    /// The retry policy of its steps: `default`, or `once`.
    pub(crate) retry: &'static str,
    pub(crate) replies: ReplySettings,
    /// Does it take replies?
    pub(crate) hears: bool,
    /// Does it know the workflow? One that does not takes no saga up.
    pub(crate) knows: bool,
}

impl Plan {
    pub(crate) fn new(connection: Connection) -> Self {
        let ack_wait = Duration::from_secs(2);
        let replies = ReplySettings { ack_wait, ..ReplySettings::new(ENGINE) };
        let timeout = Duration::from_secs(30);
        Self {
            connection,
            hears_by: None,
            publisher: None,
            timeout,
            retry: "default",
            replies,
            hears: true,
            knows: true,
        }
    }
}

/// A process with an engine.
pub(crate) struct Node {
    /// Its file; none where several nodes share another store.
    store: Option<Arc<SqliteStore>>,
    pub(crate) engine: Engine,
    pub(crate) saga: Saga<Order, u64>,
    replies: Option<Replies>,
    connection: Connection,
}

impl Node {
    /// Alone on this file.
    pub(crate) async fn start(file: &Path, plan: Plan) -> Self {
        let store = Arc::new(SqliteStore::open(file).await.unwrap());
        Self { store: Some(store.clone()), ..Self::on(store, plan).await }
    }

    pub(crate) async fn on<S: Store>(store: Arc<S>, plan: Plan) -> Self {
        let Plan { connection, hears_by, publisher, timeout, retry, replies, hears, knows } = plan;
        let commands = Commands::new(connection.clone(), "amends", ENGINE).unwrap();
        let saga = order_saga(&commands, timeout, retry);
        let nats: Arc<dyn Publisher> = Arc::new(NatsPublisher::new(connection.clone(), "amends").unwrap());
        let milliseconds = Duration::from_millis;
        let limits = Limits {
            claim_every: milliseconds(50),
            publish_within: milliseconds(1_500),
            lease: Duration::from_secs(1),
            ..Limits::default()
        };
        let mut builder = Engine::builder(store)
            .policies(policies())
            .limits(limits)
            .publisher_of(OutboxKind::Command, publisher.unwrap_or_else(|| nats.clone()))
            .publisher_of(OutboxKind::Event, nats);
        if knows {
            builder = builder.register(saga.clone()).events("order");
        }
        let engine = builder.start().await.unwrap();
        let heard = hears_by.unwrap_or_else(|| connection.clone());
        let replies = match hears {
            true => Some(Replies::take(engine.clone(), heard, replies).await.unwrap()),
            false => None,
        };
        Self { store: None, engine, saga, replies, connection }
    }

    /// While set, its file refuses to be written to.
    pub(crate) fn refuse_writes(&self, refused: bool) {
        self.store.as_ref().expect("it has a file").faults().refuse_writes(refused);
    }

    /// Sagas from events, one for each.
    pub(crate) async fn triggers(&self) -> Triggers {
        let limits = TriggerLimits {
            failure_delay: (Duration::from_millis(50), Duration::from_millis(200)),
            pull_expires: Duration::from_secs(2),
            heartbeat: Duration::from_millis(200),
            ..TriggerLimits::default()
        };
        let trigger = Trigger::on(ORDERS, "orders.placed")
            .workflow(&self.saga)
            .limits(limits)
            .consumer_settings(|consumer| consumer.ack_wait = Duration::from_secs(2));
        Triggers::on(&self.connection, &self.engine).with(trigger).start().await.unwrap()
    }

    /// Starts the saga of an order without an event.
    pub(crate) async fn order(&self, number: u32) -> SagaHandle<u64> {
        let order = Order::number(number);
        self.engine.start(&self.saga, order.order.clone(), order).await.unwrap()
    }

    /// Waits for the end of the order's saga, and shows where it stands if it does not come.
    pub(crate) async fn ended(&self, number: u32) -> Outcome {
        let key = Order::number(number).order;
        let saga = self.engine.find("order", &key).await.unwrap();
        let saga = saga.unwrap_or_else(|| panic!("there is no saga `{key}`"));
        match tokio::time::timeout(PATIENCE, saga.outcome()).await {
            Ok(outcome) => outcome.unwrap(),
            Err(_) => panic!("{key} stands at\n{}", saga.view().await.unwrap().timeline()),
        }
    }

    /// What happened to the order's saga, in words.
    pub(crate) async fn timeline(&self, number: u32) -> String {
        let saga = self.engine.find("order", &Order::number(number).order).await.unwrap().unwrap();
        saga.view().await.unwrap().timeline()
    }

    /// How many commands wait to be published.
    pub(crate) async fn commands_waiting(&self) -> u64 {
        let counts = self.engine.outbox().await.unwrap().counts;
        counts.iter().filter(|count| count.kind == OutboxKind::Command).map(|count| count.waiting).sum()
    }

    /// Ends it in the middle of anything. The file is free when this returns.
    pub(crate) async fn kill(self) {
        drop(self.replies);
        self.engine.abort().await;
        drop(self.engine);
        if let Some(store) = self.store {
            store.faults().refuse_writes(false);
            closed(store).await;
        }
    }

    /// Ends it in order.
    pub(crate) async fn stop(self) {
        if let Some(replies) = self.replies {
            replies.stop().await;
        }
        self.engine.shutdown(Duration::from_secs(30)).await.unwrap();
        drop(self.engine);
        if let Some(store) = self.store {
            closed(store).await;
        }
    }
}

/// Closes it once nobody else has it: dropped tasks go a moment later.
async fn closed(mut store: Arc<SqliteStore>) {
    loop {
        match Arc::try_unwrap(store) {
            Ok(alone) => return alone.close().await.unwrap(),
            Err(shared) => store = shared,
        }
        look_again().await;
    }
}

/// Logs in as the user that the URL names, whose password is the same.
pub(crate) async fn connect(url: &str) -> Connection {
    let (login, url) = match url.strip_prefix("nats://").and_then(|rest| rest.split_once('@')) {
        Some((user, host)) => {
            let login = Login::Password { user: user.to_owned(), password: user.to_owned() };
            (login, format!("nats://{host}"))
        }
        None => (Login::Open, url.to_owned()),
    };
    let request_timeout = Duration::from_secs(1);
    Connection::open(NatsSettings { login, request_timeout, ..NatsSettings::new(url) }).await.unwrap()
}

/// Publishes the order's event until the broker says that it has it.
pub(crate) async fn place(connection: &Connection, number: u32) {
    let order = Order::number(number);
    loop {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", order.order.as_str());
        let sent =
            connection.jetstream().publish_with_headers("orders.placed", headers, order.event().into());
        if let Ok(acknowledged) = sent.await
            && acknowledged.await.is_ok()
        {
            return;
        }
        look_again().await;
    }
}

/// As the broker tells it; asked again while it is silent.
pub(crate) async fn stream_info(connection: &Connection, name: &str) -> stream::Info {
    loop {
        if let Ok(stream) = connection.jetstream().get_stream(name).await {
            return stream.cached_info().clone();
        }
        look_again().await;
    }
}

pub(crate) async fn consumer_info(
    connection: &Connection,
    name: &str,
    stream: &str,
) -> Option<consumer::Info> {
    let found = connection.jetstream().get_consumer_from_stream(name, stream).await;
    found.ok().map(|consumer: PullConsumer| consumer.cached_info().clone())
}

/// Returns once it is so.
///
/// # Panics
/// With what was waited for, if it never is.
pub(crate) async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let waiting = async {
        while !is_so().await {
            look_again().await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, waiting).await.is_ok(), "in vain it was waited until {what}");
}

/// Something that has to come to an end.
pub(crate) async fn in_time<T>(what: &str, done: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, done).await {
        Ok(done) => done,
        Err(_) => panic!("it never came to an end: {what}"),
    }
}

#[expect(clippy::disallowed_methods, reason = "servers and a file are looked at, and their time is real")]
pub(crate) async fn look_again() {
    tokio::time::sleep(Duration::from_millis(10)).await;
}
