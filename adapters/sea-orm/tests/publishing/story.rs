//! Sagas tell of their lives while a process is killed and another one goes on: the same on every database.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use amends::ports::{OutboxMessage, OutboxStore, PublishError, Published, Publisher, Store};
use amends::prelude::*;
use amends::{Engine, Limits, Outcome, Saga};
use amends_core::SagaId;
use async_trait::async_trait;
use tokio::sync::Semaphore;
use uuid::Uuid;

const SAGAS: u32 = 40;

/// Of so many messages the broker loses the acknowledgement of one.
const LOST_ONE_OF: usize = 5;

/// Remembers what it was sent, and says so.
#[derive(Clone)]
struct Broker {
    sent: Arc<Mutex<Vec<OutboxMessage>>>,
    came: Arc<Semaphore>,
}

#[async_trait]
impl Publisher for Broker {
    async fn publish(&self, message: &OutboxMessage) -> Result<Published, PublishError> {
        let (duplicate, number) = {
            let mut sent = self.sent.lock().expect("no test thread panics in here");
            let duplicate = sent.iter().any(|before| before.id == message.id);
            sent.push(message.clone());
            (duplicate, sent.len())
        };
        self.came.add_permits(1);
        if !duplicate && number % LOST_ONE_OF == 0 {
            return Err(PublishError::Unavailable("the acknowledgement was lost".to_owned()));
        }
        Ok(Published { duplicate })
    }
}

struct Double;

impl Step for Double {
    type Input = u32;
    type Output = u32;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, n: u32) -> Result<u32, StepError<Never>> {
        Ok(2 * n)
    }
}

fn doubling() -> Saga<u32, u32> {
    let (s, n) = SagaBuilder::<u32>::new("doubling", 1);
    let (first, mut s) = s.pivot("first", Double, n);
    let second = s.retriable("second", Double, first);
    s.finish(second).expect("a sound workflow")
}

async fn process<S: Store>(store: &Arc<S>, saga: &Saga<u32, u32>, broker: &Broker) -> Engine {
    let limits = Limits { lease: Duration::from_secs(2), ..Limits::default() };
    let engine = Engine::builder(store.clone()).register(saga.clone()).limits(limits).events("doubling");
    engine.publisher(Arc::new(broker.clone())).start().await.expect("the engine starts")
}

async fn is_empty(store: &impl OutboxStore) -> bool {
    store.outbox(0).await.expect("it reads").counts.is_empty()
}

/// Runs it: `second` opens the store for the next process, once the first one was killed.
pub(crate) async fn run<S: Store>(first: Arc<S>, second: impl AsyncFnOnce(Arc<S>) -> Arc<S>) {
    let broker = Broker { sent: Arc::default(), came: Arc::new(Semaphore::new(0)) };
    let saga = doubling();
    let killed = process(&first, &saga, &broker).await;
    for n in 0..SAGAS {
        killed.start(&saga, format!("k{n}"), n).await.expect("it starts");
    }
    broker.came.acquire_many(SAGAS / 2).await.expect("the broker lives").forget();
    killed.abort().await;
    drop(killed);

    let store = second(first).await;
    let engine = process(&store, &saga, &broker).await;
    for n in 0..SAGAS {
        let found = engine.start(&saga, format!("k{n}"), n).await.expect("it is there");
        assert_eq!(found.outcome().await.expect("it ends"), Outcome::Completed(4 * n));
    }
    for _look in 0..1_000_000 {
        if is_empty(&*store).await {
            break;
        }
    }
    assert!(is_empty(&*store).await, "everything was published and removed");
    engine.shutdown(Duration::from_secs(60)).await.expect("it drains");
    told_whole_and_in_order(&broker.sent.lock().expect("no test thread panics in here"));
}

/// Each saga told both of its events, each under one id, and the second not before the first.
fn told_whole_and_in_order(sent: &[OutboxMessage]) {
    let mut ids: BTreeMap<(SagaId, String), BTreeSet<Uuid>> = BTreeMap::new();
    let mut told: BTreeMap<SagaId, Vec<String>> = BTreeMap::new();
    for message in sent {
        let word = message.subject.rsplit('.').next().expect("a word").to_owned();
        let new = ids.entry((message.place.saga, word.clone())).or_default();
        new.insert(message.id);
        let told = told.entry(message.place.saga).or_default();
        if !told.contains(&word) {
            told.push(word);
        }
    }
    assert_eq!(told.len(), SAGAS as usize);
    assert!(told.values().all(|words| words == &["started", "completed"]), "{told:?}");
    assert!(ids.values().all(|ids| ids.len() == 1), "{ids:?}");
    assert!(sent.len() > 2 * SAGAS as usize, "lost acknowledgements brought messages again");
}
