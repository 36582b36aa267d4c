//! Starting a saga in the caller's own transaction.

use std::sync::Arc;

use amends::engine::SagaStartError;
use amends::ports::SagaQuery as _;
use amends::prelude::*;
use amends::{Engine, Limits, Outcome, StartOptions};
use amends_sea_orm::{PostgresStore, StartInError, StartedIn, start_in};
use sea_orm::{ConnectionTrait as _, Database, DatabaseConnection, IsolationLevel, TransactionTrait as _};
use std::time::Duration;

use crate::server::OneSchema;

struct Double;

impl Step for Double {
    type Input = u32;
    type Output = u32;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, amount: u32) -> Result<u32, StepError<Never>> {
        Ok(amount * 2)
    }
}

fn order() -> Saga<u32, u32> {
    let (s, amount) = SagaBuilder::<u32>::new("order", 1);
    let (doubled, s) = s.pivot("double", Double, amount);
    s.finish(doubled).expect("the definition is sound")
}

/// A running engine, and the caller's own connection to the same database.
struct Caller {
    _schema: OneSchema,
    store: Arc<PostgresStore>,
    engine: Engine,
    db: DatabaseConnection,
}

impl Caller {
    async fn new() -> Self {
        let schema = OneSchema::new();
        schema.create().await;
        let store = Arc::new(schema.open(&schema.url()).await);
        let limits = Limits { claim_every: Duration::from_millis(20), ..Limits::default() };
        let engine = Engine::builder(store.clone()).register(order()).limits(limits);
        let engine = engine.start().await.expect("the engine starts");
        let db = Database::connect(schema.url()).await.expect("it connects");
        db.execute_unprepared("CREATE TABLE invoice (number text)").await.expect("a table of the caller's");
        Self { _schema: schema, store, engine, db }
    }

    fn prepared(&self, key: &str, amount: u32) -> amends::ports::PreparedStart {
        let prepared = self.engine.prepare_start(&order(), key, amount, StartOptions::default());
        prepared.expect("it is sound")
    }

    async fn invoices(&self) -> i64 {
        let count =
            sea_orm::Statement::from_string(sea_orm::DbBackend::Postgres, "SELECT count(*) FROM invoice");
        let row = self.db.query_one_raw(count).await.expect("it counts").expect("one row");
        row.try_get_by_index(0).expect("a number")
    }

    async fn ends(&self, key: &str) -> Outcome {
        let saga = self.engine.find("order", key).await.expect("it reads").expect("the saga is there");
        saga.outcome().await.expect("it ends")
    }
}

const INVOICE: &str = "INSERT INTO invoice VALUES ('42')";

#[tokio::test]
async fn a_saga_is_started_if_and_only_if_the_callers_transaction_commits() {
    let caller = Caller::new().await;
    let txn = caller.db.begin().await.expect("it begins");
    txn.execute_unprepared(INVOICE).await.expect("the caller's own row");
    let prepared = caller.prepared("evt-1", 21);
    let started = start_in(&txn, &prepared).await.expect("it starts");
    assert_eq!(started, StartedIn::New(prepared.saga));
    assert_eq!(caller.store.find("order", "evt-1").await.expect("it reads"), None, "nobody sees it yet");
    txn.rollback().await.expect("it rolls back");
    assert_eq!(caller.store.find("order", "evt-1").await.expect("it reads"), None);
    assert_eq!(caller.store.counts().await.expect("it counts").journal_rows, 0, "nothing is left");

    let txn = caller.db.begin().await.expect("it begins");
    txn.execute_unprepared(INVOICE).await.expect("the caller's own row");
    assert_eq!(start_in(&txn, &prepared).await.expect("it starts"), StartedIn::New(prepared.saga));
    assert_eq!(start_in(&txn, &prepared).await.expect("it starts"), StartedIn::New(prepared.saga), "again");
    txn.commit().await.expect("it commits");
    assert!(matches!(caller.ends("evt-1").await, Outcome::Completed(_)));
    assert_eq!(caller.invoices().await, 1);
    let view = caller.engine.inspect(prepared.saga).await.expect("its journal reads");
    let events = |seq: usize| format!("{:?}", view.journal()[seq].events);
    assert!(events(0).contains("SagaStarted") && events(1).contains("Claimed"), "{:?}", view.journal());
}

#[tokio::test]
async fn a_key_that_is_taken_does_not_spoil_the_callers_transaction() {
    let caller = Caller::new().await;
    let first = caller.engine.start(&order(), "evt-1", 21).await.expect("it starts");
    let txn = caller.db.begin().await.expect("it begins");
    let before = start_in(&txn, &caller.prepared("evt-1", 21)).await.expect("it answers");
    assert!(matches!(&before, StartedIn::Before(row) if row.id == first.id()), "{before:?}");
    let conflict = start_in(&txn, &caller.prepared("evt-1", 22)).await.expect("it answers");
    assert!(matches!(&conflict, StartedIn::Conflict(row) if row.id == first.id()), "{conflict:?}");
    txn.execute_unprepared(INVOICE).await.expect("the transaction goes on");
    let other = start_in(&txn, &caller.prepared("evt-2", 1)).await.expect("it starts");
    assert!(matches!(other, StartedIn::New(_)));
    txn.commit().await.expect("it commits");
    assert!(matches!(caller.ends("evt-2").await, Outcome::Completed(_)));
    assert_eq!(caller.invoices().await, 1);
    let again = caller.engine.start(&order(), "evt-2", 1).await.expect("it is the same start");
    assert!(matches!(again.outcome().await, Ok(Outcome::Completed(2))), "the engine finds it, too");
    let other = caller.engine.start(&order(), "evt-2", 9).await.unwrap_err();
    assert!(matches!(other, SagaStartError::Conflict { .. }), "{other}");
}

#[tokio::test]
async fn a_start_waits_for_whoever_holds_its_key_and_then_finds_the_saga() {
    let caller = Caller::new().await;
    let first = caller.db.begin().await.expect("it begins");
    let prepared = caller.prepared("evt-1", 21);
    start_in(&first, &prepared).await.expect("it starts");
    let (db, other) = (caller.db.clone(), caller.prepared("evt-1", 21));
    let second = tokio::spawn(async move {
        let txn = db.begin().await.expect("it begins");
        let started = start_in(&txn, &other).await;
        txn.commit().await.expect("it commits");
        started
    });
    first.commit().await.expect("it commits");
    let started = second.await.expect("no panic").expect("it answers");
    assert!(matches!(&started, StartedIn::Before(row) if row.id == prepared.saga), "{started:?}");
}

#[tokio::test]
async fn under_repeatable_read_a_later_start_of_the_same_key_asks_to_run_again() {
    let caller = Caller::new().await;
    let level = Some(IsolationLevel::RepeatableRead);
    let txn = caller.db.begin_with_config(level, None).await.expect("it begins");
    txn.execute_unprepared("SELECT 1 FROM invoice").await.expect("its snapshot is taken");
    let first = caller.engine.start(&order(), "evt-1", 21).await.expect("it starts");
    let refused = start_in(&txn, &caller.prepared("evt-1", 21)).await.unwrap_err();
    assert!(matches!(refused, StartInError::RunAgain(_)), "{refused}");
    txn.rollback().await.expect("it rolls back");

    // While the saga goes on, any of its commits may come between this snapshot and the start.
    caller.ends("evt-1").await;
    let txn = caller.db.begin_with_config(level, None).await.expect("it begins");
    let before = start_in(&txn, &caller.prepared("evt-1", 21)).await.expect("it answers");
    assert!(matches!(&before, StartedIn::Before(row) if row.id == first.id()), "{before:?}");
    txn.commit().await.expect("it commits");
}

/// What was prepared may wait with its caller until the start that it repeats is forgotten.
#[tokio::test]
async fn a_prepared_start_that_is_written_beyond_the_horizon_is_refused_unless_its_saga_stands() {
    let caller = Caller::new().await;
    let first = caller.engine.start(&order(), "evt-1", 21).await.expect("it starts");
    let late = |key, now| {
        let prepared = caller.prepared(key, 21);
        assert_eq!(prepared.fresh_until, None, "here nothing is forgotten");
        amends::ports::PreparedStart { fresh_until: Some(now), ..prepared }
    };
    let txn = caller.db.begin().await.expect("it begins");
    let past = caller.engine.now();
    let refused = start_in(&txn, &late("evt-2", past)).await.expect_err("it is too old");
    assert!(matches!(refused, StartInError::TooOld { since, .. } if since == past), "{refused}");
    let before = start_in(&txn, &late("evt-1", past)).await.expect("it answers");
    assert!(matches!(&before, StartedIn::Before(row) if row.id == first.id()), "{before:?}");
    let fresh = late("evt-3", past + Duration::from_secs(3_600));
    assert_eq!(start_in(&txn, &fresh).await.expect("it starts"), StartedIn::New(fresh.saga));
    txn.commit().await.expect("it commits");
    assert_eq!(caller.store.find("order", "evt-2").await.expect("it reads"), None);
    assert!(matches!(caller.ends("evt-3").await, Outcome::Completed(_)));
}
