//! Single rows that somebody else holds: whoever needs them comes later, and nobody else waits.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use amends::ports::{Commit, SagaQuery as _, SagaStore, Verdict};

use super::HoldingStoreFactory;
use super::rows::{ME, T0, accept, claim, join, read, release, saga, start, step};

/// More tries than any rollback of whoever went away takes.
const TRIES: u32 = 100_000;

/// Submits one commit until nobody holds it up any more.
async fn until_decided(store: &impl SagaStore, commit: &Commit) -> Verdict {
    for _ in 0..TRIES {
        let mut verdicts = store.commit(ME, std::slice::from_ref(commit)).await.expect("it answers");
        match verdicts.pop().expect("one verdict per commit") {
            Verdict::Later { .. } => {}
            decided => return decided,
        }
    }
    panic!("it is held for ever: {commit:?}");
}

/// Those of the batch that come later, and all others are accepted.
async fn later(store: &impl SagaStore, batch: &[Commit]) -> Vec<usize> {
    let verdicts = store.commit(ME, batch).await.expect("it answers");
    let mut later = Vec::new();
    for (n, verdict) in verdicts.into_iter().enumerate() {
        match verdict {
            Verdict::Later { .. } => later.push(n),
            verdict => assert_eq!(verdict, Verdict::Accepted, "{n}"),
        }
    }
    later
}

pub async fn a_start_whose_key_is_held_by_an_open_transaction_holds_up_nobody_else(
    factory: impl HoldingStoreFactory,
) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &(0..32).map(start).collect::<Vec<_>>()).await;
    let held = factory.hold_key(&store, "order", "order-40").await;

    let steps = (0..32).map(|n| step(n, 2));
    let batch: Vec<Commit> = steps.chain((33..64).map(start)).collect();
    assert_eq!(later(&store, &batch).await, [39], "the start under that key alone");
    assert_eq!(store.counts().await.expect("it counts").journal_rows, 32 + 62);
    assert_eq!(store.find("order", "order-40").await.expect("it reads"), None);
    assert_eq!(later(&store, &batch[39..40]).await, [0], "by itself it comes later, too");
    accept(&store, &(0..32).map(|n| step(n, 3)).collect::<Vec<_>>()).await;

    drop(held);
    assert_eq!(until_decided(&store, &batch[39]).await, Verdict::Accepted);
    assert_eq!(read(&store, 40).await.journal.len(), 1);
}

pub async fn a_transition_whose_saga_is_held_comes_later_alone(factory: impl HoldingStoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &(0..64).map(start).collect::<Vec<_>>()).await;
    let held = factory.hold_saga(&store, saga(7)).await;
    let before = read(&store, 7).await;
    let batch: Vec<Commit> = (0..64).map(|n| release(n, 2, Some(T0))).collect();
    assert_eq!(later(&store, &batch).await, [7]);
    assert_eq!(read(&store, 7).await, before, "nothing of it was written");
    assert_eq!(store.counts().await.expect("it counts").journal_rows, 64 + 63);

    drop(held);
    assert_eq!(until_decided(&store, &batch[7]).await, Verdict::Accepted);
    assert_eq!(read(&store, 7).await.row.wake_at, Some(T0));
}

pub async fn of_many_commits_those_that_are_held_come_later(factory: impl HoldingStoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &(0..16).map(start).collect::<Vec<_>>()).await;
    let mut held = Vec::new();
    for n in [0, 3, 4, 15] {
        held.push(factory.hold_saga(&store, saga(n)).await);
    }
    let batch: Vec<Commit> = (0..16).map(|n| release(n, 2, Some(T0))).collect();
    assert_eq!(later(&store, &batch).await, [0, 3, 4, 15]);
    let rest: Vec<Commit> = [0, 3, 4, 15].map(|n| batch[n].clone()).to_vec();
    assert_eq!(later(&store, &rest).await, [0, 1, 2, 3], "all of a batch can be held");
    drop(held);
    for commit in &rest {
        assert_eq!(until_decided(&store, commit).await, Verdict::Accepted);
    }
}

pub async fn of_those_who_waited_for_a_key_one_gets_it(factory: impl HoldingStoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    let held = factory.hold_key(&store, "order", "order-1").await;
    assert_eq!(later(&store, &[start(1)]).await, [0]);
    drop(held);
    assert_eq!(until_decided(&store, &start(1)).await, Verdict::Accepted);
    let mut same_key = start(2);
    same_key.start.as_mut().expect("a start").key = "order-1".into();
    let Verdict::KeyTaken(row) = until_decided(&store, &same_key).await else { panic!("the key is taken") };
    assert_eq!(row.id, saga(1));
}

pub async fn a_held_saga_is_neither_claimed_nor_set_aside(factory: impl HoldingStoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    accept(&store, &[release(1, 2, Some(T0))]).await;
    let held = factory.hold_saga(&store, saga(1)).await;
    let mut only = claim(1);
    only.only = Some(saga(1));
    assert_eq!(store.claim(&only).await, Ok(Vec::new()), "and nobody waits for it");
    assert_eq!(store.set_aside(ME, saga(1), "unreadable", T0).await, Ok(false));
    assert_eq!(read(&store, 1).await.row.set_aside, None);
    drop(held);
    let mut tries = 0..TRIES;
    while !store.set_aside(ME, saga(1), "unreadable", T0).await.expect("it answers") {
        tries.next().expect("the saga is free by now");
    }
    assert_eq!(read(&store, 1).await.row.set_aside.as_deref(), Some("unreadable"));
}
