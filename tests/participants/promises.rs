//! What a participant promises: one effect per request, kept answers, fences, and no more than there is.

use amends::prelude::{Finding, Undo, UndoFinding};
use amends_workflows::ports::{
    CallError, DeclineReason, Declined, Fault, NoSale, OutOfStock, RefundFunds, Restock, Settle, StockLine,
    UndoError, code,
};

use crate::participants::End;
use crate::shop::{KEY, Shop, back, call, call_for, eur, fencing, hold, lamps};

fn code_of<T, R>(answer: Result<T, CallError<R>>) -> String {
    match answer {
        Err(CallError::Failed(Fault { code, .. })) => code.into_owned(),
        _ => "no fault".into(),
    }
}

#[tokio::test]
async fn a_repeated_request_gets_the_kept_answer_and_no_second_effect() {
    let shop = Shop::open().await;
    let first = shop.reserve(1, 2).await;
    let second = shop.ports.inventory.reserve(&call(1, 2), &lamps(2)).await.unwrap();
    assert_eq!(first, second);
    assert_eq!(shop.number("SELECT on_hand FROM stock").await, 8);
    assert_eq!(shop.number("SELECT max(effects) FROM effects").await, 1);
}

#[tokio::test]
async fn the_same_request_with_another_amount_is_a_mismatch() {
    let shop = Shop::open().await;
    shop.authorize(2, 3_000).await;
    let answer = shop.ports.payments.authorize(&call(2, 2), &hold(3_001)).await;
    assert_eq!(code_of(answer), code::MISMATCH);
}

#[tokio::test]
async fn concurrent_calls_of_many_requests_never_sell_what_is_not_there() {
    let shop = Shop::open().await;
    let calls = (1..=20).map(|id| {
        let ports = shop.ports.clone();
        tokio::spawn(async move { ports.inventory.reserve(&call(id, 1), &lamps(1)).await.is_ok() })
    });
    let mut reserved = 0;
    for made in calls.collect::<Vec<_>>() {
        reserved += i64::from(made.await.unwrap());
    }
    assert_eq!(reserved, 10);
    assert_eq!(shop.number("SELECT on_hand FROM stock").await, 0);
}

#[tokio::test]
async fn a_refusal_says_what_there_is_and_is_kept() {
    let shop = Shop::open().await;
    let refused = OutOfStock { sku: "lamp".into(), wanted: 11, available: 10 };
    let answer = shop.ports.inventory.reserve(&call(1, 1), &lamps(11)).await;
    assert_eq!(answer, Err(CallError::Refused(refused.clone())));
    // More lamps come in, but the answer stands.
    shop.tamper("UPDATE stock SET on_hand = 99, initial = 99").await;
    let answer = shop.ports.inventory.reserve(&call(1, 2), &lamps(11)).await;
    assert_eq!(answer, Err(CallError::Refused(refused.clone())));
    let found = shop.ports.inventory.reservation(&call(1, 2)).await.unwrap();
    assert_eq!(found, Finding::Refused(refused));
}

#[tokio::test]
async fn a_card_says_itself_why_it_is_declined() {
    let shop = Shop::open().await;
    for (id, card, reason) in [
        (1, "tok-empty-1", DeclineReason::InsufficientFunds),
        (2, "tok-stolen-1", DeclineReason::StolenCard),
        (3, "tok-expired-1", DeclineReason::ExpiredCard),
    ] {
        let ask = amends_workflows::ports::Authorize { card: card.into(), ..hold(3_000) };
        let answer = shop.ports.payments.authorize(&call(id, 1), &ask).await;
        assert_eq!(answer, Err(CallError::Refused(Declined { reason })));
    }
    assert_eq!(shop.number("SELECT count(*) FROM entry").await, 0);
}

#[tokio::test]
async fn what_was_held_is_released_once_however_often_it_is_asked_for() {
    let shop = Shop::open().await;
    shop.reserve(1, 2).await;
    for _ in 0..2 {
        let undone = shop.ports.inventory.release(&back(11, 1), &KEY.into(), None).await;
        assert_eq!(undone, Ok(Undo::Undone));
    }
    assert_eq!(shop.number("SELECT on_hand FROM stock").await, 10);
    assert_eq!(shop.ports.inventory.released(&back(11, 1)).await, Ok(UndoFinding::Undone));
    shop.end("order", KEY, End::Compensated, eur(3_000));
    shop.assert_balances().await;
}

#[tokio::test]
async fn a_void_that_overtakes_its_authorization_closes_it_out() {
    let shop = Shop::open().await;
    assert_eq!(shop.ports.payments.void(&back(12, 2), KEY).await, Ok(Undo::NothingToUndo));
    let late = shop.ports.payments.authorize(&call(2, 1), &hold(3_000)).await;
    assert_eq!(code_of(late), code::FENCED);
    assert_eq!(shop.number("SELECT count(*) FROM authorization").await, 0);
}

#[tokio::test]
async fn a_fence_closes_the_attempts_it_covers_and_no_later_one() {
    let shop = Shop::open().await;
    let found = shop.ports.inventory.reservation(&fencing(call(1, 2))).await;
    assert_eq!(found, Ok(Finding::Fenced { through: 2 }));
    assert_eq!(code_of(shop.ports.inventory.reserve(&call(1, 2), &lamps(1)).await), code::FENCED);
    assert!(shop.ports.inventory.reserve(&call(1, 3), &lamps(1)).await.is_ok());
}

#[tokio::test]
async fn money_is_taken_once_and_only_what_is_held() {
    let shop = Shop::open().await;
    let held = shop.authorize(2, 3_000).await;
    shop.capture(3, held.clone()).await;
    // Another request for the same money.
    let ask = amends_workflows::ports::CaptureFunds { authorization: held.id, amount: held.amount };
    let again = shop.ports.payments.capture(&call(33, 1), &ask).await;
    let declined = Declined { reason: DeclineReason::NothingHeld };
    assert_eq!(again, Err(CallError::Refused(declined)));
    // And what is taken cannot be voided any more.
    let too_late = shop.ports.payments.void(&back(12, 2), KEY).await;
    assert!(matches!(too_late, Err(UndoError::Failed(fault)) if fault.code == code::BAD_REQUEST));
}

#[tokio::test]
async fn refunds_come_from_where_the_money_is_and_never_exceed_it() {
    let shop = Shop::open().await;
    let taken = shop.sell().await;
    let refund = |id: u128, minor: i64| {
        let ask = RefundFunds { capture: taken.id.clone(), amount: eur(minor) };
        let payments = shop.ports.payments.clone();
        async move { payments.refund(&call_for("refund-1", id, 1), &ask).await }
    };
    refund(20, 2_000).await.unwrap();
    let declined = Declined { reason: DeclineReason::NothingToRefund };
    assert_eq!(refund(21, 1_001).await, Err(CallError::Refused(declined)));
    shop.end("refund", "refund-1", End::Completed, eur(2_000));
    shop.assert_balances().await;
    // Settling is over once something was given back.
    let ask = Settle { capture: taken.id.clone(), amount: taken.amount };
    assert_eq!(code_of(shop.ports.ledger.settle(&call(6, 1), &ask).await), code::BAD_REQUEST);
}

#[tokio::test]
async fn a_sale_is_seen_when_its_order_is_done_and_not_before() {
    let shop = Shop::open().await;
    let sale = async || shop.ports.sales.sale(&call_for("refund-1", 20, 1), &KEY.into()).await;
    assert_eq!(sale().await, Err(CallError::Refused(NoSale { order: KEY.into() })));
    shop.reserve(91, 1).await;
    assert_eq!(code_of(sale().await), code::TOO_EARLY);
    shop.ports.inventory.release(&back(92, 91), &KEY.into(), None).await.unwrap();
    shop.sell().await;
    let seen = sale().await.unwrap();
    assert_eq!((seen.captured, seen.refunded), (eur(3_000), eur(0)));
    assert_eq!(seen.sent, [StockLine { sku: "lamp".into(), quantity: 2 }]);
}

#[tokio::test]
async fn no_more_comes_back_than_was_sent() {
    let shop = Shop::open().await;
    shop.sell().await;
    let restock = |id: u128, quantity: u32| {
        let ask = Restock { order: KEY.into(), lines: vec![StockLine { sku: "lamp".into(), quantity }] };
        let inventory = shop.ports.inventory.clone();
        async move { inventory.restock(&call_for("refund-1", id, 1), &ask).await }
    };
    assert_eq!(code_of(restock(21, 3).await), code::BAD_REQUEST);
    assert_eq!(restock(22, 1).await.unwrap().pieces, 1);
    assert_eq!(code_of(restock(23, 2).await), code::BAD_REQUEST);
    assert_eq!(shop.number("SELECT on_hand FROM stock").await, 9);
}
