//! Brokers, nodes and participants that handle messages wrongly on purpose, each caught by the checker of what it breaks.

use amends_testkit::simulation::checkers::{Checker as _, Purged, Step as Seen};
use amends_testkit::simulation::{Failure, Misbehaving, Setup, Simulation, Trouble};

/// Seeds that have all of these kinds, small.
fn with(needed: &'static [Trouble]) -> impl Iterator<Item = Setup> {
    let setups = (1..).map(|seed| Setup { sagas: 16, minutes: 3, ..Setup::seeded(seed) });
    let without_purge = setups.map(|setup| Setup { without: [Trouble::Purge].into(), ..setup });
    without_purge.filter(|setup| needed.iter().all(|trouble| setup.troubles().contains(trouble)))
}

/// The first failure of twenty such seeds.
#[track_caller]
fn caught(
    needed: &'static [Trouble],
    run: impl Fn(Setup) -> Result<amends_testkit::simulation::Run, Box<Failure>>,
) -> Box<Failure> {
    let failure = with(needed).take(20).find_map(|setup| run(setup).err());
    failure.expect("what is broken is caught within twenty seeds")
}

#[track_caller]
fn is_caught(misbehaving: Misbehaving, needed: &'static [Trouble], by: &str, words: &str) {
    let run = |setup| Simulation::new(setup).with_messages_that_are_handled_so(misbehaving).run();
    let failure = caught(needed, run);
    assert_eq!(failure.violation.invariant, by, "{failure}");
    assert!(failure.violation.reason.contains(words), "{failure}");
}

#[test]
fn a_broker_that_loses_what_it_has_acknowledged_is_caught() {
    let words = "nobody can say what became";
    is_caught(Misbehaving::LosesMessages, &[Trouble::Events, Trouble::Commands], "I7", words);
}

#[test]
fn nodes_that_acknowledge_events_before_their_saga_is_durable_are_caught() {
    let words = "nobody can say what became";
    is_caught(Misbehaving::AcknowledgesFirst, &[Trouble::Events, Trouble::Kill], "I7", words);
}

#[test]
fn nodes_that_put_what_they_cannot_read_nowhere_are_caught() {
    is_caught(Misbehaving::DropsBad, &[Trouble::Events, Trouble::BadEvents], "I7", "not in intake");
}

#[test]
fn nodes_that_know_an_event_by_its_place_are_caught() {
    let needed = &[Trouble::Events, Trouble::DuplicateStart];
    is_caught(Misbehaving::KeysByPlace, needed, "I10", "the event");
}

#[test]
fn nodes_that_leave_duplicates_unanswered_are_caught() {
    let needed = &[Trouble::Events, Trouble::DuplicateStart];
    is_caught(Misbehaving::LeavesDuplicates, needed, "I12", "was delivered");
}

#[test]
fn participants_without_a_barrier_are_caught_when_their_commands_come_again() {
    let needed = &[Trouble::Commands, Trouble::LostAck];
    let mut setups = with(needed).take(20).map(|setup| {
        // Nothing but the broker brings a request twice.
        let kept = [Trouble::Commands, Trouble::LostAck, Trouble::Doubled];
        let without = Trouble::ALL.iter().copied().filter(|trouble| !kept.contains(trouble)).collect();
        Setup { without, sagas: 40, ..setup }
    });
    let failure = setups.find_map(|setup| Simulation::new(setup).without_barriers().run().err());
    let failure = failure.expect("it is caught");
    assert_eq!(failure.violation.invariant, "I11", "{failure}");
    assert!(failure.violation.reason.contains("took effect 2 times"), "{failure}");
}

mod purged {
    //! No store that purges what is not over can be put together from one that does not; what it would show can.

    use std::collections::{BTreeMap, BTreeSet};

    use amends::ports::{DefinitionRef, SagaRow};
    use amends::prelude::*;
    use amends_core::Timestamp;
    use amends_testkit::simulation::Told;
    use amends_testkit::simulation::checkers::Moment;
    use amends_testkit::{CallPlan, Ledger, Participant, World};

    use super::*;

    const HOUR: i64 = 3_600_000_000;

    /// A saga, and its row.
    fn saga(plan: Option<CallPlan<String>>) -> (Told, SagaRow) {
        let mut world = World::new();
        let ledger = Ledger::new(&mut world);
        let participant = Participant::<u32, u32, String>::new(&ledger, "one", |n| n + 1);
        if let Some(plan) = plan {
            participant.on_call().next(plan);
        }
        let (mut s, input) = SagaBuilder::<u32>::new("purged", 1);
        let step = s.step("one", participant.step::<ByQuery, ByRepeating>(), input);
        let saga = s.finish(step).expect("the definition is sound");
        world.register(&saga);
        let started = world.start(&saga, "key", 1);
        world.run_until_settled();
        let view = started.view();
        let plan = std::sync::Arc::new(view.plan().clone());
        let told = Told { plan: plan.clone(), state: view.state().clone(), journal: view.journal().to_vec() };
        let state = view.state();
        let definition =
            DefinitionRef { workflow: plan.workflow.clone(), version: plan.version, digest: plan.digest.0 };
        let row = SagaRow {
            id: state.id,
            definition,
            key: state.key.clone(),
            input_digest: [0; 32],
            phase: "purged".to_owned(),
            outcome: Some(state.phase.word().to_owned()),
            owner: None,
            wake_at: None,
            started_at: state.started_at,
            ended_at: state.ended_at,
            open_actions: 0,
            set_aside: None,
            tenant: None,
            labels: Default::default(),
        };
        (told, row)
    }

    /// What the checker says, so many hours after the start, of these rows.
    fn says(told: &Told, rows: &[SagaRow], hours: i64) -> Result<(), String> {
        let (sagas, unread) = (BTreeMap::from([(told.state.id, told.clone())]), BTreeSet::new());
        let now = Timestamp(told.state.started_at.0 + hours * HOUR);
        let moment = Moment { now, sagas: &sagas, rows, unread: &unread };
        Purged::new(false).observe(&Seen::Passed(&moment))
    }

    #[test]
    fn what_ended_long_ago_may_be_purged_and_later_forgotten() {
        let (told, row) = saga(None);
        assert_eq!(says(&told, &[row], 3), Ok(()));
        assert_eq!(says(&told, &[], 5), Ok(()));
    }

    #[test]
    fn a_store_that_purges_too_early_is_caught() {
        let (told, row) = saga(None);
        assert!(says(&told, &[row], 0).is_err_and(|reason| reason.contains("after its end")));
        assert!(says(&told, &[], 3).is_err_and(|reason| reason.contains("was forgotten")));
    }

    #[test]
    fn a_store_that_purges_what_waits_for_a_person_is_caught() {
        let (told, row) = saga(Some(CallPlan::Persistent));
        assert!(says(&told, &[row], 3).is_err_and(|reason| reason.contains("not over")));
    }

    #[test]
    fn a_store_that_keeps_another_outcome_is_caught() {
        let (told, row) = saga(None);
        let row = SagaRow { outcome: Some("compensated".to_owned()), ..row };
        assert!(says(&told, &[row], 3).is_err_and(|reason| reason.contains("was purged as")));
    }
}
