//! What nodes say of themselves, and which sagas are open.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use std::time::Duration;

use amends::ports::{
    Commit, DefinitionRef, Fault, Introduced, NodeProfile, NodeRegistry, NodeRow, OpenSagas, SagaStore as _,
};
use amends_core::Incarnation;

use super::StoreFactory;
use super::rows::{ME, OTHER, T0, accept, change, definition, ended, join, saga, start, step};

pub(super) const LEASE: Duration = Duration::from_secs(10);

pub(super) fn profile() -> NodeProfile {
    NodeProfile {
        build: Some("1.4.2+abc".to_owned()),
        host: Some("warehouse-7".to_owned()),
        definitions: vec![definition(), DefinitionRef { version: 2, digest: [9; 32], ..definition() }],
        lease: Some(LEASE),
    }
}

pub(super) async fn welcome(store: &impl NodeRegistry, incarnation: Incarnation, profile: &NodeProfile) {
    assert_eq!(store.introduce(incarnation, profile).await, Ok(Introduced::Welcome));
}

pub(super) async fn live(store: &impl NodeRegistry) -> Vec<NodeRow> {
    store.live_nodes().await.expect("it lists")
}

pub(super) fn me(profile: NodeProfile) -> NodeRow {
    NodeRow { incarnation: ME, node: "node".to_owned(), started_at: T0, profile }
}

pub async fn what_a_node_says_of_itself_is_read_back_and_may_be_said_again(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    assert_eq!(live(&store).await, [me(NodeProfile::default())], "it has said nothing yet");
    welcome(&store, ME, &profile()).await;
    assert_eq!(live(&store).await, [me(profile())]);
    let again = NodeProfile { build: None, definitions: Vec::new(), lease: Some(2 * LEASE), ..profile() };
    welcome(&store, ME, &again).await;
    assert_eq!(live(&store).await, [me(again)]);
}

pub async fn only_who_is_alive_introduces_itself_and_is_listed(factory: impl StoreFactory) {
    let store = factory.open().await;
    assert_eq!(store.introduce(ME, &profile()).await, Err(Fault::Fenced));
    join(&store).await;
    welcome(&store, ME, &profile()).await;
    store.leave(ME, T0).await.expect("it leaves");
    assert_eq!(live(&store).await, []);
    assert_eq!(store.introduce(ME, &profile()).await, Err(Fault::Fenced));
}

pub async fn whoever_joined_once_is_remembered(factory: impl StoreFactory) {
    let store = factory.open().await;
    assert_eq!(store.joined(ME).await, Ok(false));
    join(&store).await;
    assert_eq!((store.joined(ME).await, store.joined(OTHER).await), (Ok(true), Ok(false)));
    store.leave(ME, T0).await.expect("it leaves");
    assert_eq!(store.joined(ME).await, Ok(true), "after it is gone");
    let store = factory.reopen(store).await;
    assert_eq!(store.joined(ME).await, Ok(true), "and by the next process");
}

pub async fn open_sagas_are_counted_by_definition(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    assert_eq!(store.open_sagas().await, Ok(Vec::new()));
    let of = |n: u32, version, digest| {
        let mut commit = start(n);
        let new = commit.start.as_mut().expect("it is a start");
        new.definition = DefinitionRef { version, digest, ..definition() };
        commit
    };
    accept(&store, &[of(1, 1, [7; 32]), of(2, 2, [7; 32]), of(3, 1, [7; 32]), of(4, 1, [8; 32])]).await;
    accept(&store, &[of(5, 3, [7; 32]), of(6, 4, [7; 32])]).await;
    let turned = Commit { change: Some(change("compensating")), ..step(3, 2) };
    let done = Commit { change: Some(ended("completed")), ..step(5, 2) };
    accept(&store, &[turned, done]).await;
    store.set_aside(ME, saga(6), "unreadable", T0).await.expect("it sets aside");
    let open = |version, digest, sagas, oldest| OpenSagas {
        definition: DefinitionRef { version, digest, ..definition() },
        sagas,
        oldest: saga(oldest),
    };
    let expected = vec![open(1, [7; 32], 2, 1), open(1, [8; 32], 1, 4), open(2, [7; 32], 1, 2)];
    assert_eq!(store.open_sagas().await, Ok(expected));
}
