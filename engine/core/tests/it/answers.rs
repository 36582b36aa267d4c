//! Answers beside success, refusal and failure: taken, in part, closed out, with other parameters, stale.

use expect_test::expect;

use crate::script::check;

const ASKED: &str = "
    step a(input) by-query window=10s
    step b(a) by-query
    policy attempts=3 base=0s give-up=60s
    query-policy queries=2 base=1s cap=4s
";

const REPEATED: &str = "
    step a(input) by-repeating retention=1h
    policy attempts=3 base=0s give-up=60s
    query-policy base=1s cap=1s
";

#[test]
fn what_the_participant_has_taken_is_asked_about_and_not_sent_again() {
    check(
        ASKED,
        "begin a\n at 1s accepted a\n agenda\n at 3s query a\n at 4s found a applied\n begin a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        1s     a#1 taken → query at 1.033s
        1s     ?
          wake: 1.033s for query a
        3s     a query 1 started
        4s     a query 1 found applied "a" → done
        4s     (begin a: decide: `a/forward` is SUCCEEDED, not due to start)
        = RUNNING
          a: SUCCEEDED applied
          b: READY none
          do: start b#1 in lane first, until 64s
          wake: 64s for deadline of b
          queues: b since 4s
    "#]],
    );
}

#[test]
fn a_hint_puts_the_first_question_about_what_was_taken_off() {
    check(
        ASKED,
        "begin a\n accepted a hint=30s\n agenda\n due\n query a\n found a applied",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 taken, not before 30s → query at 30s
        0s     ?
          wake: 30s for query a
        30s    a query 1 started
        30s    a query 1 found applied "a" → done
        = RUNNING
          a: SUCCEEDED applied
          b: READY none
          do: start b#1 in lane first, until 90s
          wake: 90s for deadline of b
          queues: b since 30s
    "#]],
    );
}

#[test]
fn in_progress_and_silence_spend_no_query_budget_before_the_step_deadline() {
    check(
        ASKED,
        "begin a\n accepted a\n at 5s query a\n found a in-progress\n at 10s query a\n query-fails a\n at 20s query a\n found a in-progress\n at 30s query a\n found a in-progress\n at 40s agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 taken → query at 0.033s
        5s     a query 1 started
        5s     a query 1 found in progress → query at 5.415s
        10s    a query 2 started
        10s    a query 2 failed: unknown (timeout) → query at 13.257s
        20s    a query 3 started
        20s    a query 3 found in progress → query at 23.695s
        30s    a query 4 started
        30s    a query 4 found in progress → query at 30.415s
        40s    ?
          do: query a (5)
          wake: 60s for deadline of a
        = RUNNING
          a: RECONCILING possible
          b: PENDING none
          do: query a (5)
          wake: 60s for deadline of a
    "#]],
    );
}

#[test]
fn what_says_something_else_than_in_progress_spends_the_query_budget() {
    check(
        "step a(input) by-query\n  query-policy queries=2 base=0s",
        "begin a\n accepted a\n query a\n found a unclear\n query a\n found a unclear\n agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 taken → query at 0s
        0s     a query 1 started
        0s     a query 1 found unclear (status=weird) → query at 0s
        0s     a query 2 started
        0s     a query 2 found unclear (status=weird) → query at 0s
        0s     ?
          do: query a (3)
          wake: 86400s for deadline of a
        = RUNNING
          a: RECONCILING possible
          do: query a (3)
          wake: 86400s for deadline of a
    "#]],
    );
}

#[test]
fn g14_the_reply_of_what_was_taken_settles_it() {
    check(
        ASKED,
        "begin a\n accepted a\n at 20s ok a#1\n begin b",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 taken → query at 0.033s
        20s    a#1 succeeded: "a"
        20s    b#1 started (Ready)
        = RUNNING
          a: SUCCEEDED applied
          b: RUNNING possible
          runs: b#1 since 20s
    "#]],
    );
}

#[test]
fn a_failure_in_the_reply_of_what_was_taken_schedules_a_retry() {
    check(
        ASKED,
        "begin a\n accepted a\n at 20s transient a#1\n begin a\n ok a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 taken → query at 0.033s
        20s    a#1 transient (busy) → retry at 20s
        20s    a#2 started (Retry)
        20s    a#2 succeeded: "a"
        = RUNNING
          a: SUCCEEDED applied
          b: READY none
          do: start b#1 in lane first, until 80s
          wake: 80s for deadline of b
          queues: b since 20s
    "#]],
    );
}

#[test]
fn a_reply_that_does_not_come_until_the_deadline_goes_to_the_desk_and_is_asked_about_still() {
    check(
        ASKED,
        "begin a\n accepted a hint=58s\n at 59s query a\n found a in-progress\n at 60s tick\n at 61s query a\n found a in-progress\n at 70s query a\n found a in-progress\n at 80s ok a#1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 taken, not before 58s → query at 58s
        59s    a query 1 started
        59s    a query 1 found in progress → query at 59.415s
        60s    a → desk, deadline-passed
        60s    a → query at 60.415s
        61s    a query 2 started
        61s    a query 2 found in progress → query at 64.257s
        70s    a query 3 started
        70s    a query 3 found in progress → desk, queries-spent
        80s    a#1 succeeded: "a"
        = RUNNING
          a: SUCCEEDED applied
          b: READY none
          do: start b#1 in lane first, until 140s
          wake: 140s for deadline of b
          queues: b since 80s
    "#]],
    );
}

#[test]
fn what_was_taken_after_the_deadline_goes_to_the_desk_at_once() {
    check(
        ASKED,
        "begin a\n at 61s accepted a\n agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        61s    a#1 taken → query at 61.033s
        61s    a → desk, deadline-passed
        61s    a → query at 61.033s
        61s    ?
          wake: 61.033s for query a
          desk: a on reconciliation, deadline-passed since 61s, attempts 1, effect possible
        = RUNNING
          a: RECONCILING possible
          b: PENDING none
          wake: 61.033s for query a
          desk: a on reconciliation, deadline-passed since 61s, attempts 1, effect possible
    "#]],
    );
}

#[test]
fn a_step_that_settles_by_repeating_does_not_repeat_what_was_taken_before_the_deadline() {
    check(
        REPEATED,
        "begin a\n at 1s accepted a\n at 30s begin a\n agenda\n at 60s tick\n at 62s begin a\n ok a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        1s     a#1 taken → stay
        30s    (at 30s begin a: decide: `a/forward` is RECONCILING, not due to start)
        30s    ?
          wake: 60s for deadline of a
          awaits: the reply of a since 1s, until 60s
        60s    a → desk, deadline-passed
        60s    a → repeat at 60.966s
        62s    a#2 started (Repeat)
        62s    a#2 succeeded: "a"
        62s    completed
        = COMPLETED
          a: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_repeat_that_was_planned_is_off_once_the_participant_says_that_it_was_taken() {
    check(
        REPEATED,
        "begin a\n lost a\n accepted a#1\n at 30s begin a\n agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → repeat at 0.966s
        0s     a#1 taken → stay
        30s    (at 30s begin a: decide: `a/forward` is RECONCILING, not due to start)
        30s    ?
          wake: 60s for deadline of a
          awaits: the reply of a since 0s, until 60s
        = RUNNING
          a: RECONCILING possible
          wake: 60s for deadline of a
          awaits: the reply of a since 0s, until 60s
    "#]],
    );
}

#[test]
fn a_repeat_that_was_taken_is_not_repeated_either() {
    check(
        REPEATED,
        "begin a\n lost a\n at 2s begin a\n accepted a\n at 30s agenda\n at 60s tick",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → repeat at 0.966s
        2s     a#2 started (Repeat)
        2s     a#2 taken → stay
        30s    ?
          wake: 60s for deadline of a
          awaits: the reply of a since 0s, until 60s
        60s    a → desk, deadline-passed
        60s    a → repeat at 60.266s
        = RUNNING
          a: RECONCILING possible
          wake: 60.266s for repeat a
          desk: a on reconciliation, deadline-passed since 60s, attempts 2, effect possible, unknown (timeout)
    "#]],
    );
}

#[test]
fn what_only_a_person_can_find_out_is_awaited_until_the_deadline_first() {
    check(
        "step a(input) by-operator\n policy give-up=60s",
        "begin a\n accepted a\n at 30s tick\n at 60s tick\n at 70s ok a#1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 taken → stay
        30s    (at 30s tick: nothing new)
        60s    a → desk, deadline-passed
        70s    a#1 succeeded: "a"
        70s    completed
        = COMPLETED
          a: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn what_was_taken_and_turned_is_asked_to_be_fenced() {
    check(
        ASKED,
        "begin a\n accepted a\n cancel op1\n at 2s query a\n found a fenced 1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 taken → query at 0.033s
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        2s     a query 1 started, to fence through 1
        2s     a query 1 found fenced through 1 → skip, turned
        2s     compensated
        = COMPENSATED (cancelled by ann)
          a: SKIPPED none
          b: SKIPPED none
    "#]],
    );
}

#[test]
fn a_compensation_that_was_taken_is_asked_about_until_its_own_deadline() {
    check(
        "step a(input) by-query\n step b(a) by-query\n undo-policy give-up=60s\n query-policy queries=1 base=1s cap=1s",
        "run a\n cancel op1\n begin undo:a\n accepted undo:a\n at 2s query undo:a\n found undo:a in-progress\n at 60s tick\n at 62s query undo:a\n found undo:a undone",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 taken → query at 0.102s
        2s     undo:a query 1 started
        2s     undo:a query 1 found in progress → query at 2.993s
        60s    undo:a → desk, deadline-passed
        60s    undo:a → query at 60.993s
        62s    undo:a query 2 started
        62s    undo:a query 2 found applied "Undone" → done
        62s    compensated
        = COMPENSATED (cancelled by ann)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          b: SKIPPED none
    "#]],
    );
}

#[test]
fn g09_a_step_that_took_effect_in_part_turns_back_and_is_undone_itself_first() {
    check(
        "step z(input) by-query\n step a(z) by-query",
        "run z\n begin a\n partial a\n agenda\n run undo:a\n run undo:z",
        expect![[r#"
        0s     saga started
        0s     z#1 started (Ready)
        0s     z#1 succeeded: "z"
        0s     a#1 started (Ready)
        0s     a#1 took effect in part → done
        0s     turned back: a in part
        0s     ?
          do: start undo:a#1 in lane compensation, until 86400s
          wake: 86400s for deadline of undo:a
          queues: undo:a since 0s
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     undo:z#1 started (Ready)
        0s     undo:z#1 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (a in part)
          z: SUCCEEDED applied · undo SUCCEEDED applied
          a: PARTIAL partial · undo SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_partial_finding_turns_back_like_a_partial_answer() {
    check(
        "step a(input) by-query\n query-policy base=0s",
        "begin a\n lost a\n query a\n found a partial\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0s
        0s     a query 1 started
        0s     a query 1 found partial → done
        0s     turned back: a in part
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (a in part)
          a: PARTIAL partial · undo SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_step_that_is_partial_after_the_turn_is_undone_too() {
    check(
        "step a(input) by-query",
        "begin a\n cancel op1\n partial a\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     a#1 took effect in part → done
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (cancelled by ann)
          a: PARTIAL partial · undo SUCCEEDED applied
    "#]],
    );
}

#[test]
fn g09_a_partial_pivot_stands_quarantined_and_hinders_the_turn() {
    check(
        "step a(input) by-query\n pivot p(a) by-query\n retriable r(p) by-query",
        "run a\n begin p\n partial p\n cancel op1\n resume p op2\n reject p op3\n waive p op4\n verbs p\n accept p \"by-hand\" op5\n answer op1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     p#1 took effect in part → quarantine, partial
        0s     wish of op1: cancelled by ann
        0s     answered op1, Cancel: pending
        0s     (resume p op2: decide: `p/forward` took effect in part: accept it, find it not applied, or close)
        0s     (reject p op3: decide: `p/forward` took effect in part: accept it, find it not applied, or close)
        0s     (waive p op4: decide: only a step after the pivot can be waived, once the pivot has succeeded)
          Cancel the saga: wish of what-if: cancelled by what-if; answered what-if, Cancel: pending
          TurnBack the saga: wish of what-if: turned by what-if; answered what-if, TurnBack: pending
          Pause the saga: paused; answered what-if, Pause: accepted
          Unpause the saga — the saga is not paused
          Close the saga: what-if asks to close it, naming [p]; answered what-if, Close: pending
          Approve the saga — no request to close it waits for another person
          Deny the saga — no request to close it waits for another person
          Assign the saga — the saga has no desk item of its own
          SetDisposition the saga — the saga has no desk item of its own
          RetryNow p — only a RETRY_SCHEDULED or RECONCILING action can be hurried, and `p/forward` is QUARANTINED
          Resume p — `p/forward` took effect in part: accept it, find it not applied, or close
          SendAgain p — only a RECONCILING action can be sent again, and `p/forward` is QUARANTINED
          Accept p: p accepted by a person with null; answered what-if, Accept: accepted; answered op1, Cancel: too late
          Found: not applied p: p found by a person: absent → skip, turned; answered what-if, Found: accepted; turned back: cancelled by ann; answered op1, Cancel: accepted
          Found: refused p — `p/forward` took effect in part: accept it, find it not applied, or close
          Found: partial p — `p/forward` took effect in part: accept it, find it not applied, or close
          Reject p — `p/forward` took effect in part: accept it, find it not applied, or close
          Supply p — only the result of a SUCCEEDED step can be supplied, and `p/forward` is QUARANTINED
          CompensateInDoubt p — only a saga that has turned back compensates
          Approve p — nothing named `p/forward` waits for approval
          Deny p — nothing named `p/forward` waits for approval
          Keep p — only a RECONCILING action can be kept, and `p/forward` is QUARANTINED
          Assign p: item `p/forward` assigned to what-if; answered what-if, Assign: accepted
          SetDisposition p: item `p/forward` decided: what-if; answered what-if, SetDisposition: accepted
          Waive p — only a step after the pivot can be waived, once the pivot has succeeded
          Compensate p — the workflow has no compensation of `p`
        0s     p accepted by a person with "by-hand"
        0s     answered op5, Accept: accepted
        0s     answered op1, Cancel: too late
          op1 stands at: too late
        = RUNNING
          a: SUCCEEDED applied
          p: SUCCEEDED applied
          r: READY none
          do: start r#1 in lane first, until 86400s
          wake: 86400s for deadline of r
          queues: r since 0s
    "#]],
    );
}

#[test]
fn a_partial_pivot_that_is_found_not_applied_grants_the_wish() {
    check(
        "step a(input) by-query\n pivot p(a) by-query",
        "run a\n begin p\n partial p\n cancel op1\n person-found p not-applied op2\n answer op1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     p#1 took effect in part → quarantine, partial
        0s     wish of op1: cancelled by ann
        0s     answered op1, Cancel: pending
        0s     p found by a person: absent → skip, turned
        0s     answered op2, Found: accepted
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
          op1 stands at: accepted
        = COMPENSATING (cancelled by ann)
          a: SUCCEEDED applied · undo READY none
          p: SKIPPED none
          do: start undo:a#1 in lane compensation, until 86400s
          wake: 86400s for deadline of undo:a
          queues: undo:a since 0s
    "#]],
    );
}

#[test]
fn a_partial_pivot_that_is_found_not_applied_without_a_wish_can_be_resumed() {
    check(
        "pivot p(input) by-query",
        "begin p\n partial p\n person-found p not-applied op1\n resume p op2\n run p",
        expect![[r#"
        0s     saga started
        0s     p#1 started (Ready)
        0s     p#1 took effect in part → quarantine, partial
        0s     p found by a person: absent → quarantine, found-by-person
        0s     answered op1, Found: accepted
        0s     p resumed: 3 attempts, until 86400s
        0s     answered op2, Resume: accepted
        0s     p#2 started (Ready)
        0s     p#2 succeeded: "p"
        0s     completed
        = COMPLETED
          p: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_partial_retriable_stands_quarantined_with_its_effect() {
    check(
        "pivot p(input) by-query\n retriable r(p) by-query\n query-policy base=0s",
        "run p\n begin r\n lost r\n query r\n found r partial\n resume r op1\n waive r op2\n accept r \"rest-by-hand\" op3",
        expect![[r#"
        0s     saga started
        0s     p#1 started (Ready)
        0s     p#1 succeeded: "p"
        0s     r#1 started (Ready)
        0s     r#1 unknown (timeout) → query at 0s
        0s     r query 1 started
        0s     r query 1 found partial → quarantine, partial
        0s     (resume r op1: decide: `r/forward` took effect in part: accept it, find it not applied, or close)
        0s     (waive r op2: decide: only an action without effect and without a running attempt can be waived, and `r/forward` is QUARANTINED)
        0s     r accepted by a person with "rest-by-hand"
        0s     answered op3, Accept: accepted
        0s     completed
        = COMPLETED
          p: SUCCEEDED applied
          r: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_partial_compensation_stands_quarantined_and_is_not_made_again() {
    check(
        "step a(input) by-query\n step b(a) by-query",
        "run a\n cancel op1\n begin undo:a\n partial undo:a\n resume undo:a op2\n accept undo:a \"Undone\" op3",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 took effect in part → quarantine, partial
        0s     (resume undo:a op2: decide: `a/compensation` took effect in part: accept it, find it not applied, or close)
        0s     undo:a accepted by a person with "Undone"
        0s     answered op3, Accept: accepted
        0s     compensated
        = COMPENSATED (cancelled by ann)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          b: SKIPPED none
    "#]],
    );
}

#[test]
fn a_partial_answer_settles_even_beside_another_unknown_transmission() {
    check(
        REPEATED,
        "begin a\n lost a\n at 2s begin a\n partial a\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → repeat at 0.966s
        2s     a#2 started (Repeat)
        2s     a#2 took effect in part → done
        2s     turned back: a in part
        2s     undo:a#1 started (Ready)
        2s     undo:a#1 succeeded: "Undone"
        2s     compensated
        = COMPENSATED (a in part)
          a: PARTIAL partial · undo SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_transmission_that_somebody_else_closed_out_is_quarantined() {
    check(
        ASKED,
        "begin a\n fenced a 1\n resume a op1\n run a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 fenced through 1 → quarantine, fenced
        0s     a resumed: 3 attempts, until 60s
        0s     answered op1, Resume: accepted
        0s     a#2 started (Ready)
        0s     a#2 succeeded: "a"
        = RUNNING
          a: SUCCEEDED applied
          b: READY none
          do: start b#1 in lane first, until 60s
          wake: 60s for deadline of b
          queues: b since 0s
    "#]],
    );
}

#[test]
fn a_transmission_that_was_closed_out_after_the_turn_is_skipped() {
    check(
        ASKED,
        "begin a\n cancel op1\n fenced a 1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     a#1 fenced through 1 → skip, turned
        0s     compensated
        = COMPENSATED (cancelled by ann)
          a: SKIPPED none
          b: SKIPPED none
    "#]],
    );
}

#[test]
fn a_fenced_repeat_leaves_the_earlier_transmission_unknown() {
    check(
        REPEATED,
        "begin a\n lost a\n at 2s begin a\n fenced a 2\n agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → repeat at 0.966s
        2s     a#2 started (Repeat)
        2s     a#2 fenced through 2 → repeat at 2.266s
        2s     ?
          wake: 2.266s for repeat a
        = RUNNING
          a: RECONCILING possible
          wake: 2.266s for repeat a
    "#]],
    );
}

#[test]
fn a_fenced_compensation_is_quarantined() {
    check(
        "step a(input) by-query\n step b(a) by-query",
        "run a\n cancel op1\n begin undo:a\n fenced undo:a 1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 fenced through 1 → quarantine, fenced
        = COMPENSATING (cancelled by ann)
          a: SUCCEEDED applied · undo QUARANTINED none
          b: SKIPPED none
          desk: undo:a on quarantine, fenced since 0s, attempts 1, effect none, persistent (fenced)
    "#]],
    );
}

#[test]
fn a_mismatch_goes_to_the_reconciliation_desk_at_once() {
    check(
        ASKED,
        "begin a\n mismatch a\n at 60s tick\n retry-now a op1\n query a\n found a absent",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 mismatch: unknown (mismatch)
        60s    (at 60s tick: nothing new)
        60s    a hurried by a person
        60s    answered op1, RetryNow: accepted
        60s    a query 1 started
        60s    a query 1 found absent → quarantine, deadline-passed
        = RUNNING
          a: QUARANTINED none
          b: PENDING none
          desk: a on quarantine, deadline-passed since 60s, attempts 1, effect none, unknown (mismatch)
    "#]],
    );
}

#[test]
fn a_mismatch_after_the_turn_does_not_start_a_compensation_in_doubt() {
    check(
        "step a(input) by-repeating fence",
        "begin a\n cancel op1\n mismatch a\n agenda\n compensate-in-doubt a op2\n begin undo:a\n nothing undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     a#1 mismatch: unknown (mismatch)
        0s     ?
          desk: a on reconciliation, mismatch since 0s, attempts 1, effect possible, unknown (mismatch)
        0s     a to be compensated in doubt
        0s     answered op2, CompensateInDoubt: accepted
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "NothingToUndo"
        0s     compensated
        = COMPENSATED (cancelled by ann)
          a: SKIPPED none · undo SUCCEEDED none
    "#]],
    );
}

#[test]
fn a_mismatch_of_a_compensation_goes_to_the_reconciliation_desk() {
    check(
        "step a(input) by-query\n step b(a) by-query",
        "run a\n cancel op1\n begin undo:a\n mismatch undo:a\n accept undo:a \"Undone\" op2",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 mismatch: unknown (mismatch)
        0s     undo:a accepted by a person with "Undone"
        0s     answered op2, Accept: accepted
        0s     compensated
        = COMPENSATED (cancelled by ann)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          b: SKIPPED none
    "#]],
    );
}

#[test]
fn a_stale_compensation_waits_for_approval_with_both_versions() {
    check(
        "step a(input) by-query\n step b(a) by-query\n undo-policy attempts=2 base=0s",
        "run a\n cancel op1\n begin undo:a\n transient undo:a\n begin undo:a\n stale undo:a\n resume undo:a op2\n approve undo:a op3\n begin undo:a\n stale undo:a\n approve undo:a op4\n run undo:a",
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
        0s     (resume undo:a op2: decide: `a/compensation` is stale: approve or deny it)
        0s     a/compensation approved by bob
        0s     answered op3, Approve: accepted
        0s     undo:a#3 started (Ready)
        0s     undo:a#3 is stale: expected {}, found {}
        0s     a/compensation approved by bob
        0s     answered op4, Approve: accepted
        0s     undo:a#4 started (Ready)
        0s     undo:a#4 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (cancelled by ann)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          b: SKIPPED none
    "#]],
    );
}

#[test]
fn a_stale_compensation_that_is_denied_stays_quarantined() {
    check(
        "step a(input) by-query\n step b(a) by-query",
        "run a\n cancel op1\n begin undo:a\n stale undo:a\n deny undo:a op2\n approve undo:a op3\n resume undo:a op4\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 is stale: expected nothing, found {}
        0s     a/compensation denied by bob
        0s     answered op2, Deny: accepted
        0s     (approve undo:a op3: decide: nothing named `a/compensation` waits for approval)
        0s     undo:a resumed: 3 attempts, until 86400s
        0s     answered op4, Resume: accepted
        0s     undo:a#2 started (Ready)
        0s     undo:a#2 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (cancelled by ann)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          b: SKIPPED none
    "#]],
    );
}

#[test]
fn a_stale_answer_beside_an_unknown_transmission_settles_only_itself() {
    check(
        "step a(input) by-query undo-by-repeating\n step b(a) by-query\n query-policy base=0s",
        "run a\n cancel op1\n begin undo:a\n lost undo:a\n begin undo:a\n stale undo:a\n agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 unknown (timeout) → repeat at 0s
        0s     undo:a#2 started (Repeat)
        0s     undo:a#2 persistent (stale) → repeat at 0s
        0s     ?
          do: start undo:a#3 in lane reconciliation, until 86400s
          wake: 86400s for repeat undo:a
        = COMPENSATING (cancelled by ann)
          a: SUCCEEDED applied · undo RECONCILING possible
          b: SKIPPED none
          do: start undo:a#3 in lane reconciliation, until 86400s
          wake: 86400s for repeat undo:a
    "#]],
    );
}

#[test]
fn what_has_no_meaning_for_a_read_or_a_forward_action_is_an_authors_mistake() {
    check(
        "read r(input)\n step a(r) by-query\n policy attempts=9",
        "begin r\n accepted r\n resume r op1\n begin r\n partial r\n resume r op2\n begin r\n fenced r 1\n resume r op3\n begin r\n mismatch r\n resume r op4\n run r\n begin a\n stale a",
        expect![[r#"
        0s     saga started
        0s     r#1 started (Ready)
        0s     r#1 persistent (accepted) → quarantine, persistent
        0s     r resumed: 9 attempts, until 86400s
        0s     answered op1, Resume: accepted
        0s     r#2 started (Ready)
        0s     r#2 persistent (partial) → quarantine, persistent
        0s     r resumed: 9 attempts, until 86400s
        0s     answered op2, Resume: accepted
        0s     r#3 started (Ready)
        0s     r#3 persistent (fenced) → quarantine, persistent
        0s     r resumed: 9 attempts, until 86400s
        0s     answered op3, Resume: accepted
        0s     r#4 started (Ready)
        0s     r#4 persistent (mismatch) → quarantine, persistent
        0s     r resumed: 9 attempts, until 86400s
        0s     answered op4, Resume: accepted
        0s     r#5 started (Ready)
        0s     r#5 succeeded: "r"
        0s     a#1 started (Ready)
        0s     a#1 persistent (stale) → quarantine, persistent
        = RUNNING
          r: SUCCEEDED none
          a: QUARANTINED none
          desk: a on quarantine, persistent since 0s, attempts 1, effect none, persistent (stale)
    "#]],
    );
}
