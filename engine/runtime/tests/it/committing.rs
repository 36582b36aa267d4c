//! What the committer does with commits that somebody else holds up, and with a store of several writers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use amends::core::Json;
use amends::engine::{OutcomeError, StopReason};
use amends::ports::SagaQuery as _;
use amends::{Outcome, StartOptions};

use crate::gate::GatedStore;
use crate::workflow::{Log, begin, builder, chain, done, engine, next_engine, pass, step, workflow};

#[tokio::test(start_paused = true)]
async fn a_start_whose_key_is_held_holds_up_nobody_and_begins_once_it_is_free() {
    let (store, log) = (GatedStore::new(), Log::default());
    store.held_keys.lock().unwrap().insert("held".to_owned());
    let engine = engine(&store, &chain(&log)).await;
    let waits = tokio::spawn({
        let engine = engine.clone();
        async move { begin(&engine, "held").await }
    });
    pass(Duration::from_secs(1)).await;
    for key in ["one", "two"] {
        assert!(matches!(begin(&engine, key).await.outcome().await, Ok(Outcome::Completed(_))));
    }
    assert!(!waits.is_finished());
    assert_eq!(log.lines().len(), 8, "nothing of the held one was sent");

    store.held_keys.lock().unwrap().clear();
    let saga = waits.await.unwrap();
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    assert_eq!(log.lines().len(), 12);
    assert_eq!(store.inner.stats().saga_inserts, 3);
}

#[tokio::test(start_paused = true)]
async fn what_is_held_is_tried_ever_more_rarely_and_in_batches_of_its_own() {
    let (store, log) = (GatedStore::new(), Log::default());
    store.held_keys.lock().unwrap().insert("held".to_owned());
    let engine = engine(&store, &chain(&log)).await;
    let waits = tokio::spawn({
        let engine = engine.clone();
        async move { engine.start_json("w", "held", Json::parse("1").unwrap(), StartOptions::default()).await }
    });
    let tries = |store: &GatedStore| store.batches.lock().unwrap().len();
    pass(Duration::from_secs(60)).await;
    let in_one_minute = tries(&store);
    assert!((10..=20).contains(&in_one_minute), "{in_one_minute}");
    pass(Duration::from_secs(60)).await;
    assert!((11..=13).contains(&(tries(&store) - in_one_minute)), "every five seconds from then on");
    assert!(store.batches.lock().unwrap().iter().all(|batch| batch.len() == 1));
    store.held_keys.lock().unwrap().clear();
    assert!(waits.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_transition_that_is_held_keeps_its_place_in_its_saga() {
    let (store, log) = (GatedStore::new(), Log::default());
    *store.held_seq.lock().unwrap() = Some(3);
    let engine = engine(&store, &chain(&log)).await;
    let saga = begin(&engine, "k").await;
    pass(Duration::from_secs(60)).await;
    assert_eq!(log.lines(), ["a", "b"], "the intent of c is not durable");
    let later = store.batches.lock().unwrap().iter().flatten().filter(|(_, seq)| *seq > 3).count();
    assert_eq!(later, 0, "nothing passes it in its own saga");
    *store.held_seq.lock().unwrap() = None;
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    assert_eq!(log.lines(), ["a", "b", "c", "d"]);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_does_not_wait_for_what_somebody_else_holds() {
    let (store, log) = (GatedStore::new(), Log::default());
    store.held_keys.lock().unwrap().insert("held".to_owned());
    let definition = chain(&log);
    let first = engine(&store, &definition).await;
    let waits = tokio::spawn({
        let engine = first.clone();
        async move { engine.start_json("w", "held", Json::parse("1").unwrap(), StartOptions::default()).await }
    });
    pass(Duration::from_secs(1)).await;
    first.shutdown(Duration::from_secs(5)).await.unwrap();
    assert!(matches!(first.stopped(), Some(StopReason::ShutDown)));
    assert!(waits.await.unwrap().is_err(), "it was not started");
    store.held_keys.lock().unwrap().clear();
    pass(Duration::from_secs(60)).await;
    assert_eq!(store.find("w", "held").await.unwrap(), None, "and never will be by an engine that is gone");
    let second = next_engine(&store, &definition).await;
    assert!(matches!(begin(&second, "held").await.outcome().await, Ok(Outcome::Completed(_))));
}

#[tokio::test(start_paused = true)]
async fn each_writer_has_one_batch_under_way_and_each_saga_keeps_its_writer() {
    const SAGAS: usize = 40;
    let (store, log) = (GatedStore::new(), Log::default());
    store.writers.store(3, Ordering::SeqCst);
    let engine = engine(&store, &chain(&log)).await;
    store.close();
    let begun: Vec<_> = (0..SAGAS)
        .map(|n| {
            let engine = engine.clone();
            tokio::spawn(async move { begin(&engine, &format!("k{n}")).await })
        })
        .collect();
    pass(Duration::from_secs(1)).await;
    assert_eq!(store.batches.lock().unwrap().len(), 3, "one for each writer, and no more");
    store.open();
    for saga in begun {
        assert!(matches!(saga.await.unwrap().outcome().await, Ok(Outcome::Completed(_))));
    }
    let batches = store.batches.lock().unwrap().clone();
    let mut next: BTreeMap<_, u64> = BTreeMap::new();
    for (saga, seq) in batches.iter().flatten() {
        let expected = next.entry(*saga).or_insert(1);
        assert_eq!(seq, expected, "the transitions of a saga come in order, each once");
        *expected += 1;
    }
    // Whoever shares a batch shares a writer: sagas fall into as many groups as there are writers.
    let mut groups: Vec<BTreeSet<_>> = Vec::new();
    for batch in &batches {
        let mut group: BTreeSet<_> = batch.iter().map(|(saga, _)| *saga).collect();
        let (shared, apart) = groups.into_iter().partition(|other: &BTreeSet<_>| !other.is_disjoint(&group));
        groups = apart;
        group.extend(Vec::into_iter(shared).flatten());
        groups.push(group);
    }
    assert_eq!(groups.len(), 3, "{groups:?}");
    assert_eq!(groups.iter().map(BTreeSet::len).sum::<usize>(), SAGAS);
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_is_not_answered_holds_up_no_other_writer() {
    let (store, log) = (GatedStore::new(), Log::default());
    store.writers.store(2, Ordering::SeqCst);
    let noted = log.clone();
    let slow = step("a", &log).runs(move |cx| {
        let log = noted.clone();
        async move {
            cx.clock().sleep_until(cx.clock().now() + Duration::from_secs(10)).await;
            log.note("a");
            done()
        }
    });
    let engine = builder(&store, &workflow(vec![slow])).start().await.unwrap();
    let mut sagas = Vec::new();
    for n in 0..10 {
        sagas.push(begin(&engine, &format!("k{n}")).await);
    }
    let before = store.batches.lock().unwrap().len();
    store.close();
    store.gate.add_permits(1); // the batch of one writer gets through, the other's does not
    pass(Duration::from_secs(11)).await;
    assert_eq!(store.batches.lock().unwrap().len() - before, 2);
    let mut ended = 0;
    for saga in &sagas {
        ended += usize::from(store.read(saga.id()).await.unwrap().unwrap().row.ended_at.is_some());
    }
    assert!((1..10).contains(&ended), "{ended} of one writer have ended, the others wait");
    store.open();
    for saga in sagas {
        let outcome: Result<_, OutcomeError> = saga.outcome().await;
        assert!(matches!(outcome, Ok(Outcome::Completed(_))));
    }
}
