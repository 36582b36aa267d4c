//! The proof that the laws can fail: sagas whose participants break their promises, and what the laws say.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use amends::prelude::*;
use amends::{Settles, SettlesUndo};
use amends_testkit::{Exploration, Ledger, Participant, QueryPlan, Tried, UndoPlan, World, expect, explore};

use super::shop::keeps_answers;

type First = Participant<u32, String, String>;

/// `first`, which a test breaks, and a pivot that is honest.
fn saga_with<S>(world: &mut World, ledger: &Ledger, first: S)
where
    S: Compensate<Input = u32, Output = String>,
    S::Settle: Settles<S>,
    S::UndoSettle: SettlesUndo<S>,
{
    let pivot: Participant<String, String, String> = Participant::new(ledger, "pivot", Clone::clone);
    let (mut s, input) = SagaBuilder::<u32>::new("fragile", 1);
    let handle = s.step("first", first, input);
    let step = pivot.step::<ByRepeating, ByOperator>().contract(keeps_answers());
    let (end, s) = s.pivot("pivot", step, handle);
    let saga = s.finish(end).expect("the definition is sound");
    world.register(&saga);
    world.start(&saga, "key", 3);
}

fn made(pieces: &u32) -> String {
    format!("{pieces} pieces")
}

/// A compensation that says it undid, and did not.
fn broken_compensation(world: &mut World) {
    let ledger = Ledger::new(world);
    let first: First = Participant::new(&ledger, "first", made);
    first.on_undo().always(UndoPlan::DoNothing);
    let step = first.step::<ByQuery, ByRepeating>().contract(keeps_answers());
    saga_with(world, &ledger, step);
}

/// A step that declares itself safe to repeat, and is not.
fn not_idempotent(world: &mut World) {
    let ledger = Ledger::new(world);
    let first: First = Participant::naive(&ledger, "first", made);
    let step = first.step::<ByRepeating, ByRepeating>().contract(keeps_answers());
    saga_with(world, &ledger, step);
}

/// A step whose query says "absent" although it took effect.
fn denies_its_effect(world: &mut World) {
    let ledger = Ledger::new(world);
    let first: First = Participant::naive(&ledger, "first", made);
    first.on_query().always(QueryPlan::SayAbsent);
    let step = first.step::<ByQuery, ByQuery>().contract(keeps_answers());
    saga_with(world, &ledger, step);
}

/// A step whose query says "applied" although it never was.
fn claims_an_effect(world: &mut World) {
    let ledger = Ledger::new(world);
    let first: First = Participant::new(&ledger, "first", made);
    first.on_query().always(QueryPlan::SayApplied("3 pieces".to_owned()));
    let step = first.step::<ByQuery, ByQuery>().contract(keeps_answers());
    saga_with(world, &ledger, step);
}

/// A compensation that is found done, and happens when the one it should have come before is long over.
fn undone_too_late(world: &mut World) {
    let ledger = Ledger::new(world);
    let first: First = Participant::new(&ledger, "first", made);
    let second: Participant<String, String, String> = Participant::new(&ledger, "second", Clone::clone);
    second.on_undo().always(UndoPlan::ApplyLate(Duration::from_secs(600)));
    second.on_undo_query().always(QueryPlan::SayApplied(()));
    let (mut s, input) = SagaBuilder::<u32>::new("fragile", 1);
    let a = s.step("first", first.step::<ByQuery, ByQuery>().contract(keeps_answers()), input);
    let b = s.step("second", second.step::<ByQuery, ByQuery>().contract(keeps_answers()), a);
    let pivot: Participant<String, String, String> = Participant::new(&ledger, "pivot", Clone::clone);
    let (end, s) = s.pivot("pivot", pivot.step::<ByQuery, ByOperator>().contract(keeps_answers()), b);
    let saga = s.finish(end).expect("the definition is sound");
    world.register(&saga);
    world.start(&saga, "key", 3);
}

/// What the broken law says.
fn broken(try_it: impl FnOnce() -> Tried) -> String {
    let panic = catch_unwind(AssertUnwindSafe(try_it)).expect_err("a law is broken");
    *panic.downcast::<String>().expect("a broken law is reported as text")
}

#[test]
fn a_compensation_that_does_nothing_is_found_by_the_first_refusal() {
    let report = broken(|| explore(broken_compensation).every_step_fails().hold());
    expect![[r#"
        a law is broken: every_step_fails
        fault: `pivot` is refused, every time
        found: `first` is recorded as compensated, and its effect is still in place
        seed:  42
        the shortest of 4 failing runs, 4 transitions:

        +0.000s fragile 1 started for key
        +0.000s first started (attempt 1)
        +0.000s first succeeded
        +0.000s pivot started (attempt 1)
        +0.000s pivot refused "refused by a fault"
        +0.000s turned back (refused: pivot)
        +0.000s compensation of first started (attempt 1)
        +0.000s compensation of first succeeded
        +0.000s compensated

    "#]]
    .assert_eq(&report);
}

#[test]
fn a_step_that_cannot_be_repeated_is_found_by_a_lost_reply() {
    let report = broken(|| explore(not_idempotent).every_outcome_is_lost().hold());
    expect![[r#"
        a law is broken: every_outcome_is_lost
        fault: `first` takes effect and its reply is lost
        found: a request took effect 2 times at `first` under one request id
        seed:  42
        the shortest of 6 failing runs, 5 transitions:

        +0.000s fragile 1 started for key
        +0.000s first started (attempt 1)
        +0.000s first unknown (attempt 1, reply-lost): repeat in 0.890s
        +0.891s first started (attempt 2, a repeat)
        +0.891s first succeeded
        +0.891s pivot started (attempt 1)
        +0.891s pivot succeeded
        +0.891s completed

    "#]]
    .assert_eq(&report);
}

#[test]
fn a_step_that_cannot_be_repeated_is_found_by_a_network_that_repeats() {
    let report = broken(|| explore(not_idempotent).every_step_repeats().hold());
    assert!(
        report.starts_with("a law is broken: every_step_repeats\nfault: `first` arrives twice\n"),
        "{report}"
    );
    assert!(report.contains("took effect 2 times at `first`"), "{report}");
}

#[test]
fn a_step_that_cannot_be_repeated_is_found_by_a_crash() {
    let report = broken(|| explore(not_idempotent).crash_at_every_commit().hold());
    expect![[r#"
        a law is broken: crash_at_every_commit
        fault: the process dies before commit 2 is durable
        found: a request took effect 2 times at `first` under one request id
        seed:  42
        the shortest of 3 failing runs, 5 transitions:

        +0.000s fragile 1 started for key
        +0.000s first started (attempt 1)
        +0.000s taken over by another process
        +0.000s first (executor-died): repeat in 0.890s
        +0.891s first started (attempt 2, a repeat)
        +0.891s first succeeded
        +0.891s pivot started (attempt 1)
        +0.891s pivot succeeded
        +0.891s completed

    "#]]
    .assert_eq(&report);
}

#[test]
fn a_compensation_that_cannot_be_repeated_is_found() {
    let report = broken(|| explore(not_idempotent).every_compensation_repeats().hold());
    assert!(report.contains("a compensation took effect 2 times at `first`"), "{report}");
}

#[test]
fn a_query_that_denies_an_effect_is_found_by_a_lost_reply() {
    let report = broken(|| explore(denies_its_effect).every_outcome_is_lost().hold());
    expect![[r#"
        a law is broken: every_outcome_is_lost
        fault: `first` takes effect and its reply is lost
        found: a request took effect 2 times at `first` under one request id
        seed:  42
        the shortest of 6 failing runs, 17 transitions:

        +0.000s fragile 1 started for key
        +0.000s first started (attempt 1)
        +0.000s first unknown (attempt 1, reply-lost): ask in 0.458s
        +0.459s first asked about (query 1)
        +0.459s first found absent (query 1): ask in 1.241s
        +1.701s first asked about (query 2)
        +1.701s first found absent (query 2): ask in 1.035s
        +2.737s first asked about (query 3)
        +2.737s first found absent (query 3): ask in 7.456s
        +10.194s first asked about (query 4)
        +10.194s first found absent (query 4): ask in 0.380s
        +10.575s first asked about (query 5)
        +10.575s first found absent (query 5): ask in 28.765s
        +39.341s first asked about (query 6, fencing attempt 1)
        +39.341s first found absent (query 6): retry in 0.445s
        +39.787s first started (attempt 2)
        +39.787s first succeeded
        +39.787s pivot started (attempt 1)
        +39.787s pivot succeeded
        +39.787s completed

    "#]]
    .assert_eq(&report);
}

#[test]
fn a_query_that_claims_an_effect_is_found_by_a_lost_request() {
    let report = broken(|| explore(claims_an_effect).every_outcome_is_lost().hold());
    expect![[r#"
        a law is broken: every_outcome_is_lost
        fault: `first` is lost on its way
        found: `first` is SUCCEEDED, and nothing took effect
        seed:  42
        the shortest of 9 failing runs, 5 transitions:

        +0.000s fragile 1 started for key
        +0.000s first started (attempt 1)
        +0.000s first unknown (attempt 1, reply-lost): ask in 0.458s
        +0.459s first asked about (query 1)
        +0.459s first found applied (query 1)
        +0.459s pivot started (attempt 1)
        +0.459s pivot succeeded
        +0.459s completed

    "#]]
    .assert_eq(&report);
}

#[test]
fn effects_that_are_undone_in_the_wrong_order_are_found() {
    let report = broken(|| explore(undone_too_late).every_step_fails().hold());
    assert!(report.contains("`first` was compensated before `second`, which depends on it"), "{report}");
}

#[test]
fn the_authors_own_check_speaks_in_the_report() {
    let honest = |world: &mut World| {
        let ledger = Ledger::new(world);
        let first: First = Participant::slow(&ledger, "first", Duration::from_millis(5), made);
        let step = first.step::<ByQuery, ByRepeating>().contract(keeps_answers());
        saga_with(world, &ledger, step);
        first
    };
    let exploration: Exploration<First, _> = explore(honest).every_step_fails();
    let report = broken(|| {
        exploration.seeded(5).check(|_, first| assert!(!first.in_place().is_empty(), "nothing is reserved"))
    });
    assert!(report.contains("found: nothing is reserved\nseed:  5\n"), "{report}");
}

#[test]
fn an_honest_saga_breaks_no_law() {
    let honest = |world: &mut World| {
        let ledger = Ledger::new(world);
        let first: First = Participant::new(&ledger, "first", made);
        let step = first.step::<ByQuery, ByQuery>().contract(keeps_answers());
        saga_with(world, &ledger, step);
    };
    let all = explore(honest)
        .every_step_fails()
        .every_step_repeats()
        .every_outcome_is_lost()
        .every_compensation_repeats()
        .crash_at_every_commit();
    let tried = all.hold();
    assert_eq!(tried.runs, tried.struck);
}

/// Takes effect where no ledger looks.
struct Unobserved;

impl Step for Unobserved {
    type Input = u32;
    type Output = u32;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, pieces: u32) -> Result<u32, StepError<Never>> {
        Ok(pieces)
    }
}

/// A saga of which nobody but itself says anything.
fn unobserved(world: &mut World) {
    let (s, input) = SagaBuilder::<u32>::new("unobserved", 1);
    let (end, s) = s.pivot("pivot", Unobserved, input);
    let saga = s.finish(end).expect("the definition is sound");
    world.register(&saga);
    world.start(&saga, "key", 3);
}

#[test]
fn laws_do_not_pass_because_nobody_keeps_a_ledger() {
    let report = broken(|| explore(unobserved).every_outcome_is_lost().crash_at_every_commit().hold());
    assert!(report.starts_with("there is nothing to prove with"), "{report}");
    assert!(report.contains("Give your participants a Ledger"), "{report}");

    let empty = |world: &mut World| {
        Ledger::new(world);
        unobserved(world);
    };
    let report = broken(|| explore(empty).every_step_fails().hold());
    assert!(report.starts_with("there is nothing to prove with"), "a ledger that nobody writes: {report}");

    let said_so = explore(unobserved).without_observable_participants().every_outcome_is_lost();
    assert!(said_so.hold().struck > 0);
}
