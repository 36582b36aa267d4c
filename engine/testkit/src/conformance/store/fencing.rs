//! Fencing: an incarnation without `worker` row writes nothing, whatever it believes.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use amends::ports::{Claim, Commit, Fault, SagaStore as _, Verdict};
use amends_core::SagaId;

use super::StoreFactory;
use super::rows::{
    ME, OTHER, T0, accept, claim, everything, join, read, release, saga, start, step_of,
    step_with_everything, take_over, take_over_as,
};

fn assert_fenced<T: std::fmt::Debug>(answer: Result<T, Fault>) {
    assert!(matches!(answer, Err(Fault::Fenced)), "{answer:?}");
}

pub async fn a_fenced_incarnation_writes_nothing(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1), start(2)]).await;
    take_over(&store, T0).await;
    let before = everything(&store).await;

    let batch: [Commit; 3] = [step_with_everything(1, 2, 0), step_with_everything(2, 2, 0), start(3)];
    assert_fenced(store.commit(ME, &batch).await);
    assert_fenced(store.commit(ME, &batch[..1]).await);
    assert_eq!(everything(&store).await, before);
}

pub async fn a_fenced_incarnation_claims_nothing(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    accept(&store, &[release(1, 2, Some(T0))]).await;
    take_over(&store, T0).await;
    let before = everything(&store).await;
    assert_fenced(store.claim(&claim(10)).await);
    assert_eq!(everything(&store).await, before);
    let claimed: Vec<SagaId> =
        store.claim(&Claim { incarnation: OTHER, ..claim(10) }).await.expect("the live one claims");
    assert_eq!(claimed.len(), 1);
}

pub async fn a_node_of_the_same_name_is_another_and_fences_the_first(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    take_over_as(&store, "node", T0).await;
    let mine = Claim { incarnation: OTHER, ..claim(10) };
    assert_eq!(store.claim(&mine).await.expect("the second of its name claims"), [saga(1)]);
    let verdicts = store.commit(OTHER, &[step_of(1, 2, 7)]).await.expect("and writes first");
    assert_eq!(verdicts, [Verdict::Accepted]);
    let before = everything(&store).await;

    assert_fenced(store.commit(ME, &[step_with_everything(1, 2, 0)]).await);
    assert_fenced(store.commit(ME, &[release(1, 3, Some(T0))]).await);
    assert_fenced(store.claim(&claim(10)).await);
    store.leave(ME, T0).await.expect("who is gone leaves nothing");
    assert_eq!(everything(&store).await, before, "its result, its claim and its release change nothing");
    assert_eq!(read(&store, 1).await.row.owner, Some(OTHER));
}

pub async fn a_fenced_incarnation_cannot_join_again(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    take_over(&store, T0).await;
    assert_fenced(store.join(ME, "node", T0).await);
    store.commit(OTHER, &[start(1)]).await.expect("the live one is undisturbed");
}

pub async fn who_never_joined_writes_nothing(factory: impl StoreFactory) {
    let store = factory.open().await;
    assert_fenced(store.commit(ME, &[start(1)]).await);
    assert_fenced(store.claim(&claim(10)).await);
    assert!(everything(&store).await.sagas.is_empty());
}

pub async fn who_left_writes_nothing(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    store.leave(ME, T0).await.expect("it leaves");
    store.leave(ME, T0).await.expect("leaving twice is no mistake");
    assert_fenced(store.commit(ME, &[step_with_everything(1, 2, 0)]).await);
    assert_fenced(store.claim(&claim(10)).await);
    assert_fenced(store.join(ME, "node", T0).await);
}
