//! What people order of one action: retry now, resume, send again, keep, accept, found, reject, supply, waive,
//! compensate in doubt.

use expect_test::expect;

use crate::script::check;

const ASKED: &str = "
    step a(input) by-query
    step b(a) by-query
    policy attempts=2 base=60s cap=60s give-up=1h
    query-policy queries=1 base=1s cap=1s
";

const PAST: &str = "
    step a(input) by-query
    pivot p(a) by-query
    retriable r(p) by-query
    retriable t(p) by-query after=r
    retriable u(r) by-query
    policy attempts=2 base=0s
";

#[test]
fn retry_now_ignores_hint_and_delay_and_spends_the_timer() {
    check(
        ASKED,
        "begin a\n transient a hint=300s\n retry-now a op1\n agenda\n run a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 transient (busy) → retry at 300s
        0s     a hurried by a person
        0s     answered op1, RetryNow: accepted
        0s     ?
          do: start a#2 in lane retry, until 3600s
          wake: 3600s for deadline of a
          queues: a since 0s
        0s     a#2 started (Ordered)
        0s     a#2 succeeded: "a"
        = RUNNING
          a: SUCCEEDED applied
          b: READY none
          do: start b#1 in lane first, until 3600s
          wake: 3600s for deadline of b
          queues: b since 0s
    "#]],
    );
}

#[test]
fn retry_now_does_not_ignore_the_budget() {
    check(
        ASKED,
        "begin a\n transient a\n retry-now a op1\n begin a\n transient a\n retry-now a op2",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 transient (busy) → retry at 57.966s
        0s     a hurried by a person
        0s     answered op1, RetryNow: accepted
        0s     a#2 started (Ordered)
        0s     a#2 transient (busy) → quarantine, attempts-spent
        0s     (retry-now a op2: decide: only a RETRY_SCHEDULED or RECONCILING action can be hurried, and `a/forward` is QUARANTINED)
        = RUNNING
          a: QUARANTINED none
          b: PENDING none
          desk: a on quarantine, attempts-spent since 0s, attempts 2, effect none, transient (busy)
    "#]],
    );
}

#[test]
fn retry_now_does_not_ignore_the_deadline() {
    check(
        ASKED,
        "begin a\n transient a hint=3000s\n at 10s retry-now a op1\n at 3600s begin a\n tick",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 transient (busy) → retry at 3000s
        10s    a hurried by a person
        10s    answered op1, RetryNow: accepted
        3600s  (at 3600s begin a: decide: the deadline of `a/forward` has passed)
        3600s  a → quarantine, deadline-passed
        = RUNNING
          a: QUARANTINED none
          b: PENDING none
          desk: a on quarantine, deadline-passed since 3600s, attempts 1, effect none, transient (busy)
    "#]],
    );
}

#[test]
fn retry_now_asks_about_an_unknown_outcome_once_and_never_sends_it() {
    check(
        ASKED,
        "begin a\n lost a\n at 1s query a\n found a unclear\n retry-now a op1\n agenda\n begin a\n query a\n found a unclear\n retry-now a op2\n query a\n found a applied",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0.033s
        1s     a query 1 started
        1s     a query 1 found unclear (status=weird) → desk, queries-spent
        1s     a hurried by a person
        1s     answered op1, RetryNow: accepted
        1s     ?
          do: query a (2)
          desk: a on reconciliation, queries-spent since 1s, attempts 1, effect possible, unknown (unclear)
        1s     (begin a: decide: `a/forward` is RECONCILING, not due to start)
        1s     a query 2 started
        1s     a query 2 found unclear (status=weird) → desk, queries-spent
        1s     a hurried by a person
        1s     answered op2, RetryNow: accepted
        1s     a query 3 started
        1s     a query 3 found applied "a" → done
        = RUNNING
          a: SUCCEEDED applied
          b: READY none
          do: start b#1 in lane first, until 3601s
          wake: 3601s for deadline of b
          queues: b since 1s
    "#]],
    );
}

#[test]
fn retry_now_of_what_nothing_asks_about_is_refused() {
    check(
        "step a(input) by-repeating\n step b(a) by-query",
        "begin a\n lost a\n retry-now a op1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → repeat at 0.966s
        0s     (retry-now a op1: decide: nothing asks about `a/forward`: send it again, or settle it)
        = RUNNING
          a: RECONCILING possible
          b: PENDING none
          wake: 0.966s for repeat a
    "#]],
    );
}

#[test]
fn retry_now_while_it_is_asked_about_is_refused() {
    check(
        ASKED,
        "begin a\n lost a\n at 1s query a\n retry-now a op1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0.033s
        1s     a query 1 started
        1s     (retry-now a op1: decide: query 1 of `a/forward` is under way: wait for what it finds)
        = RUNNING
          a: RECONCILING possible
          b: PENDING none
          asks: a query 1
    "#]],
    );
}

#[test]
fn a_resume_under_the_same_operation_id_is_answered_once() {
    check(
        ASKED,
        "begin a\n persistent a\n resume a op1\n resume a op1\n answer op1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 persistent (credential) → quarantine, persistent
        0s     a resumed: 2 attempts, until 3600s
        0s     answered op1, Resume: accepted
        0s     (resume a op1: nothing new)
          op1 stands at: accepted
        = RUNNING
          a: READY none
          b: PENDING none
          do: start a#2 in lane first, until 3600s
          wake: 3600s for deadline of a
          queues: a since 0s
    "#]],
    );
}

#[test]
fn send_again_transmits_an_unknown_action_once_whatever_the_step_declares() {
    check(
        ASKED,
        "begin a\n lost a\n at 1s query a\n found a unclear\n send-again a op1\n agenda\n begin a\n lost a\n begin a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0.033s
        1s     a query 1 started
        1s     a query 1 found unclear (status=weird) → desk, queries-spent
        1s     a to be sent again
        1s     answered op1, SendAgain: accepted
        1s     ?
          do: start a#2 in lane reconciliation
          queues: a since 1s
          desk: a on reconciliation, queries-spent since 1s, attempts 1, effect possible, unknown (unclear)
        1s     a#2 started (Ordered)
        1s     a#2 unknown (timeout) → desk, queries-spent
        1s     (begin a: decide: `a/forward` is RECONCILING, not due to start)
        = RUNNING
          a: RECONCILING possible
          b: PENDING none
          desk: a on reconciliation, queries-spent since 1s, attempts 2, effect possible, unknown (timeout)
    "#]],
    );
}

#[test]
fn send_again_that_was_never_sent_is_still_ordered() {
    check(
        ASKED,
        "begin a\n lost a\n send-again a op1\n begin a\n withdraw a\n agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0.033s
        0s     a to be sent again
        0s     answered op1, SendAgain: accepted
        0s     a#2 started (Ordered)
        0s     a#2 withdrawn
        0s     ?
          do: start a#2 in lane reconciliation
          queues: a since 0s
        = RUNNING
          a: RECONCILING possible
          b: PENDING none
          do: start a#2 in lane reconciliation
          queues: a since 0s
    "#]],
    );
}

#[test]
fn send_again_needs_no_budget_within_the_key_retention() {
    check(
        "step a(input) by-operator retention=10s\n step b(a) by-query\n policy attempts=1",
        "begin a\n lost a\n at 9s send-again a op1\n begin a\n lost a\n at 9.9s send-again a op2\n begin a\n lost a\n at 10s send-again a op3\n send-again a op4 override\n begin a\n ok a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → desk, no-query
        9s     a to be sent again
        9s     answered op1, SendAgain: accepted
        9s     a#2 started (Ordered)
        9s     a#2 unknown (timeout) → desk, no-query
        9.9s   a to be sent again
        9.9s   answered op2, SendAgain: accepted
        9.9s   a#3 started (Ordered)
        9.9s   a#3 unknown (timeout) → desk, no-query
        10s    (at 10s send-again a op3: decide: retention-passed: say why it may be sent again all the same)
        10s    a to be sent again, for they know it
        10s    answered op4, SendAgain: accepted
        10s    a#4 started (Ordered)
        10s    a#4 succeeded: "a"
        = RUNNING
          a: SUCCEEDED applied
          b: READY none
          do: start b#1 in lane first, until 86410s
          wake: 86410s for deadline of b
          queues: b since 10s
    "#]],
    );
}

#[test]
fn send_again_without_a_stated_retention_stays_within_budget_and_deadline() {
    check(
        "step a(input) by-operator\n step b(a) by-query\n policy attempts=2 give-up=60s",
        "begin a\n lost a\n at 5s send-again a op1\n begin a\n lost a\n send-again a op2\n send-again a op3 override\n begin a\n lost a\n at 60s send-again a op4\n send-again a op5 override\n begin a\n ok a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → desk, no-query
        5s     a to be sent again
        5s     answered op1, SendAgain: accepted
        5s     a#2 started (Ordered)
        5s     a#2 unknown (timeout) → desk, no-query
        5s     (send-again a op2: decide: all attempts were made, and no key retention is stated: say why it may be sent again)
        5s     a to be sent again, for they know it
        5s     answered op3, SendAgain: accepted
        5s     a#3 started (Ordered)
        5s     a#3 unknown (timeout) → desk, no-query
        60s    (at 60s send-again a op4: decide: deadline-passed: say why it may be sent again all the same)
        60s    a to be sent again, for they know it
        60s    answered op5, SendAgain: accepted
        60s    a#4 started (Ordered)
        60s    a#4 succeeded: "a"
        = RUNNING
          a: SUCCEEDED applied
          b: READY none
          do: start b#1 in lane first, until 120s
          wake: 120s for deadline of b
          queues: b since 60s
    "#]],
    );
}

#[test]
fn send_again_is_refused_after_the_turn_and_while_it_runs() {
    check(
        ASKED,
        "begin a\n send-again a op1\n lost a\n cancel op2\n send-again a op3",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     (send-again a op1: decide: only a RECONCILING action can be sent again, and `a/forward` is RUNNING)
        0s     a#1 unknown (timeout) → query at 0.033s
        0s     turned back: cancelled by ann
        0s     answered op2, Cancel: accepted
        0s     (send-again a op3: decide: the saga has turned back: nothing goes forward)
        = COMPENSATING (cancelled by ann)
          a: RECONCILING possible
          b: SKIPPED none
          wake: 0.033s for query a
    "#]],
    );
}

#[test]
fn a_compensation_can_be_sent_again() {
    check(
        "step a(input) by-query undo-by-operator\n step b(a) by-query",
        "run a\n cancel op1\n begin undo:a\n lost undo:a\n send-again undo:a op2\n begin undo:a\n ok undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 unknown (timeout) → desk, no-query
        0s     undo:a to be sent again
        0s     answered op2, SendAgain: accepted
        0s     undo:a#2 started (Ordered)
        0s     undo:a#2 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (cancelled by ann)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          b: SKIPPED none
    "#]],
    );
}

#[test]
fn keep_puts_the_next_query_off_and_the_item_stays() {
    check(
        ASKED,
        "begin a\n lost a\n at 1s query a\n found a unclear\n keep a 3600s op1\n agenda\n at 3600s query a\n found a applied",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0.033s
        1s     a query 1 started
        1s     a query 1 found unclear (status=weird) → desk, queries-spent
        1s     a kept until 3600s
        1s     answered op1, Keep: accepted
        1s     ?
          wake: 3600s for query a
          desk: a on reconciliation, queries-spent since 1s, attempts 1, effect possible, unknown (unclear)
        3600s  a query 2 started
        3600s  a query 2 found applied "a" → done
        = RUNNING
          a: SUCCEEDED applied
          b: READY none
          do: start b#1 in lane first, until 7200s
          wake: 7200s for deadline of b
          queues: b since 3600s
    "#]],
    );
}

#[test]
fn keep_until_a_time_that_has_passed_is_refused() {
    check(
        ASKED,
        "at 9s begin a\n lost a\n keep a 5s op1",
        expect![[r#"
        0s     saga started
        9s     a#1 started (Ready)
        9s     a#1 unknown (timeout) → query at 9.033s
        9s     (keep a 5s op1: decide: that time has passed: let it be asked about now)
        = RUNNING
          a: RECONCILING possible
          b: PENDING none
          wake: 9.033s for query a
    "#]],
    );
}

#[test]
fn a_person_finds_not_applied_and_it_is_tried_again_under_the_same_request_id() {
    check(
        "step a(input) by-operator\n step b(a) by-query\n policy attempts=2 base=0s",
        "begin a\n lost a\n person-found a not-applied op1\n begin a\n ok a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → desk, no-query
        0s     a found by a person: absent → retry at 0s
        0s     answered op1, Found: accepted
        0s     a#2 started (Retry)
        0s     a#2 succeeded: "a"
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
fn a_person_finds_not_applied_without_budget_and_it_is_quarantined() {
    check(
        "step a(input) by-operator\n step b(a) by-query\n policy attempts=1",
        "begin a\n lost a\n person-found a not-applied op1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → desk, no-query
        0s     a found by a person: absent → quarantine, attempts-spent
        0s     answered op1, Found: accepted
        = RUNNING
          a: QUARANTINED none
          b: PENDING none
          desk: a on quarantine, attempts-spent since 0s, attempts 1, effect none, unknown (timeout)
    "#]],
    );
}

#[test]
fn a_person_finds_not_applied_after_the_turn_and_it_is_skipped() {
    check(
        "step a(input) by-operator\n step b(a) by-query",
        "begin a\n lost a\n cancel op1\n person-found a not-applied op2",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → desk, no-query
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     a found by a person: absent → skip, turned
        0s     answered op2, Found: accepted
        0s     compensated
        = COMPENSATED (cancelled by ann)
          a: SKIPPED none
          b: SKIPPED none
    "#]],
    );
}

#[test]
fn a_person_finds_it_refused_and_the_saga_turns_back() {
    check(
        "step z(input) by-query\n step a(z) by-operator",
        "run z\n begin a\n lost a\n person-found a refused op1",
        expect![[r#"
        0s     saga started
        0s     z#1 started (Ready)
        0s     z#1 succeeded: "z"
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → desk, no-query
        0s     a found by a person: refused "no" → reject
        0s     turned back: a refused
        0s     answered op1, Found: accepted
        = COMPENSATING (a refused)
          z: SUCCEEDED applied · undo READY none
          a: TERMINAL_REJECTED none
          do: start undo:z#1 in lane compensation, until 86400s
          wake: 86400s for deadline of undo:z
          queues: undo:z since 0s
    "#]],
    );
}

#[test]
fn a_person_finds_it_partial_and_it_is_undone() {
    check(
        "step a(input) by-operator\n step b(a) by-query",
        "begin a\n lost a\n person-found a partial op1\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → desk, no-query
        0s     a found by a person: partial → done
        0s     turned back: a in part
        0s     answered op1, Found: accepted
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (a in part)
          a: PARTIAL partial · undo SUCCEEDED applied
          b: SKIPPED none
    "#]],
    );
}

#[test]
fn refused_and_partial_are_not_found_of_what_cannot_refuse() {
    check(
        "pivot p(input) by-query\n retriable r(p) by-operator",
        "run p\n begin r\n lost r\n person-found r refused op1\n person-found r partial op2\n person-found r not-applied op3",
        expect![[r#"
        0s     saga started
        0s     p#1 started (Ready)
        0s     p#1 succeeded: "p"
        0s     r#1 started (Ready)
        0s     r#1 unknown (timeout) → desk, no-query
        0s     (person-found r refused op1: decide: only a forward action before the pivot can be found refused, or partial)
        0s     (person-found r partial op2: decide: only a forward action before the pivot can be found refused, or partial)
        0s     r found by a person: absent → retry at 0.315s
        0s     answered op3, Found: accepted
        = RUNNING
          p: SUCCEEDED applied
          r: RETRY_SCHEDULED none
          wake: 0.315s for retry r
    "#]],
    );
}

#[test]
fn refused_and_partial_are_not_found_of_a_compensation() {
    check(
        "step a(input) by-query undo-by-operator\n step b(a) by-query",
        "run a\n cancel op1\n begin undo:a\n lost undo:a\n person-found undo:a refused op2\n person-found undo:a partial op3\n person-found undo:a not-applied op4",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 unknown (timeout) → desk, no-query
        0s     (person-found undo:a refused op2: decide: only a forward action before the pivot can be found refused, or partial)
        0s     (person-found undo:a partial op3: decide: only a forward action before the pivot can be found refused, or partial)
        0s     undo:a found by a person: absent → retry at 0.166s
        0s     answered op4, Found: accepted
        = COMPENSATING (cancelled by ann)
          a: SUCCEEDED applied · undo RETRY_SCHEDULED none
          b: SKIPPED none
          wake: 0.166s for retry undo:a
    "#]],
    );
}

#[test]
fn a_rejected_step_turns_the_saga_back() {
    check(
        "step z(input) by-query\n step a(z) by-query",
        "run z\n begin a\n persistent a\n reject a op1\n run undo:z",
        expect![[r#"
        0s     saga started
        0s     z#1 started (Ready)
        0s     z#1 succeeded: "z"
        0s     a#1 started (Ready)
        0s     a#1 persistent (credential) → quarantine, persistent
        0s     a rejected by a person
        0s     turned back: turned by ann
        0s     answered op1, Reject: accepted
        0s     undo:z#1 started (Ready)
        0s     undo:z#1 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (turned by ann)
          z: SUCCEEDED applied · undo SUCCEEDED applied
          a: TERMINAL_REJECTED none
    "#]],
    );
}

#[test]
fn a_rejected_pivot_turns_the_saga_back_and_one_past_it_is_refused() {
    check(
        PAST,
        "run a\n begin p\n persistent p\n verbs p\n reject p op1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     p#1 persistent (credential) → quarantine, persistent
          Cancel the saga: turned back: cancelled by what-if; answered what-if, Cancel: accepted
          TurnBack the saga: turned back: turned by what-if; answered what-if, TurnBack: accepted
          Pause the saga: paused; answered what-if, Pause: accepted
          Unpause the saga — the saga is not paused
          Close the saga: what-if asks to close it, naming []; answered what-if, Close: pending
          Approve the saga — no request to close it waits for another person
          Deny the saga — no request to close it waits for another person
          Assign the saga — the saga has no desk item of its own
          SetDisposition the saga — the saga has no desk item of its own
          RetryNow p — only a RETRY_SCHEDULED or RECONCILING action can be hurried, and `p/forward` is QUARANTINED
          Resume p: p resumed: 2 attempts, until 86400s; answered what-if, Resume: accepted
          SendAgain p — only a RECONCILING action can be sent again, and `p/forward` is QUARANTINED
          Accept p: p accepted by a person with null; answered what-if, Accept: accepted
          Found: not applied p — `p/forward` is QUARANTINED: it is known that it had no effect
          Found: refused p — `p/forward` is QUARANTINED: it is known that it had no effect
          Found: partial p — `p/forward` is QUARANTINED: it is known that it had no effect
          Reject p: p rejected by a person; turned back: turned by what-if; answered what-if, Reject: accepted
          Supply p — only the result of a SUCCEEDED step can be supplied, and `p/forward` is QUARANTINED
          CompensateInDoubt p — only a saga that has turned back compensates
          Approve p — nothing named `p/forward` waits for approval
          Deny p — nothing named `p/forward` waits for approval
          Keep p — only a RECONCILING action can be kept, and `p/forward` is QUARANTINED
          Assign p: item `p/forward` assigned to what-if; answered what-if, Assign: accepted
          SetDisposition p: item `p/forward` decided: what-if; answered what-if, SetDisposition: accepted
          Waive p — only a step after the pivot can be waived, once the pivot has succeeded
          Compensate p — the workflow has no compensation of `p`
        0s     p rejected by a person
        0s     turned back: turned by ann
        0s     answered op1, Reject: accepted
        = COMPENSATING (turned by ann)
          a: SUCCEEDED applied · undo READY none
          p: TERMINAL_REJECTED none
          r: SKIPPED none
          t: SKIPPED none
          u: SKIPPED none
          do: start undo:a#1 in lane compensation, until 86400s
          wake: 86400s for deadline of undo:a
          queues: undo:a since 0s
    "#]],
    );
}

#[test]
fn nothing_after_the_pivot_is_rejected() {
    check(
        PAST,
        "run a\n run p\n begin r\n persistent r\n reject r op1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     p#1 succeeded: "p"
        0s     r#1 started (Ready)
        0s     r#1 persistent (credential) → quarantine, persistent
        0s     (reject r op1: decide: the pivot has succeeded: recovery is forward)
        = RUNNING
          a: SUCCEEDED applied
          p: SUCCEEDED applied
          r: QUARANTINED none
          t: PENDING none
          u: PENDING none
          desk: r on quarantine, persistent since 0s, attempts 1, effect none, persistent (credential)
    "#]],
    );
}

#[test]
fn an_operator_turns_the_saga_back_like_a_cancel() {
    check(
        PAST,
        "run a\n begin p\n turn-back op1\n lost p\n person-found p not-applied op2\n answer op1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     wish of op1: turned by ann
        0s     answered op1, TurnBack: pending
        0s     p#1 unknown (timeout) → query at 0.219s
        0s     p found by a person: absent → skip, turned
        0s     answered op2, Found: accepted
        0s     turned back: turned by ann
        0s     answered op1, TurnBack: accepted
          op1 stands at: accepted
        = COMPENSATING (turned by ann)
          a: SUCCEEDED applied · undo READY none
          p: SKIPPED none
          r: SKIPPED none
          t: SKIPPED none
          u: SKIPPED none
          do: start undo:a#1 in lane compensation, until 86400s
          wake: 86400s for deadline of undo:a
          queues: undo:a since 0s
    "#]],
    );
}

#[test]
fn a_supplied_result_lets_the_steps_go_on_that_were_quarantined_for_it() {
    check(
        "step a(input) by-query\n step b(a) by-query\n step c(a) by-query\n policy attempts=2",
        "begin a\n omitted a\n input-fails b\n begin c\n persistent c\n supply b \"x\" op1\n supply a \"the-result\" op2\n agenda\n supply a \"again\" op3",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: omitted (too large)
        0s     b persistent (input) → quarantine, input
        0s     c#1 started (Ready)
        0s     c#1 persistent (credential) → quarantine, persistent
        0s     (supply b "x" op1: decide: only the result of a SUCCEEDED step can be supplied, and `b/forward` is QUARANTINED)
        0s     a supplied: "the-result"
        0s     answered op2, Supply: accepted
        0s     ?
          do: start b#1 in lane first, until 86400s
          wake: 86400s for deadline of b
          queues: b since 0s
          desk: c on quarantine, persistent since 0s, attempts 1, effect none, persistent (credential)
        0s     (supply a "again" op3: decide: the result of `a/forward` is recorded)
        = RUNNING
          a: SUCCEEDED applied
          b: READY none
          c: QUARANTINED none
          do: start b#1 in lane first, until 86400s
          wake: 86400s for deadline of b
          queues: b since 0s
          desk: c on quarantine, persistent since 0s, attempts 1, effect none, persistent (credential)
    "#]],
    );
}

#[test]
fn a_supplied_result_releases_only_what_has_all_it_needs() {
    check(
        "step a(input) by-query\n step z(input) by-query\n step b(a,z) by-query",
        "begin a\n omitted a\n begin z\n omitted z\n input-fails b\n supply a \"one\" op1\n agenda\n supply z \"two\" op2\n agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: omitted (too large)
        0s     z#1 started (Ready)
        0s     z#1 succeeded: omitted (too large)
        0s     b persistent (input) → quarantine, input
        0s     a supplied: "one"
        0s     answered op1, Supply: accepted
        0s     ?
          desk: b on quarantine, input since 0s, attempts 0, effect none, persistent (input)
        0s     z supplied: "two"
        0s     answered op2, Supply: accepted
        0s     ?
          do: start b#1 in lane first, until 86400s
          wake: 86400s for deadline of b
          queues: b since 0s
        = RUNNING
          a: SUCCEEDED applied
          z: SUCCEEDED applied
          b: READY none
          do: start b#1 in lane first, until 86400s
          wake: 86400s for deadline of b
          queues: b since 0s
    "#]],
    );
}

#[test]
fn a_waived_step_is_skipped_and_the_saga_goes_on() {
    check(
        PAST,
        "run a\n run p\n run u\n begin r\n persistent r\n waive r op1\n agenda\n run t\n waive u op2",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     p#1 succeeded: "p"
        0s     (begin u: decide: `u/forward` is PENDING, not due to start)
        0s     news of u#0: applied "u" (nothing was ever sent for it)
        0s     r#1 started (Ready)
        0s     r#1 persistent (credential) → quarantine, persistent
        0s     r waived
        0s     answered op1, Waive: accepted
        0s     ?
          do: start t#1 in lane first, until 86400s
          wake: 86400s for deadline of t
          queues: t since 0s
          desk: u on quarantine, waived since 0s, attempts 0, effect none
        0s     t#1 started (Ready)
        0s     t#1 succeeded: "t"
        0s     u waived
        0s     answered op2, Waive: accepted
        0s     completed
        = COMPLETED
          a: SUCCEEDED applied
          p: SUCCEEDED applied
          r: SKIPPED none
          t: SUCCEEDED applied
          u: SKIPPED none
    "#]],
    );
}

#[test]
fn a_step_that_needs_a_waived_result_is_quarantined_unless_waived_too() {
    check(
        PAST,
        "run a\n run p\n waive u op1\n begin r\n persistent r\n waive r op2\n run t",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     p#1 succeeded: "p"
        0s     u waived
        0s     answered op1, Waive: accepted
        0s     r#1 started (Ready)
        0s     r#1 persistent (credential) → quarantine, persistent
        0s     r waived
        0s     answered op2, Waive: accepted
        0s     t#1 started (Ready)
        0s     t#1 succeeded: "t"
        0s     completed
        = COMPLETED
          a: SUCCEEDED applied
          p: SUCCEEDED applied
          r: SKIPPED none
          t: SUCCEEDED applied
          u: SKIPPED none
    "#]],
    );
}

#[test]
fn only_what_has_no_effect_and_does_not_run_is_waived() {
    check(
        PAST,
        "run a\n run p\n begin r\n waive r op1\n lost r\n waive r op2\n waive a op3\n waive p op4\n waive undo:a op5",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     p#1 succeeded: "p"
        0s     r#1 started (Ready)
        0s     (waive r op1: decide: only an action without effect and without a running attempt can be waived, and `r/forward` is RUNNING)
        0s     r#1 unknown (timeout) → query at 0.974s
        0s     (waive r op2: decide: only an action without effect and without a running attempt can be waived, and `r/forward` is RECONCILING)
        0s     (waive a op3: decide: only an action without effect and without a running attempt can be waived, and `a/forward` is SUCCEEDED)
        0s     (waive p op4: decide: only an action without effect and without a running attempt can be waived, and `p/forward` is SUCCEEDED)
        0s     (waive undo:a op5: decide: a compensation cannot be waived: it is owed)
        = RUNNING
          a: SUCCEEDED applied
          p: SUCCEEDED applied
          r: RECONCILING possible
          t: PENDING none
          u: PENDING none
          wake: 0.974s for query r
    "#]],
    );
}

#[test]
fn nothing_is_waived_before_the_pivot() {
    check(
        PAST,
        "waive r op1",
        expect![[r#"
        0s     saga started
        0s     (waive r op1: decide: only a step after the pivot can be waived, once the pivot has succeeded)
        = RUNNING
          a: READY none
          p: PENDING none
          r: PENDING none
          t: PENDING none
          u: PENDING none
          do: start a#1 in lane first, until 86400s
          wake: 86400s for deadline of a
          queues: a since 0s
    "#]],
    );
}

#[test]
fn a_compensation_ordered_in_doubt_settles_what_stays_unknown() {
    check(
        "step z(input) by-query\n step a(z) by-operator\n step b(a) by-query",
        "run z\n begin a\n lost a\n compensate-in-doubt a op1\n cancel op2\n compensate-in-doubt a op3\n compensate-in-doubt a op4\n begin undo:a\n nothing undo:a\n run undo:z",
        expect![[r#"
        0s     saga started
        0s     z#1 started (Ready)
        0s     z#1 succeeded: "z"
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → desk, no-query
        0s     (compensate-in-doubt a op1: decide: only a saga that has turned back compensates)
        0s     turned back: cancelled by ann
        0s     answered op2, Cancel: accepted
        0s     a to be compensated in doubt
        0s     answered op3, CompensateInDoubt: accepted
        0s     answered op4, CompensateInDoubt: already
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "NothingToUndo"
        0s     undo:z#1 started (Ready)
        0s     undo:z#1 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (cancelled by ann)
          z: SUCCEEDED applied · undo SUCCEEDED applied
          a: SKIPPED none · undo SUCCEEDED none
          b: SKIPPED none
    "#]],
    );
}

#[test]
fn a_compensation_ordered_in_doubt_that_undoes_makes_the_step_succeeded() {
    check(
        "step a(input) by-operator\n step b(a) by-query",
        "begin a\n lost a\n cancel op1\n compensate-in-doubt a op2\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → desk, no-query
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     a to be compensated in doubt
        0s     answered op2, CompensateInDoubt: accepted
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (cancelled by ann)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          b: SKIPPED none
    "#]],
    );
}

#[test]
fn a_compensation_ordered_in_doubt_waits_for_the_query_that_is_under_way() {
    check(
        ASKED,
        "begin a\n lost a\n at 1s query a\n cancel op1\n compensate-in-doubt a op2\n begin undo:a\n found a in-progress\n begin undo:a\n nothing undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0.033s
        1s     a query 1 started
        1s     turned back: cancelled by ann
        1s     answered op1, Cancel: accepted
        1s     a to be compensated in doubt
        1s     answered op2, CompensateInDoubt: accepted
        1s     (begin undo:a: decide: `a/compensation` is PENDING, not due to start)
        1s     a query 1 found in progress → desk, queries-spent
        1s     undo:a#1 started (Ready)
        1s     undo:a#1 succeeded: "NothingToUndo"
        1s     compensated
        = COMPENSATED (cancelled by ann)
          a: SKIPPED none · undo SUCCEEDED none
          b: SKIPPED none
    "#]],
    );
}

#[test]
fn nothing_is_compensated_in_doubt_before_the_turn_or_while_it_runs() {
    check(
        ASKED,
        "begin a\n cancel op1\n compensate-in-doubt a op2\n ok a\n compensate-in-doubt a op3",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     (compensate-in-doubt a op2: decide: only a RECONCILING action can be compensated in doubt, and `a/forward` is RUNNING)
        0s     a#1 succeeded: "a"
        0s     (compensate-in-doubt a op3: decide: only a RECONCILING action can be compensated in doubt, and `a/forward` is SUCCEEDED)
        = COMPENSATING (cancelled by ann)
          a: SUCCEEDED applied · undo READY none
          b: SKIPPED none
          do: start undo:a#1 in lane compensation, until 86400s
          wake: 86400s for deadline of undo:a
          queues: undo:a since 0s
    "#]],
    );
}
