//! Deadlines of steps and sagas, before and after the pivot.

use expect_test::expect;

use crate::script::{check, play};

const PLAN: &str = "
    deadline 60s
    step a(input) by-query
    pivot p(a) by-query
    retriable r(p) by-repeating
    policy base=0s
    query-policy base=0s
";

#[test]
fn a_step_that_was_never_dispatched_is_quarantined_at_its_deadline() {
    check(
        "step a(input) by-query\n policy give-up=10s",
        "at 9s tick\n at 10s agenda\n begin a\n tick\n tick",
        expect![[r#"
            0s     saga started
            9s     (at 9s tick: nothing new)
            10s    ?
              do: tick
              queues: a since 0s
            10s    (begin a: decide: the deadline of `a/forward` has passed)
            10s    a → quarantine, deadline-passed
            10s    (tick: nothing new)
            = RUNNING
              a: QUARANTINED none
              desk: a on quarantine, deadline-passed since 10s, attempts 0, effect none
        "#]],
    );
}

#[test]
fn a_step_that_was_never_dispatched_turns_the_saga_at_its_deadline_where_the_policy_says_so() {
    check(
        "step a(input) by-query\n step b(a) by-query\n policy give-up=10s exhausted=turn-back",
        "run a\n at 10s tick\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            10s    b → turn back, deadline-passed
            10s    turned back: b exhausted
            10s    undo:a#1 started (Ready)
            10s    undo:a#1 succeeded: "Undone"
            10s    compensated
            = COMPENSATED (b exhausted)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: SKIPPED none
        "#]],
    );
}

#[test]
fn a_scheduled_retry_ends_at_the_step_deadline() {
    check(
        "step a(input) by-query\n policy give-up=10s base=0s",
        "begin a\n transient a hint=9s\n due\n agenda\n at 10s begin a\n tick",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 transient (busy) → retry at 9s
            9s     ?
              do: start a#2 in lane retry, until 10s
              wake: 10s for deadline of a
              queues: a since 9s
            10s    (at 10s begin a: decide: the deadline of `a/forward` has passed)
            10s    a → quarantine, deadline-passed
            = RUNNING
              a: QUARANTINED none
              desk: a on quarantine, deadline-passed since 10s, attempts 1, effect none, transient (busy)
        "#]],
    );
}

#[test]
fn the_step_deadline_counts_from_the_first_ready_not_from_the_retry() {
    check(
        "step a(input) by-query\n step b(a) by-query\n policy give-up=10s base=0s",
        "at 5s run a\n at 14s begin b\n transient b\n at 14.9s begin b\n at 15s transient b",
        expect![[r#"
            0s     saga started
            5s     a#1 started (Ready)
            5s     a#1 succeeded: "a"
            14s    b#1 started (Ready)
            14s    b#1 transient (busy) → retry at 14s
            14.9s  b#2 started (Retry)
            15s    b#2 transient (busy) → quarantine, deadline-passed
            = RUNNING
              a: SUCCEEDED applied
              b: QUARANTINED none
              desk: b on quarantine, deadline-passed since 15s, attempts 2, effect none, transient (busy)
        "#]],
    );
}

#[test]
fn a_running_attempt_is_not_stopped_by_the_step_deadline() {
    check(
        "step a(input) by-query\n policy give-up=10s",
        "at 9s begin a\n at 11s tick\n at 12s ok a",
        expect![[r#"
            0s     saga started
            9s     a#1 started (Ready)
            11s    (at 11s tick: nothing new)
            12s    a#1 succeeded: "a"
            12s    completed
            = COMPLETED
              a: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_saga_before_its_pivot_turns_back_at_its_deadline() {
    check(
        PLAN,
        "run a\n at 59s agenda\n at 60s begin p\n tick\n at 70s run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        59s    ?
          do: start p#1 in lane first, until 60s
          wake: 60s for deadline of the saga
          queues: p since 0s
        60s    (at 60s begin p: decide: the deadline of `p/forward` has passed)
        60s    turned back: deadline
        70s    undo:a#1 started (Ready)
        70s    undo:a#1 succeeded: "Undone"
        70s    compensated
        = COMPENSATED (deadline)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          p: SKIPPED none
          r: SKIPPED none
    "#]],
    );
}

#[test]
fn a_saga_deadline_while_the_pivot_is_in_doubt_is_a_wish_and_late_if_it_took_effect() {
    check(
        PLAN,
        "run a\n begin p\n at 60s tick\n tick\n agenda\n at 61s ok p\n tick\n run r",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        60s    wish of time: deadline
        60s    (tick: nothing new)
        60s    ?
          runs: p#1 since 0s
        61s    p#1 succeeded: "p"
        61s    late
        61s    r#1 started (Ready)
        61s    r#1 succeeded: "r"
        61s    completed
        = COMPLETED, late
          a: SUCCEEDED applied
          p: SUCCEEDED applied
          r: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_saga_deadline_while_the_pivot_is_in_doubt_turns_the_saga_if_it_did_not() {
    check(
        PLAN,
        "run a\n begin p\n lost p\n at 60s tick\n query p\n found p fenced 1\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 unknown (timeout) → query at 0s
            60s    wish of time: deadline
            60s    p query 1 started, to fence through 1
            60s    p query 1 found fenced through 1 → skip, turned
            60s    turned back: deadline
            60s    undo:a#1 started (Ready)
            60s    undo:a#1 succeeded: "Undone"
            60s    compensated
            = COMPENSATED (deadline)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              p: SKIPPED none
              r: SKIPPED none
        "#]],
    );
}

#[test]
fn a_saga_deadline_after_the_pivot_marks_the_saga_late_once_and_stops_nothing() {
    check(
        PLAN,
        "run a\n run p\n begin r\n at 60s agenda\n tick\n tick\n at 65s tick\n at 70s lost r\n run r",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 succeeded: "p"
            0s     r#1 started (Ready)
            60s    ?
              do: tick
              runs: r#1 since 0s
            60s    late
            60s    (tick: nothing new)
            65s    (at 65s tick: nothing new)
            70s    r#1 unknown (timeout) → repeat at 70s
            70s    r#2 started (Repeat)
            70s    r#2 succeeded: "r"
            70s    completed
            = COMPLETED, late
              a: SUCCEEDED applied
              p: SUCCEEDED applied
              r: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_retry_that_would_start_after_the_saga_deadline_is_not_slept_out() {
    check(
        PLAN,
        "begin a\n at 1s transient a hint=59s",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        1s     a#1 transient (busy) → quarantine, deadline-would-pass
        = RUNNING
          a: QUARANTINED none
          p: PENDING none
          r: PENDING none
          wake: 60s for deadline of the saga
          desk: a on quarantine, deadline-would-pass since 1s, attempts 1, effect none, transient (busy)
    "#]],
    );
}

#[test]
fn after_the_pivot_a_retry_may_start_after_the_saga_deadline() {
    check(
        PLAN,
        "run a\n run p\n begin r\n at 1s transient r hint=100s",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     p#1 succeeded: "p"
        0s     r#1 started (Ready)
        1s     r#1 transient (busy) → retry at 101s
        = RUNNING
          a: SUCCEEDED applied
          p: SUCCEEDED applied
          r: RETRY_SCHEDULED none
          wake: 60s for deadline of the saga
    "#]],
    );
}

#[test]
fn compensations_inherit_no_deadline_of_the_saga() {
    check(
        PLAN,
        "run a\n at 60s tick\n begin undo:a\n transient undo:a\n at 90s run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        60s    turned back: deadline
        60s    undo:a#1 started (Ready)
        60s    undo:a#1 transient (busy) → retry at 60.166s
        90s    undo:a#2 started (Retry)
        90s    undo:a#2 succeeded: "Undone"
        90s    compensated
        = COMPENSATED (deadline)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          p: SKIPPED none
          r: SKIPPED none
    "#]],
    );
}

#[test]
fn a_compensation_that_was_never_dispatched_is_quarantined_at_its_own_deadline() {
    check(
        "step a(input) by-query\n undo-policy give-up=10s",
        "begin a\n at 5s cancel op1\n at 6s ok a\n at 16s tick\n at 17s resume undo:a op2\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            5s     turned back: cancelled by ann
            5s     answered op1, Cancel: accepted
            6s     a#1 succeeded: "a"
            16s    undo:a → quarantine, deadline-passed
            17s    undo:a resumed: 3 attempts, until 27s
            17s    answered op2, Resume: accepted
            17s    undo:a#1 started (Ready)
            17s    undo:a#1 succeeded: "Undone"
            17s    compensated
            = COMPENSATED (cancelled by ann)
              a: SUCCEEDED applied · undo SUCCEEDED applied
        "#]],
    );
}

#[test]
fn g11_a_finished_saga_ignores_its_leftover_timers() {
    check(
        PLAN,
        "run a\n run p\n at 10s run r\n at 60s agenda\n tick\n at 90000s tick\n crash\n tick",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 succeeded: "p"
            10s    r#1 started (Ready)
            10s    r#1 succeeded: "r"
            10s    completed
            60s    ?
            60s    (tick: nothing new)
            90000s (at 90000s tick: nothing new)
            90000s claimed
            90000s (tick: nothing new)
            = COMPLETED
              a: SUCCEEDED applied
              p: SUCCEEDED applied
              r: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn g11_a_deadline_in_the_instant_of_the_completion_is_decided_once() {
    check(
        "deadline 60s\n step a(input) by-query",
        "begin a\n at 60s ok a\n tick",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        60s    a#1 succeeded: "a"
        60s    completed
        60s    (tick: nothing new)
        = COMPLETED
          a: SUCCEEDED applied
    "#]],
    );
    check(
        "deadline 60s\n step a(input) by-query",
        "begin a\n at 60s tick\n ok a\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            60s    turned back: deadline
            60s    a#1 succeeded: "a"
            60s    undo:a#1 started (Ready)
            60s    undo:a#1 succeeded: "Undone"
            60s    compensated
            = COMPENSATED (deadline)
              a: SUCCEEDED applied · undo SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_step_deadline_that_a_new_policy_brings_forward_is_not_slept_through() {
    let mut trial = play("step a(input) by-query\n policy base=8s cap=8s", "begin a\n transient a");
    trial.plan.steps[0].retry.give_up_after = std::time::Duration::from_secs(2);
    trial.read("agenda\n due\n tick");
    expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 transient (busy) → retry at 7.729s
        0s     ?
          wake: 2s for deadline of a
        2s     a → quarantine, deadline-passed
        = RUNNING
          a: QUARANTINED none
          desk: a on quarantine, deadline-passed since 2s, attempts 1, effect none, transient (busy)
    "#]]
    .assert_eq(&trial.told());
}
