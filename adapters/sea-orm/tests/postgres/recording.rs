//! G31 and G32 on PostgreSQL, and with them a whole engine: what this database would refuse is recorded as applied, as
//! in memory.

use amends::memory::MemoryStore;

use crate::server::OneSchema;
use crate::told::told;

#[tokio::test]
async fn g31_and_g32_a_result_that_the_database_would_refuse_is_recorded_as_it_is_in_memory() {
    let schema = OneSchema::new();
    schema.create().await;
    let store = schema.open(&schema.url()).await;
    assert_eq!(told(store).await, told(MemoryStore::new()).await);
}
