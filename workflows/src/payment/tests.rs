//! Tests of the payment workflow.

use amends::core::agenda::Desk;
use amends::core::plan::digest::shape;
use amends_testkit::{Call, Fault, FaultKind, World, WorldSaga, expect, explore, explore_definition};

use super::*;
use crate::fakes::FakeShop;
use crate::ports::Sent;
use crate::{Currency, Money, policies};

/// A world with a shop in it, and the workflow.
fn world() -> (World, FakeShop, PaymentSaga) {
    let mut world = World::new();
    let (shop, payment) = open(&mut world);
    (world, shop, payment)
}

fn open(world: &mut World) -> (FakeShop, PaymentSaga) {
    world.policies(policies(1.0));
    let shop = FakeShop::new(world);
    let payment = payment_saga(&shop.participants()).unwrap();
    world.register(&payment.saga);
    (shop, payment)
}

#[test]
fn the_shape_is_what_version_2_runs_with() {
    let (_, _, payment) = world();
    // Sagas in flight were begun with this shape: whoever changes it changes the version too.
    expect![[r#"
        workflow payment version 2
        input payment-requested/1
        read check-fraud: payment-requested/1 -> risk-score/1 | fraud-suspected/1, settled no effect
          input recorded [input]
          policies retry=risk-engine query=default compensation=compensation
          waits for []
        read check-limit: payment-requested/1 -> allowance/1 | limit-exceeded/1, settled no effect
          input recorded [input]
          policies retry=risk-engine query=default compensation=compensation
          waits for []
        step authorise: (payment-requested/1, risk-score/1, allowance/1) -> authorization/1 | declined/1, settled by query
          compensation settled by query, in doubt Fence
          input recorded [input, check-fraud, check-limit]
          policies retry=checkout query=payment-gateway compensation=compensation
          waits for [check-fraud, check-limit]
        pivot capture-payment: authorization/1 -> capture/1 | declined/1, settled by query
          input recorded [authorise]
          policies retry=payment-gateway query=payment-gateway compensation=compensation
          waits for [check-fraud, check-limit, authorise]
        retriable settle: capture/1 -> settlement/1 | never, settled by query
          input recorded [capture-payment]
          policies retry=ledger query=ledger compensation=compensation
          waits for [capture-payment]
        retriable send-receipt: (payment-requested/1, settlement/1) -> sent/1 | never, settled by repeating
          input recorded [input, settle]
          policies retry=post-office query=post-office compensation=compensation
          waits for [capture-payment, settle]
        retriable print-receipt: (payment-requested/1, settlement/1) -> sent/1 | never, settled by operator
          input recorded [input, settle]
          policies retry=post-office query=default compensation=compensation
          waits for [capture-payment, settle]
        either paperless: sent/1
          condition shaped [input]
          taken [send-receipt] gives send-receipt
          otherwise [print-receipt] gives print-receipt
          waits for [capture-payment]
        result paperless
    "#]].assert_eq(&shape(payment.saga.plan()));
}

#[test]
fn a_reviewer_would_ask_this() {
    let (_, _, payment) = world();
    let asked = payment.saga.lint(&policies(1.0)).unwrap();
    let asked: Vec<String> = asked
        .iter()
        .map(|warning| format!("{}: {}", warning.rule.code(), warning.step.as_deref().unwrap_or("-")))
        .collect();
    expect!["held-until-a-person: capture-payment"].assert_eq(&asked.join("\n"));
}

#[test]
fn the_definition_keeps_its_rules_whatever_is_answered() {
    let (_, _, payment) = world();
    let explored = explore_definition(&payment.saga)
        .policies(&policies(1.0))
        .never("a settlement before its capture", |story| story.applied("settle").before("capture-payment"))
        .check();
    assert!(explored.complete && explored.completed > 0 && explored.compensated > 0, "{explored}");
}

#[test]
fn the_saga_draws_itself() {
    let (_, _, payment) = world();
    expect![[r#"
        ╭╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╮   ╭╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╮
        ╎   check-fraud   ╎   ╎   check-limit   ╎
        ╰╌╌╌╌╌╌╌╌┬╌╌╌╌╌╌╌╌╯   ╰╌╌╌╌╌╌╌╌┬╌╌╌╌╌╌╌╌╯
                 └──────────┬──────────┘
                            ▼
                   ┌─────────────────┐
                   │   authorise ↺   │
                   └────────┬────────┘
                            ▼
                   ╔═════════════════╗
                   ║ capture-payment ║
                   ╚════════╤════════╝
                            ▼
                   ┌─────────────────┐
                   │     settle      │
                   └────────┬────────┘
                 ┌──────────┴──────────┐
                 ▼                     ▼
        ┌─────────────────┐   ┌─────────────────┐
        │ send-receipt ?  │   │ print-receipt ? │
        └─────────────────┘   └─────────────────┘

        ↺ has a compensation   ═ pivot: no way back   ╌ read   ? in a branch
        if paperless: send-receipt; otherwise print-receipt
    "#]]
    .assert_eq(&payment.saga.text());
}

#[test]
fn the_catalogue_has_every_policy_at_every_pace() {
    let (_, _, payment) = world();
    for pace in [1.0, 0.05, 0.001] {
        payment.saga.resolve(&policies(pace)).unwrap();
    }
}

#[test]
fn nothing_to_pay_is_no_payment() {
    let written = r#"{"payment": "p-1", "customer": "ada", "card": "tok-1", "amount": {"minor": 0, "currency": "EUR"}}"#;
    let error = serde_json::from_str::<PaymentRequested>(written).unwrap_err();
    assert_eq!(error.to_string(), "the amount 0.00 EUR is not positive");
    assert!(serde_json::from_str::<PaymentRequested>(&written.replace("0, ", "1, ")).is_ok());
}

fn a_payment(card: &str, minor: i64) -> PaymentRequested {
    let amount = Money::from_minor(minor, Currency::Eur);
    PaymentRequested::new("payment-1".into(), "ada".into(), card.into(), amount).unwrap()
}

fn start(world: &mut World, payment: &PaymentSaga, requested: PaymentRequested) -> WorldSaga<Sent> {
    let saga = world.start(&payment.saga, "payment-1", requested);
    world.run_until_settled();
    saga
}

#[test]
fn a_payment_is_taken_settled_and_receipted() {
    let (mut world, shop, payment) = world();
    let saga = start(&mut world, &payment, a_payment("tok-1", 5_000));
    saga.assert_completed();
    assert_eq!(saga.output(payment.settlement).unwrap().amount, Money::from_minor(5_000, Currency::Eur));
    assert_eq!(shop.books().settled.values().sum::<i64>(), 5_000);
    assert_eq!(shop.books().letters, ["received 50.00 EUR"]);
    shop.assert_balances();
    shop.assert_nothing_held();
}

#[test]
fn a_paperless_payment_is_receipted_by_a_message_and_nothing_is_printed() {
    let (mut world, shop, payment) = world();
    world.inject(Fault::first("send-receipt", Call::Forward, FaultKind::ReplyLost));
    let saga = start(&mut world, &payment, a_payment("tok-1", 5_000).paperless());
    saga.assert_completed();
    assert_eq!((saga.attempts("send-receipt"), saga.attempts("print-receipt")), (2, 0));
    assert_eq!(shop.books().letters, ["Received with thanks: 50.00 EUR for payment-1."]);
    let written = serde_json::to_string(&a_payment("tok-1", 5_000)).unwrap();
    assert!(!written.contains("paperless"), "a payment is written as ever: {written}");
}

#[test]
fn what_looks_like_fraud_or_is_too_much_never_reaches_the_card() {
    for (card, minor, step) in [("tok-fraud", 5_000, "check-fraud"), ("tok-1", 100_001, "check-limit")] {
        let (mut world, shop, payment) = world();
        let saga = start(&mut world, &payment, a_payment(card, minor));
        saga.assert_compensated();
        assert!(saga.view().timeline().contains(&format!("turned back (refused: {step})")));
        assert_eq!(saga.attempts("authorise"), 0);
        assert_eq!(shop.books().paid, 0);
    }
}

#[test]
fn a_check_that_finds_no_answer_in_time_turns_back_instead_of_waiting_for_a_person() {
    let (mut world, _, payment) = world();
    world.inject(Fault::every("check-fraud", Call::Forward, FaultKind::Transient));
    let saga = start(&mut world, &payment, a_payment("tok-1", 5_000));
    saga.assert_compensated();
    assert_eq!(saga.attempts("check-fraud"), 4);
}

#[test]
fn a_receipt_that_nobody_confirmed_waits_for_a_person_and_is_never_printed_twice() {
    let (mut world, shop, payment) = world();
    world.inject(Fault::first("print-receipt", Call::Forward, FaultKind::ReplyLost));
    let saga = start(&mut world, &payment, a_payment("tok-1", 5_000));
    saga.assert_on_desk(Desk::Reconciliation, "print-receipt", "no-query");
    let seen = Sent { message: "the letter shop says that it left on Monday".into() };
    world.accept(&saga, "print-receipt", &seen).unwrap();
    world.run_until_settled();
    saga.assert_completed();
    assert_eq!(shop.books().letters.len(), 1);
}

#[test]
fn a_void_may_be_sent_for_an_authorisation_that_nobody_can_find_out_about() {
    let (mut world, shop, payment) = world();
    world.inject(Fault::first("authorise", Call::Forward, FaultKind::ReplyLost));
    world.inject(Fault::every("authorise", Call::Query, FaultKind::QueryFails));
    let saga = world.start(&payment.saga, "payment-1", a_payment("tok-1", 5_000));
    world.run_for(std::time::Duration::from_secs(1));
    world.cancel(&saga).unwrap();
    world.run_until_settled();
    saga.assert_compensated();
    shop.assert_nothing_held();
}

#[test]
fn laws() {
    let tried = explore(|world| {
        let (shop, payment) = open(world);
        world.start(&payment.saga, "payment-1", a_payment("tok-1", 5_000));
        shop
    })
    .every_step_fails()
    .every_step_repeats()
    .every_outcome_is_lost()
    .every_compensation_repeats()
    .crash_at_every_commit()
    .check(|world, shop| {
        shop.assert_balances();
        if world.all_ended() {
            shop.assert_nothing_held();
        }
    });
    assert!(tried.struck > 100, "{tried:?}");
}
