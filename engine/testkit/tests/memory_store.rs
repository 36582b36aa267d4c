//! The in-memory store behaves as every store must.

use amends::memory::MemoryStore;
use amends_testkit::conformance::store::StoreFactory;
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

amends_testkit::store_conformance!(InMemory);
