//! G01 to G03: hints, delays and refusals.

use std::fmt;
use std::time::Duration;

use amends::prelude::*;
use amends_core::agenda::Desk;
use amends_core::event::FailureKind;
use amends_core::state::Stage;
use amends_core::{ActionId, JournalEvent};
use amends_testkit::{Ledger, World, WorldSaga, expect};

use super::kit::{Answering, Reply, facts, ms, request, starts};

/// A world with one saga whose only step is `charge`.
struct Charge {
    world: World,
    ledger: Ledger,
    saga: WorldSaga<u32>,
}

fn charge(policy: RetryPolicy, answer: impl Fn(u32) -> Reply + Send + Sync + 'static) -> Charge {
    let mut world = World::new();
    let ledger = Ledger::new(&mut world);
    let step = Answering::<ByOperator>::new(&ledger, "gateway", move |cx| answer(cx.attempt()));
    let (s, amount) = SagaBuilder::<u32>::new("charge", 1);
    let (charged, s) = s.pivot("charge", step.retry("charge"), amount);
    let saga = s.finish(charged).expect("the definition is sound");
    world.policies(Policies::new().retry("charge", policy));
    world.register(&saga);
    let saga = world.start(&saga, "order-42", 200);
    world.run_until_settled();
    Charge { world, ledger, saga }
}

impl Charge {
    fn calls(&self) -> u32 {
        self.ledger.calls(request(&self.saga, "charge"))
    }

    fn starts(&self) -> Vec<Duration> {
        starts(&self.saga.view(), &ActionId::forward("charge"))
    }
}

/// The policy of G01.
fn ten_seconds() -> RetryPolicy {
    RetryPolicy {
        max_attempts: 5,
        base: ms(200),
        cap: seconds(5),
        attempt_timeout: seconds(2),
        give_up_after: seconds(10),
        ..RetryPolicy::default()
    }
}

fn rate_limited(wait: f64) -> Reply {
    Err(StepError::Transient(Problem::new("rate-limited", "come back later").wait_seconds(wait)))
}

fn first_attempt(answer: Reply) -> impl Fn(u32) -> Reply {
    move |attempt| if attempt == 1 { answer.clone() } else { Ok(200) }
}

#[test]
fn g01_a_wait_longer_than_the_budget_is_decided_at_once_and_keeps_its_cause() {
    let mut charge = charge(ten_seconds(), first_attempt(rate_limited(60.0)));
    charge.saga.assert_on_desk(Desk::Quarantine, "charge", "deadline-would-pass");
    let failure = charge.saga.view().step("charge").and_then(|step| step.forward.failure.clone());
    let failure = failure.expect("the last error of the service is kept beside the reason");
    assert_eq!((failure.code.as_str(), failure.hint), ("rate-limited", Some(seconds(60))));
    charge.saga.timeline(expect![[r#"
        +0.000s charge 1 started for order-42
        +0.000s charge started (attempt 1)
        +0.000s charge failed (attempt 1, transient rate-limited): quarantined (deadline-would-pass)
    "#]]);

    let commits = charge.world.commits();
    charge.world.run_for(hours(48));
    assert_eq!(charge.world.commits(), commits, "no timer was left");
    assert_eq!((charge.calls(), charge.saga.attempts("charge")), (1, 1));
}

#[test]
fn g01_a_wait_within_the_budget_is_kept_whatever_the_jitter_draws() {
    let charge = charge(ten_seconds(), first_attempt(rate_limited(3.0)));
    charge.saga.assert_completed();
    assert_eq!(charge.starts(), [seconds(0), seconds(3)], "the delay alone would have been at most 200 ms");
}

#[test]
fn g01_a_wait_that_is_no_number_changes_nothing_and_an_endless_one_is_a_day() {
    for wait in [-1.0, f64::NAN, f64::NEG_INFINITY] {
        let charge = charge(ten_seconds(), first_attempt(rate_limited(wait)));
        charge.saga.assert_completed();
        let again = charge.starts()[1];
        assert!(again > Duration::ZERO && again <= ms(200), "a wait of {wait} was ignored: {again:?}");
    }
    for wait in [9_999_999_999_999.0, f64::INFINITY, f64::MAX] {
        let charge = charge(ten_seconds(), first_attempt(rate_limited(wait)));
        charge.saga.assert_on_desk(Desk::Quarantine, "charge", "deadline-would-pass");
        let patient = RetryPolicy { give_up_after: hours(72), ..ten_seconds() };
        let charge = self::charge(patient, first_attempt(rate_limited(wait)));
        charge.saga.assert_completed();
        assert_eq!(charge.starts()[1], hours(24), "{wait}");
    }
}

#[test]
fn g01_a_wait_on_the_last_attempt_grants_no_other() {
    let charge = charge(ten_seconds(), |_| rate_limited(0.001));
    charge.saga.assert_on_desk(Desk::Quarantine, "charge", "attempts-spent");
    assert_eq!((charge.calls(), charge.saga.attempts("charge")), (5, 5));
}

#[test]
fn g02_two_hundred_failures_neither_wrap_nor_overshoot_nor_spin() {
    let policy =
        RetryPolicy { max_attempts: 200, base: seconds(1), cap: seconds(60), ..RetryPolicy::default() };
    let charge = charge(policy, |_| rate_limited(f64::NAN));
    charge.saga.assert_on_desk(Desk::Quarantine, "charge", "attempts-spent");
    assert_eq!((charge.calls(), charge.saga.attempts("charge")), (200, 200));
    let starts = charge.starts();
    for (n, pair) in (1..).zip(starts.windows(2)) {
        let upper = if n < 7 { seconds(1 << (n - 1)) } else { seconds(60) };
        let delay = pair[1].checked_sub(pair[0]).expect("the next run is never in the past");
        assert!(delay <= upper, "the delay after attempt {n} is {delay:?}, above {upper:?}");
    }
    let late = &starts[150..];
    assert!(late[late.len() - 1] - late[0] > minutes(10), "no hot loop against a dependency that is down");
}

#[test]
fn g02_an_endless_cap_and_a_zero_base_panic_nowhere() {
    let endless =
        RetryPolicy { max_attempts: 80, base: Duration::MAX, cap: Duration::MAX, ..RetryPolicy::default() };
    let charge = charge(endless, |_| rate_limited(f64::NAN));
    charge.saga.assert_on_desk(Desk::Quarantine, "charge", "deadline-would-pass");
    let at_once = RetryPolicy { max_attempts: 80, base: Duration::ZERO, ..RetryPolicy::default() };
    let charge = self::charge(at_once, |_| rate_limited(f64::NAN));
    charge.saga.assert_on_desk(Desk::Quarantine, "charge", "attempts-spent");
    assert_eq!(charge.starts(), [Duration::ZERO; 80]);
}

/// What a gateway says: one text and one status for everything; what it means stands in the code.
#[derive(Clone, Debug)]
struct Declined(&'static str);

impl fmt::Display for Declined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("500: card declined")
    }
}

impl Coded for Declined {
    fn code(&self) -> &str {
        self.0
    }
}

/// `charge` of a gateway that answers this code, once.
fn declined(code: &'static str) -> Charge {
    let rules = Classifier::new("gateway/7").rule("rate_limited", Class::Transient).rule_for(
        "capture",
        "code_x777",
        Class::Transient,
    );
    let no = |error: &Declined| {
        let final_no = ["stolen_card", "insufficient_funds", "duplicate_order"].contains(&error.0);
        final_no.then(|| error.0.to_owned())
    };
    charge(RetryPolicy::default(), move |attempt| {
        let answer = if attempt == 1 { Err(Declined(code)) } else { Ok(200) };
        Ok(answer.refuse_if(no)?.classify(&rules, "charge")?)
    })
}

#[test]
fn g03_a_final_decline_is_called_once_whatever_its_text_and_status_say() {
    for code in ["stolen_card", "insufficient_funds", "duplicate_order"] {
        let charge = declined(code);
        charge.saga.assert_compensated();
        let view = charge.saga.view();
        let step = &view.step("charge").expect("the step").forward;
        assert_eq!((charge.calls(), step.attempts, step.stage), (1, 1, Stage::TerminalRejected), "{code}");
        let refusal = step.refusal.as_ref().and_then(|refusal| refusal.value()).expect("a refusal");
        assert_eq!(refusal.text(), format!("\"{code}\""));
    }
}

#[test]
fn g03_only_what_a_rule_calls_transient_is_retried() {
    let charge = declined("rate_limited");
    charge.saga.assert_completed();
    assert_eq!((charge.calls(), charge.saga.attempts("charge")), (2, 2));
    let view = charge.saga.view();
    let failed = facts(&view).into_iter().find_map(|(_, event)| match event {
        JournalEvent::Failed { failure, .. } => Some(failure),
        _ => None,
    });
    let failed = failed.expect("the failure is journalled");
    assert_eq!(
        (failed.kind, failed.rule.as_str(), failed.classifier.as_str()),
        (FailureKind::Transient, "rate_limited", "gateway/7")
    );
}

/// A code of another operation, one that nobody listed, and a body that could not be read (no code at all).
#[test]
fn g03_a_code_that_no_rule_knows_is_unknown_and_never_retried_blindly() {
    for code in ["code_x777", "weird", ""] {
        let charge = declined(code);
        charge.saga.assert_on_desk(Desk::Reconciliation, "charge", "no-query");
        let view = charge.saga.view();
        let step = &view.step("charge").expect("the step").forward;
        let failure = step.failure.as_ref().expect("the failure is kept");
        assert_eq!((charge.calls(), step.attempts, step.stage), (1, 1, Stage::Reconciling), "{code}");
        assert_eq!(
            (failure.kind, failure.rule.as_str(), failure.classifier.as_str()),
            (FailureKind::Unknown, "unlisted", "gateway/7")
        );
    }
}
