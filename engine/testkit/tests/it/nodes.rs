//! Several nodes on one store: what becomes of sagas when nodes die, freeze, slow down, come and go.

use std::time::Duration;

use amends::authoring::Definition;
use amends::engine::{OutcomeError, StopReason};
use amends::ports::Fault;
use amends::prelude::*;
use amends::{Limits, Outcome, Settled};
use amends_core::{JournalEvent, SagaId};
use amends_testkit::{Cluster, Ledger, NodeId, Participant};

const LEASE: Duration = Duration::from_secs(10);
const BEAT: Duration = Duration::from_secs(1);
/// What one call takes; three in a row are a saga.
const CALL: Duration = Duration::from_secs(1);

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// A workflow of three slow steps, and the ledger of what they did.
struct Works {
    ledger: Ledger,
    saga: Saga<u32, String>,
    definition: Definition,
}

impl Works {
    fn new(cluster: &Cluster) -> Self {
        Self::named(cluster, "works")
    }

    fn named(cluster: &Cluster, workflow: &'static str) -> Self {
        let ledger = cluster.ledger();
        let participant = |name: &str| {
            Participant::<u32, String, Never>::slow(&ledger, name, CALL, |piece| format!("piece {piece}"))
        };
        let (cut, bend, paint) = (participant("cut"), participant("bend"), participant("paint"));
        let (mut s, piece) = SagaBuilder::<u32>::new(workflow, 1);
        let cut = s.step("cut", cut.step::<ByQuery, ByRepeating>(), piece);
        let bent = s.step("bend", bend.step::<ByRepeating, ByRepeating>(), piece.after(cut));
        let (painted, s) = s.pivot("paint", paint.step::<ByQuery, ByRepeating>(), piece.after(bent));
        let saga = s.finish(painted).expect("the definition is sound");
        let definition = saga.resolve(&Policies::new()).expect("the numbers are possible");
        Self { ledger, saga, definition }
    }

    fn start(&self, cluster: &mut Cluster, node: NodeId, keys: std::ops::Range<u32>) -> Vec<SagaId> {
        keys.map(|n| cluster.start(node, &self.saga, &format!("piece-{n}"), n)).collect()
    }

    fn calls(&self) -> u32 {
        self.ledger.entries().iter().map(|(_, entry)| entry.calls).sum()
    }

    /// Every saga completed, and every step took effect once.
    #[track_caller]
    fn assert_each_once(&self, cluster: &Cluster, sagas: &[SagaId]) {
        for saga in sagas {
            let view = cluster.view(*saga);
            assert_eq!(view.phase.word(), "completed", "{}", view.timeline());
        }
        let entries = self.ledger.entries();
        assert_eq!(entries.len(), 3 * sagas.len());
        for (request, entry) in entries {
            assert_eq!(entry.effects.len(), 1, "{request:?} of {}", entry.participant);
        }
    }
}

/// A cluster, its works, and so many nodes.
fn cluster_of<const N: usize>() -> (Cluster, Works, [NodeId; N]) {
    let mut cluster = Cluster::new();
    let works = Works::new(&cluster);
    let nodes = std::array::from_fn(|_| cluster.join(&[&works.definition]));
    (cluster, works, nodes)
}

/// How often a saga was taken over.
fn takeovers(cluster: &Cluster, saga: SagaId) -> usize {
    let view = cluster.view(saga);
    let events = view.journal().iter().flat_map(|row| &row.events);
    events.filter(|event| matches!(event, JournalEvent::Claimed { .. })).count()
}

fn is_dismissed(cluster: &Cluster, node: NodeId) -> bool {
    matches!(cluster.stopped(node), Some(StopReason::Dismissed(Fault::Fenced)))
}

#[test]
fn the_sagas_of_a_killed_node_go_on_elsewhere_within_a_lease_and_a_beat() {
    let (mut cluster, works, [first, second]) = cluster_of();
    let sagas = works.start(&mut cluster, first, 0..20);
    cluster.run_for(CALL + CALL / 2);
    cluster.kill(first);
    let taken = cluster.run_until(seconds(60), |cluster| cluster.owned(second) == 20);
    assert!(taken <= LEASE + 2 * BEAT, "after {taken:?}");
    assert!(taken >= LEASE - BEAT, "nobody is dismissed before a lease has passed: {taken:?}");
    assert_eq!(cluster.alive(), 1);
    cluster.run_until(seconds(60), |cluster| cluster.all_ended(&sagas));
    works.assert_each_once(&cluster, &sagas);
    assert!(sagas.iter().all(|saga| takeovers(&cluster, *saga) == 1));
}

#[test]
fn three_nodes_share_the_sagas_of_a_dead_one_and_nobody_takes_one_twice() {
    let mut cluster = Cluster::new();
    let works = Works::new(&cluster);
    cluster.limits(Limits { max_active: 8, ..Limits::default() });
    let [first, second, third] = std::array::from_fn(|_| cluster.join(&[&works.definition]));
    let sagas = works.start(&mut cluster, first, 0..8);
    cluster.kill(first);
    cluster.run_until(seconds(60), |cluster| {
        assert!(cluster.owned(second) <= 8 && cluster.owned(third) <= 8, "more than there is room for");
        cluster.all_ended(&sagas)
    });
    works.assert_each_once(&cluster, &sagas);
    assert!(sagas.iter().all(|saga| takeovers(&cluster, *saga) == 1));
}

#[test]
fn a_node_takes_no_more_of_the_dead_than_it_has_room_for() {
    let mut cluster = Cluster::new();
    let works = Works::new(&cluster);
    let first = cluster.join(&[&works.definition]);
    let sagas = works.start(&mut cluster, first, 0..12);
    cluster.limits(Limits { max_active: 4, ..Limits::default() });
    let second = cluster.join(&[&works.definition]);
    cluster.kill(first);
    let mut most = 0;
    cluster.run_until(seconds(120), |cluster| {
        most = most.max(cluster.owned(second));
        cluster.all_ended(&sagas)
    });
    assert_eq!(most, 4);
    works.assert_each_once(&cluster, &sagas);
}

#[test]
fn a_node_that_was_frozen_past_its_lease_does_nothing_but_learn_that_it_is_dismissed() {
    let (mut cluster, works, [first, second]) = cluster_of();
    let sagas = works.start(&mut cluster, first, 0..5);
    cluster.run_for(CALL / 2);
    cluster.freeze(first);
    cluster.run_until(seconds(60), |cluster| cluster.all_ended(&sagas));
    assert_eq!((cluster.owned(first), cluster.owned(second), cluster.alive()), (0, 0, 1));
    let journals =
        |cluster: &Cluster| sagas.iter().map(|saga| cluster.view(*saga).timeline()).collect::<Vec<_>>();
    let (calls, before) = (works.calls(), journals(&cluster));
    cluster.wire(first).heard();

    cluster.wake(first);
    cluster.run_for(seconds(60));
    assert!(is_dismissed(&cluster, first), "{:?}", cluster.stopped(first));
    let asked: Vec<&str> = cluster.wire(first).heard().into_iter().map(|(_, call)| call).collect();
    assert_eq!(asked, ["beat"], "the first thing is a heartbeat, and after it there is nothing");
    assert_eq!((works.calls(), journals(&cluster)), (calls, before));
    works.assert_each_once(&cluster, &sagas);
}

#[test]
fn a_node_that_was_frozen_for_less_than_a_lease_beats_first_and_goes_on() {
    let (mut cluster, works, [first, second]) = cluster_of();
    let sagas = works.start(&mut cluster, first, 0..5);
    cluster.run_for(CALL / 2);
    cluster.freeze(first);
    cluster.run_for(seconds(7));
    cluster.wire(first).heard();
    cluster.wake(first);
    cluster.run_until(seconds(10), |cluster| cluster.all_ended(&sagas));
    let asked = cluster.wire(first).heard();
    assert_eq!(asked[0].1, "beat", "{asked:?}");
    assert!(cluster.stopped(first).is_none() && cluster.alive() == 2 && cluster.owned(second) == 0);
    assert!(sagas.iter().all(|saga| takeovers(&cluster, *saga) == 0));
    works.assert_each_once(&cluster, &sagas);
}

#[test]
fn after_half_a_lease_without_a_heartbeat_nothing_is_sent_or_committed() {
    let (mut cluster, works, [first, _second]) = cluster_of();
    let sagas = works.start(&mut cluster, first, 0..5);
    cluster.run_for(CALL / 2);
    cluster.freeze(first);
    cluster.run_for(seconds(7));
    let calls = works.calls();
    cluster.wire(first).cut(true);
    cluster.wire(first).heard();
    // Its answers have come, its next steps could begin, and its next heartbeat does not get through.
    cluster.wake(first);
    cluster.run_for(seconds(1));
    let asked = cluster.wire(first).heard();
    assert!(!asked.is_empty() && asked.iter().all(|(_, call)| *call == "beat"), "{asked:?}");
    let health = cluster.ask(first, |engine| async move { engine.health().await }).to_string();
    assert!(health.starts_with("degraded: no heartbeat has reached the store for half a lease"), "{health}");
    cluster.wire(first).cut(false);
    cluster.run_for(CALL / 2);
    assert_eq!(works.calls(), calls, "nothing was under way when the wire was mended");
    cluster.run_until(seconds(10), |cluster| cluster.all_ended(&sagas));
    assert_eq!(cluster.alive(), 2, "it came back within its lease");
    works.assert_each_once(&cluster, &sagas);
}

#[test]
fn an_attempt_that_was_journalled_and_may_not_be_sent_is_taken_back() {
    let (mut cluster, works, [first, _second]) = cluster_of();
    let sagas = works.start(&mut cluster, first, 0..1);
    // The row that begins the second step is on its way to the store for longer than a heartbeat lasts.
    cluster.run_for(CALL / 2);
    cluster.wire(first).delay(seconds(7));
    cluster.run_for(seconds(9));
    cluster.wire(first).delay(Duration::ZERO);
    cluster.run_until(seconds(60), |cluster| cluster.all_ended(&sagas));
    let timeline = cluster.view(sagas[0]).timeline();
    assert!(timeline.contains("bend withdrawn"), "{timeline}");
    works.assert_each_once(&cluster, &sagas);
}

#[test]
fn a_slow_node_whose_heartbeats_go_on_is_not_dismissed() {
    let (mut cluster, works, [first, second]) = cluster_of();
    cluster.wire(first).delay(Duration::from_millis(900));
    let sagas = works.start(&mut cluster, first, 0..3);
    cluster.run_until(seconds(120), |cluster| cluster.all_ended(&sagas));
    cluster.run_for(seconds(120));
    assert_eq!(cluster.alive(), 2);
    assert!(cluster.stopped(first).is_none() && cluster.owned(second) == 0);
    assert!(sagas.iter().all(|saga| takeovers(&cluster, *saga) == 0));
    works.assert_each_once(&cluster, &sagas);
}

#[test]
fn a_node_that_was_frozen_itself_dismisses_nobody_at_once() {
    let (mut cluster, works, [first, second]) = cluster_of();
    let sagas = works.start(&mut cluster, first, 0..3);
    cluster.run_for(CALL / 2);
    cluster.freeze(first);
    cluster.freeze(second);
    cluster.run_for(seconds(3_600));
    cluster.wake(second);
    cluster.run_for(LEASE - 2 * BEAT);
    assert_eq!(cluster.alive(), 2, "the hour is nothing that it has seen");
    cluster.wake(first);
    cluster.run_until(seconds(60), |cluster| cluster.all_ended(&sagas));
    assert_eq!(cluster.alive(), 2);
    assert!(cluster.stopped(first).is_none());
    works.assert_each_once(&cluster, &sagas);
}

#[test]
fn an_outage_of_the_store_dismisses_nobody() {
    let (mut cluster, works, nodes @ [first, second, third]) = cluster_of();
    let sagas = works.start(&mut cluster, first, 0..5);
    cluster.run_for(CALL / 2);
    for node in nodes {
        cluster.wire(node).cut(true);
    }
    cluster.run_for(seconds(300));
    for (node, wait) in [(third, 5), (second, 2), (first, 0)] {
        cluster.wire(node).cut(false);
        cluster.run_for(seconds(wait));
    }
    cluster.run_until(seconds(60), |cluster| cluster.all_ended(&sagas));
    assert_eq!(cluster.alive(), 3);
    assert!(nodes.iter().all(|node| cluster.stopped(*node).is_none()));
    works.assert_each_once(&cluster, &sagas);
}

#[test]
fn a_node_that_lost_its_way_to_the_store_is_dismissed_and_learns_it_when_it_finds_back() {
    let (mut cluster, works, [first, second]) = cluster_of();
    let sagas = works.start(&mut cluster, first, 0..5);
    cluster.run_for(CALL / 2);
    cluster.wire(first).cut(true);
    cluster.run_until(seconds(60), |cluster| cluster.all_ended(&sagas));
    assert!(cluster.stopped(first).is_none(), "nobody could tell it");
    assert_eq!((cluster.alive(), cluster.owned(second)), (1, 0));
    let watched = works.saga.clone();
    cluster.wire(first).cut(false);
    cluster.run_for(seconds(5));
    assert!(is_dismissed(&cluster, first));
    let started = cluster.ask(first, async move |engine| engine.start(&watched, "late", 1).await.err());
    assert!(started.is_some(), "everybody who asks is told");
    works.assert_each_once(&cluster, &sagas);
}

#[test]
fn a_drained_node_hands_over_at_once() {
    let (mut cluster, works, [first, second]) = cluster_of();
    let sagas = works.start(&mut cluster, first, 0..10);
    cluster.run_for(CALL / 2);
    cluster.drain(first, seconds(5));
    assert_eq!((cluster.alive(), cluster.owned(first)), (1, 0));
    let taken = cluster.run_until(seconds(60), |cluster| cluster.owned(second) == 10);
    assert!(taken <= seconds(1), "the next claim finds them, and no lease is waited for: {taken:?}");
    cluster.run_until(seconds(60), |cluster| cluster.all_ended(&sagas));
    works.assert_each_once(&cluster, &sagas);
}

#[test]
fn a_node_joins_while_others_work_and_takes_over_when_they_die() {
    let (mut cluster, works, [first]) = cluster_of();
    let mut sagas = works.start(&mut cluster, first, 0..5);
    cluster.run_for(CALL / 2);
    let second = cluster.join(&[&works.definition]);
    sagas.extend(works.start(&mut cluster, second, 5..10));
    assert_eq!((cluster.owned(first), cluster.owned(second)), (5, 5), "a node that joins takes nothing away");
    cluster.run_until(seconds(60), |cluster| cluster.all_ended(&sagas));
    assert!(sagas.iter().all(|saga| takeovers(&cluster, *saga) == 0));
    sagas.extend(works.start(&mut cluster, first, 10..15));
    cluster.kill(first);
    cluster.run_until(seconds(60), |cluster| cluster.all_ended(&sagas));
    works.assert_each_once(&cluster, &sagas);
}

#[test]
fn a_node_without_the_definition_leaves_its_sagas_to_another() {
    let mut cluster = Cluster::new();
    let (works, other) = (Works::new(&cluster), Works::named(&cluster, "other-works"));
    let first = cluster.join(&[&works.definition]);
    let second = cluster.join(&[&other.definition]);
    let sagas = works.start(&mut cluster, first, 0..4);
    cluster.kill(first);
    cluster.run_for(seconds(300));
    assert_eq!((cluster.alive(), cluster.owned(second)), (1, 0));
    assert!(sagas.iter().all(|saga| cluster.row(*saga).owner.is_none()), "released, and left alone");
    let orphans = cluster.ask(second, async |engine| engine.orphans().await).expect("the store answers");
    let [of] = &orphans.stranded[..] else { panic!("{orphans:?}") };
    assert_eq!((&*of.definition.workflow, of.sagas, of.oldest), ("works", 4, sagas[0]));
    assert_eq!((&orphans.not_here, &orphans.only_here), (&orphans.stranded, &Vec::new()));

    let third = cluster.join(&[&works.definition, &other.definition]);
    let orphans = cluster.ask(third, async |engine| engine.orphans().await).expect("the store answers");
    assert!(orphans.stranded.is_empty() && orphans.not_here.is_empty(), "{orphans:?}");
    assert_eq!(orphans.only_here.len(), 1, "they would be stranded without it: {orphans:?}");
    let orphans = cluster.ask(second, async |engine| engine.orphans().await).expect("the store answers");
    assert_eq!((orphans.stranded.len(), orphans.not_here.len()), (0, 1), "another node can run them");
    cluster.run_until(seconds(60), |cluster| cluster.all_ended(&sagas));
    works.assert_each_once(&cluster, &sagas);
}

#[test]
fn a_node_with_another_lease_than_the_live_ones_is_refused_and_leaves_no_trace() {
    let (mut cluster, works, [first]) = cluster_of();
    let sagas = works.start(&mut cluster, first, 0..3);
    cluster.limits(Limits { lease: LEASE / 2, ..Limits::default() });
    let refused = cluster.try_join(&[&works.definition]).expect_err("it has another lease");
    let text = refused.to_string();
    assert!(
        text.contains("with a lease of 5s") && text.contains("`node-0`") && text.contains("with 10s"),
        "{text}"
    );
    assert_eq!(cluster.alive(), 1);
    cluster.kill(first);
    cluster.run_for(LEASE);
    let refused = cluster.try_join(&[&works.definition]);
    assert!(refused.is_err(), "nobody has noticed that the first is dead");
    cluster.limits(Limits::default());
    cluster.join(&[&works.definition]);
    cluster.run_until(seconds(60), |cluster| cluster.all_ended(&sagas));
    works.assert_each_once(&cluster, &sagas);
}

#[test]
fn a_node_says_what_it_is_and_what_it_can_run() {
    let (mut cluster, works, [first]) = cluster_of();
    let nodes = cluster.ask(first, async |engine| engine.live_nodes().await).expect("the store answers");
    let [node] = &nodes[..] else { panic!("{nodes:?}") };
    assert_eq!((node.incarnation, &*node.node), (cluster.incarnation(first), "node-0"));
    assert_eq!(node.profile.lease, Some(LEASE));
    let [definition] = &node.profile.definitions[..] else { panic!("{node:?}") };
    assert_eq!((&*definition.workflow, definition.digest), ("works", works.definition.plan.digest.0));
}

#[test]
fn a_claim_whose_answer_was_lost_is_found_by_the_sweep() {
    let (mut cluster, works, [first]) = cluster_of();
    let sagas = works.start(&mut cluster, first, 0..5);
    cluster.run_for(CALL / 2);
    let second = cluster.join(&[&works.definition]);
    cluster.run_for(BEAT / 4);
    cluster.wire(second).lose_claims(1);
    cluster.drain(first, Duration::ZERO);
    cluster.run_until(seconds(10), |cluster| cluster.all_ended(&sagas));
    works.assert_each_once(&cluster, &sagas);
}

#[test]
fn whoever_waits_for_a_saga_is_told_on_any_node() {
    let (mut cluster, works, [first, second]) = cluster_of();
    works.start(&mut cluster, first, 0..2);
    let outcome = cluster.ask(second, async |engine| {
        let saga = engine.find("works", "piece-0").await.expect("the store answers").expect("it is there");
        saga.outcome().await
    });
    assert!(matches!(outcome, Ok(Outcome::Completed(_))), "{outcome:?}");
    let settled = cluster.ask(second, async |engine| {
        let saga = engine.find("works", "piece-1").await.expect("the store answers").expect("it is there");
        saga.settled().await
    });
    assert!(matches!(settled, Ok(Settled::Ended(Outcome::Completed(_)))), "{settled:?}");
}

#[test]
fn whoever_waits_on_a_dismissed_node_is_told_that_it_stopped() {
    let (mut cluster, works, [first, _second]) = cluster_of();
    works.start(&mut cluster, first, 0..1);
    cluster.run_for(CALL / 2);
    cluster.wire(first).cut(true);
    let outcome = cluster.ask(first, async |engine| {
        let saga = engine.find("works", "piece-0").await;
        assert!(saga.is_err(), "the wire is cut");
        engine.now()
    });
    assert!(outcome <= cluster.now());
    cluster.run_for(seconds(30));
    cluster.wire(first).cut(false);
    cluster.run_for(seconds(5));
    assert!(is_dismissed(&cluster, first));
    let outcome = cluster.ask(first, async |engine| {
        let saga = engine.find("works", "piece-0").await.expect("the store answers").expect("it is there");
        saga.outcome().await
    });
    assert!(matches!(outcome, Err(OutcomeError::Stopped)), "{outcome:?}");
}

#[test]
fn what_a_clock_that_ran_ahead_put_to_sleep_is_woken_by_the_others() {
    let mut cluster = Cluster::new();
    let works = Works::new(&cluster);
    let ahead = cluster.join_ahead(&[&works.definition], seconds(3_600));
    let sagas = works.start(&mut cluster, ahead, 0..3);
    cluster.run_for(CALL / 2);
    // Released, due an hour from now as everybody else counts.
    cluster.drain(ahead, Duration::ZERO);
    let right = cluster.join(&[&works.definition]);
    cluster.run_until(seconds(70), |cluster| cluster.owned(right) == 3);
    cluster.run_until(seconds(60), |cluster| cluster.all_ended(&sagas));
    works.assert_each_once(&cluster, &sagas);
}

#[test]
fn the_same_cluster_tells_the_same_story() {
    let story = || {
        let (mut cluster, works, [first, second, third]) = cluster_of();
        let sagas = works.start(&mut cluster, first, 0..10);
        cluster.run_for(CALL / 2);
        cluster.freeze(first);
        cluster.run_for(seconds(12));
        cluster.kill(second);
        cluster.wake(first);
        cluster.run_until(seconds(120), |cluster| cluster.all_ended(&sagas));
        let heard = [first, second, third].map(|node| cluster.wire(node).heard());
        (heard, sagas.iter().map(|saga| cluster.view(*saga).timeline()).collect::<Vec<_>>())
    };
    assert_eq!(story(), story());
}

#[test]
fn heartbeats_cost_the_same_however_many_sagas_there_are() {
    let beats = |sagas: u32| {
        let (mut cluster, works, [first, second]) = cluster_of();
        works.start(&mut cluster, first, 0..sagas);
        cluster.run_for(seconds(60));
        let beats = |node| cluster.wire(node).heard().iter().filter(|(_, call)| *call == "beat").count();
        (beats(first), beats(second))
    };
    let (few, many) = (beats(1), beats(200));
    assert_eq!(few, many);
    assert!((59..=62).contains(&few.0), "one a second: {few:?}");
}
