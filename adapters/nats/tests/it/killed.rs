//! A node that is killed between any two steps of delivery, start and acknowledgement, again and again.

use std::sync::Arc;
use std::time::Duration;

use amends::memory::MemoryStore;
use amends::ports::{SagaFilter, SagaQuery as _};
use amends_nats::{Connection, Counters, NatsSettings, StreamSettings, Trigger, TriggerLimits, Triggers};
use amends_nats_testkit::Server;

use crate::outages::until_all_acknowledged;
use crate::world::{Ledger, STREAM, connect, engine, event, order_saga, publish, quick};

const EVENTS: u64 = 100;

/// One life, on threads of its own. At the moment it is dropped as it stands: it says goodbye to nobody.
fn live_until(
    url: String,
    store: Arc<MemoryStore>,
    ledger: Ledger,
    moment: impl Fn(&Counters) -> bool + Send + 'static,
) -> Counters {
    let life = std::thread::spawn(move || {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let counters = runtime.block_on(async {
            let saga = order_saga(&ledger);
            let engine = engine(store, &saga).await;
            let connection = Connection::open(NatsSettings::new(url)).await.unwrap();
            let trigger = Trigger::on(STREAM, "orders.placed")
                .workflow(&saga)
                .limits(TriggerLimits { in_hand_max: 8, ..quick() })
                .consumer_settings(|consumer| consumer.ack_wait = Duration::from_millis(400));
            let triggers = Triggers::on(&connection, &engine).with(trigger).start().await.unwrap();
            let readiness = triggers.until(|readiness| moment(&readiness.triggers[0].counters)).await;
            // Dropped in order they would give back what they have in hand.
            std::mem::forget((triggers, engine));
            readiness.triggers[0].counters
        });
        runtime.shutdown_background();
        counters
    });
    life.join().unwrap()
}

#[tokio::test]
async fn a_node_that_is_killed_again_and_again_starts_one_saga_per_event() {
    let server = Server::start();
    let connection = connect(&server).await;
    connection.declare_stream(&StreamSettings::new(STREAM, ["orders.>"]), true).await.unwrap();
    for number in 0..EVENTS {
        publish(&connection, &[], event(&format!("o-{number}"), 1).into()).await;
    }
    let (store, ledger) = (Arc::new(MemoryStore::new()), Ledger::new());
    let live = async |moment: Box<dyn Fn(&Counters) -> bool + Send>| {
        let (url, store, ledger) = (server.url(), store.clone(), ledger.clone());
        tokio::task::spawn_blocking(move || live_until(url, store, ledger, moment)).await.unwrap()
    };
    for number in 0..6 {
        // As soon as something was taken; and as soon as something has ended, while the next is in hand.
        live(Box::new(move |counters| counters.deliveries > number)).await;
        live(Box::new(move |counters| counters.ended() > number)).await;
    }
    let last = live(Box::new(|counters| counters.ended() >= 8 && counters.in_hand == 0)).await;
    assert_eq!(last.conflicts, 0);

    let saga = order_saga(&ledger);
    let engine = engine(store.clone(), &saga).await;
    let triggers = Triggers::on(&connection, &engine)
        .with(Trigger::on(STREAM, "orders.placed").workflow(&saga).limits(quick()))
        .start()
        .await
        .unwrap();
    until_all_acknowledged(&connection).await;
    let counters = triggers.readiness().triggers[0].counters;
    assert_eq!((counters.conflicts, counters.intake, counters.failed), (0, 0, 0), "{counters:?}");
    let sagas = store.list(&SagaFilter { limit: 1_000, ..SagaFilter::default() }).await.unwrap();
    assert_eq!(sagas.len() as u64, EVENTS);
    for row in sagas {
        engine.find("order", &row.key).await.unwrap().unwrap().outcome().await.unwrap();
    }
    assert_eq!(ledger.entries().len() as u64, EVENTS);
}
