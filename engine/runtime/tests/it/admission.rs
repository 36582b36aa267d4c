//! Admission in front of a participant whose calls are counted: lanes, limits of a dependency, deferrals.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use amends::authoring::{Definition, StepContext};
use amends::core::agenda::Lane;
use amends::core::event::{Answer, Because, FailureKind, Finding};
use amends::core::machine::Attempted;
use amends::core::plan::Settle;
use amends::core::state::Stage;
use amends::core::{ActionId, Json, Timestamp};
use amends::engine::{LaneShares, Limits, StartError};
use amends::memory::MemoryStore;
use amends::operator::By;
use amends::prelude::Policies;
use amends::view::{Deferral, Missing};
use amends::{Breaker, DependencyLimits, Engine, Outcome, Rate, RetryBudget, SagaHandle, StartOptions};

use crate::gate::GatedStore;
use crate::workflow::{Log, Step, begin, builder, done, failure, named, pass, step, undone, workflow};

const GATEWAY: &str = "gateway";

/// A participant that notes every call that arrives.
#[derive(Clone)]
struct Wire(Arc<Counted>);

struct Counted {
    latency: Duration,
    is_down: AtomicBool,
    under_way: AtomicUsize,
    peak: AtomicUsize,
    calls: Mutex<Vec<Call>>,
}

#[derive(Clone, Debug)]
struct Call {
    at: Timestamp,
    key: String,
    attempt: u32,
}

impl Wire {
    fn answering_after(latency: Duration) -> Self {
        let calls = Mutex::default();
        let (under_way, peak) = Default::default();
        Self(Arc::new(Counted { latency, is_down: AtomicBool::new(false), under_way, peak, calls }))
    }

    fn is_down(&self, down: bool) {
        self.0.is_down.store(down, Ordering::Relaxed);
    }

    async fn call(self, cx: StepContext) -> Attempted {
        let counted = &self.0;
        let call = Call { at: cx.clock().now(), key: cx.business_key().to_owned(), attempt: cx.attempt() };
        counted.calls.lock().unwrap().push(call);
        let under_way = counted.under_way.fetch_add(1, Ordering::Relaxed) + 1;
        counted.peak.fetch_max(under_way, Ordering::Relaxed);
        cx.clock().sleep_until(cx.clock().now() + counted.latency).await;
        counted.under_way.fetch_sub(1, Ordering::Relaxed);
        if counted.is_down.load(Ordering::Relaxed) {
            return Attempted::Transient(failure(FailureKind::Transient, "down"));
        }
        done()
    }

    fn calls(&self) -> Vec<Call> {
        self.0.calls.lock().unwrap().clone()
    }

    /// Calls in each second since `start`.
    fn seconds(&self, start: Timestamp) -> Vec<usize> {
        let mut seconds = Vec::new();
        for call in self.calls().iter().filter(|call| call.at >= start) {
            let second = usize::try_from(call.at.since(start).as_secs()).unwrap();
            seconds.resize(seconds.len().max(second + 1), 0);
            seconds[second] += 1;
        }
        seconds
    }

    /// A step that calls it. Retries are due at once, so whatever holds them back is admission.
    fn step(&self, name: &'static str) -> Step {
        let wire = self.clone();
        let at_once = Duration::from_millis(1);
        step(name, &Log::default())
            .plan(|plan| {
                plan.contract.dependency = Some(GATEWAY.into());
                (plan.retry.base, plan.retry.cap, plan.retry.max_attempts) = (at_once, at_once, 1_000);
            })
            .runs(move |cx| wire.clone().call(cx))
    }
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn none() -> DependencyLimits {
    DependencyLimits::unlimited()
}

async fn limited(definitions: &[&Definition], limits: DependencyLimits) -> Engine {
    with(definitions, limits, Limits::default()).await
}

async fn with(definitions: &[&Definition], dependency: DependencyLimits, limits: Limits) -> Engine {
    let policies = Policies::new().dependency(GATEWAY, dependency);
    let mut builder =
        builder(&Arc::new(MemoryStore::new()), definitions[0]).policies(policies).limits(limits);
    for definition in &definitions[1..] {
        builder = builder.register((*definition).clone());
    }
    builder.start().await.expect("the engine starts")
}

async fn begin_all(engine: &Engine, keys: std::ops::Range<u32>) -> Vec<SagaHandle> {
    let mut sagas = Vec::new();
    for key in keys {
        sagas.push(begin(engine, &format!("{key:04}")).await);
    }
    sagas
}

async fn begin_of(engine: &Engine, workflow: &str, key: &str) -> SagaHandle {
    let (input, options) = (Json::parse("{}").unwrap(), StartOptions::default());
    engine.start_json(workflow, key, input, options).await.expect("the saga starts")
}

async fn all_complete(sagas: &[SagaHandle]) {
    for saga in sagas {
        assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    }
}

/// Attempts in the journals of these sagas, of both directions.
async fn attempts(sagas: &[SagaHandle]) -> usize {
    let mut attempts = 0;
    for saga in sagas {
        for step in saga.view().await.unwrap().steps {
            attempts += step.forward.attempts + step.compensation.map_or(0, |undo| undo.attempts);
        }
    }
    attempts as usize
}

async fn deferral(saga: &SagaHandle) -> Deferral {
    let deferrals = saga.view().await.unwrap().deferrals;
    assert_eq!(deferrals.len(), 1, "{deferrals:?}");
    deferrals.into_iter().next().unwrap()
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_are_under_way_than_the_dependency_can_bear_and_others_do_not_wait() {
    let (wire, log) = (Wire::answering_after(ms(100)), Log::default());
    let (pay, other) = (workflow(vec![wire.step("pay")]), named("other", vec![step("free", &log)]));
    let engine = limited(&[&pay, &other], DependencyLimits { concurrency_max: Some(3), ..none() }).await;
    let sagas = begin_all(&engine, 0..20).await;
    let free = begin_of(&engine, "other", "free").await;
    pass(ms(50)).await;
    assert!(matches!(free.settled().await, Ok(amends::Settled::Ended(_))), "it needs no gateway");
    assert_eq!(wire.calls().len(), 3);
    assert_eq!(deferral(&sagas[10]).await.missing, Missing::Concurrency);
    all_complete(&sagas).await;
    assert_eq!((wire.0.peak.load(Ordering::Relaxed), wire.calls().len()), (3, 20));
}

#[tokio::test(start_paused = true)]
async fn calls_keep_to_the_rate_of_the_dependency() {
    let wire = Wire::answering_after(ms(1));
    let rate = Rate { calls: 10, per: Duration::from_secs(1), burst: 2 };
    let engine =
        limited(&[&workflow(vec![wire.step("pay")])], DependencyLimits { rate: Some(rate), ..none() }).await;
    let start = engine.now();
    let sagas = begin_all(&engine, 0..45).await;
    pass(ms(10)).await;
    assert_eq!(deferral(&sagas[44]).await.missing, Missing::Rate(start + ms(100)));
    all_complete(&sagas).await;
    assert_eq!(wire.seconds(start), [11, 10, 10, 10, 4]);
}

/// A breaker that opens after five failures, for five seconds.
fn breaker() -> Breaker {
    Breaker { calls_min: 5, open_for: Duration::from_secs(5), ..Breaker::default() }
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_defers_visibly_spends_nothing_and_lets_one_probe_through() {
    let wire = Wire::answering_after(ms(10));
    let limits = DependencyLimits { breaker: Some(breaker()), ..none() };
    let engine = limited(&[&workflow(vec![wire.step("pay")])], limits).await;
    wire.is_down(true);
    let start = engine.now();
    let mut sagas = begin_all(&engine, 0..5).await;
    pass(ms(100)).await;
    assert_eq!(wire.calls().len(), 5, "the fifth failure opened it");
    sagas.extend(begin_all(&engine, 5..10).await);
    pass(ms(4_000)).await;
    assert_eq!((wire.calls().len(), attempts(&sagas).await), (5, 5), "nothing is sent and nothing spent");

    let Deferral { action, lane, dependency, missing, .. } = deferral(&sagas[7]).await;
    assert_eq!((action, lane, dependency.as_deref()), (ActionId::forward("pay"), Lane::First, Some(GATEWAY)));
    let until = start + ms(5_010);
    assert_eq!(missing, Missing::Breaker(Some(until)));
    let told = deferral(&sagas[7]).await.to_string();
    assert!(
        told.starts_with("pay/forward waits for a permit of dependency `gateway` (breaker open until "),
        "{told}"
    );
    assert_eq!(deferral(&sagas[0]).await.lane, Lane::Retry);
    let view = sagas[7].view().await.unwrap();
    assert_eq!((view.steps[0].forward.stage, view.steps[0].forward.attempts), (Stage::Ready, 0));

    pass(ms(950)).await;
    assert_eq!(wire.calls().len(), 6, "half open: one probe, and it fails");
    pass(ms(5_020)).await;
    assert_eq!(wire.calls().len(), 7, "so does the next");
    wire.is_down(false);
    all_complete(&sagas).await;
    assert_eq!(wire.calls().len(), attempts(&sagas).await);
    assert_eq!(
        wire.calls().len(),
        5 + 2 + 10,
        "five failed, two probes failed, and each of ten succeeded once"
    );
}

#[tokio::test(start_paused = true)]
async fn refusals_do_not_open_the_breaker() {
    let log = Log::default();
    let refusing =
        step("pay", &log).plan(|plan| plan.contract.dependency = Some(GATEWAY.into())).runs(|_| async {
            Attempted::Refused(amends::core::event::Recorded::Value(Json::parse("1").unwrap()))
        });
    let limits = DependencyLimits { breaker: Some(breaker()), ..none() };
    let engine = limited(&[&workflow(vec![refusing])], limits).await;
    for saga in begin_all(&engine, 0..50).await {
        assert!(matches!(saga.outcome().await, Ok(Outcome::Compensated { .. })));
    }
}

/// Ten sagas begin each second. The participant is down for the first minute; the breaker opens at once.
#[tokio::test(start_paused = true)]
async fn after_an_outage_of_a_minute_the_backlog_drains_without_a_second_peak_the_oldest_first() {
    let wire = Wire::answering_after(ms(50));
    let rate = Rate { calls: 20, per: Duration::from_secs(1), burst: 2 };
    let limits =
        DependencyLimits { rate: Some(rate), breaker: Some(breaker()), ..DependencyLimits::default() };
    let engine = limited(&[&workflow(vec![wire.step("pay")])], limits).await;
    let start = engine.now();
    wire.is_down(true);
    let mut sagas = Vec::new();
    for n in 0..1_500_u32 {
        if n == 600 {
            wire.is_down(false);
        }
        sagas.push(begin(&engine, &format!("{n:04}")).await);
        pass(ms(100)).await;
    }
    all_complete(&sagas).await;
    let (calls, seconds) = (wire.calls(), wire.seconds(start));
    assert!(seconds.iter().all(|count| *count <= 21), "a second peak: {seconds:?}");
    assert!(seconds[1..60].iter().sum::<usize>() <= 60, "an outage is left alone: {seconds:?}");
    let drained = seconds[66..].iter().position(|count| *count < 19).unwrap();
    assert!((50..70).contains(&drained), "six hundred at ten a second beside what is new: {drained}");

    let first = |call: &&Call| call.attempt == 1 && call.at > start + Duration::from_secs(66);
    let order: Vec<&str> = calls.iter().filter(first).map(|call| &*call.key).collect();
    assert!(order.is_sorted(), "the earliest deadline goes first");
    assert_eq!(calls.len(), attempts(&sagas).await);
}

/// Without breaker and rate the retry budget alone holds a storm back.
#[tokio::test(start_paused = true)]
async fn what_failed_together_is_retried_at_the_rate_of_the_budget_the_oldest_first() {
    let wire = Wire::answering_after(ms(10));
    let budget = RetryBudget { share_percent: 10, constant_per_second: 5, window: Duration::from_secs(10) };
    let limits = DependencyLimits { retry_budget: Some(budget), ..none() };
    let engine = limited(&[&workflow(vec![wire.step("pay")])], limits).await;
    wire.is_down(true);
    let start = engine.now();
    let mut sagas = Vec::new();
    for n in 0..100 {
        sagas.extend(begin_all(&engine, n..n + 1).await);
        pass(ms(1)).await;
    }
    pass(ms(50)).await;
    wire.is_down(false);
    pass(ms(1_000)).await;
    let waits = deferral(&sagas[99]).await;
    assert!(matches!(waits.missing, Missing::RetryBudget(Some(_))), "{waits:?}");
    all_complete(&sagas).await;
    let seconds = wire.seconds(start);
    assert!((110..=116).contains(&seconds[0]), "first attempts, a tenth of them, and five: {seconds:?}");
    assert!(seconds[1..].iter().all(|count| *count <= 5), "a second peak: {seconds:?}");
    let after = start + ms(200);
    let order: Vec<String> =
        wire.calls().into_iter().filter(|call| call.at > after).map(|call| call.key).collect();
    assert!(order.len() > 80 && order.is_sorted(), "the earliest deadline goes first: {order:?}");
    assert_eq!(wire.calls().len(), attempts(&sagas).await);
}

/// A trigger that is delivered again and again begins nothing, so it pays for nothing.
#[tokio::test(start_paused = true)]
async fn a_start_that_comes_again_pays_for_no_retry() {
    let wire = Wire::answering_after(ms(10));
    let budget = RetryBudget { share_percent: 40, constant_per_second: 0, window: Duration::from_secs(10) };
    let limits = DependencyLimits { retry_budget: Some(budget), ..none() };
    let engine = limited(&[&workflow(vec![wire.step("pay")])], limits).await;
    wire.is_down(true);
    let saga = begin(&engine, "k").await;
    for _ in 0..20 {
        assert_eq!(begin(&engine, "k").await.id(), saga.id());
        pass(ms(10)).await;
    }
    assert_eq!(deferral(&saga).await.missing, Missing::RetryBudget(None));
    assert_eq!(wire.calls().len(), 1, "{:?}", wire.calls());
    wire.is_down(false);
    let others = begin_all(&engine, 0..2).await;
    all_complete(&others).await;
    all_complete(&[saga]).await; // Three first attempts pay for one more.
    assert_eq!(wire.calls().len(), 4);
}

/// What a person orders is not held back by a budget that is spent.
#[tokio::test(start_paused = true)]
async fn what_a_person_orders_does_not_wait_for_the_budget() {
    let wire = Wire::answering_after(ms(10));
    let budget = RetryBudget { share_percent: 1, constant_per_second: 0, window: Duration::from_secs(10) };
    let limits = DependencyLimits { retry_budget: Some(budget), ..none() };
    let engine = limited(&[&workflow(vec![wire.step("pay")])], limits).await;
    wire.is_down(true);
    let saga = begin(&engine, "k").await;
    pass(ms(100)).await;
    assert_eq!(deferral(&saga).await.missing, Missing::RetryBudget(None));
    wire.is_down(false);
    let by = By::new("ann", "it is back", "1");
    engine.operator().saga(saga.id()).retry_now(ActionId::forward("pay"), by).await.unwrap();
    all_complete(&[saga]).await;
    assert_eq!(wire.calls().len(), 2);
}

/// An order stands until an attempt of it is sent: one that was journalled and never sent has not carried it out.
#[tokio::test(start_paused = true)]
async fn what_a_person_orders_and_was_never_sent_does_not_wait_for_the_budget_either() {
    let budget = RetryBudget { share_percent: 1, constant_per_second: 0, window: Duration::from_secs(10) };
    let policies =
        Policies::new().dependency(GATEWAY, DependencyLimits { retry_budget: Some(budget), ..none() });
    let fails_first = |first: fn() -> Attempted| {
        let calling =
            step("pay", &Log::default()).plan(|plan| plan.contract.dependency = Some(GATEWAY.into()));
        calling.runs(move |cx| async move { if cx.attempt() == 1 { first() } else { done() } })
    };
    let busy = || Attempted::Transient(failure(FailureKind::Transient, "busy"));
    let lost = || Attempted::Unknown(failure(FailureKind::Unknown, "lost"));
    let hurried = workflow(vec![fails_first(busy)]);
    let resumed = named("resumed", vec![fails_first(busy).plan(|plan| plan.retry.max_attempts = 1)]);
    let again = named("again", vec![fails_first(lost).plan(|plan| plan.settle = Settle::ByOperator)]);
    let store = GatedStore::new();
    let engine = builder(&store, &hurried).register(resumed).register(again).policies(policies);
    let engine = engine.start().await.unwrap();
    let mut sagas = Vec::new();
    for workflow in ["w", "resumed", "again"] {
        sagas.push(begin_of(&engine, workflow, "k").await);
    }
    pass(ms(100)).await;

    // Somebody else holds the rows, so the orders become durable too late for what they begin to be sent.
    store.held_sagas.lock().unwrap().extend(sagas.iter().map(SagaHandle::id));
    let (pay, by) = (ActionId::forward("pay"), |id| By::new("ann", "it is back", id));
    let [hurried, resumed, again] = [0, 1, 2].map(|n: usize| engine.operator().saga(sagas[n].id()));
    let orders = async {
        tokio::join!(
            hurried.retry_now(pay.clone(), by("1")),
            resumed.resume(pay.clone(), by("2")),
            again.send_again(pay.clone(), by("3")),
        )
    };
    let let_go = async {
        pass(ms(2_500)).await;
        store.held_sagas.lock().unwrap().clear();
    };
    let ((hurried, resumed, again), ()) = tokio::join!(orders, let_go);
    for answer in [hurried, resumed, again] {
        assert_eq!(answer.unwrap(), Answer::Accepted);
    }
    pass(Duration::from_secs(10)).await;
    for saga in &sagas {
        let timeline = saga.view().await.unwrap().timeline();
        assert!(timeline.contains("withdrawn (attempt 2 was never sent)"), "{timeline}");
        assert!(timeline.contains("completed"), "the order is carried out: {timeline}");
    }
}

/// Compensations and repeats draw on the budget as retries do; queries do not.
#[tokio::test(start_paused = true)]
async fn compensations_and_repeats_wait_for_the_budget_and_queries_do_not() {
    let budget = RetryBudget { share_percent: 1, constant_per_second: 0, window: Duration::from_secs(10) };
    let limits = DependencyLimits { retry_budget: Some(budget), ..none() };
    let calling =
        |name| step(name, &Log::default()).plan(|plan| plan.contract.dependency = Some(GATEWAY.into()));
    let lost = || async { Attempted::Unknown(failure(FailureKind::Unknown, "lost")) };
    let undoing =
        calling("undone").undoes(|_| async { Attempted::Transient(failure(FailureKind::Transient, "busy")) });
    let refusing = step("refused", &Log::default()).after(&["undone"]).runs(|_| async {
        Attempted::Refused(amends::core::event::Recorded::Value(Json::parse("1").unwrap()))
    });
    let repeating = calling("repeated").plan(|plan| plan.settle = Settle::ByRepeating).runs(move |_| lost());
    let asking = calling("asked")
        .runs(move |_| lost())
        .finds(|_| Finding::Applied(amends::core::event::Recorded::Value(Json::parse("1").unwrap())));
    let (undo, repeat) = (workflow(vec![undoing, refusing]), named("repeat", vec![repeating]));
    let query = named("query", vec![asking]);
    let engine = limited(&[&undo, &repeat, &query], limits).await;
    let (undone, repeated) = (begin(&engine, "k").await, begin_of(&engine, "repeat", "k").await);
    let asked = begin_of(&engine, "query", "k").await;
    all_complete(&[asked]).await;
    pass(Duration::from_secs(60)).await;
    for (saga, lane) in [(&undone, Lane::Compensation), (&repeated, Lane::Reconciliation)] {
        let waits = deferral(saga).await;
        assert_eq!((waits.lane, waits.missing), (lane, Missing::RetryBudget(None)));
        assert_eq!(
            attempts(std::slice::from_ref(saga)).await,
            if lane == Lane::Compensation { 3 } else { 1 }
        );
    }
}

/// Retries are always due here, and there are more of them than the engine can send.
#[tokio::test(start_paused = true)]
async fn retries_have_their_share_and_no_more_while_first_attempts_wait() {
    let (failing, healthy) = (Wire::answering_after(ms(10)), Wire::answering_after(ms(10)));
    let (broken, works) = (workflow(vec![failing.step("pay")]), named("works", vec![healthy.step("pay")]));
    let lanes = LaneShares { first: 4, retry: 1, reconciliation: 1, compensation: 1 };
    let limits = Limits { max_running: 5, lanes, ..Limits::default() };
    let engine = with(&[&broken, &works], none(), limits).await;
    failing.is_down(true);
    let retrying = begin_all(&engine, 0..50).await;
    pass(ms(500)).await;
    assert!(failing.calls().len() > 200, "with nobody else there, nothing idles");

    let start = engine.now();
    let mut sagas = Vec::new();
    for n in 0..200 {
        sagas.push(begin_of(&engine, "works", &format!("{n}")).await);
    }
    all_complete(&sagas).await;
    let last = healthy.calls().last().unwrap().at;
    let retried = failing.calls().iter().filter(|call| call.at >= start && call.at <= last).count();
    assert!((40..=60).contains(&retried), "one for each four of two hundred: {retried}");
    failing.is_down(false);
    all_complete(&retrying).await;
}

#[tokio::test(start_paused = true)]
async fn g34_a_noisy_workflow_does_not_hold_up_a_quiet_one() {
    let wire = Wire::answering_after(ms(10));
    let (noisy, quiet) = (workflow(vec![wire.step("pay")]), named("quiet", vec![wire.step("pay")]));
    let engine = limited(&[&noisy, &quiet], DependencyLimits { concurrency_max: Some(1), ..none() }).await;
    let many = begin_all(&engine, 0..200).await;
    let mut few = Vec::new();
    for n in 0..5 {
        few.push(begin_of(&engine, "quiet", &format!("quiet {n}")).await);
    }
    all_complete(&many).await;
    let keys: Vec<String> = wire.calls().into_iter().map(|call| call.key).collect();
    let last = keys.iter().rposition(|key| key.starts_with("quiet")).unwrap();
    assert!(last <= 12, "five of them, each after one of the others: {last}");
    all_complete(&few).await;
}

/// Memory has room for twenty sagas, and fifty wait for a dependency that is down.
async fn begin_for(engine: &Engine, tenant: &str, key: &str) -> SagaHandle {
    let input = Json::parse("{}").unwrap();
    let options = StartOptions { tenant: Some(tenant.into()), ..StartOptions::default() };
    engine.start_json("w", key, input, options).await.expect("the saga starts")
}

/// One workflow, one dependency that bears one call at a time: a tenant that comes with two hundred sagas, and one that
/// comes later with three.
#[tokio::test(start_paused = true)]
async fn g34_a_noisy_tenant_does_not_hold_up_a_quiet_one() {
    let wire = Wire::answering_after(ms(100));
    let scarce = DependencyLimits { concurrency_max: Some(1), ..none() };
    let engine = limited(&[&workflow(vec![wire.step("pay")])], scarce).await;
    let mut noisy = Vec::new();
    for n in 0..200 {
        noisy.push(begin_for(&engine, "noisy", &format!("noisy-{n:03}")).await);
    }
    let mut quiet = Vec::new();
    for n in 0..3 {
        quiet.push(begin_for(&engine, "quiet", &format!("quiet-{n}")).await);
    }
    all_complete(&quiet).await;
    let calls = wire.calls();
    let of_noisy = calls.iter().filter(|call| call.key.starts_with("noisy")).count();
    assert!(
        of_noisy <= 5,
        "they take turns: {of_noisy} calls of the noisy one beside three of the quiet one"
    );
    all_complete(&noisy).await;
}

/// With numbers of its own, a tenant whose calls fail spends its own budget and opens its own breaker.
#[tokio::test(start_paused = true)]
async fn g34_limits_by_tenant_keep_one_tenants_trouble_to_itself() {
    let wire = Wire::answering_after(ms(100));
    let shut = Breaker { calls_min: 1, failures_percent: 1, ..Breaker::default() };
    let by_tenant =
        DependencyLimits { concurrency_max: Some(1), breaker: Some(shut), per_tenant: true, ..none() };
    let engine = limited(&[&workflow(vec![wire.step("pay")])], by_tenant).await;
    wire.is_down(true);
    let unlucky = begin_for(&engine, "unlucky", "u").await;
    pass(ms(150)).await;
    wire.is_down(false);
    assert!(matches!(deferral(&unlucky).await.missing, Missing::Breaker(Some(_))));
    let start = engine.now();
    all_complete(&[begin_for(&engine, "lucky", "l").await]).await;
    assert_eq!(engine.now().since(start), ms(100), "it has waited for nobody");
    all_complete(&[unlucky]).await;
}

#[tokio::test(start_paused = true)]
async fn g34_a_dependency_that_is_down_does_not_fill_the_memory_that_others_need() {
    let (wire, log) = (Wire::answering_after(ms(10)), Log::default());
    let (pay, other) = (workflow(vec![wire.step("pay")]), named("other", vec![step("free", &log)]));
    let limits = Limits { max_active: 20, release_after: Duration::from_secs(10), ..Limits::default() };
    let down = DependencyLimits { breaker: Some(breaker()), ..none() };
    let engine = with(&[&pay, &other], down, limits).await;
    wire.is_down(true);
    let mut sagas = begin_all(&engine, 0..5).await;
    pass(ms(100)).await;
    let starts = begin_all(&engine, 5..50);
    sagas.extend(
        tokio::time::timeout(Duration::from_secs(60), starts).await.expect("no start waits for ever"),
    );
    let free = begin_of(&engine, "other", "free").await;
    all_complete(&[free]).await;
    pass(Duration::from_secs(60)).await;
    assert!(wire.calls().len() < 20, "the breaker let a probe through now and then: {}", wire.calls().len());
    wire.is_down(false);
    all_complete(&sagas).await;
    assert_eq!(wire.calls().len(), attempts(&sagas).await);
}

/// The same with what had its first attempt and may not be retried yet: it came to wait without a commit.
#[tokio::test(start_paused = true)]
async fn g34_retries_without_budget_do_not_fill_the_memory_that_others_need() {
    let (wire, log) = (Wire::answering_after(ms(10)), Log::default());
    let (pay, other) = (workflow(vec![wire.step("pay")]), named("other", vec![step("free", &log)]));
    let limits = Limits { max_active: 20, release_after: Duration::from_secs(10), ..Limits::default() };
    let budget = RetryBudget { share_percent: 0, constant_per_second: 1, window: Duration::from_secs(10) };
    let down = DependencyLimits { retry_budget: Some(budget), ..none() };
    let engine = with(&[&pay, &other], down, limits).await;
    wire.is_down(true);
    let starts = begin_all(&engine, 0..50);
    let sagas = tokio::time::timeout(Duration::from_secs(60), starts).await.expect("no start waits for ever");
    pass(Duration::from_secs(60)).await;
    let free = begin_of(&engine, "other", "free");
    let free = tokio::time::timeout(Duration::from_secs(60), free).await.expect("there is room for others");
    all_complete(&[free]).await;
    wire.is_down(false);
    all_complete(&sagas).await;
    assert_eq!(wire.calls().len(), attempts(&sagas).await);
}

/// Somebody else's lock on the row of one saga keeps that one from going on, and nobody from what it had a permit for.
#[tokio::test(start_paused = true)]
async fn a_saga_whose_commit_is_held_up_holds_up_no_dependency() {
    let (wire, log) = (Wire::answering_after(ms(1_000)), Log::default());
    let other = |name| {
        step(name, &log).runs(|_| async {
            pass(ms(100)).await;
            done()
        })
    };
    // One asks for the permit when its commit is held up already, and one in the very commit that is.
    let beside = workflow(vec![wire.step("pay"), other("pack").after(&[])]);
    let behind = named("behind", vec![other("pack"), wire.step("pay").after(&["pack"])]);
    let alone = named("z-alone", vec![wire.step("pay")]);
    let store = GatedStore::new();
    let one = DependencyLimits { concurrency_max: Some(1), ..none() };
    let policies = Policies::new().dependency(GATEWAY, one);
    let engine = builder(&store, &beside).register(behind).register(alone).policies(policies);
    let engine = engine.start().await.unwrap();

    let called = |wire: &Wire| wire.calls().into_iter().map(|call| call.key).collect::<Vec<_>>();
    let hold = |saga: &SagaHandle| store.held_sagas.lock().unwrap().insert(saga.id());
    let mut sagas = vec![begin_of(&engine, "z-alone", "first").await, begin_of(&engine, "w", "waits").await];
    hold(&sagas[1]);
    sagas.push(begin_of(&engine, "z-alone", "second").await);
    pass(ms(2_500)).await;
    assert_eq!(called(&wire), ["first", "second"]);
    sagas.push(begin_of(&engine, "behind", "takes").await);
    hold(&sagas[3]);
    pass(ms(200)).await;
    sagas.push(begin_of(&engine, "z-alone", "third").await);
    pass(ms(100)).await;
    assert_eq!(called(&wire), ["first", "second", "third"]);

    store.held_sagas.lock().unwrap().clear();
    all_complete(&sagas).await;
    let mut calls = called(&wire);
    calls.sort();
    assert_eq!(calls, ["first", "second", "takes", "third", "waits"], "each once");
}

#[tokio::test(start_paused = true)]
async fn a_deferral_ends_at_the_step_deadline_in_quarantine_without_an_attempt() {
    let wire = Wire::answering_after(ms(10));
    let patient = wire.step("pay").plan(|plan| plan.retry.give_up_after = Duration::from_secs(60));
    let shut = Breaker { calls_min: 1, open_for: Duration::from_secs(3_600), ..Breaker::default() };
    let engine =
        limited(&[&workflow(vec![patient])], DependencyLimits { breaker: Some(shut), ..none() }).await;
    wire.is_down(true);
    let opens = begin(&engine, "opens").await;
    pass(ms(100)).await;
    let waits = begin(&engine, "waits").await;
    pass(Duration::from_secs(59)).await;
    assert_eq!(waits.view().await.unwrap().steps[0].forward.stage, Stage::Ready);
    pass(Duration::from_secs(2)).await;
    for (saga, attempts) in [(&opens, 1), (&waits, 0)] {
        let view = saga.view().await.unwrap();
        assert_eq!(
            (view.steps[0].forward.stage, view.steps[0].forward.attempts),
            (Stage::Quarantined, attempts)
        );
        assert_eq!((view.desk[0].because, view.deferrals.len()), (Because::DeadlinePassed, 0));
    }
    assert_eq!(wire.calls().len(), 1);
}

/// Exactly one layer retries: what arrives is what the journals say, whatever happens to it.
#[tokio::test(start_paused = true)]
async fn every_attempt_and_every_query_of_a_journal_is_one_call() {
    let arrived = Arc::new(Mutex::new(BTreeMap::<&str, usize>::new()));
    let note = |what: &'static str| {
        let arrived = arrived.clone();
        move || *arrived.lock().unwrap().entry(what).or_default() += 1
    };
    let (ran, undid, asked) = (note("run"), note("undo"), note("ask"));
    let lossy =
        step("pay", &Log::default())
            .plan(|plan| {
                plan.contract.dependency = Some(GATEWAY.into());
                plan.undo.as_mut().unwrap().settle = Settle::ByRepeating;
            })
            .runs(move |cx| {
                ran();
                async move {
                    match cx.attempt() {
                        1 => Attempted::Transient(failure(FailureKind::Transient, "busy")),
                        2 => Attempted::Unknown(failure(FailureKind::Unknown, "lost")),
                        _ => done(),
                    }
                }
            })
            .asks(move |cx| {
                asked();
                let is_early = cx.fence_through().is_none();
                async move {
                    Ok(if is_early { Finding::Absent } else { Finding::Fenced { through: cx.attempt() } })
                }
            })
            .undoes(move |cx| {
                undid();
                async move {
                    match cx.attempt() {
                        1 => Attempted::Unknown(failure(FailureKind::Unknown, "lost")),
                        _ => undone(),
                    }
                }
            });
    let refusing = step("ship", &Log::default()).after(&["pay"]).runs(|_| async {
        Attempted::Refused(amends::core::event::Recorded::Value(Json::parse("1").unwrap()))
    });
    let engine = limited(&[&workflow(vec![lossy, refusing])], DependencyLimits::default()).await;
    let saga = begin(&engine, "k").await;
    assert!(matches!(saga.outcome().await, Ok(Outcome::Compensated { .. })));
    let view = saga.view().await.unwrap();
    let (pay, undo) = (&view.steps[0].forward, view.steps[0].compensation.as_ref().unwrap());
    assert_eq!((pay.attempts, undo.attempts), (3, 2));
    assert!(pay.queries >= 1);
    let expected =
        [("ask", pay.queries), ("run", 3), ("undo", 2)].map(|(what, count)| (what, count as usize));
    assert_eq!(*arrived.lock().unwrap(), BTreeMap::from(expected));
}

#[tokio::test(start_paused = true)]
async fn impossible_numbers_of_a_dependency_are_refused_at_the_start() {
    let wire = Wire::answering_after(ms(1));
    let policies =
        Policies::new().dependency(GATEWAY, DependencyLimits { concurrency_max: Some(0), ..none() });
    let engine = builder(&Arc::new(MemoryStore::new()), &workflow(vec![wire.step("pay")])).policies(policies);
    let Err(StartError::Registration(mistakes)) = engine.start().await else { panic!("it started") };
    assert_eq!(
        mistakes,
        ["failed to read the catalogue: dependency `gateway`: its concurrency of zero allows no call at all"]
    );
}
