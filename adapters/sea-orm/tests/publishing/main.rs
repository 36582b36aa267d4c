//! Publishing from a SQLite file.

use std::sync::Arc;

use amends_sea_orm::SqliteStore;

mod story;

#[tokio::test(flavor = "multi_thread")]
async fn the_next_process_on_the_file_publishes_what_a_killed_one_left() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("store.db");
    let open = async || Arc::new(SqliteStore::open(&path).await.expect("the file opens"));
    story::run(open().await, async |first| {
        let first = Arc::into_inner(first).expect("the first process is gone");
        first.close().await.expect("it closes");
        open().await
    })
    .await;
}
