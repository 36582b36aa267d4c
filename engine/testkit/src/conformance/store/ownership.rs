//! Ownership: what becomes of sagas when their owner ends.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use std::collections::BTreeSet;
use std::time::Duration;

use amends::ports::{Claim, Commit, SagaChange, SagaStore as _};
use amends_core::{SagaId, Timestamp};

use super::StoreFactory;
use super::rows::{
    ME, OTHER, T0, accept, change, claim, everything, join, read, release, saga, start, step, take_over,
};

const LATER: Timestamp = Timestamp(T0.0 + 1_000);

pub async fn joining_releases_the_sagas_of_the_dead(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1), start(2), start(3), start(4)]).await;
    let end = SagaChange { ended_at: Some(T0), ..change("completed") };
    accept(&store, &[Commit { change: Some(end), ..step(2, 2) }, release(3, 2, Some(Timestamp(T0.0 + 7)))])
        .await;
    store.set_aside(ME, saga(4), "unreadable", T0).await.expect("it is set aside");

    take_over(&store, LATER).await;
    let mut found = Vec::new();
    for n in 1..=4 {
        let row = read(&store, n).await.row;
        found.push((row.owner, row.wake_at));
    }
    let waits = Some(Timestamp(T0.0 + 7));
    assert_eq!(found, [(None, Some(LATER)), (None, None), (None, waits), (None, None)]);
}

pub async fn joining_wakes_what_a_clock_set_that_ran_ahead(factory: impl StoreFactory) {
    let hour = Duration::from_secs(3_600);
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1), start(2)]).await;
    // Saga 1 was released by a clock an hour ahead, saga 2 by one that was right.
    let (mut ahead, right) = (release(1, 2, Some(T0 + 2 * hour)), release(2, 2, Some(T0 + 2 * hour)));
    ahead.journal.at = T0 + hour;
    accept(&store, &[ahead, right]).await;
    take_over(&store, LATER).await;
    let wakes = (read(&store, 1).await.row.wake_at, read(&store, 2).await.row.wake_at);
    assert_eq!(wakes, (Some(LATER), Some(T0 + 2 * hour)));
}

pub async fn many_sagas_of_the_dead_are_each_claimed_once(factory: impl StoreFactory) {
    const MANY: u32 = 1_234;
    let store = factory.open().await;
    join(&store).await;
    for from in (0..MANY).step_by(200) {
        accept(&store, &(from..MANY.min(from + 200)).map(start).collect::<Vec<_>>()).await;
    }
    take_over(&store, LATER).await;
    let due = Claim { incarnation: OTHER, now: LATER, ..claim(300) };
    let mut all: Vec<SagaId> = Vec::new();
    for expected in [300, 300, 300, 300, 34, 0] {
        let claimed = store.claim(&due).await.expect("it claims");
        assert_eq!(claimed.len(), expected);
        all.extend(claimed);
    }
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), (0..MANY).map(saga).collect());
}

pub async fn joining_again_keeps_what_is_mine(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    store.join(ME, "node", LATER).await.expect("the answer of the first may have been lost");
    assert_eq!(read(&store, 1).await.row.owner, Some(ME));
    accept(&store, &[step(1, 2)]).await;
}

pub async fn leaving_releases_what_is_mine(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1), start(2)]).await;
    accept(&store, &[release(2, 2, None)]).await;
    store.leave(ME, LATER).await.expect("it leaves");
    let rows = (read(&store, 1).await.row, read(&store, 2).await.row);
    assert_eq!((rows.0.owner, rows.0.wake_at), (None, Some(LATER)));
    assert_eq!((rows.1.owner, rows.1.wake_at), (None, None), "what waits for no time still does");
    store.join(OTHER, "another", LATER).await.expect("the next one joins");
    let due = Claim { incarnation: OTHER, now: LATER, ..claim(10) };
    assert_eq!(store.claim(&due).await.expect("it claims"), [saga(1)]);
}

pub async fn a_new_process_finds_everything(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &(0..100).map(start).collect::<Vec<_>>()).await;
    accept(&store, &(0..100).map(|n| super::rows::step_with_everything(n, 2, 0)).collect::<Vec<_>>()).await;
    let before = everything(&store).await;

    let store = factory.reopen(store).await;
    assert_eq!(everything(&store).await, before);
    take_over(&store, LATER).await;
    let claimed = store.claim(&Claim { incarnation: OTHER, now: LATER, ..claim(1_000) }).await;
    assert_eq!(claimed.expect("it claims").len(), 100);
    store.commit(OTHER, &[step(1, 3)]).await.expect("and goes on");
}
