//! Sagas that go on where nobody here hears of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use amends::authoring::Definition;
use amends::core::event::{Failure, FailureKind};
use amends::core::machine::Attempted;
use amends::core::{Json, SagaId, SagaPlan};
use amends::memory::MemoryStore;
use amends::ports::{Claim, DefinitionRef, RandomIds, SagaQuery as _, SagaStore as _, Store};
use amends::{Engine, Limits, Outcome, StartOptions};

use crate::gate::GatedStore;
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

/// Somebody who holds the row of a dead node for long keeps no other saga from being found.
#[tokio::test(start_paused = true)]
async fn a_node_that_cannot_be_dismissed_does_not_end_the_looking_for_lost_sagas() {
    let (store, log) = (GatedStore::shared(), Log::default());
    let workflow = workflow(vec![step("a", &log)]);
    store.dismisses_nobody.store(true, Ordering::SeqCst);
    node(&store, &workflow, 2).await.abort().await;
    let here = node(&store, &workflow, 3).await;
    pass(70 * SECOND).await;
    let saga = lost(&store, &here, &workflow).await;
    pass(70 * SECOND).await;
    let row = store.read(saga).await.unwrap().unwrap().row;
    assert_eq!(row.phase, "completed");
}

async fn node<S: Store>(store: &Arc<S>, workflow: &Definition, seed: u64) -> Engine {
    builder(store, workflow).ids(Arc::new(RandomIds::seeded(seed))).start().await.expect("it starts")
}

/// A saga that the engine owns and does not have in memory: the answer to its claim was lost.
async fn lost(store: &Arc<GatedStore>, engine: &Engine, workflow: &Definition) -> SagaId {
    let starter = node(store, workflow, 4).await;
    store.close();
    store.gate.add_permits(1); // The start gets through, and nothing else.
    let saga = begin(&starter, "k").await.id();
    starter.abort().await;
    store.leave(starter.incarnation(), engine.now()).await.unwrap();
    store.open();
    let SagaPlan { workflow, version, digest, .. } = &*workflow.plan;
    let definition = DefinitionRef { workflow: workflow.clone(), version: *version, digest: digest.0 };
    let (incarnation, now) = (engine.incarnation(), engine.now());
    let claim = Claim { incarnation, now, limit: 1, definitions: [definition].into(), only: Some(saga) };
    assert_eq!(store.claim(&claim).await.unwrap(), [saga]);
    saga
}
