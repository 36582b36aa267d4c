//! Tests of the refund workflow.

use amends::core::plan::digest::shape;
use expect_test::expect;

use super::*;
use crate::ports::{Sale, StockLine};
use crate::{Currency, Money, policies, silent};

#[test]
fn the_shape_is_what_version_1_runs_with() {
    let saga = refund_saga(&silent::participants()).unwrap().saga;
    // Sagas in flight were begun with this shape: whoever changes it changes the version too.
    expect![[r#"
        workflow refund version 1
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
        result notify-customer
    "#]].assert_eq(&shape(saga.plan()));
}

#[test]
fn the_catalogue_has_every_policy_at_every_pace() {
    let saga = refund_saga(&silent::participants()).unwrap().saga;
    for pace in [1.0, 0.05, 0.001] {
        saga.resolve(&policies(pace)).unwrap();
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
        returned: vec![StockLine { sku: "lamp".into(), quantity: returned }],
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
