//! Stories of one order, as the timeline tells them.

use std::time::Duration;

use amends_core::agenda::Desk;
use amends_core::event::Answer;
use amends_testkit::{CallPlan, QueryPlan, UndoPlan, World, WorldSaga, expect};

use super::shop::{Order, Shop};

/// A shop with one order that has not run yet.
fn ordered() -> (World, Shop, Order, WorldSaga<String>) {
    let mut world = World::new();
    let shop = Shop::new(&mut world);
    let order = shop.order();
    world.register(&order.saga);
    let saga = world.start(&order.saga, "order-42", 3);
    (world, shop, order, saga)
}

#[test]
fn an_ordinary_order_completes() {
    let (mut world, shop, order, saga) = ordered();
    world.run_until_settled();
    saga.assert_completed();
    assert_eq!(saga.output(order.stock), Some("3 pieces".to_owned()));
    assert_eq!(saga.output(order.capture), Some(15));
    assert_eq!(shop.parcels.in_place(), ["parcel for 15 EUR"]);
    saga.timeline(expect![[r#"
        +0.000s order 1 started for order-42
        +0.000s reserve-stock started (attempt 1)
        +0.000s authorize-payment started (attempt 1)
        +0.020s reserve-stock succeeded
        +0.050s authorize-payment succeeded
        +0.050s capture-payment started (attempt 1)
        +0.080s capture-payment succeeded
        +0.080s ship-parcel started (attempt 1)
        +0.150s ship-parcel succeeded
        +0.150s completed
    "#]]);
}

#[test]
fn a_declined_capture_turns_the_order_back() {
    let (mut world, shop, order, saga) = ordered();
    shop.capture.refuse_next("insufficient funds".to_owned());
    world.run_until_settled();
    saga.assert_compensated();
    assert_eq!(saga.output(order.stock), Some("3 pieces".to_owned()));
    assert_eq!(saga.output(order.capture), None);
    assert_eq!(saga.compensations(), ["reserve-stock", "authorize-payment"]);
    assert!(shop.stock.in_place().is_empty());
    saga.timeline(expect![[r#"
        +0.000s order 1 started for order-42
        +0.000s reserve-stock started (attempt 1)
        +0.000s authorize-payment started (attempt 1)
        +0.020s reserve-stock succeeded
        +0.050s authorize-payment succeeded
        +0.050s capture-payment started (attempt 1)
        +0.080s capture-payment refused "insufficient funds"
        +0.080s turned back (refused: capture-payment)
        +0.080s compensation of reserve-stock started (attempt 1)
        +0.080s compensation of authorize-payment started (attempt 1)
        +0.100s compensation of reserve-stock succeeded
        +0.130s compensation of authorize-payment succeeded
        +0.130s compensated
    "#]]);
}

#[test]
fn an_unknown_capture_is_absent_only_after_the_settle_window() {
    let (mut world, shop, _, saga) = ordered();
    shop.capture.on_call().next(CallPlan::LoseRequest);
    world.run_until_settled();
    saga.assert_completed();
    assert_eq!(saga.attempts("capture-payment"), 2);
    saga.timeline(expect![[r#"
        +0.000s order 1 started for order-42
        +0.000s reserve-stock started (attempt 1)
        +0.000s authorize-payment started (attempt 1)
        +0.020s reserve-stock succeeded
        +0.050s authorize-payment succeeded
        +0.050s capture-payment started (attempt 1)
        +0.080s capture-payment unknown (attempt 1, reply-lost): ask in 0.435s
        +0.516s capture-payment asked about (query 1)
        +0.516s capture-payment found absent (query 1): ask in 0.189s
        +0.706s capture-payment asked about (query 2)
        +0.706s capture-payment found absent (query 2): ask in 0.869s
        +1.576s capture-payment asked about (query 3)
        +1.576s capture-payment found absent (query 3): ask in 0.948s
        +2.525s capture-payment asked about (query 4)
        +2.525s capture-payment found absent (query 4): ask in 7.232s
        +9.758s capture-payment asked about (query 5)
        +9.758s capture-payment found absent (query 5): ask in 24.883s
        +34.642s capture-payment asked about (query 6, fencing attempt 1)
        +34.642s capture-payment found fenced through attempt 1 (query 6): retry in 0.357s
        +35.000s capture-payment started (attempt 2)
        +35.030s capture-payment succeeded
        +35.030s ship-parcel started (attempt 1)
        +35.100s ship-parcel succeeded
        +35.100s completed
    "#]]);
}

#[test]
fn an_unknown_capture_that_took_effect_is_found() {
    let (mut world, shop, _, saga) = ordered();
    shop.capture.on_call().next(CallPlan::LoseReply);
    shop.capture.on_query().next(QueryPlan::Fail);
    world.run_until_settled();
    saga.assert_completed();
    assert_eq!(saga.attempts("capture-payment"), 1);
    saga.timeline(expect![[r#"
        +0.000s order 1 started for order-42
        +0.000s reserve-stock started (attempt 1)
        +0.000s authorize-payment started (attempt 1)
        +0.020s reserve-stock succeeded
        +0.050s authorize-payment succeeded
        +0.050s capture-payment started (attempt 1)
        +0.080s capture-payment unknown (attempt 1, reply-lost): ask in 0.435s
        +0.516s capture-payment asked about (query 1)
        +0.516s capture-payment query 1 failed (unavailable): ask in 0.189s
        +0.706s capture-payment asked about (query 2)
        +0.706s capture-payment found applied (query 2)
        +0.706s ship-parcel started (attempt 1)
        +0.776s ship-parcel succeeded
        +0.776s completed
    "#]]);
}

#[test]
fn a_process_that_dies_between_two_steps_is_recovered_by_the_next() {
    let (mut world, shop, _, saga) = ordered();
    world.run_for(Duration::from_millis(30));
    world.crash();
    world.run_until_settled();
    saga.assert_completed();
    shop.balances().expect("money and stock balance");
    saga.timeline(expect![[r#"
        +0.000s order 1 started for order-42
        +0.000s reserve-stock started (attempt 1)
        +0.000s authorize-payment started (attempt 1)
        +0.020s reserve-stock succeeded
        +0.030s taken over by another process
        +0.030s authorize-payment (executor-died): repeat in 0.381s
        +0.412s authorize-payment started (attempt 2, a repeat)
        +0.462s authorize-payment succeeded
        +0.462s capture-payment started (attempt 1)
        +0.492s capture-payment succeeded
        +0.492s ship-parcel started (attempt 1)
        +0.562s ship-parcel succeeded
        +0.562s completed
    "#]]);
}

#[test]
fn a_wrong_credential_waits_for_a_person_and_is_resumed() {
    let (mut world, shop, _, saga) = ordered();
    shop.parcels.on_call().next(CallPlan::Persistent);
    world.run_until_settled();
    saga.assert_on_desk(Desk::Quarantine, "ship-parcel", "persistent");
    world.run_for(Duration::from_secs(60));
    assert_eq!(world.resume(&saga, "ship-parcel"), Ok(Answer::Accepted));
    world.run_until_settled();
    saga.assert_completed();
    saga.timeline(expect![[r#"
        +0.000s order 1 started for order-42
        +0.000s reserve-stock started (attempt 1)
        +0.000s authorize-payment started (attempt 1)
        +0.020s reserve-stock succeeded
        +0.050s authorize-payment succeeded
        +0.050s capture-payment started (attempt 1)
        +0.080s capture-payment succeeded
        +0.080s ship-parcel started (attempt 1)
        +0.150s ship-parcel failed (attempt 1, persistent forbidden): quarantined (persistent)
        +60.150s ship-parcel resumed with 5 attempts
        +60.150s operator asked to resume: accepted
        +60.150s ship-parcel started (attempt 2)
        +60.220s ship-parcel succeeded
        +60.220s completed
    "#]]);
}

#[test]
fn a_compensation_that_cannot_be_made_is_accepted_by_a_person() {
    let (mut world, shop, _, saga) = ordered();
    shop.capture.refuse_next("insufficient funds".to_owned());
    shop.stock.on_undo().next(UndoPlan::Persistent);
    world.run_until_settled();
    saga.assert_on_desk(Desk::Quarantine, "reserve-stock/compensation", "persistent");
    assert_eq!(saga.compensations(), ["authorize-payment"]);
    assert_eq!(world.accept(&saga, "reserve-stock/compensation", &"Undone"), Ok(Answer::Accepted));
    world.run_until_settled();
    saga.assert_compensated();
    saga.timeline(expect![[r#"
        +0.000s order 1 started for order-42
        +0.000s reserve-stock started (attempt 1)
        +0.000s authorize-payment started (attempt 1)
        +0.020s reserve-stock succeeded
        +0.050s authorize-payment succeeded
        +0.050s capture-payment started (attempt 1)
        +0.080s capture-payment refused "insufficient funds"
        +0.080s turned back (refused: capture-payment)
        +0.080s compensation of reserve-stock started (attempt 1)
        +0.080s compensation of authorize-payment started (attempt 1)
        +0.100s compensation of reserve-stock failed (attempt 1, persistent forbidden): quarantined (persistent)
        +0.130s compensation of authorize-payment succeeded
        +0.130s compensation of reserve-stock accepted as applied (seen by a person)
        +0.130s operator asked to accept: accepted
        +0.130s compensated
    "#]]);
}

#[test]
fn a_cancel_while_the_capture_is_under_way_comes_too_late() {
    let (mut world, _, _, saga) = ordered();
    world.run_for(Duration::from_millis(60));
    assert_eq!(world.cancel(&saga), Ok(Answer::Pending));
    world.run_until_settled();
    saga.assert_completed();
    saga.timeline(expect![[r#"
        +0.000s order 1 started for order-42
        +0.000s reserve-stock started (attempt 1)
        +0.000s authorize-payment started (attempt 1)
        +0.020s reserve-stock succeeded
        +0.050s authorize-payment succeeded
        +0.050s capture-payment started (attempt 1)
        +0.060s asked to turn back (cancelled by operator); the pivot decides
        +0.060s operator asked to cancel: pending
        +0.080s capture-payment succeeded
        +0.080s operator asked to cancel: too late
        +0.080s ship-parcel started (attempt 1)
        +0.150s ship-parcel succeeded
        +0.150s completed
    "#]]);
}

#[test]
fn a_cancel_before_the_capture_turns_the_order_back() {
    let (mut world, shop, _, saga) = ordered();
    world.run_for(Duration::from_millis(30));
    assert_eq!(world.cancel(&saga), Ok(Answer::Accepted));
    world.run_until_settled();
    saga.assert_compensated();
    shop.balances().expect("money and stock balance");
    saga.timeline(expect![[r#"
        +0.000s order 1 started for order-42
        +0.000s reserve-stock started (attempt 1)
        +0.000s authorize-payment started (attempt 1)
        +0.020s reserve-stock succeeded
        +0.030s turned back (cancelled by operator)
        +0.030s operator asked to cancel: accepted
        +0.030s compensation of reserve-stock started (attempt 1)
        +0.050s authorize-payment succeeded
        +0.050s compensation of reserve-stock succeeded
        +0.050s compensation of authorize-payment started (attempt 1)
        +0.100s compensation of authorize-payment succeeded
        +0.100s compensated
    "#]]);
}

#[test]
fn a_participant_that_hangs_is_asked_after_the_attempt_timeout() {
    let (mut world, shop, _, saga) = ordered();
    shop.capture.on_call().next(CallPlan::Hang);
    world.run_until_settled();
    saga.assert_completed();
    saga.timeline(expect![[r#"
        +0.000s order 1 started for order-42
        +0.000s reserve-stock started (attempt 1)
        +0.000s authorize-payment started (attempt 1)
        +0.020s reserve-stock succeeded
        +0.050s authorize-payment succeeded
        +0.050s capture-payment started (attempt 1)
        +30.050s capture-payment unknown (attempt 1, timeout): ask in 0.435s
        +30.486s capture-payment asked about (query 1)
        +30.486s capture-payment found absent (query 1): ask in 0.189s
        +30.676s capture-payment asked about (query 2)
        +30.676s capture-payment found absent (query 2): ask in 0.869s
        +31.546s capture-payment asked about (query 3)
        +31.546s capture-payment found absent (query 3): ask in 0.948s
        +32.495s capture-payment asked about (query 4)
        +32.495s capture-payment found absent (query 4): ask in 7.232s
        +39.728s capture-payment asked about (query 5)
        +39.728s capture-payment found absent (query 5): ask in 24.883s
        +64.612s capture-payment asked about (query 6, fencing attempt 1)
        +64.612s capture-payment found fenced through attempt 1 (query 6): retry in 0.357s
        +64.970s capture-payment started (attempt 2)
        +65.000s capture-payment succeeded
        +65.000s ship-parcel started (attempt 1)
        +65.070s ship-parcel succeeded
        +65.070s completed
    "#]]);
}
