//! What two people decide, and what stops the whole saga: close, requested compensations, pause, and notes on
//! desk items.

use expect_test::expect;

use crate::script::check;

const PLAN: &str = "
    step a(input) by-query
    step b(a) by-query
    policy attempts=2 base=0s give-up=60s
    undo-policy attempts=2 base=0s give-up=60s
    query-policy queries=1 base=0s
";

const PAST: &str = "
    step a(input) by-query
    pivot p(a) by-query
    retriable r(p) by-query
    policy attempts=2 base=0s
    undo-policy attempts=2 base=0s
    query-policy queries=1 base=0s
";

#[test]
fn a_saga_that_cannot_be_finished_is_closed_by_two_people() {
    check(
        PLAN,
        "run a\n begin b\n persistent b\n close op1\n agenda\n approve op1 op2 ann\n approve op1 op3\n answer op1\n agenda\n resume b op4\n cancel op5",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     b#1 started (Ready)
        0s     b#1 persistent (credential) → quarantine, persistent
        0s     ann asks to close it, naming []
        0s     answered op1, Close: pending
        0s     ?
          desk: b on quarantine, persistent since 0s, attempts 1, effect none, persistent (credential)
          desk: the saga on approval, approval since 0s, attempts 0, effect none
        0s     (approve op1 op2 ann: decide: another person than the requester has to approve it)
        0s     closed, approved by bob, effects in place [a]
        0s     answered op1, Close: accepted
        0s     answered op3, Approve: accepted
          op1 stands at: accepted
        0s     ?
        0s     (resume b op4: decide: the saga has ended)
        0s     answered op5, Cancel: too late
        = CLOSED
          a: SUCCEEDED applied
          b: QUARANTINED none
    "#]],
    );
}

#[test]
fn a_closing_names_every_effect_that_is_possible_or_partial() {
    check(
        PLAN,
        "run a\n begin b\n lost b\n close op1\n close op2 b\n approve op2 op3",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     b#1 started (Ready)
        0s     b#1 unknown (timeout) → query at 0s
        0s     (close op1: decide: the effect of `b/forward` is possible: the closing has to name it)
        0s     ann asks to close it, naming [b]
        0s     answered op2, Close: pending
        0s     closed, approved by bob, effects in place [a, b]
        0s     answered op2, Close: accepted
        0s     answered op3, Approve: accepted
        = CLOSED
          a: SUCCEEDED applied
          b: RECONCILING possible
    "#]],
    );
}

#[test]
fn what_became_possible_after_the_request_has_to_be_named_too() {
    check(
        PLAN,
        "run a\n close op1\n begin b\n approve op1 op2\n lost b\n approve op1 op3\n deny op1 op4\n close op5 b\n approve op5 op6",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     ann asks to close it, naming []
        0s     answered op1, Close: pending
        0s     b#1 started (Ready)
        0s     (approve op1 op2: decide: an attempt of `b/forward` is running: wait for its answer)
        0s     b#1 unknown (timeout) → query at 0s
        0s     (approve op1 op3: decide: the effect of `b/forward` is possible: the closing has to name it)
        0s     op1 denied by bob
        0s     answered op1, Close: denied by bob: she has one
        0s     answered op4, Deny: accepted
        0s     ann asks to close it, naming [b]
        0s     answered op5, Close: pending
        0s     closed, approved by bob, effects in place [a, b]
        0s     answered op5, Close: accepted
        0s     answered op6, Approve: accepted
        = CLOSED
          a: SUCCEEDED applied
          b: RECONCILING possible
    "#]],
    );
}

#[test]
fn no_saga_is_closed_while_an_attempt_runs() {
    check(
        PLAN,
        "begin a\n close op1\n ok a\n close op2\n begin b\n approve op2 op3",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     (close op1: decide: an attempt of `a/forward` is running: wait for its answer)
        0s     a#1 succeeded: "a"
        0s     ann asks to close it, naming []
        0s     answered op2, Close: pending
        0s     b#1 started (Ready)
        0s     (approve op2 op3: decide: an attempt of `b/forward` is running: wait for its answer)
        = RUNNING
          a: SUCCEEDED applied
          b: RUNNING possible
          runs: b#1 since 0s
          desk: the saga on approval, approval since 0s, attempts 0, effect none
    "#]],
    );
}

#[test]
fn a_denied_closing_is_off_and_the_saga_goes_on() {
    check(
        PLAN,
        "run a\n close op1\n deny op1 op2\n answer op1\n agenda\n close op3\n close op4",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     ann asks to close it, naming []
        0s     answered op1, Close: pending
        0s     op1 denied by bob
        0s     answered op1, Close: denied by bob: she has one
        0s     answered op2, Deny: accepted
          op1 stands at: denied by bob: she has one
        0s     ?
          do: start b#1 in lane first, until 60s
          wake: 60s for deadline of b
          queues: b since 0s
        0s     ann asks to close it, naming []
        0s     answered op3, Close: pending
        0s     (close op4: decide: `ann` asked to close it already, and waits for another person)
        = RUNNING
          a: SUCCEEDED applied
          b: READY none
          do: start b#1 in lane first, until 60s
          wake: 60s for deadline of b
          queues: b since 0s
          desk: the saga on approval, approval since 0s, attempts 0, effect none
    "#]],
    );
}

#[test]
fn a_saga_that_ends_by_itself_answers_the_request_to_close_it() {
    check(
        PLAN,
        "run a\n close op1\n run b\n answer op1\n close op2",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     ann asks to close it, naming []
        0s     answered op1, Close: pending
        0s     b#1 started (Ready)
        0s     b#1 succeeded: "b"
        0s     completed
        0s     answered op1, Close: too late
          op1 stands at: too late
        0s     (close op2: decide: the saga has ended)
        = COMPLETED
          a: SUCCEEDED applied
          b: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_turned_saga_is_closed_with_a_compensation_that_cannot_be_made() {
    check(
        PLAN,
        "run a\n begin b\n refuse b\n begin undo:a\n partial undo:a\n close op1 undo:a\n approve op1 op2",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     b#1 started (Ready)
        0s     b#1 refused: "no" → reject
        0s     turned back: b refused
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 took effect in part → quarantine, partial
        0s     ann asks to close it, naming [undo:a]
        0s     answered op1, Close: pending
        0s     closed, approved by bob, effects in place [a, undo:a]
        0s     answered op1, Close: accepted
        0s     answered op2, Approve: accepted
        = CLOSED (b refused)
          a: SUCCEEDED applied · undo QUARANTINED partial
          b: TERMINAL_REJECTED none
    "#]],
    );
}

#[test]
fn a_wish_is_answered_too_late_by_the_closing() {
    check(
        PAST,
        "run a\n begin p\n partial p\n cancel op1\n close op2 p\n approve op2 op3\n answer op1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     p#1 took effect in part → quarantine, partial
        0s     wish of op1: cancelled by ann
        0s     answered op1, Cancel: pending
        0s     ann asks to close it, naming [p]
        0s     answered op2, Close: pending
        0s     answered op1, Cancel: too late
        0s     closed, approved by bob, effects in place [a, p]
        0s     answered op2, Close: accepted
        0s     answered op3, Approve: accepted
          op1 stands at: too late
        = CLOSED
          a: SUCCEEDED applied
          p: QUARANTINED partial
          r: PENDING none
    "#]],
    );
}

#[test]
fn a_requested_compensation_waits_for_another_person() {
    check(
        PAST,
        "run a\n run p\n compensate m1:a op1\n agenda\n begin m1:a\n approve m1:a op2 ann\n approve m1:a op3\n answer op1\n run m1:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 succeeded: "p"
            0s     m1:a requested by ann
            0s     answered op1, Compensate: pending
            0s     ?
              do: start r#1 in lane first, until 86400s
              wake: 86400s for deadline of r
              queues: r since 0s
              desk: m1:a on approval, approval since 0s, attempts 0, effect none
            0s     (begin m1:a: decide: `a/manual:00000000-0000-0000-0000-000000000001` is PENDING, not due to start)
            0s     (approve m1:a op2 ann: decide: another person than the requester has to approve it)
            0s     a/manual:00000000-0000-0000-0000-000000000001 approved by bob
            0s     answered op1, Compensate: accepted
            0s     answered op3, Approve: accepted
              op1 stands at: accepted
            0s     m1:a#1 started (Ready)
            0s     m1:a#1 succeeded: "Undone"
            = RUNNING
              a: SUCCEEDED applied · m1:a SUCCEEDED applied
              p: SUCCEEDED applied
              r: READY none
              do: start r#1 in lane first, until 86400s
              wake: 86400s for deadline of r
              queues: r since 0s
        "#]],
    );
}

#[test]
fn a_requested_compensation_that_a_policy_allows_runs_at_once() {
    check(
        PAST,
        "run a\n run p\n run r\n compensate m1:a op1 by-policy\n agenda\n run m1:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     p#1 succeeded: "p"
        0s     r#1 started (Ready)
        0s     r#1 succeeded: "r"
        0s     completed
        0s     m1:a requested by ann, approved by policy refunds
        0s     answered op1, Compensate: accepted
        0s     ?
          do: start m1:a#1 in lane compensation, until 86400s
          wake: 86400s for deadline of m1:a
          queues: m1:a since 0s
        0s     m1:a#1 started (Ready)
        0s     m1:a#1 succeeded: "Undone"
        = COMPLETED
          a: SUCCEEDED applied · m1:a SUCCEEDED applied
          p: SUCCEEDED applied
          r: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn the_same_id_of_a_requested_compensation_again_is_the_first_request() {
    check(
        PAST,
        "run a\n run p\n compensate m1:a op1\n compensate m1:a op1\n compensate m1:a op2\n compensate m2:a op3",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     p#1 succeeded: "p"
        0s     m1:a requested by ann
        0s     answered op1, Compensate: pending
        0s     (compensate m1:a op1: nothing new)
        0s     answered op2, Compensate: already
        0s     (compensate m2:a op3: decide: `a/manual:00000000-0000-0000-0000-000000000001` is open)
        = RUNNING
          a: SUCCEEDED applied · m1:a PENDING none
          p: SUCCEEDED applied
          r: READY none
          do: start r#1 in lane first, until 86400s
          wake: 86400s for deadline of r
          queues: r since 0s
          desk: m1:a on approval, approval since 0s, attempts 0, effect none
    "#]],
    );
}

#[test]
fn a_denied_compensation_never_runs_and_another_can_be_requested() {
    check(
        PAST,
        "run a\n run p\n compensate m1:a op1\n deny m1:a op2\n answer op1\n begin m1:a\n approve m1:a op3\n compensate m2:a op4",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 succeeded: "p"
            0s     m1:a requested by ann
            0s     answered op1, Compensate: pending
            0s     a/manual:00000000-0000-0000-0000-000000000001 denied by bob
            0s     answered op1, Compensate: denied by bob: she has one
            0s     answered op2, Deny: accepted
              op1 stands at: denied by bob: she has one
            0s     (begin m1:a: decide: `a/manual:00000000-0000-0000-0000-000000000001` is PENDING, not due to start)
            0s     (approve m1:a op3: decide: nothing named `a/manual:00000000-0000-0000-0000-000000000001` waits for approval)
            0s     m2:a requested by ann
            0s     answered op4, Compensate: pending
            = RUNNING
              a: SUCCEEDED applied · m1:a PENDING none · m2:a PENDING none
              p: SUCCEEDED applied
              r: READY none
              do: start r#1 in lane first, until 86400s
              wake: 86400s for deadline of r
              queues: r since 0s
              desk: m2:a on approval, approval since 0s, attempts 0, effect none
        "#]],
    );
}

#[test]
fn what_is_compensated_is_not_compensated_twice() {
    check(
        PAST,
        "run a\n run p\n compensate m1:a op1 by-policy\n run m1:a\n compensate m2:a op2",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     p#1 succeeded: "p"
        0s     m1:a requested by ann, approved by policy refunds
        0s     answered op1, Compensate: accepted
        0s     m1:a#1 started (Ready)
        0s     m1:a#1 succeeded: "Undone"
        0s     (compensate m2:a op2: decide: `a` is compensated)
        = RUNNING
          a: SUCCEEDED applied · m1:a SUCCEEDED applied
          p: SUCCEEDED applied
          r: READY none
          do: start r#1 in lane first, until 86400s
          wake: 86400s for deadline of r
          queues: r since 0s
    "#]],
    );
}

#[test]
fn a_requested_compensation_has_the_same_life_as_any_other() {
    check(
        PAST,
        "run a\n run p\n compensate m1:a op1 by-policy\n begin m1:a\n transient m1:a\n begin m1:a\n lost m1:a\n query m1:a\n found m1:a absent\n retry-now m1:a op2\n query m1:a\n found m1:a undone\n run r",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     p#1 succeeded: "p"
        0s     m1:a requested by ann, approved by policy refunds
        0s     answered op1, Compensate: accepted
        0s     m1:a#1 started (Ready)
        0s     m1:a#1 transient (busy) → retry at 0s
        0s     m1:a#2 started (Retry)
        0s     m1:a#2 unknown (timeout) → query at 0s
        0s     m1:a query 1 started
        0s     m1:a query 1 found absent → desk, queries-spent
        0s     m1:a hurried by a person
        0s     answered op2, RetryNow: accepted
        0s     m1:a query 2 started
        0s     m1:a query 2 found applied "Undone" → done
        0s     r#1 started (Ready)
        0s     r#1 succeeded: "r"
        0s     completed
        = COMPLETED
          a: SUCCEEDED applied · m1:a SUCCEEDED applied
          p: SUCCEEDED applied
          r: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_requested_compensation_that_went_stale_starts_again_with_what_it_found() {
    check(
        PAST,
        "run a\n run p\n compensate m1:a op1 by-policy\n begin m1:a\n stale m1:a\n agenda\n approve m1:a op2\n begin m1:a\n stale m1:a\n deny m1:a op3",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     p#1 succeeded: "p"
        0s     m1:a requested by ann, approved by policy refunds
        0s     answered op1, Compensate: accepted
        0s     m1:a#1 started (Ready)
        0s     m1:a#1 is stale: expected 1, found {}
        0s     ?
          do: start r#1 in lane first, until 86400s
          wake: 86400s for deadline of r
          queues: r since 0s
          desk: m1:a on approval, stale since 0s, attempts 1, effect none
        0s     a/manual:00000000-0000-0000-0000-000000000001 approved by bob
        0s     answered op2, Approve: accepted
        0s     m1:a#2 started (Ready)
        0s     m1:a#2 is stale: expected {}, found {}
        0s     a/manual:00000000-0000-0000-0000-000000000001 denied by bob
        0s     answered op3, Deny: accepted
        = RUNNING
          a: SUCCEEDED applied · m1:a QUARANTINED none
          p: SUCCEEDED applied
          r: READY none
          do: start r#1 in lane first, until 86400s
          wake: 86400s for deadline of r
          queues: r since 0s
          desk: m1:a on quarantine, denied since 0s, attempts 2, effect none
    "#]],
    );
}

#[test]
fn a_requested_compensation_of_a_completed_saga_leaves_it_completed() {
    check(
        PAST,
        "run a\n run p\n run r\n compensate m1:a op1\n approve m1:a op2\n crash\n begin m1:a\n crash\n query m1:a\n found m1:a undone",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 succeeded: "p"
            0s     r#1 started (Ready)
            0s     r#1 succeeded: "r"
            0s     completed
            0s     m1:a requested by ann
            0s     answered op1, Compensate: pending
            0s     a/manual:00000000-0000-0000-0000-000000000001 approved by bob
            0s     answered op1, Compensate: accepted
            0s     answered op2, Approve: accepted
            0s     claimed
            0s     m1:a#1 started (Ready)
            0s     claimed
            0s     m1:a unknown (executor-died) → query at 0s
            0s     m1:a query 1 started
            0s     m1:a query 1 found applied "Undone" → done
            = COMPLETED
              a: SUCCEEDED applied · m1:a SUCCEEDED applied
              p: SUCCEEDED applied
              r: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn an_effect_of_a_closed_saga_can_be_compensated_by_request() {
    check(
        PLAN,
        "run a\n close op1\n approve op1 op2\n compensate m1:a op3 by-policy\n agenda\n run m1:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     ann asks to close it, naming []
        0s     answered op1, Close: pending
        0s     closed, approved by bob, effects in place [a]
        0s     answered op1, Close: accepted
        0s     answered op2, Approve: accepted
        0s     m1:a requested by ann, approved by policy refunds
        0s     answered op3, Compensate: accepted
        0s     ?
          do: start m1:a#1 in lane compensation, until 60s
          wake: 60s for deadline of m1:a
          queues: m1:a since 0s
        0s     m1:a#1 started (Ready)
        0s     m1:a#1 succeeded: "Undone"
        = CLOSED
          a: SUCCEEDED applied · m1:a SUCCEEDED applied
          b: READY none
    "#]],
    );
}

#[test]
fn no_compensation_is_requested_before_the_pivot_or_of_what_has_none() {
    check(
        PAST,
        "run a\n compensate m1:a op1\n run p\n compensate m1:p op2\n compensate m1:nobody op3\n compensate undo:a op4",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     (compensate m1:a op1: decide: the saga is before its pivot: turn it back, and it compensates by itself)
        0s     p#1 started (Ready)
        0s     p#1 succeeded: "p"
        0s     (compensate m1:p op2: decide: the workflow has no compensation of `p`)
        0s     (compensate m1:nobody op3: decide: the workflow has no action `nobody/manual:00000000-0000-0000-0000-000000000001`)
        0s     (compensate undo:a op4: decide: `a/compensation` is not the id of a requested compensation)
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
fn a_paused_saga_starts_nothing_and_what_runs_ends() {
    check(
        PLAN,
        "begin a\n pause op1\n agenda\n ok a\n agenda\n begin b\n pause op2\n unpause op3\n run b",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     paused
        0s     answered op1, Pause: accepted
        0s     ?
          paused: since 0s
          runs: a#1 since 0s
        0s     a#1 succeeded: "a"
        0s     ?
          paused: since 0s
        0s     (begin b: decide: the saga is paused)
        0s     answered op2, Pause: already
        0s     unpaused
        0s     answered op3, Unpause: accepted
        0s     b#1 started (Ready)
        0s     b#1 succeeded: "b"
        0s     completed
        = COMPLETED
          a: SUCCEEDED applied
          b: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_paused_saga_is_asked_about_and_does_not_repeat() {
    check(
        "step a(input) by-query\n step b(input) by-repeating\n query-policy base=0s",
        "begin a\n begin b\n pause op1\n lost a\n lost b\n agenda\n query a\n found a applied\n begin b\n ok b#1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     b#1 started (Ready)
        0s     paused
        0s     answered op1, Pause: accepted
        0s     a#1 unknown (timeout) → query at 0s
        0s     b#1 unknown (timeout) → repeat at 0s
        0s     ?
          do: query a (1)
          paused: since 0s
        0s     a query 1 started
        0s     a query 1 found applied "a" → done
        0s     (begin b: decide: the saga is paused)
        0s     b#1 succeeded: "b"
        0s     completed
        = COMPLETED
          a: SUCCEEDED applied
          b: SUCCEEDED applied
          paused: since 0s
    "#]],
    );
}

#[test]
fn deadlines_run_while_it_is_paused_and_are_decided_when_it_is_unpaused() {
    check(
        PLAN,
        "pause op1\n at 100s tick\n agenda\n unpause op2",
        expect![[r#"
        0s     saga started
        0s     paused
        0s     answered op1, Pause: accepted
        100s   (at 100s tick: nothing new)
        100s   ?
          paused: since 0s
        100s   unpaused
        100s   a → quarantine, deadline-passed
        100s   answered op2, Unpause: accepted
        = RUNNING
          a: QUARANTINED none
          b: PENDING none
          desk: a on quarantine, deadline-passed since 100s, attempts 0, effect none
    "#]],
    );
}

#[test]
fn while_its_workflow_is_paused_a_saga_starts_nothing_and_a_takeover_decides_no_deadline() {
    check(
        PLAN,
        "agenda-paused\n at 100s agenda-paused\n crash-paused\n agenda-paused\n tick",
        expect![[r#"
            0s     saga started
            0s     ?
            100s   ?
            100s   claimed
            100s   ?
            100s   a → quarantine, deadline-passed
            = RUNNING
              a: QUARANTINED none
              b: PENDING none
              desk: a on quarantine, deadline-passed since 100s, attempts 0, effect none
        "#]],
    );
}

#[test]
fn the_saga_deadline_runs_while_it_is_paused_and_is_decided_when_it_is_unpaused() {
    check(
        "deadline 50s\n step a(input) by-query\n step b(a) by-query",
        "run a\n pause op1\n at 60s agenda\n unpause op2",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     paused
        0s     answered op1, Pause: accepted
        60s    ?
          paused: since 0s
        60s    unpaused
        60s    turned back: deadline
        60s    answered op2, Unpause: accepted
        = COMPENSATING (deadline)
          a: SUCCEEDED applied · undo READY none
          b: SKIPPED none
          do: start undo:a#1 in lane compensation, until 86460s
          wake: 86460s for deadline of undo:a
          queues: undo:a since 60s
    "#]],
    );
}

#[test]
fn a_cancel_of_a_paused_saga_is_answered_at_once_and_compensates_when_unpaused() {
    check(
        PLAN,
        "run a\n pause op1\n cancel op2\n agenda\n begin undo:a\n unpause op3\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     paused
        0s     answered op1, Pause: accepted
        0s     turned back: cancelled by ann
        0s     answered op2, Cancel: accepted
        0s     ?
          paused: since 0s
        0s     (begin undo:a: decide: the saga is paused)
        0s     unpaused
        0s     answered op3, Unpause: accepted
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
fn a_pause_outlives_a_takeover() {
    check(
        PLAN,
        "begin a\n pause op1\n crash\n agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     paused
        0s     answered op1, Pause: accepted
        0s     claimed
        0s     a unknown (executor-died) → query at 0s
        0s     ?
          do: query a (1)
          paused: since 0s
        = RUNNING
          a: RECONCILING possible
          b: PENDING none
          do: query a (1)
          paused: since 0s
    "#]],
    );
}

#[test]
fn what_was_taken_is_not_given_up_while_it_is_paused() {
    check(
        "step a(input) by-operator\n step b(a) by-query\n policy give-up=60s",
        "begin a\n accepted a\n pause op1\n at 100s tick\n agenda\n unpause op2",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 taken → stay
        0s     paused
        0s     answered op1, Pause: accepted
        100s   (at 100s tick: nothing new)
        100s   ?
          paused: since 0s
          awaits: the reply of a since 0s, until 60s
        100s   unpaused
        100s   a → desk, deadline-passed
        100s   answered op2, Unpause: accepted
        = RUNNING
          a: RECONCILING possible
          b: PENDING none
          desk: a on reconciliation, deadline-passed since 100s, attempts 1, effect possible
    "#]],
    );
}

#[test]
fn a_retry_that_comes_due_while_it_is_paused_waits() {
    check(
        PLAN,
        "begin a\n transient a hint=5s\n pause op1\n at 9s agenda\n begin a\n unpause op2\n agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 transient (busy) → retry at 5s
        0s     paused
        0s     answered op1, Pause: accepted
        9s     ?
          paused: since 0s
        9s     (begin a: decide: the saga is paused)
        9s     unpaused
        9s     answered op2, Unpause: accepted
        9s     ?
          do: start a#2 in lane retry, until 60s
          wake: 60s for deadline of a
          queues: a since 5s
        = RUNNING
          a: RETRY_SCHEDULED none
          b: PENDING none
          do: start a#2 in lane retry, until 60s
          wake: 60s for deadline of a
          queues: a since 5s
    "#]],
    );
}

#[test]
fn an_ended_saga_is_not_paused() {
    check(
        PLAN,
        "run a\n run b\n pause op1\n unpause op2",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     b#1 started (Ready)
        0s     b#1 succeeded: "b"
        0s     completed
        0s     (pause op1: decide: the saga has ended)
        0s     (unpause op2: decide: the saga is not paused)
        = COMPLETED
          a: SUCCEEDED applied
          b: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn an_item_is_assigned_and_decided_and_nothing_else_changes() {
    check(
        PLAN,
        "begin a\n persistent a\n assign a eve op1\n dispose a wait-for-bank op2\n agenda\n assign b eve op3\n assign - eve op4\n close op5\n assign - zoe op6\n agenda\n assign a zoe op1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 persistent (credential) → quarantine, persistent
        0s     item `a/forward` assigned to eve
        0s     answered op1, Assign: accepted
        0s     item `a/forward` decided: wait-for-bank
        0s     answered op2, SetDisposition: accepted
        0s     ?
          desk: a on quarantine, persistent since 0s, attempts 1, effect none, persistent (credential), assigned to eve, decided: wait-for-bank
        0s     (assign b eve op3: decide: no desk item is named `b/forward`)
        0s     (assign - eve op4: decide: the saga has no desk item of its own)
        0s     ann asks to close it, naming []
        0s     answered op5, Close: pending
        0s     item `` assigned to zoe
        0s     answered op6, Assign: accepted
        0s     ?
          desk: a on quarantine, persistent since 0s, attempts 1, effect none, persistent (credential), assigned to eve, decided: wait-for-bank
          desk: the saga on approval, approval since 0s, attempts 0, effect none, assigned to zoe
        0s     (assign a zoe op1: nothing new)
        = RUNNING
          a: QUARANTINED none
          b: PENDING none
          desk: a on quarantine, persistent since 0s, attempts 1, effect none, persistent (credential), assigned to eve, decided: wait-for-bank
          desk: the saga on approval, approval since 0s, attempts 0, effect none, assigned to zoe
    "#]],
    );
}

#[test]
fn what_was_noted_on_an_item_goes_with_it() {
    check(
        PLAN,
        "begin a\n persistent a\n assign a eve op1\n resume a op2\n begin a\n persistent a\n agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 persistent (credential) → quarantine, persistent
        0s     item `a/forward` assigned to eve
        0s     answered op1, Assign: accepted
        0s     a resumed: 2 attempts, until 60s
        0s     answered op2, Resume: accepted
        0s     a#2 started (Ready)
        0s     a#2 persistent (credential) → quarantine, persistent
        0s     ?
          desk: a on quarantine, persistent since 0s, attempts 2, effect none, persistent (credential)
        = RUNNING
          a: QUARANTINED none
          b: PENDING none
          desk: a on quarantine, persistent since 0s, attempts 2, effect none, persistent (credential)
    "#]],
    );
}

/// `a` was compensated at what its author expects; it moved, and a person decides over both.
#[test]
fn a_compensation_expects_what_its_first_start_said_and_then_what_a_person_approved() {
    check(
        PLAN,
        "run a\n begin b\n refuse b\n begin undo:a expects:{\"version\":1}\n withdraw undo:a\n begin undo:a expects:9\n stale undo:a\n approve undo:a op1\n begin undo:a expects:9\n ok undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b#1 started (Ready)
            0s     b#1 refused: "no" → reject
            0s     turned back: b refused
            0s     undo:a#1 started (Ready), expects {"version":1}
            0s     undo:a#1 withdrawn
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 is stale: expected {"version":1}, found {}
            0s     a/compensation approved by bob
            0s     answered op1, Approve: accepted
            0s     undo:a#2 started (Ready)
            0s     undo:a#2 succeeded: "Undone"
            0s     compensated
            = COMPENSATED (b refused)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: TERMINAL_REJECTED none
        "#]],
    );
}

#[test]
fn what_a_request_expects_stands_against_the_author_and_a_forward_action_expects_nothing() {
    check(
        PAST,
        "begin a expects:9\n ok a\n run p\n compensate m1:a op1 by-policy\n begin m1:a expects:9\n stale m1:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 succeeded: "p"
            0s     m1:a requested by ann, approved by policy refunds
            0s     answered op1, Compensate: accepted
            0s     m1:a#1 started (Ready)
            0s     m1:a#1 is stale: expected 1, found {}
            = RUNNING
              a: SUCCEEDED applied · m1:a QUARANTINED none
              p: SUCCEEDED applied
              r: READY none
              do: start r#1 in lane first, until 86400s
              wake: 86400s for deadline of r
              queues: r since 0s
              desk: m1:a on approval, stale since 0s, attempts 1, effect none
        "#]],
    );
}
