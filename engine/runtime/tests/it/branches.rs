//! A branch of a workflow in a running engine.

use std::sync::Arc;

use amends::memory::MemoryStore;
use amends::prelude::*;
use amends::{Engine, Outcome};
use expect_test::expect;

/// Doubles what is large.
fn doubling() -> Saga<u32, Option<u32>> {
    doubling_if(|amount| amount > 3, false)
}

/// Doubles what `is_large`, unless its first step hangs. Functions are not in the digest.
fn doubling_if(is_large: fn(u32) -> bool, hangs: bool) -> Saga<u32, Option<u32>> {
    let (mut s, order) = SagaBuilder::<u32>::new("doubling", 1);
    let doubled = s.when("large", order.map(is_large), |b| {
        let first = b.read_fn("first", order, move |_, amount: u32| async move {
            if hangs {
                std::future::pending::<()>().await;
            }
            Ok(amount)
        });
        b.read_fn("second", (order, first), |_, (a, b): (u32, u32)| async move { Ok(a + b) })
    });
    s.finish(doubled).expect("the definition is sound")
}

#[tokio::test(start_paused = true)]
async fn a_decision_costs_no_commit_of_its_own_and_the_outcome_says_what_it_gave() {
    let store = Arc::new(MemoryStore::new());
    let saga = doubling();
    let engine = Engine::builder(store.clone()).register(saga.clone()).start().await.unwrap();
    let taken = engine.start(&saga, "taken", 7).await.unwrap();
    assert_eq!(taken.outcome().await.unwrap(), Outcome::Completed(Some(14)));
    assert_eq!(store.stats().journal_rows, 3);
    expect![[r#"
        +0.000s doubling 1 started for taken
        +0.000s branch large: yes
        +0.000s first started (attempt 1)
        +0.000s first succeeded
        +0.000s second started (attempt 1)
        +0.000s second succeeded
        +0.000s completed
    "#]]
    .assert_eq(&taken.view().await.unwrap().timeline());

    let skipped = engine.start(&saga, "skipped", 2).await.unwrap();
    assert_eq!(skipped.outcome().await.unwrap(), Outcome::Completed(None));
    assert_eq!(store.stats().journal_rows, 4, "decided, skipped and completed with the start");
    let view = skipped.view().await.unwrap();
    assert_eq!((view.branches[0].name.as_ref(), view.branches[0].taken), ("large", Some(false)));
    expect![[r#"
        +0.000s doubling 1 started for skipped
        +0.000s branch large: no
        +0.000s completed
    "#]]
    .assert_eq(&view.timeline());
}

#[tokio::test(start_paused = true)]
async fn a_decision_that_a_process_journalled_stands_for_the_next_one() {
    let store = Arc::new(MemoryStore::new());
    let (saga, other) = (doubling_if(|amount| amount > 3, true), doubling_if(|_| false, false));
    assert_eq!(saga.plan().digest, other.plan().digest);
    let engine = Engine::builder(store.clone()).register(saga.clone()).start().await.unwrap();
    let id = engine.start(&saga, "key", 7).await.unwrap().id();
    engine.abort().await;
    let engine = Engine::builder(store.clone()).register(other.clone()).start().await.unwrap();
    let again = engine.start(&other, "key", 7).await.unwrap();
    assert_eq!(again.id(), id);
    assert_eq!(again.outcome().await.unwrap(), Outcome::Completed(Some(14)));
    let told = again.view().await.unwrap().timeline();
    assert!(told.contains("taken over"), "{told}");
    assert_eq!(told.matches("branch large").count(), 1, "{told}");
}
