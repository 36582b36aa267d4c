//! The cases of the storage itself, which are played on every database: busy writers, cancelled callers, due times.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use amends::ports::{SagaQuery, SagaStore, Store, Verdict};
use amends_core::{Incarnation, SagaId, Timestamp};

use crate::rows::{ME, T0, accept, claim, release, saga, start, step};

/// Transitions of each worker.
const TRANSITIONS: u64 = 500;

/// Two workers read, decide and write, each its own saga, while somebody reads both all the time.
pub(crate) async fn g22_two_workers_write_a_thousand_transitions_beside_a_reader<S: Store + Clone>(
    workers: [(S, Incarnation); 2],
) {
    let done = Arc::new(AtomicBool::new(false));
    let (reader, reading) = (workers[0].0.clone(), done.clone());
    let reader = tokio::spawn(async move {
        let mut reads = 0_u64;
        while !reading.load(Ordering::Relaxed) {
            for n in [1, 2] {
                let Some(loaded) = reader.read(saga(n)).await.expect("a reader waits for no writer") else {
                    continue;
                };
                let sequences: Vec<u64> = loaded.journal.iter().map(|row| row.seq).collect();
                let whole: Vec<u64> = (1..=sequences.len() as u64).collect();
                assert_eq!(sequences, whole, "a reader sees no hole");
                reads += 1;
            }
        }
        reads
    });
    let work = (1..).zip(workers.clone()).map(|(n, (store, me))| {
        tokio::spawn(async move {
            accept(&store, me, &[start(n)]).await;
            for _ in 1..TRANSITIONS {
                let loaded = store.load(&[saga(n)]).await.expect("it loads").pop().expect("it is there");
                let next = loaded.journal.len() as u64 + 1;
                accept(&store, me, &[step(n, next, 0)]).await;
            }
        })
    });
    for worker in work.collect::<Vec<_>>() {
        worker.await.expect("nobody is told that the store is busy");
    }
    done.store(true, Ordering::Relaxed);
    assert!(reader.await.expect("no panic") > 0);
    for n in [1, 2] {
        let loaded = workers[0].0.read(saga(n)).await.expect("it reads").expect("it is there");
        assert_eq!(loaded.journal.len() as u64, TRANSITIONS, "each exactly once");
    }
}

/// A caller goes away at every point of waiting, 200 times, and each time somebody else writes after it. `elsewhere`
/// reads by connections of its own.
pub(crate) async fn g23_a_cancelled_unit_of_work_poisons_no_connection<S: SagaStore>(
    store: &S,
    elsewhere: &impl SagaQuery,
) {
    accept(store, ME, &[start(1), start(2)]).await;
    for round in 0..200_u64 {
        let seq = round + 2;
        let cancelled = [step(1, seq, 0)];
        let mut call = store.commit(ME, &cancelled);
        // Polled a few times, so that it is given up while it waits for a connection, a statement or the commit.
        for _ in 0..=round % 23 {
            let ready = std::future::poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx).is_ready())).await;
            if ready {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(call);
        accept(store, ME, &[step(2, seq, 0)]).await;
        let seen = elsewhere.read(saga(2)).await.expect("it reads").expect("it is there");
        assert_eq!(seen.journal.len() as u64, seq, "round {round}: what was accepted is there for everybody");
        let again = store.commit(ME, &cancelled).await.expect("the connection is as good as before");
        assert_eq!(again, [Verdict::Accepted], "round {round}: whole, whether it was written or not");
    }
}

/// Six in the morning of some day.
const SIX: Timestamp = Timestamp(T0.0 - T0.0 % 86_400_000_000 + 6 * 3_600_000_000);

/// Which of four sagas are due at 06:00:00.6, in which order.
pub(crate) async fn due_at_six(store: &impl Store) -> Vec<SagaId> {
    store.join(ME, "node", T0).await.expect("it joins");
    for (n, micros) in [(1, 500_000), (2, 500_001), (3, 0), (4, 1_000_000)] {
        accept(store, ME, &[start(n)]).await;
        accept(store, ME, &[release(n, 2, Timestamp(SIX.0 + micros))]).await;
    }
    let mut due = Vec::new();
    loop {
        let now = Timestamp(SIX.0 + 600_000);
        let one = amends::ports::Claim { now, ..claim(ME, 1) };
        match store.claim(&one).await.expect("it claims").pop() {
            Some(saga) => due.push(saga),
            None => return due,
        }
    }
}

/// They are due by their instants, whatever zone anybody lives in.
pub(crate) fn assert_due_by_instant(due: &[SagaId]) {
    assert_eq!(due, [saga(3), saga(1), saga(2)]);
}

/// The zone of this process, if it is one of those that [`in_each_zone`] made.
pub(crate) fn zone() -> Option<String> {
    std::env::var("AMENDS_TEST_ZONE").ok()
}

/// Runs this test once more in processes that live in other time zones.
pub(crate) fn in_each_zone(test: &str) {
    for zone in ["America/Los_Angeles", "Asia/Shanghai", "UTC"] {
        let this = std::env::current_exe().expect("it has a path");
        let mut child = Command::new(this);
        child.args([test, "--exact", "--nocapture"]).env("TZ", zone).env("AMENDS_TEST_ZONE", zone);
        let child = child.output().expect("it runs");
        let told = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && told.contains("1 passed"), "in {zone}: {told}");
    }
}
