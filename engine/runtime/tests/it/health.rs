//! How an engine says that it stands. What is set aside, and what is not published, is asked about where that is tested.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use amends::engine::{Health, Trouble};
use amends::memory::MemoryStore;
use amends::ports::Fault;

use crate::gate::GatedStore;
use crate::workflow::{Log, begin, chain, engine};

#[tokio::test(start_paused = true)]
async fn an_engine_whose_sagas_end_is_well_and_one_that_was_shut_down_says_so() {
    let store = Arc::new(MemoryStore::new());
    let engine = engine(&store, &chain(&Log::default())).await;
    begin(&engine, "k").await.outcome().await.expect("it ends");
    assert_eq!(engine.health().await.to_string(), "well");
    engine.shutdown(Duration::from_secs(1)).await.expect("the store is told");
    let health = engine.health().await;
    assert_eq!((health.word(), health.to_string()), ("stopped", "stopped: it was shut down".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn an_engine_whose_store_is_silent_is_degraded_and_well_when_it_answers() {
    let store = GatedStore::new();
    let engine = engine(&store, &chain(&Log::default())).await;
    store.silent_lists.store(1, Ordering::SeqCst);
    let Health::Degraded(troubles) = engine.health().await else { panic!("the store is silent") };
    assert_eq!(troubles, [Trouble::Store(Fault::Unavailable("nobody answers".to_owned()))]);
    assert_eq!(engine.health().await.word(), "well");
}
