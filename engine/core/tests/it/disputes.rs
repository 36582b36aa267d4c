//! Disputes: news that contradicts the record neither wins nor loses by arrival. One query, or a person, finds out,
//! and the rule of disputes says what then.

use expect_test::expect;

use crate::script::check;

const ONE: &str = "
    step a(input) by-query
    step b(a) by-query
    policy attempts=3 base=1s cap=1s
    query-policy queries=2 base=0s
";

const PAST: &str = "
    step a(input) by-query
    pivot p(a) by-query
    retriable r(p) by-query
    policy attempts=3 base=0s
    query-policy queries=2 base=0s
";

#[test]
fn g16_a_late_failure_of_a_completed_saga_raises_one_discrepancy() {
    check(
        "step a(input) by-query\n query-policy base=0s",
        "run a\n refuse a#1\n refuse a#1\n ok a#1\n agenda\n query a\n found a applied\n agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     completed
        0s     dispute of a#1: refused "no" (it was refused, and an effect is recorded)
        0s     news of a#1: refused "no" (the outcome is disputed already)
        0s     news of a#1: applied "a" (the outcome is disputed already)
        0s     ?
          do: query a (1)
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible
        0s     a query 1 started
        0s     a query 1 found applied "a" → stay
        0s     dispute of a settled: applied "a"
        0s     ?
        = COMPLETED
          a: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_disputed_success_that_is_found_so_closes_the_item_and_the_saga_goes_on() {
    check(
        ONE,
        "run a\n refuse a#1\n agenda\n query a\n found a applied\n run b",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     dispute of a#1: refused "no" (it was refused, and an effect is recorded)
        0s     ?
          do: query a (1)
          wake: 86400s for deadline of b
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible
        0s     a query 1 started
        0s     a query 1 found applied "a" → stay
        0s     dispute of a settled: applied "a"
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
fn nothing_that_waits_for_a_disputed_step_begins() {
    check(
        "step z(input) by-query\n step a(input) by-query\n step b(a,z) by-query\n query-policy base=0s",
        "run a\n refuse a#1\n run z\n begin b\n query a\n found a applied\n run b",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     dispute of a#1: refused "no" (it was refused, and an effect is recorded)
        0s     z#1 started (Ready)
        0s     z#1 succeeded: "z"
        0s     (begin b: decide: a step that `b` depends on is disputed)
        0s     a query 1 started
        0s     a query 1 found applied "a" → stay
        0s     dispute of a settled: applied "a"
        0s     b#1 started (Ready)
        0s     b#1 succeeded: "b"
        0s     completed
        = COMPLETED
          z: SUCCEEDED applied
          a: SUCCEEDED applied
          b: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_success_before_the_pivot_that_is_found_without_effect_turns_the_saga_back_and_is_not_undone() {
    check(
        "step z(input) by-query\n step a(z) by-query\n pivot p(a) by-query\n query-policy base=0s",
        "run z\n run a\n refuse a#1\n query a\n found a refused\n agenda\n begin undo:a\n run undo:z",
        expect![[r#"
        0s     saga started
        0s     z#1 started (Ready)
        0s     z#1 succeeded: "z"
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     dispute of a#1: refused "no" (it was refused, and an effect is recorded)
        0s     a query 1 started
        0s     a query 1 found refused "no" → stay
        0s     dispute of a settled: refused "no"
        0s     turned back: a contradicted
        0s     ?
          do: start undo:z#1 in lane compensation, until 86400s
          wake: 86400s for deadline of undo:z
          queues: undo:z since 0s
        0s     (begin undo:a: decide: `a/compensation` is PENDING, not due to start)
        0s     undo:z#1 started (Ready)
        0s     undo:z#1 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (a contradicted)
          z: SUCCEEDED applied · undo SUCCEEDED applied
          a: SKIPPED none
          p: SKIPPED none
    "#]],
    );
}

#[test]
fn a_success_that_is_contradicted_while_the_pivot_is_under_way_is_a_wish() {
    check(
        "step a(input) by-query\n pivot p(a) by-query\n query-policy base=0s",
        "run a\n begin p\n refuse a#1\n query a\n found a refused\n agenda\n refuse p\n agenda\n person-found a not-applied op1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     dispute of a#1: refused "no" (it was refused, and an effect is recorded)
        0s     a query 1 started
        0s     a query 1 found refused "no" → desk, contradiction
        0s     wish of time: a contradicted
        0s     ?
          runs: p#1 since 0s
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible
        0s     p#1 refused: "no" → reject
        0s     turned back: a contradicted
        0s     ?
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible
        0s     a found by a person: absent → stay
        0s     dispute of a settled: absent
        0s     answered op1, Found: accepted
        0s     compensated
        = COMPENSATED (a contradicted)
          a: SKIPPED none
          p: TERMINAL_REJECTED none
    "#]],
    );
}

#[test]
fn a_success_past_the_pivot_that_is_found_without_effect_is_for_the_desk() {
    check(
        PAST,
        "run a\n run p\n refuse a#1\n query a\n found a refused\n agenda\n run r\n person-found a not-applied op1\n resume a op2\n run a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     p#1 succeeded: "p"
        0s     dispute of a#1: unclear (persistent: refused) (it had no effect, and an effect is recorded)
        0s     a query 1 started
        0s     a query 1 found refused "no" → desk, contradiction
        0s     ?
          do: start r#1 in lane first, until 86400s
          wake: 86400s for deadline of r
          queues: r since 0s
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible
        0s     r#1 started (Ready)
        0s     r#1 succeeded: "r"
        0s     a found by a person: absent → stay
        0s     dispute of a settled: absent
        0s     answered op1, Found: accepted
        0s     a resumed: 3 attempts, until 86400s
        0s     answered op2, Resume: accepted
        0s     a#2 started (Ready)
        0s     a#2 succeeded: "a"
        0s     completed
        = COMPLETED
          a: SUCCEEDED applied
          p: SUCCEEDED applied
          r: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_pivot_that_is_contradicted_can_only_be_accepted_or_closed() {
    check(
        PAST,
        "run a\n run p\n refuse p#1\n query p\n found p refused\n person-found p not-applied op1\n run r\n agenda\n accept p op2",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     p#1 succeeded: "p"
        0s     dispute of p#1: unclear (persistent: refused) (it had no effect, and an effect is recorded)
        0s     p query 1 started
        0s     p query 1 found refused "no" → desk, contradiction
        0s     (person-found p not-applied op1: decide: what was built on the pivot stands: accept it, or close the saga)
        0s     (begin r: decide: a step that `r` depends on is disputed)
        0s     news of r#0: applied "r" (nothing was ever sent for it)
        0s     ?
          wake: 86400s for deadline of r
          desk: p on discrepancy, contradiction since 0s, attempts 1, effect possible
        0s     p accepted by a person with nothing
        0s     dispute of p settled: applied omitted (a person gave none)
        0s     answered op2, Accept: accepted
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
fn a_success_of_an_ended_saga_that_is_found_without_effect_changes_no_outcome() {
    check(
        "step a(input) by-query\n query-policy base=0s",
        "run a\n refuse a#1\n query a\n found a refused\n person-found a not-applied op1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     completed
        0s     dispute of a#1: refused "no" (it was refused, and an effect is recorded)
        0s     a query 1 started
        0s     a query 1 found refused "no" → desk, contradiction
        0s     a found by a person: absent → stay
        0s     dispute of a settled: absent
        0s     answered op1, Found: accepted
        = COMPLETED
          a: SUCCEEDED none
    "#]],
    );
}

#[test]
fn a_skipped_step_that_took_effect_is_undone_once_while_the_saga_turns() {
    check(
        "step z(input) by-query\n step a(z) by-query\n query-policy base=0s",
        "run z\n begin a\n transient a\n cancel op1\n ok a#1\n begin undo:z\n agenda\n query a\n found a applied\n run undo:a\n run undo:z",
        expect![[r#"
        0s     saga started
        0s     z#1 started (Ready)
        0s     z#1 succeeded: "z"
        0s     a#1 started (Ready)
        0s     a#1 transient (busy) → retry at 0.483s
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     dispute of a#1: applied "a" (it took effect, and that is not what is recorded)
        0s     (begin undo:z: decide: a step that depends on `z` is not settled and undone)
        0s     ?
          do: query a (1), to fence through 1
          wake: 86400s for deadline of undo:z
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible, transient (busy)
        0s     a query 1 started, to fence through 1
        0s     a query 1 found applied "a" → stay
        0s     dispute of a settled: applied "a"
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     undo:z#1 started (Ready)
        0s     undo:z#1 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (cancelled by ann)
          z: SUCCEEDED applied · undo SUCCEEDED applied
          a: SUCCEEDED applied · undo SUCCEEDED applied
    "#]],
    );
}

#[test]
fn g10_a_late_effect_of_a_compensated_saga_is_undone_once_as_a_late_compensation() {
    check(
        "step a(input) by-query\n policy attempts=1\n query-policy base=0s",
        "begin a\n refuse a\n ok a#1\n agenda\n query a\n found a applied\n agenda\n run undo:a\n ok a#1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 refused: "no" → reject
        0s     turned back: a refused
        0s     compensated
        0s     dispute of a#1: applied "a" (it took effect, and that is not what is recorded)
        0s     ?
          do: query a (1), to fence through 1
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible
        0s     a query 1 started, to fence through 1
        0s     a query 1 found applied "a" → stay
        0s     dispute of a settled: applied "a"
        0s     ?
          do: start undo:a#1 in lane compensation, until 86400s
          wake: 86400s for deadline of undo:a
          queues: undo:a since 0s
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     news of a#1: applied "a" (it repeats what is recorded)
        = COMPENSATED (a refused)
          a: SUCCEEDED applied · undo SUCCEEDED applied
    "#]],
    );
}

#[test]
fn g10_a_late_effect_that_meets_a_spent_compensation_is_flagged_for_a_person() {
    check(
        "step a(input) by-repeating fence\n policy attempts=1\n query-policy base=0s",
        "begin a\n lost a\n cancel op1\n begin undo:a\n nothing undo:a\n ok a#1\n agenda\n accept a \"it\" op2\n compensate m1:a op3\n approve m1:a op4\n begin m1:a\n ok m1:a \"Undone\"",
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
            0s     ?
              desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible, unknown (timeout)
            0s     a accepted by a person with "it"
            0s     answered op2, Accept: accepted
            0s     m1:a requested by ann
            0s     answered op3, Compensate: pending
            0s     a/manual:00000000-0000-0000-0000-000000000001 approved by bob
            0s     answered op3, Compensate: accepted
            0s     answered op4, Approve: accepted
            0s     m1:a#1 started (Ready)
            0s     m1:a#1 succeeded: "Undone"
            = COMPENSATED (cancelled by ann)
              a: SKIPPED none · undo SUCCEEDED none · m1:a SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_success_that_meets_nothing_to_undo_is_a_contradiction_whichever_comes_first() {
    check(
        "step a(input) by-query fence\n query-policy queries=1 base=0s",
        "begin a\n lost a\n query a\n query-fails a\n cancel op1\n begin undo:a\n ok a#1\n nothing undo:a\n agenda\n query a\n found a applied\n accept a \"it\" op2\n agenda\n person-found a not-applied op3",
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
        0s     ?
          do: query a (2), to fence through 1
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible, unknown (timeout)
        0s     a query 2 started, to fence through 1
        0s     a query 2 found applied "a" → desk, contradiction
        0s     a accepted by a person with "it"
        0s     answered op2, Accept: accepted
        0s     ?
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible, unknown (timeout)
        0s     a found by a person: absent → stay
        0s     dispute of a settled: absent
        0s     answered op3, Found: accepted
        0s     compensated
        = COMPENSATED (cancelled by ann)
          a: SUCCEEDED none · undo SUCCEEDED none
    "#]],
    );
}

#[test]
fn a_refused_pivot_that_took_effect_is_for_the_desk() {
    check(
        "step a(input) by-query\n pivot p(a) by-query\n query-policy base=0s",
        "run a\n begin p\n refuse p\n ok p#1\n query p\n found p applied\n agenda\n accept p \"it\" op1\n person-found p not-applied op2\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     p#1 refused: "no" → reject
        0s     turned back: p refused
        0s     dispute of p#1: applied "p" (it took effect, and that is not what is recorded)
        0s     p query 1 started, to fence through 1
        0s     p query 1 found applied "p" → desk, contradiction
        0s     ?
          wake: 86400s for deadline of undo:a
          desk: p on discrepancy, contradiction since 0s, attempts 1, effect possible
        0s     p accepted by a person with "it"
        0s     answered op1, Accept: accepted
        0s     p found by a person: absent → stay
        0s     dispute of p settled: absent
        0s     answered op2, Found: accepted
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (p refused)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          p: TERMINAL_REJECTED none
    "#]],
    );
}

#[test]
fn a_dispute_without_a_query_is_for_a_person_at_once() {
    check(
        "step a(input) by-operator\n step b(a) by-operator",
        "run a\n refuse a#1\n agenda\n accept a op1\n run b",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     dispute of a#1: refused "no" (it was refused, and an effect is recorded)
        0s     ?
          wake: 86400s for deadline of b
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible
        0s     a accepted by a person with nothing
        0s     dispute of a settled: applied omitted (a person gave none)
        0s     answered op1, Accept: accepted
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
fn a_dispute_asks_once_and_then_a_person() {
    check(
        ONE,
        "run a\n refuse a#1\n query a\n found a in-progress\n agenda\n accept a op1",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     dispute of a#1: refused "no" (it was refused, and an effect is recorded)
        0s     a query 1 started
        0s     a query 1 found in progress → desk, contradiction
        0s     ?
          wake: 86400s for deadline of b
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible
        0s     a accepted by a person with nothing
        0s     dispute of a settled: applied omitted (a person gave none)
        0s     answered op1, Accept: accepted
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
fn a_query_about_a_dispute_that_fails_is_not_made_again() {
    check(
        ONE,
        "run a\n refuse a#1\n query a\n query-fails a\n agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     dispute of a#1: refused "no" (it was refused, and an effect is recorded)
        0s     a query 1 started
        0s     a query 1 failed: unknown (timeout) → desk, contradiction
        0s     ?
          wake: 86400s for deadline of b
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible, unknown (timeout)
        = RUNNING
          a: SUCCEEDED possible
          b: READY none
          wake: 86400s for deadline of b
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible, unknown (timeout)
    "#]],
    );
}

#[test]
fn a_query_about_a_dispute_that_a_crash_took_is_made_again() {
    check(
        ONE,
        "run a\n refuse a#1\n query a\n crash\n agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     dispute of a#1: refused "no" (it was refused, and an effect is recorded)
        0s     a query 1 started
        0s     claimed
        0s     ?
          do: query a (2)
          wake: 86400s for deadline of b
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible
        = RUNNING
          a: SUCCEEDED possible
          b: READY none
          do: query a (2)
          wake: 86400s for deadline of b
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible
    "#]],
    );
}

#[test]
fn an_absence_settles_a_dispute_only_outside_the_settle_window() {
    check(
        "step a(input) by-query window=10s\n step b(a) by-query\n query-policy base=0s",
        "run a\n refuse a#1\n query a\n found a absent\n agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     dispute of a#1: refused "no" (it was refused, and an effect is recorded)
        0s     a query 1 started
        0s     a query 1 found absent → desk, contradiction
        0s     ?
          wake: 86400s for deadline of b
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible
        = RUNNING
          a: SUCCEEDED possible
          b: READY none
          wake: 86400s for deadline of b
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible
    "#]],
    );
}

#[test]
fn an_absence_after_the_settle_window_settles_a_dispute() {
    check(
        "step a(input) by-query window=10s\n step b(a) by-query\n query-policy base=0s",
        "run a\n at 11s refuse a#1\n query a\n found a absent",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        11s    dispute of a#1: refused "no" (it was refused, and an effect is recorded)
        11s    a query 1 started
        11s    a query 1 found absent → stay
        11s    dispute of a settled: absent
        11s    turned back: a contradicted
        11s    compensated
        = COMPENSATED (a contradicted)
          a: SKIPPED none
          b: SKIPPED none
    "#]],
    );
}

#[test]
fn a_person_who_finds_a_success_partial_has_it_undone() {
    check(
        ONE,
        "run a\n partial a#1\n query a\n found a partial\n agenda\n person-found a partial op1\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     dispute of a#1: partial (it took effect in part, and that is not what is recorded)
        0s     a query 1 started
        0s     a query 1 found partial → desk, contradiction
        0s     ?
          wake: 86400s for deadline of b
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible
        0s     a found by a person: partial → stay
        0s     dispute of a settled: partial
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
fn a_compensation_that_is_contradicted_holds_back_its_ancestors() {
    check(
        "step z(input) by-query\n step a(z) by-query undo-by-operator\n step y(a) by-query\n query-policy base=0s",
        "run z\n run a\n cancel op1\n run undo:a\n transient undo:a#1\n agenda\n begin undo:z\n accept undo:a \"Undone\" op2\n run undo:z",
        expect![[r#"
        0s     saga started
        0s     z#1 started (Ready)
        0s     z#1 succeeded: "z"
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     dispute of undo:a#1: unclear (transient: busy) (it had no effect, and an effect is recorded)
        0s     ?
          wake: 86400s for deadline of undo:z
          desk: undo:a on discrepancy, contradiction since 0s, attempts 1, effect possible
        0s     (begin undo:z: decide: a step that depends on `z` is not settled and undone)
        0s     undo:a accepted by a person with "Undone"
        0s     dispute of undo:a settled: applied "Undone"
        0s     answered op2, Accept: accepted
        0s     undo:z#1 started (Ready)
        0s     undo:z#1 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (cancelled by ann)
          z: SUCCEEDED applied · undo SUCCEEDED applied
          a: SUCCEEDED applied · undo SUCCEEDED applied
          y: SKIPPED none
    "#]],
    );
}

#[test]
fn a_compensation_that_is_found_undone_closes_the_item() {
    check(
        "step a(input) by-query\n step y(a) by-query\n query-policy base=0s",
        "run a\n cancel op1\n run undo:a\n transient undo:a#1\n query undo:a\n found undo:a undone",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     compensated
        0s     dispute of undo:a#1: unclear (transient: busy) (it had no effect, and an effect is recorded)
        0s     undo:a query 1 started
        0s     undo:a query 1 found applied "Undone" → stay
        0s     dispute of undo:a settled: applied "Undone"
        = COMPENSATED (cancelled by ann)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          y: SKIPPED none
    "#]],
    );
}

#[test]
fn a_compensation_that_a_person_finds_not_made_is_owed_again() {
    check(
        "step a(input) by-operator\n step y(a) by-query",
        "run a\n cancel op1\n run undo:a\n transient undo:a#1\n person-found undo:a not-applied op2\n agenda\n resume undo:a op3\n run undo:a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     compensated
        0s     dispute of undo:a#1: unclear (transient: busy) (it had no effect, and an effect is recorded)
        0s     undo:a found by a person: absent → stay
        0s     dispute of undo:a settled: absent
        0s     answered op2, Found: accepted
        0s     ?
          desk: undo:a on quarantine, found-by-person since 0s, attempts 1, effect none
        0s     undo:a resumed: 3 attempts, until 86400s
        0s     answered op3, Resume: accepted
        0s     undo:a#2 started (Ready)
        0s     undo:a#2 succeeded: "Undone"
        = COMPENSATED (cancelled by ann)
          a: SUCCEEDED applied · undo SUCCEEDED applied
          y: SKIPPED none
    "#]],
    );
}

#[test]
fn an_ancestors_compensation_that_was_free_to_begin_waits_for_news_of_a_later_step() {
    check(
        "step z(input) by-query\n step a(z) by-query\n query-policy base=0s",
        "run z\n begin a\n refuse a\n ok a#1\n begin undo:z\n agenda\n query a\n found a applied\n begin undo:z\n run undo:a\n run undo:z",
        expect![[r#"
        0s     saga started
        0s     z#1 started (Ready)
        0s     z#1 succeeded: "z"
        0s     a#1 started (Ready)
        0s     a#1 refused: "no" → reject
        0s     turned back: a refused
        0s     dispute of a#1: applied "a" (it took effect, and that is not what is recorded)
        0s     (begin undo:z: decide: a step that depends on `z` is not settled and undone)
        0s     ?
          do: query a (1), to fence through 1
          wake: 86400s for deadline of undo:z
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible
        0s     a query 1 started, to fence through 1
        0s     a query 1 found applied "a" → stay
        0s     dispute of a settled: applied "a"
        0s     (begin undo:z: decide: a step that depends on `z` is not settled and undone)
        0s     undo:a#1 started (Ready)
        0s     undo:a#1 succeeded: "Undone"
        0s     undo:z#1 started (Ready)
        0s     undo:z#1 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (a refused)
          z: SUCCEEDED applied · undo SUCCEEDED applied
          a: SUCCEEDED applied · undo SUCCEEDED applied
    "#]],
    );
}

#[test]
fn what_a_query_finds_after_the_closing_is_news_once() {
    check(
        "step a(input) by-query\n query-policy queries=1 base=0s",
        "begin a\n lost a\n query a\n close op1 a\n approve op1 op2\n agenda\n found a applied\n found a absent",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            0s     a query 1 started
            0s     ann asks to close it, naming [a]
            0s     answered op1, Close: pending
            0s     closed, approved by bob, effects in place [a]
            0s     answered op1, Close: accepted
            0s     answered op2, Approve: accepted
            0s     ?
            0s     dispute of a#?: applied "a" (the saga was closed while this was open)
            0s     news of a#?: absent (its query was given up)
            = CLOSED
              a: RECONCILING possible
              desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible, unknown (timeout)
        "#]],
    );
}

#[test]
fn news_of_a_closed_saga_is_for_the_desk_and_starts_nothing() {
    check(
        "step a(input) by-query\n query-policy queries=1 base=0s",
        "begin a\n lost a\n query a\n query-fails a\n close op1 a\n approve op1 op2\n ok a#1\n agenda\n ok a#1\n found a applied\n accept a \"it\" op3\n agenda",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 unknown (timeout) → query at 0s
        0s     a query 1 started
        0s     a query 1 failed: unknown (timeout) → desk, queries-spent
        0s     ann asks to close it, naming [a]
        0s     answered op1, Close: pending
        0s     closed, approved by bob, effects in place [a]
        0s     answered op1, Close: accepted
        0s     answered op2, Approve: accepted
        0s     dispute of a#1: applied "a" (the saga was closed while this was open)
        0s     ?
          desk: a on discrepancy, contradiction since 0s, attempts 1, effect possible, unknown (timeout)
        0s     news of a#1: applied "a" (the outcome is disputed already)
        0s     news of a#?: applied "a" (the outcome is disputed already)
        0s     a accepted by a person with "it"
        0s     dispute of a settled: applied "it"
        0s     answered op3, Accept: accepted
        0s     ?
        = CLOSED
          a: RECONCILING possible
    "#]],
    );
}

#[test]
fn news_of_a_read_is_kept_and_disputes_nothing() {
    check(
        "read r(input)\n step a(r) by-query",
        "run r\n refuse r#1\n transient r#1\n ok r#1",
        expect![[r#"
        0s     saga started
        0s     r#1 started (Ready)
        0s     r#1 succeeded: "r"
        0s     news of r#1: refused "no" (a read has no effect)
        0s     news of r#1: unclear (transient: busy) (a read has no effect)
        0s     news of r#1: applied "r" (a read has no effect)
        = RUNNING
          r: SUCCEEDED none
          a: READY none
          do: start a#1 in lane first, until 86400s
          wake: 86400s for deadline of a
          queues: a since 0s
    "#]],
    );
}

#[test]
fn a_success_is_not_found_without_effect_while_an_attempt_of_it_is_under_way() {
    check(
        "step a(input) by-query keeps-answers",
        "begin a\n partial a\n begin undo:a\n ok undo:a#?\n refuse undo:a#?\n person-found undo:a not-applied op1\n transient undo:a#1\n person-found undo:a not-applied op2\n resume undo:a op3\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 took effect in part → done
            0s     turned back: a in part
            0s     undo:a#1 started (Ready)
            0s     undo:a#0 succeeded: "Undone"
            0s     dispute of undo:a#?: unclear (persistent: refused) (it had no effect, and an effect is recorded)
            0s     (person-found undo:a not-applied op1: decide: an attempt of it is under way: wait for its answer)
            0s     news of undo:a#1: unclear (transient: busy) (the outcome is disputed already)
            0s     undo:a found by a person: absent → stay
            0s     dispute of undo:a settled: absent
            0s     answered op2, Found: accepted
            0s     undo:a resumed: 3 attempts, until 86400s
            0s     answered op3, Resume: accepted
            0s     undo:a#2 started (Ready)
            0s     undo:a#2 succeeded: "Undone"
            0s     compensated
            = COMPENSATED (a in part)
              a: PARTIAL partial · undo SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_partial_effect_past_the_pivot_has_no_way_back_and_waits_for_a_person() {
    check(
        PAST,
        "run a\n run p\n refuse a#1\n query a\n found a refused\n person-found a not-applied op1\n partial a#1\n agenda\n accept a \"it\" op2\n run r",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 succeeded: "p"
            0s     dispute of a#1: unclear (persistent: refused) (it had no effect, and an effect is recorded)
            0s     a query 1 started
            0s     a query 1 found refused "no" → desk, contradiction
            0s     a found by a person: absent → stay
            0s     dispute of a settled: absent
            0s     answered op1, Found: accepted
            0s     a#1 took effect in part → quarantine, partial
            0s     ?
              do: start r#1 in lane first, until 86400s
              wake: 86400s for deadline of r
              queues: r since 0s
              desk: a on quarantine, partial since 0s, attempts 1, effect partial
            0s     a accepted by a person with "it"
            0s     answered op2, Accept: accepted
            0s     r#1 started (Ready)
            0s     r#1 succeeded: "r"
            0s     completed
            = COMPLETED
              a: SUCCEEDED applied
              p: SUCCEEDED applied
              r: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_step_whose_requested_compensation_is_open_is_not_found_without_effect() {
    check(
        PAST,
        "run a\n run p\n compensate m1:a op1\n refuse a#1\n query a\n found a refused\n person-found a not-applied op2\n deny m1:a op3\n person-found a not-applied op4\n resume a op5\n run a\n run r",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 succeeded: "p"
            0s     m1:a requested by ann
            0s     answered op1, Compensate: pending
            0s     dispute of a#1: unclear (persistent: refused) (it had no effect, and an effect is recorded)
            0s     a query 1 started
            0s     a query 1 found refused "no" → desk, contradiction
            0s     (person-found a not-applied op2: decide: its compensation is under way: wait for what that finds)
            0s     a/manual:00000000-0000-0000-0000-000000000001 denied by bob
            0s     answered op1, Compensate: denied by bob: she has one
            0s     answered op3, Deny: accepted
            0s     a found by a person: absent → stay
            0s     dispute of a settled: absent
            0s     answered op4, Found: accepted
            0s     a resumed: 3 attempts, until 86400s
            0s     answered op5, Resume: accepted
            0s     a#2 started (Ready)
            0s     a#2 succeeded: "a"
            0s     r#1 started (Ready)
            0s     r#1 succeeded: "r"
            0s     completed
            = COMPLETED
              a: SUCCEEDED applied · m1:a PENDING none
              p: SUCCEEDED applied
              r: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_requested_compensation_waits_for_an_attempt_that_news_has_overtaken() {
    check(
        PAST,
        "begin a\n ok a#?\n run p\n compensate m1:a op1 by-policy\n begin m1:a\n agenda\n ok a#1\n begin m1:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#0 succeeded: "a"
            0s     p#1 started (Ready)
            0s     p#1 succeeded: "p"
            0s     m1:a requested by ann, approved by policy refunds
            0s     answered op1, Compensate: accepted
            0s     (begin m1:a: decide: an attempt of `a` is running: wait for its answer)
            0s     ?
              do: stop a
              do: start r#1 in lane first, until 86400s
              wake: 86400s for deadline of m1:a
              runs: a#1 since 0s
              queues: r since 0s
            0s     news of a#1: applied "a" (it repeats what is recorded)
            0s     m1:a#1 started (Ready)
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
