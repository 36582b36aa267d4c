//! Compensations: their own failures, their own unknown, and outcomes that they settle in doubt.

use expect_test::expect;

use crate::script::check;

const CHAIN: &str = "
    step a(input) by-query
    step b(a) by-query
    step c(b) by-query
    step d(c) by-query
    undo-policy attempts=3 base=0s
    query-policy queries=3 base=0s
";

#[test]
fn g08_a_compensation_that_fails_holds_back_its_ancestors_until_a_person_resumes_it() {
    check(
        CHAIN,
        "run a\n run b\n run c\n begin d\n refuse d\n run undo:c
         begin undo:b\n transient undo:b\n begin undo:b\n transient undo:b\n begin undo:b\n transient undo:b
         crash\n crash\n begin undo:a\n begin undo:b\n agenda
         at 9s resume undo:b op1\n run undo:b\n run undo:a",
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
            0s     undo:c#1 started (Ready)
            0s     undo:c#1 succeeded: "Undone"
            0s     undo:b#1 started (Ready)
            0s     undo:b#1 transient (busy) → retry at 0s
            0s     undo:b#2 started (Retry)
            0s     undo:b#2 transient (busy) → retry at 0s
            0s     undo:b#3 started (Retry)
            0s     undo:b#3 transient (busy) → quarantine, attempts-spent
            0s     claimed
            0s     claimed
            0s     (begin undo:a: decide: `a/compensation` is PENDING, not due to start)
            0s     (begin undo:b: decide: `b/compensation` is QUARANTINED, not due to start)
            0s     ?
              desk: undo:b on quarantine, attempts-spent since 0s, attempts 3, effect none, transient (busy)
            9s     undo:b resumed: 3 attempts, until 86409s
            9s     answered op1, Resume: accepted
            9s     undo:b#4 started (Ready)
            9s     undo:b#4 succeeded: "Undone"
            9s     undo:a#1 started (Ready)
            9s     undo:a#1 succeeded: "Undone"
            9s     compensated
            = COMPENSATED (d refused)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: SUCCEEDED applied · undo SUCCEEDED applied
              c: SUCCEEDED applied · undo SUCCEEDED applied
              d: TERMINAL_REJECTED none
        "#]],
    );
}

#[test]
fn g08_independent_branches_go_on_while_a_compensation_is_quarantined() {
    check(
        "step a(input) by-query\n step b(a) by-query\n step c(a) by-query\n step d(b,c) by-query",
        "run a\n run b\n run c\n begin d\n refuse d\n begin undo:b\n persistent undo:b\n run undo:c\n begin undo:a
         resume undo:b op1\n run undo:b\n run undo:a",
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
            0s     undo:b#1 started (Ready)
            0s     undo:b#1 persistent (credential) → quarantine, persistent
            0s     undo:c#1 started (Ready)
            0s     undo:c#1 succeeded: "Undone"
            0s     (begin undo:a: decide: `a/compensation` is PENDING, not due to start)
            0s     undo:b resumed: 3 attempts, until 86400s
            0s     answered op1, Resume: accepted
            0s     undo:b#2 started (Ready)
            0s     undo:b#2 succeeded: "Undone"
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
fn g08_a_lost_reply_of_a_compensation_is_asked_about_not_repeated() {
    check(
        "step a(input) by-query window=10s\n query-policy base=0s",
        "begin a\n cancel op1\n ok a\n begin undo:a\n at 1s lost undo:a\n begin undo:a\n query undo:a\n found undo:a undone",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     a#1 succeeded: "a"
            0s     undo:a#1 started (Ready)
            1s     undo:a#1 unknown (timeout) → query at 1s
            1s     (begin undo:a: decide: `a/compensation` is RECONCILING, not due to start)
            1s     undo:a query 1 started
            1s     undo:a query 1 found applied "Undone" → done
            1s     compensated
            = COMPENSATED (cancelled by ann)
              a: SUCCEEDED applied · undo SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_resumed_compensation_has_a_fresh_budget_and_the_same_life() {
    check(
        "step a(input) by-query\n undo-policy attempts=2 base=0s give-up=10s",
        "begin a\n cancel op1\n ok a\n begin undo:a\n transient undo:a\n begin undo:a\n transient undo:a
         at 60s resume undo:a op2\n begin undo:a\n transient undo:a\n begin undo:a\n transient undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     a#1 succeeded: "a"
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 transient (busy) → retry at 0s
            0s     undo:a#2 started (Retry)
            0s     undo:a#2 transient (busy) → quarantine, attempts-spent
            60s    undo:a resumed: 2 attempts, until 70s
            60s    answered op2, Resume: accepted
            60s    undo:a#3 started (Ready)
            60s    undo:a#3 transient (busy) → retry at 60s
            60s    undo:a#4 started (Retry)
            60s    undo:a#4 transient (busy) → quarantine, attempts-spent
            = COMPENSATING (cancelled by ann)
              a: SUCCEEDED applied · undo QUARANTINED none
              desk: undo:a on quarantine, attempts-spent since 60s, attempts 4, effect none, transient (busy)
        "#]],
    );
}

#[test]
fn nothing_to_undo_is_success() {
    check(
        "step a(input) by-query",
        "begin a\n cancel op1\n ok a\n begin undo:a\n nothing undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     a#1 succeeded: "a"
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "NothingToUndo"
        0s     compensated
        = COMPENSATED (cancelled by ann)
          a: SUCCEEDED applied · undo SUCCEEDED none
    "#]],
    );
}

#[test]
fn a_refused_compensation_is_persistent_with_that_report() {
    check(
        "step a(input) by-query",
        "begin a\n cancel op1\n ok a\n begin undo:a\n refuse undo:a \"already-shipped\"",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     a#1 succeeded: "a"
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 persistent (refused) → quarantine, persistent
            = COMPENSATING (cancelled by ann)
              a: SUCCEEDED applied · undo QUARANTINED none
              desk: undo:a on quarantine, persistent since 0s, attempts 1, effect none, persistent (refused)
        "#]],
    );
}

#[test]
fn every_finding_about_a_compensation() {
    let plan = "step a(input) by-query window=10s\n undo-policy base=0s\n query-policy queries=9 base=0s";
    let lost = "begin a\n cancel op1\n ok a\n begin undo:a\n lost undo:a\n query undo:a\n";
    check(
        plan,
        &format!("{lost} found undo:a nothing"),
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     a#1 succeeded: "a"
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 unknown (timeout) → query at 0s
        0s     undo:a query 1 started
        0s     undo:a query 1 found applied "NothingToUndo" → done
        0s     compensated
        = COMPENSATED (cancelled by ann)
          a: SUCCEEDED applied · undo SUCCEEDED none
    "#]],
    );
    check(
        plan,
        &format!("{lost} found undo:a fenced 1\n run undo:a"),
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     a#1 succeeded: "a"
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 unknown (timeout) → query at 0s
        0s     undo:a query 1 started
        0s     undo:a query 1 found fenced through 1 → retry at 0s
        0s     undo:a#2 started (Retry)
        0s     undo:a#2 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (cancelled by ann)
          a: SUCCEEDED applied · undo SUCCEEDED applied
    "#]],
    );
    check(
        plan,
        &format!(
            "{lost} found undo:a in-progress\n query undo:a\n found undo:a unclear\n query undo:a\n found undo:a absent\n at 10s query undo:a\n found undo:a absent\n run undo:a"
        ),
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     a#1 succeeded: "a"
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 unknown (timeout) → query at 0s
            0s     undo:a query 1 started
            0s     undo:a query 1 found in progress → query at 0s
            0s     undo:a query 2 started
            0s     undo:a query 2 found unclear (status=weird) → query at 0s
            0s     undo:a query 3 started
            0s     undo:a query 3 found absent → query at 0s
            10s    undo:a query 4 started, to fence through 1
            10s    undo:a query 4 found absent → retry at 10s
            10s    undo:a#2 started (Retry)
            10s    undo:a#2 succeeded: "Undone"
            10s    compensated
            = COMPENSATED (cancelled by ann)
              a: SUCCEEDED applied · undo SUCCEEDED applied
        "#]],
    );
    check(
        plan,
        &format!("{lost} found undo:a refused"),
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     a#1 succeeded: "a"
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 unknown (timeout) → query at 0s
        0s     undo:a query 1 started
        0s     undo:a query 1 found refused "no" → quarantine, persistent
        = COMPENSATING (cancelled by ann)
          a: SUCCEEDED applied · undo QUARANTINED none
          desk: undo:a on quarantine, persistent since 0s, attempts 1, effect none, persistent (refused)
    "#]],
    );
}

#[test]
fn a_compensation_is_settled_by_repeating_where_it_is_declared_so() {
    check(
        "step a(input) by-query undo-by-repeating\n undo-policy attempts=2\n query-policy base=0s",
        "begin a\n cancel op1\n ok a\n begin undo:a\n lost undo:a\n begin undo:a\n lost undo:a\n accept undo:a \"Undone\" op2",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     a#1 succeeded: "a"
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 unknown (timeout) → repeat at 0s
            0s     undo:a#2 started (Repeat)
            0s     undo:a#2 unknown (timeout) → desk, attempts-spent
            0s     undo:a accepted by a person with "Undone"
            0s     answered op2, Accept: accepted
            0s     compensated
            = COMPENSATED (cancelled by ann)
              a: SUCCEEDED applied · undo SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_compensation_only_a_person_can_settle_stands_on_the_desk_and_holds_back_its_ancestors() {
    check(
        "step a(input) by-query\n step b(a) by-query undo-by-operator",
        "run a\n begin b\n cancel op1\n ok b\n begin undo:b\n lost undo:b\n begin undo:a\n accept undo:b op2
         accept undo:b \"done\" op3\n accept undo:b \"NothingToUndo\" op4\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b#1 started (Ready)
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     b#1 succeeded: "b"
            0s     undo:b#1 started (Ready)
            0s     undo:b#1 unknown (timeout) → desk, no-query
            0s     (begin undo:a: decide: `a/compensation` is PENDING, not due to start)
            0s     (accept undo:b op2: decide: say "Undone" or "NothingToUndo")
            0s     (accept undo:b "done" op3: decide: a compensation is accepted with "Undone" or "NothingToUndo", not with "done")
            0s     undo:b accepted by a person with "NothingToUndo"
            0s     answered op4, Accept: accepted
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 succeeded: "Undone"
            0s     compensated
            = COMPENSATED (cancelled by ann)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: SUCCEEDED applied · undo SUCCEEDED none
        "#]],
    );
}

#[test]
fn an_outcome_that_stays_unknown_after_the_turn_waits_for_a_person_and_holds_back_its_ancestors_only() {
    check(
        "step a(input) by-query\n step b(a) by-query\n step x(input) by-query\n query-policy queries=1 base=0s",
        "run a\n run x\n begin b\n lost b\n cancel op1\n query b\n found b unclear\n begin undo:a\n run undo:x
         accept b op2\n run undo:b\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     x#1 started (Ready)
            0s     x#1 succeeded: "x"
            0s     b#1 started (Ready)
            0s     b#1 unknown (timeout) → query at 0s
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     b query 1 started, to fence through 1
            0s     b query 1 found unclear (status=weird) → desk, queries-spent
            0s     (begin undo:a: decide: `a/compensation` is PENDING, not due to start)
            0s     undo:x#1 started (Ready)
            0s     undo:x#1 succeeded: "Undone"
            0s     b accepted by a person with nothing
            0s     answered op2, Accept: accepted
            0s     undo:b#1 started (Ready)
            0s     undo:b#1 succeeded: "Undone"
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 succeeded: "Undone"
            0s     compensated
            = COMPENSATED (cancelled by ann)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: SUCCEEDED applied · undo SUCCEEDED applied
              x: SUCCEEDED applied · undo SUCCEEDED applied
        "#]],
    );
}

const FENCED: &str = "
    step a(input) by-query
    step b(a) by-query fence
    query-policy queries=1 base=0s
";

#[test]
fn a_participant_with_a_barrier_lets_the_compensation_settle_what_stays_unknown() {
    check(
        FENCED,
        "run a\n begin b\n lost b\n cancel op1\n begin undo:b\n query b\n query-fails b\n agenda\n run undo:b\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b#1 started (Ready)
            0s     b#1 unknown (timeout) → query at 0s
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     (begin undo:b: decide: `b/compensation` is PENDING, not due to start)
            0s     b query 1 started, to fence through 1
            0s     b query 1 failed: unknown (timeout) → desk, queries-spent
            0s     ?
              do: start undo:b#1 in lane compensation, until 86400s
              wake: 86400s for deadline of undo:b
              queues: undo:b since 0s
            0s     undo:b#1 started (Ready)
            0s     undo:b#1 succeeded: "Undone"
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 succeeded: "Undone"
            0s     compensated
            = COMPENSATED (cancelled by ann)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: SUCCEEDED applied · undo SUCCEEDED applied
        "#]],
    );
}

#[test]
fn nothing_to_undo_in_doubt_makes_the_step_skipped() {
    check(
        FENCED,
        "run a\n begin b\n lost b\n cancel op1\n query b\n query-fails b\n begin undo:b\n nothing undo:b\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b#1 started (Ready)
            0s     b#1 unknown (timeout) → query at 0s
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     b query 1 started, to fence through 1
            0s     b query 1 failed: unknown (timeout) → desk, queries-spent
            0s     undo:b#1 started (Ready)
            0s     undo:b#1 succeeded: "NothingToUndo"
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 succeeded: "Undone"
            0s     compensated
            = COMPENSATED (cancelled by ann)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: SKIPPED none · undo SUCCEEDED none
        "#]],
    );
}

#[test]
fn no_compensation_in_doubt_overlaps_a_running_attempt() {
    check(
        "step b(input) by-repeating fence\n query-policy base=0s",
        "begin b\n lost b\n begin b\n cancel op1\n begin undo:b\n lost b\n begin b\n run undo:b",
        expect![[r#"
            0s     saga started
            0s     b#1 started (Ready)
            0s     b#1 unknown (timeout) → repeat at 0s
            0s     b#2 started (Repeat)
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     (begin undo:b: decide: `b/compensation` is PENDING, not due to start)
            0s     b#2 unknown (timeout) → repeat at 0s
            0s     (begin b: decide: the compensation of `b` settles it)
            0s     undo:b#1 started (Ready)
            0s     undo:b#1 succeeded: "Undone"
            0s     compensated
            = COMPENSATED (cancelled by ann)
              b: SUCCEEDED applied · undo SUCCEEDED applied
        "#]],
    );
}

#[test]
fn no_repeat_starts_once_the_compensation_in_doubt_was_requested() {
    check(
        "step b(input) by-repeating fence\n query-policy base=0s",
        "begin b\n lost b\n cancel op1\n agenda\n begin b\n begin undo:b\n begin b\n crash\n begin b\n at 1s run undo:b",
        expect![[r#"
            0s     saga started
            0s     b#1 started (Ready)
            0s     b#1 unknown (timeout) → repeat at 0s
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     ?
              do: start undo:b#1 in lane compensation, until 86400s
              wake: 86400s for deadline of undo:b
              queues: undo:b since 0s
            0s     (begin b: decide: the compensation of `b` settles it)
            0s     undo:b#1 started (Ready)
            0s     (begin b: decide: the compensation of `b` settles it)
            0s     claimed
            0s     undo:b unknown (executor-died) → repeat at 0s
            0s     (begin b: decide: the compensation of `b` settles it)
            1s     undo:b#2 started (Repeat)
            1s     undo:b#2 succeeded: "Undone"
            1s     compensated
            = COMPENSATED (cancelled by ann)
              b: SUCCEEDED applied · undo SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_late_success_that_meets_a_compensation_in_doubt_is_not_settled_by_the_order_of_arrival() {
    check(
        FENCED,
        "run a\n begin b\n lost b\n cancel op1\n query b\n query-fails b\n begin undo:b\n ok b#1\n nothing undo:b",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b#1 started (Ready)
            0s     b#1 unknown (timeout) → query at 0s
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     b query 1 started, to fence through 1
            0s     b query 1 failed: unknown (timeout) → desk, queries-spent
            0s     undo:b#1 started (Ready)
            0s     b#1 succeeded: "b"
            0s     undo:b#1 succeeded: "NothingToUndo"
            0s     dispute of b#?: unclear (its compensation found nothing to undo) (it succeeded, and its compensation found nothing to undo)
            = COMPENSATING (cancelled by ann)
              a: SUCCEEDED applied · undo READY none
              b: SUCCEEDED possible · undo SUCCEEDED none
              do: query b (2), to fence through 1
              wake: 86400s for deadline of undo:a
              desk: b on discrepancy, contradiction since 0s, attempts 1, effect possible, unknown (timeout)
        "#]],
    );
}

#[test]
fn a_compensation_in_doubt_that_is_quarantined_keeps_its_step_off_the_desk() {
    check(
        FENCED,
        "run a\n begin b\n lost b\n cancel op1\n query b\n query-fails b\n begin undo:b\n persistent undo:b\n accept b op2\n resume undo:b op3\n run undo:b",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b#1 started (Ready)
            0s     b#1 unknown (timeout) → query at 0s
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     b query 1 started, to fence through 1
            0s     b query 1 failed: unknown (timeout) → desk, queries-spent
            0s     undo:b#1 started (Ready)
            0s     undo:b#1 persistent (credential) → quarantine, persistent
            0s     (accept b op2: decide: the compensation of `b` settles it)
            0s     undo:b resumed: 3 attempts, until 86400s
            0s     answered op3, Resume: accepted
            0s     undo:b#2 started (Ready)
            0s     undo:b#2 succeeded: "Undone"
            = COMPENSATING (cancelled by ann)
              a: SUCCEEDED applied · undo READY none
              b: SUCCEEDED applied · undo SUCCEEDED applied
              do: start undo:a#1 in lane compensation, until 86400s
              wake: 86400s for deadline of undo:a
              queues: undo:a since 0s
        "#]],
    );
}

#[test]
fn a_barrier_does_not_help_before_the_turn() {
    check(
        FENCED,
        "run a\n begin b\n lost b\n query b\n query-fails b\n begin undo:b\n cancel op1\n begin undo:b",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b#1 started (Ready)
            0s     b#1 unknown (timeout) → query at 0s
            0s     b query 1 started
            0s     b query 1 failed: unknown (timeout) → desk, queries-spent
            0s     (begin undo:b: decide: `b/compensation` is PENDING, not due to start)
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     undo:b#1 started (Ready)
            = COMPENSATING (cancelled by ann)
              a: SUCCEEDED applied
              b: RECONCILING possible · undo RUNNING possible
              runs: undo:b#1 since 0s
        "#]],
    );
}

#[test]
fn g08_a_compensation_in_quarantine_holds_back_no_chain_beside_its_own() {
    check(
        "step a1(input) by-query\n step a2(a1) by-query\n step b1(input) by-query\n step b2(b1) by-query\n \
         pivot p(a2,b2) by-query",
        "run a1\n run a2\n run b1\n run b2\n begin p\n refuse p\n begin undo:a2\n persistent undo:a2\n run undo:b2\n agenda",
        expect![[r#"
            0s     saga started
            0s     a1#1 started (Ready)
            0s     a1#1 succeeded: "a1"
            0s     a2#1 started (Ready)
            0s     a2#1 succeeded: "a2"
            0s     b1#1 started (Ready)
            0s     b1#1 succeeded: "b1"
            0s     b2#1 started (Ready)
            0s     b2#1 succeeded: "b2"
            0s     p#1 started (Ready)
            0s     p#1 refused: "no" → reject
            0s     turned back: p refused
            0s     undo:a2#1 started (Ready)
            0s     undo:a2#1 persistent (credential) → quarantine, persistent
            0s     undo:b2#1 started (Ready)
            0s     undo:b2#1 succeeded: "Undone"
            0s     ?
              do: start undo:b1#1 in lane compensation, until 86400s
              wake: 86400s for deadline of undo:b1
              queues: undo:b1 since 0s
              desk: undo:a2 on quarantine, persistent since 0s, attempts 1, effect none, persistent (credential)
            = COMPENSATING (p refused)
              a1: SUCCEEDED applied
              a2: SUCCEEDED applied · undo QUARANTINED none
              b1: SUCCEEDED applied · undo READY none
              b2: SUCCEEDED applied · undo SUCCEEDED applied
              p: TERMINAL_REJECTED none
              do: start undo:b1#1 in lane compensation, until 86400s
              wake: 86400s for deadline of undo:b1
              queues: undo:b1 since 0s
              desk: undo:a2 on quarantine, persistent since 0s, attempts 1, effect none, persistent (credential)
        "#]],
    );
}

#[test]
fn a_compensation_that_is_tried_again_stays_in_its_lane() {
    check(
        "step a(input) by-query\n undo-policy base=0s\n step b(a) by-query",
        "run a\n cancel op1\n begin undo:a\n transient undo:a\n agenda",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 transient (busy) → retry at 0s
            0s     ?
              do: start undo:a#2 in lane compensation, until 86400s
              wake: 86400s for deadline of undo:a
              queues: undo:a since 0s
            = COMPENSATING (cancelled by ann)
              a: SUCCEEDED applied · undo RETRY_SCHEDULED none
              b: SKIPPED none
              do: start undo:a#2 in lane compensation, until 86400s
              wake: 86400s for deadline of undo:a
              queues: undo:a since 0s
        "#]],
    );
}

#[test]
fn a_later_start_of_a_compensation_says_no_more_what_it_expects() {
    check(
        "step a(input) by-query\n undo-policy base=0s\n step b(a) by-query",
        "run a\n cancel op1\n begin undo:a\n transient undo:a\n begin undo:a expects:9\n stale undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 transient (busy) → retry at 0s
            0s     undo:a#2 started (Retry)
            0s     undo:a#2 is stale: expected nothing, found {}
            = COMPENSATING (cancelled by ann)
              a: SUCCEEDED applied · undo QUARANTINED none
              b: SKIPPED none
              desk: undo:a on approval, stale since 0s, attempts 2, effect none, transient (busy)
        "#]],
    );
}

#[test]
fn a_compensation_is_quarantined_where_its_steps_policy_is_to_turn_back() {
    check(
        "step a(input) by-query\n policy exhausted=turn-back\n undo-policy attempts=1\n step b(a) by-query",
        "run a\n cancel op1\n begin undo:a\n transient undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 transient (busy) → quarantine, attempts-spent
            = COMPENSATING (cancelled by ann)
              a: SUCCEEDED applied · undo QUARANTINED none
              b: SKIPPED none
              desk: undo:a on quarantine, attempts-spent since 0s, attempts 1, effect none, transient (busy)
        "#]],
    );
}
