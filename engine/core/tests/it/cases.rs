//! The case G28 of `tests/cases.md`: persons who press "retry now", against the retry that is about to happen.
//! (The other cases that need no more than the machine stand beside the rules they are about: `g…`.)

use expect_test::expect;

use crate::script::check;

/// The law: the second is refused with the state as its reason, and what is refused is not journalled; a repeated
/// operation id is given the stored answer.
#[test]
fn g28_two_who_press_retry_now_start_it_once() {
    check(
        "step x(input) by-query\n policy attempts=5 base=60s cap=60s",
        "begin x\n transient x\n due\n begin x\n transient x hint=60s\n at 61.04s retry-now x op1\n retry-now x op2\n \
         begin x\n retry-now x op3\n retry-now x op1\n agenda\n at 61.1s tick\n ok x",
        expect![[r#"
            0s     saga started
            0s     x#1 started (Ready)
            0s     x#1 transient (busy) → retry at 1.043s
            1.043s x#2 started (Retry)
            1.043s x#2 transient (busy) → retry at 61.043s
            61.04s x hurried by a person
            61.04s answered op1, RetryNow: accepted
            61.04s (retry-now x op2: decide: only a RETRY_SCHEDULED or RECONCILING action can be hurried, and `x/forward` is READY)
            61.04s x#3 started (Ordered)
            61.04s (retry-now x op3: decide: only a RETRY_SCHEDULED or RECONCILING action can be hurried, and `x/forward` is RUNNING)
            61.04s (retry-now x op1: nothing new)
            61.04s ?
              runs: x#3 since 61.04s
            61.1s  (at 61.1s tick: nothing new)
            61.1s  x#3 succeeded: "x"
            61.1s  completed
            = COMPLETED
              x: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn g28_retry_now_asks_about_what_is_unknown_and_never_does_it_again() {
    check(
        "step x(input) by-query\n query-policy queries=9 base=60s",
        "begin x\n lost x\n retry-now x op1\n agenda\n query x\n found x applied",
        expect![[r#"
            0s     saga started
            0s     x#1 started (Ready)
            0s     x#1 unknown (timeout) → query at 4.474s
            0s     x hurried by a person
            0s     answered op1, RetryNow: accepted
            0s     ?
              do: query x (1)
            0s     x query 1 started
            0s     x query 1 found applied "x" → done
            0s     completed
            = COMPLETED
              x: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn g28_retry_now_of_what_only_a_person_can_settle_is_refused() {
    check(
        "step x(input) by-operator",
        "begin x\n lost x\n retry-now x op1",
        expect![[r#"
        0s     saga started
        0s     x#1 started (Ready)
        0s     x#1 unknown (timeout) → desk, no-query
        0s     (retry-now x op1: decide: nothing asks about `x/forward`: send it again, or settle it)
        = RUNNING
          x: RECONCILING possible
          desk: x on reconciliation, no-query since 0s, attempts 1, effect possible, unknown (timeout)
    "#]],
    );
}

#[test]
fn g28_retry_now_of_what_is_done_or_undone_is_refused() {
    check(
        "step x(input) by-query\n step y(x) by-query",
        "run x\n retry-now x op1\n begin y\n refuse y\n retry-now y op2\n run undo:x\n retry-now undo:x op3",
        expect![[r#"
            0s     saga started
            0s     x#1 started (Ready)
            0s     x#1 succeeded: "x"
            0s     (retry-now x op1: decide: only a RETRY_SCHEDULED or RECONCILING action can be hurried, and `x/forward` is SUCCEEDED)
            0s     y#1 started (Ready)
            0s     y#1 refused: "no" → reject
            0s     turned back: y refused
            0s     (retry-now y op2: decide: only a RETRY_SCHEDULED or RECONCILING action can be hurried, and `y/forward` is TERMINAL_REJECTED)
            0s     undo:x#1 started (Ready)
            0s     undo:x#1 succeeded: "Undone"
            0s     compensated
            0s     (retry-now undo:x op3: decide: only a RETRY_SCHEDULED or RECONCILING action can be hurried, and `x/compensation` is SUCCEEDED)
            = COMPENSATED (y refused)
              x: SUCCEEDED applied · undo SUCCEEDED applied
              y: TERMINAL_REJECTED none
        "#]],
    );
}

#[test]
fn g28_a_quarantined_step_is_resumed_with_a_budget_that_is_told() {
    check(
        "step x(input) by-query\n policy attempts=2 base=0s",
        "begin x\n transient x\n begin x\n transient x\n retry-now x op1\n resume x op2\n resume x op3\n begin x\n ok x",
        expect![[r#"
            0s     saga started
            0s     x#1 started (Ready)
            0s     x#1 transient (busy) → retry at 0s
            0s     x#2 started (Retry)
            0s     x#2 transient (busy) → quarantine, attempts-spent
            0s     (retry-now x op1: decide: only a RETRY_SCHEDULED or RECONCILING action can be hurried, and `x/forward` is QUARANTINED)
            0s     x resumed: 2 attempts, until 86400s
            0s     answered op2, Resume: accepted
            0s     (resume x op3: decide: only a QUARANTINED action can be resumed, and `x/forward` is READY)
            0s     x#3 started (Ready)
            0s     x#3 succeeded: "x"
            0s     completed
            = COMPLETED
              x: SUCCEEDED applied
        "#]],
    );
}
