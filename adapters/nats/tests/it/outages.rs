//! The store, the server, the consumer and the engine on a bad day.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use amends::Limits;
use amends::core::Timestamp;
use amends::memory::MemoryStore;
use amends::ports::{Clock, SystemClock};
use amends_nats::{Connection, ConsumerState, Counters, NatsSettings, StreamSettings, Triggers};
use amends_nats_testkit::Cluster;
use amends_sea_orm::SqliteStore;
use async_nats::HeaderMap;
use async_trait::async_trait;
use futures_util::StreamExt as _;
use tokio::sync::Semaphore;

use crate::world::{CONSUMER, Ledger, STREAM, World, engine, event, order_saga, quick, until_ended};

/// Publishes until the broker says that it has it, under one message id.
async fn publish_for_certain(connection: &Connection, id: &str) {
    loop {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", id);
        let sent = connection.jetstream().publish_with_headers("orders.placed", headers, event(id, 1).into());
        if let Ok(acknowledged) = sent.await
            && acknowledged.await.is_ok()
        {
            return;
        }
    }
}

pub(crate) async fn until_all_acknowledged(connection: &Connection) {
    loop {
        let consumer = connection.jetstream().get_consumer_from_stream(CONSUMER, STREAM);
        let consumer: Result<async_nats::jetstream::consumer::PullConsumer, _> = consumer.await;
        if let Ok(consumer) = consumer
            && consumer.cached_info().num_pending == 0
            && consumer.cached_info().num_ack_pending == 0
        {
            return;
        }
    }
}

#[tokio::test]
async fn g26_an_outage_of_the_store_uses_up_no_delivery() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path().join("amends.db")).await.unwrap());
    let world = World::on(store.clone()).await;
    let limited = world.trigger().consumer_settings(|consumer| {
        consumer.deliveries_max = Some(5);
        consumer.ack_wait = Duration::from_millis(300);
    });
    let triggers = world.triggers().with(limited).start().await.unwrap();
    store.faults().refuse_writes(true);
    let answers = world.connect().await;
    let mut answers = answers.client().subscribe(format!("$JS.ACK.{STREAM}.{CONSUMER}.>")).await.unwrap();
    world.place("o-1", 1).await;
    // A malformed one in the same outage waits in the same way, for intake.
    world.publish(&[], "{").await;
    // Each answer is a third of `ack_wait`: the outage lasts for longer than five deliveries would.
    for _ in 0..40 {
        let answer = answers.next().await.unwrap();
        assert_eq!(
            &*answer.payload, b"+WPI",
            "while the store is away, nothing is said but that work goes on"
        );
    }
    assert_eq!(triggers.counters(CONSUMER).unwrap().deliveries, 2, "no redelivery");
    store.faults().refuse_writes(false);
    let counters = until_ended(&triggers, 2).await;
    assert_eq!(counters, Counters { deliveries: 2, sagas: 1, intake: 1, ..Counters::default() });
    world.ended("o-1").await;
    assert_eq!(world.ledger.entries(), BTreeMap::from([("o-1".to_owned(), 1)]));
    world.assert_all_acknowledged().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_restarts_under_load_loses_and_doubles_nothing() {
    let mut world = World::new().await;
    let trigger =
        world.trigger().consumer_settings(|consumer| consumer.ack_wait = Duration::from_millis(500));
    let triggers = world.triggers().with(trigger).start().await.unwrap();
    let publisher = world.connect().await;
    let publishing = tokio::spawn(async move {
        for number in 0..300 {
            publish_for_certain(&publisher, &format!("o-{number}")).await;
        }
    });
    for sagas in [50, 150] {
        triggers.until(|readiness| readiness.triggers[0].counters.sagas >= sagas).await;
        world.server.kill();
        world.server.start_again();
    }
    publishing.await.unwrap();
    let counters = triggers.until(|readiness| readiness.triggers[0].counters.sagas == 300).await;
    until_all_acknowledged(&world.connection).await;
    for number in 0..300 {
        world.ended(&format!("o-{number}")).await;
    }
    assert_eq!(world.ledger.entries().len(), 300);
    assert!(world.ledger.entries().values().all(|times| *times == 1));
    assert_eq!(counters.triggers[0].counters.conflicts, 0);
    assert_eq!(world.intake().await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_loses_its_leader_under_load_loses_and_doubles_nothing() {
    let mut cluster = Cluster::start();
    let mut settings = NatsSettings::new(cluster.url());
    settings.request_timeout = Duration::from_secs(1);
    let connection = Connection::open(settings.clone()).await.unwrap();
    let stream = StreamSettings { replicas: 3, ..StreamSettings::new(STREAM, ["orders.>"]) };
    let (store, ledger) = (Arc::new(MemoryStore::new()), Ledger::new());
    let saga = order_saga(&ledger);
    let engine = engine(store, &saga).await;
    let trigger = amends_nats::Trigger::on(STREAM, "orders.placed")
        .workflow(&saga)
        .limits(quick())
        .declare_stream(stream)
        .consumer_settings(|consumer| consumer.ack_wait = Duration::from_secs(2));
    let triggers = Triggers::on(&connection, &engine).with(trigger).start().await.unwrap();
    let publisher = Connection::open(settings).await.unwrap();
    let publishing = tokio::spawn(async move {
        for number in 0..200 {
            publish_for_certain(&publisher, &format!("o-{number}")).await;
        }
    });
    triggers.until(|readiness| readiness.triggers[0].counters.sagas >= 50).await;
    let info = connection.jetstream().get_stream(STREAM).await.unwrap().cached_info().clone();
    let leader = info.cluster.and_then(|cluster| cluster.leader).expect("the stream has a leader");
    cluster.named(&leader).kill();
    publishing.await.unwrap();
    triggers.until(|readiness| readiness.triggers[0].counters.sagas == 200).await;
    until_all_acknowledged(&connection).await;
    for number in 0..200 {
        let saga = engine.find("order", &format!("o-{number}")).await.unwrap().unwrap();
        saga.outcome().await.unwrap();
    }
    assert_eq!(ledger.entries().len(), 200);
    assert!(ledger.entries().values().all(|times| *times == 1));
}

#[tokio::test]
async fn a_consumer_that_was_deleted_is_declared_again_and_all_events_are_found() {
    let world = World::new().await;
    let triggers = world.start().await;
    for number in 0..3 {
        world.place(&format!("o-{number}"), 1).await;
    }
    until_ended(&triggers, 3).await;
    let stream = world.connection.jetstream().get_stream(STREAM).await.unwrap();
    stream.delete_consumer(CONSUMER).await.unwrap();
    world.place("o-3", 1).await;
    // The new consumer begins at the first message.
    let counters = until_ended(&triggers, 7).await;
    assert_eq!(counters, Counters { deliveries: 7, sagas: 4, duplicates: 3, ..Counters::default() });
    assert!(triggers.readiness().is_ready(), "{:?}", triggers.readiness().problems());
}

#[tokio::test]
async fn a_consumer_that_is_missing_and_may_not_be_created_is_named_until_it_is_back() {
    let world = World::new().await;
    let missing = world.triggers().with(world.trigger().verify_only()).start().await.err().unwrap();
    assert_eq!(missing.to_string(), "failed to find the consumer amends-order of ORDERS");
    world.start().await.stop(Duration::ZERO).await;
    let triggers = world.triggers().with(world.trigger().verify_only()).start().await.unwrap();
    let stream = world.connection.jetstream().get_stream(STREAM).await.unwrap();
    stream.delete_consumer(CONSUMER).await.unwrap();
    let named = |readiness: &amends_nats::Readiness| {
        matches!(&readiness.triggers[0].state, ConsumerState::Failing { reason, .. }
            if reason == "failed to find the consumer amends-order of ORDERS")
    };
    let readiness = triggers.until(named).await;
    assert!(!readiness.is_ready());
    assert!(readiness.problems()[0].starts_with("the trigger amends-order does not run since"));

    // Somebody else creates it.
    world.start().await.stop(Duration::ZERO).await;
    triggers.until(|readiness| readiness.is_ready()).await;
    world.place("o-1", 1).await;
    assert_eq!(until_ended(&triggers, 1).await.sagas, 1);
}

#[tokio::test]
async fn no_more_is_pulled_than_the_engine_can_start() {
    let store = Arc::new(MemoryStore::new());
    let world = World::on(store.clone()).await;
    let tight = Limits { max_active: 2, ..Limits::default() };
    world.engine.abort().await;
    let engine =
        amends::Engine::builder(store).register(world.saga.clone()).limits(tight).start().await.unwrap();
    world.ledger.gate.forget_permits(Semaphore::MAX_PERMITS);
    for number in 0..20 {
        world.place(&format!("o-{number}"), 1).await;
    }
    let limits = amends_nats::TriggerLimits { in_hand_max: 4, ..quick() };
    let trigger = world.trigger().limits(limits);
    let triggers = Triggers::on(&world.connection, &engine).with(trigger).start().await.unwrap();
    let full = |readiness: &amends_nats::Readiness| {
        let counters = readiness.triggers[0].counters;
        (counters.sagas, counters.in_hand) == (2, 4)
    };
    triggers.until(full).await;
    let consumer = world.consumer().await;
    let info = consumer.cached_info();
    assert_eq!((info.num_ack_pending, info.num_pending, info.num_waiting), (4, 14, 0), "no pull is open");
    world.ledger.gate.add_permits(1_000);
    let counters = until_ended(&triggers, 20).await;
    assert_eq!(counters, Counters { deliveries: 20, sagas: 20, ..Counters::default() });
}

#[tokio::test]
async fn what_comes_together_is_started_in_few_commits() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path().join("amends.db")).await.unwrap());
    let world = World::on(store.clone()).await;
    world.ledger.gate.forget_permits(Semaphore::MAX_PERMITS);
    for number in 0..1_000 {
        world.place(&format!("o-{number}"), 1).await;
    }
    let before = store.stats();
    let triggers = world.start().await;
    until_ended(&triggers, 1_000).await;
    let after = store.stats();
    let commits = after.commits - before.commits;
    println!("1000 messages were started in {commits} commits");
    assert!(commits <= 100, "{commits} commits for 1000 messages");
    assert_eq!(triggers.counters(CONSUMER).unwrap().sagas, 1_000);
}

#[tokio::test]
async fn a_message_that_the_broker_gave_up_is_put_into_intake() {
    let world = World::new().await;
    let trigger = world
        .trigger()
        .limits(amends_nats::TriggerLimits { failures_max: 10, ..quick() })
        .consumer_settings(|consumer| {
            consumer.deliveries_max = Some(2);
            consumer.ack_wait = Duration::from_millis(300);
        })
        .input(|_| panic!("the extractor has a mistake"));
    let triggers = world.triggers().with(trigger).start().await.unwrap();
    let sequence = world.place("o-1", 1).await;
    until_ended(&triggers, 2).await;
    let kept = loop {
        let kept = world.intake().await;
        if !kept.is_empty() {
            break kept;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!((kept.len(), kept[0].reason.code.as_str()), (1, "max-deliveries"));
    assert_eq!(kept[0].position, Some(sequence.to_string()));
    assert_eq!(kept[0].raw.kept, event("o-1", 1).as_bytes());
}

#[tokio::test]
async fn a_pull_to_which_nobody_answers_is_made_again() {
    let world = World::new().await;
    let triggers = world.start().await;
    world.server.freeze();
    let silent = |readiness: &amends_nats::Readiness| !readiness.is_ready();
    let readiness = triggers.until(silent).await;
    assert!(
        readiness.problems().iter().any(|problem| ["silent for two heartbeats", "timed out"]
            .iter()
            .any(|words| problem.contains(words))),
        "{:?}",
        readiness.problems()
    );
    world.server.thaw();
    triggers.until(amends_nats::Readiness::is_ready).await;
    world.place("o-1", 1).await;
    assert_eq!(until_ended(&triggers, 1).await.sagas, 1);
}

/// A clock that a test moves on.
struct Shifted {
    clock: SystemClock,
    by_seconds: AtomicU64,
}

#[async_trait]
impl Clock for Shifted {
    fn now(&self) -> Timestamp {
        self.clock.now() + Duration::from_secs(self.by_seconds.load(Ordering::SeqCst))
    }

    async fn sleep_until(&self, at: Timestamp) {
        let shift = Duration::from_secs(self.by_seconds.load(Ordering::SeqCst));
        self.clock.sleep_until(at - shift).await;
    }
}

#[tokio::test]
async fn a_trigger_whose_engine_takes_nothing_is_told_as_stalled() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path().join("amends.db")).await.unwrap());
    let world = World::on(store.clone()).await;
    let clock = Arc::new(Shifted { clock: SystemClock::new(), by_seconds: AtomicU64::new(0) });
    let triggers = world.triggers().with(world.trigger()).clock(clock.clone()).start().await.unwrap();
    store.faults().refuse_writes(true);
    world.place("o-1", 1).await;
    let in_hand = |readiness: &amends_nats::Readiness| readiness.triggers[0].counters.in_hand == 1;
    assert!(triggers.until(in_hand).await.is_ready(), "not at once");
    clock.by_seconds.store(11, Ordering::SeqCst);
    let readiness = triggers.readiness();
    assert!(!readiness.is_ready());
    let told = "the trigger amends-order has 1 messages in hand and ended none since";
    assert!(readiness.problems()[0].starts_with(told), "{:?}", readiness.problems());
    store.faults().refuse_writes(false);
    until_ended(&triggers, 1).await;
    assert!(triggers.readiness().is_ready());
}

#[tokio::test]
async fn held_starts_keep_their_events_waiting_and_use_up_no_delivery() {
    let world = World::new().await;
    let by = |id: &str| amends::operator::By::new("ann", "the warehouse counts its stock", id.to_owned());
    world.engine.operator().workflow("order").hold_starts(by("op-1")).await.unwrap();
    let triggers = world.start().await;
    world.place("o-1", 1).await;
    world.place("o-2", 1).await;
    let held = |readiness: &amends_nats::Readiness| {
        readiness.triggers[0].counters.in_hand == 2 && !readiness.is_ready()
    };
    let told = triggers.until(held).await.problems();
    assert!(told[0].contains("starts of workflow `order` are held by ann"), "{told:?}");
    world.engine.operator().workflow("order").release(by("op-2")).await.unwrap();
    let counters = until_ended(&triggers, 2).await;
    assert_eq!(counters, Counters { deliveries: 2, sagas: 2, ..Counters::default() });
    assert!(triggers.readiness().is_ready(), "{:?}", triggers.readiness().problems());
}

#[tokio::test]
async fn a_trigger_ends_with_its_engine_and_gives_back_what_comes() {
    let world = World::new().await;
    let triggers = world.start().await;
    world.engine.shutdown(Duration::from_secs(5)).await.unwrap();
    let stopped = |readiness: &amends_nats::Readiness| {
        matches!(&readiness.triggers[0].state, ConsumerState::Stopped { reason }
            if reason == "the engine has stopped: it was shut down")
    };
    assert!(!triggers.until(stopped).await.is_ready());
}
