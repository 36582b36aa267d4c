//! The store double passes every suite that a real store passes, with the faults that it injects.

use std::sync::Arc;

use amends::memory::MemoryStore;
use amends::ports::{NodeStore as _, Peer, SystemClock};
use amends_core::{Incarnation, SagaId, Timestamp};
use amends_testkit::conformance::store::{
    FaultyStoreFactory, HoldingStoreFactory, SharedStoreFactory, StoreFactory,
};
use amends_testkit::simulation::FaultyStore;
use async_trait::async_trait;

struct Double;

fn in_front_of(store: MemoryStore) -> FaultyStore {
    FaultyStore::new(Arc::new(store), Arc::new(SystemClock::starting_at(Timestamp(0))))
}

#[async_trait]
impl StoreFactory for Double {
    type Store = FaultyStore;

    async fn open(&self) -> FaultyStore {
        in_front_of(MemoryStore::new())
    }

    async fn reopen(&self, store: FaultyStore) -> FaultyStore {
        store.clone()
    }
}

#[async_trait]
impl SharedStoreFactory for Double {
    async fn open_shared(&self) -> FaultyStore {
        in_front_of(MemoryStore::shared())
    }
}

#[async_trait]
impl FaultyStoreFactory for Double {
    async fn lose_answers(&self, store: &FaultyStore, count: u32) {
        store.lose_answers(count);
    }

    async fn refuse_writes(&self, store: &FaultyStore, refused: bool) {
        store.read_only(refused);
    }

    async fn poison(&self, store: &FaultyStore, actor: &str) {
        store.poison(actor);
    }

    async fn occupy(&self, store: &FaultyStore) -> Box<dyn Send> {
        Box::new(store.occupy())
    }

    async fn take_over(&self, store: &FaultyStore, incarnation: Incarnation) {
        let peers = store.peers().await.expect("it answers");
        let is_it = |peer: &&Peer| peer.incarnation == incarnation;
        let beat = peers.iter().find(is_it).expect("it has joined").beat;
        assert!(store.dismiss(incarnation, beat, Timestamp(0)).await.expect("it answers"));
    }
}

#[async_trait]
impl HoldingStoreFactory for Double {
    async fn hold_key(&self, store: &FaultyStore, _workflow: &str, key: &str) -> Box<dyn Send> {
        Box::new(store.hold_key(key))
    }

    async fn hold_saga(&self, store: &FaultyStore, saga: SagaId) -> Box<dyn Send> {
        Box::new(store.hold_saga(saga))
    }
}

amends_testkit::store_conformance!(Double);
amends_testkit::store_conformance_of_nodes!(Double);
amends_testkit::store_conformance_under_faults!(Double);
amends_testkit::store_conformance_of_held_rows!(Double);
