//! The cases of `tests/cases.md` in which storage matters, with a real engine on a real file.

#[path = "cases/both.rs"]
mod both;
#[path = "postgres/rows.rs"]
mod rows;
#[path = "cases/storage.rs"]
mod storage;

use std::path::PathBuf;
use std::sync::Arc;

use amends::ports::{SagaFilter, SagaQuery as _, SagaStore as _, Sharing};
use amends_core::SagaId;
use amends_sea_orm::{SqliteSettings, SqliteStore};
use sea_orm::sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sea_orm::sqlx::{self, AssertSqlSafe, ConnectOptions as _};

use both::Place;
use rows::{ME, OTHER, T0};

/// A file in a folder that goes with the test, and the one process at a time that has it open.
struct File {
    folder: tempfile::TempDir,
}

impl File {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("orders.db")
    }

    /// Another program's connection to the same file, such as a person's SQL prompt.
    async fn stranger(&self) -> SqliteConnection {
        SqliteConnectOptions::new().filename(self.path()).connect().await.expect("the file opens")
    }
}

impl Place for File {
    type Store = SqliteStore;

    async fn open(&self) -> Arc<SqliteStore> {
        Arc::new(SqliteStore::open(self.path()).await.expect("nobody else has it open"))
    }

    /// What is left of an engine ends when the runtime comes to it.
    async fn close(&self, mut store: Arc<SqliteStore>) {
        for _turn in 0..100_000 {
            match Arc::try_unwrap(store) {
                Ok(store) => return store.close().await.expect("it closes"),
                Err(shared) => store = shared,
            }
            tokio::task::yield_now().await;
        }
        panic!("a handle still holds the engine, and with it the store");
    }

    async fn damage(&self, statement: &str, saga: SagaId) {
        let statement = statement.replace("SAGA", &format!("x'{}'", saga.0.simple()));
        let done = sqlx::query(AssertSqlSafe(statement.clone())).execute(&mut self.stranger().await).await;
        assert!(done.expect("it is sound SQL").rows_affected() > 0, "`{statement}` changed something");
    }

    async fn set_aside(&self, saga: SagaId) -> Option<String> {
        let reason = sqlx::query_scalar("SELECT set_aside FROM saga WHERE id = ?").bind(saga.0);
        reason.fetch_one(&mut self.stranger().await).await.expect("the row is there")
    }
}

/// What a person or a failing disk can do to the third of five sagas, and what the desk then says of it.
const DAMAGE: [(&str, &str); 6] = [
    ("UPDATE journal SET events = '[{\"NobodyKnows\":{}}]' WHERE saga_id = SAGA AND seq = 1", "NobodyKnows"),
    ("UPDATE journal SET events = '[{\"SagaStar' WHERE saga_id = SAGA AND seq = 1", "sequence 1"),
    ("DELETE FROM journal WHERE saga_id = SAGA AND seq = 1", "sequence"),
    ("DELETE FROM journal WHERE saga_id = SAGA", "journal"),
    ("UPDATE journal SET events = CAST(x'5b80ff5d' AS TEXT) WHERE saga_id = SAGA AND seq = 1", "utf-8"),
    ("UPDATE saga SET input_digest = x'00' WHERE id = SAGA", "digest"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g13_a_trigger_that_comes_twice_at_once_is_one_saga_and_a_changed_one_a_conflict() {
    let file = File::new();
    let process = file.process(&[&both::waits("order", 1, false, &both::open())]).await;
    both::g13_a_trigger_that_comes_twice_at_once_is_one_saga_and_a_changed_one_a_conflict(&process, &process)
        .await;
    file.dies(process).await;
}

#[tokio::test]
async fn g15_a_trigger_after_the_purge_finds_that_it_was_handled() {
    both::g15_a_trigger_after_the_purge_finds_that_it_was_handled(&File::new()).await;
}

#[tokio::test]
async fn g20_one_saga_that_cannot_be_read_stops_none_of_the_others() {
    both::g20_one_saga_that_cannot_be_read_stops_none_of_the_others(File::new, &DAMAGE).await;
}

#[tokio::test]
async fn a_damaged_row_of_a_node_stops_no_engine_and_hides_no_other() {
    both::a_damaged_row_of_a_node_stops_no_engine_and_hides_no_other(&File::new()).await;
}

#[tokio::test]
async fn g33_sagas_whose_version_is_not_registered_are_left_untouched_and_visible() {
    both::g33_sagas_whose_version_is_not_registered_are_left_untouched_and_visible(&File::new()).await;
}

#[tokio::test]
async fn g20_a_damaged_row_is_named_in_its_page_and_hides_no_other() {
    let file = File::new();
    let first = file.process(&[&both::waits("order", 1, false, &both::shut())]).await;
    let mut sagas = Vec::new();
    for n in 0..5 {
        let started = first.start("order", &format!("order-{n}"), "7").await;
        sagas.push(started.expect("it starts").id());
    }
    file.dies(first).await;
    file.damage("UPDATE saga SET digest = x'07' WHERE id = SAGA", sagas[1]).await;
    file.damage("UPDATE saga SET labels = 'no JSON' WHERE id = SAGA", sagas[2]).await;

    let reader = SqliteStore::open_read_only(file.path()).await.expect("nobody has it open");
    let page = reader.list(&SagaFilter { limit: 3, ..SagaFilter::default() }).await.expect("it lists");
    let rows: Vec<SagaId> = page.rows.iter().map(|row| row.id).collect();
    let damaged: Vec<SagaId> = page.damaged.iter().map(|damaged| damaged.saga).collect();
    assert_eq!((rows, damaged), (vec![sagas[0]], vec![sagas[1], sagas[2]]));
    assert!(page.damaged[0].reason.contains("a digest of 1 bytes"), "{:?}", page.damaged);
    let rest = SagaFilter { after: page.next, limit: 3, ..SagaFilter::default() };
    let rest = reader.list(&rest).await.expect("it lists");
    assert_eq!((rest.rows.len(), rest.damaged.len(), rest.next), (2, 0, None));
    drop(reader);
    let next = file.process(&[&both::waits("order", 1, false, &both::shut())]).await;
    file.dies(next).await;
}

#[tokio::test]
async fn g33_other_content_under_a_version_that_is_under_way_is_refused_at_the_start() {
    both::g33_other_content_under_a_version_that_is_under_way_is_refused_at_the_start(&File::new()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g22_two_workers_write_a_thousand_transitions_beside_a_reader() {
    let file = File::new();
    let settings = SqliteSettings { sharing: Sharing::Shared, ..SqliteSettings::default() };
    let store = SqliteStore::open_with(file.path(), settings).await.expect("it opens");
    store.join(ME, "one", T0).await.expect("it joins");
    store.join(OTHER, "two", T0).await.expect("it joins");
    let workers = [(store.clone(), ME), (store, OTHER)];
    storage::g22_two_workers_write_a_thousand_transitions_beside_a_reader(workers).await;
}

#[tokio::test]
async fn g23_a_cancelled_unit_of_work_poisons_no_connection() {
    let file = File::new();
    let store = file.open().await;
    store.join(ME, "node", T0).await.expect("it joins");
    let elsewhere = SqliteStore::open_read_only(file.path()).await.expect("it opens");
    storage::g23_a_cancelled_unit_of_work_poisons_no_connection(&*store, &elsewhere).await;
}

#[test]
fn g24_due_times_are_instants_in_every_time_zone() {
    if storage::zone().is_none() {
        return storage::in_each_zone("g24_due_times_are_instants_in_every_time_zone");
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    runtime.block_on(async {
        let file = File::new();
        storage::assert_due_by_instant(&storage::due_at_six(&*file.open().await).await);
    });
}

/// So there is one spelling of a time.
#[tokio::test]
async fn g24_every_time_is_a_whole_number() {
    let file = File::new();
    drop(file.open().await);
    let times = "SELECT m.name || '.' || c.name, c.type FROM sqlite_schema m, pragma_table_info(m.name) c \
        WHERE m.type = 'table' AND m.name NOT LIKE '%migration%' \
        AND (c.name LIKE '%\\_at' ESCAPE '\\' OR c.name IN ('at', 'since', 'deadline', 'first_seen', 'last_seen'))";
    let times: Vec<(String, String)> =
        sqlx::query_as(times).fetch_all(&mut file.stranger().await).await.expect("it reads");
    assert!(times.len() > 20, "{times:?}");
    let others: Vec<_> = times.iter().filter(|(_, of)| of != "INTEGER").collect();
    assert!(others.is_empty(), "{others:?}");
}
