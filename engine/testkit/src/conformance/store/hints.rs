//! Hints: whoever has something new to do is told.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use std::time::Duration;

use amends::ports::{Hints, NodeStore as _, SagaMail as _, SagaStore as _, Store};
use amends_core::Incarnation;
use futures_util::FutureExt as _;

use super::SharedStoreFactory;
use super::rows::{ME, OTHER, T0, accept, dismiss, join, mail, post, read, release, start};

/// Longer than any hint takes, however busy the machine.
const SOON: Duration = Duration::from_secs(60);

/// A store with two nodes that listen. What is given from now on is given for what happens from now on.
async fn two_nodes<F: SharedStoreFactory>(factory: &F) -> (F::Store, Hints, Hints) {
    let store = factory.open_shared().await;
    join(&store).await;
    store.join(OTHER, "another", T0).await.expect("it joins");
    let (mine, others) = (listen(&store, ME).await, listen(&store, OTHER).await);
    (store, mine, others)
}

async fn listen(store: &impl Store, incarnation: Incarnation) -> Hints {
    let hints = store.hints(incarnation).expect("the store gives hints");
    told(&hints, "that it listens now").await;
    hints
}

async fn told(hints: &Hints, what: &str) {
    let told = tokio::time::timeout(SOON, hints.next()).await;
    told.unwrap_or_else(|_| panic!("nobody was told of {what}"));
}

pub async fn the_owner_of_a_saga_is_told_of_its_mail_and_nobody_else(factory: impl SharedStoreFactory) {
    let (store, mine, others) = two_nodes(&factory).await;
    accept(&store, &[start(1)]).await;
    post(&store, &mail(1, 0)).await;
    told(&mine, "mail").await;
    assert_eq!(store.unread(ME, None, 10).await.expect("it reads").len(), 1, "the mail came before the hint");
    assert!(others.next().now_or_never().is_none(), "it is nobody else's business");
}

pub async fn everybody_is_told_of_mail_to_a_saga_without_owner(factory: impl SharedStoreFactory) {
    let (store, mine, others) = two_nodes(&factory).await;
    accept(&store, &[start(1)]).await;
    accept(&store, &[release(1, 2, None)]).await;
    post(&store, &mail(1, 0)).await;
    told(&mine, "mail to nobody").await;
    told(&others, "mail to nobody").await;
}

pub async fn everybody_is_told_of_a_saga_that_was_released_and_is_due(factory: impl SharedStoreFactory) {
    let (store, mine, others) = two_nodes(&factory).await;
    accept(&store, &[start(1)]).await;
    accept(&store, &[release(1, 2, Some(T0))]).await;
    told(&mine, "a release").await;
    told(&others, "a release").await;
}

pub async fn everybody_is_told_of_the_sagas_of_who_left(factory: impl SharedStoreFactory) {
    let (store, _mine, others) = two_nodes(&factory).await;
    accept(&store, &[start(1)]).await;
    store.leave(ME, T0).await.expect("it leaves");
    told(&others, "what was left behind").await;
}

pub async fn everybody_is_told_of_orphans_that_were_released(factory: impl SharedStoreFactory) {
    let (store, _mine, others) = two_nodes(&factory).await;
    accept(&store, &[start(1)]).await;
    dismiss(&store, ME, T0).await;
    assert_eq!(store.release_orphans(T0, 10).await, Ok(1));
    told(&others, "orphans").await;
    assert!(read(&store, 1).await.row.owner.is_none());
}
