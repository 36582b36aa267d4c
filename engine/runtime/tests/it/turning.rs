use std::sync::Arc;
use std::time::Duration;

use amends::Outcome;
use amends::core::Json;
use amends::core::event::{FailureKind, Recorded, TurnReason};
use amends::core::machine::Attempted;
use amends::memory::MemoryStore;
use amends::ports::SagaQuery;
use expect_test::expect;

use crate::workflow::{Log, Step, begin, engine, failure, step, timeline, undone, workflow};

fn refuses(step: Step) -> Step {
    step.runs(|_| async { Attempted::Refused(Recorded::Value(Json::parse("\"no\"").unwrap())) })
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_compensated_in_reverse_order() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let definition = workflow(vec![
        step("a", &log),
        step("b", &log).after(&["a"]),
        refuses(step("c", &log)).after(&["b"]),
        step("d", &log).after(&["c"]),
    ]);
    let engine = engine(&store, &definition).await;
    let saga = begin(&engine, "k").await;
    let reason = TurnReason::Refused { step: "c".into() };
    assert_eq!(saga.outcome().await.unwrap(), Outcome::Compensated { reason });
    assert_eq!(log.lines(), ["a", "b", "undo b", "undo a"]);
    expect![[r#"
        +0.000s w 1 started for k
        +0.000s a started (attempt 1)
        +0.000s a succeeded
        +0.000s b started (attempt 1)
        +0.000s b succeeded
        +0.000s c started (attempt 1)
        +0.000s c refused "no"
        +0.000s turned back (refused: c)
        +0.000s compensation of b started (attempt 1)
        +0.000s compensation of b succeeded
        +0.000s compensation of a started (attempt 1)
        +0.000s compensation of a succeeded
        +0.000s compensated
    "#]]
    .assert_eq(&timeline(&saga).await);
    let stats = store.stats();
    assert_eq!((stats.commits, stats.journal_rows), (6, 6));
    assert_eq!((stats.saga_updates, stats.compensations), (2, 4), "the turn and the end; two records, twice");
    let records = store.compensations(saga.id()).await.unwrap();
    let steps: Vec<_> = records.iter().map(|row| (row.step.as_str(), row.reason_code.as_str())).collect();
    assert_eq!(steps, [("b", "refused"), ("a", "refused")]);
    assert!(records.iter().all(|row| row.ended_at.is_some() && row.result.as_deref() == Some("\"Undone\"")));
    let row = store.find("w", "k").await.unwrap().unwrap();
    assert_eq!((row.phase.as_str(), row.outcome.as_deref()), ("compensated", Some("refused: c")));
    let view = saga.view().await.unwrap();
    assert_eq!(view.compensations(), ["b", "a"]);
    expect![[r#"
        ↺ a  undone
        ↺ b  undone  after a
        ✗ c  refused  after b
        - d  skipped  after c
    "#]]
    .assert_eq(&view.picture());
    expect![[r#"
        flowchart TD
          s0["a<br/>undone"]:::undone
          s1["b<br/>undone"]:::undone
          s2["c<br/>refused"]:::refused
          s3["d<br/>skipped"]:::skipped
          s0 --> s1
          s1 --> s2
          s2 --> s3
          classDef waiting fill:#eeeeee,stroke:#999999,color:#333333
          classDef moving fill:#cfe8ff,stroke:#1f6feb,color:#0a3069
          classDef done fill:#d2f4d9,stroke:#1a7f37,color:#0a3d1a
          classDef refused fill:#ffd8d3,stroke:#cf222e,color:#6e0b14
          classDef undone fill:#e8dcff,stroke:#8250df,color:#3b1d78
          classDef person fill:#fff3c2,stroke:#9a6700,color:#4d3800
          classDef skipped fill:#ffffff,stroke:#bbbbbb,color:#777777,stroke-dasharray:4 3
    "#]]
    .assert_eq(&view.mermaid());
}

#[tokio::test(start_paused = true)]
async fn a_compensation_that_fails_for_good_holds_back_its_ancestors_and_stands_on_the_desk() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let definition = workflow(vec![
        step("a", &log),
        step("b", &log)
            .after(&["a"])
            .undoes(|_| async { Attempted::Persistent(failure(FailureKind::Persistent, "credential")) }),
        refuses(step("c", &log)).after(&["b"]),
    ]);
    let engine = engine(&store, &definition).await;
    let saga = begin(&engine, "k").await;
    let waited = tokio::time::timeout(Duration::from_secs(3_600), saga.outcome()).await;
    assert!(waited.is_err(), "it does not end by itself");
    let desk = engine.desk().await.unwrap();
    assert_eq!(desk.len(), 1);
    let item = &desk[0].1;
    assert_eq!(
        (item.item.as_str(), item.desk, item.reason.as_str()),
        ("b/compensation", "quarantine", "persistent")
    );
    assert_eq!(
        (item.error_code.as_deref(), item.fingerprint.as_str()),
        (Some("credential"), "w/b/credential/test")
    );
    assert_eq!(log.lines(), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_running_sibling_is_asked_to_stop_and_awaited() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let noted = log.clone();
    let definition = workflow(vec![
        step("a", &log).runs(move |cx| {
            let log = noted.clone();
            async move {
                cx.cancellation().cancelled().await;
                log.note("a was asked to stop");
                Attempted::Transient(failure(FailureKind::Transient, "stopped"))
            }
        }),
        refuses(step("b", &log)),
        step("c", &log).after(&["a", "b"]),
    ]);
    let engine = engine(&store, &definition).await;
    let saga = begin(&engine, "k").await;
    assert!(matches!(saga.outcome().await, Ok(Outcome::Compensated { .. })));
    assert_eq!(log.lines(), ["a was asked to stop"], "it had no effect, so nothing is undone");
    assert_eq!(saga.view().await.unwrap().compensations(), Vec::<&str>::new());
}

#[tokio::test(start_paused = true)]
async fn a_transient_failure_is_retried_at_its_time() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let definition = workflow(vec![step("a", &log).runs(|cx| async move {
        match cx.attempt() {
            3 => undone(),
            _ => Attempted::Transient(amends::core::event::Failure {
                hint: Some(Duration::from_secs(7)),
                ..failure(FailureKind::Transient, "busy")
            }),
        }
    })]);
    let engine = engine(&store, &definition).await;
    let saga = begin(&engine, "k").await;
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    expect![[r#"
        +0.000s w 1 started for k
        +0.000s a started (attempt 1)
        +0.000s a failed (attempt 1, transient busy): retry in 7.000s
        +7.000s a started (attempt 2)
        +7.000s a failed (attempt 2, transient busy): retry in 7.000s
        +14.000s a started (attempt 3)
        +14.000s a succeeded
        +14.000s completed
    "#]]
    .assert_eq(&timeline(&saga).await);
}
