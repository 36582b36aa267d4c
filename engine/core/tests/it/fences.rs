//! "Closed out": by somebody else, or by a query of the engine's own whose answer was lost.

use expect_test::expect;

use crate::script::check;

const PLAN: &str = "
    step a(input) by-query window=10s
    policy attempts=3 base=0s give-up=60s
    query-policy queries=3 base=0s
";
/// Its only query asked to close it out, and nobody heard the answer.
const UNHEARD: &str = "begin a\n lost a\n at 10s query a\n query-fails a\n";

#[test]
fn what_the_engine_closed_out_itself_is_tried_again_although_nobody_heard_it() {
    check(
        PLAN,
        &format!("{UNHEARD} fenced a#1 1\n run a"),
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0s
        10s    a query 1 started, to fence through 1
        10s    a query 1 failed: unknown (timeout) → query at 10s
        10s    a#1 fenced through 1 → retry at 10s
        10s    a#2 started (Retry)
        10s    a#2 succeeded: "a"
        10s    completed
        = COMPLETED
          a: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_fence_that_was_not_heard_is_known_after_a_takeover() {
    check(
        PLAN,
        "begin a\n lost a\n at 10s query a\n crash\n at 11s fenced a#1 1\n run a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            10s    a query 1 started, to fence through 1
            10s    claimed
            10s    a unknown (executor-died) → query at 10s
            11s    a#1 fenced through 1 → retry at 11s
            11s    a#2 started (Retry)
            11s    a#2 succeeded: "a"
            11s    completed
            = COMPLETED
              a: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_transmission_that_is_closed_out_before_its_query_answers_is_tried_again_at_once() {
    check(
        PLAN,
        "begin a\n lost a\n at 10s query a\n fenced a#1 1\n begin a\n found a fenced 1\n ok a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            10s    a query 1 started, to fence through 1
            10s    a#1 fenced through 1 → retry at 10s
            10s    a#2 started (Retry)
            10s    news of a#?: fenced through 1 (its query was given up)
            10s    a#2 succeeded: "a"
            10s    completed
            = COMPLETED
              a: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn what_the_engine_closed_out_itself_after_the_deadline_does_as_its_policy_says() {
    check(
        PLAN,
        &format!("{UNHEARD} at 60s fenced a#1 1"),
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0s
        10s    a query 1 started, to fence through 1
        10s    a query 1 failed: unknown (timeout) → query at 10s
        60s    a#1 fenced through 1 → quarantine, deadline-passed
        = RUNNING
          a: QUARANTINED none
          desk: a on quarantine, deadline-passed since 60s, attempts 1, effect none, transient (fenced)
    "#]],
    );
    let turns_back = PLAN.replace("give-up=60s", "give-up=60s exhausted=turn-back");
    check(
        &turns_back,
        &format!("{UNHEARD} at 60s fenced a#1 1"),
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0s
        10s    a query 1 started, to fence through 1
        10s    a query 1 failed: unknown (timeout) → query at 10s
        60s    a#1 fenced through 1 → turn back, deadline-passed
        60s    turned back: a exhausted
        60s    compensated
        = COMPENSATED (a exhausted)
          a: SKIPPED none
    "#]],
    );
}

#[test]
fn what_is_closed_out_further_than_the_engine_asked_was_closed_out_by_somebody_else() {
    check(
        PLAN,
        &format!("{UNHEARD} fenced a#1 2"),
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0s
        10s    a query 1 started, to fence through 1
        10s    a query 1 failed: unknown (timeout) → query at 10s
        10s    a#1 fenced through 2 → quarantine, fenced
        = RUNNING
          a: QUARANTINED none
          desk: a on quarantine, fenced since 10s, attempts 1, effect none, persistent (fenced)
    "#]],
    );
}

#[test]
fn a_later_attempt_than_the_engine_asked_about_was_closed_out_by_somebody_else() {
    check(
        PLAN,
        "begin a\n lost a\n at 10s query a\n found a absent\n begin a\n fenced a 2",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            10s    a query 1 started, to fence through 1
            10s    a query 1 found absent → retry at 10s
            10s    a#2 started (Retry)
            10s    a#2 fenced through 2 → quarantine, fenced
            = RUNNING
              a: QUARANTINED none
              desk: a on quarantine, fenced since 10s, attempts 2, effect none, persistent (fenced)
        "#]],
    );
    check(
        PLAN,
        "begin a\n lost a\n at 10s query a\n found a absent\n begin a\n fenced a 1",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            10s    a query 1 started, to fence through 1
            10s    a query 1 found absent → retry at 10s
            10s    a#2 started (Retry)
            10s    a#2 fenced through 1 → quarantine, fenced
            = RUNNING
              a: QUARANTINED none
              desk: a on quarantine, fenced since 10s, attempts 2, effect none, persistent (fenced)
        "#]],
    );
}

#[test]
fn what_the_engine_closed_out_itself_it_still_knows_after_a_query_that_closes_out_nothing() {
    check(
        PLAN,
        &format!("{UNHEARD} at 60s query a\n query-fails a\n fenced a#1 1"),
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0s
        10s    a query 1 started, to fence through 1
        10s    a query 1 failed: unknown (timeout) → query at 10s
        60s    a query 2 started
        60s    a query 2 failed: unknown (timeout) → query at 60s
        60s    a#1 fenced through 1 → quarantine, deadline-passed
        = RUNNING
          a: QUARANTINED none
          desk: a on quarantine, deadline-passed since 60s, attempts 1, effect none, transient (fenced)
    "#]],
    );
}

#[test]
fn what_the_engine_closed_out_itself_beside_another_unknown_one_waits_for_that() {
    let two = format!("{UNHEARD} send-again a op1\n begin a\n lost a\n");
    check(
        PLAN,
        &format!("{two} fenced a#1 1\n fenced a#2 2"),
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0s
        10s    a query 1 started, to fence through 1
        10s    a query 1 failed: unknown (timeout) → query at 10s
        10s    a to be sent again
        10s    answered op1, SendAgain: accepted
        10s    a#2 started (Ordered)
        10s    a#2 unknown (timeout) → query at 10s
        10s    a#1 fenced through 1 → stay
        10s    a#2 fenced through 2 → quarantine, fenced
        = RUNNING
          a: QUARANTINED none
          desk: a on quarantine, fenced since 10s, attempts 2, effect none, persistent (fenced)
    "#]],
    );
    check(
        PLAN,
        &format!("{two} at 20s query a\n query-fails a\n fenced a#2 2\n fenced a#1 2\n run a"),
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            10s    a query 1 started, to fence through 1
            10s    a query 1 failed: unknown (timeout) → query at 10s
            10s    a to be sent again
            10s    answered op1, SendAgain: accepted
            10s    a#2 started (Ordered)
            10s    a#2 unknown (timeout) → query at 10s
            20s    a query 2 started, to fence through 2
            20s    a query 2 failed: unknown (timeout) → query at 20s
            20s    a#2 fenced through 2 → stay
            20s    a#1 fenced through 2 → retry at 20s
            20s    a#3 started (Retry)
            20s    a#3 succeeded: "a"
            20s    completed
            = COMPLETED
              a: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn what_the_engine_closed_out_itself_it_still_knows_after_a_resume() {
    check(
        PLAN,
        &format!("{UNHEARD} persistent a#1\n resume a op1\n lost a#1\n fenced a#1 1\n run a"),
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            10s    a query 1 started, to fence through 1
            10s    a query 1 failed: unknown (timeout) → query at 10s
            10s    a#1 persistent (credential) → quarantine, persistent
            10s    a resumed: 3 attempts, until 70s
            10s    answered op1, Resume: accepted
            10s    a#1 unknown (timeout) → query at 10s
            10s    a#1 fenced through 1 → retry at 10s
            10s    a#2 started (Retry)
            10s    a#2 succeeded: "a"
            10s    completed
            = COMPLETED
              a: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_compensation_that_the_engine_closed_out_itself_is_tried_again() {
    check(
        "step a(input) by-query window=10s\n step b(a) by-query\n undo-policy attempts=2 base=0s\n query-policy queries=3 base=0s",
        "run a\n cancel op1\n begin undo:a\n lost undo:a\n at 10s query undo:a\n query-fails undo:a\n fenced undo:a#1 1\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 unknown (timeout) → query at 0s
            10s    undo:a query 1 started, to fence through 1
            10s    undo:a query 1 failed: unknown (timeout) → query at 10s
            10s    undo:a#1 fenced through 1 → retry at 10s
            10s    undo:a#2 started (Retry)
            10s    undo:a#2 succeeded: "Undone"
            10s    compensated
            = COMPENSATED (cancelled by ann)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: SKIPPED none
        "#]],
    );
}

#[test]
fn a_pivot_that_the_engine_closed_out_itself_grants_the_wish() {
    check(
        "step a(input) by-query\n pivot p(a) by-query\n policy base=0s\n query-policy queries=3 base=0s",
        "run a\n begin p\n lost p\n cancel op1\n query p\n query-fails p\n fenced p#1 1\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 unknown (timeout) → query at 0s
            0s     wish of op1: cancelled by ann
            0s     answered op1, Cancel: pending
            0s     p query 1 started, to fence through 1
            0s     p query 1 failed: unknown (timeout) → query at 0s
            0s     p#1 fenced through 1 → skip, turned
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
