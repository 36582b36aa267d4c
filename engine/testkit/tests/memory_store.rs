//! The in-memory store behaves as every store must.

use amends::memory::MemoryStore;
use amends_testkit::conformance::store::{SharedStoreFactory, StoreFactory};
use async_trait::async_trait;

struct InMemory;

#[async_trait]
impl StoreFactory for InMemory {
    type Store = MemoryStore;

    async fn open(&self) -> MemoryStore {
        MemoryStore::new()
    }

    /// A clone is the same store: that is how its data outlives an engine.
    async fn reopen(&self, store: MemoryStore) -> MemoryStore {
        store.clone()
    }
}

#[async_trait]
impl SharedStoreFactory for InMemory {
    async fn open_shared(&self) -> MemoryStore {
        MemoryStore::shared()
    }
}

amends_testkit::store_conformance!(InMemory);
amends_testkit::store_conformance_of_nodes!(InMemory);
amends_testkit::store_conformance_of_hints!(InMemory);

/// The whole suite once more: a store that nodes share is a store.
mod shared {
    use super::*;

    struct Shared;

    #[async_trait]
    impl StoreFactory for Shared {
        type Store = MemoryStore;

        async fn open(&self) -> MemoryStore {
            MemoryStore::shared()
        }

        async fn reopen(&self, store: MemoryStore) -> MemoryStore {
            store.clone()
        }
    }

    amends_testkit::store_conformance!(Shared);
}

/// A behaviour that is written and not listed would never run.
#[test]
fn every_behaviour_of_the_suite_is_listed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/conformance");
    let listed = std::fs::read_to_string(folder.join("store.rs")).expect("the suite");
    let mut behaviours = 0;
    for area in std::fs::read_dir(folder.join("store")).expect("its areas") {
        let area = std::fs::read_to_string(area.expect("an area").path()).expect("its text");
        for line in area.lines().filter_map(|line| line.strip_prefix("pub async fn ")) {
            let name = line.split('(').next().expect("a name");
            assert!(listed.contains(&format!("                {name},\n")), "`{name}` is not listed");
            behaviours += 1;
        }
    }
    assert!(behaviours > 55, "{behaviours} behaviours");
}
