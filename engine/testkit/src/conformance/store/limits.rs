//! Limits: content that no store takes is refused alone, for ever, and without a trace.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use std::sync::Arc;

use amends::ports::{
    Commit, CompensationChange, ItemChange, SagaChange, SagaStore as _, StoreCounts, VERSION_MAX, Verdict,
};

use super::StoreFactory;
use super::rows::{ME, T0, accept, change, everything, item, join, put, request, saga, start, step};

/// `commit` alone is refused twice with the same reason, and writes nothing.
async fn refused(store: &impl amends::ports::Store, commit: Commit) -> String {
    let before = everything(store).await;
    let batch = [commit];
    let first = store.commit(ME, &batch).await.expect("it answers");
    let again = store.commit(ME, &batch).await.expect("it answers");
    assert_eq!(first, again);
    let [Verdict::Unstorable { reason }] = &first[..] else { panic!("{first:?} of {batch:?}") };
    assert_eq!(everything(store).await, before);
    reason.clone()
}

pub async fn nul_is_refused_wherever_it_stands(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    let nul = || "a\0b".to_owned();
    let mut with =
        vec![start(2), start(2), step(1, 2), step(1, 2), step(1, 2), step(1, 2), step(1, 2), step(1, 2)];
    with[0].start.as_mut().expect("a start").key = Arc::from(nul());
    with[1].start.as_mut().expect("a start").definition.workflow = Arc::from(nul());
    with[2].journal.events = nul();
    with[3].journal.actor = Arc::from(nul());
    with[4].change = Some(SagaChange { outcome: Some(nul()), ..change("running") });
    let mut named = item("a/forward", 1);
    named.error_code = Some(nul());
    with[5].items = vec![put(item("b/forward", 1)), put(named)];
    with[6].items = vec![ItemChange::Remove(nul())];
    with[7].compensations = vec![CompensationChange::Ended { id: request(1), ended_at: T0, result: nul() }];
    for commit in with {
        let reason = refused(&store, commit).await;
        assert!(reason.contains("NUL at byte 1"), "{reason}");
    }
}

pub async fn one_unstorable_commit_among_255_stands_alone(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &(0..255).map(start).collect::<Vec<_>>()).await;
    let mut batch: Vec<Commit> = (0..255).map(|n| step(n, 2)).collect();
    batch[100].journal.events = "[\"\0\"]".to_owned();
    let verdicts = store.commit(ME, &batch).await.expect("it commits");
    for (n, verdict) in verdicts.iter().enumerate() {
        assert_eq!(matches!(verdict, Verdict::Unstorable { .. }), n == 100, "{n}: {verdict:?}");
    }
    let all = everything(&store).await;
    assert_eq!(all.counts.journal_rows, 255 + 254);
    let short: Vec<_> =
        all.sagas.iter().filter(|loaded| loaded.journal.len() == 1).map(|loaded| loaded.row.id).collect();
    assert_eq!(short, [saga(100)]);
}

pub async fn a_key_of_512_bytes_is_the_longest(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    let with_key = |n: u32, key: String| {
        let mut commit = start(n);
        commit.start.as_mut().expect("a start").key = Arc::from(key);
        commit
    };
    accept(&store, &[with_key(1, "ä".repeat(256))]).await;
    let reason = refused(&store, with_key(2, format!("{}x", "ä".repeat(256)))).await;
    assert!(reason.contains("513 bytes"), "{reason}");
}

pub async fn a_version_of_31_bits_is_the_greatest(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    let of_version = |n: u32, version: u32| {
        let mut commit = start(n);
        commit.start.as_mut().expect("a start").definition.version = version;
        commit
    };
    accept(&store, &[of_version(1, VERSION_MAX)]).await;
    assert_eq!(everything(&store).await.sagas[0].row.definition.version, VERSION_MAX);
    let reason = refused(&store, of_version(2, VERSION_MAX + 1)).await;
    assert!(reason.contains("2147483648"), "{reason}");
}

pub async fn a_sequence_and_its_start_belong_together(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    refused(&store, step(1, 1)).await;
    refused(&store, step(1, 0)).await;
    refused(&store, Commit { start: start(1).start, ..step(1, 2) }).await;
    let mut beyond = step(1, 2);
    beyond.journal.seq = u64::MAX;
    refused(&store, beyond).await;
    assert_eq!(everything(&store).await.counts, StoreCounts::default());
}

pub async fn unknown_words_are_refused(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    refused(&store, Commit { change: Some(change("finished")), ..step(1, 2) }).await;
    let mut strange = item("a/forward", 1);
    strange.desk = "kitchen";
    refused(&store, Commit { items: vec![put(strange)], ..step(1, 2) }).await;
}
