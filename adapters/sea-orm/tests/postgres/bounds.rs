//! No call waits for ever, and none forgets what it has done when a later part of it cannot be done.

use std::time::Duration;

use amends::ports::{Fault, NodeStore as _, SagaQuery as _, SagaStore as _};
use amends_sea_orm::{PostgresSettings, PostgresStore};
use sea_orm::sqlx;

use crate::proxy::Proxy;
use crate::rows::{ME, T0, accept, claim, release, saga, start};
use crate::server::OneSchema;

/// Longer than any call may take, with the settings below.
const FOR_EVER: Duration = Duration::from_secs(60);

fn impatient() -> PostgresSettings {
    PostgresSettings {
        readers: 1,
        statement_timeout: Duration::from_secs(3),
        connection_wait: Duration::from_secs(3),
        ..PostgresSettings::default()
    }
}

#[tokio::test]
async fn a_read_whose_answer_never_comes_ends_and_the_next_one_is_answered() {
    let schema = OneSchema::new();
    schema.create().await;
    let proxy = Proxy::start(&schema).await;
    let url = schema.url_by_port(proxy.port);
    let store = PostgresStore::open_with(&url, impatient()).await.expect("it opens");
    store.join(ME, "node", T0).await.expect("it joins");
    accept(&store, ME, &[start(1)]).await;
    let mut stranger = schema.stranger().await;
    sqlx::query("BEGIN").execute(&mut stranger).await.expect("it begins");
    let lock = sqlx::query("LOCK TABLE saga IN ACCESS EXCLUSIVE MODE");
    lock.execute(&mut stranger).await.expect("it locks");

    let reading = store.clone();
    let load = tokio::spawn(async move { reading.load(&[saga(1)]).await });
    schema.wait_until_blocked("amends reader").await;
    // As when a server is gone without a word: nothing is refused, and nothing comes any more.
    proxy.silence();
    sqlx::query("ROLLBACK").execute(&mut stranger).await.expect("it ends");
    let answer = tokio::time::timeout(FOR_EVER, load).await.expect("no call hangs").expect("no panic");
    assert!(matches!(&answer, Err(Fault::Unavailable(_))), "{answer:?}");
    let again = tokio::time::timeout(FOR_EVER, store.read(saga(1))).await.expect("no call hangs");
    assert!(again.expect("another connection answers").is_some());
}

#[tokio::test]
async fn a_claim_that_cannot_look_for_mail_still_says_what_it_has_taken() {
    let schema = OneSchema::new();
    schema.create().await;
    let store = schema.open(&schema.url()).await;
    store.join(ME, "node", T0).await.expect("it joins");
    accept(&store, ME, &[start(1)]).await;
    accept(&store, ME, &[release(1, 2, T0)]).await;
    let mut stranger = schema.stranger().await;
    sqlx::query("BEGIN").execute(&mut stranger).await.expect("it begins");
    let lock = sqlx::query("LOCK TABLE mail IN ACCESS EXCLUSIVE MODE");
    lock.execute(&mut stranger).await.expect("it locks");

    assert_eq!(
        store.claim(&claim(ME, 10)).await,
        Ok(vec![saga(1)]),
        "it is owned now, and somebody must know"
    );
    let nothing = store.claim(&claim(ME, 10)).await;
    assert!(matches!(&nothing, Err(Fault::Unavailable(_))), "{nothing:?}");
}

#[tokio::test]
async fn processes_that_start_at_once_make_one_schema_whatever_their_role_s_isolation_is() {
    let schema = OneSchema::new();
    schema.create().await;
    let role = &schema.name;
    schema
        .as_admin(&format!("ALTER ROLE {role} SET default_transaction_isolation = 'repeatable read'"))
        .await;
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
async fn a_heartbeat_on_a_connection_that_fell_silent_ends_within_its_own_time_and_the_next_one_gets_through()
{
    let schema = OneSchema::new();
    schema.create().await;
    let proxy = Proxy::start(&schema).await;
    let store = schema.open(&schema.url_by_port(proxy.port)).await;
    store.join(ME, "node", T0).await.expect("it joins");
    // Longer than a connection takes under load, and much less than any bound of other calls.
    let within = Duration::from_secs(5);
    assert_eq!(store.beat(ME, within).await, Ok(1));
    proxy.silence();
    let silent = tokio::time::timeout(4 * within, store.beat(ME, within)).await;
    let silent = silent.expect("a beat has its own bound, below that of a statement");
    assert!(matches!(&silent, Err(Fault::Unavailable(_))), "{silent:?}");
    let next = store.beat(ME, within).await.expect("another connection answers");
    assert!((2..=3).contains(&next), "the silent one may have counted: {next}");
}

#[tokio::test]
async fn a_heartbeat_whose_row_somebody_holds_ends_within_its_own_time() {
    let schema = OneSchema::new();
    schema.create().await;
    let store = schema.open(&schema.url()).await;
    store.join(ME, "node", T0).await.expect("it joins");
    let mut stranger = schema.stranger().await;
    sqlx::query("BEGIN").execute(&mut stranger).await.expect("it begins");
    sqlx::query("SELECT 1 FROM worker FOR UPDATE").execute(&mut stranger).await.expect("it locks");
    let within = Duration::from_secs(3);
    let held = tokio::time::timeout(5 * within, store.beat(ME, within)).await.expect("it has its own bound");
    assert!(matches!(&held, Err(Fault::Unavailable(_))), "{held:?}");
    sqlx::query("ROLLBACK").execute(&mut stranger).await.expect("it ends");
    store.beat(ME, Duration::from_secs(20)).await.expect("it beats again");
}

#[tokio::test]
async fn a_reader_of_its_own_whose_answer_never_comes_ends_and_the_next_one_is_answered() {
    let schema = OneSchema::new();
    schema.create().await;
    let store = schema.open(&schema.url()).await;
    store.join(ME, "node", T0).await.expect("it joins");
    accept(&store, ME, &[start(1)]).await;
    let proxy = Proxy::start(&schema).await;
    let url = schema.url_by_port(proxy.port);
    let reader = PostgresStore::open_read_only_with(&url, impatient()).await.expect("it opens");
    assert!(reader.read(saga(1)).await.expect("it reads").is_some());
    proxy.silence();
    let answer = tokio::time::timeout(FOR_EVER, reader.read(saga(1))).await.expect("no call hangs");
    assert!(matches!(&answer, Err(Fault::Unavailable(_))), "{answer:?}");
    // What is silent is noticed once; the next reads go by connections of their own.
    let again = async { while reader.read(saga(1)).await.is_err() {} };
    tokio::time::timeout(FOR_EVER, again).await.expect("another connection answers");
}

#[tokio::test]
async fn opening_a_store_ends_when_the_server_falls_silent_over_the_schema() {
    let schema = OneSchema::new();
    schema.create().await;
    schema.open(&schema.url()).await.close().await;
    let proxy = Proxy::start(&schema).await;
    let mut stranger = schema.stranger().await;
    // Whoever brings the schema up to date holds this.
    sqlx::query("SELECT pg_advisory_lock($1)")
        .bind(0x616d_656e_6473_i64)
        .execute(&mut stranger)
        .await
        .expect("it locks");
    let settings = PostgresSettings { schema_timeout: Duration::from_secs(2), ..impatient() };
    let url = schema.url_by_port(proxy.port);
    let opening = tokio::spawn(async move { PostgresStore::open_with(&url, settings).await });
    schema.wait_until_blocked("amends schema").await;
    proxy.silence();
    let opened = tokio::time::timeout(FOR_EVER, opening).await.expect("no call hangs").expect("no panic");
    let Err(Fault::Unavailable(reason)) = opened else { panic!("it opened") };
    assert!(reason.contains("schema"), "{reason}");
}
