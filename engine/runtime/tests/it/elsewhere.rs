//! Sagas that go on where nobody here hears of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use amends::core::event::{Failure, FailureKind};
use amends::core::machine::Attempted;
use amends::core::Json;
use amends::memory::MemoryStore;
use amends::ports::RandomIds;
use amends::{Engine, Limits, Outcome, StartOptions};

use crate::workflow::{Log, begin, builder, done, failure, named, pass, step, workflow};

const SECOND: Duration = Duration::from_secs(1);

/// Whoever waits for a saga is told of its end, also if it was given up here meanwhile and has ended on another node.
#[tokio::test(start_paused = true)]
async fn the_outcome_of_a_saga_that_was_given_up_and_ended_elsewhere_is_told() {
    let (store, log) = (Arc::new(MemoryStore::shared()), Log::default());
    let tries = Arc::new(AtomicU32::new(0));
    let sleeps = step("a", &log).runs(move |_| {
        let first = tries.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            pass(SECOND / 2).await;
            let hint = Some(20 * SECOND);
            let failure = Failure { hint, ..failure(FailureKind::Transient, "later") };
            if first { Attempted::Transient(failure) } else { done() }
        }
    });
    let sleeps = workflow(vec![sleeps]);
    let stays = step("b", &log).plan(|plan| plan.retry.attempt_timeout = 3_600 * SECOND);
    let stays = named("stays", vec![stays.runs(|_| std::future::pending())]);
    let limits = Limits { max_active: 2, release_after: 10 * SECOND, ..Limits::default() };
    let here = builder(&store, &sleeps).register(stays).limits(limits).start().await.unwrap();
    fill(&here, "1").await;
    let saga = begin(&here, "k").await;
    let outcome = tokio::spawn({
        let saga = saga.clone();
        async move { saga.outcome().await }
    });
    pass(SECOND).await;
    fill(&here, "2").await; // Now there is no room for it here.
    let ids = Arc::new(RandomIds::seeded(2));
    let _there = builder(&store, &sleeps).ids(ids).start().await.unwrap();
    let told = tokio::time::timeout(60 * SECOND, outcome).await;
    let told = told.expect("whoever waits is told").expect("it does not panic");
    assert!(matches!(told, Ok(Outcome::Completed(_))), "{told:?}");
}

async fn fill(engine: &Engine, key: &str) {
    let input = Json::parse("{}").unwrap();
    engine.start_json("stays", key, input, StartOptions::default()).await.expect("there is room");
}
