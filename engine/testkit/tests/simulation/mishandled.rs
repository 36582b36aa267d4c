//! Brokers, nodes and participants that handle messages wrongly on purpose, each caught by the checker of what it breaks.

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
