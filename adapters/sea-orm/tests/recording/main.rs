//! G31 and G32 on a real file: what this database would refuse or cut is recorded as applied, as in memory.

mod told;

use amends::memory::MemoryStore;
use amends_sea_orm::SqliteStore;
use told::{receipts, told};

#[tokio::test]
async fn g31_and_g32_a_result_that_the_database_would_refuse_is_recorded_as_it_is_in_memory() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sqlite = SqliteStore::open(folder.path().join("orders.db")).await.expect("a new file");
    let (on_file, in_memory) = (told(sqlite).await, told(MemoryStore::new()).await);
    assert_eq!(on_file, in_memory);
    assert_eq!(on_file.len() % receipts().len(), 0);
    let first = &on_file[..on_file.len() / receipts().len()];
    assert_eq!(first.iter().filter(|fact| fact.starts_with("charge started")).count(), 1, "{first:#?}");
    assert!(!first.iter().any(|fact| fact.starts_with("ship started")), "{first:#?}");
}
