//! What only SQLite can do to a store: a full disk, a reader that stays, a file that lost its tables.

use std::sync::Arc;

use amends::ports::{
    Commit, DefinitionRef, Fault, JournalRow, NewSaga, SagaQuery as _, SagaStore as _, Verdict,
};
use amends_core::{Incarnation, SagaId, Timestamp, TransitionId};
use amends_sea_orm::{SqliteSettings, SqliteStore};
use sea_orm::sqlx::sqlite::SqliteConnectOptions;
use sea_orm::sqlx::{self, ConnectOptions as _, Row as _};
use uuid::Uuid;

const ME: Incarnation = Incarnation(Uuid::from_u128(1));

/// A start with a kilobyte of journal.
fn start(n: u128) -> Commit {
    Commit {
        saga: SagaId(Uuid::from_u128(n << 64)),
        start: Some(NewSaga {
            definition: DefinitionRef { workflow: Arc::from("order"), version: 1, digest: [7; 32] },
            key: Arc::from(format!("order-{n}")),
            input_digest: [8; 32],
            occurred_at: Timestamp(1),
            deadline: None,
            started_at: Timestamp(2),
            tenant: None,
            labels: Vec::new(),
        }),
        journal: JournalRow {
            seq: 1,
            at: Timestamp(2),
            actor: Arc::from("engine"),
            transition: TransitionId(Uuid::from_u128((n << 64) | 1)),
            events: format!("[\"{}\"]", "x".repeat(1_000)),
        },
        change: None,
        items: Vec::new(),
        compensations: Vec::new(),
        mail: Vec::new(),
        outbox: Vec::new(),
    }
}

fn batch(from: u128) -> Vec<Commit> {
    (from..from + 50).map(start).collect()
}

#[tokio::test]
async fn a_full_disk_is_unavailable_and_what_was_accepted_stays() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("store.db");
    let small = SqliteSettings { pages_max: Some(80), ..SqliteSettings::default() };
    let store = SqliteStore::open_with(&path, small).await.expect("a new file");
    store.join(ME, "node", Timestamp(1)).await.expect("it joins");
    let mut accepted = 0;
    let fault = loop {
        match store.commit(ME, &batch(accepted)).await {
            Ok(verdicts) => assert_eq!(verdicts, vec![Verdict::Accepted; 50]),
            Err(fault) => break fault,
        }
        accepted += 50;
        assert!(accepted < 10_000, "80 pages hold less");
    };
    assert!(matches!(&fault, Fault::Unavailable(reason) if reason.contains("full")), "{fault:?}");
    assert!(accepted > 0, "some of it fitted");
    let counts = store.counts().await.expect("reading goes on");
    assert_eq!((u128::from(counts.sagas), u128::from(counts.journal_rows)), (accepted, accepted));

    store.close().await.expect("it closes");
    let store = SqliteStore::open(&path).await.expect("there is room now");
    store.join(ME, "node", Timestamp(1)).await.expect("it joins");
    let verdicts = store.commit(ME, &batch(accepted)).await.expect("the same rows again");
    assert_eq!(verdicts, vec![Verdict::Accepted; 50]);
}

#[tokio::test]
async fn a_reader_that_stays_keeps_its_snapshot_and_stops_nobody() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).await.expect("a new file");
    store.join(ME, "node", Timestamp(1)).await.expect("it joins");
    store.commit(ME, &batch(0)).await.expect("it commits");

    let options = SqliteConnectOptions::new().filename(&path).read_only(true);
    let mut reader = options.connect().await.expect("the file opens");
    sqlx::query("BEGIN").execute(&mut reader).await.expect("a read transaction");
    let count = "SELECT count(*) FROM journal";
    let seen: i64 = sqlx::query(count).fetch_one(&mut reader).await.expect("it reads").get(0);
    for round in 1..20 {
        assert_eq!(store.commit(ME, &batch(50 * round)).await.expect("it commits").len(), 50);
    }
    let still: i64 = sqlx::query(count).fetch_one(&mut reader).await.expect("it reads").get(0);
    assert_eq!((seen, still), (50, 50), "one transaction, one moment");
    assert_eq!(store.counts().await.expect("it counts").journal_rows, 1_000, "others see all");
    sqlx::query("COMMIT").execute(&mut reader).await.expect("it ends");
    let now: i64 = sqlx::query(count).fetch_one(&mut reader).await.expect("it reads").get(0);
    assert_eq!(now, 1_000);
}

#[tokio::test]
async fn a_batch_costs_one_commit_and_says_what_it_wrote() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = SqliteStore::open(folder.path().join("store.db")).await.expect("a new file");
    store.join(ME, "node", Timestamp(1)).await.expect("it joins");
    assert_eq!(store.stats(), amends::ports::WriteStats::default(), "joining is no commit of a saga");
    store.commit(ME, &batch(0)).await.expect("it commits");
    store.commit(ME, &batch(0)).await.expect("again");
    let stats = store.stats();
    assert_eq!((stats.commits, stats.saga_inserts, stats.journal_rows, stats.saga_updates), (1, 50, 50, 0));
}

#[tokio::test]
async fn a_file_without_its_tables_is_an_error_and_no_panic() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("empty.db");
    std::fs::write(&path, "").expect("an empty file");
    let reader = SqliteStore::open_read_only(&path).await.expect("an empty file is an empty database");
    let fault = reader.counts().await.expect_err("there are no tables");
    assert!(fault.to_string().contains("no such table"), "{fault}");
}
