use std::sync::Arc;
use std::time::Duration;

use amends::core::JournalEvent;
use amends::core::plan::Settle;
use amends::engine::{Drained, OutcomeError, StopReason};
use amends::memory::MemoryStore;
use amends::ports::SagaQuery;
use amends::{Limits, Outcome, SagaHandle};
use expect_test::expect;

use crate::gate::GatedStore;
use crate::workflow::{
    Log, begin, builder, chain, done, engine, next_engine, operation, pass, step, timeline, workflow,
};

async fn find(engine: &amends::Engine, key: &str) -> SagaHandle {
    engine.find("w", key).await.unwrap().expect("the saga is there")
}

#[tokio::test(start_paused = true)]
async fn a_killed_process_leaves_its_attempt_unknown_and_the_next_one_settles_it() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let hangs_once = |log: &Log| {
        let noted = log.clone();
        step("b", log).after(&["a"]).plan(|plan| plan.settle = Settle::ByRepeating).runs(move |cx| {
            noted.note(format!("b {}", cx.attempt()));
            async move {
                if cx.attempt() == 1 {
                    std::future::pending::<()>().await;
                }
                done()
            }
        })
    };
    let definition = workflow(vec![step("a", &log), hangs_once(&log), step("c", &log).after(&["b"])]);
    let first = engine(&store, &definition).await;
    let saga = begin(&first, "k").await;
    pass(Duration::from_secs(1)).await;
    first.abort().await;
    assert_eq!(log.lines(), ["a", "b 1"]);
    assert!(matches!(saga.outcome().await, Err(OutcomeError::Stopped)));
    assert!(matches!(first.stopped(), Some(StopReason::Killed)));

    let second = next_engine(&store, &definition).await;
    let saga = find(&second, "k").await;
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    assert_eq!(log.lines(), ["a", "b 1", "b 2", "c"]);
    expect![[r#"
        +0.000s w 1 started for k
        +0.000s a started (attempt 1)
        +0.000s a succeeded
        +0.000s b started (attempt 1)
        +3600.000s taken over by another process
        +3600.000s b (executor-died): repeat in 0.118s
        +3600.119s b started (attempt 2, a repeat)
        +3600.119s b succeeded
        +3600.119s c started (attempt 1)
        +3600.119s c succeeded
        +3600.119s completed
    "#]]
    .assert_eq(&timeline(&saga).await);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_awaits_what_runs_and_begins_nothing_new() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let noted = log.clone();
    let slow = step("a", &log).runs(move |cx| {
        let log = noted.clone();
        async move {
            cx.clock().sleep_until(cx.clock().now() + Duration::from_secs(3)).await;
            log.note("a");
            done()
        }
    });
    let definition = workflow(vec![slow, step("b", &log).after(&["a"])]);
    let first = engine(&store, &definition).await;
    begin(&first, "k").await;
    assert_eq!(first.shutdown(Duration::from_secs(10)).await.unwrap(), Drained { in_doubt: 0 });
    assert_eq!(log.lines(), ["a"]);
    let row = store.find("w", "k").await.unwrap().unwrap();
    assert_eq!((row.owner, row.phase.as_str()), (None, "running"), "it is released, and due");
    assert!(matches!(first.stopped(), Some(StopReason::ShutDown)));
    let refused = first.start_json("w", "other", amends::core::Json::parse("1").unwrap(), Default::default());
    assert!(refused.await.is_err());

    let second = next_engine(&store, &definition).await;
    assert!(matches!(find(&second, "k").await.outcome().await, Ok(Outcome::Completed(_))));
    assert_eq!(log.lines(), ["a", "b"], "the answer was recorded before the end");
}

#[tokio::test(start_paused = true)]
async fn what_outlives_the_grace_period_is_in_doubt() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let hangs = step("a", &log).runs(|_| async {
        std::future::pending::<()>().await;
        done()
    });
    let definition = workflow(vec![hangs]);
    let first = engine(&store, &definition).await;
    let saga = begin(&first, "k").await.id();
    assert_eq!(first.shutdown(Duration::from_secs(10)).await.unwrap(), Drained { in_doubt: 1 });

    let second = next_engine(&store, &definition).await;
    pass(Duration::from_millis(100)).await;
    let view = second.inspect(saga).await.unwrap();
    expect![[r#"
        +0.000s w 1 started for k
        +0.000s a started (attempt 1)
        +3600.000s taken over by another process
        +3600.000s a (executor-died): ask in 0.184s
    "#]]
    .assert_eq(&view.timeline());
}

#[tokio::test(start_paused = true)]
async fn what_was_started_and_not_sent_is_withdrawn() {
    let (store, log) = (GatedStore::new(), Log::default());
    let definition = chain(&log);
    let first = engine(&store, &definition).await;
    store.close();
    let (starter, stopper) = (first.clone(), first.clone());
    let started = tokio::spawn(async move { begin(&starter, "k").await.id() });
    pass(Duration::from_millis(50)).await;
    let stopped = tokio::spawn(async move { stopper.shutdown(Duration::from_secs(10)).await });
    pass(Duration::from_millis(50)).await;
    store.open();
    let saga = started.await.unwrap();
    assert_eq!(stopped.await.unwrap().unwrap(), Drained { in_doubt: 0 });
    assert_eq!(log.lines(), Vec::<String>::new(), "nothing was sent");
    let journal = store.read(saga).await.unwrap().unwrap().journal;
    assert_eq!(journal.len(), 2);
    assert!(journal[1].events.contains("Withdrawn"), "{}", journal[1].events);

    let second = next_engine(&store, &definition).await;
    let saga = find(&second, "k").await;
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    assert_eq!(saga.view().await.unwrap().step("a").unwrap().forward.attempts, 1, "it does not count");
}

#[tokio::test(start_paused = true)]
async fn a_saga_that_cannot_be_read_is_set_aside_and_the_others_go_on() {
    let (store, log) = (GatedStore::new(), Log::default());
    let go = Arc::new(tokio::sync::Semaphore::new(0));
    let held = go.clone();
    let waits = step("a", &log).plan(|plan| plan.settle = Settle::ByRepeating).runs(move |_| {
        let go = held.clone();
        async move {
            go.acquire().await.unwrap().forget();
            done()
        }
    });
    let definition = workflow(vec![waits]);
    let first = engine(&store, &definition).await;
    for key in ["1", "broken", "3"] {
        begin(&first, key).await;
    }
    first.abort().await;
    go.add_permits(10);
    *store.broken_key.lock().unwrap() = Some("broken".to_owned());

    let second = next_engine(&store, &definition).await;
    for key in ["1", "3"] {
        assert!(matches!(find(&second, key).await.outcome().await, Ok(Outcome::Completed(_))));
    }
    let row = store.find("w", "broken").await.unwrap().unwrap();
    let reason = row.set_aside.expect("it is set aside, visibly");
    assert!(reason.contains("sequence 1") && reason.contains("NobodyKnows"), "{reason}");
    assert_eq!((row.owner, row.wake_at), (None, None));
    let health = second.health().await.to_string();
    assert_eq!(health, format!("degraded: 1 saga is set aside, first {}: {reason}", row.id));
    let broken = find(&second, "broken").await;
    assert!(matches!(broken.outcome().await, Err(OutcomeError::SetAside(_))));
    let error = broken.cancel(operation("1")).await.unwrap_err();
    assert_eq!(error.to_string(), format!("failed to read the saga: it was set aside: {reason}"));
}

#[tokio::test(start_paused = true)]
async fn a_sleeping_saga_is_given_up_when_memory_is_scarce_and_comes_back_in_time() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let sleeps = step("a", &log).runs(|cx| async move {
        if cx.attempt() > 1 {
            return done();
        }
        amends::core::machine::Attempted::Transient(amends::core::event::Failure {
            hint: Some(Duration::from_secs(600)),
            ..crate::workflow::failure(amends::core::event::FailureKind::Transient, "busy")
        })
    });
    let definition = workflow(vec![sleeps]);
    let limits = Limits { max_active: 1, ..Limits::default() };
    let engine = builder(&store, &definition).limits(limits).start().await.unwrap();
    let first = begin(&engine, "1").await;
    let second = begin(&engine, "2").await;
    pass(Duration::from_secs(1)).await;
    for key in ["1", "2"] {
        let row = store.find("w", key).await.unwrap().unwrap();
        assert!(row.owner.is_none() && row.wake_at.is_some(), "it costs disk, not memory");
    }
    for saga in [&first, &second] {
        assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    }
    let view = first.view().await.unwrap();
    let claims = view.journal().iter().flat_map(|row| &row.events);
    assert_eq!(claims.filter(|event| matches!(event, JournalEvent::Claimed { .. })).count(), 1);
    assert!(store.stats().saga_updates <= 4, "the release and the end of each");
}

#[tokio::test(start_paused = true)]
async fn an_engine_ends_when_nobody_holds_it_any_more() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let hangs = step("a", &log).runs(|_| async {
        std::future::pending::<()>().await;
        done()
    });
    let engine = engine(&store, &workflow(vec![hangs])).await;
    drop(begin(&engine, "k").await);
    drop(engine);
    pass(Duration::from_secs(100)).await;
    assert_eq!(Arc::strong_count(&store), 1, "every part of it is gone");
}

#[tokio::test(start_paused = true)]
async fn a_process_killed_while_it_asks_leaves_the_question_to_the_next_one() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let noted = log.clone();
    let asks = step("a", &log).runs(|_| async { panic!("a bug") }).asks(move |_| {
        noted.note("ask");
        let first = noted.lines().len() == 1;
        async move {
            if first {
                std::future::pending::<()>().await;
            }
            let seven = amends::core::Json::parse("7").unwrap();
            Ok(amends::core::event::Finding::Applied(amends::core::event::Recorded::Value(seven)))
        }
    });
    let definition = workflow(vec![asks]);
    let first = engine(&store, &definition).await;
    begin(&first, "k").await;
    pass(Duration::from_secs(5)).await;
    assert_eq!(log.lines(), ["ask"], "it is under way");
    first.abort().await;
    let second = next_engine(&store, &definition).await;
    assert!(matches!(find(&second, "k").await.outcome().await, Ok(Outcome::Completed(_))));
    assert_eq!(log.lines(), ["ask", "ask"]);
}
