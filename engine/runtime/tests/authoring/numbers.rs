//! Registration checks the numbers: all or nothing, every problem by name.

use std::sync::Arc;

use amends::engine::StartError;
use amends::memory::MemoryStore;
use amends::prelude::*;
use amends::{Breaker, DependencyLimits, Engine, Rate, RetryBudget};
use expect_test::{Expect, expect};

use super::steps::{Work, work};

fn check(saga: &Saga<u64, u64>, policies: &Policies, expected: Expect) {
    let problems = saga.resolve(policies).expect_err("the numbers are impossible").problems;
    expected.assert_eq(&problems.join("\n"));
}

fn one_step<S>(step: S) -> Saga<u64, u64>
where
    S: Compensate<Input = u64, Output = u64, Settle = ByRepeating, UndoSettle = ByRepeating>,
{
    let (mut s, order) = SagaBuilder::<u64>::new("order", 1);
    let done = s.step("reserve", step, order);
    s.finish(done).expect("a good definition")
}

#[test]
fn the_defaults_are_possible() {
    let saga = one_step(work());
    let definition = saga.resolve(&Policies::new()).expect("possible");
    assert_eq!(definition.plan.digest, saga.plan().digest);
    assert_eq!(definition.nodes.len(), 1);
}

#[test]
fn an_unknown_policy_is_told_the_known_ones() {
    let step = work().retry("gatway").query("slow").compensation("undo");
    let policies =
        Policies::new().retry("gateway", RetryPolicy::default()).query("patient", QueryPolicy::default());
    check(
        &one_step(step),
        &policies,
        expect![[r#"
        `reserve` names the retry policy `gatway`, which the catalogue does not have (it has: default, gateway)
        `reserve` names the query policy `slow`, which the catalogue does not have (it has: default, patient)
        `reserve` names the compensation policy `undo`, which the catalogue does not have (it has: default, gateway)"#]],
    );
}

#[test]
fn every_impossible_number_of_a_policy_is_named() {
    let broken = RetryPolicy {
        max_attempts: 0,
        base: seconds(10),
        cap: seconds(1),
        attempt_timeout: seconds(0),
        ..RetryPolicy::default()
    };
    let hasty = RetryPolicy { give_up_after: seconds(29), ..RetryPolicy::default() };
    let never = QueryPolicy {
        max_queries: 0,
        base: seconds(2),
        cap: seconds(1),
        timeout: seconds(0),
        ..QueryPolicy::default()
    };
    let policies = Policies::new().retry("broken", broken).retry("hasty", hasty).query("never", never);
    let step = work().retry("broken").compensation("hasty").query("never");
    check(
        &one_step(step),
        &policies,
        expect![[r#"
        `reserve`: retry policy `broken` allows no attempt at all
        `reserve`: retry policy `broken` has base 10s above cap 1s
        `reserve`: retry policy `broken` gives an attempt no time at all
        `reserve`: compensation policy `hasty` gives up after 29s, before one attempt of 30s could end
        `reserve`: query policy `never` allows no query at all
        `reserve`: query policy `never` has base 2s above cap 1s
        `reserve`: query policy `never` gives a query no time at all"#]],
    );
}

#[test]
fn nothing_behind_the_pivot_turns_back() {
    let policies = Policies::new()
        .retry("timid", RetryPolicy { on_exhausted: Exhausted::TurnBack, ..RetryPolicy::default() });
    let (mut s, order) = SagaBuilder::<u64>::new("order", 1);
    let held = s.step("hold", work().retry("timid"), order);
    let (captured, mut s) = s.pivot("capture", work().retry("timid"), held);
    let seen = s.read_fn("look", captured, |_, n: u64| async move { Ok(n) });
    let told = s.retriable("notify", work().retry("timid"), seen);
    check(
        &s.finish(told).unwrap(),
        &policies,
        expect![
            "`notify`: retry policy `timid` turns back on exhaustion, but the step stands after the pivot"
        ],
    );
}

#[test]
fn a_read_behind_the_pivot_does_not_turn_back_either() {
    let policies = Policies::new()
        .retry("timid", RetryPolicy { on_exhausted: Exhausted::TurnBack, ..RetryPolicy::default() });
    let (s, order) = SagaBuilder::<u64>::new("order", 1);
    let s = s.retry_default("timid");
    let (captured, mut s) = s.pivot("capture", work().retry("default"), order);
    let seen = s.read_fn("look", captured, |_, n: u64| async move { Ok(n) });
    check(
        &s.finish(seen).unwrap(),
        &policies,
        expect!["`look`: retry policy `timid` turns back on exhaustion, but the step stands after the pivot"],
    );
}

#[test]
fn absent_must_be_able_to_mean_without_effect() {
    let contract = Contract::unstated().settle_window(minutes(10)).key_retention(minutes(10));
    check(
        &one_step(Work(contract)),
        &Policies::new(),
        expect![[
            r#"`reserve`: the settle window 600s is not shorter than the key retention 600s, so "absent" could never mean "without effect""#
        ]],
    );
}

#[test]
fn a_deadline_leaves_time_for_an_attempt_of_every_step_up_to_the_pivot() {
    let build = |deadline| {
        let (s, order) = SagaBuilder::<u64>::new("order", 1);
        let mut s = s.deadline(deadline);
        let held = s.step("hold", work().timeout(seconds(10)), order);
        let (captured, mut s) = s.pivot("capture", work().timeout(seconds(20)), held);
        let told = s.retriable("notify", work().timeout(hours(1)), captured);
        s.finish(told).unwrap()
    };
    assert!(build(seconds(20)).resolve(&Policies::new()).is_ok());
    check(
        &build(seconds(15)),
        &Policies::new(),
        expect!["`capture`: the saga's deadline 15s is shorter than one attempt of 20s may take"],
    );
    check(
        &build(seconds(0)),
        &Policies::new(),
        expect!["the saga's deadline is zero: every saga would turn back at once"],
    );
}

fn calling(dependency: &str) -> Saga<u64, u64> {
    one_step(Work(Contract::default().dependency(dependency)))
}

#[test]
fn a_dependency_that_the_catalogue_does_not_have_is_told_the_known_ones() {
    let policies =
        Policies::new().dependency("gateway", DependencyLimits::default()).dependency("mail", unlimited());
    check(
        &calling("gatway"),
        &policies,
        expect![[r#"
        `reserve` names the dependency `gatway`, which the catalogue does not have (it has: gateway, mail); one that can bear everything is `DependencyLimits::unlimited()`"#]],
    );
    assert!(calling("gateway").resolve(&policies).is_ok());
    assert!(
        calling("gatway").resolve(&Policies::new()).is_ok(),
        "without any, it is a name and nothing more"
    );
}

fn unlimited() -> DependencyLimits {
    DependencyLimits::unlimited()
}

/// Every way to limit a dependency to nothing, or beyond sense.
#[tokio::test]
async fn every_impossible_number_of_a_dependency_is_named() {
    let never = Rate { calls: 0, ..Rate::per_second(1) };
    let budget = RetryBudget { share_percent: 101, constant_per_second: 1, window: seconds(0) };
    let breaker =
        Breaker { failures_percent: 0, calls_min: 0, window: seconds(0), open_for: seconds(0), probes: 0 };
    let broken = DependencyLimits {
        concurrency_max: Some(0),
        rate: Some(never),
        query_rate: Some(never),
        retry_budget: Some(budget),
        breaker: Some(breaker),
        per_tenant: false,
    };
    let empty = RetryBudget { share_percent: 0, constant_per_second: 0, window: seconds(10) };
    let poor = DependencyLimits { retry_budget: Some(empty), ..unlimited() };
    let policies = Policies::new().dependency("broken", broken).dependency("poor", poor);
    let engine = Engine::builder(Arc::new(MemoryStore::new())).policies(policies).start().await;
    let Err(StartError::Registration(mistakes)) = engine else { panic!("it started") };
    expect![[r#"
        failed to read the catalogue: dependency `broken`: its concurrency of zero allows no call at all
        failed to read the catalogue: dependency `broken`: its rate has a zero, and allows no attempt at all
        failed to read the catalogue: dependency `broken`: its query rate has a zero, and allows no query at all
        failed to read the catalogue: dependency `broken`: its retry budget has a share above 100 percent: retries beyond that are a storm
        failed to read the catalogue: dependency `broken`: the window of its retry budget is zero
        failed to read the catalogue: dependency `broken`: its breaker opens at a share outside 1 to 100 percent
        failed to read the catalogue: dependency `broken`: its breaker judges by no call at all
        failed to read the catalogue: dependency `broken`: the window of its breaker is zero
        failed to read the catalogue: dependency `broken`: its breaker would be open for no time at all
        failed to read the catalogue: dependency `broken`: its breaker has no probe and could never close
        failed to read the catalogue: dependency `poor`: its retry budget is empty: every retry would wait for its deadline; to retry nothing, give the retry policy one attempt"#]].assert_eq(&mistakes.join("\n"));
}
