//! The barrier on a real PostgreSQL server: its rows, and who waits for whom.

#![expect(clippy::unwrap_used, reason = "the service of the tests fails its test, like the tests themselves")]

use std::sync::Arc;

use amends_barrier::{
    Answer, Call, Error, Fence, Finding, Outcome, Undo, close_out, compensate, forward, in_transaction, query,
};
use sea_orm::{ConnectOptions, ConnectionTrait as _, Database, DatabaseConnection, TransactionTrait as _};
use tokio::sync::Notify;
use uuid::Uuid;

const FORWARD: Uuid = Uuid::from_u128(1);
const UNDO: Uuid = Uuid::from_u128(2);

fn call(request_id: Uuid, attempt: u32) -> Call {
    Call { request_id, attempt, input_digest: [7; 32] }
}

fn success(attempt: u32) -> Answer<Outcome<u32, String>> {
    Answer::Kept(Outcome::Success(attempt))
}

/// A schema of this test.
struct Schema {
    url: String,
    name: String,
}

impl Schema {
    async fn new(name: &str) -> Self {
        let url = std::env::var("AMENDS_TEST_POSTGRES").unwrap_or_else(|_| {
            panic!(
                "AMENDS_TEST_POSTGRES is not set. Run `tests/run --quick -p amends-barrier`, which starts a private \
                 PostgreSQL for the tests, or set it to the URL of a server whose user may create schemas"
            )
        });
        let schema = Self { url, name: format!("amends_barrier_{name}_{}", std::process::id()) };
        let admin = Database::connect(ConnectOptions::new(&schema.url)).await.unwrap();
        admin.execute_unprepared(&format!("CREATE SCHEMA {}", schema.name)).await.unwrap();
        admin.close().await.unwrap();
        let db = schema.connect().await;
        amends_barrier::install(&db).await.unwrap();
        db.execute_unprepared("CREATE TABLE ledger (attempt BIGINT)").await.unwrap();
        schema
    }

    /// A process of the service.
    async fn connect(&self) -> DatabaseConnection {
        let mut options = ConnectOptions::new(&self.url);
        options.max_connections(2).sqlx_logging(false).set_schema_search_path(&self.name);
        Database::connect(options).await.unwrap()
    }

    async fn remove(self, db: &DatabaseConnection) {
        db.execute_unprepared(&format!("DROP SCHEMA {} CASCADE", self.name)).await.unwrap();
    }
}

/// A process that carries out attempt n.
async fn succeeds(db: &DatabaseConnection, attempt: u32) -> Answer<Outcome<u32, String>> {
    let answer = in_transaction(db, async |txn| {
        forward(txn, call(FORWARD, attempt), || async {
            txn.execute_unprepared(&format!("INSERT INTO ledger VALUES ({attempt})")).await?;
            Ok::<_, Error>(Outcome::Success(attempt))
        })
        .await
    });
    answer.await.unwrap()
}

async fn closes_out(db: &DatabaseConnection, attempt: u32) -> Answer<Outcome<u32, String>> {
    in_transaction(db, async |txn| close_out(txn, call(FORWARD, attempt).into(), "busy").await).await.unwrap()
}

async fn lines(db: &DatabaseConnection) -> usize {
    let all = sea_orm::Statement::from_string(sea_orm::DbBackend::Postgres, "SELECT attempt FROM ledger");
    db.query_all_raw(all).await.unwrap().len()
}

#[tokio::test]
async fn an_attempt_that_was_closed_out_is_answered_so_again_and_later_ones_run() {
    let schema = Schema::new("again").await;
    let db = schema.connect().await;
    assert_eq!(closes_out(&db, 2).await, Answer::ClosedOut("busy".to_owned()));
    assert_eq!(succeeds(&db, 2).await, Answer::ClosedOut("busy".to_owned()));
    assert_eq!(succeeds(&db, 1).await, Answer::ClosedOut("busy".to_owned()));
    assert_eq!(lines(&db).await, 0);
    assert_eq!(succeeds(&db, 3).await, success(3));
    assert_eq!(closes_out(&db, 2).await, success(3));
    let undone = in_transaction(&db, async |txn| {
        compensate(txn, call(UNDO, 1), FORWARD, || async { Ok::<_, Error>(Undo::Undone) }).await
    });
    assert_eq!(undone.await.unwrap(), Answer::Kept(Undo::Undone));
    assert_eq!(closes_out(&db, 2).await, Answer::Fenced(Fence::ForEver));
    assert_eq!(lines(&db).await, 1);
    schema.remove(&db).await;
}

#[tokio::test]
async fn a_hand_that_failed_waits_for_the_other_one_and_says_what_that_has_kept() {
    let schema = Schema::new("hands").await;
    let (first, second) = (schema.connect().await, schema.connect().await);
    let (inside, goes_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let running = tokio::spawn({
        let (second, inside, goes_on) = (second.clone(), inside.clone(), goes_on.clone());
        async move {
            let answer = in_transaction(&second, async |txn| {
                forward(txn, call(FORWARD, 1), || async {
                    txn.execute_unprepared("INSERT INTO ledger VALUES (1)").await?;
                    inside.notify_one();
                    goes_on.notified().await;
                    Ok::<_, Error>(Outcome::Success(1))
                })
                .await
            });
            answer.await.unwrap()
        }
    });
    inside.notified().await;
    let mut closing = tokio::spawn({
        let first = first.clone();
        async move { closes_out(&first, 1).await }
    });
    // It waits in the server for the row.
    let asking = schema.connect().await;
    let waiting = format!(
        "SELECT 1 FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted \
         AND a.query LIKE '%barrier%' AND a.query NOT LIKE '%pg_locks%' AND EXISTS (SELECT 1 FROM pg_locks r \
         WHERE r.pid = l.pid AND r.relation = '{}.barrier'::regclass)",
        schema.name
    );
    let waiting = sea_orm::Statement::from_string(sea_orm::DbBackend::Postgres, waiting);
    while asking.query_all_raw(waiting.clone()).await.unwrap().is_empty() {
        assert!(!closing.is_finished(), "it did not wait: {:?}", (&mut closing).await);
    }
    goes_on.notify_one();
    assert_eq!(running.await.unwrap(), success(1));
    assert_eq!(closing.await.unwrap(), success(1));
    assert_eq!(lines(&first).await, 1);
    schema.remove(&first).await;
}

#[tokio::test]
async fn a_hand_that_comes_while_an_attempt_is_closed_out_has_no_effect() {
    let schema = Schema::new("closing").await;
    let (first, second) = (schema.connect().await, schema.connect().await);
    let txn = first.begin().await.unwrap();
    let closed = close_out::<u32, String>(&txn, call(FORWARD, 1).into(), "busy").await.unwrap();
    assert_eq!(closed, Answer::ClosedOut("busy".to_owned()));
    let coming = tokio::spawn({
        let second = second.clone();
        async move { succeeds(&second, 1).await }
    });
    tokio::task::yield_now().await;
    assert!(!coming.is_finished());
    txn.commit().await.unwrap();
    assert_eq!(coming.await.unwrap(), Answer::ClosedOut("busy".to_owned()));
    assert_eq!(lines(&first).await, 0);
    let found = in_transaction(&first, async |txn| query::<u32, String>(txn, FORWARD, Some(1)).await);
    assert_eq!(found.await.unwrap(), Finding::Fenced(Fence::Through(1)));
    schema.remove(&first).await;
}
