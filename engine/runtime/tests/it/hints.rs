//! Hints between nodes, under virtual time: two engines on one shared store that look once an hour by themselves.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use amends::core::JournalEvent;
use amends::memory::MemoryStore;
use amends::ports::{RandomIds, SagaQuery as _};
use amends::{Engine, Limits};

use crate::workflow::{Log, begin, builder, operation, pass, step, workflow};

async fn node(store: &Arc<MemoryStore>, seed: u64, log: &Log) -> Engine {
    let hangs = step("a", log).runs(|_| pending());
    let limits = Limits { claim_every: Duration::from_secs(3_600), ..Limits::default() };
    let builder = builder(store, &workflow(vec![hangs])).limits(limits);
    builder.ids(Arc::new(RandomIds::seeded(seed))).start().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn mail_from_another_node_is_decided_at_once() {
    let (store, log) = (Arc::new(MemoryStore::shared()), Log::default());
    let (owner, other) = (node(&store, 1, &log).await, node(&store, 2, &log).await);
    let saga = begin(&owner, "k").await;
    let elsewhere = other.find("w", "k").await.unwrap().unwrap();
    let asked = tokio::spawn(async move { elsewhere.cancel(operation("ann")).await });
    pass(Duration::from_secs(1)).await;
    let journal = store.read(saga.id()).await.unwrap().unwrap().journal;
    let last: Vec<JournalEvent> = serde_json::from_str(&journal.last().unwrap().events).unwrap();
    assert!(journal.last().unwrap().seq > 1 && !last.is_empty(), "{journal:?}");
    assert_eq!(&*journal.last().unwrap().actor, "ann");
    asked.abort();
}

#[tokio::test(start_paused = true)]
async fn what_a_node_releases_as_it_leaves_is_taken_at_once() {
    let (store, log) = (Arc::new(MemoryStore::shared()), Log::default());
    let (leaves, stays) = (node(&store, 1, &log).await, node(&store, 2, &log).await);
    let saga = begin(&leaves, "k").await;
    leaves.shutdown(Duration::ZERO).await.unwrap();
    pass(Duration::from_secs(1)).await;
    let row = store.read(saga.id()).await.unwrap().unwrap().row;
    assert_eq!(row.owner, Some(stays.incarnation()));
}
