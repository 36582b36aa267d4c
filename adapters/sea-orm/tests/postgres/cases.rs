//! The cases of `tests/cases.md` in which storage matters, with real engines on a real server.

use std::sync::Arc;

use amends_core::SagaId;
use amends_sea_orm::PostgresStore;
use sea_orm::sqlx;
use tokio::sync::OnceCell;

use crate::both::{self, Place};
use crate::server::OneSchema;

/// A schema that goes with the test.
struct Schema {
    schema: OneSchema,
    made: OnceCell<()>,
}

impl Schema {
    fn new() -> Self {
        Self { schema: OneSchema::new(), made: OnceCell::new() }
    }
}

impl Place for Schema {
    type Store = PostgresStore;

    async fn open(&self) -> Arc<PostgresStore> {
        self.made.get_or_init(|| self.schema.create()).await;
        Arc::new(self.schema.open(&self.schema.url()).await)
    }

    async fn close(&self, store: Arc<PostgresStore>) {
        PostgresStore::clone(&store).close().await;
    }

    async fn damage(&self, statement: &str, saga: SagaId) {
        self.schema.sql(&statement.replace("SAGA", &format!("'{saga}'"))).await;
    }

    async fn set_aside(&self, saga: SagaId) -> Option<String> {
        let reason = sqlx::query_scalar("SELECT set_aside FROM saga WHERE id = $1").bind(saga.0);
        reason.fetch_one(&mut self.schema.stranger().await).await.expect("the row is there")
    }
}

/// What a person or a failing disk can do to a saga, and what the desk then says of it.
const DAMAGE: [(&str, &str); 5] = [
    ("UPDATE journal SET events = '[{\"NobodyKnows\":{}}]' WHERE saga_id = SAGA AND seq = 1", "NobodyKnows"),
    ("UPDATE journal SET events = '[{\"SagaStar' WHERE saga_id = SAGA AND seq = 1", "sequence 1"),
    ("DELETE FROM journal WHERE saga_id = SAGA AND seq = 1", "sequence"),
    ("DELETE FROM journal WHERE saga_id = SAGA", "journal"),
    ("UPDATE saga SET input_digest = '\\x00' WHERE id = SAGA", "digest"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g13_a_trigger_that_comes_to_two_nodes_at_once_is_one_saga_and_a_changed_one_a_conflict() {
    let place = Schema::new();
    let order = both::waits("order", 1, false, &both::open());
    let (one, other) = (place.process(&[&order]).await, place.process(&[&order]).await);
    both::g13_a_trigger_that_comes_twice_at_once_is_one_saga_and_a_changed_one_a_conflict(&one, &other).await;
    place.dies(one).await;
    place.dies(other).await;
}

#[tokio::test]
async fn g15_a_trigger_after_the_purge_finds_that_it_was_handled() {
    both::g15_a_trigger_after_the_purge_finds_that_it_was_handled(&Schema::new()).await;
}

#[tokio::test]
async fn g20_one_saga_that_cannot_be_read_stops_none_of_the_others() {
    both::g20_one_saga_that_cannot_be_read_stops_none_of_the_others(Schema::new, &DAMAGE).await;
}

#[tokio::test]
async fn g33_sagas_whose_version_is_not_registered_are_left_untouched_and_visible() {
    both::g33_sagas_whose_version_is_not_registered_are_left_untouched_and_visible(&Schema::new()).await;
}

#[tokio::test]
async fn g33_other_content_under_a_version_that_is_under_way_is_refused_at_the_start() {
    both::g33_other_content_under_a_version_that_is_under_way_is_refused_at_the_start(&Schema::new()).await;
}
