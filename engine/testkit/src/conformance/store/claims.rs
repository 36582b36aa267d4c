//! Claims: who is due, who is not, and each to one claimer.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use amends::ports::{
    Claim, Commit, DefinitionRef, Release, SagaChange, SagaFilter, SagaQuery as _, SagaStore as _,
};
use amends_core::SagaId;

use super::StoreFactory;
use super::rows::{
    ME, T0, accept, change, claim, definition, item, join, put, read, release, saga, start, step,
};

/// Sagas `0..count`, released; saga `n` is due `n` microseconds after [`T0`].
async fn released(
    factory: &impl StoreFactory,
    count: u32,
) -> impl amends::ports::SagaStore + amends::ports::SagaQuery + Clone {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &(0..count).map(start).collect::<Vec<_>>()).await;
    let due = |n: u32| Some(T0 + Duration::from_micros(n.into()));
    accept(&store, &(0..count).map(|n| release(n, 2, due(n))).collect::<Vec<_>>()).await;
    store
}

pub async fn a_saga_is_due_from_its_wake_up_time_on(factory: impl StoreFactory) {
    let store = released(&factory, 6).await;
    let at = |n: u64| Claim { now: T0 + Duration::from_micros(n), ..claim(10) };
    let mut early = store.claim(&at(4)).await.expect("it claims");
    early.sort_unstable();
    assert_eq!(early, (0..=4).map(saga).collect::<Vec<_>>());
    let row = read(&store, 4).await.row;
    assert_eq!((row.owner, row.wake_at), (Some(ME), None), "a claimed saga is owned and not due");
    assert_eq!(store.claim(&at(5)).await.expect("it claims"), [saga(5)]);
    assert_eq!(store.claim(&at(9)).await.expect("it claims"), []);
}

pub async fn the_oldest_are_claimed_first_and_never_above_the_limit(factory: impl StoreFactory) {
    let store = released(&factory, 20).await;
    assert_eq!(store.claim(&claim(0)).await.expect("it claims"), []);
    let later = Claim { now: T0 + Duration::from_secs(1), ..claim(7) };
    let mut from = 0;
    for expected in [7, 7, 6, 0] {
        let mut claimed = store.claim(&later).await.expect("it claims");
        claimed.sort_unstable();
        assert_eq!(claimed, (from..from + expected).map(saga).collect::<Vec<_>>());
        from += expected;
    }
}

pub async fn concurrent_claims_take_each_saga_once(factory: impl StoreFactory) {
    let store = released(&factory, 500).await;
    let claimers: Vec<_> = (0..4)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut taken: Vec<SagaId> = Vec::new();
                loop {
                    let due = Claim { now: T0 + Duration::from_secs(1), ..claim(32) };
                    let claimed = store.claim(&due).await.expect("it claims");
                    assert!(claimed.len() <= 32, "{} claimed", claimed.len());
                    if claimed.is_empty() {
                        return taken;
                    }
                    taken.extend(claimed);
                }
            })
        })
        .collect();
    let mut all = Vec::new();
    for claimer in claimers {
        all.extend(claimer.await.expect("no panic"));
    }
    assert_eq!(all.len(), 500);
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>().len(), 500, "none twice");
}

pub async fn only_registered_definitions_are_claimed(factory: impl StoreFactory) {
    let store = released(&factory, 1).await;
    let others: [DefinitionRef; 3] = [
        DefinitionRef { workflow: Arc::from("payment"), ..definition() },
        DefinitionRef { version: 2, ..definition() },
        DefinitionRef { digest: [9; 32], ..definition() },
    ];
    let of = |definitions: &[DefinitionRef]| Claim { definitions: Arc::from(definitions), ..claim(10) };
    assert_eq!(store.claim(&of(&[])).await.expect("it claims"), []);
    assert_eq!(store.claim(&of(&others)).await.expect("it claims"), []);
    let one = Claim { only: Some(saga(0)), ..of(&others) };
    assert_eq!(store.claim(&one).await.expect("it claims"), []);
    let all = [&others[..], &[definition()]].concat();
    assert_eq!(store.claim(&of(&all)).await.expect("it claims"), [saga(0)]);
}

pub async fn one_saga_can_be_claimed_due_or_not(factory: impl StoreFactory) {
    let store = released(&factory, 3).await;
    accept(&store, &[start(7)]).await;
    let only = |n: u32| Claim { only: Some(saga(n)), ..claim(10) };
    assert_eq!(store.claim(&only(2)).await.expect("it claims"), [saga(2)], "due in the future");
    assert_eq!(store.claim(&only(2)).await.expect("it claims"), [], "owned now");
    assert_eq!(store.claim(&only(7)).await.expect("it claims"), [], "owned since its start");
    assert_eq!(store.claim(&only(99)).await.expect("it claims"), [], "unknown");
    assert_eq!(store.claim(&claim(10)).await.expect("it claims"), [saga(0)], "the others are untouched");
}

pub async fn a_release_of_what_is_not_mine_moves_only_the_phase(factory: impl StoreFactory) {
    let store = released(&factory, 1).await;
    let again = SagaChange {
        release: Some(Release { wake_at: Some(T0 + Duration::from_secs(9)) }),
        open_actions: 3,
        ..change("compensating")
    };
    accept(&store, &[Commit { change: Some(again), ..step(0, 3) }]).await;
    let row = read(&store, 0).await.row;
    assert_eq!((row.phase.as_str(), row.open_actions), ("compensating", 3), "the phase follows the journal");
    assert_eq!((row.owner, row.wake_at), (None, Some(T0)), "the wake-up time of who released it stands");
}

pub async fn an_ended_saga_is_always_released(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1), start(2)]).await;
    let end = |release| SagaChange { ended_at: Some(T0), release, ..change("completed") };
    let open = Some(Release { wake_at: Some(T0) });
    accept(
        &store,
        &[
            Commit { change: Some(end(None)), ..step(1, 2) },
            Commit { change: Some(SagaChange { open_actions: 1, ..end(open) }), ..step(2, 2) },
        ],
    )
    .await;
    let (settled, open) = (read(&store, 1).await.row, read(&store, 2).await.row);
    assert_eq!((settled.owner, settled.wake_at, settled.ended_at), (None, None, Some(T0)));
    assert_eq!((open.owner, open.wake_at, open.open_actions), (None, Some(T0), 1));
    let claimed = store.claim(&claim(10)).await.expect("it claims");
    assert_eq!(claimed, [saga(2)], "an open action keeps an ended saga claimable");
}

pub async fn an_ended_saga_with_open_actions_is_kept_until_it_is_released(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    let end = |open_actions, release| {
        Some(SagaChange { ended_at: Some(T0), open_actions, release, ..change("completed") })
    };
    accept(&store, &[Commit { change: end(1, None), ..step(1, 2) }]).await;
    let row = read(&store, 1).await.row;
    assert_eq!((row.owner, row.open_actions, row.ended_at), (Some(ME), 1, Some(T0)));
    let release = Some(Release { wake_at: None });
    accept(&store, &[Commit { change: end(1, release), ..step(1, 3) }]).await;
    assert_eq!(read(&store, 1).await.row.owner, None);
    let only = Claim { only: Some(saga(1)), ..claim(1) };
    assert_eq!(store.claim(&only).await.expect("it claims"), [saga(1)], "taken again for what is open");
    accept(&store, &[Commit { change: end(0, None), ..step(1, 4) }]).await;
    assert_eq!(read(&store, 1).await.row.owner, None, "nothing is open: it is always released");
}

pub async fn a_saga_released_without_time_is_not_due(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    accept(&store, &[release(1, 2, None)]).await;
    let ever = Claim { now: T0 + Duration::from_secs(1_000_000), ..claim(10) };
    assert_eq!(store.claim(&ever).await.expect("it claims"), []);
    assert_eq!(store.claim(&Claim { only: Some(saga(1)), ..ever }).await.expect("it claims"), [saga(1)]);
}

pub async fn a_saga_set_aside_is_listed_and_never_claimed(factory: impl StoreFactory) {
    let store = released(&factory, 2).await;
    let with_item = Commit { items: vec![put(item("reserve/forward", 1))], ..step(0, 3) };
    accept(&store, &[with_item, start(5)]).await;
    store.set_aside(ME, saga(0), "row 2 is not JSON", T0).await.expect("it is set aside");
    store.set_aside(ME, saga(5), "no definition", T0).await.expect("an owned one, too");
    store.set_aside(ME, saga(0), "another reason", T0).await.expect("twice is no mistake");
    store.set_aside(ME, saga(77), "unknown", T0).await.expect("nor is one that does not exist");

    let ever = Claim { now: T0 + Duration::from_secs(1), ..claim(10) };
    assert_eq!(store.claim(&ever).await.expect("it claims"), [saga(1)]);
    for n in [0, 5] {
        assert_eq!(store.claim(&Claim { only: Some(saga(n)), ..claim(10) }).await.expect("it claims"), []);
    }
    let rows = store.list(&SagaFilter { limit: 10, ..SagaFilter::default() }).await.expect("it lists");
    let aside: Vec<_> = rows.iter().map(|row| (row.id, row.owner, row.set_aside.as_deref())).collect();
    assert_eq!(
        aside,
        [
            (saga(0), None, Some("row 2 is not JSON")),
            (saga(1), Some(ME), None),
            (saga(5), None, Some("no definition")),
        ]
    );
    assert_eq!(store.desk(10).await.expect("it reads the desk").len(), 1, "its desk entries stay");
}
