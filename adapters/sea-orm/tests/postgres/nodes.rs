//! Many nodes on one database, where it is more than the suite can make happen.

use std::collections::BTreeSet;
use std::time::Duration;

use amends::ports::{Fault, NodeStore as _, SagaStore as _};
use amends_core::{Incarnation, SagaId, Timestamp};
use amends_sea_orm::PostgresStore;
use sea_orm::sqlx;
use uuid::Uuid;

use crate::proxy::Proxy;
use crate::rows::{ME, OTHER, T0, accept, claim, release, saga, start};
use crate::server::OneSchema;

const LATER: Timestamp = Timestamp(T0.0 + 1_000);

/// For a beat that nothing holds up, however busy the machine.
const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_dismissal_waits_for_open_batches_within_bounds() {
    let schema = OneSchema::new();
    schema.create().await;
    let store = schema.open(&schema.url()).await;
    store.join(ME, "node", T0).await.expect("it joins");
    // What a batch holds while it is open.
    let mut batch = schema.stranger().await;
    sqlx::query("BEGIN").execute(&mut batch).await.expect("it begins");
    let fence = sqlx::query("SELECT 1 FROM worker WHERE incarnation = $1 FOR KEY SHARE").bind(ME.0);
    fence.execute(&mut batch).await.expect("it lives");
    assert_eq!(store.beat(ME, SOON).await.expect("a heartbeat waits for no batch"), 1);
    let answer = store.dismiss(ME, 1, LATER).await;
    assert!(matches!(answer, Err(Fault::Unavailable(_))), "{answer:?}");

    let other = store.clone();
    let dismissed = tokio::spawn(async move { other.dismiss(ME, 1, LATER).await });
    schema.wait_until_blocked("amends writer").await;
    sqlx::query("COMMIT").execute(&mut batch).await.expect("it ends");
    assert!(dismissed.await.expect("no panic").expect("it answers"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claimers_on_two_nodes_beside_a_release_take_each_saga_once() {
    const MANY: u32 = 600;
    let schema = OneSchema::new();
    schema.create().await;
    let (one, two) = (schema.open(&schema.url()).await, schema.open(&schema.url()).await);
    let dead = Incarnation(Uuid::from_u128(0xdead));
    one.join(dead, "dead", T0).await.expect("it joins");
    one.join(ME, "one", T0).await.expect("it joins");
    two.join(OTHER, "two", T0).await.expect("it joins");
    for from in (0..MANY).step_by(200) {
        accept(&one, dead, &(from..from + 200).map(start).collect::<Vec<_>>()).await;
    }
    assert!(one.dismiss(dead, 0, T0).await.expect("it answers"));
    let claimer = |store: &PostgresStore, me| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut taken: Vec<SagaId> = Vec::new();
            loop {
                let claimed = store.claim(&claim(me, 32)).await.expect("it claims");
                let released = store.release_orphans(T0, 50).await.expect("it releases");
                if claimed.is_empty() && released == 0 {
                    return taken;
                }
                taken.extend(claimed);
            }
        })
    };
    let (first, second) = (claimer(&one, ME), claimer(&two, OTHER));
    let mut all = first.await.expect("no panic");
    all.extend(second.await.expect("no panic"));
    // What the other had locked when both looked last.
    while one.release_orphans(T0, MANY).await.expect("it releases") > 0 {}
    all.extend(one.claim(&claim(ME, MANY)).await.expect("it claims"));
    assert_eq!(all.len(), MANY as usize);
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>().len(), MANY as usize, "none twice");
}

#[tokio::test]
async fn a_claim_whose_answer_was_lost_is_found_by_its_owner() {
    let schema = OneSchema::new();
    schema.create().await;
    let proxy = Proxy::start(&schema).await;
    let store = schema.open(&schema.url_by_port(proxy.port)).await;
    store.join(ME, "node", T0).await.expect("it joins");
    accept(&store, ME, &[start(1), start(2), start(3)]).await;
    accept(&store, ME, &[release(1, 2, T0), release(2, 2, T0)]).await;
    proxy.lose_answers(1);
    let answer = store.claim(&claim(ME, 10)).await;
    assert!(matches!(answer, Err(Fault::Unavailable(_))), "{answer:?}");
    let mine = |after, limit| store.mine(ME, after, limit);
    assert_eq!(mine(None, 2).await.expect("it looks"), [saga(1), saga(2)]);
    assert_eq!(mine(Some(saga(2)), 2).await.expect("it looks"), [saga(3)]);
}
