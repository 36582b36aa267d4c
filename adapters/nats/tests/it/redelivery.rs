//! A message that comes again finds its saga.

use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use amends::memory::MemoryStore;
use amends::ports::SagaQuery as _;
use amends_nats::{Connection, Counters, Login, NatsSettings, StreamSettings, Triggers};
use amends_nats_testkit::Server;
use async_nats::jetstream::AckKind;
use futures_util::StreamExt as _;

use crate::world::{
    CONSUMER, Ledger, STREAM, World, engine, event, order_saga, publish, settings, until_ended,
};

/// Each of these once.
fn once(ids: impl IntoIterator<Item = String>) -> BTreeMap<String, u32> {
    ids.into_iter().map(|id| (id, 1)).collect()
}

#[tokio::test]
async fn an_engine_that_dies_between_start_and_acknowledgement_leaves_a_duplicate() {
    // A login that may do everything but acknowledge: its acknowledgements are lost.
    let server = Server::builder()
        .configuration(
            r#"authorization { users: [
                { user: all, password: all },
                { user: mute, password: mute, permissions: { publish: { deny: ["$JS.ACK.>"] } } },
            ] }"#,
        )
        .start();
    let login = |name: &str| {
        let login = Login::Password { user: name.to_owned(), password: name.to_owned() };
        Connection::open(NatsSettings { login, ..settings(&server) })
    };
    let (mute, all) = (login("mute").await.unwrap(), login("all").await.unwrap());
    all.declare_stream(&StreamSettings::new(STREAM, ["orders.>"]), true).await.unwrap();
    let (store, ledger) = (Arc::new(MemoryStore::new()), Ledger::new());
    let saga = order_saga(&ledger);
    let trigger = || {
        amends_nats::Trigger::on(STREAM, "orders.placed")
            .workflow(&saga)
            .limits(crate::world::quick())
            .consumer_settings(|consumer| consumer.ack_wait = Duration::from_millis(500))
    };

    let first = engine(store.clone(), &saga).await;
    let triggers = Triggers::on(&mute, &first).with(trigger()).start().await.unwrap();
    publish(&all, &[], event("o-1", 7).into()).await;
    let told = triggers.until(|readiness| readiness.triggers[0].held.is_some()).await;
    let expected = "the trigger amends-order is held up: messages cannot be acknowledged: Permissions Violation for \
                    Publish to \"$JS.ACK.ORDERS.amends-order.>\"";
    assert!(told.problems().iter().any(|problem| problem == expected), "{:?}", told.problems());
    assert_eq!(told.refusals.len(), 1, "{:?}", told.refusals);
    assert_eq!(store.counts().await.unwrap().sagas, 1, "the saga is durable");
    first.abort().await;
    drop(triggers);

    let second = engine(store.clone(), &saga).await;
    let triggers = Triggers::on(&all, &second).with(trigger()).start().await.unwrap();
    let counters = until_ended(&triggers, 1).await;
    assert_eq!(counters, Counters { deliveries: 1, duplicates: 1, ..Counters::default() });
    assert_eq!(store.counts().await.unwrap().sagas, 1);
    second.find("order", "o-1").await.unwrap().unwrap().outcome().await.unwrap();
    assert_eq!(ledger.entries(), once(["o-1".to_owned()]));
}

#[tokio::test]
async fn g13_one_event_at_two_nodes_at_once_and_late_and_changed_is_one_saga_and_one_conflict() {
    let store = Arc::new(MemoryStore::shared());
    let world = World::on(store.clone()).await;
    let other = engine(store.clone(), &world.saga).await;
    let triggers = world.start().await;
    let others = Triggers::on(&world.connect().await, &other).with(world.trigger()).start().await.unwrap();
    tokio::join!(world.place("evt-1", 200), world.place("evt-1", 200));
    world.place("evt-1", 200).await;
    let total = |one: Counters, two: Counters| Counters {
        deliveries: one.deliveries + two.deliveries,
        sagas: one.sagas + two.sagas,
        duplicates: one.duplicates + two.duplicates,
        conflicts: one.conflicts + two.conflicts,
        ..Counters::default()
    };
    let until = async |deliveries: u64| loop {
        let count = |triggers: &Triggers| triggers.counters(CONSUMER).unwrap();
        let (one, two) = (count(&triggers), count(&others));
        if one.ended() + two.ended() == deliveries {
            return total(one, two);
        }
        tokio::select! {
            _ = triggers.until(|readiness| readiness.triggers[0].counters != one) => {}
            _ = others.until(|readiness| readiness.triggers[0].counters != two) => {}
        }
    };
    until(3).await;
    world.publish(&[], event("evt-1", 500)).await;
    let all = until(4).await;
    assert_eq!(all, Counters { deliveries: 4, sagas: 1, duplicates: 2, conflicts: 1, ..Counters::default() });
    let kept = world.intake().await;
    assert_eq!((kept.len(), kept[0].reason.code.as_str()), (1, "conflict"));
    world.ended("evt-1").await;
    assert_eq!(world.ledger.entries(), once(["evt-1".to_owned()]));
    world.assert_all_acknowledged().await;
}

/// A node that stands still between fetching and handling: its only thread waits inside the first extractor.
fn frozen_node(
    url: String,
    store: Arc<MemoryStore>,
    ledger: Ledger,
    (entered, released): (mpsc::Sender<()>, mpsc::Receiver<()>),
) -> std::thread::JoinHandle<Counters> {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let saga = order_saga(&ledger);
            let engine = engine(store, &saga).await;
            let connection = Connection::open(NatsSettings::new(url)).await.unwrap();
            let released = std::sync::Mutex::new(Some(released));
            let trigger = amends_nats::Trigger::on(STREAM, "orders.placed")
                .workflow(&saga)
                .limits(crate::world::quick())
                .consumer_settings(|consumer| consumer.ack_wait = Duration::from_millis(700))
                .input(move |event| {
                    if let Some(released) = released.lock().unwrap().take() {
                        entered.send(()).unwrap();
                        released.recv().unwrap();
                    }
                    event.data()
                });
            let triggers = Triggers::on(&connection, &engine).with(trigger).start().await.unwrap();
            let counters = until_ended(&triggers, 10).await;
            triggers.stop(Duration::from_secs(5)).await;
            engine.shutdown(Duration::from_secs(5)).await.unwrap();
            counters
        })
    })
}

#[tokio::test]
async fn g25_what_expired_in_the_buffer_of_a_frozen_node_is_handled_elsewhere_and_found_there() {
    let store = Arc::new(MemoryStore::shared());
    let world = World::on(store.clone()).await;
    let ids: Vec<String> = (0..10).map(|number| format!("o-{number}")).collect();
    for id in &ids {
        world.place(id, 1).await;
    }
    let ((entered, has_entered), (release, released)) = (mpsc::channel(), mpsc::channel());
    let frozen = frozen_node(world.server.url(), store, world.ledger.clone(), (entered, released));
    tokio::task::spawn_blocking(move || has_entered.recv()).await.unwrap().unwrap();

    // All ten are with the frozen node. When their time has run out they come here.
    let triggers = world.start().await;
    let counters = until_ended(&triggers, 10).await;
    assert_eq!(counters, Counters { deliveries: 10, sagas: 10, ..Counters::default() });
    for id in &ids {
        world.ended(id).await;
    }
    release.send(()).unwrap();
    let counters = tokio::task::spawn_blocking(|| frozen.join()).await.unwrap().unwrap();
    // Its open pull may have been given them a second time while it stood still.
    assert!(counters.deliveries >= 10, "{counters:?}");
    let expected = Counters { deliveries: counters.deliveries, ..Counters::default() };
    assert_eq!(counters, Counters { duplicates: counters.deliveries, ..expected });
    assert_eq!(world.ledger.entries(), once(ids));
    world.assert_all_acknowledged().await;
}

#[tokio::test]
async fn what_is_in_hand_when_a_node_stops_is_given_back_and_taken_by_another_at_once() {
    let store = Arc::new(MemoryStore::shared());
    let world = World::on(store.clone()).await;
    // The engine has room for one saga, and that one waits at the gate: the others' starts wait.
    let tight = amends::Limits { max_active: 1, ..amends::Limits::default() };
    let full = amends::Engine::builder(store.clone()).register(world.saga.clone()).limits(tight);
    let full = full.start().await.unwrap();
    world.ledger.gate.forget_permits(tokio::sync::Semaphore::MAX_PERMITS);
    let triggers = Triggers::on(&world.connection, &full).with(world.trigger()).start().await.unwrap();
    for number in 0..4 {
        world.place(&format!("o-{number}"), 1).await;
    }
    triggers
        .until(|readiness| {
            let counters = readiness.triggers[0].counters;
            (counters.sagas, counters.in_hand) == (1, 3)
        })
        .await;
    let others = world.start().await;
    triggers.stop(Duration::ZERO).await;
    let given_back = triggers.counters(CONSUMER).unwrap();
    assert_eq!((given_back.deliveries, given_back.sagas, given_back.returned), (4, 1, 3));
    world.ledger.gate.add_permits(100);
    // Long before their time has run out, which is 30 s.
    let counters = until_ended(&others, 3).await;
    assert_eq!((counters.sagas + counters.duplicates, counters.deliveries), (3, 3), "{counters:?}");
    for number in 0..4 {
        world.ended(&format!("o-{number}")).await;
    }
    assert_eq!(world.ledger.entries().len(), 4);
    assert!(world.ledger.entries().values().all(|times| *times == 1));
    world.assert_all_acknowledged().await;
}

#[tokio::test]
async fn a_message_that_never_comes_to_an_end_goes_to_intake_unread() {
    let world = World::new().await;
    let triggers = world.start().await;
    triggers.stop(Duration::ZERO).await;
    world.place("o-1", 1).await;
    // Six times it was taken and given up, as by processes that died on it.
    let consumer = world.consumer().await;
    let mut given_up = 0;
    while given_up < 6 {
        let mut messages = consumer.fetch().max_messages(1).messages().await.unwrap();
        while let Some(message) = messages.next().await {
            message.unwrap().double_ack_with(AckKind::Nak(None)).await.unwrap();
            given_up += 1;
        }
    }
    let trigger = world.trigger().input(|_| panic!("nobody is to read it"));
    let triggers = world.triggers().with(trigger).start().await.unwrap();
    let counters = until_ended(&triggers, 1).await;
    assert_eq!((counters.intake, counters.failed), (1, 0), "{counters:?}");
    let kept = world.intake().await;
    assert!(
        kept[0].reason.words.contains("delivered 7 times and never came to an end"),
        "{:?}",
        kept[0].reason
    );
}
