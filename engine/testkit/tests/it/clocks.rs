//! Nodes whose clocks do not agree.

use std::time::Duration;

use amends::authoring::Definition;
use amends::prelude::*;
use amends_core::{JournalEvent, SagaId};
use amends_testkit::{CallPlan, Cluster, NodeId, Participant};

const HOUR: Duration = Duration::from_secs(3_600);
const WINDOW: Duration = Duration::from_secs(40);

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// One step whose first request takes effect half a minute after its sender gave up. Within the settle window
/// queries find nothing, and that means nothing.
struct Late {
    saga: Saga<u32, u32>,
    definition: Definition,
}

impl Late {
    fn new(cluster: &Cluster) -> Self {
        let participant = Participant::<u32, u32, String>::new(&cluster.ledger(), "pay", |n| n + 1);
        participant.on_call().always(CallPlan::ApplyLate(seconds(30)));
        let (mut s, input) = SagaBuilder::<u32>::new("late", 1);
        let contract = Contract { settle_window: Some(WINDOW), ..Contract::default() };
        let step = participant.step::<ByQuery, ByRepeating>().contract(contract);
        let paid = s.step("pay", step, input);
        let saga = s.finish(paid).expect("the definition is sound");
        let retry = RetryPolicy { max_attempts: 1, ..RetryPolicy::default() };
        let policies = Policies::new().retry("default", retry);
        let definition = saga.resolve(&policies).expect("the numbers are possible");
        Self { saga, definition }
    }

    /// A node whose clock is right, and one whose clock is an hour ahead.
    fn nodes(&self, cluster: &mut Cluster) -> [NodeId; 2] {
        [Duration::ZERO, HOUR].map(|ahead| cluster.join_ahead(&[&self.definition], ahead))
    }
}

/// How long after its last transmission a saga's step was found to have taken effect, as its journal has it.
#[track_caller]
fn doubtful_for(cluster: &Cluster, saga: SagaId) -> Duration {
    let view = cluster.view(saga);
    let time = |is_it: fn(&JournalEvent) -> bool| {
        view.journal().iter().find(|row| row.events.iter().any(is_it)).map(|row| row.at)
    };
    let unknown = time(|event| matches!(event, JournalEvent::BecameUnknown { .. }));
    let completed = time(|event| matches!(event, JournalEvent::Completed {}));
    let (Some(unknown), Some(completed)) = (unknown, completed) else {
        panic!("it was in doubt, and it took effect:\n{}", view.timeline());
    };
    completed.since(unknown)
}

#[test]
fn a_journal_from_a_clock_that_was_ahead_ends_no_other_sagas_settle_window_early() {
    let mut cluster = Cluster::new();
    let late = Late::new(&cluster);
    let [right, ahead] = late.nodes(&mut cluster);
    let foreign = cluster.start(ahead, &late.saga, "of a clock that is ahead", 1);
    cluster.kill(ahead);
    cluster.run_for(seconds(8)); // Its lease ends within the window of the next one.
    let own = cluster.start(right, &late.saga, "of a clock that is right", 2);
    cluster.run_until(seconds(20), |cluster| cluster.owned(right) == 2);
    let took = cluster.run_until(seconds(120), |cluster| cluster.all_ended(&[own, foreign]));
    assert!(took >= seconds(20), "they waited for what came late: {took:?}");
    assert!((seconds(30)..seconds(60)).contains(&doubtful_for(&cluster, own)));
}

#[test]
fn a_saga_that_is_ahead_of_its_new_node_goes_on_at_the_ordinary_pace() {
    let mut cluster = Cluster::new();
    let late = Late::new(&cluster);
    let [right, ahead] = late.nodes(&mut cluster);
    let saga = cluster.start(ahead, &late.saga, "key", 1);
    cluster.run_for(seconds(1));
    cluster.kill(ahead);
    cluster.run_until(seconds(20), |cluster| cluster.owned(right) == 1);
    cluster.run_until(seconds(90), |cluster| cluster.all_ended(&[saga]));
    let view = cluster.view(saga);
    assert!(view.journal().is_sorted_by_key(|row| row.at), "time went back:\n{}", view.timeline());
    assert!(view.state().at >= cluster.now() + HOUR - seconds(30), "it is as far ahead as it was");
    assert!(doubtful_for(&cluster, saga) < seconds(90));
}
