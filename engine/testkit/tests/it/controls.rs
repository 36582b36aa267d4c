//! What people set for everybody, on several nodes: asked of one, obeyed by all within a look.

use std::time::Duration;

use amends::engine::StopReason;
use amends::operator::{Answer, By, OperateError};
use amends::prelude::*;
use amends_core::SagaId;
use amends_testkit::{Cluster, NodeId, Participant};

/// How often nodes look.
const LOOK: Duration = Duration::from_secs(1);
const CALL: Duration = Duration::from_secs(1);

fn ann(id: &str) -> By {
    By::new("ann", "a test", id)
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// A workflow of two slow steps, the nodes that run it, and how many calls were made.
struct Site {
    cluster: Cluster,
    ledger: amends_testkit::Ledger,
    saga: Saga<u32, String>,
    nodes: Vec<NodeId>,
}

impl Site {
    fn of(nodes: usize) -> Self {
        let mut cluster = Cluster::new();
        let ledger = cluster.ledger();
        let slow = |name: &str| {
            Participant::<u32, String, Never>::slow(&ledger, name, CALL, |piece| format!("piece {piece}"))
        };
        let (cut, bend) = (slow("cut"), slow("bend"));
        let (mut s, piece) = SagaBuilder::<u32>::new("works", 1);
        let cut = s.step("cut", cut.step::<ByQuery, ByRepeating>(), piece);
        let bent = s.step("bend", bend.step::<ByQuery, ByRepeating>(), piece.after(cut));
        let saga = s.finish(bent).expect("the definition is sound");
        let definition = saga.resolve(&Policies::new()).expect("the numbers are possible");
        let nodes = (0..nodes).map(|_| cluster.join(&[&definition])).collect();
        Self { cluster, ledger, saga, nodes }
    }

    fn start(&mut self, at: usize, keys: std::ops::Range<u32>) -> Vec<SagaId> {
        keys.map(|n| self.cluster.start(self.nodes[at], &self.saga, &format!("piece-{n}"), n)).collect()
    }

    fn calls(&self) -> u32 {
        self.ledger.entries().iter().map(|(_, entry)| entry.calls).sum()
    }

    fn all_end(&mut self, sagas: &[SagaId]) {
        self.cluster.run_until(seconds(120), |cluster| cluster.all_ended(sagas));
    }
}

const ACCEPTED: Result<Answer, OperateError> = Ok(Answer::Accepted);

#[test]
fn a_workflow_paused_through_one_node_stands_on_all_within_a_look() {
    let mut site = Site::of(3);
    let mut sagas = site.start(0, 0..4);
    sagas.extend(site.start(2, 4..8));
    let paused = site
        .cluster
        .ask(site.nodes[1], async |engine| engine.operator().workflow("works").pause(ann("1")).await);
    assert_eq!(paused, ACCEPTED);
    site.cluster.run_for(LOOK);
    let calls = site.calls();
    site.cluster.run_for(seconds(60));
    assert_eq!(site.calls(), calls, "what ran has ended, and nothing has begun");
    assert!(!site.cluster.all_ended(&sagas[..1]) && !site.cluster.all_ended(&sagas[7..]));
    let unpaused = site
        .cluster
        .ask(site.nodes[2], async |engine| engine.operator().workflow("works").unpause(ann("2")).await);
    assert_eq!(unpaused, ACCEPTED);
    site.all_end(&sagas);
    assert_eq!(site.calls(), 16, "each step of each saga once");
}

#[test]
fn a_node_that_joins_later_obeys_what_was_set_before() {
    let mut site = Site::of(1);
    let held = site
        .cluster
        .ask(site.nodes[0], async |engine| engine.operator().workflow("works").hold_starts(ann("1")).await);
    assert_eq!(held, ACCEPTED);
    let definition = site.saga.resolve(&Policies::new()).expect("the numbers are possible");
    let later = site.cluster.join(&[&definition]);
    let saga = site.saga.clone();
    let answer =
        site.cluster.ask(later, async move |engine| engine.start(&saga, "k", 1).await.map(|saga| saga.id()));
    assert!(answer.is_err_and(|error| error.to_string().contains("are held by ann")));
}

#[test]
fn a_node_drained_from_elsewhere_ends_and_its_sagas_go_on() {
    let mut site = Site::of(2);
    let sagas = site.start(0, 0..6);
    let drained = site
        .cluster
        .ask(site.nodes[1], async |engine| engine.operator().node("node-0").drain(ann("1")).await);
    assert_eq!(drained, ACCEPTED);
    let first = site.nodes[0];
    site.cluster
        .run_until(seconds(10), |cluster| matches!(cluster.stopped(first), Some(StopReason::Drained { .. })));
    assert_eq!(site.cluster.alive(), 1, "it has left; nobody waits for a lease");
    site.all_end(&sagas);
    assert_eq!(site.calls(), 12, "no call was made twice");
    let controls = site.cluster.ask(site.nodes[1], async |engine| engine.operator().controls().await);
    assert_eq!(controls, Ok(Vec::new()));
}

#[test]
fn the_order_to_drain_a_node_that_died_is_lifted_by_the_others() {
    let mut site = Site::of(2);
    site.cluster.freeze(site.nodes[0]);
    let drained = site
        .cluster
        .ask(site.nodes[1], async |engine| engine.operator().node("node-0").drain(ann("1")).await);
    assert_eq!(drained, ACCEPTED);
    site.cluster.kill(site.nodes[0]);
    site.cluster.run_for(seconds(30));
    let controls = site.cluster.ask(site.nodes[1], async |engine| engine.operator().controls().await);
    assert_eq!(controls, Ok(Vec::new()));
}
