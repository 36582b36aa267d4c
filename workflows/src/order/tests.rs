//! Tests of the order workflow.

use amends::core::ActionId;
use amends::core::agenda::Desk;
use amends::core::plan::digest::shape;
use amends_testkit::{Call, Fault, FaultKind, World, WorldSaga, expect, explore, explore_definition};

use super::*;
use crate::fakes::FakeShop;
use crate::ports::Sent;
use crate::{Currency, Money, policies};

/// A world with a shop in it, and the workflow.
fn world() -> (World, FakeShop, OrderSaga) {
    let mut world = World::new();
    let (shop, order) = open(&mut world);
    (world, shop, order)
}

fn open(world: &mut World) -> (FakeShop, OrderSaga) {
    world.policies(policies(1.0));
    let shop = FakeShop::new(world);
    let order = order_saga(&shop.participants()).unwrap();
    world.register(&order.saga);
    (shop, order)
}

#[test]
fn the_shape_is_what_version_1_runs_with() {
    let (_, _, order) = world();
    // Sagas in flight were begun with this shape: whoever changes it changes the version too.
    expect![[r#"
        workflow order version 1
        input order-placed/1
        step reserve-stock: order-placed/1 -> reservation/1 | out-of-stock/1, settled by query
          compensation settled by query, in doubt Wait
          input recorded [input]
          policies retry=warehouse query=warehouse compensation=compensation
          waits for []
        step authorize-payment: order-placed/1 -> authorization/1 | declined/1, settled by repeating
          compensation settled by repeating, in doubt Wait
          input recorded [input]
          policies retry=checkout query=payment-gateway compensation=compensation
          waits for []
        pivot capture-payment: authorization/1 -> capture/1 | declined/1, settled by query
          input recorded [authorize-payment]
          policies retry=payment-gateway query=payment-gateway compensation=compensation
          waits for [reserve-stock, authorize-payment]
        retriable ship-parcel: (order-placed/1, reservation/1, capture/1) -> parcel/1 | never, settled by repeating
          input recorded [input, reserve-stock, capture-payment]
          policies retry=carrier query=carrier compensation=compensation
          waits for [reserve-stock, capture-payment]
        retriable notify-customer: (order-placed/1, parcel/1) -> sent/1 | never, settled by repeating
          input recorded [input, ship-parcel]
          policies retry=post-office query=post-office compensation=compensation
          waits for [capture-payment, ship-parcel]
        result notify-customer
    "#]].assert_eq(&shape(order.saga.plan()));
}

#[test]
fn a_reviewer_would_ask_this() {
    let (_, _, order) = world();
    let asked = order.saga.lint(&policies(1.0)).unwrap();
    let asked: Vec<String> = asked
        .iter()
        .map(|warning| format!("{}: {}", warning.rule.code(), warning.step.as_deref().unwrap_or("-")))
        .collect();
    expect![[r#"
        held-until-a-person: reserve-stock
        held-until-a-person: capture-payment"#]]
    .assert_eq(&asked.join("\n"));
}

#[test]
fn the_definition_keeps_its_rules_whatever_is_answered() {
    let (_, _, order) = world();
    let explored = explore_definition(&order.saga)
        .policies(&policies(1.0))
        .never("a shipment before its debit", |story| story.applied("ship-parcel").before("capture-payment"))
        .check();
    assert!(explored.complete && explored.completed > 0 && explored.compensated > 0, "{explored}");
}

#[test]
fn the_saga_draws_itself() {
    let (_, _, order) = world();
    expect![[r#"
        ┌─────────────────────┐   ┌─────────────────────┐
        │   reserve-stock ↺   │   │ authorize-payment ↺ │
        └──────────┬──────────┘   └──────────┬──────────┘
                   └────────────┬────────────┘
                                ▼
                     ╔═════════════════════╗
                     ║   capture-payment   ║
                     ╚══════════╤══════════╝
                                ▼
                     ┌─────────────────────┐
                     │     ship-parcel     │
                     └──────────┬──────────┘
                                ▼
                     ┌─────────────────────┐
                     │   notify-customer   │
                     └─────────────────────┘

        ↺ has a compensation   ═ pivot: no way back
    "#]]
    .assert_eq(&order.saga.text());
}

#[test]
fn the_catalogue_has_every_policy_at_every_pace() {
    let (_, _, order) = world();
    for pace in [1.0, 0.05, 0.001] {
        order.saga.resolve(&policies(pace)).unwrap();
    }
}

const ORDER: &str = r#"{
    "order": "order-1", "customer": "ada", "card": "tok-1", "address": "1 Main Street",
    "lines": [
        {"sku": "lamp", "quantity": 2, "price": {"minor": 1500, "currency": "EUR"}},
        {"sku": "bulb", "quantity": 3, "price": {"minor": 250, "currency": "EUR"}}
    ],
    "total": {"minor": 3750, "currency": "EUR"}
}"#;

#[test]
fn an_order_is_read_and_written_without_loss() {
    let order: OrderPlaced = serde_json::from_str(ORDER).unwrap();
    assert_eq!(order.total().minor(), 3_750);
    assert_eq!(order.stock_lines().len(), 2);
    let written: serde_json::Value = serde_json::from_str(&serde_json::to_string(&order).unwrap()).unwrap();
    assert_eq!(written, serde_json::from_str::<serde_json::Value>(ORDER).unwrap());
}

#[test]
fn what_cannot_be_worked_on_is_no_order() {
    let refused = |from: &str, to: &str| {
        assert!(ORDER.contains(from));
        serde_json::from_str::<OrderPlaced>(&ORDER.replacen(from, to, 1)).unwrap_err().to_string()
    };
    assert_eq!(refused("3750", "3751"), "the total is 37.51 EUR, but the lines come to 37.50 EUR");
    assert_eq!(refused(r#""quantity": 2"#, r#""quantity": 0"#), "the quantity of `lamp` is zero");
    assert_eq!(refused("1500", "-1"), "the price of `lamp` is not positive");
    assert_eq!(refused("bulb", "lamp"), "`lamp` stands in two lines");
    assert_eq!(refused("EUR", "USD"), "the lines have no sum: USD and EUR cannot be added");
    assert_eq!(refused("1500", "9223372036854775807"), "the lines have no sum: the amount is too large");
    assert!(refused("1500", "15.5").contains("floating point"));
    assert!(refused("customer", "consumer").contains("unknown field `consumer`"));
}

fn an_order() -> OrderPlaced {
    serde_json::from_str(ORDER).unwrap()
}

fn an_order_with(from: &str, to: &str) -> OrderPlaced {
    serde_json::from_str(&ORDER.replace(from, to)).unwrap()
}

fn start(world: &mut World, order: &OrderSaga, placed: OrderPlaced) -> WorldSaga<Sent> {
    let saga = world.start(&order.saga, "order-1", placed);
    world.run_until_settled();
    saga
}

#[test]
fn an_order_is_paid_once_sent_once_and_told() {
    let (mut world, shop, order) = world();
    let saga = start(&mut world, &order, an_order());
    saga.assert_completed();
    assert_eq!(saga.output(order.capture).unwrap().amount, Money::from_minor(3_750, Currency::Eur));
    shop.assert_balances();
    shop.assert_nothing_held();
    assert_eq!(shop.books().paid, 3_750);
    assert_eq!(shop.books().letters, ["Order order-1 is on its way: parcel of order-1."]);
}

#[test]
fn a_declined_card_puts_the_goods_back() {
    let (mut world, shop, order) = world();
    let saga = start(&mut world, &order, an_order_with("tok-1", "tok-empty"));
    saga.assert_compensated();
    assert_eq!(saga.compensations(), ["reserve-stock"]);
    shop.assert_nothing_held();
    assert_eq!(shop.books().paid, 0);
    saga.timeline(expect![[r#"
        +0.000s order 1 started for order-1
        +0.000s reserve-stock started (attempt 1)
        +0.000s authorize-payment started (attempt 1)
        +0.000s reserve-stock succeeded
        +0.000s authorize-payment refused {"reason":"insufficient_funds"}
        +0.000s turned back (refused: authorize-payment)
        +0.000s compensation of reserve-stock started (attempt 1)
        +0.000s compensation of reserve-stock succeeded
        +0.000s compensated
    "#]]);
}

#[test]
fn goods_that_are_not_there_let_go_of_the_money() {
    let (mut world, shop, order) = world();
    let lines =
        vec![OrderLine { sku: "lamp".into(), quantity: 11, price: Money::from_minor(1_500, Currency::Eur) }];
    let buyer = Buyer { customer: "ada".into(), card: "tok-1".into(), address: "1 Main Street".into() };
    let saga = start(&mut world, &order, OrderPlaced::new("order-1".into(), buyer, lines).unwrap());
    saga.assert_compensated();
    assert_eq!(saga.compensations(), ["authorize-payment"]);
    shop.assert_nothing_held();
}

#[test]
fn a_capture_whose_answer_is_lost_is_asked_for_and_not_sent_again() {
    let (mut world, shop, order) = world();
    world.inject(Fault::first("capture-payment", Call::Forward, FaultKind::ReplyLost));
    let saga = start(&mut world, &order, an_order());
    saga.assert_completed();
    assert_eq!(saga.attempts("capture-payment"), 1);
    assert_eq!(shop.books().paid, 3_750);
    saga.timeline(expect![[r#"
        +0.000s order 1 started for order-1
        +0.000s reserve-stock started (attempt 1)
        +0.000s authorize-payment started (attempt 1)
        +0.000s reserve-stock succeeded
        +0.000s authorize-payment succeeded
        +0.000s capture-payment started (attempt 1)
        +0.000s capture-payment unknown (attempt 1, reply-lost): ask in 0.871s
        +0.872s capture-payment asked about (query 1)
        +0.872s capture-payment found applied (query 1)
        +0.872s ship-parcel started (attempt 1)
        +0.872s ship-parcel succeeded
        +0.872s notify-customer started (attempt 1)
        +0.872s notify-customer succeeded
        +0.872s completed
    "#]]);
}

#[test]
fn a_carrier_that_locks_us_out_waits_for_a_person_and_not_for_the_customer() {
    let (mut world, shop, order) = world();
    world.inject(Fault::first("ship-parcel", Call::Forward, FaultKind::Persistent));
    let saga = start(&mut world, &order, an_order());
    saga.assert_on_desk(Desk::Quarantine, "ship-parcel", "persistent");
    world.resume(&saga, "ship-parcel").unwrap();
    world.run_until_settled();
    saga.assert_completed();
    shop.assert_balances();
}

#[test]
fn a_release_that_fails_for_good_holds_nothing_else_back() {
    let (mut world, shop, order) = world();
    world.inject(Fault::first("reserve-stock", Call::Compensation, FaultKind::Persistent));
    world.inject(Fault::every("capture-payment", Call::Forward, FaultKind::Refused));
    let saga = start(&mut world, &order, an_order());
    saga.assert_on_desk(Desk::Quarantine, "reserve-stock/compensation", "persistent");
    assert_eq!(saga.compensations(), ["authorize-payment"]);
    assert!(shop.books().held.is_empty());
    world.resume(&saga, "reserve-stock/compensation").unwrap();
    world.run_until_settled();
    saga.assert_compensated();
    shop.assert_nothing_held();
}

#[test]
fn goods_that_somebody_has_packed_are_not_put_back_behind_his_back() {
    let (mut world, shop, order) = world();
    shop.books().packed.insert("goods of order-1".to_owned());
    let saga = start(&mut world, &order, an_order_with("tok-1", "tok-empty"));
    saga.assert_on_desk(Desk::Approval, "reserve-stock/compensation", "stale");
    assert!(!shop.books().reserved.is_empty());
    let release = || "reserve-stock/compensation".parse::<ActionId>().unwrap();
    world.ask(&saga, |saga, by| async move { saga.approve(release(), by).await }).unwrap();
    world.run_until_settled();
    saga.assert_compensated();
    shop.assert_nothing_held();
}

#[test]
fn laws() {
    let tried = explore(|world| {
        let (shop, order) = open(world);
        world.start(&order.saga, "order-1", an_order());
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
