//! The PostgreSQL store behaves as every store must, also when its real connection fails.

use amends_core::{Incarnation, SagaId};
use amends_sea_orm::PostgresStore;
use amends_testkit::conformance::store::{
    FaultyStoreFactory, HoldingStoreFactory, SharedStoreFactory, StoreFactory,
};
use async_trait::async_trait;
use sea_orm::sqlx;
use tokio::sync::OnceCell;

use crate::proxy::Proxy;
use crate::server::OneSchema;

/// A schema that goes with the test, reached by a wire that can fail.
struct ByWire {
    schema: OneSchema,
    proxy: OnceCell<Proxy>,
}

impl ByWire {
    fn new() -> Self {
        Self { schema: OneSchema::new(), proxy: OnceCell::new() }
    }

    async fn proxy(&self) -> &Proxy {
        self.proxy.get_or_init(|| Proxy::start(&self.schema)).await
    }

    async fn connect(&self) -> PostgresStore {
        let url = self.schema.url_by_port(self.proxy().await.port);
        self.schema.open(&url).await
    }
}

#[async_trait]
impl StoreFactory for ByWire {
    type Store = PostgresStore;

    async fn open(&self) -> PostgresStore {
        self.schema.create().await;
        self.connect().await
    }

    async fn reopen(&self, store: PostgresStore) -> PostgresStore {
        store.close().await;
        self.connect().await
    }
}

#[async_trait]
impl SharedStoreFactory for ByWire {
    async fn open_shared(&self) -> PostgresStore {
        self.open().await
    }
}

#[async_trait]
impl FaultyStoreFactory for ByWire {
    async fn lose_answers(&self, _store: &PostgresStore, count: u32) {
        self.proxy().await.lose_answers(count);
    }

    /// As after a fail-over to a standby and back: the sessions end, and new ones may only read.
    async fn refuse_writes(&self, _store: &PostgresStore, refused: bool) {
        let role = &self.schema.name;
        let only_read = if refused { "on" } else { "off" };
        self.schema
            .as_admin(&format!("ALTER ROLE {role} SET default_transaction_read_only = {only_read}"))
            .await;
        self.schema.disconnect("amends writer").await;
    }

    async fn poison(&self, _store: &PostgresStore, actor: &str) {
        let check = format!("ALTER TABLE journal ADD CONSTRAINT poisonous CHECK (actor <> '{actor}')");
        self.schema.sql(&check).await;
    }

    async fn occupy(&self, _store: &PostgresStore) -> Box<dyn Send> {
        let mut stranger = self.schema.stranger().await;
        for statement in ["BEGIN", "LOCK TABLE saga, journal, worker IN EXCLUSIVE MODE"] {
            sqlx::query(statement).execute(&mut stranger).await.expect("nobody else holds them");
        }
        Box::new(stranger)
    }

    async fn take_over(&self, _store: &PostgresStore, incarnation: Incarnation) {
        let delete = sqlx::query("DELETE FROM worker WHERE incarnation = $1").bind(incarnation.0);
        let deleted = delete.execute(&mut self.schema.stranger().await).await.expect("it deletes");
        assert_eq!(deleted.rows_affected(), 1);
    }
}

#[async_trait]
impl HoldingStoreFactory for ByWire {
    async fn hold_key(&self, _store: &PostgresStore, workflow: &str, key: &str) -> Box<dyn Send> {
        Box::new(self.schema.begin_a_start(workflow, key).await)
    }

    async fn hold_saga(&self, _store: &PostgresStore, saga: SagaId) -> Box<dyn Send> {
        let mut stranger = self.schema.stranger().await;
        sqlx::query("BEGIN").execute(&mut stranger).await.expect("it begins");
        let lock = sqlx::query("SELECT 1 FROM saga WHERE id = $1 FOR UPDATE").bind(saga.0);
        lock.execute(&mut stranger).await.expect("nobody else holds it");
        Box::new(stranger)
    }
}

amends_testkit::store_conformance!(ByWire::new());
amends_testkit::store_conformance_of_nodes!(ByWire::new());
amends_testkit::store_conformance_of_hints!(ByWire::new());
amends_testkit::store_conformance_under_faults!(ByWire::new());
amends_testkit::store_conformance_of_held_rows!(ByWire::new());
