//! One process owns the file; whoever only reads disturbs nobody.

use std::sync::Arc;

use amends::ports::{
    Commit, DefinitionRef, Fault, JournalRow, NewSaga, SagaFilter, SagaQuery as _, SagaStore as _, Verdict,
};
use amends_core::{Incarnation, SagaId, Timestamp, TransitionId};
use amends_sea_orm::SqliteStore;
use uuid::Uuid;

fn start(n: u128) -> Commit {
    let definition = DefinitionRef { workflow: Arc::from("order"), version: 1, digest: [7; 32] };
    Commit {
        saga: SagaId(Uuid::from_u128(n)),
        start: Some(NewSaga {
            definition,
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
            transition: TransitionId(Uuid::from_u128(n << 64)),
            events: r#"[{"Completed":{}}]"#.to_owned(),
        },
        change: None,
        items: Vec::new(),
        compensations: Vec::new(),
        mail: Vec::new(),
        outbox: Vec::new(),
    }
}

const ME: Incarnation = Incarnation(Uuid::from_u128(1));

#[tokio::test]
async fn a_file_in_use_is_refused_with_its_name_and_what_to_do() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("orders.db");
    let first = SqliteStore::open(&path).await.expect("a new file");
    let fault = SqliteStore::open(&path).await.expect_err("the first store holds the lock");
    let Fault::InUse(reason) = fault else { panic!("{fault}") };
    assert!(reason.contains("orders.db.lock"), "{reason}");
    assert!(reason.contains("belongs to this process"), "{reason}");
    assert!(reason.contains("close its other store"), "{reason}");
    assert!(!reason.contains("stop it"), "nobody is told to stop themselves: {reason}");

    first.close().await.expect("it closes");
    SqliteStore::open(&path).await.expect("the lock was given up");
}

#[tokio::test]
async fn a_file_of_another_process_is_refused_with_its_id_and_what_to_do() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("orders.db");
    let lock = folder.path().join("orders.db.lock");
    // The same id in another container is another process.
    for id in [4_000_000_000, std::process::id()] {
        std::fs::write(&lock, format!("{id}\n")).expect("a lock file");
        let held = std::fs::File::open(&lock).expect("it opens");
        held.lock().expect("nobody else holds it");
        let fault = SqliteStore::open(&path).await.expect_err("somebody else holds the lock");
        let Fault::InUse(reason) = fault else { panic!("{fault}") };
        assert!(reason.contains(&format!("belongs to process {id}")), "{reason}");
        assert!(reason.contains("orders.db.lock"), "{reason}");
        assert!(reason.contains("stop it first"), "{reason}");
    }
}

#[tokio::test]
async fn a_store_that_was_dropped_gives_its_file_up_to_the_next_one_and_keeps_its_data() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("orders.db").display());
    let store = SqliteStore::open(&url).await.expect("a new file, named by a URL");
    store.join(ME, "node", Timestamp(1)).await.expect("it joins");
    assert_eq!(store.commit(ME, &[start(1)]).await.expect("it commits"), [Verdict::Accepted]);
    drop(store);
    // The writer ends when the runtime comes to it.
    let again = SqliteStore::open(&url).await.expect("a store of this process is waited for");
    assert_eq!(
        again.find("order", "order-1").await.expect("it reads").map(|row| row.id),
        Some(start(1).saga)
    );
}

#[tokio::test]
async fn reading_only_needs_no_lock_and_sees_what_is_committed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("orders.db");
    let store = SqliteStore::open(&path).await.expect("a new file");
    store.join(ME, "node", Timestamp(1)).await.expect("it joins");
    store.commit(ME, &[start(1)]).await.expect("it commits");

    let reader = SqliteStore::open_read_only(&path).await.expect("no lock is needed");
    store.commit(ME, &[start(2)]).await.expect("it commits beside a reader");
    let page = reader.list(&SagaFilter { limit: 10, ..SagaFilter::default() }).await.expect("it lists");
    assert_eq!(page.iter().map(|row| row.id).collect::<Vec<_>>(), [start(1).saga, start(2).saga]);

    store.close().await.expect("it closes beside a reader");
    let loaded = reader.read(start(2).saga).await.expect("it still reads").expect("the saga");
    assert_eq!(loaded.journal, [start(2).journal]);
    let late = SqliteStore::open_read_only(&path).await.expect("nobody has it open for writing");
    assert_eq!(late.counts().await.expect("it counts").sagas, 2);
}

#[tokio::test]
async fn what_is_no_database_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("letter.txt");
    let fault = SqliteStore::open_read_only(&path).await.expect_err("it does not exist").to_string();
    assert!(fault.contains("letter.txt does not exist"), "{fault}");
    std::fs::write(&path, "Dear store, this is not a database, however long it may be.".repeat(200))
        .expect("a letter");
    let fault = SqliteStore::open(&path).await.expect_err("it is no database");
    assert!(matches!(&fault, Fault::Corrupt(reason) if reason.contains("letter.txt")), "{fault:?}");
    SqliteStore::open(":memory:").await.expect_err("a store in memory is another type");
}

#[tokio::test]
async fn a_missing_folder_is_named_and_to_be_created() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let missing = folder.path().join("data");
    let fault = SqliteStore::open(missing.join("orders.db")).await.expect_err("there is no such folder");
    let Fault::Unavailable(reason) = fault else { panic!("{fault}") };
    assert!(
        reason.contains(&format!("the folder {} does not exist; create it first", missing.display())),
        "{reason}"
    );
    assert!(!reason.contains(".lock"), "nobody asked for a lock file: {reason}");

    std::fs::write(&missing, "").expect("a file");
    let reason = SqliteStore::open(missing.join("orders.db")).await.expect_err("it is a file").to_string();
    assert!(reason.contains(&format!("{} is no folder", missing.display())), "{reason}");
}
