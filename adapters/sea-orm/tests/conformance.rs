//! The SQLite store behaves as every store must, also when its real connection fails.

use std::path::PathBuf;
use std::time::Duration;

use amends::ports::Sharing;
use amends_core::Incarnation;
use amends_sea_orm::{SqliteSettings, SqliteStore};
use amends_testkit::conformance::store::{FaultyStoreFactory, SharedStoreFactory, StoreFactory};
use async_trait::async_trait;
use sea_orm::sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sea_orm::sqlx::{self, AssertSqlSafe, ConnectOptions as _};

/// A file in a folder that goes with the test.
struct OneFile {
    folder: tempfile::TempDir,
}

impl OneFile {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }

    async fn open_as(&self, sharing: Sharing) -> SqliteStore {
        let settings = SqliteSettings {
            busy_timeout: Duration::from_millis(150),
            busy_retries: 1,
            sharing,
            ..SqliteSettings::default()
        };
        SqliteStore::open_with(self.path(), settings).await.expect("the file opens")
    }

    /// Another program's connection to the same file, such as a person's SQL prompt.
    async fn stranger(&self) -> SqliteConnection {
        SqliteConnectOptions::new().filename(self.path()).connect().await.expect("the file opens")
    }
}

#[async_trait]
impl StoreFactory for OneFile {
    type Store = SqliteStore;

    async fn open(&self) -> SqliteStore {
        self.open_as(Sharing::Exclusive).await
    }

    async fn reopen(&self, store: SqliteStore) -> SqliteStore {
        store.close().await.expect("it closes");
        self.open().await
    }
}

#[async_trait]
impl SharedStoreFactory for OneFile {
    async fn open_shared(&self) -> SqliteStore {
        self.open_as(Sharing::Shared).await
    }
}

#[async_trait]
impl FaultyStoreFactory for OneFile {
    async fn lose_answers(&self, store: &SqliteStore, count: u32) {
        store.faults().lose_answers(count);
    }

    async fn refuse_writes(&self, store: &SqliteStore, refused: bool) {
        store.faults().refuse_writes(refused);
    }

    async fn poison(&self, _store: &SqliteStore, actor: &str) {
        let trigger = format!(
            "CREATE TRIGGER poison BEFORE INSERT ON journal WHEN new.actor = '{actor}' \
             BEGIN SELECT raise(ABORT, 'poisonous'); END"
        );
        sqlx::query(AssertSqlSafe(trigger)).execute(&mut self.stranger().await).await.expect("a trigger");
    }

    async fn occupy(&self, _store: &SqliteStore) -> Box<dyn Send> {
        let mut stranger = self.stranger().await;
        sqlx::query("BEGIN IMMEDIATE").execute(&mut stranger).await.expect("the write lock is free");
        Box::new(stranger)
    }

    async fn take_over(&self, _store: &SqliteStore, incarnation: Incarnation) {
        let delete = sqlx::query("DELETE FROM worker WHERE incarnation = ?").bind(incarnation.0);
        let deleted = delete.execute(&mut self.stranger().await).await.expect("it deletes");
        assert_eq!(deleted.rows_affected(), 1);
    }
}

amends_testkit::store_conformance!(OneFile::new());
amends_testkit::store_conformance_of_nodes!(OneFile::new());
amends_testkit::store_conformance_under_faults!(OneFile::new());
