//! The cases of `tests/cases.md` in which storage matters, with a real engine on a real file.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use amends::engine::{OutcomeError, SagaStartError, StartError};
use amends::ports::{Fault, SagaFilter, SagaQuery as _, SagaRow};
use amends::prelude::*;
use amends::{Engine, Outcome, SagaHandle, StartOptions};
use amends_core::{Json, SagaId};
use amends_sea_orm::SqliteStore;
use sea_orm::sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sea_orm::sqlx::{self, AssertSqlSafe, ConnectOptions as _};
use tokio::sync::Semaphore;

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

    async fn sql(&self, statement: &str) {
        let mut connection = self.stranger().await;
        let done = sqlx::query(AssertSqlSafe(statement.to_owned())).execute(&mut connection).await;
        assert!(done.expect("it is sound SQL").rows_affected() > 0, "`{statement}` changed something");
    }

    /// Why this saga was set aside, as soon as it is: read as SQL, for the row may be what is damaged.
    async fn set_aside(&self, saga: SagaId) -> String {
        let mut connection = self.stranger().await;
        for _look in 0..10_000 {
            let reason = sqlx::query_scalar("SELECT set_aside FROM saga WHERE id = ?").bind(saga.0);
            let reason: Option<String> = reason.fetch_one(&mut connection).await.expect("the row is there");
            match reason {
                Some(reason) => return reason,
                None => tokio::task::yield_now().await,
            }
        }
        panic!("nobody set the saga {saga} aside")
    }

    async fn process(&self, workflows: &[&Saga<u32, u32>]) -> Process {
        self.try_process(workflows).await.unwrap_or_else(|error| panic!("the engine starts: {error}"))
    }

    async fn try_process(&self, workflows: &[&Saga<u32, u32>]) -> Result<Process, StartError> {
        let store = Arc::new(SqliteStore::open(self.path()).await.expect("nobody else has it open"));
        let at_once = QueryPolicy { base: Duration::from_millis(1), ..QueryPolicy::default() };
        let engine = Engine::builder(store.clone()).policies(Policies::new().query("at-once", at_once));
        let engine = workflows.iter().fold(engine, |engine, saga| engine.register((*saga).clone()));
        let engine = match engine.start().await {
            Ok(engine) => engine,
            Err(error) => {
                close(store).await;
                return Err(error);
            }
        };
        Ok(Process { store, engine })
    }
}

/// What is left of an engine ends when the runtime comes to it.
async fn close(mut store: Arc<SqliteStore>) {
    for _turn in 0..100_000 {
        match Arc::try_unwrap(store) {
            Ok(store) => return store.close().await.expect("it closes"),
            Err(shared) => store = shared,
        }
        tokio::task::yield_now().await;
    }
    panic!("a handle still holds the engine, and with it the store");
}

struct Process {
    store: Arc<SqliteStore>,
    engine: Engine,
}

impl Process {
    /// The process dies in the middle of anything.
    async fn dies(self) {
        self.engine.abort().await;
        drop(self.engine);
        close(self.store).await;
    }

    async fn ends(&self, key: &str) -> Result<Outcome, OutcomeError> {
        self.saga("order", key).await.outcome().await
    }

    async fn saga(&self, workflow: &str, key: &str) -> SagaHandle {
        self.engine.find(workflow, key).await.expect("it reads").expect("the saga")
    }

    async fn row(&self, workflow: &str, key: &str) -> SagaRow {
        self.store.find(workflow, key).await.expect("it reads").expect("the saga")
    }
}

/// `charge`: safe to repeat, and it waits for the test to let it go on.
struct Charge(Arc<Semaphore>);

impl Step for Charge {
    type Input = u32;
    type Output = u32;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, amount: u32) -> Result<u32, StepError<Never>> {
        self.0.acquire().await.expect("nobody closes it").forget();
        Ok(amount)
    }
}

/// A read that the second version and the changed first one have before `charge`.
fn looked_up(s: &mut SagaBuilder<u32>, amount: Handle<u32>) -> Handle<u32> {
    s.read_fn("look-up", amount, |_, amount: u32| async move { Ok(amount) })
}

/// A workflow of one step that waits until `go` has permits.
fn waits(workflow: &'static str, version: u32, longer: bool, go: &Arc<Semaphore>) -> Saga<u32, u32> {
    let (mut s, amount) = SagaBuilder::<u32>::new(workflow, version);
    let amount = if longer { looked_up(&mut s, amount) } else { amount };
    let (charged, s) = s.pivot("charge", Charge(go.clone()).query("at-once"), amount);
    s.finish(charged).expect("the definition is sound")
}

fn shut() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(0))
}

fn open() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(10_000))
}

/// Two at once on two threads, one that comes late, one spelled in another way, and one that is another trigger.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g13_a_trigger_that_comes_twice_at_once_is_one_saga_and_a_changed_one_a_conflict() {
    let file = File::new();
    let process = file.process(&[&waits("order", 1, false, &open())]).await;
    for n in 0..50 {
        let key = format!("evt-{n}");
        let start = |input: &str| {
            let (engine, key, input) =
                (process.engine.clone(), key.clone(), Json::parse(input).expect("JSON"));
            async move { engine.start_json("order", &key, input, StartOptions::default()).await }
        };
        let (first, second) = (tokio::spawn(start("200")), tokio::spawn(start("200")));
        let first = first.await.expect("no panic").expect("it starts").id();
        let second = second.await.expect("no panic").expect("it is no error to come second").id();
        assert_eq!(first, second);
        assert!(matches!(process.ends(&key).await, Ok(Outcome::Completed(_))));
        let late = start(" 200 ").await.expect("a repeat after the end is the same saga").id();
        assert_eq!(late, first);
        let before = process.store.read(first).await.expect("it reads");
        let error = start("500").await.expect_err("it is another trigger");
        let SagaStartError::Conflict { standing, input_digest } = error else { panic!("{error}") };
        assert_eq!(
            (standing.id, Json::parse("500").expect("JSON").canonical_digest().expect("a digest")),
            (first, input_digest)
        );
        assert_eq!(process.store.read(first).await.expect("it reads"), before, "the saga is untouched");
    }
    assert_eq!(process.store.counts().await.expect("it counts").sagas, 50);
    process.dies().await;
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

#[tokio::test]
async fn g20_one_saga_that_cannot_be_read_stops_none_of_the_others() {
    for (statement, told) in DAMAGE {
        let file = File::new();
        let first = file.process(&[&waits("order", 1, false, &shut())]).await;
        let keys = ["1", "2", "3", "4", "5"];
        for key in keys {
            let input = Json::parse(key).expect("JSON");
            let started = first.engine.start_json("order", key, input, StartOptions::default()).await;
            started.expect("it starts");
        }
        let broken = first.row("order", "3").await.id;
        first.dies().await;
        file.sql(&statement.replace("SAGA", &format!("x'{}'", broken.0.simple()))).await;

        // Recovery is a loop: a later process finds the same, and disturbs nobody.
        for _process in 0..2 {
            let next = file.process(&[&waits("order", 1, false, &open())]).await;
            for key in keys.into_iter().filter(|key| *key != "3") {
                let end = next.ends(key).await;
                assert!(matches!(end, Ok(Outcome::Completed(_))), "{statement}: {key} ended as {end:?}");
            }
            let reason = file.set_aside(broken).await;
            assert!(reason.contains(told), "{statement}: {reason}");
            // Its trigger comes again, and a person asks for it: whoever asks is answered, and nobody else notices.
            let input = Json::parse("3").expect("JSON");
            match next.engine.start_json("order", "3", input, StartOptions::default()).await {
                Ok(same) => {
                    assert_eq!(same.id(), broken, "{statement}");
                    let end = same.outcome().await;
                    assert!(
                        matches!(
                            end,
                            Err(OutcomeError::SetAside(_) | OutcomeError::Store(Fault::Corrupt(_)))
                        ),
                        "{statement}: {end:?}"
                    );
                }
                Err(error) => assert!(error.to_string().contains("cannot be read"), "{statement}: {error}"),
            }
            let new = Json::parse("6").expect("JSON");
            let new = next.engine.start_json("order", "6", new, StartOptions::default()).await;
            assert!(matches!(new.expect("it starts").outcome().await, Ok(Outcome::Completed(_))));
            assert!(next.engine.stopped().is_none(), "{statement}: the engine runs");
            next.dies().await;
        }
    }
}

/// Twenty sagas of the first version wait; one of another workflow too, whose end shows that this process has
/// looked for what is due.
#[tokio::test]
async fn g33_sagas_whose_version_is_not_registered_are_left_untouched_and_visible() {
    let file = File::new();
    let v1 = |go: &Arc<Semaphore>| waits("order", 1, false, go);
    let first = file.process(&[&v1(&shut()), &waits("other", 1, false, &shut())]).await;
    let keys: Vec<String> = (0..20).map(|n| format!("order-{n}")).collect();
    for (workflow, key) in keys.iter().map(|key| ("order", key.as_str())).chain([("other", "one")]) {
        let input = Json::parse("7").expect("JSON");
        let started = first.engine.start_json(workflow, key, input, StartOptions::default()).await;
        started.expect("it starts");
    }
    first.dies().await;

    let next = file.process(&[&waits("order", 2, true, &open()), &waits("other", 1, false, &open())]).await;
    assert!(matches!(next.saga("other", "one").await.outcome().await, Ok(Outcome::Completed(_))));
    let input = Json::parse("7").expect("JSON");
    let new = next.engine.start_json("order", "new", input, StartOptions::default()).await;
    assert!(matches!(new.expect("it starts").outcome().await, Ok(Outcome::Completed(_))));
    for key in &keys {
        let row = next.row("order", key).await;
        assert_eq!((row.phase.as_str(), row.owner, row.set_aside), ("running", None, None), "{key}");
        let journal = next.store.read(row.id).await.expect("it reads").expect("the saga").journal;
        assert_eq!(journal.len(), 1, "{key} is as the first process left it");
        let error = next.engine.inspect(row.id).await.expect_err("nobody here knows its version");
        assert!(error.to_string().contains("version 1"), "{error}");
    }
    let running = SagaFilter { phase: Some("running".to_owned()), limit: 100, ..SagaFilter::default() };
    let listed = next.store.list(&running).await.expect("it lists");
    assert!(listed.len() == 20 && listed.iter().all(|row| row.definition.version == 1), "they are listed");
    next.dies().await;

    let both = file.process(&[&v1(&open()), &waits("order", 2, true, &open())]).await;
    for key in &keys {
        assert!(matches!(both.ends(key).await, Ok(Outcome::Completed(_))), "{key}");
    }
    both.dies().await;
}

#[tokio::test]
async fn g20_a_damaged_row_is_named_in_its_page_and_hides_no_other() {
    let file = File::new();
    let first = file.process(&[&waits("order", 1, false, &shut())]).await;
    let mut sagas = Vec::new();
    for n in 0..5 {
        let input = Json::parse("7").expect("JSON");
        let (key, options) = (format!("order-{n}"), StartOptions::default());
        let started = first.engine.start_json("order", &key, input, options).await;
        sagas.push(started.expect("it starts").id());
    }
    first.dies().await;
    file.sql("UPDATE saga SET digest = x'07' WHERE key = 'order-1'").await;
    file.sql("UPDATE saga SET labels = 'no JSON' WHERE key = 'order-2'").await;

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
    file.process(&[&waits("order", 1, false, &shut())]).await.dies().await;
}

#[tokio::test]
async fn g33_other_content_under_a_version_that_is_under_way_is_refused_at_the_start() {
    let file = File::new();
    let first = file.process(&[&waits("order", 1, false, &shut())]).await;
    let input = Json::parse("7").expect("JSON");
    let started = first.engine.start_json("order", "order-1", input, StartOptions::default()).await;
    let saga = started.expect("it starts").id();
    let before = first.store.read(saga).await.expect("it reads").expect("the saga").journal;
    first.dies().await;

    let Err(error) = file.try_process(&[&waits("order", 1, true, &open())]).await else {
        panic!("another shape was let in")
    };
    let text = error.to_string();
    assert!(text.contains("it has another shape than when the saga of `order-1` began"), "{text}");
    let reader = SqliteStore::open_read_only(file.path()).await.expect("nobody has it open");
    let after = reader.read(saga).await.expect("it reads").expect("the saga").journal;
    assert_eq!(after, before, "the saga is untouched");
}
