//! News that comes late: of transmissions that are not running, of queries that were given up, of what is
//! settled. It is always kept, and settles what it speaks of. (What contradicts the record: `disputes`.)

use expect_test::expect;

use crate::script::check;

const ONE: &str = "
    step a(input) by-query
    step b(a) by-query
    policy attempts=3 base=1s cap=1s
    query-policy queries=2 base=0s
";

const REPEATED: &str = "
    step a(input) by-repeating retention=1h
    policy attempts=4 base=0s
    query-policy base=0s
";

#[test]
fn g04_a_late_success_settles_an_action_that_waits_for_its_retry_and_spends_the_timer() {
    check(
        ONE,
        "begin a\n transient a\n ok a#1\n agenda\n begin a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 transient (busy) → retry at 0.966s
        0s     a#1 succeeded: "a"
        0s     ?
          do: start b#1 in lane first, until 86400s
          wake: 86400s for deadline of b
          queues: b since 0s
        0s     (begin a: decide: `a/forward` is SUCCEEDED, not due to start)
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
fn a_late_success_settles_an_action_that_is_quarantined() {
    check(
        ONE,
        "begin a\n persistent a\n ok a#1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 persistent (credential) → quarantine, persistent
        0s     a#1 succeeded: "a"
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
fn a_late_success_of_a_resumed_action_is_not_sent_again() {
    check(
        ONE,
        "begin a\n persistent a\n resume a op1\n ok a#1\n begin a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 persistent (credential) → quarantine, persistent
        0s     a resumed: 3 attempts, until 86400s
        0s     answered op1, Resume: accepted
        0s     a#1 succeeded: "a"
        0s     (begin a: decide: `a/forward` is SUCCEEDED, not due to start)
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
fn a_late_success_overtakes_the_running_attempt_whose_answer_is_then_a_repeat() {
    check(
        ONE,
        "begin a\n transient a\n at 1s begin a\n ok a#1\n agenda\n ok a#2",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 transient (busy) → retry at 0.966s
        1s     a#2 started (Retry)
        1s     a#1 succeeded: "a"
        1s     ?
          do: stop a
          do: start b#1 in lane first, until 86401s
          wake: 86401s for deadline of b
          runs: a#2 since 1s
          queues: b since 1s
        1s     news of a#2: applied "a" (it repeats what is recorded)
        = RUNNING
          a: SUCCEEDED applied
          b: READY none
          do: start b#1 in lane first, until 86401s
          wake: 86401s for deadline of b
          queues: b since 1s
    "#]],
    );
}

#[test]
fn a_late_success_overtakes_the_running_attempt_whose_failure_is_no_contradiction() {
    check(
        ONE,
        "begin a\n transient a\n at 1s begin a\n ok a#1\n transient a#2",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 transient (busy) → retry at 0.966s
        1s     a#2 started (Retry)
        1s     a#1 succeeded: "a"
        1s     news of a#2: unclear (transient: busy) (it speaks of a transmission that is not the one recorded)
        = RUNNING
          a: SUCCEEDED applied
          b: READY none
          do: start b#1 in lane first, until 86401s
          wake: 86401s for deadline of b
          queues: b since 1s
    "#]],
    );
}

#[test]
fn no_saga_ends_and_no_step_is_undone_while_an_overtaken_attempt_runs() {
    check(
        "step a(input) by-query\n policy base=0s",
        "begin a\n transient a\n begin a\n ok a#1\n turn-back op1\n agenda\n begin undo:a\n refuse a#2\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 transient (busy) → retry at 0s
        0s     a#2 started (Retry)
        0s     a#1 succeeded: "a"
        0s     turned back: turned by ann
        0s     answered op1, TurnBack: accepted
        0s     ?
          do: stop a
          runs: a#2 since 0s
        0s     (begin undo:a: decide: `a/compensation` is PENDING, not due to start)
        0s     news of a#2: refused "no" (it speaks of a transmission that is not the one recorded)
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (turned by ann)
          a: SUCCEEDED applied · undo SUCCEEDED applied
    "#]],
    );
}

#[test]
fn an_overtaken_attempt_of_a_lost_worker_is_forgotten() {
    check(
        "step a(input) by-query\n policy base=0s",
        "begin a\n transient a\n begin a\n ok a#1\n crash",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 transient (busy) → retry at 0s
        0s     a#2 started (Retry)
        0s     a#1 succeeded: "a"
        0s     claimed
        0s     completed
        = COMPLETED
          a: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn an_overtaken_attempt_that_was_never_sent_is_withdrawn() {
    check(
        "step a(input) by-query\n policy base=0s",
        "begin a\n transient a\n begin a\n ok a#1\n withdraw a#2",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 transient (busy) → retry at 0s
        0s     a#2 started (Retry)
        0s     a#1 succeeded: "a"
        0s     a#2 withdrawn
        0s     completed
        = COMPLETED
          a: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_late_refusal_of_a_scheduled_retry_turns_the_saga_back() {
    check(
        "step z(input) by-query\n step a(z) by-query",
        "run z\n begin a\n transient a\n refuse a#1\n agenda",
        expect![[r#"
        0s     saga started
        0s     z#1 started (Ready)
        0s     z#1 succeeded: "z"
        0s     a#1 started (Ready)
        0s     a#1 transient (busy) → retry at 0.483s
        0s     a#1 refused: "no" → reject
        0s     turned back: a refused
        0s     ?
          do: start undo:z#1 in lane compensation, until 86400s
          wake: 86400s for deadline of undo:z
          queues: undo:z since 0s
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
fn a_late_failure_of_a_transmission_that_had_no_effect_changes_nothing() {
    check(
        ONE,
        "begin a\n transient a\n persistent a#1\n fenced a#1 1\n mismatch a#1\n transient a#1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 transient (busy) → retry at 0.966s
        0s     news of a#1: unclear (persistent: credential) (that was known: this transmission had no effect)
        0s     news of a#1: fenced through 1 (that was known: this transmission had no effect)
        0s     news of a#1: unclear (mismatch: mismatch) (it says nothing of this transmission's effect)
        0s     news of a#1: unclear (transient: busy) (that was known: this transmission had no effect)
        = RUNNING
          a: RETRY_SCHEDULED none
          b: PENDING none
          wake: 0.966s for retry a
    "#]],
    );
}

#[test]
fn a_transmission_thought_without_effect_that_is_unknown_again_stops_the_retry() {
    check(
        ONE,
        "begin a\n transient a\n lost a#1\n begin a\n query a\n found a applied",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 transient (busy) → retry at 0.966s
        0s     a#1 unknown (timeout) → query at 0s
        0s     (begin a: decide: `a/forward` is RECONCILING, not due to start)
        0s     a query 1 started
        0s     a query 1 found applied "a" → done
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
fn a_transmission_thought_without_effect_that_was_taken_stops_the_retry() {
    check(
        ONE,
        "begin a\n persistent a\n accepted a#1\n agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 persistent (credential) → quarantine, persistent
        0s     a#1 taken → query at 0s
        0s     ?
          do: query a (1)
          wake: 86400s for deadline of a
        = RUNNING
          a: RECONCILING possible
          b: PENDING none
          do: query a (1)
          wake: 86400s for deadline of a
    "#]],
    );
}

#[test]
fn a_transmission_thought_without_effect_that_is_partial_turns_the_saga_back() {
    check(
        ONE,
        "begin a\n transient a\n partial a#1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 transient (busy) → retry at 0.966s
        0s     a#1 took effect in part → done
        0s     turned back: a in part
        = COMPENSATING (a in part)
          a: PARTIAL partial · undo READY none
          b: SKIPPED none
          do: start undo:a#1 in lane compensation, until 86400s
          wake: 86400s for deadline of undo:a
          queues: undo:a since 0s
    "#]],
    );
}

#[test]
fn a_quarantined_pivot_that_was_partial_after_all_hinders_the_turn() {
    check(
        "pivot p(input) by-query",
        "begin p\n persistent p\n partial p#1\n cancel op1",
        expect![[r#"
        0s     saga started
        0s     p#1 started (Ready)
        0s     p#1 persistent (credential) → quarantine, persistent
        0s     p#1 took effect in part → quarantine, partial
        0s     wish of op1: cancelled by ann
        0s     answered op1, Cancel: pending
        = RUNNING
          p: QUARANTINED partial
          desk: p on quarantine, partial since 0s, attempts 1, effect partial, persistent (credential)
    "#]],
    );
}

#[test]
fn a_transmission_unknown_again_while_another_runs_is_settled_with_it() {
    check(
        ONE,
        "begin a\n transient a\n at 1s begin a\n lost a#1\n agenda\n transient a#2\n query a\n found a fenced 2",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 transient (busy) → retry at 0.966s
        1s     a#2 started (Retry)
        1s     a#1 unknown (timeout) → stay
        1s     ?
          runs: a#2 since 1s
        1s     a#2 transient (busy) → query at 1s
        1s     a query 1 started
        1s     a query 1 found fenced through 2 → retry at 1.266s
        = RUNNING
          a: RETRY_SCHEDULED none
          b: PENDING none
          wake: 1.266s for retry a
    "#]],
    );
}

#[test]
fn a_running_attempt_that_is_withdrawn_beside_news_of_an_unknown_one_is_asked_about() {
    check(
        ONE,
        "begin a\n transient a\n at 1s begin a\n lost a#1\n withdraw a#2\n agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 transient (busy) → retry at 0.966s
        1s     a#2 started (Retry)
        1s     a#1 unknown (timeout) → stay
        1s     a#2 withdrawn
        1s     a → query at 1s
        1s     ?
          do: query a (1)
        = RUNNING
          a: RECONCILING possible
          b: PENDING none
          do: query a (1)
    "#]],
    );
}

#[test]
fn an_answer_beside_another_unknown_transmission_settles_only_itself() {
    check(
        REPEATED,
        "begin a\n lost a\n begin a\n lost a\n transient a#1\n agenda\n persistent a#2",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → repeat at 0s
        0s     a#2 started (Repeat)
        0s     a#2 unknown (timeout) → repeat at 0s
        0s     a#1 transient (busy) → stay
        0s     ?
          do: start a#3 in lane reconciliation, until 3600s
          wake: 3600s for repeat a
        0s     a#2 persistent (credential) → quarantine, persistent
        = RUNNING
          a: QUARANTINED none
          desk: a on quarantine, persistent since 0s, attempts 2, effect none, persistent (credential)
    "#]],
    );
}

#[test]
fn a_refusal_beside_another_unknown_transmission_settles_only_itself() {
    check(
        REPEATED,
        "begin a\n lost a\n begin a\n lost a\n refuse a#1\n agenda\n refuse a#2",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → repeat at 0s
        0s     a#2 started (Repeat)
        0s     a#2 unknown (timeout) → repeat at 0s
        0s     a#1 refused: "no" → stay
        0s     ?
          do: start a#3 in lane reconciliation, until 3600s
          wake: 3600s for repeat a
        0s     a#2 refused: "no" → reject
        0s     turned back: a refused
        0s     compensated
        = COMPENSATED (a refused)
          a: TERMINAL_REJECTED none
    "#]],
    );
}

#[test]
fn a_refusal_speaks_for_all_where_answers_are_kept() {
    check(
        "step a(input) by-repeating retention=1h keeps-answers\n policy attempts=4\n query-policy base=0s",
        "begin a\n lost a\n begin a\n lost a\n refuse a#1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → repeat at 0s
        0s     a#2 started (Repeat)
        0s     a#2 unknown (timeout) → repeat at 0s
        0s     a#1 refused: "no" → reject
        0s     turned back: a refused
        0s     compensated
        = COMPENSATED (a refused)
          a: TERMINAL_REJECTED none
    "#]],
    );
}

#[test]
fn a_late_partial_beside_another_unknown_transmission_is_kept_and_settles_nothing() {
    check(
        REPEATED,
        "begin a\n lost a\n begin a\n partial a#1\n ok a#2",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → repeat at 0s
        0s     a#2 started (Repeat)
        0s     news of a#1: partial (another transmission is running or unknown, and decides)
        0s     a#2 succeeded: "a"
        0s     completed
        = COMPLETED
          a: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn what_is_known_of_an_unknown_transmission_is_news_and_moves_nothing() {
    check(
        ONE,
        "begin a\n lost a\n lost a#1\n accepted a#1\n accepted a#1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0s
        0s     news of a#1: unclear (unknown: timeout) (that was known: its outcome is unknown)
        0s     a#1 taken → query at 0s
        0s     news of a#1: in progress (that was known: it was accepted)
        = RUNNING
          a: RECONCILING possible
          b: PENDING none
          do: query a (1)
          wake: 86400s for deadline of a
    "#]],
    );
}

#[test]
fn an_answer_that_names_no_attempt_can_be_a_success() {
    check(
        ONE,
        "begin a\n lost a\n ok a#?",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0s
        0s     a#0 succeeded: "a"
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
fn an_answer_that_names_no_attempt_refuses_only_where_answers_are_kept() {
    check(
        ONE,
        "begin a\n lost a\n refuse a#?\n transient a#?\n lost a#?\n partial a#?\n agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0s
        0s     news of a#?: refused "no" (it names no attempt, so it settles none)
        0s     news of a#?: unclear (transient: busy) (it names no attempt, so it settles none)
        0s     news of a#?: unclear (unknown: timeout) (it names no attempt, so it settles none)
        0s     news of a#?: partial (it names no attempt, so it settles none)
        0s     ?
          do: query a (1)
        = RUNNING
          a: RECONCILING possible
          b: PENDING none
          do: query a (1)
    "#]],
    );
}

#[test]
fn an_answer_that_names_no_attempt_refuses_where_answers_are_kept() {
    check(
        "step a(input) by-query keeps-answers",
        "begin a\n lost a\n refuse a#?",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0.033s
        0s     a#0 refused: "no" → reject
        0s     turned back: a refused
        0s     compensated
        = COMPENSATED (a refused)
          a: TERMINAL_REJECTED none
    "#]],
    );
}

#[test]
fn an_answer_of_an_attempt_that_was_never_made_is_kept_and_moves_nothing() {
    check(
        ONE,
        "ok a#1\n ok b#1\n begin a\n transient a\n refuse a#7\n lost a#0\n agenda",
        expect![[r#"
        0s     saga started
        0s     news of a#1: applied "a" (nothing was ever sent for it)
        0s     news of b#1: applied "b" (nothing was ever sent for it)
        0s     a#1 started (Ready)
        0s     a#1 transient (busy) → retry at 0.966s
        0s     news of a#7: refused "no" (no such attempt was made)
        0s     news of a#0: unclear (unknown: timeout) (no such attempt was made)
        0s     ?
          wake: 0.966s for retry a
        = RUNNING
          a: RETRY_SCHEDULED none
          b: PENDING none
          wake: 0.966s for retry a
    "#]],
    );
}

#[test]
fn a_finding_of_a_query_that_was_given_up_settles_if_it_is_a_success() {
    check(
        ONE,
        "begin a\n lost a\n query a\n query-fails a\n found a applied",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0s
        0s     a query 1 started
        0s     a query 1 failed: unknown (timeout) → query at 0s
        0s     a#0 succeeded: "a"
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
fn a_finding_of_a_query_that_was_given_up_is_kept_if_it_is_not() {
    check(
        ONE,
        "begin a\n lost a\n query a\n query-fails a\n found a absent\n found a refused\n agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0s
        0s     a query 1 started
        0s     a query 1 failed: unknown (timeout) → query at 0s
        0s     news of a#?: absent (its query was given up)
        0s     news of a#?: refused "no" (it names no attempt, so it settles none)
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
fn g16_what_repeats_the_settled_outcome_is_stored_as_a_duplicate() {
    check(
        ONE,
        "begin a\n ok a\n ok a#1\n lost a#1\n mismatch a#1\n cancel op1\n run undo:a\n ok a#1\n ok undo:a#1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     news of a#1: applied "a" (it repeats what is recorded)
        0s     news of a#1: unclear (unknown: timeout) (it does not contradict what is recorded)
        0s     news of a#1: unclear (mismatch: mismatch) (it does not contradict what is recorded)
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     compensated
        0s     news of a#1: applied "a" (it repeats what is recorded)
        0s     news of undo:a#1: applied "Undone" (it repeats what is recorded)
        = COMPENSATED (cancelled by ann)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          b: SKIPPED none
    "#]],
    );
}

#[test]
fn g16_a_late_success_of_a_compensated_step_has_no_effect() {
    check(
        ONE,
        "run a\n run b\n ok a#1\n cancel op1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     b#1 started (Ready)
        0s     b#1 succeeded: "b"
        0s     completed
        0s     news of a#1: applied "a" (it repeats what is recorded)
        0s     answered op1, Cancel: too late
        = COMPLETED
          a: SUCCEEDED applied
          b: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_step_that_comes_again_after_its_compensation_and_is_closed_out_contradicts_nothing() {
    check(
        ONE,
        "run a\n cancel op1\n begin undo:a\n fenced a#1 4294967295\n ok undo:a \"Undone\"\n fenced a#1 4294967295",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     undo:a#1 started (Ready)
            0s     news of a#1: fenced through 4294967295 (its compensation has closed it out, whatever it did before)
            0s     undo:a#1 succeeded: "Undone"
            0s     compensated
            0s     news of a#1: fenced through 4294967295 (its compensation has closed it out, whatever it did before)
            = COMPENSATED (cancelled by ann)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: SKIPPED none
        "#]],
    );
    // Nor where a person requested its compensation.
    check(
        "step a(input) by-query\n pivot p(a) by-query\n retriable r(p) by-query",
        "run a\n run p\n compensate m1:a op1 by-policy\n begin m1:a\n fenced a#1 4294967295",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 succeeded: "p"
            0s     m1:a requested by ann, approved by policy refunds
            0s     answered op1, Compensate: accepted
            0s     m1:a#1 started (Ready)
            0s     news of a#1: fenced through 4294967295 (its compensation has closed it out, whatever it did before)
            = RUNNING
              a: SUCCEEDED applied · m1:a RUNNING possible
              p: SUCCEEDED applied
              r: READY none
              do: start r#1 in lane first, until 86400s
              wake: 86400s for deadline of r
              runs: m1:a#1 since 0s
              queues: r since 0s
        "#]],
    );
}

#[test]
fn a_success_that_is_closed_out_by_anything_but_its_compensation_is_contradicted() {
    check(
        ONE,
        "run a\n fenced a#1 4294967295",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     dispute of a#1: fenced through 4294967295 (it had no effect, and an effect is recorded)
        = RUNNING
          a: SUCCEEDED possible
          b: READY none
          do: query a (1)
          wake: 86400s for deadline of b
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible
    "#]],
    );
    check(
        ONE,
        "run a\n cancel op1\n begin undo:a\n fenced a#1 1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     undo:a#1 started (Ready)
        0s     dispute of a#1: fenced through 1 (it had no effect, and an effect is recorded)
        = COMPENSATING (cancelled by ann)
          a: SUCCEEDED possible · undo RUNNING possible
          b: SKIPPED none
          do: query a (1), to fence through 1
          runs: undo:a#1 since 0s
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible
    "#]],
    );
}
