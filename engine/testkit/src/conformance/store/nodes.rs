//! Many nodes: each beats, anybody may dismiss who does not, and orphans are released while others work.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use std::time::Duration;

use amends::ports::{Claim, Commit, Fault, NodeStore as _, SagaStore as _, Sharing, Store, Verdict};
use amends_core::{Incarnation, SagaId, Timestamp};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::SharedStoreFactory;
use super::rows::{
    ME, OTHER, T0, accept, claim, dismiss, everything, join, read, release, saga, start, step,
    step_with_everything,
};

const LATER: Timestamp = Timestamp(T0.0 + 1_000);

/// For a beat that nothing holds up, however busy the machine.
const SOON: Duration = Duration::from_secs(20);

fn assert_fenced<T: std::fmt::Debug>(answer: Result<T, Fault>) {
    assert!(matches!(answer, Err(Fault::Fenced)), "{answer:?}");
}

/// [`ME`] and [`OTHER`] have joined.
async fn two_nodes<F: SharedStoreFactory>(factory: &F) -> F::Store {
    let store = factory.open_shared().await;
    assert_eq!(store.sharing(), Sharing::Shared);
    join(&store).await;
    store.join(OTHER, "another", T0).await.expect("it joins");
    store
}

async fn accept_as(store: &impl Store, incarnation: Incarnation, batch: &[Commit]) {
    let verdicts = store.commit(incarnation, batch).await.expect("it commits");
    assert_eq!(verdicts, vec![Verdict::Accepted; batch.len()]);
}

async fn beats(store: &impl Store) -> Vec<(Incarnation, u64)> {
    store.peers().await.expect("it lists").into_iter().map(|peer| (peer.incarnation, peer.beat)).collect()
}

async fn mine(store: &impl Store, incarnation: Incarnation) -> Vec<SagaId> {
    store.mine(incarnation, None, 1_000).await.expect("it lists")
}

async fn release_all(store: &impl Store) -> u32 {
    let mut all = 0;
    loop {
        let released = store.release_orphans(LATER, 7).await.expect("it releases");
        assert!(released <= 7, "{released} at once");
        all += released;
        if released == 0 {
            return all;
        }
    }
}

pub async fn joining_leaves_the_others_alone(factory: impl SharedStoreFactory) {
    let store = factory.open_shared().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    store.join(OTHER, "another", LATER).await.expect("it joins");
    store.join(OTHER, "another", LATER).await.expect("the answer of the first may have been lost");

    accept(&store, &[step(1, 2)]).await;
    accept_as(&store, OTHER, &[start(2)]).await;
    assert_eq!((mine(&store, ME).await, mine(&store, OTHER).await), (vec![saga(1)], vec![saga(2)]));
    let peers = store.peers().await.expect("it lists");
    let names: Vec<_> = peers.iter().map(|peer| (peer.incarnation, peer.node.as_str())).collect();
    assert_eq!(names, [(ME, "node"), (OTHER, "another")]);
}

pub async fn a_beat_moves_my_counter_and_no_other(factory: impl SharedStoreFactory) {
    let store = two_nodes(&factory).await;
    let before = beats(&store).await;
    let first = store.beat(ME, SOON).await.expect("it beats");
    let second = store.beat(ME, SOON).await.expect("it beats");
    assert!(before[0].1 < first && first < second, "{before:?}, {first}, {second}");
    store.join(ME, "node", LATER).await.expect("joining again moves nothing back");
    assert_eq!(beats(&store).await, [(ME, second), before[1]]);
}

pub async fn who_never_joined_cannot_beat(factory: impl SharedStoreFactory) {
    let store = factory.open_shared().await;
    assert_fenced(store.beat(ME, SOON).await);
    assert_eq!(beats(&store).await, []);
}

pub async fn a_dismissed_incarnation_does_nothing_any_more(factory: impl SharedStoreFactory) {
    let store = two_nodes(&factory).await;
    accept(&store, &[start(1), start(2)]).await;
    accept(&store, &[release(2, 2, Some(T0))]).await;
    dismiss(&store, ME, LATER).await;
    let before = everything(&store).await;

    assert_fenced(store.commit(ME, &[step_with_everything(1, 2, 0), start(3)]).await);
    assert_fenced(store.claim(&claim(10)).await);
    assert_fenced(store.beat(ME, SOON).await);
    assert_fenced(store.set_aside(ME, saga(1), "unreadable", LATER).await);
    assert_fenced(store.join(ME, "node", LATER).await);
    assert_eq!(everything(&store).await, before);
    let peers: Vec<Incarnation> = beats(&store).await.into_iter().map(|(peer, _)| peer).collect();
    assert_eq!(peers, [OTHER]);
}

pub async fn a_counter_that_moved_saves_its_node(factory: impl SharedStoreFactory) {
    let store = two_nodes(&factory).await;
    accept(&store, &[start(1)]).await;
    let seen = beats(&store).await[0].1;
    let moved = store.beat(ME, SOON).await.expect("it beats");
    assert!(!store.dismiss(ME, seen, LATER).await.expect("it looks"));
    assert!(!store.dismiss(Incarnation(Uuid::from_u128(9)), 0, LATER).await.expect("nobody is nobody"));
    accept(&store, &[step(1, 2)]).await;
    assert_eq!(release_all(&store).await, 0);
    assert!(store.dismiss(ME, moved, LATER).await.expect("it dismisses"));
    assert!(!store.dismiss(ME, moved, LATER).await.expect("and not twice"));
}

pub async fn of_many_dismissals_one_counts(factory: impl SharedStoreFactory) {
    let store = two_nodes(&factory).await;
    let seen = beats(&store).await[0].1;
    let mut nodes = JoinSet::new();
    for _ in 0..8 {
        let store = store.clone();
        nodes.spawn(async move { store.dismiss(ME, seen, LATER).await });
    }
    let answers: Vec<bool> =
        nodes.join_all().await.into_iter().map(|answer| answer.expect("it looks")).collect();
    assert_eq!(answers.iter().filter(|dismissed| **dismissed).count(), 1, "{answers:?}");
}

pub async fn a_batch_beside_a_dismissal_is_whole_or_nothing(factory: impl SharedStoreFactory) {
    let store = two_nodes(&factory).await;
    for round in 0..16_u32 {
        let node = Incarnation(Uuid::from_u128(0x1_0000 + u128::from(round)));
        store.join(node, "short-lived", T0).await.expect("it joins");
        let first = 100 * round;
        let batch: Vec<Commit> = (first..first + 20).map(start).collect();
        let writer = {
            let store = store.clone();
            tokio::spawn(async move { store.commit(node, &batch).await })
        };
        dismiss(&store, node, LATER).await;
        // Whatever was open has ended: what is mine now is all there will ever be.
        let after_dismissal = mine(&store, node).await.len();
        let written = match writer.await.expect("it returns") {
            Ok(verdicts) => verdicts.iter().filter(|verdict| **verdict == Verdict::Accepted).count(),
            Err(Fault::Fenced) => 0,
            Err(fault) => panic!("{fault}"),
        };
        assert!(matches!(written, 0 | 20), "{written} of 20");
        assert_eq!(after_dismissal, written, "a batch was written after the dismissal had returned");
    }
}

pub async fn the_sagas_of_the_dismissed_stay_theirs_until_released(factory: impl SharedStoreFactory) {
    let store = two_nodes(&factory).await;
    accept(&store, &[start(1)]).await;
    dismiss(&store, ME, LATER).await;
    let due = Claim { incarnation: OTHER, now: LATER, ..claim(10) };
    assert_eq!(store.claim(&due).await.expect("it claims"), []);
    assert_eq!(store.claim(&Claim { only: Some(saga(1)), ..due.clone() }).await.expect("it claims"), []);
    assert_eq!(release_all(&store).await, 1);
    assert_eq!(store.claim(&due).await.expect("it claims"), [saga(1)]);
    accept_as(&store, OTHER, &[step(1, 2)]).await;
}

pub async fn orphans_are_released_in_chunks_beside_live_owners(factory: impl SharedStoreFactory) {
    let store = two_nodes(&factory).await;
    accept(&store, &(0..25).map(start).collect::<Vec<_>>()).await;
    accept_as(&store, OTHER, &(100..110).map(start).collect::<Vec<_>>()).await;
    let ended = Commit { change: Some(super::rows::ended("completed")), ..step(24, 2) };
    accept(&store, &[ended, release(23, 2, None)]).await;
    dismiss(&store, ME, LATER).await;

    for expected in [10, 10, 3, 0] {
        assert_eq!(store.release_orphans(LATER, 10).await.expect("it releases"), expected);
        accept_as(&store, OTHER, &[start(200 + expected)]).await;
    }
    for n in 0..23 {
        let row = read(&store, n).await.row;
        assert_eq!((row.owner, row.wake_at), (None, Some(LATER)), "saga {n}");
    }
    for n in [23, 24] {
        let row = read(&store, n).await.row;
        assert_eq!((row.owner, row.wake_at), (None, None), "saga {n} was nobody's");
    }
    assert_eq!(mine(&store, OTHER).await.len(), 13, "a live owner keeps what it has");
}

pub async fn many_nodes_release_each_orphan_once(factory: impl SharedStoreFactory) {
    let store = two_nodes(&factory).await;
    accept(&store, &(0..100).map(start).collect::<Vec<_>>()).await;
    dismiss(&store, ME, LATER).await;
    let mut nodes = JoinSet::new();
    for _ in 0..4 {
        let store = store.clone();
        nodes.spawn(async move {
            let (mut released, mut claimed) = (0, Vec::new());
            while claimed.len() + usize::try_from(released).expect("it is small") < 200 {
                let some = store.release_orphans(LATER, 7).await.expect("it releases");
                let due = Claim { incarnation: OTHER, now: LATER, ..claim(5) };
                let taken = store.claim(&due).await.expect("it claims");
                if some == 0 && taken.is_empty() {
                    break;
                }
                released += some;
                claimed.extend(taken);
            }
            (released, claimed)
        });
    }
    let done = nodes.join_all().await;
    // A chunk that another node had locked may have been left over by the last one to look.
    let rest = release_all(&store).await;
    assert_eq!(done.iter().map(|(released, _)| *released).sum::<u32>() + rest, 100);
    let mut claimed: Vec<SagaId> = done.into_iter().flat_map(|(_, claimed)| claimed).collect();
    let number = claimed.len();
    claimed.sort_unstable();
    claimed.dedup();
    assert_eq!(claimed.len(), number, "a saga was claimed twice");
    assert_eq!(mine(&store, OTHER).await, claimed);
}

pub async fn leaving_hands_over_what_is_mine_and_nothing_else(factory: impl SharedStoreFactory) {
    let store = two_nodes(&factory).await;
    accept(&store, &[start(1)]).await;
    accept_as(&store, OTHER, &[start(2)]).await;
    store.leave(ME, LATER).await.expect("it leaves");
    let (left, stays) = (read(&store, 1).await.row, read(&store, 2).await.row);
    assert_eq!((left.owner, left.wake_at), (None, Some(LATER)));
    assert_eq!((stays.owner, stays.wake_at), (Some(OTHER), None));
    assert_fenced(store.beat(ME, SOON).await);
}

pub async fn what_another_node_owns_cannot_be_set_aside(factory: impl SharedStoreFactory) {
    let store = two_nodes(&factory).await;
    accept(&store, &[start(1), start(2)]).await;
    store.set_aside(OTHER, saga(1), "unreadable to the other", LATER).await.expect("it is no mistake");
    let row = read(&store, 1).await.row;
    assert_eq!((row.owner, row.set_aside), (Some(ME), None));
    accept(&store, &[step(1, 2), release(2, 2, None)]).await;
    store.set_aside(OTHER, saga(2), "unreadable", LATER).await.expect("what is nobody's can be");
    assert_eq!(read(&store, 2).await.row.set_aside.as_deref(), Some("unreadable"));
}

pub async fn my_sagas_are_listed_in_pages(factory: impl SharedStoreFactory) {
    let store = two_nodes(&factory).await;
    accept(&store, &(0..5).map(start).collect::<Vec<_>>()).await;
    accept_as(&store, OTHER, &[start(50)]).await;
    let ended = Commit { change: Some(super::rows::ended("completed")), ..step(1, 2) };
    accept(&store, &[ended, release(2, 2, Some(T0))]).await;
    let page = async |after| store.mine(ME, after, 2).await.expect("it lists");
    assert_eq!(page(None).await, [saga(0), saga(3)]);
    assert_eq!(page(Some(saga(3))).await, [saga(4)]);
    assert_eq!(page(Some(saga(4))).await, []);
    store.claim(&claim(10)).await.expect("it claims, and the answer is lost");
    assert_eq!(mine(&store, ME).await, [saga(0), saga(2), saga(3), saga(4)]);
}

pub async fn a_clock_that_ran_ahead_is_mended_in_chunks(factory: impl SharedStoreFactory) {
    let (minute, hour) = (Duration::from_secs(60), Duration::from_secs(3_600));
    let store = two_nodes(&factory).await;
    accept(&store, &(0..6).map(start).collect::<Vec<_>>()).await;
    let set_at = |n: u32, at: Timestamp, wake_at: Timestamp| {
        let mut commit = release(n, 2, Some(wake_at));
        commit.journal.at = at;
        commit
    };
    let mut commits: Vec<Commit> = (0..3).map(|n| set_at(n, T0 + hour, T0 + 2 * hour)).collect();
    commits.push(set_at(3, T0 + minute, T0 + 2 * hour)); // within the tolerance
    commits.push(set_at(4, T0, T0 + 2 * hour));
    accept(&store, &commits).await;

    for expected in [2, 1, 0] {
        assert_eq!(store.mend_clock(T0, minute, 2).await.expect("it mends"), expected);
    }
    let mut wakes = Vec::new();
    for n in 0..6 {
        wakes.push(read(&store, n).await.row.wake_at);
    }
    let (now, asleep) = (Some(T0), Some(T0 + 2 * hour));
    assert_eq!(wakes, [now, now, now, asleep, asleep, None]);
    assert_eq!(read(&store, 5).await.row.owner, Some(ME), "an owned saga has no wake-up time");
}
