//! Turning back: who is undone, in which order, and what is done about siblings in flight.

use expect_test::expect;

use crate::script::check;

const FORK: &str = "
    step a(input) by-query
    step b(a) by-query
    step c(a) by-query
";

#[test]
fn a_refusal_turns_the_saga_back_and_undoes_in_reverse_order() {
    check(
        "step a(input) by-query\n step b(a) by-query\n step c(b) by-query\n step d(c) by-query",
        "run a\n run b\n run c\n begin d\n at 1s refuse d \"sold-out\"
         begin undo:a\n begin undo:b\n run undo:c\n run undo:b\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b#1 started (Ready)
            0s     b#1 succeeded: "b"
            0s     c#1 started (Ready)
            0s     c#1 succeeded: "c"
            0s     d#1 started (Ready)
            1s     d#1 refused: "sold-out" → reject
            1s     turned back: d refused
            1s     (begin undo:a: decide: `a/compensation` is PENDING, not due to start)
            1s     (begin undo:b: decide: `b/compensation` is PENDING, not due to start)
            1s     undo:c#1 started (Ready)
            1s     undo:c#1 succeeded: "Undone"
            1s     undo:b#1 started (Ready)
            1s     undo:b#1 succeeded: "Undone"
            1s     undo:a#1 started (Ready)
            1s     undo:a#1 succeeded: "Undone"
            1s     compensated
            = COMPENSATED (d refused)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: SUCCEEDED applied · undo SUCCEEDED applied
              c: SUCCEEDED applied · undo SUCCEEDED applied
              d: TERMINAL_REJECTED none
        "#]],
    );
}

#[test]
fn the_first_step_refused_ends_the_saga_without_any_compensation() {
    check(
        FORK,
        "begin a\n refuse a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 refused: "no" → reject
        0s     turned back: a refused
        0s     compensated
        = COMPENSATED (a refused)
          a: TERMINAL_REJECTED none
          b: SKIPPED none
          c: SKIPPED none
    "#]],
    );
}

#[test]
fn parallel_branches_are_undone_in_parallel_and_their_ancestor_last() {
    check(
        "step a(input) by-query\n step b(a) by-query\n step c(a) by-query\n step d(b,c) by-query",
        "run a\n run b\n run c\n begin d\n refuse d\n agenda\n begin undo:b\n begin undo:c\n begin undo:a
         ok undo:c\n begin undo:a\n ok undo:b\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b#1 started (Ready)
            0s     b#1 succeeded: "b"
            0s     c#1 started (Ready)
            0s     c#1 succeeded: "c"
            0s     d#1 started (Ready)
            0s     d#1 refused: "no" → reject
            0s     turned back: d refused
            0s     ?
              do: start undo:b#1 in lane compensation, until 86400s
              do: start undo:c#1 in lane compensation, until 86400s
              wake: 86400s for deadline of undo:b
              queues: undo:b since 0s
              queues: undo:c since 0s
            0s     undo:b#1 started (Ready)
            0s     undo:c#1 started (Ready)
            0s     (begin undo:a: decide: `a/compensation` is PENDING, not due to start)
            0s     undo:c#1 succeeded: "Undone"
            0s     (begin undo:a: decide: `a/compensation` is PENDING, not due to start)
            0s     undo:b#1 succeeded: "Undone"
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 succeeded: "Undone"
            0s     compensated
            = COMPENSATED (d refused)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: SUCCEEDED applied · undo SUCCEEDED applied
              c: SUCCEEDED applied · undo SUCCEEDED applied
              d: TERMINAL_REJECTED none
        "#]],
    );
}

#[test]
fn a_read_between_two_steps_keeps_their_order_and_is_not_undone() {
    check(
        "step a(input) by-query\n read look(a)\n step b(look) by-query\n step c(b) by-query",
        "run a\n run look\n run b\n begin c\n refuse c\n begin undo:a\n run undo:b\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     look#1 started (Ready)
            0s     look#1 succeeded: "look"
            0s     b#1 started (Ready)
            0s     b#1 succeeded: "b"
            0s     c#1 started (Ready)
            0s     c#1 refused: "no" → reject
            0s     turned back: c refused
            0s     (begin undo:a: decide: `a/compensation` is PENDING, not due to start)
            0s     undo:b#1 started (Ready)
            0s     undo:b#1 succeeded: "Undone"
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 succeeded: "Undone"
            0s     compensated
            = COMPENSATED (c refused)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              look: SUCCEEDED none
              b: SUCCEEDED applied · undo SUCCEEDED applied
              c: TERMINAL_REJECTED none
        "#]],
    );
}

#[test]
fn g07_a_sibling_that_succeeds_after_the_turn_is_undone_before_its_ancestor() {
    check(
        FORK,
        "run a\n begin b\n begin c\n at 0.1s refuse b\n agenda\n begin undo:a
         at 0.5s ok c\n begin undo:a\n run undo:c\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b#1 started (Ready)
            0s     c#1 started (Ready)
            0.1s   b#1 refused: "no" → reject
            0.1s   turned back: b refused
            0.1s   ?
              do: stop c
              runs: c#1 since 0s
            0.1s   (begin undo:a: decide: `a/compensation` is PENDING, not due to start)
            0.5s   c#1 succeeded: "c"
            0.5s   (begin undo:a: decide: `a/compensation` is PENDING, not due to start)
            0.5s   undo:c#1 started (Ready)
            0.5s   undo:c#1 succeeded: "Undone"
            0.5s   undo:a#1 started (Ready)
            0.5s   undo:a#1 succeeded: "Undone"
            0.5s   compensated
            = COMPENSATED (b refused)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: TERMINAL_REJECTED none
              c: SUCCEEDED applied · undo SUCCEEDED applied
        "#]],
    );
}

#[test]
fn g07_a_sibling_that_waits_for_its_retry_is_skipped_by_the_turn() {
    check(
        FORK,
        "run a\n begin b\n begin c\n transient c\n at 0.1s refuse b\n at 60s begin c\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b#1 started (Ready)
            0s     c#1 started (Ready)
            0s     c#1 transient (busy) → retry at 0.345s
            0.1s   b#1 refused: "no" → reject
            0.1s   turned back: b refused
            60s    (at 60s begin c: decide: `c/forward` is SKIPPED, not due to start)
            60s    undo:a#1 started (Ready)
            60s    undo:a#1 succeeded: "Undone"
            60s    compensated
            = COMPENSATED (b refused)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: TERMINAL_REJECTED none
              c: SKIPPED none
        "#]],
    );
}

#[test]
fn g07_a_sibling_whose_reply_is_lost_is_reconciled_first_and_undone_if_it_took_effect() {
    check(
        FORK,
        "run a\n begin b\n begin c\n at 0.1s refuse b\n at 0.5s lost c\n begin undo:a
         due\n query c\n found c applied\n run undo:c\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b#1 started (Ready)
            0s     c#1 started (Ready)
            0.1s   b#1 refused: "no" → reject
            0.1s   turned back: b refused
            0.5s   c#1 unknown (timeout) → query at 0.941s
            0.5s   (begin undo:a: decide: `a/compensation` is PENDING, not due to start)
            0.941s c query 1 started, to fence through 1
            0.941s c query 1 found applied "c" → done
            0.941s undo:c#1 started (Ready)
            0.941s undo:c#1 succeeded: "Undone"
            0.941s undo:a#1 started (Ready)
            0.941s undo:a#1 succeeded: "Undone"
            0.941s compensated
            = COMPENSATED (b refused)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: TERMINAL_REJECTED none
              c: SUCCEEDED applied · undo SUCCEEDED applied
        "#]],
    );
}

#[test]
fn g07_a_sibling_whose_reply_is_lost_is_not_undone_if_it_took_no_effect() {
    check(
        FORK,
        "run a\n begin b\n begin c\n at 0.1s refuse b\n at 0.5s lost c\n due\n query c\n found c fenced 1\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b#1 started (Ready)
            0s     c#1 started (Ready)
            0.1s   b#1 refused: "no" → reject
            0.1s   turned back: b refused
            0.5s   c#1 unknown (timeout) → query at 0.941s
            0.941s c query 1 started, to fence through 1
            0.941s c query 1 found fenced through 1 → skip, turned
            0.941s undo:a#1 started (Ready)
            0.941s undo:a#1 succeeded: "Undone"
            0.941s compensated
            = COMPENSATED (b refused)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: TERMINAL_REJECTED none
              c: SKIPPED none
        "#]],
    );
}

#[test]
fn g07_a_sibling_that_was_ready_is_never_dispatched() {
    check(
        FORK,
        "run a\n begin b\n refuse b\n begin c\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     b#1 started (Ready)
        0s     b#1 refused: "no" → reject
        0s     turned back: b refused
        0s     (begin c: decide: `c/forward` is SKIPPED, not due to start)
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (b refused)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          b: TERMINAL_REJECTED none
          c: SKIPPED none
    "#]],
    );
}

#[test]
fn g07_two_refusals_in_the_same_instant_are_one_turn() {
    check(
        FORK,
        "run a\n begin b\n begin c\n at 1s refuse b\n at 1s refuse c\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     b#1 started (Ready)
        0s     c#1 started (Ready)
        1s     b#1 refused: "no" → reject
        1s     turned back: b refused
        1s     c#1 refused: "no" → reject
        1s     undo:a#1 started (Ready)
        1s     undo:a#1 succeeded: "Undone"
        1s     compensated
        = COMPENSATED (b refused)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          b: TERMINAL_REJECTED none
          c: TERMINAL_REJECTED none
    "#]],
    );
}

#[test]
fn g07_a_sibling_that_fails_persistently_after_the_turn_is_skipped() {
    check(
        FORK,
        "run a\n begin b\n begin c\n refuse b\n persistent c\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     b#1 started (Ready)
        0s     c#1 started (Ready)
        0s     b#1 refused: "no" → reject
        0s     turned back: b refused
        0s     c#1 persistent (credential) → skip, turned
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (b refused)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          b: TERMINAL_REJECTED none
          c: SKIPPED none
    "#]],
    );
}

#[test]
fn a_quarantined_sibling_is_skipped_by_the_turn_and_its_item_closes() {
    check(
        FORK,
        "run a\n begin b\n begin c\n persistent c\n agenda\n refuse b\n resume c op1\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b#1 started (Ready)
            0s     c#1 started (Ready)
            0s     c#1 persistent (credential) → quarantine, persistent
            0s     ?
              runs: b#1 since 0s
              desk: c on quarantine, persistent since 0s, attempts 1, effect none, persistent (credential)
            0s     b#1 refused: "no" → reject
            0s     turned back: b refused
            0s     (resume c op1: decide: only a QUARANTINED action can be resumed, and `c/forward` is SKIPPED)
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 succeeded: "Undone"
            0s     compensated
            = COMPENSATED (b refused)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: TERMINAL_REJECTED none
              c: SKIPPED none
        "#]],
    );
}

#[test]
fn a_withdrawn_sibling_is_skipped_by_the_turn() {
    check(
        FORK,
        "run a\n begin b\n begin c\n refuse b\n withdraw c\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     b#1 started (Ready)
        0s     c#1 started (Ready)
        0s     b#1 refused: "no" → reject
        0s     turned back: b refused
        0s     c#1 withdrawn
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (b refused)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          b: TERMINAL_REJECTED none
          c: SKIPPED none
    "#]],
    );
}

#[test]
fn a_sibling_without_a_path_to_the_refused_step_is_undone_at_once() {
    check(
        "step a(input) by-query\n step b(input) by-query\n step c(b) by-query",
        "run a\n run b\n begin c\n begin undo:a\n refuse c\n agenda\n run undo:b\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b#1 started (Ready)
            0s     b#1 succeeded: "b"
            0s     c#1 started (Ready)
            0s     (begin undo:a: decide: `a/compensation` is PENDING, not due to start)
            0s     c#1 refused: "no" → reject
            0s     turned back: c refused
            0s     ?
              do: start undo:a#1 in lane compensation, until 86400s
              do: start undo:b#1 in lane compensation, until 86400s
              wake: 86400s for deadline of undo:a
              queues: undo:a since 0s
              queues: undo:b since 0s
            0s     undo:b#1 started (Ready)
            0s     undo:b#1 succeeded: "Undone"
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 succeeded: "Undone"
            0s     compensated
            = COMPENSATED (c refused)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: SUCCEEDED applied · undo SUCCEEDED applied
              c: TERMINAL_REJECTED none
        "#]],
    );
}

#[test]
fn a_read_may_refuse_before_the_pivot() {
    check(
        "step a(input) by-query\n read look(a)\n pivot p(look) by-query",
        "run a\n begin look\n refuse look\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     look#1 started (Ready)
            0s     look#1 refused: "no" → reject
            0s     turned back: look refused
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 succeeded: "Undone"
            0s     compensated
            = COMPENSATED (look refused)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              look: TERMINAL_REJECTED none
              p: SKIPPED none
        "#]],
    );
}

#[test]
fn g12_a_crash_between_the_last_compensation_and_the_end_finds_the_saga_ended() {
    // The end is decided in the transition of the last compensation, so there is no moment between.
    check(
        "step a(input) by-query\n step b(input) by-query\n step c(a,b) by-query",
        "run a\n begin b\n refuse b\n run undo:a\n crash\n agenda\n begin c",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b#1 started (Ready)
            0s     b#1 refused: "no" → reject
            0s     turned back: b refused
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 succeeded: "Undone"
            0s     compensated
            0s     claimed
            0s     ?
            0s     (begin c: decide: `c/forward` is SKIPPED, not due to start)
            = COMPENSATED (b refused)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: TERMINAL_REJECTED none
              c: SKIPPED none
        "#]],
    );
}
