//! Tests of the payment workflow.

use amends::core::plan::digest::shape;
use expect_test::expect;

use super::*;
use crate::{policies, silent};

#[test]
fn the_shape_is_what_version_1_runs_with() {
    let saga = payment_saga(&silent::participants()).unwrap().saga;
    // Sagas in flight were begun with this shape: whoever changes it changes the version too.
    expect![[r#"
        workflow payment version 1
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
        retriable print-receipt: (payment-requested/1, settlement/1) -> sent/1 | never, settled by operator
          input recorded [input, settle]
          policies retry=post-office query=default compensation=compensation
          waits for [capture-payment, settle]
        result print-receipt
    "#]].assert_eq(&shape(saga.plan()));
}

#[test]
fn the_catalogue_has_every_policy_at_every_pace() {
    let saga = payment_saga(&silent::participants()).unwrap().saga;
    for pace in [1.0, 0.05, 0.001] {
        saga.resolve(&policies(pace)).unwrap();
    }
}

#[test]
fn nothing_to_pay_is_no_payment() {
    let written = r#"{"payment": "p-1", "customer": "ada", "card": "tok-1", "amount": {"minor": 0, "currency": "EUR"}}"#;
    let error = serde_json::from_str::<PaymentRequested>(written).unwrap_err();
    assert_eq!(error.to_string(), "the amount 0.00 EUR is not positive");
    assert!(serde_json::from_str::<PaymentRequested>(&written.replace("0, ", "1, ")).is_ok());
}
