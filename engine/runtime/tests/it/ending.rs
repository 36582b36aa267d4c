//! How an engine ends: in an orderly way, asked for by several; and when a part of it has a bug.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use amends::core::{Json, Timestamp};
use amends::engine::{Drained, LogNotifier, SagaStartError, StopReason};
use amends::memory::MemoryStore;
use amends::ports::{Ids, RandomIds, SagaQuery as _, SystemClock};
use amends::{Engine, StartOptions};
use uuid::Uuid;

use crate::gate::GatedStore;
use crate::workflow::{Log, begin, builder, done, pass, step, workflow};

const SECOND: Duration = Duration::from_secs(1);

/// A program that is told to end twice ends once, and both who asked are told the same.
#[tokio::test(start_paused = true)]
async fn two_who_shut_an_engine_down_at_once_both_see_it_end() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let slow = step("a", &log).runs(|_| async {
        pass(5 * SECOND).await;
        done()
    });
    let engine = builder(&store, &workflow(vec![slow])).start().await.unwrap();
    let saga = begin(&engine, "k").await;
    pass(SECOND).await;
    let both = async { tokio::join!(engine.shutdown(10 * SECOND), engine.shutdown(10 * SECOND)) };
    let both = tokio::time::timeout(60 * SECOND, both).await.expect("both return");
    assert_eq!(both, (Ok(Drained { in_doubt: 0 }), Ok(Drained { in_doubt: 0 })));
    let row = store.read(saga.id()).await.unwrap().unwrap().row;
    assert_eq!(row.phase, "completed", "what ran was awaited");
}

/// Half an engine would keep its sagas and do nothing with them.
#[tokio::test(start_paused = true)]
async fn an_engine_a_part_of_which_panics_ends_and_says_so() {
    for call in ["commit", "claim", "peers", "beat", "controls", "unpublished"] {
        let (store, log) = (GatedStore::shared(), Log::default());
        let workflow = workflow(vec![step("a", &log)]);
        let engine = builder(&store, &workflow).notifier(Arc::new(LogNotifier)).start().await.unwrap();
        *store.panics.lock().unwrap() = Some(call);
        let input = Json::parse("{}").unwrap();
        let starting = tokio::spawn({
            let engine = engine.clone();
            async move { engine.start_json("w", "k", input, StartOptions::default()).await.map(drop) }
        });
        let stopped = tokio::time::timeout(5 * SECOND, engine.until_stopped()).await;
        let stopped = stopped.unwrap_or_else(|_| panic!("the engine goes on without `{call}`"));
        let StopReason::Broken { panic, .. } = &stopped else { panic!("{stopped}") };
        assert!(panic.contains(&format!("the store has a bug in `{call}`")), "{panic}");
        let started = starting.await.unwrap();
        assert!(matches!(started, Ok(()) | Err(SagaStartError::Stopped)), "{call}: {started:?}");
    }
}

/// Ids that are given out, and then a panic.
struct Few(RandomIds, AtomicU32);

impl Ids for Few {
    fn next(&self, now: Timestamp) -> Uuid {
        let left = self.1.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        assert!(left.is_ok(), "no ids are left");
        self.0.next(now)
    }
}

#[tokio::test(start_paused = true)]
async fn an_engine_whose_loop_panics_ends_and_says_so() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let ids = Few(RandomIds::seeded(1), AtomicU32::new(1));
    let engine: Engine = Engine::builder(store)
        .register(workflow(vec![step("a", &log)]))
        .clock(Arc::new(SystemClock::starting_at(Timestamp::from_millis(1_796_055_120_000))))
        .ids(Arc::new(ids))
        .start()
        .await
        .unwrap();
    let input = Json::parse("{}").unwrap();
    let started = engine.start_json("w", "k", input, StartOptions::default()).await.map(drop);
    assert!(matches!(started, Err(SagaStartError::Stopped)), "{started:?}");
    let stopped = tokio::time::timeout(5 * SECOND, engine.until_stopped()).await;
    let stopped = stopped.expect("whoever waits for the end is told");
    assert!(stopped.to_string().contains("no ids are left"), "{stopped}");
}
