//! Every verb in every stage: what it would write, or why it is refused. The table is a file, so that a changed
//! answer is seen in review; [`crate::laws`] asks the same verbs at random.

use std::fmt::Write as _;

use amends_core::agenda::verbs;
use amends_core::event::Verb;
use amends_core::state::Stage;
use expect_test::expect_file;

use crate::script::{Trial, play};
use crate::story;

/// The steps of all situations: one of each kind, asked about in each way.
const PLAN: &str = "
    step a(input) by-query
    step b(a) by-repeating retention=1h
    pivot p(b) by-query
    retriable r(p) by-query
    retriable t(r) by-operator
    policy attempts=3 base=8s
    query-policy queries=2 base=0s
";

/// A situation: its name, what led to it, and the action that is asked about.
const SITUATIONS: &[(&str, &str, &str)] = &[
    ("forward PENDING", "", "b"),
    ("forward READY", "", "a"),
    ("forward RUNNING", "begin a", "a"),
    ("forward RETRY_SCHEDULED", "begin a\n transient a", "a"),
    ("forward RECONCILING, a query planned", "begin a\n lost a", "a"),
    ("forward RECONCILING, a query under way", "begin a\n lost a\n query a", "a"),
    (
        "forward RECONCILING, on the desk",
        "begin a\n lost a\n query a\n query-fails a\n query a\n query-fails a",
        "a",
    ),
    ("forward RECONCILING, a repeat planned", "run a\n begin b\n lost b", "b"),
    ("forward RECONCILING, a repeat under way", "run a\n begin b\n lost b\n begin b", "b"),
    ("forward RECONCILING, accepted", "begin a\n accepted a hint=60s", "a"),
    ("forward RECONCILING, after the turn", "begin a\n lost a\n cancel op1", "a"),
    (
        "forward RECONCILING, ordered to be compensated",
        "begin a\n lost a\n cancel op1\n compensate-in-doubt a op2",
        "a",
    ),
    ("forward QUARANTINED", "begin a\n persistent a", "a"),
    ("forward SUCCEEDED", "run a", "a"),
    ("forward SUCCEEDED, its result unrecorded", "begin a\n omitted a", "a"),
    ("forward SUCCEEDED, disputed", "run a\n refuse a#1", "a"),
    ("forward PARTIAL", "begin a\n partial a", "a"),
    ("forward TERMINAL_REJECTED", "run a\n begin b\n refuse b", "b"),
    ("forward SKIPPED", "run a\n cancel op1", "b"),
    ("forward SKIPPED, disputed", "run a\n begin b\n transient b\n cancel op1\n ok b#1", "b"),
    ("pivot RUNNING", "run a\n run b\n begin p", "p"),
    ("pivot RECONCILING under a wish", "run a\n run b\n begin p\n lost p\n cancel op1", "p"),
    ("pivot QUARANTINED, partial", "run a\n run b\n begin p\n partial p", "p"),
    ("pivot SUCCEEDED", "run a\n run b\n run p", "p"),
    ("before the pivot, and past it", "run a\n run b\n run p", "a"),
    ("after the pivot PENDING", "run a\n run b\n run p", "t"),
    ("after the pivot READY", "run a\n run b\n run p", "r"),
    ("after the pivot RECONCILING", "run a\n run b\n run p\n begin r\n lost r", "r"),
    ("after the pivot QUARANTINED", "run a\n run b\n run p\n begin r\n persistent r", "r"),
    ("compensation PENDING", "run a", "undo:a"),
    ("compensation READY", "run a\n cancel op1", "undo:a"),
    ("compensation RUNNING", "run a\n cancel op1\n begin undo:a", "undo:a"),
    ("compensation RETRY_SCHEDULED", "run a\n cancel op1\n begin undo:a\n transient undo:a", "undo:a"),
    ("compensation RECONCILING", "run a\n cancel op1\n begin undo:a\n lost undo:a", "undo:a"),
    ("compensation QUARANTINED", "run a\n cancel op1\n begin undo:a\n persistent undo:a", "undo:a"),
    ("compensation QUARANTINED, stale", "run a\n cancel op1\n begin undo:a\n stale undo:a", "undo:a"),
    ("compensation QUARANTINED, partial", "run a\n cancel op1\n begin undo:a\n partial undo:a", "undo:a"),
    ("compensation SUCCEEDED", "run a\n cancel op1\n run undo:a", "undo:a"),
    ("compensation SUCCEEDED, disputed", "run a\n cancel op1\n run undo:a\n transient undo:a#1", "undo:a"),
    ("requested compensation, waiting for approval", "run a\n run b\n run p\n compensate m1:a op1", "m1:a"),
    (
        "requested compensation QUARANTINED",
        "run a\n run b\n run p\n compensate m1:a op1 by-policy\n begin m1:a\n persistent m1:a",
        "m1:a",
    ),
    ("paused", "run a\n pause op1", "b"),
    ("a request to close it waits", "begin a\n persistent a\n close op1", "a"),
    ("completed", "run a\n run b\n run p\n run r\n run t", "a"),
    ("closed", "begin a\n lost a\n close op1 a\n approve op1 op2", "a"),
];

#[test]
fn every_verb_in_every_stage_has_its_answer() {
    let mut table = String::new();
    for (name, script, action) in SITUATIONS {
        let trial = play(PLAN, script);
        let _ = writeln!(table, "{name}: {}", story::stand(&trial.state, &trial.plan, action));
        table += &offers(&trial, action);
        table.push('\n');
    }
    expect_file!["verbs.txt"].assert_eq(&table);
}

#[test]
fn the_situations_hold_every_stage_of_both_directions_and_every_verb_is_possible_somewhere() {
    let (mut stages, mut possible) = (Vec::new(), Vec::new());
    for (_, script, action) in SITUATIONS {
        let trial = play(PLAN, script);
        let id = crate::script::action(action).0;
        let stage = trial.state.action(&trial.plan, &id).expect("the action is there").stage;
        stages.push((id.is_forward(), stage));
        let offers = verbs(&trial.plan, &trial.state, trial.now);
        possible.extend(offers.iter().filter(|offer| offer.refused.is_none()).map(|offer| offer.verb));
    }
    for stage in Stage::ALL {
        assert!(stages.contains(&(true, stage)), "no situation has a forward action {}", stage.name());
        let never = matches!(stage, Stage::Partial | Stage::TerminalRejected | Stage::Skipped);
        assert!(never || stages.contains(&(false, stage)), "no compensation is {}", stage.name());
    }
    for verb in EVERY {
        assert!(possible.contains(&verb), "{verb:?} is possible nowhere");
    }
}

#[test]
fn what_a_verb_would_write_is_what_it_writes() {
    let mut trial = play(PLAN, "begin a\n persistent a");
    let offers = verbs(&trial.plan, &trial.state, trial.now);
    let resume = offers.iter().find(|offer| offer.verb == Verb::Resume && offer.refused.is_none());
    let told: Vec<String> = resume.expect("it can be resumed").consequences.iter().map(story::fact).collect();
    trial.read("resume a what-if");
    let written = &trial.journal.last().expect("it was written").events;
    assert_eq!(told, written.iter().map(story::fact).collect::<Vec<_>>());
}

#[test]
fn asking_what_a_person_may_do_changes_nothing() {
    for (_, script, _) in SITUATIONS {
        let trial = play(PLAN, script);
        let before = trial.state.clone();
        let _ = verbs(&trial.plan, &trial.state, trial.now);
        assert_eq!(before, trial.state);
    }
}

const EVERY: [Verb; 20] = [
    Verb::Cancel,
    Verb::Resume,
    Verb::Accept,
    Verb::RetryNow,
    Verb::SendAgain,
    Verb::Found,
    Verb::Reject,
    Verb::Supply,
    Verb::TurnBack,
    Verb::CompensateInDoubt,
    Verb::Compensate,
    Verb::Approve,
    Verb::Deny,
    Verb::Keep,
    Verb::Assign,
    Verb::SetDisposition,
    Verb::Waive,
    Verb::Close,
    Verb::Pause,
    Verb::Unpause,
];

fn offers(trial: &Trial, action: &str) -> String {
    let id = crate::script::action(action).0;
    let mut text = String::new();
    for offer in verbs(&trial.plan, &trial.state, trial.now) {
        if offer.action.as_ref().is_some_and(|of| *of != id) {
            continue;
        }
        let of = if offer.action.is_some() { "" } else { " the saga" };
        let finding = if offer.finding.is_empty() { String::new() } else { format!(" {}", offer.finding) };
        let asked = format!("{:?}{finding}{of}", offer.verb);
        let answer = match offer.refused {
            Some(why) => format!("no: {why}"),
            None => offer.consequences.iter().map(story::fact).collect::<Vec<_>>().join("; "),
        };
        let _ = writeln!(text, "  {asked:<22} {answer}");
    }
    text
}
