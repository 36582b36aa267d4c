//! What only a server with many clients can do to a store.

use std::time::Duration;

use amends::ports::{Fault, SagaQuery as _, SagaStore as _, Verdict};
use amends_sea_orm::{PostgresSettings, PostgresStore};
use sea_orm::sqlx::{self, AssertSqlSafe};

use crate::proxy::Proxy;
use crate::rows::{ME, OTHER, T0, accept, release, saga, start, step};
use crate::server::OneSchema;

#[tokio::test]
async fn six_processes_that_start_at_once_make_one_schema() {
    let schema = OneSchema::new();
    schema.create().await;
    let opening: Vec<_> = (0..6)
        .map(|_| {
            let url = schema.url();
            tokio::spawn(async move { PostgresStore::open(&url).await })
        })
        .collect();
    for opened in opening {
        let store = opened.await.expect("no panic").expect("it opens");
        assert_eq!(store.counts().await.expect("it counts").sagas, 0);
        store.close().await;
    }
}

#[tokio::test]
async fn a_statement_that_arrives_after_its_resubmission_writes_nothing() {
    let schema = OneSchema::new();
    schema.create().await;
    let proxy = Proxy::start(&schema).await;
    let cut_off = schema.open(&schema.url_by_port(proxy.port)).await;
    let store = schema.open(&schema.url()).await;
    cut_off.join(ME, "node", T0).await.expect("it joins");
    accept(&cut_off, ME, &[start(1), start(2)]).await;

    proxy.hold_next();
    let batch = [step(1, 2, 0), step(2, 2, 0), start(3)];
    let answer = cut_off.commit(ME, &batch).await;
    assert!(matches!(answer, Err(Fault::Unavailable(_))), "{answer:?}");
    assert_eq!(store.counts().await.expect("it counts").journal_rows, 2, "it has not arrived");
    accept(&store, ME, &batch).await;
    let later = [step(1, 3, 0)];
    accept(&store, ME, &later).await;
    let before = store.load(&[saga(1), saga(2), saga(3)]).await.expect("it loads");
    proxy.let_go().await;
    assert_eq!(store.load(&[saga(1), saga(2), saga(3)]).await.expect("it loads"), before);
}

#[tokio::test]
async fn a_backend_killed_in_the_middle_of_a_batch_is_unavailable_and_leaves_no_half() {
    let schema = OneSchema::new();
    schema.create().await;
    let settings =
        PostgresSettings { batch_lock_timeout: Duration::from_secs(60), ..PostgresSettings::default() };
    let store = PostgresStore::open_with(&schema.url(), settings).await.expect("it opens");
    store.join(ME, "node", T0).await.expect("it joins");
    accept(&store, ME, &(0..50).map(start).collect::<Vec<_>>()).await;
    // Somebody holds saga 30's next row, so the batch stops in its middle.
    let mut stranger = schema.stranger().await;
    let insert = format!(
        "INSERT INTO journal (saga_id, transition_id, seq, at, actor, events) \
         VALUES ('{}', gen_random_uuid(), 2, 0, 'stranger', '[]')",
        saga(30).0
    );
    sqlx::query("BEGIN").execute(&mut stranger).await.expect("it begins");
    sqlx::query(AssertSqlSafe(insert)).execute(&mut stranger).await.expect("it inserts");
    let writer = store.clone();
    let batch: Vec<_> = (0..50).map(|n| step(n, 2, 0)).collect();
    let same = batch.clone();
    let commit = tokio::spawn(async move { writer.commit(ME, &same).await });
    schema.wait_until_blocked("amends writer").await;
    assert!(schema.disconnect("amends writer").await > 0);
    let answer = commit.await.expect("no panic");
    assert!(matches!(answer, Err(Fault::Unavailable(_))), "{answer:?}");
    assert_eq!(store.counts().await.expect("it counts").journal_rows, 50);
    sqlx::query("ROLLBACK").execute(&mut stranger).await.expect("it ends");
    accept(&store, ME, &batch).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_nodes_at_one_sequence_one_writes() {
    let schema = OneSchema::new();
    schema.create().await;
    let (one, two) = (schema.open(&schema.url()).await, schema.open(&schema.url()).await);
    one.join(ME, "one", T0).await.expect("it joins");
    two.join(OTHER, "two", T0).await.expect("it joins beside it");
    accept(&one, ME, &(0..20).map(start).collect::<Vec<_>>()).await;
    let mut won = [0, 0];
    for seq in 2..30 {
        let race = |store: &PostgresStore, by, variant| {
            let store = store.clone();
            let batch: Vec<_> = (0..20).map(|n| step(n, seq, variant)).collect();
            tokio::spawn(async move { store.commit(by, &batch).await })
        };
        let (first, second) = (race(&one, ME, 1), race(&two, OTHER, 2));
        let first = first.await.expect("no panic").expect("it answers");
        let second = second.await.expect("no panic").expect("it answers");
        for (n, pair) in (0..).zip(first.into_iter().zip(second)) {
            let (winner, by) = match &pair {
                (Verdict::Accepted, Verdict::Occupied { by }) => (0, *by),
                (Verdict::Occupied { by }, Verdict::Accepted) => (1, *by),
                other => panic!("saga {n} at {seq}: {other:?}"),
            };
            let expected = step(n, seq, [1, 2][winner]).journal.transition;
            assert_eq!(by, expected, "the loser is told who won");
            won[winner] += 1;
        }
    }
    assert_eq!(won[0] + won[1], 20 * 28);
    assert_eq!(one.counts().await.expect("it counts").journal_rows, 20 * 29);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_key_started_on_three_nodes_at_once_is_one_saga() {
    const KEYS: u32 = 100;
    let schema = OneSchema::new();
    schema.create().await;
    let mut racers = Vec::new();
    for node in 1..=3_u32 {
        let store = schema.open(&schema.url()).await;
        let me = amends_core::Incarnation(uuid::Uuid::from_u128(node.into()));
        store.join(me, "node", T0).await.expect("it joins");
        racers.push(tokio::spawn(async move {
            let mut held = Vec::new();
            for key in 0..KEYS {
                let mut commit = start(node * 1_000 + key);
                commit.start.as_mut().expect("a start").key = format!("order-{key}").into();
                match store.commit(me, std::slice::from_ref(&commit)).await.expect("it answers").pop() {
                    Some(Verdict::Accepted) => held.push(commit.saga),
                    Some(Verdict::KeyTaken(row)) => held.push(row.id),
                    other => panic!("{other:?}"),
                }
            }
            held
        }));
    }
    let mut told = Vec::new();
    for racer in racers {
        told.push(racer.await.expect("no panic"));
    }
    assert!(told.iter().all(|held| *held == told[0]), "all were told the same holders");
    let store = schema.open(&schema.url()).await;
    let counts = store.counts().await.expect("it counts");
    assert_eq!((counts.sagas, counts.journal_rows), (KEYS.into(), KEYS.into()));
}

#[tokio::test]
async fn a_table_that_somebody_has_locked_is_no_commit_s_fault() {
    let schema = OneSchema::new();
    schema.create().await;
    let store = schema.open(&schema.url()).await;
    store.join(ME, "node", T0).await.expect("it joins");
    accept(&store, ME, &[start(1), start(2)]).await;
    let mut stranger = schema.stranger().await;
    let locks = [
        "LOCK TABLE saga IN SHARE MODE".to_owned(),
        "LOCK TABLE journal IN SHARE ROW EXCLUSIVE MODE".to_owned(),
        format!("SELECT 1 FROM worker WHERE incarnation = '{}' FOR UPDATE", ME.0),
    ];
    for lock in locks {
        sqlx::query("BEGIN").execute(&mut stranger).await.expect("it begins");
        sqlx::query(AssertSqlSafe(lock.clone())).execute(&mut stranger).await.expect("it locks");
        let answer = store.commit(ME, &[release(1, 2, T0), start(3)]).await;
        assert!(matches!(&answer, Err(Fault::Unavailable(_))), "{lock}: {answer:?}");
        sqlx::query("ROLLBACK").execute(&mut stranger).await.expect("it ends");
    }
    accept(&store, ME, &[release(1, 2, T0), start(3)]).await;
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_halved_until_the_culprit_stands_alone() {
    let schema = OneSchema::new();
    schema.create().await;
    let settings =
        PostgresSettings { statement_timeout: Duration::from_secs(2), ..PostgresSettings::default() };
    let store = PostgresStore::open_with(&schema.url(), settings).await.expect("it opens");
    store.join(ME, "node", T0).await.expect("it joins");
    accept(&store, ME, &(0..8).map(start).collect::<Vec<_>>()).await;
    // No lock that anybody could be asked about: one row alone takes for ever.
    schema
        .sql(
            "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN IF NEW.actor = 'dawdler' THEN PERFORM pg_sleep(3600); END IF; RETURN NEW; END $$",
        )
        .await;
    schema.sql("CREATE TRIGGER dawdle BEFORE INSERT ON journal FOR EACH ROW EXECUTE FUNCTION dawdle()").await;
    let mut batch: Vec<_> = (0..8).map(|n| step(n, 2, 0)).collect();
    batch[5].journal.actor = "dawdler".into();
    let verdicts = store.commit(ME, &batch).await.expect("it commits");
    for (n, verdict) in verdicts.iter().enumerate() {
        assert_eq!(matches!(verdict, Verdict::Later { .. }), n == 5, "{n}: {verdict:?}");
    }
    assert_eq!(store.counts().await.expect("it counts").journal_rows, 8 + 7);
    schema.sql("DROP TRIGGER dawdle ON journal").await;
    assert_eq!(store.commit(ME, &batch).await.expect("it commits"), vec![Verdict::Accepted; 8]);
}

#[tokio::test]
async fn what_is_held_costs_its_batch_a_bounded_number_of_tries() {
    let schema = OneSchema::new();
    schema.create().await;
    let store = schema.open(&schema.url()).await;
    store.join(ME, "node", T0).await.expect("it joins");
    accept(&store, ME, &(0..200).map(start).collect::<Vec<_>>()).await;
    let mut stranger = schema.stranger().await;
    sqlx::query("BEGIN").execute(&mut stranger).await.expect("it begins");
    sqlx::query("SELECT 1 FROM saga FOR UPDATE").execute(&mut stranger).await.expect("it locks");
    let batch: Vec<_> = (0..200).map(|n| release(n, 2, T0)).collect();
    let verdicts = store.commit(ME, &batch).await.expect("it commits");
    assert!(verdicts.iter().all(|verdict| matches!(verdict, Verdict::Later { .. })), "{verdicts:?}");
    assert!(store.stats().splits <= 40, "{:?}", store.stats());
    sqlx::query("ROLLBACK").execute(&mut stranger).await.expect("it ends");
    accept(&store, ME, &batch).await;
}

#[tokio::test]
async fn a_batch_costs_one_commit_and_says_what_it_wrote() {
    let schema = OneSchema::new();
    schema.create().await;
    let store = schema.open(&schema.url()).await;
    store.join(ME, "node", T0).await.expect("it joins");
    assert_eq!(store.stats(), amends::ports::WriteStats::default(), "joining is no commit of a saga");
    let batch: Vec<_> = (0..50).map(start).collect();
    accept(&store, ME, &batch).await;
    accept(&store, ME, &batch).await;
    let stats = store.stats();
    assert_eq!((stats.commits, stats.saga_inserts, stats.journal_rows, stats.saga_updates), (1, 50, 50, 0));
}

#[tokio::test]
async fn what_cannot_be_opened_is_named_and_its_password_is_not() {
    let fault =
        PostgresStore::open("mysql://ann:secret@db.example/orders").await.expect_err("another database");
    assert!(fault.to_string().contains("postgres://user@host/database"), "{fault}");
    let schema = OneSchema::new();
    let fault = PostgresStore::open(&schema.url()).await.expect_err("nobody made its role").to_string();
    assert!(fault.contains(&schema.name) && !fault.contains(":amends_"), "{fault}");
    schema.create().await;
}

#[tokio::test]
async fn who_may_only_read_reads_beside_the_writers() {
    let schema = OneSchema::new();
    schema.create().await;
    let store = schema.open(&schema.url()).await;
    store.join(ME, "node", T0).await.expect("it joins");
    accept(&store, ME, &[start(1)]).await;
    let reader = PostgresStore::open_read_only(&schema.url()).await.expect("it opens");
    accept(&store, ME, &[step(1, 2, 0)]).await;
    assert_eq!(reader.read(saga(1)).await.expect("it reads").expect("the saga").journal.len(), 2);
    store.close().await;
    assert_eq!(reader.counts().await.expect("it still reads").journal_rows, 2);
}
