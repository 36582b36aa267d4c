//! What late news must not do: settle what it does not speak of, take back what is known, or contradict what it
//! does not deny. And what it must not lose.

use expect_test::expect;

use crate::script::check;

const KEPT: &str = "
    step a(input) by-query keeps-answers
    policy attempts=3 base=0s
    query-policy queries=3 base=0s
";

const FOUND: &str = "
    step a(input) by-query window=10s
    policy attempts=3 base=0s
    query-policy queries=9 base=0s
";

const FENCE: &str = "step a(input) by-query fence\n query-policy queries=1 base=0s";

const PIVOT: &str = "pivot p(input) by-query keeps-answers\n policy attempts=3 base=0s";

const PAST: &str = "
    step a(input) by-query
    pivot p(a) by-query
    retriable r(p) by-query
    retriable s(r) by-query
    policy attempts=3 base=0s
    query-policy queries=2 base=0s
";

#[test]
fn a_refusal_that_names_no_attempt_is_kept_while_an_attempt_runs() {
    check(
        KEPT,
        "begin a\n refuse a#?\n ok a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     news of a#?: refused "no" (it names no attempt, so it settles none)
        0s     a#1 succeeded: "a"
        0s     completed
        = COMPLETED
          a: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_late_refusal_takes_no_known_partial_effect_away() {
    check(
        PIVOT,
        "begin p\n partial p\n refuse p#?\n refuse p#1",
        expect![[r#"
        0s     saga started
        0s     p#1 started (Ready)
        0s     p#1 took effect in part → quarantine, partial
        0s     news of p#?: refused "no" (it names no attempt, so it settles none)
        0s     news of p#1: refused "no" (its effect is known to be partial, and a person decides)
        = RUNNING
          p: QUARANTINED partial
          desk: p on quarantine, partial since 0s, attempts 1, effect partial
    "#]],
    );
}

#[test]
fn a_known_partial_effect_is_not_unknown_again() {
    check(
        PIVOT,
        "begin p\n partial p\n lost p#1\n accepted p#1\n partial p#1",
        expect![[r#"
        0s     saga started
        0s     p#1 started (Ready)
        0s     p#1 took effect in part → quarantine, partial
        0s     news of p#1: unclear (unknown: timeout) (its effect is known to be partial, and a person decides)
        0s     news of p#1: in progress (its effect is known to be partial, and a person decides)
        0s     news of p#1: partial (its effect is known to be partial, and a person decides)
        = RUNNING
          p: QUARANTINED partial
          desk: p on quarantine, partial since 0s, attempts 1, effect partial
    "#]],
    );
}

#[test]
fn a_partial_answer_that_comes_twice_is_stored_as_a_duplicate() {
    check(
        KEPT,
        "begin a\n partial a\n partial a#1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 took effect in part → done
        0s     turned back: a in part
        0s     news of a#1: partial (it repeats what is recorded)
        = COMPENSATING (a in part)
          a: PARTIAL partial · undo READY none
          do: start undo:a#1 in lane compensation, until 86400s
          wake: 86400s for deadline of undo:a
          queues: undo:a since 0s
    "#]],
    );
}

#[test]
fn a_participant_that_has_taken_what_it_refused_is_asked() {
    check(
        FOUND,
        "begin a\n refuse a\n accepted a#1\n agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 refused: "no" → reject
        0s     turned back: a refused
        0s     compensated
        0s     dispute of a#1: in progress (the participant has taken it, and no effect is recorded)
        0s     ?
          do: query a (1), to fence through 1
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible
        = COMPENSATED (a refused)
          a: TERMINAL_REJECTED possible
          do: query a (1), to fence through 1
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible
    "#]],
    );
}

#[test]
fn a_failure_of_an_earlier_transmission_does_not_contradict_the_one_that_succeeded() {
    check(
        "step a(input) by-repeating retention=1h\n policy attempts=4 base=0s\n query-policy base=0s",
        "begin a\n lost a\n begin a\n ok a\n persistent a#1\n refuse a#1",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → repeat at 0s
            0s     a#2 started (Repeat)
            0s     a#2 succeeded: "a"
            0s     completed
            0s     news of a#1: unclear (persistent: credential) (it speaks of a transmission that is not the one recorded)
            0s     news of a#1: refused "no" (it speaks of a transmission that is not the one recorded)
            = COMPLETED
              a: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_failure_of_one_of_several_transmissions_does_not_contradict_what_a_query_found() {
    check(
        FOUND,
        "begin a\n lost a\n at 11s query a\n found a absent\n begin a\n lost a\n query a\n found a applied\n persistent a#1\n persistent a#2",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            11s    a query 1 started, to fence through 1
            11s    a query 1 found absent → retry at 11s
            11s    a#2 started (Retry)
            11s    a#2 unknown (timeout) → query at 11s
            11s    a query 2 started
            11s    a query 2 found applied "a" → done
            11s    completed
            11s    news of a#1: unclear (persistent: credential) (it speaks of a transmission that is not the one recorded)
            11s    news of a#2: unclear (persistent: credential) (it speaks of a transmission that is not the one recorded)
            = COMPLETED
              a: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_waived_step_that_took_effect_after_all_does_not_turn_the_saga_past_its_pivot() {
    check(
        PAST,
        "run a\n run p\n begin r\n transient r\n waive r op1\n ok r#1\n query r\n found r applied\n agenda",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 succeeded: "p"
            0s     r#1 started (Ready)
            0s     r#1 transient (busy) → retry at 0s
            0s     r waived
            0s     answered op1, Waive: accepted
            0s     dispute of r#1: applied "r" (it took effect, and that is not what is recorded)
            0s     r query 1 started
            0s     r query 1 found applied "r" → desk, contradiction
            0s     ?
              desk: r on discrepancy, contradiction since 0s, attempts 1, effect possible, transient (busy)
              desk: s on quarantine, waived since 0s, attempts 0, effect none
            = RUNNING
              a: SUCCEEDED applied
              p: SUCCEEDED applied
              r: SKIPPED possible
              s: QUARANTINED none
              desk: r on discrepancy, contradiction since 0s, attempts 1, effect possible, transient (busy)
              desk: s on quarantine, waived since 0s, attempts 0, effect none
        "#]],
    );
}

#[test]
fn a_fence_below_the_last_attempt_settles_no_dispute() {
    check(
        "step a(input) by-query window=10s\n step b(a) by-query\n policy attempts=3 base=0s\n query-policy base=0s",
        "begin a\n transient a\n begin a\n ok a\n persistent a#2\n query a\n found a fenced 1\n agenda",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 transient (busy) → retry at 0s
            0s     a#2 started (Retry)
            0s     a#2 succeeded: "a"
            0s     dispute of a#2: unclear (persistent: credential) (it had no effect, and an effect is recorded)
            0s     a query 1 started
            0s     a query 1 found fenced through 1 → desk, contradiction
            0s     ?
              wake: 86400s for deadline of b
              desk: a on discrepancy, contradiction since 0s, attempts 2, effect possible, transient (busy)
            = RUNNING
              a: SUCCEEDED possible
              b: READY none
              wake: 86400s for deadline of b
              desk: a on discrepancy, contradiction since 0s, attempts 2, effect possible, transient (busy)
        "#]],
    );
}

#[test]
fn a_fence_that_a_given_up_query_found_below_the_last_attempt_contradicts_nothing() {
    check(
        FOUND,
        "begin a\n lost a\n at 11s query a\n found a absent\n begin a\n lost a\n query a\n ok a#2\n found a#2 fenced 1",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            11s    a query 1 started, to fence through 1
            11s    a query 1 found absent → retry at 11s
            11s    a#2 started (Retry)
            11s    a#2 unknown (timeout) → query at 11s
            11s    a query 2 started
            11s    a#2 succeeded: "a"
            11s    completed
            11s    news of a#?: fenced through 1 (its query was given up)
            = COMPLETED
              a: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_success_of_an_ended_saga_that_is_found_partial_stays_on_the_desk() {
    check(
        "step a(input) by-operator",
        "run a\n refuse a#1\n person-found a partial op1\n agenda",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     completed
            0s     dispute of a#1: refused "no" (it was refused, and an effect is recorded)
            0s     a found by a person: partial → stay
            0s     answered op1, Found: accepted
            0s     ?
              desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible
            = COMPLETED
              a: SUCCEEDED possible
              desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible
        "#]],
    );
}

/// A compensation that was requested is undone, contradicted, and the saga closed by two people.
const CLOSED_UNDER_DISPUTE: &str = "run a\n run p\n begin r\n persistent r\n compensate m1:a op1 by-policy\n \
    run m1:a\n persistent m1:a#1\n close op2 m1:a\n approve op2 op3 bob";

#[test]
fn a_query_settles_no_dispute_of_a_closed_saga_unless_it_finds_what_is_recorded() {
    check(
        PAST,
        &format!("{CLOSED_UNDER_DISPUTE}\n query m1:a\n found m1:a refused\n agenda"),
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 succeeded: "p"
            0s     r#1 started (Ready)
            0s     r#1 persistent (credential) → quarantine, persistent
            0s     m1:a requested by ann, approved by policy refunds
            0s     answered op1, Compensate: accepted
            0s     m1:a#1 started (Ready)
            0s     m1:a#1 succeeded: "Undone"
            0s     dispute of m1:a#1: unclear (persistent: credential) (it had no effect, and an effect is recorded)
            0s     ann asks to close it, naming [m1:a]
            0s     answered op2, Close: pending
            0s     closed, approved by bob, effects in place [a, m1:a, p]
            0s     answered op2, Close: accepted
            0s     answered op3, Approve: accepted
            0s     m1:a query 1 started
            0s     m1:a query 1 found refused "no" → desk, contradiction
            0s     ?
              desk: m1:a on discrepancy, contradiction since 0s, attempts 1, effect possible
            = CLOSED
              a: SUCCEEDED applied · m1:a SUCCEEDED possible
              p: SUCCEEDED applied
              r: QUARANTINED none
              s: PENDING none
              desk: m1:a on discrepancy, contradiction since 0s, attempts 1, effect possible
        "#]],
    );
}

#[test]
fn a_query_that_finds_what_is_recorded_closes_the_item_of_a_closed_saga() {
    check(
        PAST,
        &format!("{CLOSED_UNDER_DISPUTE}\n query m1:a\n found m1:a undone\n agenda"),
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 succeeded: "p"
            0s     r#1 started (Ready)
            0s     r#1 persistent (credential) → quarantine, persistent
            0s     m1:a requested by ann, approved by policy refunds
            0s     answered op1, Compensate: accepted
            0s     m1:a#1 started (Ready)
            0s     m1:a#1 succeeded: "Undone"
            0s     dispute of m1:a#1: unclear (persistent: credential) (it had no effect, and an effect is recorded)
            0s     ann asks to close it, naming [m1:a]
            0s     answered op2, Close: pending
            0s     closed, approved by bob, effects in place [a, m1:a, p]
            0s     answered op2, Close: accepted
            0s     answered op3, Approve: accepted
            0s     m1:a query 1 started
            0s     m1:a query 1 found applied "Undone" → stay
            0s     dispute of m1:a settled: applied "Undone"
            0s     ?
            = CLOSED
              a: SUCCEEDED applied · m1:a SUCCEEDED applied
              p: SUCCEEDED applied
              r: QUARANTINED none
              s: PENDING none
        "#]],
    );
}

/// A late success meets "nothing to undo".
const NOTHING_TO_UNDO: &str = "begin a\n lost a\n query a\n query-fails a\n cancel op1\n begin undo:a\n ok a#1\n \
    nothing undo:a";

#[test]
fn a_dispute_of_a_closed_saga_does_not_stand_on_the_desk_for_good() {
    check(
        FENCE,
        &format!(
            "{NOTHING_TO_UNDO}\n close op2 a\n approve op2 op3 bob\n agenda\n accept a \"it\" op4\n agenda\n \
             compensate m1:a op5 by-policy\n run m1:a"
        ),
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            0s     a query 1 started
            0s     a query 1 failed: unknown (timeout) → desk, queries-spent
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     undo:a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     undo:a#1 succeeded: "NothingToUndo"
            0s     dispute of a#?: unclear (its compensation found nothing to undo) (it succeeded, and its compensation found nothing to undo)
            0s     ann asks to close it, naming [a]
            0s     answered op2, Close: pending
            0s     closed, approved by bob, effects in place [a]
            0s     answered op2, Close: accepted
            0s     answered op3, Approve: accepted
            0s     ?
              desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible, unknown (timeout)
            0s     a accepted by a person with "it"
            0s     dispute of a settled: applied "it"
            0s     answered op4, Accept: accepted
            0s     ?
            0s     m1:a requested by ann, approved by policy refunds
            0s     answered op5, Compensate: accepted
            0s     m1:a#1 started (Ready)
            0s     m1:a#1 succeeded: "Undone"
            = CLOSED (cancelled by ann)
              a: SUCCEEDED applied · undo SUCCEEDED none · m1:a SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_query_that_finds_the_late_success_of_a_closed_saga_closes_its_item() {
    check(
        FENCE,
        &format!(
            "{NOTHING_TO_UNDO}\n query a\n close op2 a\n approve op2 op3 bob\n found a applied\n agenda"
        ),
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            0s     a query 1 started
            0s     a query 1 failed: unknown (timeout) → desk, queries-spent
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     undo:a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     undo:a#1 succeeded: "NothingToUndo"
            0s     dispute of a#?: unclear (its compensation found nothing to undo) (it succeeded, and its compensation found nothing to undo)
            0s     a query 2 started, to fence through 1
            0s     ann asks to close it, naming [a]
            0s     answered op2, Close: pending
            0s     closed, approved by bob, effects in place [a]
            0s     answered op2, Close: accepted
            0s     answered op3, Approve: accepted
            0s     a query 2 found applied "a" → stay
            0s     dispute of a settled: applied "a"
            0s     ?
            = CLOSED (cancelled by ann)
              a: SUCCEEDED applied · undo SUCCEEDED none
        "#]],
    );
}

#[test]
fn an_effect_that_a_person_did_not_find_in_a_closed_saga_is_not_compensated() {
    check(
        FENCE,
        &format!(
            "{NOTHING_TO_UNDO}\n close op2 a\n approve op2 op3 bob\n person-found a not-applied op4\n agenda\n \
             compensate m1:a op5 by-policy"
        ),
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            0s     a query 1 started
            0s     a query 1 failed: unknown (timeout) → desk, queries-spent
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     undo:a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     undo:a#1 succeeded: "NothingToUndo"
            0s     dispute of a#?: unclear (its compensation found nothing to undo) (it succeeded, and its compensation found nothing to undo)
            0s     ann asks to close it, naming [a]
            0s     answered op2, Close: pending
            0s     closed, approved by bob, effects in place [a]
            0s     answered op2, Close: accepted
            0s     answered op3, Approve: accepted
            0s     a found by a person: absent → stay
            0s     dispute of a settled: absent
            0s     answered op4, Found: accepted
            0s     ?
            0s     (compensate m1:a op5 by-policy: decide: `a` has no effect that is known to be in place)
            = CLOSED (cancelled by ann)
              a: SUCCEEDED none · undo SUCCEEDED none
        "#]],
    );
}

#[test]
fn a_result_of_what_a_person_found_not_applied_is_needed_anew() {
    check(
        PAST,
        "run a\n run p\n run r\n persistent r#1\n query r\n found r unclear\n person-found r not-applied op1\n \
         accept r op2\n accept r \"anew\" op3",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 succeeded: "p"
            0s     r#1 started (Ready)
            0s     r#1 succeeded: "r"
            0s     dispute of r#1: unclear (persistent: credential) (it had no effect, and an effect is recorded)
            0s     r query 1 started
            0s     r query 1 found unclear (status=weird) → desk, contradiction
            0s     r found by a person: absent → stay
            0s     dispute of r settled: absent
            0s     answered op1, Found: accepted
            0s     (accept r op2: decide: another step, or the result, needs the output of `r`: give it)
            0s     r accepted by a person with "anew"
            0s     answered op3, Accept: accepted
            = RUNNING
              a: SUCCEEDED applied
              p: SUCCEEDED applied
              r: SUCCEEDED applied
              s: READY none
              do: start s#1 in lane first, until 86400s
              wake: 86400s for deadline of s
              queues: s since 0s
        "#]],
    );
}

#[test]
fn a_late_success_that_comes_again_after_a_person_had_it_undone_is_a_duplicate() {
    check(
        "step a(input) by-repeating fence\n policy attempts=1\n query-policy base=0s",
        "begin a\n lost a\n cancel op1\n begin undo:a\n nothing undo:a\n ok a#1\n accept a \"it\" op2\n \
         compensate m1:a op3 by-policy\n begin m1:a\n ok m1:a \"Undone\"\n ok a#1\n agenda",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → desk, attempts-spent
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 succeeded: "NothingToUndo"
            0s     compensated
            0s     dispute of a#1: applied "a" (it took effect, and that is not what is recorded)
            0s     a accepted by a person with "it"
            0s     answered op2, Accept: accepted
            0s     m1:a requested by ann, approved by policy refunds
            0s     answered op3, Compensate: accepted
            0s     m1:a#1 started (Ready)
            0s     m1:a#1 succeeded: "Undone"
            0s     news of a#1: applied "a" (that is known, and a requested compensation has undone it)
            0s     ?
            = COMPENSATED (cancelled by ann)
              a: SKIPPED none · undo SUCCEEDED none · m1:a SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_requested_compensation_that_finds_nothing_ends_no_dispute() {
    check(
        "step a(input) by-repeating fence\n policy attempts=1\n query-policy base=0s",
        "begin a\n lost a\n cancel op1\n begin undo:a\n nothing undo:a\n ok a#1\n accept a \"it\" op2\n \
         compensate m1:a op3 by-policy\n begin m1:a\n nothing m1:a\n agenda",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → desk, attempts-spent
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 succeeded: "NothingToUndo"
            0s     compensated
            0s     dispute of a#1: applied "a" (it took effect, and that is not what is recorded)
            0s     a accepted by a person with "it"
            0s     answered op2, Accept: accepted
            0s     m1:a requested by ann, approved by policy refunds
            0s     answered op3, Compensate: accepted
            0s     m1:a#1 started (Ready)
            0s     m1:a#1 succeeded: "NothingToUndo"
            0s     ?
              desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible, unknown (timeout)
            = COMPENSATED (cancelled by ann)
              a: SKIPPED possible · undo SUCCEEDED none · m1:a SUCCEEDED none
              desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible, unknown (timeout)
        "#]],
    );
}

#[test]
fn a_compensation_is_not_found_unmade_while_its_step_is_disputed_too() {
    check(
        "step a(input) by-operator\n step b(a) by-query",
        "run a\n cancel op1\n run undo:a\n persistent a#1\n persistent undo:a#1\n person-found undo:a not-applied op2",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 succeeded: "Undone"
            0s     compensated
            0s     dispute of a#1: unclear (persistent: credential) (it had no effect, and an effect is recorded)
            0s     dispute of undo:a#1: unclear (persistent: credential) (it had no effect, and an effect is recorded)
            0s     (person-found undo:a not-applied op2: decide: its step is disputed, too: settle that first)
            = COMPENSATED (cancelled by ann)
              a: SUCCEEDED possible · undo SUCCEEDED possible
              b: SKIPPED none
              desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible
              desk: undo:a on discrepancy, contradiction since 0s, attempts 1, effect possible
        "#]],
    );
}

#[test]
fn a_failure_of_what_its_compensation_settles_is_kept() {
    check(
        "step a(input) by-repeating fence\n policy attempts=1\n query-policy base=0s",
        "begin a\n lost a\n cancel op1\n transient a#1\n lost a#1\n accepted a#1\n fenced a#1 1\n begin undo:a\n ok undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → desk, attempts-spent
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     news of a#1: unclear (transient: busy) (its compensation settles it)
            0s     news of a#1: unclear (unknown: timeout) (its compensation settles it)
            0s     news of a#1: in progress (its compensation settles it)
            0s     news of a#1: fenced through 1 (its compensation settles it)
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 succeeded: "Undone"
            0s     compensated
            = COMPENSATED (cancelled by ann)
              a: SUCCEEDED applied · undo SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_compensation_that_is_owed_again_and_unknown_again_keeps_its_count_of_attempts() {
    check(
        "step reserve(input) by-query window=5s\n undo-policy attempts=3 base=60s cap=240s\n query-policy base=0s\n \
         step b(reserve) by-query",
        "run reserve\n cancel op1\n begin undo:reserve\n transient undo:reserve\n at 60s begin undo:reserve\n ok undo:reserve\n \
         persistent undo:reserve#2\n person-found undo:reserve not-applied op2\n lost undo:reserve#1\n \
         at 70s query undo:reserve\n found undo:reserve absent",
        expect![[r#"
            0s     saga started
            0s     reserve#1 started (Ready)
            0s     reserve#1 succeeded: "reserve"
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     undo:reserve#1 started (Ready)
            0s     undo:reserve#1 transient (busy) → retry at 45.207s
            60s    undo:reserve#2 started (Retry)
            60s    undo:reserve#2 succeeded: "Undone"
            60s    compensated
            60s    dispute of undo:reserve#2: unclear (persistent: credential) (it had no effect, and an effect is recorded)
            60s    undo:reserve found by a person: absent → stay
            60s    dispute of undo:reserve settled: absent
            60s    answered op2, Found: accepted
            60s    undo:reserve#1 unknown (timeout) → query at 60s
            70s    undo:reserve query 1 started, to fence through 2
            70s    undo:reserve query 1 found absent → retry at 179.728s
            = COMPENSATED (cancelled by ann)
              reserve: SUCCEEDED applied · undo RETRY_SCHEDULED none
              b: SKIPPED none
              wake: 179.728s for retry undo:reserve
        "#]],
    );
}
