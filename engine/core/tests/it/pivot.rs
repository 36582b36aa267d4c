//! The point of no return: wishes while it is in doubt, and the answers they get.

use expect_test::expect;

use crate::plan_text::try_plan;
use crate::script::check;

const PLAN: &str = "
    step a(input) by-query
    pivot p(a) by-query window=10s
    retriable r(p) by-repeating
    policy base=0s
    query-policy base=0s
";

#[test]
fn a_cancel_while_the_pivot_runs_is_too_late_if_it_took_effect() {
    check(
        PLAN,
        "run a\n begin p\n at 1s cancel op1\n answer op1\n at 2s ok p\n answer op1\n run r",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            1s     wish of op1: cancelled by ann
            1s     answered op1, Cancel: pending
              op1 stands at: pending
            2s     p#1 succeeded: "p"
            2s     answered op1, Cancel: too late
              op1 stands at: too late
            2s     r#1 started (Ready)
            2s     r#1 succeeded: "r"
            2s     completed
            = COMPLETED
              a: SUCCEEDED applied
              p: SUCCEEDED applied
              r: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_cancel_while_the_pivot_runs_is_accepted_if_it_fails() {
    check(
        PLAN,
        "run a\n begin p\n at 1s cancel op1\n at 2s transient p\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        1s     wish of op1: cancelled by ann
        1s     answered op1, Cancel: pending
        2s     p#1 transient (busy) → skip, turned
        2s     turned back: cancelled by ann
        2s     answered op1, Cancel: accepted
        2s     undo:a#1 started (Ready)
        2s     undo:a#1 succeeded: "Undone"
        2s     compensated
        = COMPENSATED (cancelled by ann)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          p: SKIPPED none
          r: SKIPPED none
    "#]],
    );
}

#[test]
fn a_cancel_while_the_pivot_is_unknown_is_too_late_if_it_took_effect() {
    check(
        PLAN,
        "run a\n begin p\n lost p\n at 1s cancel op1\n agenda\n query p\n found p applied",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 unknown (timeout) → query at 0s
            1s     wish of op1: cancelled by ann
            1s     answered op1, Cancel: pending
            1s     ?
              do: query p (1), to fence through 1
            1s     p query 1 started, to fence through 1
            1s     p query 1 found applied "p" → done
            1s     answered op1, Cancel: too late
            = RUNNING
              a: SUCCEEDED applied
              p: SUCCEEDED applied
              r: READY none
              do: start r#1 in lane first, until 86401s
              wake: 86401s for deadline of r
              queues: r since 1s
        "#]],
    );
}

#[test]
fn a_cancel_while_the_pivot_is_unknown_turns_the_saga_if_it_did_not() {
    check(
        PLAN,
        "run a\n begin p\n lost p\n at 1s cancel op1\n query p\n found p absent\n query p\n found p fenced 1\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 unknown (timeout) → query at 0s
            1s     wish of op1: cancelled by ann
            1s     answered op1, Cancel: pending
            1s     p query 1 started, to fence through 1
            1s     p query 1 found absent → query at 1s
            1s     p query 2 started, to fence through 1
            1s     p query 2 found fenced through 1 → skip, turned
            1s     turned back: cancelled by ann
            1s     answered op1, Cancel: accepted
            1s     undo:a#1 started (Ready)
            1s     undo:a#1 succeeded: "Undone"
            1s     compensated
            = COMPENSATED (cancelled by ann)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              p: SKIPPED none
              r: SKIPPED none
        "#]],
    );
}

#[test]
fn a_cancel_while_the_query_of_the_pivot_is_under_way_is_answered_by_its_finding() {
    check(
        PLAN,
        "run a\n begin p\n lost p\n query p\n cancel op1\n at 10s found p absent\n at 11s query p\n found p absent\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 unknown (timeout) → query at 0s
            0s     p query 1 started
            0s     wish of op1: cancelled by ann
            0s     answered op1, Cancel: pending
            10s    p query 1 found absent → query at 10s
            11s    p query 2 started, to fence through 1
            11s    p query 2 found absent → skip, turned
            11s    turned back: cancelled by ann
            11s    answered op1, Cancel: accepted
            11s    undo:a#1 started (Ready)
            11s    undo:a#1 succeeded: "Undone"
            11s    compensated
            = COMPENSATED (cancelled by ann)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              p: SKIPPED none
              r: SKIPPED none
        "#]],
    );
}

#[test]
fn the_saga_turns_for_the_first_recorded_wish_and_answers_every_one() {
    check(
        PLAN,
        "run a\n begin p\n at 1s cancel op1\n at 2s turn-back op2\n at 3s cancel op1\n at 4s refuse p\n cancel op3\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            1s     wish of op1: cancelled by ann
            1s     answered op1, Cancel: pending
            2s     wish of op2: turned by ann
            2s     answered op2, TurnBack: pending
            3s     (at 3s cancel op1: nothing new)
            4s     p#1 refused: "no" → reject
            4s     turned back: cancelled by ann
            4s     answered op1, Cancel: accepted
            4s     answered op2, TurnBack: accepted
            4s     answered op3, Cancel: already
            4s     undo:a#1 started (Ready)
            4s     undo:a#1 succeeded: "Undone"
            4s     compensated
            = COMPENSATED (cancelled by ann)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              p: TERMINAL_REJECTED none
              r: SKIPPED none
        "#]],
    );
}

#[test]
fn a_pivot_that_failed_persistently_under_a_wish_is_skipped_not_quarantined() {
    check(
        PLAN,
        "run a\n begin p\n cancel op1\n persistent p",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     wish of op1: cancelled by ann
        0s     answered op1, Cancel: pending
        0s     p#1 persistent (credential) → skip, turned
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        = COMPENSATING (cancelled by ann)
          a: SUCCEEDED applied · undo READY none
          p: SKIPPED none
          r: SKIPPED none
          do: start undo:a#1 in lane compensation, until 86400s
          wake: 86400s for deadline of undo:a
          queues: undo:a since 0s
    "#]],
    );
}

#[test]
fn a_pivot_withdrawn_under_a_wish_turns_the_saga() {
    check(
        PLAN,
        "run a\n begin p\n cancel op1\n withdraw p",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     wish of op1: cancelled by ann
        0s     answered op1, Cancel: pending
        0s     p#1 withdrawn
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        = COMPENSATING (cancelled by ann)
          a: SUCCEEDED applied · undo READY none
          p: SKIPPED none
          r: SKIPPED none
          do: start undo:a#1 in lane compensation, until 86400s
          wake: 86400s for deadline of undo:a
          queues: undo:a since 0s
    "#]],
    );
}

#[test]
fn the_declared_repeats_of_an_unknown_pivot_go_on_under_a_wish() {
    check(
        "step a(input) by-query\n pivot p(a) by-repeating\n query-policy base=0s",
        "run a\n begin p\n lost p\n cancel op1\n begin p\n ok p",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 unknown (timeout) → repeat at 0s
            0s     wish of op1: cancelled by ann
            0s     answered op1, Cancel: pending
            0s     p#2 started (Repeat)
            0s     p#2 succeeded: "p"
            0s     answered op1, Cancel: too late
            0s     completed
            = COMPLETED
              a: SUCCEEDED applied
              p: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_pivot_that_waits_or_is_quarantined_hinders_no_turn() {
    check(
        PLAN,
        "run a\n begin p\n persistent p\n cancel op1\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     p#1 persistent (credential) → quarantine, persistent
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (cancelled by ann)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          p: SKIPPED none
          r: SKIPPED none
    "#]],
    );
    check(
        PLAN,
        "run a\n cancel op1\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (cancelled by ann)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          p: SKIPPED none
          r: SKIPPED none
    "#]],
    );
}

#[test]
fn a_pivot_scheduled_for_a_retry_hinders_no_turn() {
    check(
        "step a(input) by-query\n pivot p(a) by-query\n policy base=8s",
        "run a\n begin p\n transient p\n cancel op1\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 transient (busy) → retry at 7.344s
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 succeeded: "Undone"
            0s     compensated
            = COMPENSATED (cancelled by ann)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              p: SKIPPED none
        "#]],
    );
}

#[test]
fn a_pivot_on_the_reconciliation_desk_keeps_the_wish_until_a_person_settles_it() {
    check(
        "step a(input) by-query\n pivot p(a) by-operator\n retriable r(p) by-repeating",
        "run a\n begin p\n lost p\n cancel op1\n at 1s accept p \"seen\" op2\n answer op1",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 unknown (timeout) → desk, no-query
            0s     wish of op1: cancelled by ann
            0s     answered op1, Cancel: pending
            1s     p accepted by a person with "seen"
            1s     answered op2, Accept: accepted
            1s     answered op1, Cancel: too late
              op1 stands at: too late
            = RUNNING
              a: SUCCEEDED applied
              p: SUCCEEDED applied
              r: READY none
              do: start r#1 in lane first, until 86401s
              wake: 86401s for deadline of r
              queues: r since 1s
        "#]],
    );
}

#[test]
fn a_cancel_after_the_pivot_is_too_late() {
    check(
        PLAN,
        "run a\n run p\n cancel op1\n begin r\n cancel op2\n ok r\n cancel op3",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     p#1 succeeded: "p"
        0s     answered op1, Cancel: too late
        0s     r#1 started (Ready)
        0s     answered op2, Cancel: too late
        0s     r#1 succeeded: "r"
        0s     completed
        0s     answered op3, Cancel: too late
        = COMPLETED
          a: SUCCEEDED applied
          p: SUCCEEDED applied
          r: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_retriable_that_refuses_is_quarantined_for_recovery_is_forward() {
    check(
        PLAN,
        "run a\n run p\n begin r\n refuse r\n resume r op1\n run r",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     p#1 succeeded: "p"
        0s     r#1 started (Ready)
        0s     r#1 persistent (refused) → quarantine, persistent
        0s     r resumed: 3 attempts, until 86400s
        0s     answered op1, Resume: accepted
        0s     r#2 started (Ready)
        0s     r#2 succeeded: "r"
        0s     completed
        = COMPLETED
          a: SUCCEEDED applied
          p: SUCCEEDED applied
          r: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_read_after_the_pivot_that_refuses_is_quarantined_for_there_is_no_way_back() {
    check(
        "step a(input) by-query\n pivot p(a) by-query\n read look(p)",
        "run a\n run p\n begin look\n refuse look\n resume look op1\n run look",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 succeeded: "p"
            0s     look#1 started (Ready)
            0s     look#1 persistent (refused) → quarantine, persistent
            0s     look resumed: 3 attempts, until 86400s
            0s     answered op1, Resume: accepted
            0s     look#2 started (Ready)
            0s     look#2 succeeded: "look"
            0s     completed
            = COMPLETED
              a: SUCCEEDED applied
              p: SUCCEEDED applied
              look: SUCCEEDED none
        "#]],
    );
}

#[test]
fn a_retriable_found_refused_is_quarantined() {
    check(
        "pivot p(input) by-query\n retriable r(p) by-query\n query-policy base=0s",
        "run p\n begin r\n lost r\n query r\n found r refused",
        expect![[r#"
            0s     saga started
            0s     p#1 started (Ready)
            0s     p#1 succeeded: "p"
            0s     r#1 started (Ready)
            0s     r#1 unknown (timeout) → query at 0s
            0s     r query 1 started
            0s     r query 1 found refused "no" → quarantine, persistent
            = RUNNING
              p: SUCCEEDED applied
              r: QUARANTINED none
              desk: r on quarantine, persistent since 0s, attempts 1, effect none, persistent (refused)
        "#]],
    );
}

#[test]
fn a_plan_whose_steps_stand_on_the_wrong_side_of_the_pivot_is_refused() {
    let refused = |text: &str| try_plan(text).expect_err("the plan is wrong").join("\n");
    let pivot = "pivot p(input) by-query\n";
    assert_eq!(refused(&format!("{pivot}pivot q(p) by-query")), "`q` is a second pivot");
    assert_eq!(
        refused(&format!("{pivot}step a(p) by-query")),
        "`a` is a step and must stand before the pivot"
    );
    assert_eq!(
        refused(&format!("retriable r(input) by-query\n{pivot}")),
        "`r` is a retriable and must stand after the pivot"
    );
    assert_eq!(refused("retriable r(input) by-query"), "`r` is a retriable and must stand after the pivot");
}
