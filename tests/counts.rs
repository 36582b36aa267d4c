//! What a saga costs, in commits and rows: numbers that no disk and no load can change. Timings are the
//! bench's business (`examples/bench`).

#[path = "../examples/bench/workload.rs"]
#[expect(dead_code, reason = "the bench also names its shapes")]
mod workload;

use std::sync::Arc;
use std::time::Duration;

use amends::ports::WriteStats;
use amends::{Engine, Outcome};
use amends_sea_orm::SqliteStore;
use workload::{Shape, input};

/// Runs `sagas` of a shape, `in_flight` at a time, on a real file; what that wrote.
async fn written(shape: Shape, sagas: usize, in_flight: usize) -> WriteStats {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let store = Arc::new(SqliteStore::open(dir.path().join("counts.db")).await.expect("a fresh file opens"));
    let saga = shape.define().expect("the shape is well formed");
    let engine = Engine::builder(store.clone()).register(saga.clone()).start().await.expect("it starts");
    let before = store.stats();
    let callers: Vec<_> = (0..in_flight)
        .map(|caller| {
            let (engine, saga) = (engine.clone(), saga.clone());
            tokio::spawn(async move {
                for n in (caller..sagas).step_by(in_flight) {
                    let started = engine.start(&saga, format!("saga-{n}"), input(n)).await.expect("started");
                    let outcome = started.outcome().await.expect("an outcome");
                    let completed = matches!(outcome, Outcome::Completed(_));
                    assert_eq!(completed, shape != Shape::Compensation, "saga {n}");
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.expect("every saga ends");
    }
    let after = store.stats();
    engine.shutdown(Duration::from_secs(5)).await.expect("it drains");
    WriteStats {
        commits: after.commits - before.commits,
        journal_rows: after.journal_rows - before.journal_rows,
        saga_inserts: after.saga_inserts - before.saga_inserts,
        saga_updates: after.saga_updates - before.saga_updates,
        claims: after.claims - before.claims,
        work_items: after.work_items - before.work_items,
        compensations: after.compensations - before.compensations,
        mail: after.mail - before.mail,
        outbox: after.outbox - before.outbox,
        splits: after.splits - before.splits,
    }
}

#[tokio::test]
async fn a_lone_chain_of_four_steps_costs_five_commits_and_five_rows() {
    let cost = written(Shape::Chain, 1, 1).await;
    assert_eq!((cost.commits, cost.journal_rows), (5, 5));
    assert_eq!((cost.saga_inserts, cost.saga_updates), (1, 1), "one row of `saga`, changed once, at the end");
    assert_eq!((cost.work_items, cost.compensations, cost.claims, cost.mail), (0, 0, 0, 0));
    assert_eq!(cost.outbox, 0, "nobody publishes");
}

#[tokio::test]
async fn a_turned_chain_costs_one_more_change_of_the_saga_and_a_record_per_compensation() {
    let cost = written(Shape::Compensation, 1, 1).await;
    // Start and three steps; the refusal starts the first compensation; its success the second; the end.
    assert_eq!((cost.commits, cost.journal_rows), (6, 6));
    assert_eq!((cost.saga_inserts, cost.saga_updates), (1, 2), "the turn and the end");
    assert_eq!(cost.compensations, 4, "two compensations, each requested and ended");
}

#[tokio::test]
async fn the_more_sagas_run_the_more_rows_share_a_commit() {
    let lone = written(Shape::Chain, 8, 1).await;
    let many = written(Shape::Chain, 512, 64).await;
    let per_commit = |cost: WriteStats| cost.journal_rows as f64 / cost.commits as f64;
    assert_eq!(many.journal_rows, 512 * 5, "load adds no rows");
    assert!((per_commit(lone) - 1.0).abs() < f64::EPSILON, "alone, a row is a commit");
    assert!(per_commit(many) > 4.0, "64 at a time share commits: {:.1} rows in each", per_commit(many));
}
