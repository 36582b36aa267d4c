use std::sync::Arc;

use amends::core::Json;
use amends::memory::MemoryStore;
use amends::ports::SagaQuery;
use amends::{Limits, Outcome};
use expect_test::expect;
use tokio::sync::Barrier;

use crate::workflow::{Log, begin, chain, done, engine, limited, step, timeline, workflow};

#[tokio::test(start_paused = true)]
async fn a_chain_of_four_steps_costs_five_commits_and_five_rows() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &chain(&log)).await;
    let saga = begin(&engine, "k").await;
    assert_eq!(saga.outcome().await.unwrap(), Outcome::Completed(Json::parse("1").unwrap()));
    assert_eq!(log.lines(), ["a", "b", "c", "d"]);
    let stats = store.stats();
    assert_eq!((stats.commits, stats.journal_rows), (5, 5));
    assert_eq!((stats.saga_inserts, stats.saga_updates), (1, 1));
    assert_eq!((stats.claims, stats.work_items, stats.compensations), (0, 0, 0));
    expect![[r#"
        +0.000s w 1 started for k
        +0.000s a started (attempt 1)
        +0.000s a succeeded
        +0.000s b started (attempt 1)
        +0.000s b succeeded
        +0.000s c started (attempt 1)
        +0.000s c succeeded
        +0.000s d started (attempt 1)
        +0.000s d succeeded
        +0.000s completed
    "#]]
    .assert_eq(&timeline(&saga).await);
    let row = store.find("w", "k").await.unwrap().expect("the saga is there");
    assert_eq!((row.phase.as_str(), row.owner, row.open_actions), ("completed", None, 0));
}

#[tokio::test(start_paused = true)]
async fn the_branches_of_a_diamond_run_side_by_side() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let both = Arc::new(Barrier::new(2));
    let meets = |name, log: &Log| {
        let both = both.clone();
        step(name, log).after(&["a"]).runs(move |_| {
            let both = both.clone();
            async move {
                both.wait().await;
                done()
            }
        })
    };
    let diamond = workflow(vec![
        step("a", &log),
        meets("b", &log),
        meets("c", &log),
        step("d", &log).after(&["b", "c"]),
    ]);
    let engine = engine(&store, &diamond).await;
    let saga = begin(&engine, "k").await;
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    assert_eq!(store.stats().journal_rows, 4, "both branches answered within one round");
    expect![[r#"
        ✓ a  done
        ✓ b  done  after a
        ✓ c  done  after a
        ✓ d  done  after b, c
    "#]]
    .assert_eq(&saga.view().await.unwrap().picture());
}

#[tokio::test(start_paused = true)]
async fn a_second_watcher_and_one_that_comes_late_get_the_outcome_too() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &chain(&log)).await;
    let saga = begin(&engine, "k").await;
    let (first, second) = tokio::join!(saga.outcome(), saga.outcome());
    let late = engine.find("w", "k").await.unwrap().expect("it is there").outcome().await;
    let result = Outcome::Completed(Json::parse("1").unwrap());
    assert_eq!([first.unwrap(), second.unwrap(), late.unwrap()], [result.clone(), result.clone(), result]);
    assert_eq!(engine.find("w", "other").await.unwrap().map(|saga| saga.id()), None);
}

#[tokio::test(start_paused = true)]
async fn one_permit_lets_one_attempt_run_and_the_first_to_wait_is_the_next() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let noted = log.clone();
    let slow = step("a", &log).runs(move |cx| {
        let log = noted.clone();
        async move {
            log.note(format!("{} begins", cx.business_key()));
            cx.clock().sleep_until(cx.clock().now() + std::time::Duration::from_secs(1)).await;
            log.note(format!("{} ends", cx.business_key()));
            done()
        }
    });
    let limits = Limits { max_running: 1, ..Limits::default() };
    let engine = limited(&store, &workflow(vec![slow]), limits).await;
    let mut sagas = Vec::new();
    for key in ["1", "2", "3"] {
        sagas.push(begin(&engine, key).await);
    }
    for saga in &sagas {
        assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    }
    assert_eq!(log.lines(), ["1 begins", "1 ends", "2 begins", "2 ends", "3 begins", "3 ends"]);
    expect![[r#"
        +0.000s w 1 started for 3
        +2.000s a started (attempt 1)
        +3.000s a succeeded
        +3.000s completed
    "#]]
    .assert_eq(&timeline(&sagas[2]).await);
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_journals() {
    async fn run() -> Vec<String> {
        let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
        let engine = engine(&store, &chain(&log)).await;
        let sagas = futures(&engine, 20).await;
        let mut rows = Vec::new();
        for saga in sagas {
            for row in store.read(saga).await.unwrap().expect("it is there").journal {
                rows.push(format!("{saga} {} {} {} {}", row.seq, row.at, row.transition, row.events));
            }
        }
        rows
    }
    async fn futures(engine: &amends::Engine, count: usize) -> Vec<amends::core::SagaId> {
        let mut sagas = Vec::new();
        for n in 0..count {
            sagas.push(begin(engine, &n.to_string()).await);
        }
        for saga in &sagas {
            saga.outcome().await.unwrap();
        }
        sagas.iter().map(amends::SagaHandle::id).collect()
    }
    let (first, second) = (run().await, run().await);
    assert_eq!(first.len(), 100);
    assert_eq!(first, second);
}

mod typed {
    use amends::prelude::*;

    pub(super) struct Double;

    impl Step for Double {
        type Input = u64;
        type Output = u64;
        type Refusal = Never;
        type Settle = NoEffect;

        async fn run(&self, _cx: &StepContext, input: u64) -> Result<u64, StepError<Never>> {
            Ok(input * 2)
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_typed_saga_gives_a_typed_outcome_and_its_handles_read_its_outputs() {
    let store = Arc::new(MemoryStore::new());
    let (mut builder, input) = amends::SagaBuilder::<u64>::new("doubles", 1);
    let twice = builder.read("twice", typed::Double, input);
    let four_times = builder.read("four-times", typed::Double, twice);
    let definition = builder.finish(four_times).unwrap();
    let engine = amends::Engine::builder(store).register(definition.clone()).start().await.unwrap();
    let saga = engine.start(&definition, "k", 3).await.unwrap();
    assert_eq!(saga.outcome().await.unwrap(), Outcome::Completed(12));
    let view = saga.view().await.unwrap();
    assert_eq!(
        (view.output(input), view.output(twice), view.output(four_times)),
        (Some(3), Some(6), Some(12))
    );
    let (_, of_another) = amends::SagaBuilder::<u64>::new("doubles", 2);
    assert_eq!(view.output(of_another), None);
}
