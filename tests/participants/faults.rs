//! Bad days come as planned, at the attempt they were planned for, before and after a restart.

use std::time::Duration;

use amends::prelude::{Finding, UndoFinding};
use amends_workflows::ports::{CallError, Fault, OutOfStock, code};

use crate::participants::{InvalidFault, Kind, PlannedFault};
use crate::shop::{KEY, Shop, back, call, lamps};

fn fault<T: std::fmt::Debug, R: std::fmt::Debug>(answer: Result<T, CallError<R>>) -> Fault {
    match answer {
        Err(CallError::Failed(fault)) => fault,
        other => panic!("{other:?} is no fault"),
    }
}

#[tokio::test]
async fn a_lost_answer_may_stand_for_an_effect_or_for_none() {
    let shop = Shop::open().await;
    shop.plan("reserve-stock", (1, 1), Kind::LostApplied, 0).await;
    let inventory = &shop.ports.inventory;
    assert_eq!(fault(inventory.reserve(&call(1, 1), &lamps(2)).await).code, code::REPLY_LOST);
    let Ok(Finding::Applied(found)) = inventory.reservation(&call(1, 1)).await else { panic!("it applied") };
    // The next attempt is answered, with the same.
    assert_eq!(inventory.reserve(&call(1, 2), &lamps(2)).await, Ok(found));

    shop.plan("authorize-payment", (1, 2), Kind::LostNotApplied, 0).await;
    for attempt in 1..=2 {
        let lost = shop.ports.payments.authorize(&call(2, attempt), &crate::shop::hold(100)).await;
        assert_eq!(fault(lost).code, code::REPLY_LOST);
        assert_eq!(shop.ports.payments.authorization(&call(2, attempt)).await, Ok(Finding::Absent));
    }
    shop.ports.payments.authorize(&call(2, 3), &crate::shop::hold(100)).await.unwrap();
}

#[tokio::test]
async fn what_cannot_work_says_why() {
    let shop = Shop::open().await;
    shop.plan("reserve-stock", (1, 1), Kind::Transient, 4_000).await;
    shop.plan("reserve-stock", (2, 2), Kind::Persistent, 0).await;
    let busy = fault(shop.ports.inventory.reserve(&call(1, 1), &lamps(2)).await);
    // The pace of these tests is one half.
    assert_eq!((&*busy.code, busy.retry_after), (code::UNAVAILABLE, Some(Duration::from_secs(2))));
    let locked_out = fault(shop.ports.inventory.reserve(&call(1, 2), &lamps(2)).await);
    assert_eq!(locked_out.code, code::BAD_CREDENTIAL);
    assert_eq!(shop.number("SELECT count(*) FROM effect").await, 0);
    shop.ports.inventory.reserve(&call(1, 3), &lamps(2)).await.unwrap();
}

#[tokio::test]
async fn a_late_call_takes_effect_after_its_answer_was_lost() {
    let shop = Shop::open().await;
    shop.plan("reserve-stock", (1, 1), Kind::Late, 4_000).await;
    let inventory = &shop.ports.inventory;
    assert_eq!(fault(inventory.reserve(&call(1, 1), &lamps(2)).await).code, code::REPLY_LOST);
    shop.clock.somebody_waits().await;
    assert_eq!(inventory.reservation(&call(1, 1)).await, Ok(Finding::Absent));
    shop.clock.advance(Duration::from_secs(2));
    while inventory.reservation(&call(1, 1)).await == Ok(Finding::Absent) {}
    assert!(matches!(inventory.reservation(&call(1, 1)).await, Ok(Finding::Applied(_))));
}

#[tokio::test]
async fn a_slow_call_is_heard_of_and_outlives_its_caller() {
    let shop = Shop::open().await;
    shop.plan("release-stock", (1, 1), Kind::Slow, 20_000).await;
    shop.reserve(1, 2).await;
    let inventory = shop.ports.inventory.clone();
    let caller = tokio::spawn(async move { inventory.release(&back(11, 1), &KEY.into(), None).await });
    shop.clock.somebody_waits().await;
    assert_eq!(shop.ports.inventory.released(&back(11, 1)).await, Ok(UndoFinding::InProgress));
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    assert_eq!(shop.ports.inventory.released(&back(11, 1)).await, Ok(UndoFinding::Absent));
    shop.clock.advance(Duration::from_secs(10));
    while shop.ports.inventory.released(&back(11, 1)).await != Ok(UndoFinding::Undone) {}
}

#[tokio::test]
async fn a_planned_refusal_is_kept_like_any_other() {
    let shop = Shop::open().await;
    shop.plan("reserve-stock", (1, 1), Kind::Refused, 0).await;
    let refused = OutOfStock { sku: "lamp".into(), wanted: 2, available: 0 };
    for attempt in 1..=2 {
        let answer = shop.ports.inventory.reserve(&call(1, attempt), &lamps(2)).await;
        assert_eq!(answer, Err(CallError::Refused(refused.clone())));
    }
}

#[tokio::test]
async fn a_query_lies_and_mumbles_as_often_as_planned_and_a_restart_does_not_begin_anew() {
    let shop = Shop::open().await;
    shop.plan("reserve-stock/query", (1, 2), Kind::Absent, 0).await;
    shop.plan("reserve-stock/query", (3, 3), Kind::Unclear, 0).await;
    shop.plan("reserve-stock/query", (4, 4), Kind::LostNotApplied, 0).await;
    let made = shop.reserve(1, 2).await;
    assert_eq!(shop.ports.inventory.reservation(&call(1, 1)).await, Ok(Finding::Absent));
    let shop = shop.again().await;
    let inventory = &shop.ports.inventory;
    assert_eq!(inventory.reservation(&call(1, 1)).await, Ok(Finding::Absent));
    assert!(matches!(inventory.reservation(&call(1, 1)).await, Ok(Finding::Unclear(_))));
    assert_eq!(inventory.reservation(&call(1, 1)).await.unwrap_err().code, code::REPLY_LOST);
    assert_eq!(inventory.reservation(&call(1, 1)).await, Ok(Finding::Applied(made)));
}

#[tokio::test]
async fn a_plan_outlives_the_process_and_is_not_planned_anew() {
    let shop = Shop::open().await;
    shop.plan("reserve-stock", (1, 1), Kind::Persistent, 0).await;
    let shop = shop.again().await;
    // The same input is read again after a restart, or another one.
    shop.plan("reserve-stock", (1, 1), Kind::Transient, 0).await;
    let answer = shop.ports.inventory.reserve(&call(1, 1), &lamps(2)).await;
    assert_eq!(fault(answer).code, code::BAD_CREDENTIAL);
}

#[test]
fn a_fault_is_written_down_with_as_little_as_it_needs() {
    let written = r#"{"call": "capture-payment", "kind": "lost_applied"}"#;
    let fault: PlannedFault = serde_json::from_str(written).unwrap();
    assert_eq!(fault, PlannedFault::new("capture-payment", (1, 1), Kind::LostApplied, 0).unwrap());
    let written = r#"{"call": "ship-parcel", "kind": "slow", "from": 2, "to": 4, "millis": 900}"#;
    let fault: PlannedFault = serde_json::from_str(written).unwrap();
    assert_eq!(fault, PlannedFault::new("ship-parcel", (2, 4), Kind::Slow, 900).unwrap());
    // A refusal is meant for all attempts: a crash may cost the first one.
    let written = r#"{"call": "reserve-stock", "kind": "refused"}"#;
    let fault: PlannedFault = serde_json::from_str(written).unwrap();
    assert_eq!(fault, PlannedFault::new("reserve-stock", (1, u32::MAX), Kind::Refused, 0).unwrap());
}

#[test]
fn what_cannot_fail_so_is_refused_at_once() {
    let refused = |call: &str, attempts, kind, millis| {
        PlannedFault::new(call, attempts, kind, millis).expect_err("it should be refused")
    };
    assert!(matches!(refused("make-coffee", (1, 1), Kind::Slow, 0), InvalidFault::NoSuchCall(..)));
    assert!(matches!(refused("ship-parcel/query", (1, 1), Kind::Absent, 0), InvalidFault::NoQuery(_)));
    assert!(matches!(refused("ship-parcel", (1, 1), Kind::Refused, 0), InvalidFault::NotOf { .. }));
    assert!(matches!(refused("check-fraud", (1, 1), Kind::LostApplied, 0), InvalidFault::NotOf { .. }));
    assert!(matches!(refused("ship-parcel", (2, 1), Kind::Slow, 0), InvalidFault::Never { .. }));
    let window = refused("ship-parcel", (1, 1), Kind::Late, 30_000);
    assert!(matches!(window, InvalidFault::BreaksTheContract { .. }));
}
