//! Settling the unknown outcome of a forward action: by query, by a person, by news that comes late.

use expect_test::expect;

use crate::plan_text::plan;
use crate::script::{Trial, check};

const QUERIED: &str = "
    step a(input) by-query window=10s
    step b(a) by-query
    policy base=0s
    query-policy queries=3 base=0s
";

#[test]
fn a_lost_reply_is_asked_about_and_never_repeated_blindly() {
    check(
        QUERIED,
        "begin a\n at 2s lost a\n begin a\n query a\n found a applied \"its-own-result\"\n run b",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            2s     a#1 unknown (timeout) → query at 2s
            2s     (begin a: decide: `a/forward` is RECONCILING, not due to start)
            2s     a query 1 started
            2s     a query 1 found applied "its-own-result" → done
            2s     b#1 started (Ready)
            2s     b#1 succeeded: "b"
            2s     completed
            = COMPLETED
              a: SUCCEEDED applied
              b: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn g04_a_request_in_progress_is_asked_about_again() {
    check(
        QUERIED,
        "begin a\n at 2s lost a\n query a\n at 2.5s found a in-progress\n at 4s query a\n found a applied",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            2s     a#1 unknown (timeout) → query at 2s
            2s     a query 1 started
            2.5s   a query 1 found in progress → query at 2.5s
            4s     a query 2 started
            4s     a query 2 found applied "a" → done
            = RUNNING
              a: SUCCEEDED applied
              b: READY none
              do: start b#1 in lane first, until 86404s
              wake: 86404s for deadline of b
              queues: b since 4s
        "#]],
    );
}

#[test]
fn g06_absence_within_the_settle_window_decides_nothing() {
    check(
        "step a(input) by-query window=10s\n query-policy queries=9 base=0s",
        "begin a\n lost a\n at 1s query a\n found a absent\n at 3s query a\n found a absent\n at 6s query a\n found a applied",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            1s     a query 1 started
            1s     a query 1 found absent → query at 1s
            3s     a query 2 started
            3s     a query 2 found absent → query at 3s
            6s     a query 3 started
            6s     a query 3 found applied "a" → done
            6s     completed
            = COMPLETED
              a: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn g06_absence_after_the_settle_window_allows_a_retry_under_the_same_request_id() {
    check(
        "step a(input) by-query window=10s\n policy base=0s\n query-policy queries=9 base=0s",
        "begin a\n lost a\n at 11s query a\n found a absent\n begin a\n ok a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            11s    a query 1 started, to fence through 1
            11s    a query 1 found absent → retry at 11s
            11s    a#2 started (Retry)
            11s    a#2 succeeded: "a"
            11s    completed
            = COMPLETED
              a: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn g06_absence_that_was_asked_for_within_the_window_and_told_after_it_decides_nothing() {
    check(
        "step a(input) by-query window=10s\n query-policy queries=9 base=0s",
        "begin a\n lost a\n at 9.9s query a\n at 10.1s found a absent\n query a\n found a absent",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            9.9s   a query 1 started
            10.1s  a query 1 found absent → query at 10.1s
            10.1s  a query 2 started, to fence through 1
            10.1s  a query 2 found absent → retry at 10.583s
            = RUNNING
              a: RETRY_SCHEDULED none
              wake: 10.583s for retry a
        "#]],
    );
}

#[test]
fn g06_the_window_counts_from_the_last_possible_transmission() {
    check(
        "step a(input) by-query window=10s\n query-policy queries=9 base=0s",
        "begin a\n at 8s lost a\n at 17.9s query a\n found a absent\n at 18s query a\n found a absent",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            8s     a#1 unknown (timeout) → query at 8s
            17.9s  a query 1 started
            17.9s  a query 1 found absent → query at 17.9s
            18s    a query 2 started, to fence through 1
            18s    a query 2 found absent → retry at 18.483s
            = RUNNING
              a: RETRY_SCHEDULED none
              wake: 18.483s for retry a
        "#]],
    );
}

#[test]
fn g06_without_a_stated_window_absence_never_authorises_anything() {
    check(
        "step a(input) by-query\n query-policy queries=2 base=0s",
        "begin a\n lost a\n at 500s query a\n found a absent\n at 1000s query a\n found a absent",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            500s   a query 1 started
            500s   a query 1 found absent → query at 500s
            1000s  a query 2 started
            1000s  a query 2 found absent → desk, queries-spent
            = RUNNING
              a: RECONCILING possible
              desk: a on reconciliation, queries-spent since 1000s, attempts 1, effect possible, unknown (timeout)
        "#]],
    );
}

#[test]
fn g06_the_last_query_of_the_budget_is_not_spent_within_the_window() {
    check(
        "step a(input) by-query window=10s\n policy base=0s\n query-policy queries=2 base=0s",
        "begin a\n at 1s lost a\n query a\n at 2s found a absent\n query a\n due\n query a\n found a absent",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            1s     a#1 unknown (timeout) → query at 1s
            1s     a query 1 started
            2s     a query 1 found absent → query at 11s
            2s     (query a: decide: no query of `a/forward` is due)
            11s    a query 2 started, to fence through 1
            11s    a query 2 found absent → retry at 11s
            = RUNNING
              a: RETRY_SCHEDULED none
              do: start a#2 in lane retry, until 86400s
              wake: 86400s for deadline of a
              queues: a since 11s
        "#]],
    );
}

#[test]
fn g06_an_unclear_finding_is_surfaced_and_never_taken_for_a_failure() {
    check(
        QUERIED,
        "begin a\n lost a\n query a\n found a unclear\n agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0s
        0s     a query 1 started
        0s     a query 1 found unclear (status=weird) → query at 0s
        0s     ?
          do: query a (2)
        = RUNNING
          a: RECONCILING possible
          b: PENDING none
          do: query a (2)
    "#]],
    );
}

#[test]
fn g06_a_query_that_fails_touches_no_attempt_counter_and_has_its_own_budget() {
    check(
        QUERIED,
        "begin a\n lost a\n query a\n query-fails a\n query a\n query-fails a\n due\n query a\n query-fails a\n at 99s tick",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            0s     a query 1 started
            0s     a query 1 failed: unknown (timeout) → query at 0s
            0s     a query 2 started
            0s     a query 2 failed: unknown (timeout) → query at 10s
            10s    a query 3 started, to fence through 1
            10s    a query 3 failed: unknown (timeout) → desk, queries-spent
            99s    (at 99s tick: nothing new)
            = RUNNING
              a: RECONCILING possible
              b: PENDING none
              desk: a on reconciliation, queries-spent since 10s, attempts 1, effect possible, unknown (timeout)
        "#]],
    );
}

#[test]
fn a_finding_of_an_earlier_query_decides_nothing() {
    check(
        QUERIED,
        "begin a\n lost a\n query a\n query-fails a\n found a absent",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            0s     a query 1 started
            0s     a query 1 failed: unknown (timeout) → query at 0s
            0s     news of a#?: absent (its query was given up)
            = RUNNING
              a: RECONCILING possible
              b: PENDING none
              do: query a (2)
        "#]],
    );
}

#[test]
fn a_refusal_found_turns_the_saga_back() {
    check(
        QUERIED,
        "run a\n begin b\n lost b\n query b\n found b refused\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     b#1 started (Ready)
        0s     b#1 unknown (timeout) → query at 0s
        0s     b query 1 started
        0s     b query 1 found refused "no" → reject
        0s     turned back: b refused
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (b refused)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          b: TERMINAL_REJECTED none
    "#]],
    );
}

#[test]
fn a_fence_through_every_attempt_settles_and_one_below_does_not() {
    check(
        QUERIED,
        "begin a\n transient a\n begin a\n lost a\n query a\n found a fenced 1\n query a\n found a fenced 2",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 transient (busy) → retry at 0s
            0s     a#2 started (Retry)
            0s     a#2 unknown (timeout) → query at 0s
            0s     a query 1 started
            0s     a query 1 found fenced through 1 → query at 0s
            0s     a query 2 started
            0s     a query 2 found fenced through 2 → retry at 0s
            = RUNNING
              a: RETRY_SCHEDULED none
              b: PENDING none
              do: start a#3 in lane retry, until 86400s
              wake: 86400s for deadline of a
              queues: a since 0s
        "#]],
    );
}

#[test]
fn a_query_asks_to_fence_once_the_window_has_passed() {
    check(
        QUERIED,
        "begin a\n lost a\n at 9s query a\n found a absent\n at 10s query a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0s
        9s     a query 1 started
        9s     a query 1 found absent → query at 9s
        10s    a query 2 started, to fence through 1
        = RUNNING
          a: RECONCILING possible
          b: PENDING none
          asks: a query 2
    "#]],
    );
}

#[test]
fn a_query_whose_absence_would_turn_the_saga_back_asks_to_fence() {
    check(
        "step z(input) by-query\n step a(z) by-query window=10s\n policy attempts=1 exhausted=turn-back\n \
         query-policy base=0s",
        "run z\n begin a\n lost a\n at 9s query a\n found a absent\n at 10s query a\n found a absent",
        expect![[r#"
            0s     saga started
            0s     z#1 started (Ready)
            0s     z#1 succeeded: "z"
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            9s     a query 1 started
            9s     a query 1 found absent → query at 9s
            10s    a query 2 started, to fence through 1
            10s    a query 2 found absent → turn back, attempts-spent
            10s    turned back: a exhausted
            = COMPENSATING (a exhausted)
              z: SUCCEEDED applied · undo READY none
              a: SKIPPED none
              do: start undo:z#1 in lane compensation, until 86410s
              wake: 86410s for deadline of undo:z
              queues: undo:z since 10s
        "#]],
    );
}

#[test]
fn a_query_whose_absence_would_leave_it_to_a_person_asks_to_fence_nothing() {
    check(
        "step a(input) by-query window=10s\n policy attempts=1\n query-policy base=0s",
        "begin a\n lost a\n at 10s query a\n found a absent",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            10s    a query 1 started
            10s    a query 1 found absent → quarantine, attempts-spent
            = RUNNING
              a: QUARANTINED none
              desk: a on quarantine, attempts-spent since 10s, attempts 1, effect none, unknown (timeout)
        "#]],
    );
}

#[test]
fn a_query_asks_to_fence_once_the_saga_has_turned() {
    check(
        QUERIED,
        "begin a\n lost a\n at 1s cancel op1\n query a\n found a fenced 1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0s
        1s     turned back: cancelled by ann
        1s     answered op1, Cancel: accepted
        1s     a query 1 started, to fence through 1
        1s     a query 1 found fenced through 1 → skip, turned
        1s     compensated
        = COMPENSATED (cancelled by ann)
          a: SKIPPED none
          b: SKIPPED none
    "#]],
    );
}

#[test]
fn absence_after_the_key_retention_may_be_forgetting() {
    check(
        "step a(input) by-query window=10s retention=60s\n query-policy queries=2 base=0s",
        "begin a\n at 55s lost a\n at 61s query a\n found a absent\n at 65s query a\n found a absent",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            55s    a#1 unknown (timeout) → query at 55s
            61s    a query 1 started
            61s    a query 1 found absent → query at 65s
            65s    a query 2 started
            65s    a query 2 found absent → desk, queries-spent
            = RUNNING
              a: RECONCILING possible
              desk: a on reconciliation, queries-spent since 65s, attempts 1, effect possible, unknown (timeout)
        "#]],
    );
}

#[test]
fn found_without_effect_and_out_of_attempts_is_quarantined() {
    check(
        "step a(input) by-query\n policy attempts=1",
        "begin a\n lost a\n due\n query a\n found a fenced 1",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0.033s
            0.033s a query 1 started
            0.033s a query 1 found fenced through 1 → quarantine, attempts-spent
            = RUNNING
              a: QUARANTINED none
              desk: a on quarantine, attempts-spent since 0.033s, attempts 1, effect none, unknown (timeout)
        "#]],
    );
}

#[test]
fn found_without_effect_after_the_deadline_is_quarantined() {
    check(
        "step a(input) by-query\n policy give-up=10s",
        "begin a\n at 11s lost a\n due\n query a\n found a fenced 1",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            11s    a#1 unknown (timeout) → query at 11.033s
            11.033s a query 1 started
            11.033s a query 1 found fenced through 1 → quarantine, deadline-passed
            = RUNNING
              a: QUARANTINED none
              desk: a on quarantine, deadline-passed since 11.033s, attempts 1, effect none, unknown (timeout)
        "#]],
    );
}

#[test]
fn found_without_effect_and_exhausted_turns_back_where_the_policy_says_so() {
    check(
        "step z(input) by-query\n step a(z) by-query\n policy attempts=1 exhausted=turn-back",
        "run z\n begin a\n lost a\n due\n query a\n found a fenced 1",
        expect![[r#"
            0s     saga started
            0s     z#1 started (Ready)
            0s     z#1 succeeded: "z"
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0.033s
            0.033s a query 1 started
            0.033s a query 1 found fenced through 1 → turn back, attempts-spent
            0.033s turned back: a exhausted
            = COMPENSATING (a exhausted)
              z: SUCCEEDED applied · undo READY none
              a: SKIPPED none
              do: start undo:z#1 in lane compensation, until 86400.033s
              wake: 86400.033s for deadline of undo:z
              queues: undo:z since 0.033s
        "#]],
    );
}

#[test]
fn each_unknown_outcome_has_a_query_budget_of_its_own() {
    check(
        "step a(input) by-query\n policy base=0s\n query-policy queries=1 base=0s",
        "begin a\n lost a\n query a\n found a fenced 1\n begin a\n lost a\n query a\n found a applied",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            0s     a query 1 started
            0s     a query 1 found fenced through 1 → retry at 0s
            0s     a#2 started (Retry)
            0s     a#2 unknown (timeout) → query at 0s
            0s     a query 2 started
            0s     a query 2 found applied "a" → done
            0s     completed
            = COMPLETED
              a: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_late_success_settles_what_is_being_asked_about() {
    check(
        QUERIED,
        "begin a\n lost a\n query a\n ok a#1\n found a absent",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            0s     a query 1 started
            0s     a#1 succeeded: "a"
            0s     news of a#?: absent (its query was given up)
            = RUNNING
              a: SUCCEEDED applied
              b: READY none
              do: start b#1 in lane first, until 86400s
              wake: 86400s for deadline of b
              queues: b since 0s
        "#]],
    );
}

#[test]
fn only_a_person_settles_what_nothing_can_find_out() {
    check(
        "step a(input) by-operator\n step b(a) by-query",
        "begin a\n lost a\n at 99s tick\n accept a op1\n accept a \"seen\" op2\n run b",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → desk, no-query
            99s    (at 99s tick: nothing new)
            99s    (accept a op1: decide: another step, or the result, needs the output of `a`: give it)
            99s    a accepted by a person with "seen"
            99s    answered op2, Accept: accepted
            99s    b#1 started (Ready)
            99s    b#1 succeeded: "b"
            99s    completed
            = COMPLETED
              a: SUCCEEDED applied
              b: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn no_restart_moves_an_unknown_outcome_to_a_retry() {
    for settle in ["by-query", "by-repeating", "by-operator"] {
        let mut trial = Trial::new(plan(&format!("step a(input) {settle}")), 1);
        trial.read("begin a\n lost a\n crash\n at 9s crash\n at 99s tick\n crash");
        assert!(trial.told().contains("a: RECONCILING possible"), "{}", trial.told());
    }
}

#[test]
fn g06_after_a_crash_the_window_counts_from_the_takeover() {
    check(
        "step a(input) by-query window=10s\n query-policy base=0s",
        "begin a\n at 5s crash\n at 14.9s query a\n found a absent\n at 15s query a\n found a absent",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            5s     claimed
            5s     a unknown (executor-died) → query at 5s
            14.9s  a query 1 started
            14.9s  a query 1 found absent → query at 14.9s
            15s    a query 2 started, to fence through 1
            15s    a query 2 found absent → retry at 15.483s
            = RUNNING
              a: RETRY_SCHEDULED none
              wake: 15.483s for retry a
        "#]],
    );
}

#[test]
fn the_delays_between_queries_double_up_to_their_cap() {
    let mut longest = [0; 6];
    for saga in 1..40 {
        let plan = plan("step a(input) by-query\n query-policy queries=9 base=1s cap=8s");
        let mut trial = Trial::new(plan, saga);
        trial.read("begin a\n lost a");
        for longest in &mut longest {
            let asked = trial.now;
            trial.read("due");
            *longest = trial.now.since(asked).as_secs().max(*longest);
            trial.read("query a\n query-fails a");
        }
    }
    assert_eq!(longest, [0, 1, 3, 7, 7, 7], "the longest whole seconds below 1, 2, 4, 8, 8 and 8 s");
}

#[test]
fn an_item_stays_on_the_desk_while_it_is_asked_about_once_more() {
    check(
        "step a(input) by-query\n query-policy queries=1 base=0s",
        "begin a\n lost a\n query a\n found a unclear\n retry-now a op1\n at 5s query a\n agenda\n at 6s found a unclear",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            0s     a query 1 started
            0s     a query 1 found unclear (status=weird) → desk, queries-spent
            0s     a hurried by a person
            0s     answered op1, RetryNow: accepted
            5s     a query 2 started
            5s     ?
              asks: a query 2
              desk: a on reconciliation, queries-spent since 0s, attempts 1, effect possible, unknown (unclear)
            6s     a query 2 found unclear (status=weird) → desk, queries-spent
            = RUNNING
              a: RECONCILING possible
              desk: a on reconciliation, queries-spent since 0s, attempts 1, effect possible, unknown (unclear)
        "#]],
    );
}
