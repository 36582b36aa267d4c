//! Answers that are neither yes nor no: taken and done later, done in part, held with other values, closed out,
//! moved since. All of them go through the barrier and outlive the process.

use std::time::Duration;

use amends::prelude::{Finding, Undo};
use amends_workflows::ports::{
    Call, CallError, Capture, CaptureFunds, Fault, Goods, GoodsState, Restock, UndoError, code,
};

use crate::participants::{End, InvalidFault, Kind, PlannedFault};
use crate::shop::{KEY, Shop, back, call, eur, hold, lamps};

#[tokio::test]
async fn what_was_taken_is_done_later_once_and_is_heard_of_meanwhile() {
    let shop = Shop::open().await;
    shop.plan("reserve-stock", (1, 2), Kind::Accepted, 20_000).await;
    let inventory = &shop.ports.inventory;
    // A repeat is taken as well, and is not done twice.
    for attempt in 1..=2 {
        assert_eq!(
            inventory.reserve(&call(1, attempt), &lamps(2)).await,
            Err(CallError::Accepted { wait: None })
        );
    }
    shop.clock.somebody_waits().await;
    assert_eq!(inventory.reservation(&call(1, 1)).await, Ok(Finding::InProgress));
    assert_eq!(shop.number("SELECT count(*) FROM effect").await, 0);
    // The pace of these tests is one half.
    shop.clock.advance(Duration::from_secs(10));
    while inventory.reservation(&call(1, 1)).await == Ok(Finding::InProgress) {
        tokio::task::yield_now().await;
    }
    let Ok(Finding::Applied(made)) = inventory.reservation(&call(1, 1)).await else { panic!("it is done") };
    // Done is done: the next attempt is told what came of it.
    assert_eq!(inventory.reserve(&call(1, 2), &lamps(2)).await, Ok(made));
    assert_eq!(shop.number("SELECT count(*) FROM effect").await, 1);
}

#[tokio::test]
async fn what_was_taken_outlives_the_process_that_took_it() {
    let shop = Shop::open().await;
    shop.plan("capture-payment", (1, 1), Kind::Accepted, 20_000).await;
    let held = shop.authorize(1, 3_000).await;
    let ask = CaptureFunds { authorization: held.id, amount: held.amount };
    assert_eq!(shop.ports.payments.capture(&call(2, 1), &ask).await, Err(CallError::Accepted { wait: None }));
    let shop = shop.again().await;
    let payments = &shop.ports.payments;
    assert_eq!(payments.captured(&call(2, 1)).await, Ok(Finding::InProgress));
    shop.clock.advance(Duration::from_secs(10));
    while payments.captured(&call(2, 1)).await == Ok(Finding::InProgress) {
        tokio::task::yield_now().await;
    }
    assert!(matches!(payments.captured(&call(2, 1)).await, Ok(Finding::Applied(_))));
    while shop.number("SELECT count(*) FROM backlog").await > 0 {}
}

#[tokio::test]
async fn what_was_taken_and_undone_before_it_was_done_is_never_done() {
    let shop = Shop::open().await;
    shop.plan("reserve-stock", (1, 1), Kind::Accepted, 20_000).await;
    let inventory = &shop.ports.inventory;
    assert_eq!(inventory.reserve(&call(1, 1), &lamps(2)).await, Err(CallError::Accepted { wait: None }));
    assert_eq!(inventory.release(&back(2, 1), &KEY.into(), None).await, Ok(Undo::NothingToUndo));
    shop.clock.somebody_waits().await;
    shop.clock.advance(Duration::from_secs(10));
    while shop.number("SELECT count(*) FROM backlog").await > 0 {}
    assert_eq!(shop.number("SELECT count(*) FROM effect").await, 0);
}

#[tokio::test]
async fn a_part_is_kept_told_again_and_given_back_and_the_shelves_agree() {
    let shop = Shop::open().await;
    shop.plan("reserve-stock", (1, 1), Kind::Partial, 0).await;
    let inventory = &shop.ports.inventory;
    let first = inventory.reserve(&call(1, 1), &lamps(3)).await;
    assert!(matches!(&first, Err(CallError::Partial(Some(_)))), "{first:?}");
    // The second attempt is planned to go well, but the barrier has an answer already.
    assert_eq!(inventory.reserve(&call(1, 2), &lamps(3)).await, first);
    assert!(matches!(inventory.reservation(&call(1, 1)).await, Ok(Finding::Partial(Some(_)))));
    assert_eq!(shop.number("SELECT reserved FROM stock").await, 2);
    shop.end("order", KEY, End::Open, eur(3_000));
    shop.assert_balances().await;
    assert_eq!(inventory.release(&back(2, 1), &KEY.into(), None).await, Ok(Undo::Undone));
    assert_eq!(shop.number("SELECT on_hand FROM stock").await, 10);
    shop.end("order", KEY, End::Compensated, eur(3_000));
    shop.assert_balances().await;
}

#[tokio::test]
async fn of_a_capture_in_part_the_rest_is_let_go_of_and_the_books_agree() {
    let shop = Shop::open().await;
    shop.plan("capture-payment", (1, 1), Kind::Partial, 0).await;
    let held = shop.authorize(1, 3_001).await;
    let ask = CaptureFunds { authorization: held.id, amount: held.amount };
    let Err(CallError::Partial(Some(taken))) = shop.ports.payments.capture(&call(2, 1), &ask).await else {
        panic!("it is taken in part")
    };
    assert_eq!(taken.decode::<Capture>().unwrap().amount, eur(1_500));
    shop.end("order", KEY, End::Open, eur(3_001));
    shop.assert_balances().await;
    // A saga that called this done would be found out.
    shop.end("order", KEY, End::Completed, eur(3_001));
    let broken: Vec<_> = shop.audit().await.into_iter().filter(|finding| !finding.ok).collect();
    assert!(broken.iter().any(|finding| finding.rule.contains("paid once")), "{broken:?}");
}

#[tokio::test]
async fn what_has_no_parts_is_not_done_in_part() {
    let shop = Shop::open().await;
    shop.plan("reserve-stock", (1, 1), Kind::Partial, 0).await;
    shop.plan("restock", (1, 1), Kind::Partial, 0).await;
    let bad_request = |fault: Fault| assert_eq!(fault.code, code::BAD_REQUEST);
    match shop.ports.inventory.reserve(&call(1, 1), &lamps(1)).await {
        Err(CallError::Failed(fault)) => bad_request(fault),
        other => panic!("{other:?}"),
    }
    match shop.ports.inventory.restock(&call(2, 1), &Restock { order: KEY.into(), lines: vec![] }).await {
        Err(CallError::Failed(fault)) => bad_request(fault),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_request_id_that_is_held_with_other_values_stays_so() {
    let shop = Shop::open().await;
    shop.plan("authorize-payment", (1, 1), Kind::Mismatch, 0).await;
    for attempt in 1..=2 {
        let answer = shop.ports.payments.authorize(&call(1, attempt), &hold(100)).await;
        let Err(CallError::Failed(fault)) = answer else { panic!("{answer:?}") };
        assert_eq!(fault.code, code::MISMATCH);
    }
    assert_eq!(shop.number("SELECT count(*) FROM authorization").await, 0);
}

#[tokio::test]
async fn a_transmission_that_was_closed_out_has_no_effect_and_the_next_one_has() {
    let shop = Shop::open().await;
    shop.plan("reserve-stock", (1, 1), Kind::Fenced, 0).await;
    let answer = shop.ports.inventory.reserve(&call(1, 1), &lamps(2)).await;
    let Err(CallError::Failed(fault)) = answer else { panic!("{answer:?}") };
    assert_eq!(fault.code, code::FENCED);
    shop.ports.inventory.reserve(&call(1, 2), &lamps(2)).await.unwrap();
}

#[tokio::test]
async fn goods_that_somebody_has_packed_meanwhile_are_not_released_until_that_is_expected() {
    let shop = Shop::open().await;
    shop.plan("release-stock", (1, 1), Kind::Stale, 0).await;
    let reservation = shop.reserve(1, 2).await.id;
    let held = Goods { reservation, state: GoodsState::Held };
    let answer = shop.ports.inventory.release(&back(2, 1), &KEY.into(), Some(&held)).await;
    let Err(UndoError::Stale { found }) = answer else { panic!("{answer:?}") };
    let found: Goods = found.decode().unwrap();
    assert_eq!(found, Goods { state: GoodsState::Packed, ..held });
    assert_eq!(shop.number("SELECT reserved FROM stock").await, 2);
    let again = Call { attempt: 2, ..back(2, 1) };
    assert_eq!(shop.ports.inventory.release(&again, &KEY.into(), Some(&found)).await, Ok(Undo::Undone));
    assert_eq!(shop.number("SELECT reserved FROM stock").await, 0);
}

#[tokio::test]
async fn a_refusal_may_take_effect_all_the_same_and_a_query_says_so() {
    let shop = Shop::open().await;
    shop.plan("reserve-stock", (1, 1), Kind::RefusedApplied, 0).await;
    let answer = shop.ports.inventory.reserve(&call(1, 1), &lamps(2)).await;
    assert!(matches!(answer, Err(CallError::Refused(_))), "{answer:?}");
    let found = shop.ports.inventory.reservation(&call(1, 1)).await;
    assert!(matches!(found, Ok(Finding::Applied(_))), "{found:?}");
    assert_eq!(shop.number("SELECT reserved FROM stock").await, 2);
}

#[tokio::test]
async fn a_compensation_may_overlook_what_it_was_to_undo_once() {
    let shop = Shop::open().await;
    shop.plan("release-stock", (1, 1), Kind::Overlooked, 0).await;
    shop.reserve(1, 2).await;
    let release = async |id| shop.ports.inventory.release(&back(id, 1), &KEY.into(), None).await;
    assert_eq!(release(2).await, Ok(Undo::NothingToUndo));
    assert_eq!(shop.number("SELECT reserved FROM stock").await, 2);
    // A compensation that a person requests is another request.
    assert_eq!(release(3).await, Ok(Undo::Undone));
    assert_eq!(shop.number("SELECT reserved FROM stock").await, 0);
}

#[test]
fn each_is_planned_only_where_it_can_be() {
    let refused = |call: &str, kind| {
        let error = PlannedFault::new(call, (1, 1), kind, 0).expect_err("it should be refused");
        assert!(matches!(error, InvalidFault::NotOf { .. }), "{call} {kind}: {error}");
    };
    // Nobody could ask what came of it.
    refused("ship-parcel", Kind::Accepted);
    refused("check-limit", Kind::Accepted);
    refused("settle-payment", Kind::Partial);
    refused("settle-payment", Kind::Mismatch);
    refused("release-stock", Kind::Fenced);
    refused("reserve-stock", Kind::Stale);
    refused("void-payment", Kind::Stale);
    refused("reserve-stock", Kind::Overlooked);
    refused("settle-payment", Kind::RefusedApplied);
    refused("reserve-stock", Kind::Oversized);
    refused("reserve-stock/query", Kind::Partial);
}
