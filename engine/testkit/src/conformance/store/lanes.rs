//! Lanes of the outbox, shared by nodes as sagas are.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use amends::ports::{
    NodeStore as _, OUTBOX_LANES, OutboxKind, OutboxPlace, OutboxStore as _, SagaStore as _, Store, lane_of,
};
use amends_core::{Incarnation, Timestamp};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::SharedStoreFactory;
use super::rows::{ME, OTHER, T0, accept, dismiss, join, saga, start, step_with};

const LATER: Timestamp = Timestamp(T0.0 + 1_000);

async fn two_nodes<F: SharedStoreFactory>(factory: &F) -> F::Store {
    let store = factory.open_shared().await;
    join(&store).await;
    store.join(OTHER, "another", T0).await.expect("it joins");
    store
}

async fn claim(store: &impl Store, incarnation: Incarnation) -> Vec<u16> {
    store.claim_lanes(incarnation).await.expect("it claims")
}

fn all_lanes() -> Vec<u16> {
    (0..OUTBOX_LANES).collect()
}

pub async fn nodes_share_the_lanes_evenly(factory: impl SharedStoreFactory) {
    let store = two_nodes(&factory).await;
    assert_eq!(claim(&store, ME).await, all_lanes(), "who never asks has no share");
    assert!(claim(&store, OTHER).await.is_empty(), "nothing is taken away");
    let half = usize::from(OUTBOX_LANES) / 2;
    let mut mine = claim(&store, ME).await;
    assert_eq!(mine.len(), half, "what is more than a share is given back");
    let theirs = claim(&store, OTHER).await;
    assert_eq!(theirs.len(), half);
    assert_eq!(claim(&store, ME).await, mine, "and so it stays");
    mine.extend(theirs);
    mine.sort_unstable();
    assert_eq!(mine, all_lanes());
}

pub async fn racing_nodes_own_each_lane_once(factory: impl SharedStoreFactory) {
    let store = factory.open_shared().await;
    let nodes: Vec<Incarnation> = (1..6).map(|n| Incarnation(Uuid::from_u128(0x1_0000 + n))).collect();
    for node in &nodes {
        store.join(*node, "one of many", T0).await.expect("it joins");
    }
    for _ in 0..3 {
        let mut racing = JoinSet::new();
        for node in nodes.clone() {
            let store = store.clone();
            racing.spawn(async move { claim(&store, node).await.len() });
        }
        racing.join_all().await;
    }
    let mut owned = Vec::new();
    for node in &nodes {
        let lanes = claim(&store, *node).await;
        assert!(lanes.len() <= usize::from(OUTBOX_LANES).div_ceil(nodes.len()), "{lanes:?}");
        owned.extend(lanes);
    }
    owned.sort_unstable();
    assert_eq!(owned, all_lanes());
}

pub async fn lanes_of_the_dismissed_are_released_with_their_sagas(factory: impl SharedStoreFactory) {
    let store = two_nodes(&factory).await;
    claim(&store, ME).await;
    dismiss(&store, ME, LATER).await;
    assert!(claim(&store, OTHER).await.is_empty(), "not before they are released");
    assert_eq!(store.release_orphans(LATER, 10).await, Ok(0), "it had no saga");
    assert_eq!(claim(&store, OTHER).await, all_lanes());
}

pub async fn who_leaves_gives_its_lanes_up(factory: impl SharedStoreFactory) {
    let store = two_nodes(&factory).await;
    claim(&store, ME).await;
    store.leave(ME, LATER).await.expect("it leaves");
    assert_eq!(claim(&store, OTHER).await, all_lanes());
}

pub async fn who_lost_a_lane_removes_nothing_of_it(factory: impl SharedStoreFactory) {
    let store = two_nodes(&factory).await;
    claim(&store, ME).await;
    accept(&store, &(0..64).map(start).collect::<Vec<_>>()).await;
    accept(&store, &(0..64).map(|n| step_with(n, 2, &[OutboxKind::Event])).collect::<Vec<_>>()).await;
    claim(&store, OTHER).await;
    let mine = claim(&store, ME).await;
    let theirs = claim(&store, OTHER).await;

    let everything: Vec<OutboxPlace> =
        (0..64).map(|n| OutboxPlace { kind: OutboxKind::Event, saga: saga(n), seq: 2, n: 0 }).collect();
    let in_lanes = |lanes: &[u16]| everything.iter().filter(|at| lanes.contains(&lane_of(at.saga))).count();
    let lost = everything.iter().find(|at| theirs.contains(&lane_of(at.saga))).expect("they have half");
    store.note_refusal(ME, *lost, "too late", LATER).await.expect("it is no mistake");
    assert_eq!(store.outbox(10).await.expect("it counts").refused, []);
    let removed = store.remove_published(ME, &everything).await.expect("it removes");
    assert_eq!(removed as usize, in_lanes(&mine));
    let left = store.unpublished(OTHER, OutboxKind::Event, LATER, 1_000).await.expect("it reads");
    assert_eq!(left.len(), in_lanes(&theirs));
    assert!(!mine.is_empty() && !left.is_empty(), "each has some");
}
