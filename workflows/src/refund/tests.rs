//! Tests of the refund workflow.

use amends::core::agenda::Desk;
use amends::core::plan::digest::shape;
use amends_testkit::{Call, Fault, FaultKind, World, WorldSaga, expect, explore, explore_definition};

use super::*;
use crate::fakes::FakeShop;
use crate::ports::{Sale, Sent, StockLine};
use crate::{Currency, Money, policies};

/// A world with a shop in it, and the workflow.
fn world() -> (World, FakeShop, RefundSaga) {
    let mut world = World::new();
    let (shop, refund) = open(&mut world);
    (world, shop, refund)
}

fn open(world: &mut World) -> (FakeShop, RefundSaga) {
    world.policies(policies(1.0));
    let shop = FakeShop::new(world);
    let refund = refund_saga(&shop.participants()).unwrap();
    world.register(&refund.saga);
    (shop, refund)
}

#[test]
fn the_shape_is_what_version_2_runs_with() {
    let (_, _, refund) = world();
    // Sagas in flight were begun with this shape: whoever changes it changes the version too.
    expect![[r#"
        workflow refund version 2
        input refund-requested/1
        read read-sale: refund-requested/1 -> sale/1 | no-sale/1, settled no effect
          input recorded [input]
          policies retry=sales query=default compensation=default
          waits for []
        read check-refundable: (refund-requested/1, sale/1) -> refundable/1 | not-refundable/1, settled no effect
          input recorded [input, read-sale]
          policies retry=default query=default compensation=default
          waits for [read-sale]
        pivot refund-payment: refundable/1 -> refunded/1 | declined/1, settled by repeating
          input recorded [check-refundable]
          policies retry=payment-gateway query=payment-gateway compensation=default
          waits for [read-sale, check-refundable]
        retriable restock: refund-requested/1 -> restocked/1 | never, settled by query
          input recorded [input]
          policies retry=warehouse query=warehouse compensation=default
          waits for [refund-payment]
        retriable notify-customer: (refund-requested/1, refunded/1) -> sent/1 | never, settled by repeating
          input recorded [input, refund-payment]
          policies retry=post-office query=post-office compensation=default
          waits for [refund-payment]
        when goods-came-back: optional(restocked/1)
          condition shaped [input]
          taken [restock] gives restock
          waits for [refund-payment]
        result notify-customer
    "#]].assert_eq(&shape(refund.saga.plan()));
}

#[test]
fn a_reviewer_would_ask_this() {
    let (_, _, refund) = world();
    let asked = refund.saga.lint(&policies(1.0)).unwrap();
    let asked: Vec<String> = asked
        .iter()
        .map(|warning| format!("{}: {}", warning.rule.code(), warning.step.as_deref().unwrap_or("-")))
        .collect();
    expect![[""]].assert_eq(&asked.join("\n"));
}

#[test]
fn the_definition_keeps_its_rules_whatever_is_answered() {
    let (_, _, refund) = world();
    let explored = explore_definition(&refund.saga)
        .policies(&policies(1.0))
        .never("a customer told of money that was not paid back", |story| {
            story.applied("notify-customer").before("refund-payment")
        })
        .check();
    assert!(explored.complete && explored.completed > 0 && explored.compensated > 0, "{explored}");
}

#[test]
fn the_saga_draws_itself() {
    let (_, _, refund) = world();
    expect![[r#"
                    ╭╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╮
                    ╎     read-sale     ╎
                    ╰╌╌╌╌╌╌╌╌╌┬╌╌╌╌╌╌╌╌╌╯
                              ▼
                    ╭╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╮
                    ╎ check-refundable  ╎
                    ╰╌╌╌╌╌╌╌╌╌┬╌╌╌╌╌╌╌╌╌╯
                              ▼
                    ╔═══════════════════╗
                    ║  refund-payment   ║
                    ╚═════════╤═════════╝
                  ┌───────────┴───────────┐
                  ▼                       ▼
        ┌───────────────────┐   ┌───────────────────┐
        │     restock ?     │   │  notify-customer  │
        └───────────────────┘   └───────────────────┘

        ═ pivot: no way back   ╌ read   ? in a branch
        if goods-came-back: restock
    "#]]
    .assert_eq(&refund.saga.text());
}

#[test]
fn the_catalogue_has_every_policy_at_every_pace() {
    let (_, _, refund) = world();
    for pace in [1.0, 0.05, 0.001] {
        refund.saga.resolve(&policies(pace)).unwrap();
    }
}

fn sale() -> Sale {
    Sale {
        capture: "cap-1".into(),
        captured: Money::from_minor(3_750, Currency::Eur),
        refunded: Money::from_minor(750, Currency::Eur),
        sent: vec![StockLine { sku: "lamp".into(), quantity: 2 }],
    }
}

fn request(minor: i64, returned: u32) -> RefundRequested {
    RefundRequested {
        refund: "refund-1".into(),
        order: "order-1".into(),
        customer: "ada".into(),
        amount: Money::from_minor(minor, Currency::Eur),
        returned: (returned > 0)
            .then(|| StockLine { sku: "lamp".into(), quantity: returned })
            .into_iter()
            .collect(),
    }
}

#[test]
fn no_more_goes_back_than_is_left_of_what_was_paid() {
    let refundable = |minor| refundable(&request(minor, 1), &sale());
    assert_eq!(refundable(3_000).unwrap().amount.minor(), 3_000);
    let left = Money::from_minor(3_000, Currency::Eur);
    let asked = Money::from_minor(3_001, Currency::Eur);
    assert_eq!(refundable(3_001), Err(NotRefundable::MoreThanPaid { asked, left }));
    assert!(matches!(refundable(0), Err(NotRefundable::NotPositive { .. })));
}

#[test]
fn no_more_comes_back_than_was_sent() {
    assert!(refundable(&request(100, 2), &sale()).is_ok());
    assert_eq!(refundable(&request(100, 3), &sale()), Err(NotRefundable::NeverSent { sku: "lamp".into() }));
}

#[test]
fn a_refund_is_of_the_currency_that_was_paid() {
    let mut dollars = request(100, 0);
    dollars.amount = Money::from_minor(100, Currency::Usd);
    assert!(matches!(refundable(&dollars, &sale()), Err(NotRefundable::NoSum { .. })));
}

fn start(world: &mut World, refund: &RefundSaga, requested: RefundRequested) -> WorldSaga<Sent> {
    let saga = world.start(&refund.saga, "refund-1", requested);
    world.run_until_settled();
    saga
}

#[test]
fn money_and_goods_go_back_and_the_customer_is_told() {
    let (mut world, shop, refund) = world();
    shop.sold_before("order-1");
    let saga = start(&mut world, &refund, request(1_500, 1));
    saga.assert_completed();
    assert_eq!(saga.output(refund.refunded).unwrap().amount, Money::from_minor(1_500, Currency::Eur));
    assert_eq!(saga.output(refund.restocked).flatten().unwrap().pieces, 1);
    assert_eq!(shop.books().paid, 1_500);
    assert_eq!(shop.books().letters, ["15.00 EUR of order order-1 are on their way to you."]);
    shop.assert_balances();
}

#[test]
fn where_no_goods_come_back_the_warehouse_is_not_called() {
    let (mut world, shop, refund) = world_with_sale();
    let saga = start(&mut world, &refund, request(1_500, 0));
    saga.assert_completed();
    assert_eq!((saga.attempts("restock"), saga.output(refund.restocked)), (0, Some(None)));
    shop.assert_balances();
    assert!(saga.view().timeline().contains("branch goods-came-back: no"));
}

#[test]
fn nothing_is_given_back_for_what_was_never_sold_or_for_more_than_it_cost() {
    let (mut world, shop, refund) = world();
    let saga = start(&mut world, &refund, request(1_500, 1));
    saga.assert_compensated();
    assert!(saga.view().timeline().contains("turned back (refused: read-sale)"));

    shop.sold_before("order-1");
    let saga = world.start(&refund.saga, "refund-2", request(3_001, 1));
    world.run_until_settled();
    saga.assert_compensated();
    assert!(saga.view().timeline().contains("turned back (refused: check-refundable)"));
    assert_eq!(shop.books().paid, 3_000);
}

#[test]
fn an_order_that_is_being_worked_on_is_asked_for_again() {
    let (mut world, shop, refund) = world();
    shop.sold_before("order-1");
    let goods = shop.books().sent.remove("order-1").unwrap();
    let saga = world.start(&refund.saga, "refund-1", request(1_500, 1));
    world.run_for(std::time::Duration::from_secs(5));
    assert!(saga.attempts("read-sale") >= 2);
    shop.books().sent.insert("order-1".into(), goods);
    world.run_until_settled();
    saga.assert_completed();
}

#[test]
fn the_goods_come_back_although_the_customer_cannot_be_told() {
    let (mut world, _, refund) = world_with_sale();
    world.inject(Fault::first("notify-customer", Call::Forward, FaultKind::Persistent));
    let saga = start(&mut world, &refund, request(1_500, 1));
    saga.assert_on_desk(Desk::Quarantine, "notify-customer", "persistent");
    assert_eq!(saga.output(refund.restocked).flatten().unwrap().pieces, 1);
}

fn world_with_sale() -> (World, FakeShop, RefundSaga) {
    let (world, shop, refund) = world();
    shop.sold_before("order-1");
    (world, shop, refund)
}

#[test]
fn laws() {
    for pieces in [0, 1] {
        let tried = explore(move |world| {
            let (shop, refund) = open(world);
            shop.sold_before("order-1");
            world.start(&refund.saga, "refund-1", request(1_500, pieces));
            shop
        })
        .every_step_fails()
        .every_step_repeats()
        .every_outcome_is_lost()
        .crash_at_every_commit()
        .check(|_, shop| shop.assert_balances());
        assert!(tried.struck > 40, "{tried:?}");
    }
}
