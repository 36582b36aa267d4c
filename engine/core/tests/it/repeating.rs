//! Settling the unknown outcome of a forward action by repeating it.

use expect_test::expect;

use crate::script::check;

const REPEATED: &str = "
    step a(input) by-repeating
    step b(input) by-query
    policy attempts=3 base=0s give-up=60s
    query-policy base=0s
";

#[test]
fn a_step_declared_so_is_settled_by_repeating_it() {
    check(
        REPEATED,
        "begin a\n lost a\n agenda\n begin a\n ok a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → repeat at 0s
        0s     ?
          do: start a#2 in lane reconciliation, until 60s
          do: start b#1 in lane first, until 60s
          wake: 60s for repeat a
          queues: b since 0s
        0s     a#2 started (Repeat)
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
fn repeats_follow_the_delays_of_the_query_policy() {
    check(
        "step a(input) by-repeating\n policy base=0s\n query-policy base=8s cap=8s",
        "begin a\n lost a\n begin a\n due\n begin a\n ok a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → repeat at 7.729s
            0s     (begin a: decide: `a/forward` is RECONCILING, not due to start)
            7.729s a#2 started (Repeat)
            7.729s a#2 succeeded: "a"
            7.729s completed
            = COMPLETED
              a: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn repeats_that_spend_the_attempts_end_on_the_reconciliation_desk_never_in_quarantine() {
    check(
        REPEATED,
        "begin a\n lost a\n begin a\n transient a\n begin a\n persistent a\n begin a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → repeat at 0s
            0s     a#2 started (Repeat)
            0s     a#2 transient (busy) → repeat at 0s
            0s     a#3 started (Repeat)
            0s     a#3 persistent (credential) → desk, attempts-spent
            0s     (begin a: decide: `a/forward` is RECONCILING, not due to start)
            = RUNNING
              a: RECONCILING possible
              b: READY none
              do: start b#1 in lane first, until 60s
              wake: 60s for deadline of b
              queues: b since 0s
              desk: a on reconciliation, attempts-spent since 0s, attempts 3, effect possible, persistent (credential)
        "#]],
    );
}

#[test]
fn a_transient_answer_of_a_repeat_speaks_of_itself_only() {
    check(
        REPEATED,
        "begin a\n lost a\n begin a\n transient a\n begin a\n ok a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → repeat at 0s
        0s     a#2 started (Repeat)
        0s     a#2 transient (busy) → repeat at 0s
        0s     a#3 started (Repeat)
        0s     a#3 succeeded: "a"
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
fn a_hint_of_a_repeat_is_a_lower_bound_for_the_next() {
    check(
        REPEATED,
        "begin a\n lost a\n begin a\n transient a hint=5s\n begin a\n at 5s begin a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → repeat at 0s
            0s     a#2 started (Repeat)
            0s     a#2 transient (busy) → repeat at 5s
            0s     (begin a: decide: `a/forward` is RECONCILING, not due to start)
            5s     a#3 started (Repeat)
            = RUNNING
              a: RECONCILING possible
              b: READY none
              do: start b#1 in lane first, until 60s
              wake: 60s for deadline of b
              runs: a#3 since 5s
              queues: b since 0s
        "#]],
    );
}

#[test]
fn a_refused_repeat_settles_only_where_answers_are_kept() {
    check(
        REPEATED,
        "begin a\n lost a\n begin a\n refuse a\n begin a\n ok a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → repeat at 0s
        0s     a#2 started (Repeat)
        0s     a#2 refused: "no" → repeat at 0s
        0s     a#3 started (Repeat)
        0s     a#3 succeeded: "a"
        = RUNNING
          a: SUCCEEDED applied
          b: READY none
          do: start b#1 in lane first, until 60s
          wake: 60s for deadline of b
          queues: b since 0s
    "#]],
    );
    check(
        "step z(input) by-query\n step a(z) by-repeating keeps-answers\n query-policy base=0s",
        "run z\n begin a\n lost a\n begin a\n refuse a\n run undo:z",
        expect![[r#"
            0s     saga started
            0s     z#1 started (Ready)
            0s     z#1 succeeded: "z"
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → repeat at 0s
            0s     a#2 started (Repeat)
            0s     a#2 refused: "no" → reject
            0s     turned back: a refused
            0s     undo:z#1 started (Ready)
            0s     undo:z#1 succeeded: "Undone"
            0s     compensated
            = COMPENSATED (a refused)
              z: SUCCEEDED applied · undo SUCCEEDED applied
              a: TERMINAL_REJECTED none
        "#]],
    );
}

#[test]
fn repeats_go_on_after_the_turn_and_what_they_bring_about_is_undone() {
    check(
        REPEATED,
        "begin a\n begin b\n lost a\n refuse b\n begin a\n ok a\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     b#1 started (Ready)
        0s     a#1 unknown (timeout) → repeat at 0s
        0s     b#1 refused: "no" → reject
        0s     turned back: b refused
        0s     a#2 started (Repeat)
        0s     a#2 succeeded: "a"
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
fn repeats_without_a_stated_retention_end_with_the_step_deadline() {
    check(
        REPEATED,
        "begin a\n at 60s lost a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        60s    a#1 unknown (timeout) → desk, deadline-passed
        = RUNNING
          a: RECONCILING possible
          b: READY none
          do: tick
          queues: b since 0s
          desk: a on reconciliation, deadline-passed since 60s, attempts 1, effect possible, unknown (timeout)
    "#]],
    );
}

#[test]
fn repeats_with_a_stated_retention_go_on_past_the_step_deadline() {
    check(
        "step a(input) by-repeating retention=1h\n policy give-up=60s\n query-policy base=0s",
        "begin a\n at 90s lost a\n begin a\n at 120s ok a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            90s    a#1 unknown (timeout) → repeat at 90s
            90s    a#2 started (Repeat)
            120s   a#2 succeeded: "a"
            120s   completed
            = COMPLETED
              a: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn repeats_end_with_the_key_retention() {
    check(
        "step a(input) by-repeating retention=1h\n query-policy base=0s",
        "begin a\n at 3599s lost a\n at 3599.5s agenda\n begin a\n at 3601s lost a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            3599s  a#1 unknown (timeout) → repeat at 3599s
            3599.5s ?
              do: start a#2 in lane reconciliation, until 3600s
              wake: 3600s for repeat a
            3599.5s a#2 started (Repeat)
            3601s  a#2 unknown (timeout) → desk, retention-passed
            = RUNNING
              a: RECONCILING possible
              desk: a on reconciliation, retention-passed since 3601s, attempts 2, effect possible, unknown (timeout)
        "#]],
    );
}

#[test]
fn a_repeat_that_waited_past_the_key_retention_does_not_start() {
    check(
        "step a(input) by-repeating retention=1h\n query-policy base=0s",
        "begin a\n at 3599s lost a\n agenda\n at 3600s begin a\n agenda\n tick",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            3599s  a#1 unknown (timeout) → repeat at 3599s
            3599s  ?
              do: start a#2 in lane reconciliation, until 3600s
              wake: 3600s for repeat a
            3600s  (at 3600s begin a: decide: `a/forward` may not be repeated any more: retention-passed)
            3600s  ?
              do: tick
            3600s  a → desk, retention-passed
            = RUNNING
              a: RECONCILING possible
              desk: a on reconciliation, retention-passed since 3600s, attempts 1, effect possible, unknown (timeout)
        "#]],
    );
}

#[test]
fn a_repeat_that_waited_past_the_step_deadline_does_not_start() {
    check(
        REPEATED,
        "begin a\n at 59s lost a\n at 60s begin a\n tick",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        59s    a#1 unknown (timeout) → repeat at 59s
        60s    (at 60s begin a: decide: `a/forward` may not be repeated any more: deadline-passed)
        60s    b → quarantine, deadline-passed
        60s    a → desk, deadline-passed
        = RUNNING
          a: RECONCILING possible
          b: QUARANTINED none
          desk: a on reconciliation, deadline-passed since 60s, attempts 1, effect possible, unknown (timeout)
          desk: b on quarantine, deadline-passed since 60s, attempts 0, effect none
    "#]],
    );
}

#[test]
fn a_withdrawn_repeat_leaves_the_outcome_unknown() {
    check(
        REPEATED,
        "begin a\n lost a\n begin a\n at 1s withdraw a\n begin a\n ok a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → repeat at 0s
        0s     a#2 started (Repeat)
        1s     a#2 withdrawn
        1s     a#2 started (Repeat)
        1s     a#2 succeeded: "a"
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
fn a_late_success_while_a_repeat_runs_settles_it_and_the_repeats_own_answer_is_news() {
    check(
        REPEATED,
        "begin a\n lost a\n begin a\n ok a#1\n ok a#2",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → repeat at 0s
            0s     a#2 started (Repeat)
            0s     a#1 succeeded: "a"
            0s     news of a#2: applied "a" (it repeats what is recorded)
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
fn the_key_retention_counts_from_the_first_attempt_that_was_sent() {
    check(
        "step a(input) by-repeating retention=1h\n query-policy base=0s",
        "begin a\n at 3000s withdraw a\n begin a\n at 3001s lost a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            3000s  a#1 withdrawn
            3000s  a#1 started (Ready)
            3001s  a#1 unknown (timeout) → repeat at 3001s
            = RUNNING
              a: RECONCILING possible
              do: start a#2 in lane reconciliation, until 6600s
              wake: 6600s for repeat a
        "#]],
    );
}

#[test]
fn a_repeat_after_the_turn_is_not_asked_to_stop_for_it_settles_what_the_turn_must_know() {
    check(
        REPEATED,
        "begin a\n lost a\n begin a\n cancel op1\n agenda\n lost a\n begin a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → repeat at 0s
            0s     a#2 started (Repeat)
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     ?
              runs: a#2 since 0s
            0s     a#2 unknown (timeout) → repeat at 0s
            0s     a#3 started (Repeat)
            = COMPENSATING (cancelled by ann)
              a: RECONCILING possible
              b: SKIPPED none
              runs: a#3 since 0s
        "#]],
    );
}

#[test]
fn an_item_that_is_filed_again_for_the_same_reason_keeps_its_since() {
    check(
        REPEATED,
        "begin a\n lost a\n input-fails a\n at 5s input-fails a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → repeat at 0s
        0s     a persistent (input) → desk, input
        5s     a persistent (input) → desk, input
        = RUNNING
          a: RECONCILING possible
          b: READY none
          do: start b#1 in lane first, until 60s
          wake: 60s for deadline of b
          queues: b since 0s
          desk: a on reconciliation, input since 0s, attempts 1, effect possible, persistent (input)
    "#]],
    );
}

#[test]
fn what_was_taken_and_sent_again_in_vain_is_awaited_as_before() {
    check(
        REPEATED,
        "begin a\n lost a\n accepted a#1\n send-again a op1\n begin a\n transient a\n at 30s agenda",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → repeat at 0s
            0s     a#1 taken → stay
            0s     a to be sent again
            0s     answered op1, SendAgain: accepted
            0s     a#2 started (Ordered)
            0s     a#2 transient (busy) → stay
            30s    ?
              do: start b#1 in lane first, until 60s
              wake: 60s for deadline of a
              awaits: the reply of a since 0s, until 60s
              queues: b since 0s
            = RUNNING
              a: RECONCILING possible
              b: READY none
              do: start b#1 in lane first, until 60s
              wake: 60s for deadline of a
              awaits: the reply of a since 0s, until 60s
              queues: b since 0s
        "#]],
    );
}

#[test]
fn what_only_a_person_can_find_out_and_was_taken_is_awaited_after_a_crash() {
    check(
        "step a(input) by-operator retention=1h\n policy give-up=60s",
        "begin a\n accepted a\n send-again a op1\n begin a\n at 30s crash\n agenda",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 taken → stay
            0s     a to be sent again
            0s     answered op1, SendAgain: accepted
            0s     a#2 started (Ordered)
            30s    claimed
            30s    a unknown (executor-died) → stay
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
fn a_repeat_that_would_start_after_the_deadline_is_not_slept_out() {
    check(
        "step a(input) by-repeating\n policy attempts=4 give-up=10s\n query-policy base=60s cap=60s",
        "begin a\n at 5s lost a\n agenda",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            5s     a#1 unknown (timeout) → desk, deadline-would-pass
            5s     ?
              desk: a on reconciliation, deadline-would-pass since 5s, attempts 1, effect possible, unknown (timeout)
            = RUNNING
              a: RECONCILING possible
              desk: a on reconciliation, deadline-would-pass since 5s, attempts 1, effect possible, unknown (timeout)
        "#]],
    );
}
