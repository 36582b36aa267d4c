//! Lanes, lines and workflows before one bound: who gets the permits that others give back.

use super::*;
use crate::authoring;
use crate::engine::LaneShares;

/// A worker's permits, and who is under way.
struct Bench {
    admission: Admission,
    under_way: Vec<(SagaId, Lane, Permit)>,
    waiting: BTreeMap<SagaId, (Lane, Kind, &'static str, Option<&'static str>)>,
    /// The lanes of those who went, in order.
    went: Vec<Lane>,
    sagas: u128,
    now: Timestamp,
}

impl Bench {
    fn new(max_running: usize, dependencies: &[(&str, DependencyLimits)]) -> Self {
        let lanes = LaneShares { first: 5, retry: 1, reconciliation: 2, compensation: 2 };
        let limits = Limits { max_running, lanes, ..Limits::default() };
        let dependencies = dependencies.iter().map(|(name, limits)| (Arc::from(*name), limits.clone()));
        Self {
            admission: Admission::new(&limits, &dependencies.collect(), []),
            under_way: Vec::new(),
            waiting: BTreeMap::new(),
            went: Vec::new(),
            sagas: 0,
            now: Timestamp(1_000_000),
        }
    }

    /// A new saga asks; its id. The workflow may name a tenant: `w/tenant`.
    fn ask(
        &mut self,
        lane: Lane,
        kind: Kind,
        workflow: &'static str,
        dependency: Option<&'static str>,
    ) -> SagaId {
        self.sagas += 1;
        let saga = SagaId(uuid::Uuid::from_u128(self.sagas));
        self.waiting.insert(saga, (lane, kind, workflow, dependency));
        self.look(saga);
        saga
    }

    fn look(&mut self, saga: SagaId) {
        let Some((lane, kind, workflow, dependency)) = self.waiting.get(&saga).copied() else { return };
        let (workflow, tenant) =
            workflow.split_once('/').map_or((workflow, None), |(workflow, tenant)| (workflow, Some(tenant)));
        let (action, workflow, tenant) =
            (ActionId::forward("a"), Arc::from(workflow), tenant.map(Arc::<str>::from));
        let request = Request {
            saga,
            action: &action,
            workflow: &workflow,
            tenant: tenant.as_ref(),
            dependency,
            lane,
            kind,
            deadline: None,
        };
        if let Some(permit) = self.admission.take(&request, self.now) {
            self.waiting.remove(&saga);
            self.went.push(lane);
            self.under_way.push((saga, lane, permit));
            if kind == Kind::First {
                self.admission.first_began(permit, self.now);
            }
        }
    }

    fn look_at_granted(&mut self) {
        loop {
            let granted = self.admission.granted();
            if granted.is_empty() {
                return;
            }
            granted.into_iter().for_each(|saga| self.look(saga));
        }
    }

    /// The call that began first ends.
    fn end(&mut self, health: Option<Health>) {
        let (_, _, permit) = self.under_way.remove(0);
        self.admission.give_back(permit, health, self.now);
        self.look_at_granted();
    }

    fn pass(&mut self, ms: i64) {
        self.now = Timestamp(self.now.0 + ms * 1_000);
        self.admission.dispatch(self.now);
        self.look_at_granted();
    }

    fn went(&self, lane: Lane) -> usize {
        self.went.iter().filter(|went| **went == lane).count()
    }
}

const LANES_OF_ALL: [(Lane, Kind); 4] = [
    (Lane::First, Kind::First),
    (Lane::Retry, Kind::Further),
    (Lane::Reconciliation, Kind::Query),
    (Lane::Compensation, Kind::First),
];

#[test]
fn every_lane_gets_its_share_of_a_full_engine() {
    let mut bench = Bench::new(10, &[]);
    for _ in 0..200 {
        for (lane, kind) in LANES_OF_ALL {
            bench.ask(lane, kind, "w", None);
        }
    }
    bench.went.clear();
    (0..100).for_each(|_| bench.end(None));
    assert_eq!(LANES_OF_ALL.map(|(lane, _)| bench.went(lane)), [50, 10, 20, 20]);
}

#[test]
fn retries_have_everything_while_nobody_else_waits_and_their_share_when_first_attempts_come() {
    let mut bench = Bench::new(4, &[]);
    for _ in 0..300 {
        bench.ask(Lane::Retry, Kind::Further, "w", None);
    }
    (0..100).for_each(|_| bench.end(None));
    assert_eq!(bench.went(Lane::Retry), 104, "nothing idles");
    for _ in 0..100 {
        bench.ask(Lane::First, Kind::First, "w", None);
    }
    bench.went.clear();
    (0..60).for_each(|_| bench.end(None));
    assert_eq!((bench.went(Lane::First), bench.went(Lane::Retry)), (50, 10));
}

/// The engine has room; the dependency is what is scarce.
#[test]
fn lanes_share_a_scarce_dependency_too_and_nobody_else_waits_for_it() {
    let scarce = DependencyLimits { concurrency_max: Some(2), ..DependencyLimits::unlimited() };
    let mut bench = Bench::new(1_000, &[("scarce", scarce)]);
    for _ in 0..100 {
        bench.ask(Lane::Retry, Kind::Further, "w", Some("scarce"));
        bench.ask(Lane::First, Kind::First, "w", Some("scarce"));
    }
    assert_eq!(bench.under_way.len(), 2);
    bench.went.clear();
    (0..60).for_each(|_| {
        bench.end(None);
        assert_eq!(bench.under_way.len(), 2, "never more than it can bear, and never fewer");
    });
    assert_eq!((bench.went(Lane::First), bench.went(Lane::Retry)), (50, 10));
    let other = bench.ask(Lane::First, Kind::First, "w", None);
    assert!(!bench.waiting.contains_key(&other), "whoever needs nothing scarce goes at once");
}

#[test]
fn two_lines_get_permits_of_a_full_engine_in_turn() {
    let named = |name| (name, DependencyLimits::unlimited());
    let mut bench = Bench::new(2, &[named("x"), named("y")]);
    let asked: Vec<SagaId> = (0..40)
        .map(|n| bench.ask(Lane::First, Kind::First, "w", Some(if n < 30 { "x" } else { "y" })))
        .collect();
    (0..20).for_each(|_| bench.end(None));
    let waiting =
        |range: std::ops::Range<usize>| range.filter(|n| bench.waiting.contains_key(&asked[*n])).count();
    assert_eq!((waiting(0..30), waiting(30..40)), (18, 0), "ten each, and the two that went at once");
}

#[test]
fn workflows_are_served_in_turn_however_many_sagas_one_of_them_has() {
    let mut bench = Bench::new(1, &[]);
    let noisy: Vec<SagaId> = (0..50).map(|_| bench.ask(Lane::First, Kind::First, "noisy", None)).collect();
    let quiet: Vec<SagaId> = (0..5).map(|_| bench.ask(Lane::First, Kind::First, "quiet", None)).collect();
    (0..10).for_each(|_| bench.end(None));
    assert!(quiet.iter().all(|saga| !bench.waiting.contains_key(saga)));
    assert_eq!(noisy.iter().filter(|saga| bench.waiting.contains_key(saga)).count(), 44);
}

/// Of a workflow, too: a tenant with many sagas does not hold up one with few.
#[test]
fn tenants_of_a_workflow_are_served_in_turn_however_many_sagas_one_of_them_has() {
    let mut bench = Bench::new(1, &[]);
    for _ in 0..50 {
        bench.ask(Lane::First, Kind::First, "w/noisy", None);
    }
    let quiet: Vec<SagaId> = (0..5).map(|_| bench.ask(Lane::First, Kind::First, "w/quiet", None)).collect();
    (0..10).for_each(|_| bench.end(None));
    assert!(quiet.iter().all(|saga| !bench.waiting.contains_key(saga)));
}

fn one_at_a_time_for_each_tenant() -> DependencyLimits {
    DependencyLimits { concurrency_max: Some(1), per_tenant: true, ..DependencyLimits::unlimited() }
}

#[test]
fn where_a_dependency_says_so_each_tenant_has_its_numbers_for_itself() {
    let breaker = Some(authoring::Breaker { calls_min: 1, ..Default::default() });
    let limits = DependencyLimits { breaker, ..one_at_a_time_for_each_tenant() };
    let mut bench = Bench::new(100, &[("bank", limits)]);
    let ask = |bench: &mut Bench, of| bench.ask(Lane::First, Kind::First, of, Some("bank"));
    let first = ask(&mut bench, "w/a");
    let [second, other, none] = ["w/a", "w/b", "w"].map(|of| ask(&mut bench, of));
    assert_eq!(bench.waiting.keys().copied().collect::<Vec<_>>(), [second], "only `a` has one under way");
    let [deferral] = &bench.admission.deferrals(second, bench.now)[..] else { panic!("it waits") };
    assert_eq!((deferral.dependency.as_deref(), &deferral.missing), (Some("bank"), &Missing::Concurrency));
    bench.end(Some(Health::Failed)); // The call of `a`: its breaker opens, and those of the others do not.
    let again = ask(&mut bench, "w/b");
    bench.end(Some(Health::Answered));
    assert!(!bench.waiting.contains_key(&again) && bench.waiting.contains_key(&second));
    assert!([first, other, none].iter().all(|saga| !bench.waiting.contains_key(saga)));
}

#[test]
fn what_a_person_allows_counts_all_tenants_together() {
    let order = Arc::new(crate::controls::ControlInForce {
        control: crate::controls::Control::DependencyLimited { dependency: "bank".into(), calls_max: 2 },
        by: "ann".to_owned(),
        reason: "a test".to_owned(),
        since: Timestamp(0),
        operation_id: "1".to_owned(),
    });
    let mut bench = Bench::new(100, &[("bank", one_at_a_time_for_each_tenant())]);
    bench.admission.limit(&BTreeMap::from([("bank".into(), (2, order.clone()))]), bench.now);
    let sagas = ["w/a", "w/b", "w/c"].map(|of| bench.ask(Lane::First, Kind::First, of, Some("bank")));
    assert_eq!(bench.under_way.len(), 2);
    let deferrals = bench.admission.deferrals(sagas[2], bench.now);
    assert_eq!(deferrals[0].missing, Missing::Limited(order));
    bench.end(None);
    assert_eq!((bench.under_way.len(), bench.waiting.len()), (2, 0));
    bench.ask(Lane::First, Kind::First, "w/d", Some("bank"));
    assert_eq!(bench.waiting.len(), 1);
    bench.admission.limit(&BTreeMap::new(), bench.now);
    bench.look_at_granted();
    assert_eq!(bench.waiting.len(), 0);
}

#[test]
fn lines_of_tenants_that_nobody_needs_are_given_up() {
    let mut bench = Bench::new(100, &[("bank", one_at_a_time_for_each_tenant())]);
    let names: Vec<&'static str> = (0..1_000).map(|n| &*format!("w/{n}").leak()).collect();
    for name in &names {
        bench.ask(Lane::First, Kind::First, name, Some("bank"));
        bench.end(Some(Health::Answered));
    }
    assert!(bench.admission.lines.len() < 100, "{} lines", bench.admission.lines.len());
    for name in &names[..80] {
        bench.ask(Lane::First, Kind::First, name, Some("bank"));
    }
    assert_eq!(bench.under_way.len(), 80, "each has one of its own");
}

#[test]
fn what_is_not_wanted_any_more_goes_to_the_next() {
    let mut bench = Bench::new(1, &[]);
    let [_, second, third, fourth] = [(); 4].map(|()| bench.ask(Lane::First, Kind::First, "w", None));
    bench.admission.keep_only(second, &[], bench.now);
    let (_, _, permit) = bench.under_way.remove(0);
    bench.admission.give_back(permit, None, bench.now);
    assert_eq!(bench.admission.granted(), [third], "the second has given its place up");
    bench.admission.keep_only(third, &[], bench.now);
    assert_eq!(bench.admission.granted(), [fourth], "and the third the permit that was kept for it");
    bench.look(fourth);
    assert_eq!(bench.under_way.len(), 1);
    bench.end(None);
    assert_eq!(bench.admission.free, 1);
    assert!(bench.admission.held.is_empty() && bench.admission.waiting == 0);
}

#[test]
fn what_a_person_orders_leaves_the_queue_of_what_waits_for_the_budget() {
    let budget = authoring::RetryBudget { share_percent: 1, constant_per_second: 0, ..Default::default() };
    let poor = DependencyLimits { retry_budget: Some(budget), ..DependencyLimits::unlimited() };
    let mut bench = Bench::new(10, &[("poor", poor)]);
    let saga = bench.ask(Lane::Retry, Kind::Further, "w", Some("poor"));
    let [deferral] = &bench.admission.deferrals(saga, bench.now)[..] else { panic!("it waits") };
    assert_eq!(deferral.missing, Missing::RetryBudget(None));
    bench.waiting.insert(saga, (Lane::Retry, Kind::Ordered, "w", Some("poor")));
    bench.look(saga);
    assert!(bench.waiting.is_empty());
    assert!(bench.admission.deferrals(saga, bench.now).is_empty() && bench.admission.waiting == 0);
}

#[test]
fn first_attempts_pay_for_retries_that_wait() {
    let budget = authoring::RetryBudget { share_percent: 50, constant_per_second: 0, ..Default::default() };
    let poor = DependencyLimits { retry_budget: Some(budget), ..DependencyLimits::unlimited() };
    let mut bench = Bench::new(10, &[("poor", poor)]);
    bench.ask(Lane::Retry, Kind::Further, "w", Some("poor"));
    bench.ask(Lane::First, Kind::First, "w", Some("poor"));
    assert_eq!(bench.went, [Lane::First]);
    bench.ask(Lane::First, Kind::First, "w", Some("poor"));
    bench.look_at_granted();
    assert_eq!(bench.went, [Lane::First, Lane::First, Lane::Retry]);
}

#[test]
fn what_time_alone_brings_has_a_time_to_wake_up_at() {
    let breaker = authoring::Breaker { calls_min: 1, ..Default::default() };
    let broken = DependencyLimits { breaker: Some(breaker), ..DependencyLimits::unlimited() };
    let mut bench = Bench::new(10, &[("broken", broken)]);
    bench.ask(Lane::First, Kind::First, "w", Some("broken"));
    bench.end(Some(Health::Failed));
    assert_eq!(bench.admission.wake(), None, "nobody waits for it");
    let saga = bench.ask(Lane::First, Kind::First, "w", Some("broken"));
    let until = bench.now + std::time::Duration::from_secs(5);
    assert_eq!(bench.admission.wake(), Some(until));
    assert_eq!(bench.admission.deferrals(saga, bench.now)[0].missing, Missing::Breaker(Some(until)));
    bench.pass(5_000);
    assert!(bench.waiting.is_empty() && bench.admission.wake().is_none());
}

#[test]
fn whoever_finds_room_in_an_engine_without_limits_leaves_no_trace() {
    let mut bench = Bench::new(2, &[]);
    bench.ask(Lane::First, Kind::First, "w", Some("a name without limits"));
    assert!(bench.admission.held.is_empty() && bench.admission.lines[REST].is_empty());
    assert_eq!((bench.admission.tickets, bench.admission.free), (0, 1));
}

/// Whatever happens in whatever order: no permit is lost or made, and nobody waits who could go.
#[test]
fn no_order_of_events_loses_a_permit_or_leaves_somebody_waiting_who_could_go() {
    let limits = DependencyLimits {
        concurrency_max: Some(3),
        rate: Some(authoring::Rate::per_second(100)),
        query_rate: Some(authoring::Rate::per_second(50)),
        retry_budget: Some(authoring::RetryBudget::default()),
        breaker: Some(authoring::Breaker { calls_min: 3, probes: 2, ..Default::default() }),
        per_tenant: false,
    };
    for seed in 0..50 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let by_tenant = DependencyLimits { per_tenant: true, ..limits.clone() };
        let mut bench = Bench::new(5, &[("x", limits.clone()), ("y", limits.clone()), ("z", by_tenant)]);
        for _ in 0..400 {
            match rng.u8(0..10) {
                0..4 => {
                    let (lane, kind) = LANES_OF_ALL[rng.usize(0..LANES)];
                    let dependency = [None, Some("x"), Some("y"), Some("z")][rng.usize(0..4)];
                    bench.ask(lane, kind, ["v", "w/1", "w/2"][rng.usize(0..3)], dependency);
                    bench.look_at_granted(); // A first attempt may have paid for a retry that waits.
                }
                4..7 if !bench.under_way.is_empty() => {
                    bench.end([None, Some(Health::Answered), Some(Health::Failed)][rng.usize(0..3)]);
                }
                7 => {
                    let Some(saga) = bench.waiting.keys().next().copied() else { continue };
                    bench.waiting.remove(&saga);
                    bench.admission.keep_only(saga, &[], bench.now);
                    bench.look_at_granted();
                }
                _ => bench.pass(rng.i64(0..300)),
            }
            let Admission { free, lines, waiting, wake, .. } = &bench.admission;
            assert_eq!(free + bench.under_way.len(), 5, "seed {seed}");
            assert_eq!(*waiting, bench.waiting.len(), "seed {seed}");
            assert!(bench.under_way.iter().filter(|(_, _, permit)| permit.line == 1).count() <= 3);
            assert!(*free == 0 || lines.iter().all(|line| line.next(bench.now).is_none()), "seed {seed}");
            assert!(wake.is_none_or(|wake| wake > bench.now), "seed {seed}: an alarm that rings for ever");
        }
        for _ in 0..10_000 {
            if bench.under_way.is_empty() && bench.waiting.is_empty() {
                break;
            }
            while !bench.under_way.is_empty() {
                bench.end(Some(Health::Answered));
            }
            bench.pass(100);
        }
        assert!(bench.waiting.is_empty() && bench.admission.held.is_empty(), "seed {seed}");
        assert_eq!((bench.admission.free, bench.admission.wake), (5, None), "seed {seed}");
    }
}
