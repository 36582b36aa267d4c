//! A node dies and another claims the saga: whatever was under way is unknown.

use amends_core::agenda::Task;
use amends_core::event::{Finding, Recorded};
use amends_core::machine::{Attempted, Command};
use amends_core::state::{Effect, Phase, SettlePlan, Stage};
use amends_core::{ActionId, Incarnation, agenda};
use expect_test::expect;
use uuid::Uuid;

use crate::plan_text::plan;
use crate::script::{Trial, check, json, result};

const PLAN: &str = "
    step a(input) by-query
    pivot p(a) by-repeating
    retriable r(p) by-repeating
    policy attempts=3 base=0s
    undo-policy attempts=3 base=0s
    query-policy queries=5 base=0s
";

#[test]
fn a_crash_before_anything_began_loses_nothing() {
    check(
        PLAN,
        "crash\n run a",
        expect![[r#"
        0s     saga started
        0s     claimed
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        = RUNNING
          a: SUCCEEDED applied
          p: READY none
          r: PENDING none
          do: start p#1 in lane first, until 86400s
          wake: 86400s for deadline of p
          queues: p since 0s
    "#]],
    );
}

#[test]
fn a_crash_while_a_step_runs_leaves_it_unknown_and_asked_about() {
    check(
        PLAN,
        "begin a\n at 1s crash\n ok a#1\n crash\n query a",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        1s     claimed
        1s     a unknown (executor-died) → query at 1s
        1s     a#1 succeeded: "a"
        1s     claimed
        1s     (query a: decide: no query of `a/forward` is due)
        = RUNNING
          a: SUCCEEDED applied
          p: READY none
          r: PENDING none
          do: start p#1 in lane first, until 86401s
          wake: 86401s for deadline of p
          queues: p since 1s
    "#]],
    );
}

#[test]
fn a_crash_while_a_query_is_under_way_asks_again() {
    check(
        PLAN,
        "begin a\n lost a\n query a\n at 1s crash\n found a applied\n query a\n found a applied",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            0s     a query 1 started
            1s     claimed
            1s     a unknown (executor-died) → query at 1s
            1s     a#0 succeeded: "a"
            1s     (query a: decide: no query of `a/forward` is due)
            1s     news of a#?: applied "a" (it repeats what is recorded)
            = RUNNING
              a: SUCCEEDED applied
              p: READY none
              r: PENDING none
              do: start p#1 in lane first, until 86401s
              wake: 86401s for deadline of p
              queues: p since 1s
        "#]],
    );
}

#[test]
fn a_crash_while_a_repeat_runs_leaves_both_transmissions_unknown() {
    check(
        PLAN,
        "run a\n begin p\n lost p\n begin p\n crash\n begin p\n transient p",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     p#1 unknown (timeout) → repeat at 0s
        0s     p#2 started (Repeat)
        0s     claimed
        0s     p unknown (executor-died) → repeat at 0s
        0s     p#3 started (Repeat)
        0s     p#3 transient (busy) → desk, attempts-spent
        = RUNNING
          a: SUCCEEDED applied
          p: RECONCILING possible
          r: PENDING none
          desk: p on reconciliation, attempts-spent since 0s, attempts 3, effect possible, transient (busy)
    "#]],
    );
}

#[test]
fn a_crash_while_a_retry_waits_changes_nothing() {
    check(
        "step a(input) by-query\n policy base=8s",
        "begin a\n transient a\n at 1s crash\n due\n run a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 transient (busy) → retry at 7.729s
            1s     claimed
            7.729s a#2 started (Retry)
            7.729s a#2 succeeded: "a"
            7.729s completed
            = COMPLETED
              a: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_crash_leaves_what_waits_on_the_desk_there() {
    check(
        "step a(input) by-operator",
        "begin a\n at 1s lost a\n at 2s crash",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        1s     a#1 unknown (timeout) → desk, no-query
        2s     claimed
        = RUNNING
          a: RECONCILING possible
          desk: a on reconciliation, no-query since 1s, attempts 1, effect possible, unknown (timeout)
    "#]],
    );
}

#[test]
fn a_crash_after_the_turn_lets_siblings_be_settled_and_undone() {
    check(
        "step a(input) by-query\n step b(input) by-query\n query-policy base=0s",
        "begin a\n begin b\n refuse b\n crash\n query a\n found a applied\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     b#1 started (Ready)
            0s     b#1 refused: "no" → reject
            0s     turned back: b refused
            0s     claimed
            0s     a unknown (executor-died) → query at 0s
            0s     a query 1 started, to fence through 1
            0s     a query 1 found applied "a" → done
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
fn a_crash_while_a_compensation_runs_leaves_it_unknown() {
    check(
        PLAN,
        "run a\n cancel op1\n begin undo:a\n at 1s crash\n query undo:a\n found undo:a undone",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     turned back: cancelled by ann
            0s     answered op1, Cancel: accepted
            0s     undo:a#1 started (Ready)
            1s     claimed
            1s     undo:a unknown (executor-died) → query at 1s
            1s     undo:a query 1 started
            1s     undo:a query 1 found applied "Undone" → done
            1s     compensated
            = COMPENSATED (cancelled by ann)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              p: SKIPPED none
              r: SKIPPED none
        "#]],
    );
}

#[test]
fn a_crash_while_a_read_runs_is_a_transient_failure() {
    check(
        "read look(input)\n policy attempts=2 base=0s",
        "begin look\n crash\n begin look\n crash",
        expect![[r#"
            0s     saga started
            0s     look#1 started (Ready)
            0s     claimed
            0s     look unknown (executor-died) → retry at 0s
            0s     look#2 started (Retry)
            0s     claimed
            0s     look unknown (executor-died) → quarantine, attempts-spent
            = RUNNING
              look: QUARANTINED none
              desk: look on quarantine, attempts-spent since 0s, attempts 2, effect none, unknown (executor-died)
        "#]],
    );
}

#[test]
fn a_crash_while_a_read_of_a_turned_saga_runs_skips_it() {
    check(
        "read look(input)\n step b(input) by-query",
        "begin look\n begin b\n refuse b\n crash",
        expect![[r#"
            0s     saga started
            0s     look#1 started (Ready)
            0s     b#1 started (Ready)
            0s     b#1 refused: "no" → reject
            0s     turned back: b refused
            0s     claimed
            0s     compensated
            = COMPENSATED (b refused)
              look: SKIPPED none
              b: TERMINAL_REJECTED none
        "#]],
    );
}

#[test]
fn a_crash_decides_the_deadlines_that_passed_meanwhile() {
    check(
        "deadline 60s\n step a(input) by-query\n step b(a) by-query",
        "run a\n at 99s crash\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            99s    claimed
            99s    turned back: deadline
            99s    undo:a#1 started (Ready)
            99s    undo:a#1 succeeded: "Undone"
            99s    compensated
            = COMPENSATED (deadline)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: SKIPPED none
        "#]],
    );
}

#[test]
fn g19_work_that_kills_its_worker_runs_out_of_attempts() {
    check(
        PLAN,
        "run a\n begin p\n crash\n begin p\n crash\n begin p\n crash\n begin p",
        expect![[r#"
        0s     saga started
        0s     a#1 started (Ready)
        0s     a#1 succeeded: "a"
        0s     p#1 started (Ready)
        0s     claimed
        0s     p unknown (executor-died) → repeat at 0s
        0s     p#2 started (Repeat)
        0s     claimed
        0s     p unknown (executor-died) → repeat at 0s
        0s     p#3 started (Repeat)
        0s     claimed
        0s     p unknown (executor-died) → desk, attempts-spent
        0s     (begin p: decide: `p/forward` is RECONCILING, not due to start)
        = RUNNING
          a: SUCCEEDED applied
          p: RECONCILING possible
          r: PENDING none
          desk: p on reconciliation, attempts-spent since 0s, attempts 3, effect possible, unknown (executor-died)
    "#]],
    );
}

#[test]
fn g19_a_read_that_kills_its_worker_is_quarantined_as_executor_died() {
    check(
        "read look(input)\n policy attempts=1",
        "begin look\n crash",
        expect![[r#"
        0s     saga started
        0s     look#1 started (Ready)
        0s     claimed
        0s     look unknown (executor-died) → quarantine, attempts-spent
        = RUNNING
          look: QUARANTINED none
          desk: look on quarantine, attempts-spent since 0s, attempts 1, effect none, unknown (executor-died)
    "#]],
    );
}

#[test]
fn g19_a_query_that_kills_its_worker_runs_out_of_its_budget() {
    check(
        "step a(input) by-query\n query-policy queries=2 base=0s",
        "begin a\n lost a\n query a\n crash\n query a\n crash\n crash",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 unknown (timeout) → query at 0s
            0s     a query 1 started
            0s     claimed
            0s     a unknown (executor-died) → query at 0s
            0s     a query 2 started
            0s     claimed
            0s     a unknown (executor-died) → desk, queries-spent
            0s     claimed
            = RUNNING
              a: RECONCILING possible
              desk: a on reconciliation, queries-spent since 0s, attempts 1, effect possible, unknown (executor-died)
        "#]],
    );
}

#[test]
fn a_graceful_shutdown_spends_no_attempt() {
    check(
        "step a(input) by-query\n policy attempts=1",
        "begin a\n withdraw a\n crash\n run a",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 withdrawn
            0s     claimed
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     completed
            = COMPLETED
              a: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_crash_with_two_reads_running_of_which_one_turns_the_saga_can_be_claimed() {
    check(
        "read one(input)\n read two(input)\n policy attempts=1 exhausted=turn-back",
        "begin one\n begin two\n crash",
        expect![[r#"
            0s     saga started
            0s     one#1 started (Ready)
            0s     two#1 started (Ready)
            0s     claimed
            0s     one unknown (executor-died) → turn back, attempts-spent
            0s     turned back: one exhausted
            0s     compensated
            = COMPENSATED (one exhausted)
              one: SKIPPED none
              two: SKIPPED none
        "#]],
    );
}

const FIVE: &str = "
    step a(input) by-query
    step b(a) by-query
    step c(a) by-repeating keeps-answers
    step d(b,c) by-query
    step e(d) by-query
    policy base=0s
    undo-policy base=0s
    query-policy base=0s
";

#[test]
fn g12_a_crash_after_any_transition_leads_to_the_same_end() {
    for failing in ["a", "b", "c", "d", "e", "none"] {
        let whole = walk(failing, None);
        let phase = if failing == "none" { Phase::Completed } else { Phase::Compensated };
        assert_eq!(whole.state.phase, phase, "{}", whole.told());
        for crash_after in 1..=whole.journal.len() {
            let crashed = walk(failing, Some(crash_after));
            assert_eq!(ends(&crashed), ends(&whole), "{failing}, {crash_after}\n{}", crashed.told());
        }
    }
}

/// Walks in an honest world in which one step is refused, with a crash when the journal has that length.
fn walk(failing: &str, crash_after: Option<usize>) -> Trial {
    let mut trial = Trial::new(plan(FIVE), 1);
    let mut crash_after = crash_after;
    for _ in 0..200 {
        if crash_after == Some(trial.journal.len()) {
            crash_after = None;
            trial.obey(Command::Claim { incarnation: Incarnation(Uuid::from_u128(2)) }).expect("claimed");
        }
        if trial.state.phase.is_ended() {
            return trial;
        }
        let command = honest(&trial, failing);
        trial.obey(command).expect("the agenda asks for what can be done");
    }
    panic!("it does not end\n{}", trial.told());
}

/// What happens next: first everything due begins, then the first that is under way is answered.
fn honest(trial: &Trial, failing: &str) -> Command {
    let refused = |action: &ActionId| action.is_forward() && *action.step == *failing;
    let no = || Recorded::Value(json("\"no\""));
    for task in agenda(&trial.plan, &trial.state, trial.now).tasks {
        match task {
            Task::Start { action, .. } => return Command::Begin { action, input: None, expected: None },
            Task::Query { action, .. } => return Command::BeginQuery { action },
            Task::Tick => return Command::Tick,
            Task::Decide { branch } => return Command::DecideBranch { branch, taken: true },
            Task::Stop { .. } => {}
        }
    }
    for (action, a) in trial.state.actions(&trial.plan) {
        if let Some(SettlePlan::Querying { query, .. }) = a.settling.map(|settling| settling.plan) {
            let finding =
                if refused(&action) { Finding::Refused(no()) } else { Finding::Applied(result(&action)) };
            return Command::Found { action, query, finding };
        }
        if let Some(running) = a.running {
            let answer = if refused(&action) {
                Attempted::Refused(no())
            } else {
                Attempted::Succeeded(result(&action))
            };
            return Command::Answer { action, attempt: Some(running.attempt), answer };
        }
    }
    panic!("limbo\n{}", trial.told());
}

/// Where everything ends: the saga, and each step with its compensation.
fn ends(trial: &Trial) -> (Phase, Vec<(Stage, Effect, Stage)>) {
    let undo = |step: &amends_core::state::StepState| step.undo.as_ref().map_or(Stage::Pending, |u| u.stage);
    let steps = trial.state.steps.iter();
    (trial.state.phase, steps.map(|step| (step.forward.stage, step.forward.effect, undo(step))).collect())
}
