//! A started attempt that was certainly never sent, when news of an earlier one came while it ran.

use expect_test::expect;

use crate::script::check;

#[test]
fn an_ordered_transmission_that_was_never_sent_is_not_made_beyond_the_budget() {
    check(
        "step a(input) by-operator\n policy attempts=1 base=0s",
        "begin a\n lost a\n send-again a op1 override\n begin a\n fenced a#1 1\n withdraw a#2\n begin a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → desk, no-query
            0s     a to be sent again, for they know it
            0s     answered op1, SendAgain: accepted
            0s     a#2 started (Ordered)
            0s     a#1 fenced through 1 → stay
            0s     a#2 withdrawn
            0s     a → quarantine, attempts-spent
            0s     (begin a: decide: `a/forward` is QUARANTINED, not due to start)
            = RUNNING
              a: QUARANTINED none
              desk: a on quarantine, attempts-spent since 0s, attempts 1, effect none, persistent (fenced)
        "#]],
    );
}

#[test]
fn an_ordered_transmission_that_was_never_sent_exhausts_as_the_policy_says() {
    check(
        "step a(input) by-operator\n policy attempts=1 base=0s exhausted=turn-back",
        "begin a\n lost a\n send-again a op1 override\n begin a\n transient a#1\n withdraw a#2",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → desk, no-query
            0s     a to be sent again, for they know it
            0s     answered op1, SendAgain: accepted
            0s     a#2 started (Ordered)
            0s     a#1 transient (busy) → stay
            0s     a#2 withdrawn
            0s     a → turn back, attempts-spent
            0s     turned back: a exhausted
            0s     compensated
            = COMPENSATED (a exhausted)
              a: SKIPPED none
        "#]],
    );
}

#[test]
fn an_ordered_compensation_that_was_never_sent_is_not_made_beyond_its_budget() {
    check(
        "step a(input) by-operator\n step b(a) by-operator\n undo-policy attempts=1 base=0s",
        "run a\n begin b\n refuse b\n begin undo:a\n lost undo:a\n send-again undo:a op1 override\n begin undo:a\n \
         transient undo:a#1\n withdraw undo:a#2",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b#1 started (Ready)
            0s     b#1 refused: "no" → reject
            0s     turned back: b refused
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 unknown (timeout) → desk, no-query
            0s     undo:a to be sent again, for they know it
            0s     answered op1, SendAgain: accepted
            0s     undo:a#2 started (Ordered)
            0s     undo:a#1 transient (busy) → stay
            0s     undo:a#2 withdrawn
            0s     undo:a → quarantine, attempts-spent
            = COMPENSATING (b refused)
              a: SUCCEEDED applied · undo QUARANTINED none
              b: TERMINAL_REJECTED none
              desk: undo:a on quarantine, attempts-spent since 0s, attempts 1, effect none, transient (busy)
        "#]],
    );
}

#[test]
fn a_repeat_that_was_never_sent_is_made_again_within_the_budget() {
    check(
        "step a(input) by-repeating\n policy attempts=2 base=0s\n query-policy base=0s",
        "begin a\n lost a\n begin a\n transient a#1\n withdraw a#2\n begin a\n ok a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → repeat at 0s
            0s     a#2 started (Repeat)
            0s     a#1 transient (busy) → stay
            0s     a#2 withdrawn
            0s     a#2 started (Retry)
            0s     a#2 succeeded: "a"
            0s     completed
            = COMPLETED
              a: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_hurried_attempt_that_was_never_sent_is_not_sent_again_beside_an_unknown_one() {
    check(
        "step a(input) by-operator\n policy attempts=2 base=60s",
        "begin a\n transient a\n retry-now a op1\n begin a\n lost a#1\n withdraw a#2\n begin a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 transient (busy) → retry at 28.983s
            0s     a hurried by a person
            0s     answered op1, RetryNow: accepted
            0s     a#2 started (Ordered)
            0s     a#1 unknown (timeout) → stay
            0s     a#2 withdrawn
            0s     a → desk, no-query
            0s     (begin a: decide: `a/forward` is RECONCILING, not due to start)
            = RUNNING
              a: RECONCILING possible
              desk: a on reconciliation, no-query since 0s, attempts 1, effect possible, unknown (timeout)
        "#]],
    );
}

#[test]
fn a_resumed_attempt_that_was_never_sent_is_not_sent_again_beside_an_unknown_one() {
    check(
        "step a(input) by-query\n policy attempts=1 base=0s\n query-policy base=0s",
        "begin a\n persistent a\n resume a op1\n begin a\n lost a#1\n withdraw a#2\n agenda",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 persistent (credential) → quarantine, persistent
            0s     a resumed: 1 attempts, until 86400s
            0s     answered op1, Resume: accepted
            0s     a#2 started (Ready)
            0s     a#1 unknown (timeout) → stay
            0s     a#2 withdrawn
            0s     a → query at 0s
            0s     ?
              do: query a (1)
            = RUNNING
              a: RECONCILING possible
              do: query a (1)
        "#]],
    );
}

#[test]
fn a_hurried_compensation_that_was_never_sent_is_not_sent_again_beside_an_unknown_one() {
    check(
        "step a(input) by-operator\n step b(a) by-operator\n undo-policy attempts=2 base=60s",
        "run a\n begin b\n refuse b\n begin undo:a\n transient undo:a\n retry-now undo:a op1\n begin undo:a\n \
         lost undo:a#1\n withdraw undo:a#2\n begin undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b#1 started (Ready)
            0s     b#1 refused: "no" → reject
            0s     turned back: b refused
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 transient (busy) → retry at 9.942s
            0s     undo:a hurried by a person
            0s     answered op1, RetryNow: accepted
            0s     undo:a#2 started (Ordered)
            0s     undo:a#1 unknown (timeout) → stay
            0s     undo:a#2 withdrawn
            0s     undo:a → desk, no-query
            0s     (begin undo:a: decide: `a/compensation` is RECONCILING, not due to start)
            = COMPENSATING (b refused)
              a: SUCCEEDED applied · undo RECONCILING possible
              b: TERMINAL_REJECTED none
              desk: undo:a on reconciliation, no-query since 0s, attempts 1, effect possible, unknown (timeout)
        "#]],
    );
}

#[test]
fn a_hurried_attempt_that_was_never_sent_is_still_ordered() {
    check(
        "step a(input) by-operator\n policy attempts=4 base=60s",
        "begin a\n transient a\n retry-now a op1\n begin a\n withdraw a\n begin a\n withdraw a\n begin a\n \
         transient a\n at 300s begin a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 transient (busy) → retry at 28.983s
            0s     a hurried by a person
            0s     answered op1, RetryNow: accepted
            0s     a#2 started (Ordered)
            0s     a#2 withdrawn
            0s     a#2 started (Ordered)
            0s     a#2 withdrawn
            0s     a#2 started (Ordered)
            0s     a#2 transient (busy) → retry at 7.992s
            300s   a#3 started (Retry)
            = RUNNING
              a: RUNNING possible
              runs: a#3 since 300s
        "#]],
    );
}
