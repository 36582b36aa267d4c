//! What a payments reviewer would ask about a plan: each question where it belongs, and none where it does not.

use std::collections::BTreeSet;

use amends_core::plan::lint;
use amends_core::plan::lint::Rule;
use expect_test::expect;

use crate::plan_text::plan;

/// A plan that leaves nothing to ask.
const CLEAN: &str = "
    deadline 1h
    read check(input)
    step reserve(check) by-query window=10s retention=48h fence
    step auth(input) by-repeating retention=48h
    pivot capture(reserve,auth) by-query window=10s
    retriable ship(capture) by-repeating retention=48h
";

/// The codes of what is asked, with the step each is asked about.
fn asked(text: &str) -> Vec<String> {
    let of = |step: Option<&str>| step.unwrap_or("-").to_owned();
    lint(&plan(text)).iter().map(|w| format!("{} {}", of(w.step.as_deref()), w.rule.code())).collect()
}

/// [`CLEAN`] with one piece of it put differently.
fn changed(from: &str, to: &str) -> Vec<String> {
    assert!(CLEAN.contains(from), "`{from}` is a piece of the clean plan");
    asked(&CLEAN.replace(from, to))
}

#[test]
fn a_clean_plan_leaves_nothing_to_ask() {
    assert_eq!(asked(CLEAN), Vec::<String>::new());
}

#[test]
fn a_query_without_a_settle_window_is_asked_about() {
    let from = "step reserve(check) by-query window=10s";
    assert_eq!(changed(from, "step reserve(check) by-query"), ["reserve no-settle-window"]);
    let undo = changed("auth(input) by-repeating", "auth(input) by-repeating undo-by-query");
    assert_eq!(undo, ["auth no-settle-window"]);
}

#[test]
fn repeats_of_what_may_be_forgotten_are_asked_about() {
    let from = "retriable ship(capture) by-repeating retention=48h";
    assert_eq!(changed(from, "retriable ship(capture) by-repeating"), ["ship no-key-retention"]);
    let short = changed(from, "retriable ship(capture) by-repeating retention=2h");
    assert_eq!(short, ["ship retention-below-patience"]);
    let short = "retriable ship(capture) by-repeating retention=2h\n policy ship attempts=3 give-up=1h";
    assert_eq!(changed(from, short), Vec::<String>::new());
}

#[test]
fn what_only_an_operator_settles_is_asked_about() {
    let auth = "step auth(input) by-repeating retention=48h";
    let both = "step auth(input) by-operator undo-by-repeating retention=48h";
    assert_eq!(changed(auth, both), ["auth operator-before-pivot", "auth in-doubt-waits-for-operator"]);
    assert_eq!(changed(auth, &format!("{both} fence")), ["auth operator-before-pivot"]);
    let undo = "step auth(input) by-repeating undo-by-operator retention=48h";
    assert_eq!(changed(auth, undo), ["auth operator-compensation"]);
    let pivot = changed("by-query window=10s\n    retriable", "by-operator\n    retriable");
    assert_eq!(pivot, ["capture operator-pivot"]);
}

#[test]
fn several_effects_and_no_pivot_are_asked_about() {
    let two = "deadline 1h\n step a(input) by-query window=1s\n step b(a) by-query window=1s";
    assert_eq!(asked(two), ["- effects-without-pivot"]);
    let one = "deadline 1h\n step a(input) by-query window=1s\n read b(input)";
    assert_eq!(asked(one), Vec::<String>::new());
}

#[test]
fn money_that_is_held_until_a_person_acts_is_asked_about() {
    let held = changed("deadline 1h", "");
    // The read stands before the stock, and beside the money: only the money can be held while it waits.
    let steps = ["check", "reserve", "auth", "capture"];
    assert_eq!(held, steps.map(|step| format!("{step} held-until-a-person")));
    let turning = CLEAN.replace("deadline 1h", "") + "policy attempts=3 give-up=1h exhausted=turn-back";
    assert_eq!(asked(&turning), Vec::<String>::new());
}

#[test]
fn a_read_that_refuses_after_effects_it_does_not_read_is_asked_about() {
    let before = "deadline 1h\n step a(input) by-query window=1s\n";
    assert_eq!(asked(&format!("{before} read late(input) after=a")), ["late late-refusal"]);
    assert_eq!(asked(&format!("{before} read needs(a)")), Vec::<String>::new());
    assert_eq!(asked(&format!("{before} read beside(input)")), Vec::<String>::new());
}

#[test]
fn every_rule_has_a_name_an_explanation_and_an_advice_of_its_own() {
    let codes: BTreeSet<_> = Rule::ALL.map(Rule::code).into();
    let whys: BTreeSet<_> = Rule::ALL.map(Rule::why).into();
    assert_eq!((codes.len(), whys.len()), (Rule::ALL.len(), Rule::ALL.len()));
    assert!(Rule::ALL.iter().all(|rule| rule.advice().ends_with('.') && rule.why().ends_with('.')));
}

#[test]
fn a_warning_says_what_why_and_what_to_do() {
    let text = "deadline 1h\n step pay(input) by-query";
    let warnings = lint(&plan(text));
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    expect![[r#"
        pay: it and its compensation are settled by query, and no settle window is stated [no-settle-window]
          why: "Not found" means "without effect" only after a stated settle window. Without one a query that finds nothing settles nothing, however often it is asked, and a person has to.
          advice: State `Contract::settle_window`: how long after its last transmission a request can still take effect. Ask the participant for the number."#]].assert_eq(&warning.to_string());
}
