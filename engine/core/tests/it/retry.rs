//! The decision after a failed attempt, in its order, and the delays.

use std::time::Duration;

use amends_core::event::{FailureKind, JournalEvent, Next};
use amends_core::machine::{Attempted, Command};
use amends_core::plan::policy::{full_jitter, upper};
use amends_core::{ActionId, RequestId};
use expect_test::expect;
use uuid::Uuid;

use crate::plan_text::plan;
use crate::script::{Trial, check, failure};
use crate::story::BIRTH;

#[test]
fn a_transient_failure_is_retried_after_a_delay_until_it_succeeds() {
    check(
        "step a(input) by-query\n policy attempts=3 base=1s cap=8s",
        "begin a\n at 1s transient a\n begin a\n agenda\n due\n begin a\n transient a\n due\n run a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            1s     a#1 transient (busy) → retry at 1.966s
            1s     (begin a: decide: `a/forward` is RETRY_SCHEDULED, not due to start)
            1s     ?
              wake: 1.966s for retry a
            1.966s a#2 started (Retry)
            1.966s a#2 transient (busy) → retry at 2.499s
            2.499s a#3 started (Retry)
            2.499s a#3 succeeded: "a"
            2.499s completed
            = COMPLETED
              a: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn position_1_a_possible_effect_is_reconciled_whatever_else_holds() {
    // Turned, past the deadline and out of attempts: and yet it is asked about, for money may have moved.
    check(
        "step a(input) by-query\n step b(input) by-query\n policy attempts=1 give-up=10s",
        "begin a\n begin b\n at 20s refuse b\n lost a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     b#1 started (Ready)
            20s    b#1 refused: "no" → reject
            20s    turned back: b refused
            20s    a#1 unknown (timeout) → query at 20.033s
            = COMPENSATING (b refused)
              a: RECONCILING possible
              b: TERMINAL_REJECTED none
              wake: 20.033s for query a
        "#]],
    );
}

#[test]
fn position_2_a_saga_that_turned_back_retries_nothing_forward() {
    check(
        "step a(input) by-query\n step b(input) by-query\n policy attempts=1 give-up=10s",
        "begin a\n begin b\n at 20s refuse b\n transient a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     b#1 started (Ready)
            20s    b#1 refused: "no" → reject
            20s    turned back: b refused
            20s    a#1 transient (busy) → skip, turned
            20s    compensated
            = COMPENSATED (b refused)
              a: SKIPPED none
              b: TERMINAL_REJECTED none
        "#]],
    );
}

#[test]
fn position_2_a_wish_to_turn_stops_the_retries_of_the_pivot() {
    check(
        "pivot p(input) by-query",
        "begin p\n at 1s cancel op1\n transient p",
        expect![[r#"
        0s     saga started
        0s     p#1 started (Ready)
        1s     wish of op1: cancelled by ann
        1s     answered op1, Cancel: pending
        1s     p#1 transient (busy) → skip, turned
        1s     turned back: cancelled by ann
        1s     answered op1, Cancel: accepted
        1s     compensated
        = COMPENSATED (cancelled by ann)
          p: SKIPPED none
    "#]],
    );
}

#[test]
fn position_3_a_passed_deadline_outranks_spent_attempts() {
    check(
        "step a(input) by-query\n policy attempts=1 give-up=10s",
        "begin a\n at 10s transient a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            10s    a#1 transient (busy) → quarantine, deadline-passed
            = RUNNING
              a: QUARANTINED none
              desk: a on quarantine, deadline-passed since 10s, attempts 1, effect none, transient (busy)
        "#]],
    );
}

#[test]
fn position_3_a_retry_that_would_start_after_the_deadline_is_not_slept_out() {
    check(
        "step a(input) by-query\n policy give-up=10s",
        "begin a\n at 1s transient a hint=9s",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            1s     a#1 transient (busy) → quarantine, deadline-would-pass
            = RUNNING
              a: QUARANTINED none
              desk: a on quarantine, deadline-would-pass since 1s, attempts 1, effect none, transient (busy)
        "#]],
    );
}

#[test]
fn position_4_the_last_attempt_is_not_followed_by_another() {
    check(
        "step a(input) by-query\n policy attempts=1",
        "begin a\n transient a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 transient (busy) → quarantine, attempts-spent
        = RUNNING
          a: QUARANTINED none
          desk: a on quarantine, attempts-spent since 0s, attempts 1, effect none, transient (busy)
    "#]],
    );
}

#[test]
fn position_5_otherwise_it_is_retried() {
    check(
        "step a(input) by-query\n policy attempts=2 base=0s give-up=10s",
        "begin a\n at 9s transient a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            9s     a#1 transient (busy) → retry at 9s
            = RUNNING
              a: RETRY_SCHEDULED none
              do: start a#2 in lane retry, until 10s
              wake: 10s for deadline of a
              queues: a since 9s
        "#]],
    );
}

#[test]
fn g01_a_hint_beyond_the_deadline_ends_the_retrying_at_once_and_keeps_the_cause() {
    check(
        "step charge(input) by-query\n policy attempts=5 base=200ms cap=5s give-up=10s",
        "begin charge\n transient charge hint=60s",
        expect![[r#"
            0s     saga started
            0s     charge#1 started (Ready)
            0s     charge#1 transient (busy) → quarantine, deadline-would-pass
            = RUNNING
              charge: QUARANTINED none
              desk: charge on quarantine, deadline-would-pass since 0s, attempts 1, effect none, transient (busy)
        "#]],
    );
}

#[test]
fn g01_a_hint_is_a_lower_bound_of_the_delay() {
    check(
        "step charge(input) by-query\n policy attempts=5 base=0s give-up=10s",
        "begin charge\n transient charge hint=3s\n at 2.999s begin charge\n at 3s begin charge",
        expect![[r#"
            0s     saga started
            0s     charge#1 started (Ready)
            0s     charge#1 transient (busy) → retry at 3s
            2.999s (at 2.999s begin charge: decide: `charge/forward` is RETRY_SCHEDULED, not due to start)
            3s     charge#2 started (Retry)
            = RUNNING
              charge: RUNNING possible
              runs: charge#2 since 3s
        "#]],
    );
}

#[test]
fn g01_a_hint_on_the_final_attempt_changes_nothing() {
    check(
        "step charge(input) by-query\n policy attempts=1 give-up=10s",
        "begin charge\n transient charge hint=3s",
        expect![[r#"
            0s     saga started
            0s     charge#1 started (Ready)
            0s     charge#1 transient (busy) → quarantine, attempts-spent
            = RUNNING
              charge: QUARANTINED none
              desk: charge on quarantine, attempts-spent since 0s, attempts 1, effect none, transient (busy)
        "#]],
    );
}

#[test]
fn g01_a_nonsense_hint_neither_panics_nor_calls_at_once() {
    check(
        "step charge(input) by-query",
        "begin charge\n transient charge hint=max",
        expect![[r#"
        0s     saga started
        0s     charge#1 started (Ready)
        0s     charge#1 transient (busy) → quarantine, deadline-would-pass
        = RUNNING
          charge: QUARANTINED none
          desk: charge on quarantine, deadline-would-pass since 0s, attempts 1, effect none, transient (busy)
    "#]],
    );
}

#[test]
fn g02_delays_stay_within_their_bound_for_every_attempt_of_a_long_outage() {
    let plan = plan("step a(input) by-query\n policy attempts=200 base=1s cap=60s give-up=10h");
    let mut trial = Trial::new(plan, 1);
    let action = ActionId::forward("a");
    for attempt in 1..200 {
        trial.obey(Command::Begin { action: action.clone(), input: None, expected: None }).unwrap();
        let answer = Attempted::Transient(failure(FailureKind::Transient, "busy", &[]));
        let events =
            trial.obey(Command::Answer { action: action.clone(), attempt: Some(attempt), answer }).unwrap();
        let [JournalEvent::Failed { next: Next::Retry { at }, .. }] = events[..] else {
            panic!("{events:?}")
        };
        let doubled = 2u64.checked_pow(attempt - 1).unwrap_or(u64::MAX);
        let bound = Duration::from_secs(doubled.min(60));
        assert!(at >= trial.now && at <= trial.now + bound, "attempt {attempt}: {:?}", at.since(trial.now));
        trial.now = at;
    }
    assert!(trial.now > BIRTH + Duration::from_secs(190 * 15), "the delays do not collapse");
}

#[test]
fn g02_the_extremes_of_the_jitter_are_zero_and_the_bound_itself() {
    let first_delay = |saga: u128| {
        let mut trial = Trial::new(plan("step a(input) by-query\n policy base=9us cap=1s"), saga);
        trial.read("begin a\n transient a");
        let due = trial.state.steps[0].forward.retry_at.expect("it is scheduled");
        due.since(trial.now).as_micros()
    };
    let drawn: std::collections::BTreeSet<u128> = (0..100).map(first_delay).collect();
    assert_eq!(drawn.into_iter().collect::<Vec<_>>(), (0..=9).collect::<Vec<_>>());
}

#[test]
fn g02_no_attempt_base_or_cap_overflows() {
    let year = Duration::from_secs(365 * 86_400);
    for attempt in [1, 2, 31, 32, 33, 63, 64, 65, 66, 67, 127, 128, 129, 199, u32::MAX] {
        for (base, cap) in [
            (Duration::ZERO, Duration::MAX),
            (Duration::from_micros(1), year * 200_000),
            (Duration::from_secs(1), Duration::from_secs(60)),
            (Duration::MAX, Duration::MAX),
            (year, Duration::ZERO),
        ] {
            let bound = upper(base, cap, attempt);
            assert!(bound <= cap);
            for id in [0, u128::MAX, u128::MAX / 2, 7] {
                assert!(full_jitter(bound, RequestId(Uuid::from_u128(id)), attempt) <= bound);
            }
        }
    }
}

#[test]
fn delays_of_different_sagas_spread_and_those_of_one_repeat_themselves() {
    let due = |saga| {
        let mut trial = Trial::new(plan("step a(input) by-query\n policy base=1h cap=1h"), saga);
        trial.read("begin a\n transient a");
        trial.state.steps[0].forward.retry_at
    };
    assert_eq!(due(1), due(1));
    assert!((2..12).all(|saga| due(saga) != due(1)));
}

#[test]
fn a_persistent_failure_is_quarantined_and_never_retried_by_itself() {
    check(
        "step a(input) by-query\n policy exhausted=turn-back",
        "begin a\n at 1s persistent a\n agenda\n at 3600s tick\n begin a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            1s     a#1 persistent (credential) → quarantine, persistent
            1s     ?
              desk: a on quarantine, persistent since 1s, attempts 1, effect none, persistent (credential)
            3600s  (at 3600s tick: nothing new)
            3600s  (begin a: decide: `a/forward` is QUARANTINED, not due to start)
            = RUNNING
              a: QUARANTINED none
              desk: a on quarantine, persistent since 1s, attempts 1, effect none, persistent (credential)
        "#]],
    );
}

#[test]
fn exhaustion_turns_the_saga_back_where_the_policy_says_so() {
    check(
        "step a(input) by-query\n step b(a) by-query\n policy b attempts=2 base=0s exhausted=turn-back",
        "run a\n begin b\n transient b\n begin b\n transient b\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b#1 started (Ready)
            0s     b#1 transient (busy) → retry at 0s
            0s     b#2 started (Retry)
            0s     b#2 transient (busy) → turn back, attempts-spent
            0s     turned back: b exhausted
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 succeeded: "Undone"
            0s     compensated
            = COMPENSATED (b exhausted)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: SKIPPED none
        "#]],
    );
}

#[test]
fn exhaustion_of_a_retriable_is_quarantined_whatever_its_policy_says() {
    check(
        "pivot p(input) by-query\n retriable r(p) by-repeating\n policy attempts=1 exhausted=turn-back",
        "run p\n begin r\n transient r",
        expect![[r#"
            0s     saga started
            0s     p#1 started (Ready)
            0s     p#1 succeeded: "p"
            0s     r#1 started (Ready)
            0s     r#1 transient (busy) → quarantine, attempts-spent
            = RUNNING
              p: SUCCEEDED applied
              r: QUARANTINED none
              desk: r on quarantine, attempts-spent since 0s, attempts 1, effect none, transient (busy)
        "#]],
    );
}

#[test]
fn a_reads_unknown_is_transient() {
    check(
        "read look(input)\n policy attempts=2 base=0s",
        "begin look\n lost look\n begin look\n lost look",
        expect![[r#"
            0s     saga started
            0s     look#1 started (Ready)
            0s     look#1 unknown (timeout) → retry at 0s
            0s     look#2 started (Retry)
            0s     look#2 unknown (timeout) → quarantine, attempts-spent
            = RUNNING
              look: QUARANTINED none
              desk: look on quarantine, attempts-spent since 0s, attempts 2, effect none, unknown (timeout)
        "#]],
    );
}

#[test]
fn whatever_speaks_of_effects_from_a_read_is_its_authors_mistake() {
    for answer in ["accepted look", "partial look", "fenced look 1", "mismatch look"] {
        let mut trial = Trial::new(plan("read look(input)"), 1);
        trial.read(&format!("begin look\n {answer}"));
        let told = trial.told();
        assert!(told.contains("→ quarantine, persistent"), "{told}");
        assert!(told.contains("look: QUARANTINED none"), "{told}");
    }
}

#[test]
fn a_hint_below_the_delay_does_not_shorten_it() {
    check(
        "step charge(input) by-query\n policy attempts=5 base=60s cap=60s",
        "begin charge\n transient charge hint=1s\n at 1s begin charge",
        expect![[r#"
            0s     saga started
            0s     charge#1 started (Ready)
            0s     charge#1 transient (busy) → retry at 46.841s
            1s     (at 1s begin charge: decide: `charge/forward` is RETRY_SCHEDULED, not due to start)
            = RUNNING
              charge: RETRY_SCHEDULED none
              wake: 46.841s for retry charge
        "#]],
    );
}
