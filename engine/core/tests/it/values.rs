//! What a source stands for in a saga: what the runtime builds inputs from.

use amends_core::plan::Source;
use amends_core::state::{Given, Missing};
use amends_core::{BranchIx, StepIx};

use crate::script::play;

const GIFT: &str = "
    step check(input) by-query
    when gift(check)
    step wrap(check) by-query if=gift
    step pack(check,gift) by-query
";

const SPEED: &str = "
    step ask(input) by-query
    either speed(ask)
    step fast(ask) by-query if=speed
    step slow(ask) by-query unless=speed
    step book(speed) by-query
";

/// What the first branch gives, as JSON, and how it is told.
fn given(plan: &str, script: &str) -> (String, bool) {
    let trial = play(plan, script);
    let given = trial.state.given(&trial.plan, Source::Branch(BranchIx(0))).expect("it stands for something");
    (given.json().text().to_owned(), matches!(given, Given::Value(_)))
}

#[test]
fn a_branch_that_was_not_taken_gives_nothing_and_no_error() {
    let trial = play(GIFT, "run check\n decide gift no");
    let given = trial.state.given(&trial.plan, Source::Branch(BranchIx(0)));
    assert_eq!(given, Ok(Given::Absent));
    assert_eq!(Given::Absent.json().text(), "null");
}

#[test]
fn what_an_optional_branch_gives_is_told_apart_from_a_value_that_is_there_in_any_case() {
    let wrapped =
        "run check\n decide gift yes\n begin wrap\n lost wrap\n at 5s query wrap\n found wrap applied null";
    assert_eq!(given(GIFT, wrapped), ("null".to_owned(), false));
    let trial = play(GIFT, wrapped);
    let given = trial.state.given(&trial.plan, Source::Branch(BranchIx(0))).expect("it was made");
    assert!(matches!(given, Given::Present(_)), "not the null of a branch that was not taken");
}

#[test]
fn a_branch_with_two_sides_gives_the_value_of_the_side_taken() {
    assert_eq!(given(SPEED, "run ask\n decide speed yes\n run fast"), ("\"fast\"".to_owned(), true));
    assert_eq!(given(SPEED, "run ask\n decide speed no\n run slow"), ("\"slow\"".to_owned(), true));
}

#[test]
fn what_is_not_there_yet_is_named() {
    let trial = play(GIFT, "");
    let missing = |source| trial.state.given(&trial.plan, source).expect_err("it is not there");
    assert_eq!(missing(Source::Branch(BranchIx(0))), Missing::Undecided { branch: "gift" });
    assert_eq!(missing(Source::Step(StepIx(0))), Missing::NoResult { step: "check" });
}
