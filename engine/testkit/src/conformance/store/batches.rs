//! One batch: all of a commit or nothing of it, each commit by itself, however often it is submitted.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use std::task::Poll;

use amends::ports::{Commit, SagaChange, SagaQuery as _, SagaStore as _, Verdict};

use super::StoreFactory;
use super::rows::{
    ME, T0, accept, change, everything, join, read, saga, start, step, step_of, step_with_everything,
};

/// Sizes around those that multi-row statements come in.
const SIZES: [u32; 6] = [1, 7, 8, 9, 64, 137];

pub async fn a_batch_reads_back_as_it_was_written(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    let mut next = 0;
    for size in SIZES {
        let (from, to) = (next, next + size);
        next = to;
        let starts: Vec<Commit> = (from..to).map(start).collect();
        accept(&store, &starts).await;
        let steps: Vec<Commit> = (from..to).map(|n| step_with_everything(n, 2, 0)).collect();
        accept(&store, &steps).await;
        for (n, (start, step)) in (from..to).zip(starts.into_iter().zip(steps)) {
            let loaded = read(&store, n).await;
            let new = start.start.expect("it was a start");
            let change = step.change.expect("it changed");
            assert_eq!(loaded.journal, [start.journal, step.journal]);
            assert_eq!((loaded.row.definition, loaded.row.key), (new.definition, new.key));
            assert_eq!((loaded.row.input_digest, loaded.row.started_at), (new.input_digest, new.started_at));
            assert_eq!((loaded.row.phase.as_str(), loaded.row.outcome), (change.phase, change.outcome));
            assert_eq!(
                (loaded.row.open_actions, loaded.row.ended_at),
                (change.open_actions, change.ended_at)
            );
            let release = change.release.expect("it was released");
            assert_eq!((loaded.row.owner, loaded.row.wake_at), (None, release.wake_at));
        }
    }
    let all = everything(&store).await;
    assert_eq!((all.desk.len(), all.compensations.len()), (next as usize, next as usize));
}

pub async fn an_occupied_sequence_refuses_one_of_256(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &(0..256).map(start).collect::<Vec<_>>()).await;
    let standing = step_of(200, 2, 9);
    accept(&store, std::slice::from_ref(&standing)).await;
    let before = read(&store, 200).await;

    let batch: Vec<Commit> = (0..256).map(|n| step_with_everything(n, 2, 0)).collect();
    let verdicts = store.commit(ME, &batch).await.expect("it commits");
    for (n, verdict) in verdicts.iter().enumerate() {
        let expected =
            if n == 200 { Verdict::Occupied { by: standing.journal.transition } } else { Verdict::Accepted };
        assert_eq!(*verdict, expected, "saga {n}");
    }
    let all = everything(&store).await;
    assert_eq!(all.counts.journal_rows, 512);
    assert_eq!(read(&store, 200).await, before, "the refused one left no trace");
    assert_eq!((all.desk.len(), all.compensations.len()), (255, 255));
    assert!(all.desk.iter().all(|(id, _)| *id != saga(200)));
}

pub async fn a_refused_transition_leaves_no_trace_anywhere(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1), start(2)]).await;
    accept(&store, &[step(1, 2)]).await;
    let before = everything(&store).await;

    let mut taken = start(3);
    taken.start.as_mut().expect("a start").key = "order-2".into();
    let taken = Commit { change: step_with_everything(3, 1, 0).change, ..taken };
    let verdicts = store.commit(ME, &[step_with_everything(1, 2, 5), taken]).await.expect("it answers");
    assert!(matches!(verdicts[..], [Verdict::Occupied { .. }, Verdict::KeyTaken(_)]), "{verdicts:?}");
    assert_eq!(everything(&store).await, before);
}

pub async fn a_resubmitted_batch_is_accepted_and_changes_nothing(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    let starts: Vec<Commit> = (0..70).map(start).collect();
    let turn: Vec<Commit> = (0..70).map(|n| step_with_everything(n, 2, 0)).collect();
    accept(&store, &starts).await;
    accept(&store, &turn).await;
    let end = SagaChange { ended_at: Some(T0), ..change("compensated") };
    accept(&store, &[Commit { change: Some(end), ..step(5, 3) }]).await;
    let before = everything(&store).await;

    accept(&store, &turn).await;
    accept(&store, &starts).await;
    assert_eq!(everything(&store).await, before, "an earlier transition does not undo a later one");

    // Half of it is new.
    let mixed: Vec<Commit> = (60..80).map(|n| if n < 70 { step(n, 3) } else { start(n) }).collect();
    accept(&store, &mixed[..10]).await;
    accept(&store, &mixed).await;
    assert_eq!(store.counts().await.expect("it counts").sagas, 80);
}

pub async fn a_resubmission_beside_the_first_is_safe(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &(0..64).map(start).collect::<Vec<_>>()).await;
    for seq in 2..12 {
        let batch: Vec<Commit> = (0..64).map(|n| step(n, seq)).collect();
        let (a, b) = (store.clone(), store.clone());
        let (one, two) = (batch.clone(), batch);
        let first = tokio::spawn(async move { a.commit(ME, &one).await });
        let second = tokio::spawn(async move { b.commit(ME, &two).await });
        for verdicts in [first.await, second.await] {
            let verdicts = verdicts.expect("no panic").expect("it commits");
            assert_eq!(verdicts, vec![Verdict::Accepted; 64]);
        }
    }
    assert_eq!(store.counts().await.expect("it counts").journal_rows, 64 * 11);
}

pub async fn a_caller_that_goes_away_loses_only_the_answer(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    for seq in 2..30 {
        let batch = [step_with_everything(1, seq, 0)];
        // Polled once, then dropped: the message is on its way and nobody will hear the answer.
        let mut call = store.commit(ME, &batch);
        let answered = std::future::poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx).is_ready())).await;
        drop(call);
        let again = store.commit(ME, &batch).await.expect("the store lives");
        assert_eq!(again, [Verdict::Accepted], "after {seq}, answered at once: {answered}");
    }
    assert_eq!(read(&store, 1).await.journal.len(), 29);
}

pub async fn verdicts_come_in_the_order_of_the_batch(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    let order = [7, 3, 9, 1, 8, 2];
    accept(&store, &order.map(start)).await;
    let occupied = [3, 8].map(|n| step_of(n, 2, 1));
    accept(&store, &occupied).await;
    let verdicts = store.commit(ME, &order.map(|n| step(n, 2))).await.expect("it commits");
    let accepted: Vec<bool> = verdicts.iter().map(|verdict| *verdict == Verdict::Accepted).collect();
    assert_eq!(accepted, [true, false, true, true, false, true]);
}

pub async fn an_empty_batch_writes_nothing(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[]).await;
    assert_eq!(everything(&store).await.counts, amends::ports::StoreCounts::default());
}

pub async fn two_commits_of_one_saga_are_the_callers_mistake(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    let caller = store.clone();
    let ended = tokio::spawn(async move { caller.commit(ME, &[step(1, 2), step(1, 3)]).await }).await;
    assert!(ended.expect_err("it panics in the caller's task").is_panic());
    accept(&store, &[step(1, 2)]).await;
}
