//! A saga continues the trace that it was started with.

use std::sync::Arc;
use std::time::Duration;

use amends::core::event::{FailureKind, Finding, Recorded};
use amends::core::machine::Attempted;
use amends::core::plan::{Settle, StepPlan};
use amends::core::{Json, TraceContext};
use amends::memory::MemoryStore;
use amends::{Settled, StartOptions};

use crate::workflow::{Log, builder, failure, next_engine, pass, step, undone, workflow};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn seen(cx: &amends::StepContext) -> String {
    let trace =
        cx.trace().map(|trace| (trace.traceparent().to_owned(), trace.tracestate().map(str::to_owned)));
    match trace {
        Some((parent, state)) => format!("{parent} {}", state.unwrap_or_default()),
        None => "none".to_owned(),
    }
}

/// Its outcome is unknown and found applied; then `b` is refused after a crash, and `a` is undone.
fn definition(log: &Log) -> amends::Definition {
    let (ran, asked, undid, refused) = (log.clone(), log.clone(), log.clone(), log.clone());
    let a = step("a", log)
        .runs(move |cx| {
            ran.note(format!("attempt {}", seen(&cx)));
            async { Attempted::Unknown(failure(FailureKind::Unknown, "lost")) }
        })
        .finds(move |cx| {
            asked.note(format!("query {}", seen(cx)));
            Finding::Applied(Recorded::Value(Json::parse("1").unwrap()))
        })
        .undoes(move |cx| {
            undid.note(format!("compensation {}", seen(&cx)));
            async { undone() }
        });
    let b = step("b", log).after(&["a"]).plan(repeats).runs(move |cx| {
        refused.note(format!("attempt {} {}", cx.attempt(), seen(&cx)));
        async move {
            if cx.attempt() == 1 {
                std::future::pending::<()>().await;
            }
            Attempted::Refused(Recorded::Value(Json::parse("1").unwrap()))
        }
    });
    workflow(vec![a, b])
}

/// Its last answer speaks for every transmission.
fn repeats(plan: &mut StepPlan) {
    plan.settle = Settle::ByRepeating;
    plan.contract.keeps_answers = true;
}

async fn lines_of(trace: Option<TraceContext>) -> Vec<String> {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let definition = definition(&log);
    let first = builder(&store, &definition).start().await.unwrap();
    let options = StartOptions { trace, ..StartOptions::default() };
    first.start_json("w", "k", Json::parse("1").unwrap(), options).await.unwrap();
    while log.lines().iter().all(|line| !line.starts_with("attempt 1")) {
        pass(Duration::from_millis(10)).await;
    }
    first.abort().await;
    let second = next_engine(&store, &definition).await;
    let saga = second.find("w", "k").await.unwrap().unwrap();
    let settled = saga.settled().await.unwrap();
    assert!(matches!(settled, Settled::Ended(_)), "{settled:?}");
    log.lines()
}

#[tokio::test(start_paused = true)]
async fn every_attempt_query_and_compensation_has_the_trace_of_the_start_after_a_crash_too() {
    let trace = TraceContext::parse(PARENT, Some("congo=t61rcWkgMzE"));
    let of = format!("{PARENT} congo=t61rcWkgMzE");
    assert_eq!(
        lines_of(trace).await,
        [
            format!("attempt {of}"),
            format!("query {of}"),
            format!("attempt 1 {of}"),
            format!("attempt 2 {of}"),
            format!("compensation {of}"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_start_with_a_malformed_trace_begins_without_one() {
    let lines = lines_of(TraceContext::parse("00-what-is-this-01", Some("congo=t61rcWkgMzE"))).await;
    assert_eq!(
        lines,
        ["attempt none", "query none", "attempt 1 none", "attempt 2 none", "compensation none"]
    );
}
