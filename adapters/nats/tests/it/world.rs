//! A server, an engine and one workflow whose single step notes what it did.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use amends::memory::MemoryStore;
use amends::ports::{IntakeFilter, IntakeRow, Store};
use amends::prelude::*;
use amends::{Engine, Limits, Outcome, Saga};
use amends_nats::{
    Connection, Counters, NatsSettings, Readiness, Trigger, TriggerLimits, Triggers, TriggersBuilder,
};
use amends_nats_testkit::Server;
use async_nats::HeaderMap;
use async_nats::jetstream::consumer::PullConsumer;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

pub(crate) const STREAM: &str = "ORDERS";
pub(crate) const CONSUMER: &str = "amends-order";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) order: String,
    pub(crate) amount: u64,
}

impl Payload for Order {
    const SCHEMA: &'static str = "order/1";
}

/// What the participant did: how often for each order. Calls wait at the gate, which is open at first.
#[derive(Clone)]
pub(crate) struct Ledger {
    entries: Arc<Mutex<BTreeMap<String, u32>>>,
    pub(crate) gate: Arc<Semaphore>,
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self { entries: Arc::default(), gate: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)) }
    }

    /// Orders that took effect, and how often.
    pub(crate) fn entries(&self) -> BTreeMap<String, u32> {
        self.entries.lock().unwrap().clone()
    }
}

#[derive(Clone)]
struct Book(Ledger);

impl Step for Book {
    type Input = Order;
    type Output = u64;
    type Refusal = ();
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, order: Order) -> Result<u64, StepError<()>> {
        let Ok(_pass) = self.0.gate.acquire().await else { return Err(StepError::Refused(())) };
        *self.0.entries.lock().unwrap().entry(order.order).or_default() += 1;
        Ok(order.amount)
    }
}

pub(crate) fn order_saga(ledger: &Ledger) -> Saga<Order, u64> {
    let (s, order) = SagaBuilder::<Order>::new("order", 1);
    let (booked, s) = s.pivot("book", Book(ledger.clone()), order);
    s.finish(booked).expect("the definition is right")
}

/// Everything that a test needs. The server goes with it.
pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) connection: Connection,
    pub(crate) engine: Engine,
    pub(crate) saga: Saga<Order, u64>,
    pub(crate) ledger: Ledger,
}

impl World {
    /// On a store in memory.
    pub(crate) async fn new() -> Self {
        Self::on(Arc::new(MemoryStore::new())).await
    }

    pub(crate) async fn on<S: Store>(store: Arc<S>) -> Self {
        let server = Server::start();
        let connection = connect(&server).await;
        let ledger = Ledger::new();
        let saga = order_saga(&ledger);
        let engine = engine(store, &saga).await;
        let settings = amends_nats::StreamSettings::new(STREAM, ["orders.>"]);
        connection.declare_stream(&settings, true).await.unwrap();
        Self { server, connection, engine, saga, ledger }
    }

    /// Orders as they come, in their plainest form.
    pub(crate) fn trigger(&self) -> Trigger<Order, u64> {
        Trigger::on(STREAM, "orders.placed").workflow(&self.saga).limits(quick())
    }

    pub(crate) fn triggers(&self) -> TriggersBuilder {
        Triggers::on(&self.connection, &self.engine)
    }

    pub(crate) async fn start(&self) -> Triggers {
        self.triggers().with(self.trigger()).start().await.unwrap()
    }

    /// Publishes a message with these headers, and waits until the stream has it.
    pub(crate) async fn publish(&self, headers: &[(&str, &str)], payload: impl Into<Vec<u8>>) -> u64 {
        publish(&self.connection, headers, payload.into()).await
    }

    /// Publishes an order whose event has this id. The broker's own memory for ids is not used.
    pub(crate) async fn place(&self, id: &str, amount: u64) -> u64 {
        self.publish(&[], event(id, amount)).await
    }

    pub(crate) async fn intake(&self) -> Vec<IntakeRow> {
        let filter = IntakeFilter { limit: 100, ..IntakeFilter::default() };
        self.engine.operator().intake().list(&filter).await.unwrap()
    }

    /// Waits for the end of the saga of this key.
    pub(crate) async fn ended(&self, key: &str) -> Outcome {
        let saga = self.engine.find("order", key).await.unwrap();
        saga.unwrap_or_else(|| panic!("there is no saga `{key}`")).outcome().await.unwrap()
    }

    pub(crate) async fn consumer(&self) -> PullConsumer {
        self.connection.jetstream().get_consumer_from_stream(CONSUMER, STREAM).await.unwrap()
    }

    /// Nothing is left with the broker: nothing waits, nothing is in hand.
    pub(crate) async fn assert_all_acknowledged(&self) {
        let consumer = self.consumer().await;
        let info = consumer.cached_info();
        assert_eq!((info.num_pending, info.num_ack_pending), (0, 0), "{info:?}");
    }

    /// Another connection to the same server.
    pub(crate) async fn connect(&self) -> Connection {
        connect(&self.server).await
    }
}

/// Nobody here waits for long.
pub(crate) fn settings(server: &Server) -> NatsSettings {
    NatsSettings { request_timeout: std::time::Duration::from_secs(1), ..NatsSettings::new(server.url()) }
}

pub(crate) async fn connect(server: &Server) -> Connection {
    Connection::open(settings(server)).await.unwrap()
}

pub(crate) async fn engine<S: Store>(store: Arc<S>, saga: &Saga<Order, u64>) -> Engine {
    let limits = Limits { claim_every: std::time::Duration::from_millis(100), ..Limits::default() };
    Engine::builder(store).register(saga.clone()).limits(limits).start().await.unwrap()
}

/// Asks a service of another connection: the server may hear the question before it has heard of the service.
pub(crate) async fn ask(
    client: &async_nats::Client,
    subject: &str,
    question: &str,
) -> Result<async_nats::Message, async_nats::RequestError> {
    loop {
        match client.request(subject.to_owned(), question.to_owned().into()).await {
            Err(error) if error.kind() == async_nats::RequestErrorKind::NoResponders => {}
            answered => return answered,
        }
    }
}

pub(crate) async fn publish(connection: &Connection, headers: &[(&str, &str)], payload: Vec<u8>) -> u64 {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, *value);
    }
    let js = connection.jetstream();
    let acknowledged = js.publish_with_headers("orders.placed", map, payload.into()).await.unwrap();
    acknowledged.await.unwrap().sequence
}

/// Waits of a test, not of an operator.
pub(crate) fn quick() -> TriggerLimits {
    let milliseconds = std::time::Duration::from_millis;
    TriggerLimits {
        failures_max: 3,
        failure_delay: (milliseconds(50), milliseconds(200)),
        pull_expires: milliseconds(2_000),
        heartbeat: milliseconds(200),
        ..TriggerLimits::default()
    }
}

/// A CloudEvent, structured.
pub(crate) fn event(id: &str, amount: u64) -> String {
    format!(
        r#"{{"specversion":"1.0","id":"{id}","source":"/shop","type":"order.placed","data":{}}}"#,
        order(id, amount)
    )
}

pub(crate) fn order(id: &str, amount: u64) -> String {
    format!(r#"{{"order":"{id}","amount":{amount}}}"#)
}

/// Until so many deliveries have ended and none is in hand.
pub(crate) async fn until_ended(triggers: &Triggers, ended: u64) -> Counters {
    let all = |readiness: &Readiness| {
        let counters = readiness.triggers[0].counters;
        counters.ended() >= ended && counters.in_hand == 0
    };
    triggers.until(all).await.triggers[0].counters
}
