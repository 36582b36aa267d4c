//! Going forward: order from the graph, facts before effects, the end.

use amends_core::event::Transition;
use amends_core::{Timestamp, TransitionId, replay};
use expect_test::expect;
use uuid::Uuid;

use crate::script::{check, play};

const CHAIN: &str = "
    step reserve(input) by-query
    step auth(reserve) by-query
    pivot capture(auth) by-query
    retriable ship(capture) by-repeating
";

const DIAMOND: &str = "
    step a(input) by-query
    step b(a) by-query
    step c(a) by-query
    step d(b,c) by-query
";

#[test]
fn a_chain_runs_step_by_step_and_completes() {
    check(
        CHAIN,
        "at 1s run reserve\n at 2s run auth\n at 3s run capture\n at 4s run ship",
        expect![[r#"
        0s     saga started
        1s     reserve#1 started (Ready)
        1s     reserve#1 succeeded: "reserve"
        2s     auth#1 started (Ready)
        2s     auth#1 succeeded: "auth"
        3s     capture#1 started (Ready)
        3s     capture#1 succeeded: "capture"
        4s     ship#1 started (Ready)
        4s     ship#1 succeeded: "ship"
        4s     completed
        = COMPLETED
          reserve: SUCCEEDED applied
          auth: SUCCEEDED applied
          capture: SUCCEEDED applied
          ship: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn the_sides_of_a_diamond_run_in_parallel_and_the_join_waits_for_both() {
    check(
        DIAMOND,
        "run a\n agenda\n begin b\n begin c\n begin d\n at 1s ok c\n begin d\n at 2s ok b\n run d",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     ?
              do: start b#1 in lane first, until 86400s
              do: start c#1 in lane first, until 86400s
              wake: 86400s for deadline of b
              queues: b since 0s
              queues: c since 0s
            0s     b#1 started (Ready)
            0s     c#1 started (Ready)
            0s     (begin d: decide: `d/forward` is PENDING, not due to start)
            1s     c#1 succeeded: "c"
            1s     (begin d: decide: `d/forward` is PENDING, not due to start)
            2s     b#1 succeeded: "b"
            2s     d#1 started (Ready)
            2s     d#1 succeeded: "d"
            2s     completed
            = COMPLETED
              a: SUCCEEDED applied
              b: SUCCEEDED applied
              c: SUCCEEDED applied
              d: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn the_pivot_waits_for_every_step_declared_before_it() {
    check(
        "step a(input) by-query\n read look(input)\n pivot pay(input) by-query\n retriable tell(input) by-repeating",
        "run a\n begin pay\n begin tell\n run look\n begin tell\n run pay\n run tell",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     (begin pay: decide: `pay/forward` is PENDING, not due to start)
            0s     (begin tell: decide: `tell/forward` is PENDING, not due to start)
            0s     look#1 started (Ready)
            0s     look#1 succeeded: "look"
            0s     (begin tell: decide: `tell/forward` is PENDING, not due to start)
            0s     pay#1 started (Ready)
            0s     pay#1 succeeded: "pay"
            0s     tell#1 started (Ready)
            0s     tell#1 succeeded: "tell"
            0s     completed
            = COMPLETED
              a: SUCCEEDED applied
              look: SUCCEEDED none
              pay: SUCCEEDED applied
              tell: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_shaped_input_is_journalled_with_the_first_start_only() {
    check(
        "step a(input) by-query shaped\n policy base=0s",
        r#"begin a {"n":1}
           transient a
           begin a {"n":2}
           ok a"#,
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready) with {"n":1}
            0s     a#1 transient (busy) → retry at 0s
            0s     a#2 started (Retry)
            0s     a#2 succeeded: "a"
            0s     completed
            = COMPLETED
              a: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_withdrawn_attempt_was_never_sent_and_does_not_count() {
    check(
        "step a(input) by-query\n policy attempts=1",
        "begin a\n at 1s withdraw a\n agenda\n at 2s begin a\n withdraw a#7\n ok a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            1s     a#1 withdrawn
            1s     ?
              do: start a#1 in lane first, until 86400s
              wake: 86400s for deadline of a
              queues: a since 1s
            2s     a#1 started (Ready)
            2s     (withdraw a#7: decide: attempt 7 of `a/forward` is not running)
            2s     a#1 succeeded: "a"
            2s     completed
            = COMPLETED
              a: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn an_input_that_cannot_be_built_is_quarantined_before_anything_is_sent() {
    check(
        "step a(input) by-query\n step b(a) by-query",
        "run a\n input-fails b\n at 1s resume b op1\n run b",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b persistent (input) → quarantine, input
            1s     b resumed: 3 attempts, until 86401s
            1s     answered op1, Resume: accepted
            1s     b#1 started (Ready)
            1s     b#1 succeeded: "b"
            1s     completed
            = COMPLETED
              a: SUCCEEDED applied
              b: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_result_too_large_to_record_is_a_success_all_the_same() {
    check(
        "step a(input) by-query\n step b(input) by-query after=a",
        "begin a\n omitted a\n run b",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: omitted (too large)
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
fn an_action_that_is_not_ready_cannot_begin() {
    check(
        CHAIN,
        "begin auth\n begin nobody\n begin undo:reserve\n ok reserve\n query reserve\n run reserve\n begin reserve",
        expect![[r#"
            0s     saga started
            0s     (begin auth: decide: `auth/forward` is PENDING, not due to start)
            0s     (begin nobody: decide: the workflow has no action `nobody/forward`)
            0s     (begin undo:reserve: decide: `reserve/compensation` is PENDING, not due to start)
            0s     news of reserve#0: applied "reserve" (nothing was ever sent for it)
            0s     (query reserve: decide: no query of `reserve/forward` is due)
            0s     reserve#1 started (Ready)
            0s     reserve#1 succeeded: "reserve"
            0s     (begin reserve: decide: `reserve/forward` is SUCCEEDED, not due to start)
            = RUNNING
              reserve: SUCCEEDED applied
              auth: READY none
              capture: PENDING none
              ship: PENDING none
              do: start auth#1 in lane first, until 86400s
              wake: 86400s for deadline of auth
              queues: auth since 0s
        "#]],
    );
}

#[test]
fn a_row_without_facts_counts_for_time() {
    let mut trial = play(CHAIN, "run reserve");
    let at = Timestamp(trial.state.at.0 + 3_600_000_000);
    let seq = trial.journal.len() as u64 + 1;
    let refused = Transition {
        seq,
        at,
        actor: "ann".into(),
        id: TransitionId(Uuid::from_u128(u128::from(seq))),
        events: Vec::new(),
    };
    trial.journal.push(refused);
    let state = replay(&trial.plan, &trial.journal).expect("it is a journal");
    assert_eq!(state.at, at, "whoever goes on with a clock behind it decides at that time");
}

#[test]
fn a_clock_behind_the_journal_counts_as_the_journals_time() {
    check(
        CHAIN,
        "at 9s run reserve\n at 4s run auth",
        expect![[r#"
        0s     saga started
        9s     reserve#1 started (Ready)
        9s     reserve#1 succeeded: "reserve"
        9s     auth#1 started (Ready)
        9s     auth#1 succeeded: "auth"
        = RUNNING
          reserve: SUCCEEDED applied
          auth: SUCCEEDED applied
          capture: READY none
          ship: PENDING none
          do: start capture#1 in lane first, until 86409s
          wake: 86409s for deadline of capture
          queues: capture since 9s
    "#]],
    );
}
