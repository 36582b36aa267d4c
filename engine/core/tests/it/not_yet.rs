//! Answers and findings whose rules come later are never taken for another: the action stays RECONCILING, on
//! the desk, with that reason.

use expect_test::expect;

use crate::plan_text::plan;
use crate::script::{Trial, check};

#[test]
fn an_answer_without_a_rule_yet_leaves_the_step_on_the_desk() {
    for (answer, code) in [
        ("accepted a", "accepted"),
        ("partial a", "partial"),
        ("fenced a 1", "fenced"),
        ("mismatch a", "mismatch"),
        ("stale a", "stale"),
    ] {
        for settle in ["by-query", "by-repeating", "by-operator"] {
            let mut trial = Trial::new(plan(&format!("step a(input) {settle}")), 1);
            trial.read(&format!("begin a\n {answer}\n at 60s tick\n crash"));
            let told = trial.told();
            let item = format!(
                "desk: a on reconciliation, not-yet since 0s, attempts 1, effect possible, not yet ({code})"
            );
            assert!(told.contains(&item) && told.contains("a: RECONCILING possible"), "{told}");
        }
    }
}

#[test]
fn an_answer_without_a_rule_yet_leaves_a_compensation_on_the_desk() {
    check(
        "step a(input) by-query",
        "begin a\n cancel op1\n ok a\n begin undo:a\n partial undo:a\n accept undo:a \"Undone\" op2",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     a#1 succeeded: "a"
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 not yet (partial) → desk, not-yet
            0s     undo:a accepted by a person with "Undone"
            0s     answered op2, Accept: accepted
            0s     compensated
            = COMPENSATED (cancelled by ann)
              a: SUCCEEDED applied · undo SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_partial_finding_leaves_the_step_on_the_desk() {
    check(
        "step a(input) by-query\n query-policy base=0s",
        "begin a\n lost a\n query a\n found a partial",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            0s     a query 1 started
            0s     a query 1 found partial → desk, not-yet
            = RUNNING
              a: RECONCILING possible
              desk: a on reconciliation, not-yet since 0s, attempts 1, effect possible, not yet (partial)
        "#]],
    );
}

#[test]
fn a_pivot_on_the_desk_for_want_of_a_rule_still_keeps_the_wish() {
    check(
        "pivot p(input) by-query",
        "begin p\n accepted p\n cancel op1\n accept p \"it\" op2",
        expect![[r#"
            0s     saga started
            0s     p#1 started (Ready)
            0s     p#1 not yet (accepted) → desk, not-yet
            0s     wish of op1: cancelled by ann
            0s     answered op1, Cancel: pending
            0s     p accepted by a person with "it"
            0s     answered op2, Accept: accepted
            0s     answered op1, Cancel: too late
            0s     completed
            = COMPLETED
              p: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn late_news_of_a_settled_action_is_refused() {
    check(
        "step a(input) by-query\n step b(a) by-query",
        "run a\n ok a#1\n refuse a#1\n lost a#1\n begin b\n refuse b\n ok b#1\n run undo:a\n ok a#1",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     (ok a#1: decide: not yet: attempt 1 of `a/forward` is not running, and late news has no rule yet)
            0s     (refuse a#1: decide: not yet: attempt 1 of `a/forward` is not running, and late news has no rule yet)
            0s     (lost a#1: decide: not yet: attempt 1 of `a/forward` is not running, and late news has no rule yet)
            0s     b#1 started (Ready)
            0s     b#1 refused: "no" → reject
            0s     turned back: b refused
            0s     (ok b#1: decide: not yet: attempt 1 of `b/forward` is not running, and late news has no rule yet)
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 succeeded: "Undone"
            0s     compensated
            0s     (ok a#1: decide: not yet: attempt 1 of `a/forward` is not running, and late news has no rule yet)
            = COMPENSATED (b refused)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: TERMINAL_REJECTED none
        "#]],
    );
}

#[test]
fn a_late_answer_that_is_no_success_waits_for_its_rule() {
    check(
        "step a(input) by-query",
        "begin a\n lost a\n refuse a#1\n transient a#1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0.033s
        0s     (refuse a#1: decide: not yet: attempt 1 of `a/forward` is not running, and late news has no rule yet)
        0s     (transient a#1: decide: not yet: attempt 1 of `a/forward` is not running, and late news has no rule yet)
        = RUNNING
          a: RECONCILING possible
          wake: 0.033s for query a
    "#]],
    );
}
