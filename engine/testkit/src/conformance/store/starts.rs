//! Starts: one saga per workflow and key, whoever starts it, however often.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use std::sync::Arc;

use amends::ports::{Commit, Release, SagaChange, SagaFilter, SagaQuery as _, SagaStore as _, Verdict};
use amends_core::SagaId;

use super::StoreFactory;
use super::rows::{ME, T0, accept, change, everything, item, join, put, read, saga, start, step};

/// Saga `n` started under the key of saga `of`.
fn start_under_key_of(n: u32, of: u32) -> Commit {
    let mut commit = start(n);
    commit.start.as_mut().expect("a start").key = Arc::from(format!("order-{of}"));
    commit
}

pub async fn a_saga_is_born_owned_running_and_not_due(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    let row = read(&store, 1).await.row;
    assert_eq!((row.owner, row.phase.as_str(), row.wake_at), (Some(ME), "running", None));
    assert_eq!((row.open_actions, row.outcome, row.ended_at, row.set_aside), (0, None, None, None));
    assert_eq!(store.find("order", "order-1").await.expect("it reads").map(|row| row.id), Some(saga(1)));
}

pub async fn the_same_start_twice_at_once_is_one_saga(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    for n in 0..100 {
        let (a, b) = (store.clone(), store.clone());
        let first = tokio::spawn(async move { a.commit(ME, &[start(n)]).await });
        let second = tokio::spawn(async move { b.commit(ME, &[start(n)]).await });
        for verdicts in [first.await, second.await] {
            assert_eq!(verdicts.expect("no panic").expect("it commits"), [Verdict::Accepted]);
        }
    }
    let counts = store.counts().await.expect("it counts");
    assert_eq!((counts.sagas, counts.journal_rows), (100, 100));
}

pub async fn a_taken_key_names_its_holder(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    let end = SagaChange { outcome: Some("refused".to_owned()), ended_at: Some(T0), ..change("compensated") };
    accept(&store, &[Commit { change: Some(end), ..step(1, 2) }]).await;
    let before = everything(&store).await;

    let verdicts = store.commit(ME, &[start_under_key_of(2, 1)]).await.expect("it answers");
    let [Verdict::KeyTaken(holder)] = &verdicts[..] else { panic!("{verdicts:?}") };
    assert_eq!(**holder, read(&store, 1).await.row);
    assert_eq!(everything(&store).await, before);
}

pub async fn two_starts_of_one_key_in_one_batch_make_one_saga(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    let batch = [start(0), start(1), start_under_key_of(2, 1), start(3)];
    let verdicts = store.commit(ME, &batch).await.expect("it answers");
    let [Verdict::Accepted, one, two, Verdict::Accepted] = &verdicts[..] else { panic!("{verdicts:?}") };
    let holder = store.find("order", "order-1").await.expect("it reads").expect("one of them stands");
    match (one, two) {
        (Verdict::Accepted, Verdict::KeyTaken(row)) => assert_eq!((&holder, holder.id), (&**row, saga(1))),
        (Verdict::KeyTaken(row), Verdict::Accepted) => assert_eq!((&holder, holder.id), (&**row, saga(2))),
        other => panic!("{other:?}"),
    }
    assert_eq!(store.counts().await.expect("it counts").journal_rows, 3);
}

pub async fn a_repeated_start_of_a_saga_that_went_on_is_accepted(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    accept(&store, &[Commit { change: Some(change("compensating")), ..step(1, 2) }]).await;
    let before = everything(&store).await;
    accept(&store, &[start(1)]).await;
    assert_eq!(everything(&store).await, before);
}

pub async fn racing_starters_make_one_saga_per_key(factory: impl StoreFactory) {
    const KEYS: u32 = 400;
    let store = factory.open().await;
    join(&store).await;
    let racers = (0..4).map(|racer| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut held: Vec<(u32, SagaId)> = Vec::new();
            for from in (0..KEYS).step_by(50) {
                let batch: Vec<Commit> =
                    (from..from + 50).map(|key| start_under_key_of((racer + 1) * 1_000 + key, key)).collect();
                let verdicts = store.commit(ME, &batch).await.expect("it commits");
                for ((key, commit), verdict) in (from..).zip(&batch).zip(verdicts) {
                    held.push((
                        key,
                        match verdict {
                            Verdict::Accepted => commit.saga,
                            Verdict::KeyTaken(row) => row.id,
                            other => panic!("{other:?}"),
                        },
                    ));
                }
            }
            held
        })
    });
    let racers: Vec<_> = racers.collect();
    for racer in racers {
        for (key, holder) in racer.await.expect("no panic") {
            let row = store.find("order", &format!("order-{key}")).await.expect("it reads");
            assert_eq!(row.map(|row| row.id), Some(holder), "every racer was told the same holder of {key}");
        }
    }
    let counts = store.counts().await.expect("it counts");
    assert_eq!((counts.sagas, counts.journal_rows), (KEYS.into(), KEYS.into()));
}

pub async fn a_key_is_unique_within_its_workflow_only(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    let mut other = start_under_key_of(2, 1);
    other.start.as_mut().expect("a start").definition.workflow = Arc::from("payment");
    accept(&store, &[start(1), other]).await;
    let page = SagaFilter { workflow: Some("payment".to_owned()), limit: 10, ..SagaFilter::default() };
    let rows = store.list(&page).await.expect("it lists");
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), [saga(2)]);
}

pub async fn a_start_shows_what_its_first_transition_changed(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    let end = SagaChange { outcome: Some("refused".to_owned()), ended_at: Some(T0), ..change("compensated") };
    let turned =
        SagaChange { outcome: Some("deadline".to_owned()), open_actions: 1, ..change("compensating") };
    let wait = Some(Release { wake_at: Some(T0) });
    let batch = [
        start(0),
        Commit { change: Some(end), ..start(1) },
        Commit { change: Some(turned), items: vec![put(item("a/forward", 1))], ..start(2) },
        Commit { change: Some(SagaChange { release: wait, ..change("running") }), ..start(3) },
    ];
    accept(&store, &batch).await;
    accept(&store, &batch).await;
    let mut found = Vec::new();
    for n in 0..4 {
        let row = read(&store, n).await.row;
        found.push((row.phase, row.outcome, row.open_actions, row.ended_at, row.owner, row.wake_at));
    }
    let row = |phase: &str, outcome: Option<&str>, open, ended, owner, wake| {
        (phase.to_owned(), outcome.map(str::to_owned), open, ended, owner, wake)
    };
    let expected = [
        row("running", None, 0, None, Some(ME), None),
        row("compensated", Some("refused"), 0, Some(T0), None, None),
        row("compensating", Some("deadline"), 1, None, Some(ME), None),
        row("running", None, 0, None, None, Some(T0)),
    ];
    assert_eq!(found, expected);
    assert_eq!(store.desk(10).await.expect("it reads the desk").len(), 1);
}
