//! Persons: cancel in every phase, resume, accept, operation ids.

use expect_test::expect;

use crate::script::{check, play};

const PLAN: &str = "
    step a(input) by-query
    step b(a) by-query
    policy attempts=2 base=0s give-up=10s
    query-policy queries=1 base=0s
";

#[test]
fn a_cancel_before_anything_began_ends_the_saga_compensated() {
    check(
        PLAN,
        "cancel op1",
        expect![[r#"
        0s     saga started
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     compensated
        = COMPENSATED (cancelled by ann)
          a: SKIPPED none
          b: SKIPPED none
    "#]],
    );
}

#[test]
fn a_cancel_while_a_step_runs_waits_for_its_answer() {
    check(
        PLAN,
        "begin a\n cancel op1\n agenda\n ok a\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     ?
          do: stop a
          runs: a#1 since 0s
        0s     a#1 succeeded: "a"
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
fn g29_a_cancel_while_only_a_retry_timer_is_pending_converges_by_itself() {
    check(
        "step a(input) by-query\n policy base=8s",
        "begin a\n transient a\n cancel op1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 transient (busy) → retry at 7.729s
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     compensated
        = COMPENSATED (cancelled by ann)
          a: SKIPPED none
    "#]],
    );
}

#[test]
fn g29_a_cancel_while_a_step_is_unknown_waits_for_the_outcome() {
    check(
        PLAN,
        "begin a\n lost a\n cancel op1\n query a\n found a applied\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0s
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     a query 1 started, to fence through 1
        0s     a query 1 found applied "a" → done
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
fn g29_a_second_cancel_is_answered_already_and_changes_nothing() {
    check(
        PLAN,
        "run a\n cancel op1\n cancel op2\n run undo:a\n cancel op3",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     answered op2, Cancel: already
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     compensated
        0s     answered op3, Cancel: already
        = COMPENSATED (cancelled by ann)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          b: SKIPPED none
    "#]],
    );
}

#[test]
fn g29_a_cancel_that_lost_the_race_with_completion_is_too_late() {
    check(
        PLAN,
        "run a\n run b\n cancel op1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     b#1 started (Ready)
        0s     b#1 succeeded: "b"
        0s     completed
        0s     answered op1, Cancel: too late
        = COMPLETED
          a: SUCCEEDED applied
          b: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_repeated_operation_id_gets_the_stored_answer() {
    check(
        PLAN,
        "run a\n cancel op1\n run undo:a\n cancel op1\n answer op1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     compensated
        0s     (cancel op1: nothing new)
          op1 stands at: accepted
        = COMPENSATED (cancelled by ann)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          b: SKIPPED none
    "#]],
    );
}

#[test]
fn an_operation_id_is_good_for_one_verb() {
    check(
        PLAN,
        "begin a\n persistent a\n resume a op1\n resume a op1\n cancel op1\n accept a op1",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 persistent (credential) → quarantine, persistent
            0s     a resumed: 2 attempts, until 10s
            0s     answered op1, Resume: accepted
            0s     (resume a op1: nothing new)
            0s     (cancel op1: decide: the operation id `op1` was used for Resume before; each operation needs its own)
            0s     (accept a op1: decide: the operation id `op1` was used for Resume before; each operation needs its own)
            = RUNNING
              a: READY none
              b: PENDING none
              do: start a#2 in lane first, until 10s
              wake: 10s for deadline of a
              queues: a since 0s
        "#]],
    );
}

#[test]
fn a_resumed_step_has_a_fresh_budget_of_attempts_and_time() {
    check(
        PLAN,
        "begin a\n transient a\n begin a\n transient a\n at 20s resume a op1\n agenda\n begin a\n transient a\n begin a\n at 29s ok a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 transient (busy) → retry at 0s
            0s     a#2 started (Retry)
            0s     a#2 transient (busy) → quarantine, attempts-spent
            20s    a resumed: 2 attempts, until 30s
            20s    answered op1, Resume: accepted
            20s    ?
              do: start a#3 in lane first, until 30s
              wake: 30s for deadline of a
              queues: a since 20s
            20s    a#3 started (Ready)
            20s    a#3 transient (busy) → retry at 20s
            20s    a#4 started (Retry)
            29s    a#4 succeeded: "a"
            = RUNNING
              a: SUCCEEDED applied
              b: READY none
              do: start b#1 in lane first, until 39s
              wake: 39s for deadline of b
              queues: b since 29s
        "#]],
    );
}

#[test]
fn a_resumed_step_spends_its_fresh_budget_too() {
    check(
        PLAN,
        "begin a\n transient a\n begin a\n transient a\n resume a op1\n begin a\n transient a\n begin a\n transient a\n begin a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 transient (busy) → retry at 0s
            0s     a#2 started (Retry)
            0s     a#2 transient (busy) → quarantine, attempts-spent
            0s     a resumed: 2 attempts, until 10s
            0s     answered op1, Resume: accepted
            0s     a#3 started (Ready)
            0s     a#3 transient (busy) → retry at 0s
            0s     a#4 started (Retry)
            0s     a#4 transient (busy) → quarantine, attempts-spent
            0s     (begin a: decide: `a/forward` is QUARANTINED, not due to start)
            = RUNNING
              a: QUARANTINED none
              b: PENDING none
              desk: a on quarantine, attempts-spent since 0s, attempts 4, effect none, transient (busy)
        "#]],
    );
}

#[test]
fn only_what_is_quarantined_can_be_resumed() {
    check(
        PLAN,
        "resume a op1\n begin a\n resume a op2\n lost a\n resume a op3\n resume nobody op4",
        expect![[r#"
            0s     saga started
            0s     (resume a op1: decide: only a QUARANTINED action can be resumed, and `a/forward` is READY)
            0s     a#1 started (Ready)
            0s     (resume a op2: decide: only a QUARANTINED action can be resumed, and `a/forward` is RUNNING)
            0s     a#1 unknown (timeout) → query at 0s
            0s     (resume a op3: decide: only a QUARANTINED action can be resumed, and `a/forward` is RECONCILING)
            0s     (resume nobody op4: decide: the workflow has no action `nobody/forward`)
            = RUNNING
              a: RECONCILING possible
              b: PENDING none
              do: query a (1)
        "#]],
    );
}

#[test]
fn a_quarantined_step_can_be_accepted_with_a_result() {
    check(
        PLAN,
        "begin a\n persistent a\n accept a op1\n accept a \"by-hand\" op2\n run b",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 persistent (credential) → quarantine, persistent
        0s     (accept a op1: decide: another step, or the result, needs the output of `a`: give it)
        0s     a accepted by a person with "by-hand"
        0s     answered op2, Accept: accepted
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
fn a_result_may_be_missing_only_if_nothing_needs_it() {
    check(
        "step a(input) by-query\n step b(input) by-query after=a",
        "begin a\n persistent a\n accept a op1\n begin b\n persistent b\n accept b op2\n accept b \"it\" op3",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 persistent (credential) → quarantine, persistent
            0s     a accepted by a person with nothing
            0s     answered op1, Accept: accepted
            0s     b#1 started (Ready)
            0s     b#1 persistent (credential) → quarantine, persistent
            0s     (accept b op2: decide: another step, or the result, needs the output of `b`: give it)
            0s     b accepted by a person with "it"
            0s     answered op3, Accept: accepted
            0s     completed
            = COMPLETED
              a: SUCCEEDED applied
              b: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn what_is_being_asked_about_can_be_accepted_and_the_finding_that_comes_then_contradicts_it() {
    check(
        PLAN,
        "begin a\n lost a\n query a\n accept a \"seen\" op1\n found a refused\n run b",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            0s     a query 1 started
            0s     a accepted by a person with "seen"
            0s     answered op1, Accept: accepted
            0s     dispute of a#?: refused "no" (it was refused, and an effect is recorded)
            0s     (begin b: decide: a step that `b` depends on is disputed)
            0s     news of b#0: applied "b" (nothing was ever sent for it)
            = RUNNING
              a: SUCCEEDED possible
              b: READY none
              do: query a (2)
              wake: 10s for deadline of b
              desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible, unknown (timeout)
        "#]],
    );
}

#[test]
fn what_is_running_cannot_be_accepted() {
    check(
        "step a(input) by-repeating\n query-policy base=0s",
        "begin a\n accept a \"it\" op1\n lost a\n begin a\n accept a \"it\" op2\n ok a\n accept a \"it\" op3",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     (accept a "it" op1: decide: only a QUARANTINED or RECONCILING action can be accepted, and `a/forward` is RUNNING)
            0s     a#1 unknown (timeout) → repeat at 0s
            0s     a#2 started (Repeat)
            0s     (accept a "it" op2: decide: an attempt of `a/forward` is running: wait for its answer)
            0s     a#2 succeeded: "a"
            0s     completed
            0s     (accept a "it" op3: decide: the saga has ended)
            = COMPLETED
              a: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn an_accepted_step_is_undone_like_any_other() {
    check(
        PLAN,
        "begin a\n persistent a\n accept a \"it\" op1\n cancel op2\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 persistent (credential) → quarantine, persistent
        0s     a accepted by a person with "it"
        0s     answered op1, Accept: accepted
        0s     turned back: cancelled by ann
        0s     answered op2, Cancel: accepted
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
fn what_a_resume_granted_stands_when_the_policy_changes() {
    let mut trial = play(PLAN, "begin a\n persistent a\n resume a op1\n begin a\n transient a");
    trial.plan.steps[0].retry.max_attempts = 1;
    trial.plan.steps[0].retry.give_up_after = std::time::Duration::from_secs(1);
    trial.read("at 9s begin a\n ok a");
    assert!(trial.told().contains("a#3 succeeded"), "{}", trial.told());
}

#[test]
fn a_compensation_of_a_closed_saga_is_not_resumed() {
    check(
        "step a(input) by-operator\n step b(a) by-query",
        "run a\n cancel op1\n begin undo:a\n persistent undo:a\n close op2\n approve op2 op3 bob\n resume undo:a op4",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 persistent (credential) → quarantine, persistent
            0s     ann asks to close it, naming []
            0s     answered op2, Close: pending
            0s     closed, approved by bob, effects in place [a]
            0s     answered op2, Close: accepted
            0s     answered op3, Approve: accepted
            0s     (resume undo:a op4: decide: the saga was closed)
            = CLOSED (cancelled by ann)
              a: SUCCEEDED applied · undo QUARANTINED none
              b: SKIPPED none
        "#]],
    );
}

#[test]
fn nothing_is_compensated_in_doubt_while_a_repeat_runs() {
    check(
        "step a(input) by-repeating retention=1h\n policy attempts=4\n query-policy base=0s",
        "begin a\n lost a\n cancel op1\n begin a\n compensate-in-doubt a op2\n lost a\n compensate-in-doubt a op3",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → repeat at 0s
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     a#2 started (Repeat)
            0s     (compensate-in-doubt a op2: decide: an attempt of `a/forward` is running: wait for its answer)
            0s     a#2 unknown (timeout) → repeat at 0s
            0s     a to be compensated in doubt
            0s     answered op3, CompensateInDoubt: accepted
            = COMPENSATING (cancelled by ann)
              a: RECONCILING possible · undo READY none
              do: start undo:a#1 in lane compensation, until 86400s
              wake: 86400s for deadline of undo:a
              queues: undo:a since 0s
        "#]],
    );
}

#[test]
fn no_compensation_is_requested_beside_one_that_a_policy_allowed() {
    check(
        "step a(input) by-query\n pivot p(a) by-query",
        "run a\n run p\n compensate m1:a op1 by-policy\n compensate m2:a op2\n begin m1:a\n compensate m2:a op3",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 succeeded: "p"
            0s     completed
            0s     m1:a requested by ann, approved by policy refunds
            0s     answered op1, Compensate: accepted
            0s     (compensate m2:a op2: decide: `a/manual:00000000-0000-0000-0000-000000000001` is open)
            0s     m1:a#1 started (Ready)
            0s     (compensate m2:a op3: decide: `a/manual:00000000-0000-0000-0000-000000000001` is open)
            = COMPLETED
              a: SUCCEEDED applied · m1:a RUNNING possible
              p: SUCCEEDED applied
              runs: m1:a#1 since 0s
        "#]],
    );
}

#[test]
fn keep_needs_a_time_that_is_still_to_come() {
    check(
        "step a(input) by-query\n query-policy queries=1 base=0s",
        "begin a\n lost a\n query a\n found a unclear\n at 5s keep a 5s op1\n keep a 5.000001s op2",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            0s     a query 1 started
            0s     a query 1 found unclear (status=weird) → desk, queries-spent
            5s     (at 5s keep a 5s op1: decide: that time has passed: let it be asked about now)
            5s     a kept until 5s
            5s     answered op2, Keep: accepted
            = RUNNING
              a: RECONCILING possible
              wake: 5s for query a
              desk: a on reconciliation, queries-spent since 0s, attempts 1, effect possible, unknown (unclear)
        "#]],
    );
}

#[test]
fn a_closing_names_what_took_effect_in_part() {
    check(
        "pivot p(input) by-query",
        "begin p\n partial p\n close op1\n close op2 p\n approve op2 op3 bob",
        expect![[r#"
            0s     saga started
            0s     p#1 started (Ready)
            0s     p#1 took effect in part → quarantine, partial
            0s     (close op1: decide: the effect of `p/forward` is partial: the closing has to name it)
            0s     ann asks to close it, naming [p]
            0s     answered op2, Close: pending
            0s     closed, approved by bob, effects in place [p]
            0s     answered op2, Close: accepted
            0s     answered op3, Approve: accepted
            = CLOSED
              p: QUARANTINED partial
        "#]],
    );
}

#[test]
fn what_was_compensated_is_no_effect_that_a_closing_leaves_in_place() {
    check(
        "step a(input) by-query\n step b(input) by-query\n pivot p(a,b) by-query",
        "run a\n run b\n cancel op1\n run undo:b\n begin undo:a\n persistent undo:a\n close op2\n approve op2 op3 bob",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b#1 started (Ready)
            0s     b#1 succeeded: "b"
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     undo:b#1 started (Ready)
            0s     undo:b#1 succeeded: "Undone"
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 persistent (credential) → quarantine, persistent
            0s     ann asks to close it, naming []
            0s     answered op2, Close: pending
            0s     closed, approved by bob, effects in place [a]
            0s     answered op2, Close: accepted
            0s     answered op3, Approve: accepted
            = CLOSED (cancelled by ann)
              a: SUCCEEDED applied · undo QUARANTINED none
              b: SUCCEEDED applied · undo SUCCEEDED applied
              p: SKIPPED none
        "#]],
    );
}
