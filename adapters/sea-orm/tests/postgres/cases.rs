//! The cases of `tests/cases.md` in which storage matters, with real engines on a real server.

use std::sync::Arc;

use amends::ports::SagaStore as _;
use amends_core::SagaId;
use amends_sea_orm::{PostgresSettings, PostgresStore};
use sea_orm::sqlx;
use tokio::sync::OnceCell;

use crate::both::{self, Place};
use crate::rows::{ME, OTHER, T0};
use crate::server::OneSchema;
use crate::storage;

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
async fn a_damaged_row_of_a_node_stops_no_engine_and_hides_no_other() {
    both::a_damaged_row_of_a_node_stops_no_engine_and_hides_no_other(&Schema::new()).await;
}

#[tokio::test]
async fn g33_sagas_whose_version_is_not_registered_are_left_untouched_and_visible() {
    both::g33_sagas_whose_version_is_not_registered_are_left_untouched_and_visible(&Schema::new()).await;
}

#[tokio::test]
async fn g33_other_content_under_a_version_that_is_under_way_is_refused_at_the_start() {
    both::g33_other_content_under_a_version_that_is_under_way_is_refused_at_the_start(&Schema::new()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g22_two_workers_write_a_thousand_transitions_beside_a_reader() {
    let place = Schema::new();
    let (one, two) = (place.open().await, place.open().await);
    one.join(ME, "one", T0).await.expect("it joins");
    two.join(OTHER, "two", T0).await.expect("it joins");
    let workers = [(PostgresStore::clone(&one), ME), (PostgresStore::clone(&two), OTHER)];
    storage::g22_two_workers_write_a_thousand_transitions_beside_a_reader(workers).await;
}

/// The pool has one connection that writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g23_a_cancelled_unit_of_work_poisons_no_connection() {
    let place = Schema::new();
    let elsewhere = place.open().await;
    let settings = PostgresSettings { writers: 1, ..PostgresSettings::default() };
    let store = PostgresStore::open_with(&place.schema.url(), settings).await.expect("it opens");
    store.join(ME, "node", T0).await.expect("it joins");
    storage::g23_a_cancelled_unit_of_work_poisons_no_connection(&store, &*elsewhere).await;
    let left = "SELECT count(*) FROM pg_stat_activity WHERE usename = current_user AND state LIKE 'idle in%'";
    let left: i64 =
        sqlx::query_scalar(left).fetch_one(&mut place.schema.stranger().await).await.expect("a count");
    assert_eq!(left, 0, "no session stays in a transaction");
}

#[test]
fn g24_due_times_are_instants_in_every_time_zone() {
    let Some(zone) = storage::zone() else {
        return storage::in_each_zone("cases::g24_due_times_are_instants_in_every_time_zone");
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    runtime.block_on(async {
        let place = Schema::new();
        place.made.get_or_init(|| place.schema.create()).await;
        let role = &place.schema.name;
        place.schema.as_admin(&format!("ALTER ROLE {role} SET timezone = '{zone}'")).await;
        storage::assert_due_by_instant(&storage::due_at_six(&*place.open().await).await);
    });
}

/// So there is one spelling of a time.
#[tokio::test]
async fn g24_every_time_is_a_whole_number() {
    let place = Schema::new();
    drop(place.open().await);
    let times = "SELECT table_name || '.' || column_name, data_type FROM information_schema.columns \
        WHERE table_schema = current_schema() AND table_name NOT LIKE '%migration%' \
        AND table_name IN (SELECT tablename FROM pg_tables WHERE schemaname = current_schema()) \
        AND (column_name LIKE '%\\_at' OR column_name IN ('at', 'since', 'deadline', 'first_seen', 'last_seen'))";
    let times: Vec<(String, String)> =
        sqlx::query_as(times).fetch_all(&mut place.schema.stranger().await).await.expect("it reads");
    assert!(times.len() > 20, "{times:?}");
    let others: Vec<_> = times.iter().filter(|(_, of)| of != "bigint").collect();
    assert!(others.is_empty(), "{others:?}");
}
