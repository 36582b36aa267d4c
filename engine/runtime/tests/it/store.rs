use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use amends::Outcome;
use amends::core::plan::Settle;
use amends::engine::{OutcomeError, SagaStartError, StopReason};
use amends::memory::MemoryStore;
use amends::ports::SagaQuery;
use expect_test::expect;

use crate::gate::GatedStore;
use crate::workflow::{Log, begin, chain, engine, next_engine, pass, step, timeline, workflow};

#[tokio::test(start_paused = true)]
async fn nothing_leaves_the_process_before_its_row_is_durable() {
    let (store, log) = (GatedStore::new(), Log::default());
    let engine = engine(&store, &chain(&log)).await;
    store.close();
    let starter = engine.clone();
    let started = tokio::spawn(async move { begin(&starter, "k").await });
    pass(Duration::from_secs(5)).await;
    assert!(!started.is_finished(), "the caller is answered after acceptance");
    assert_eq!(log.lines(), Vec::<String>::new());
    store.gate.add_permits(1);
    pass(Duration::from_secs(5)).await;
    assert_eq!(log.lines(), ["a"], "the intent is durable, its result is not");
    store.gate.add_permits(1);
    pass(Duration::from_secs(5)).await;
    assert_eq!(log.lines(), ["a", "b"]);
    assert!(started.is_finished());
}

#[tokio::test(start_paused = true)]
async fn commits_that_wait_go_as_one_batch() {
    let (store, log) = (GatedStore::new(), Log::default());
    let engine = engine(&store, &workflow(vec![step("a", &log)])).await;
    store.close();
    let starts: Vec<_> = (0..20)
        .map(|n| {
            let engine = engine.clone();
            tokio::spawn(async move { begin(&engine, &n.to_string()).await })
        })
        .collect();
    pass(Duration::from_secs(1)).await;
    store.gate.add_permits(2);
    for start in starts {
        start.await.unwrap();
    }
    assert_eq!(store.counts().await.unwrap().sagas, 20, "twenty starts, at most two batches");
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_asked_for_again_with_the_same_rows() {
    let (store, log) = (GatedStore::new(), Log::default());
    let engine = engine(&store, &chain(&log)).await;
    store.lost_answers.store(1, Ordering::SeqCst);
    let saga = begin(&engine, "k").await;
    store.lost_answers.store(2, Ordering::SeqCst);
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    assert_eq!(log.lines(), ["a", "b", "c", "d"]);
    assert_eq!(store.counts().await.unwrap().journal_rows, 5);
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_store_holds_everything_up_and_loses_nothing() {
    let (store, log) = (GatedStore::new(), Log::default());
    let engine = engine(&store, &chain(&log)).await;
    store.unreachable.store(30, Ordering::SeqCst);
    let saga = begin(&engine, "k").await;
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    assert_eq!(store.counts().await.unwrap().journal_rows, 5);
    assert_eq!(saga.view().await.unwrap().step("a").unwrap().forward.attempts, 1);
}

#[tokio::test(start_paused = true)]
async fn a_saga_that_another_node_went_on_with_is_loaded_anew() {
    let (store, log) = (GatedStore::new(), Log::default());
    let definition = workflow(vec![
        step("a", &log).plan(|plan| plan.settle = Settle::ByRepeating),
        step("b", &log).after(&["a"]),
    ]);
    let engine = engine(&store, &definition).await;
    *store.occupy.lock().unwrap() = Some(2);
    let saga = begin(&engine, "k").await;
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    expect![[r#"
        +0.000s w 1 started for k
        +0.000s a started (attempt 1)
        +0.000s taken up again
        +0.000s a (executor-died): repeat in 0.603s
        +0.604s a started (attempt 2, a repeat)
        +0.604s a succeeded
        +0.604s b started (attempt 1)
        +0.604s b succeeded
        +0.604s completed
    "#]]
    .assert_eq(&timeline(&saga).await);
    assert_eq!(
        log.lines(),
        ["a", "a", "b"],
        "the refused answer of `a` was never recorded, so it is repeated"
    );
}

#[tokio::test(start_paused = true)]
async fn content_that_the_store_refuses_sets_one_saga_aside() {
    let (store, log) = (GatedStore::new(), Log::default());
    let engine = engine(&store, &chain(&log)).await;
    *store.refuse.lock().unwrap() = Some(2);
    let refused = begin(&engine, "1").await;
    let Err(OutcomeError::SetAside(reason)) = refused.outcome().await else { panic!("it is set aside") };
    assert_eq!(reason, "the store refuses its next transition: the test says so");
    assert!(matches!(begin(&engine, "2").await.outcome().await, Ok(Outcome::Completed(_))));
    *store.refuse.lock().unwrap() = Some(1);
    let input = amends::core::Json::parse("1").unwrap();
    let error = engine.start_json("w", "3", input, Default::default()).await.unwrap_err();
    assert!(matches!(error, SagaStartError::Unstorable(_)), "{error}");
    assert!(store.find("w", "3").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_saga_whose_handling_panics_is_set_aside_and_the_worker_lives() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let definition = workflow(vec![
        step("a", &log),
        step("b", &log).after(&["a"]).checks(|values| {
            assert_ne!(&*values.state.key, "poisoned", "this key is poison");
            Ok(())
        }),
    ]);
    let engine = engine(&store, &definition).await;
    let poisoned = begin(&engine, "poisoned").await;
    let Err(OutcomeError::SetAside(reason)) = poisoned.outcome().await else { panic!("it is set aside") };
    assert!(reason.contains("this key is poison"), "{reason}");
    let row = store.find("w", "poisoned").await.unwrap().unwrap();
    assert!(row.set_aside.is_some_and(|reason| reason.contains("this key is poison")));
    for n in 0..3 {
        assert!(matches!(begin(&engine, &n.to_string()).await.outcome().await, Ok(Outcome::Completed(_))));
    }
}

#[tokio::test(start_paused = true)]
async fn a_fenced_engine_stops_and_says_so() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let definition = workflow(vec![step("a", &log).runs(|cx| async move {
        cx.clock().sleep_until(cx.clock().now() + Duration::from_secs(5)).await;
        crate::workflow::done()
    })]);
    let first = engine(&store, &definition).await;
    let saga = begin(&first, "k").await;
    let second = next_engine(&store, &definition).await;
    assert!(matches!(saga.outcome().await, Err(OutcomeError::Stopped)));
    let Some(StopReason::Dismissed(fault)) = first.stopped() else { panic!("it names the reason") };
    assert_eq!(fault.to_string(), "failed to write as this incarnation: it was fenced out by another node");
    let taken = second.find("w", "k").await.unwrap().unwrap();
    let waited = tokio::time::timeout(Duration::from_secs(60), taken.outcome()).await;
    assert!(matches!(waited, Ok(Ok(Outcome::Completed(_)))), "{}", timeline(&taken).await);
}
