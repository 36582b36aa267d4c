//! G18 and G21: names that come again, and clocks that are wrong, on several nodes with leases.

use std::time::Duration;

use amends::Limits;
use amends::authoring::Definition;
use amends::engine::StopReason;
use amends::ports::Fault;
use amends::prelude::*;
use amends_core::{JournalEvent, SagaId};
use amends_testkit::{CallPlan, Cluster, Entry, Ledger, NodeId, Participant};

const LEASE: Duration = Duration::from_secs(60);
/// The node's pace: it beats, and looks for the dead, ten times per lease.
const BEAT: Duration = Duration::from_secs(6);
/// How often it looks for what is due.
const SCAN: Duration = Duration::from_secs(1);
/// How often it looks for times that a wrong clock has set.
const UPKEEP: Duration = Duration::from_secs(60);
/// The longest delay between two attempts.
const CAP: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// One step that takes half a second at its participant, which settles by query, and the ledger of what it did.
struct Work {
    ledger: Ledger,
    x: Participant<u32, u32, Never>,
    saga: Saga<u32, u32>,
    definition: Definition,
}

impl Work {
    fn new(cluster: &mut Cluster) -> Self {
        Self::with(cluster, Limits::default(), RetryPolicy::default())
    }

    fn with(cluster: &mut Cluster, limits: Limits, retry: RetryPolicy) -> Self {
        cluster.limits(Limits { lease: LEASE, claim_every: SCAN, ..limits });
        let ledger = cluster.ledger();
        let x = Participant::<u32, u32, Never>::slow(&ledger, "x", Duration::from_millis(500), |n| *n);
        let (mut s, input) = SagaBuilder::<u32>::new("work", 1);
        let done = s.step("x", x.step::<ByQuery, ByRepeating>(), input);
        let saga = s.finish(done).expect("the definition is sound");
        let policies = Policies::new().retry("default", retry);
        let definition = saga.resolve(&policies).expect("the numbers are possible");
        Self { ledger, x, saga, definition }
    }

    fn join(&self, cluster: &mut Cluster, name: &str) -> NodeId {
        cluster.join_as(name, &[&self.definition], Duration::ZERO)
    }

    fn start(&self, cluster: &mut Cluster, node: NodeId, keys: std::ops::Range<u32>) -> Vec<SagaId> {
        keys.map(|n| cluster.start(node, &self.saga, &format!("k{n}"), n)).collect()
    }

    fn entries(&self) -> Vec<Entry> {
        self.ledger.entries().into_iter().map(|(_, entry)| entry).collect()
    }

    /// Every saga completed, and its one request took effect once.
    #[track_caller]
    fn assert_each_once(&self, cluster: &Cluster, sagas: &[SagaId]) {
        for saga in sagas {
            let view = cluster.view(*saga);
            assert_eq!(view.phase.word(), "completed", "{}", view.timeline());
        }
        let entries = self.entries();
        assert_eq!(entries.len(), sagas.len(), "one request id for each");
        assert!(entries.iter().all(|entry| entry.effects.len() == 1), "{entries:?}");
    }
}

fn takeovers(cluster: &Cluster, saga: SagaId) -> usize {
    let view = cluster.view(saga);
    let events = view.journal().iter().flat_map(|row| &row.events);
    events.filter(|event| matches!(event, JournalEvent::Claimed { .. })).count()
}

/// The attempts of the step `x` that its journal counts.
fn attempts(cluster: &Cluster, saga: SagaId) -> u32 {
    cluster.view(saga).steps[0].forward.attempts
}

#[test]
fn g18_a_stalled_node_that_wakes_after_its_name_went_to_another_writes_nothing_and_stops() {
    let mut cluster = Cluster::new();
    let work = Work::new(&mut cluster);
    let stalled = work.join(&mut cluster, "w-0");
    let sagas = work.start(&mut cluster, stalled, 0..3);
    cluster.run_for(Duration::from_millis(100)); // Its calls have left, and not been answered.
    cluster.freeze(stalled);
    let again = work.join(&mut cluster, "w-0");
    let taken = cluster.run_until(seconds(120), |cluster| cluster.owned(again) == 3);
    assert!((LEASE - BEAT..=LEASE + 2 * BEAT + SCAN).contains(&taken), "{taken:?}");
    cluster.run_for(seconds(90) - taken);
    let journals =
        |cluster: &Cluster| sagas.iter().map(|saga| cluster.view(*saga).timeline()).collect::<Vec<_>>();
    let (before, calls) = (journals(&cluster), work.entries().iter().map(|entry| entry.calls).sum::<u32>());
    cluster.wire(stalled).heard();

    cluster.wake(stalled);
    cluster.run_for(seconds(60));
    let asked: Vec<&str> = cluster.wire(stalled).heard().into_iter().map(|(_, call)| call).collect();
    assert_eq!(asked, ["beat"], "it learns that it was dismissed, and asks nothing more");
    assert!(matches!(cluster.stopped(stalled), Some(StopReason::Dismissed(Fault::Fenced))));
    assert_eq!(journals(&cluster), before, "nothing of it is written");
    assert_eq!(work.entries().iter().map(|entry| entry.calls).sum::<u32>(), calls, "nothing of it is sent");
    assert!(cluster.stopped(again).is_none() && cluster.alive() == 1, "the other one of its name goes on");
    assert!(sagas.iter().all(|saga| takeovers(&cluster, *saga) == 1));
    work.assert_each_once(&cluster, &sagas);
}

#[test]
fn g18_a_process_that_comes_back_under_its_name_has_its_claims_within_a_lease_and_a_scan() {
    let mut cluster = Cluster::new();
    let work = Work::new(&mut cluster);
    let first = work.join(&mut cluster, "w-0");
    let sagas = work.start(&mut cluster, first, 0..5);
    cluster.run_for(Duration::from_millis(100));
    cluster.kill(first);
    let again = work.join(&mut cluster, "w-0");
    assert_eq!(cluster.owned(again), 0, "a name proves nothing");
    let taken = cluster.run_until(seconds(120), |cluster| cluster.owned(again) == 5);
    assert!(taken <= LEASE + 2 * BEAT + SCAN, "{taken:?}");
    cluster.run_until(seconds(60), |cluster| cluster.all_ended(&sagas));
    work.assert_each_once(&cluster, &sagas);
}

/// What fails at first, and is retried within the cap.
fn retried() -> RetryPolicy {
    RetryPolicy { max_attempts: 100, base: CAP, cap: CAP, ..RetryPolicy::default() }
}

#[test]
fn g21_a_retry_that_a_clock_eight_hours_ahead_has_set_begins_within_its_cap_and_a_scan() {
    for given_up in [false, true] {
        let mut cluster = Cluster::new();
        // What sleeps is given up, with the time to wake it at.
        let scarce = Limits { max_active: 1, release_after: seconds(1), ..Limits::default() };
        let work = Work::with(&mut cluster, if given_up { scarce } else { Limits::default() }, retried());
        work.x.on_call().next(CallPlan::Transient);
        let wrong = cluster.join_as("w-0", &[&work.definition], 8 * HOUR);
        let [saga] = work.start(&mut cluster, wrong, 0..1)[..] else { panic!("one saga") };
        cluster.run_for(seconds(1));
        assert_eq!(cluster.row(saga).owner.is_none(), given_up, "{}", cluster.view(saga).timeline());
        cluster.kill(wrong);

        let right = work.join(&mut cluster, "w-0");
        let took = cluster.run_until(seconds(600), |cluster| cluster.all_ended(&[saga]));
        let bound = if given_up { UPKEEP + SCAN + CAP } else { LEASE + 2 * BEAT + SCAN + CAP };
        assert!(took <= bound + seconds(1), "given up: {given_up}, after {took:?}, more than {bound:?}");
        assert_eq!(attempts(&cluster, saga), 2, "no attempt was lost");
        assert!(cluster.stopped(right).is_none());
        work.assert_each_once(&cluster, &[saga]);
    }
}

#[test]
fn g21_a_clock_an_hour_ahead_takes_no_attempt_for_failed_and_repeats_nothing() {
    let mut cluster = Cluster::new();
    let retry = RetryPolicy { give_up_after: seconds(600), ..RetryPolicy::default() };
    let work = Work::with(&mut cluster, Limits::default(), retry);
    let right = work.join(&mut cluster, "w-0");
    let sagas = work.start(&mut cluster, right, 0..5);
    cluster.run_for(Duration::from_millis(100)); // Under way, with ten minutes left.
    cluster.kill(right);
    let ahead = cluster.join_as("w-0", &[&work.definition], HOUR);
    cluster.run_until(seconds(300), |cluster| cluster.all_ended(&sagas));
    // The deadline has passed by the jump alone: what became of the calls was asked, and each had taken effect.
    assert!(cluster.stopped(ahead).is_none());
    for saga in &sagas {
        let timeline = cluster.view(*saga).timeline();
        assert!(timeline.contains("x found applied"), "{timeline}");
        assert_eq!(attempts(&cluster, *saga), 1, "{timeline}");
    }
    assert!(work.entries().iter().all(|entry| entry.calls == 1));
    work.assert_each_once(&cluster, &sagas);
}

#[test]
fn g21_nodes_with_clocks_further_apart_than_their_lease_claim_nothing_of_each_other() {
    let mut cluster = Cluster::new();
    let work = Work::with(&mut cluster, Limits::default(), retried());
    work.x.on_call().always(CallPlan::Transient);
    let [right, ahead] =
        [Duration::ZERO, seconds(90)].map(|ahead| cluster.join_as("w", &[&work.definition], ahead));
    let mut sagas = work.start(&mut cluster, right, 0..10);
    sagas.extend(work.start(&mut cluster, ahead, 10..20));
    for _minute in 0..3 {
        cluster.run_for(seconds(60));
        assert_eq!(cluster.alive(), 2);
        assert!(cluster.owned(right) + cluster.owned(ahead) <= 20);
    }
    work.x.on_call().heal();
    cluster.run_until(seconds(600), |cluster| cluster.all_ended(&sagas));
    assert!([right, ahead].iter().all(|node| cluster.stopped(*node).is_none()));
    assert!(sagas.iter().all(|saga| takeovers(&cluster, *saga) == 0), "by skew alone nobody takes over");
    let calls = work.x.on_call().calls();
    let counted: u32 = sagas.iter().map(|saga| attempts(&cluster, *saga)).sum();
    assert_eq!(calls, counted, "and no attempt is made twice");
    work.assert_each_once(&cluster, &sagas);
}

#[test]
fn g21_a_frozen_machine_whose_clock_jumped_as_it_woke_is_told_by_its_lease_and_not_by_its_clock() {
    let mut cluster = Cluster::new();
    let work = Work::new(&mut cluster);
    let [behind, ahead] =
        [Duration::ZERO, HOUR].map(|ahead| cluster.join_as("w", &[&work.definition], ahead));
    let sagas = work.start(&mut cluster, ahead, 0..3);
    cluster.run_for(Duration::from_millis(100));
    cluster.freeze(ahead);
    cluster.run_for(LEASE / 2 + BEAT); // Past the half after which it may not act, within its lease.
    cluster.wire(ahead).heard();
    cluster.wake(ahead);
    cluster.run_until(seconds(60), |cluster| cluster.all_ended(&sagas));
    let asked = cluster.wire(ahead).heard();
    assert_eq!(asked[0].1, "beat", "{asked:?}");
    assert_eq!((cluster.alive(), cluster.owned(behind)), (2, 0), "within its lease it is nobody else's");
    work.assert_each_once(&cluster, &sagas);
}
