use std::sync::Arc;
use std::time::Duration;

use amends::Outcome;
use amends::authoring::InputProblem;
use amends::core::ActionId;
use amends::core::Json;
use amends::core::event::{Finding, Recorded};
use amends::core::plan::Settle;
use amends::core::state::Stage;
use amends::memory::MemoryStore;
use expect_test::expect;

use crate::workflow::{Log, begin, done, engine, step, timeline, workflow};

fn applied() -> Finding {
    Finding::Applied(Recorded::Value(Json::parse("7").unwrap()))
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_unknown_and_settled_by_query() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let definition = workflow(vec![
        step("a", &log)
            .runs(|cx| async move { if cx.attempt() > 0 { panic!("a bug") } else { done() } })
            .finds(|_| applied()),
    ]);
    let engine = engine(&store, &definition).await;
    let saga = begin(&engine, "k").await;
    assert_eq!(saga.outcome().await.unwrap(), Outcome::Completed(Json::parse("7").unwrap()));
    expect![[r#"
        +0.000s w 1 started for k
        +0.000s a started (attempt 1)
        +0.000s a unknown (attempt 1, panic): ask in 0.184s
        +0.185s a asked about (query 1)
        +0.185s a found applied (query 1)
        +0.185s completed
    "#]]
    .assert_eq(&timeline(&saga).await);
    let view = saga.view().await.unwrap();
    let failure = view.step("a").unwrap().forward.failure.clone().expect("it is recorded");
    assert_eq!((failure.code.as_str(), failure.message.as_str()), ("panic", "a bug"));
}

#[tokio::test(start_paused = true)]
async fn a_step_that_panics_before_its_future_exists_is_unknown_too() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let panics = step("a", &log)
        .runs(|_| -> std::future::Ready<amends::core::machine::Attempted> { panic!("at once") })
        .finds(|_| applied());
    let engine = engine(&store, &workflow(vec![panics])).await;
    assert!(matches!(begin(&engine, "k").await.outcome().await, Ok(Outcome::Completed(_))));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_does_not_answer_is_unknown_after_its_timeout_and_dropped() {
    struct NotesItsEnd(Log);
    impl Drop for NotesItsEnd {
        fn drop(&mut self) {
            self.0.note("dropped");
        }
    }
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let noted = log.clone();
    let hangs =
        step("a", &log).plan(|plan| plan.retry.attempt_timeout = Duration::from_secs(2)).runs(move |cx| {
            let end = NotesItsEnd(noted.clone());
            async move {
                let left = cx.remaining();
                end.0.note(format!("attempt {} has {left:?}", cx.attempt()));
                if cx.attempt() == 1 {
                    std::future::pending::<()>().await;
                }
                done()
            }
        });
    let engine = engine(&store, &workflow(vec![hangs])).await;
    let saga = begin(&engine, "k").await;
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    assert_eq!(
        log.lines(),
        ["attempt 1 has 2s", "dropped", "ask a", "ask a", "ask a", "ask a", "attempt 2 has 2s", "dropped"]
    );
    expect![[r#"
        +0.000s w 1 started for k
        +0.000s a started (attempt 1)
        +2.000s a unknown (attempt 1, timeout): ask in 0.184s
        +2.185s a asked about (query 1)
        +2.185s a found absent (query 1): ask in 1.986s
        +4.172s a asked about (query 2)
        +4.172s a found absent (query 2): ask in 1.846s
        +6.019s a asked about (query 3)
        +6.019s a found absent (query 3): ask in 2.123s
        +8.143s a asked about (query 4, fencing attempt 1)
        +8.143s a found absent (query 4): retry in 0.301s
        +8.445s a started (attempt 2)
        +8.445s a succeeded
        +8.445s completed
    "#]]
    .assert_eq(&timeline(&saga).await);
}

#[tokio::test(start_paused = true)]
async fn a_query_that_does_not_answer_has_failed() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let definition = workflow(vec![
        step("a", &log)
            .plan(|plan| plan.query.timeout = Duration::from_secs(3))
            .runs(|_| async { panic!("a bug") })
            .asks(|cx| async move {
                cx.clock().sleep_until(cx.clock().now() + Duration::from_secs(2)).await;
                assert_eq!(cx.remaining(), Duration::from_secs(1));
                std::future::pending().await
            }),
    ]);
    let engine = engine(&store, &definition).await;
    let saga = begin(&engine, "k").await;
    let waited = tokio::time::timeout(Duration::from_secs(3_600), saga.outcome()).await;
    assert!(waited.is_err());
    let view = saga.view().await.unwrap();
    let action = &view.step("a").unwrap().forward;
    assert_eq!((action.stage, action.queries, action.attempts), (Stage::Reconciling, 10, 1));
    assert_eq!(action.failure.as_ref().map(|failure| failure.code.as_str()), Some("timeout"));
    assert_eq!(view.desk.len(), 1, "the budget of queries is spent: a person is needed");
}

#[tokio::test(start_paused = true)]
async fn an_input_that_cannot_be_built_is_quarantined_and_nothing_is_sent() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let broken = step("a", &log).checks(|_| Err(InputProblem { reason: "`x` is missing".to_owned() }));
    let engine = engine(&store, &workflow(vec![broken])).await;
    let saga = begin(&engine, "k").await;
    let view = saga.view().await.unwrap();
    assert_eq!(view.desk.len(), 1);
    assert_eq!((view.desk[0].because.code(), view.desk[0].attempts), ("input", 0));
    assert_eq!(log.lines(), Vec::<String>::new());
    expect![[r#"
        +0.000s w 1 started for k
        +0.000s a (input): quarantined (input)
    "#]]
    .assert_eq(&view.timeline());
    assert_eq!(store.stats().journal_rows, 1);
}

#[tokio::test(start_paused = true)]
async fn every_attempt_has_the_same_request_id_and_a_compensation_knows_its_forward_one() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let (ran, undid) = (log.clone(), log.clone());
    let definition = workflow(vec![
        step("a", &log)
            .plan(|plan| plan.settle = Settle::ByRepeating)
            .runs(move |cx| {
                ran.note(cx.request_id().to_string());
                assert_eq!(cx.request_id(), cx.forward_request_id());
                async move { if cx.attempt() == 1 { panic!("a bug") } else { done() } }
            })
            .undoes(move |cx| {
                undid.note(cx.forward_request_id().to_string());
                assert_ne!(cx.request_id(), cx.forward_request_id());
                async { crate::workflow::undone() }
            }),
        step("b", &log).after(&["a"]).runs(|_| async {
            amends::core::machine::Attempted::Refused(Recorded::Value(Json::parse("0").unwrap()))
        }),
    ]);
    let engine = engine(&store, &definition).await;
    let saga = begin(&engine, "k").await;
    assert!(matches!(saga.outcome().await, Ok(Outcome::Compensated { .. })));
    let id = ActionId::forward("a").request_id(saga.id()).to_string();
    assert_eq!(log.lines(), [id.clone(), id.clone(), id]);
}
