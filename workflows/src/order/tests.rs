//! Tests of the order workflow.

use amends::core::plan::digest::shape;
use expect_test::expect;

use super::*;
use crate::{policies, silent};

#[test]
fn the_shape_is_what_version_1_runs_with() {
    let saga = order_saga(&silent::participants()).unwrap().saga;
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
    "#]].assert_eq(&shape(saga.plan()));
}

#[test]
fn the_catalogue_has_every_policy_at_every_pace() {
    let saga = order_saga(&silent::participants()).unwrap().saga;
    for pace in [1.0, 0.05, 0.001] {
        saga.resolve(&policies(pace)).unwrap();
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
