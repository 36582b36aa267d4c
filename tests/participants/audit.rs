//! The audit agrees with a shop where all is well, and finds what is not, rule by rule.

use amends_workflows::names::CustomerId;
use amends_workflows::ports::{Authorize, CaptureFunds, Receipt, RefundFunds, Settle};

use crate::participants::End;
use crate::shop::{Shop, back, call_for, eur, hold};

/// A shop with an order done, one turned back, a payment settled and a refund.
async fn busy_shop() -> Shop {
    let shop = Shop::open().await;
    let taken = shop.sell().await;

    shop.ports
        .payments
        .authorize(&call_for("order-2", 51, 1), &Authorize { reference: "order-2".into(), ..hold(700) })
        .await
        .unwrap();
    let void = amends_workflows::ports::Call { business_key: "order-2".into(), ..back(52, 51) };
    shop.ports.payments.void(&void, "order-2").await.unwrap();
    shop.end("order", "order-2", End::Compensated, eur(700));

    let key = "payment-1";
    let ask = Authorize { reference: key.into(), ..hold(5_000) };
    let held = shop.ports.payments.authorize(&call_for(key, 61, 1), &ask).await.unwrap();
    let ask = CaptureFunds { authorization: held.id, amount: held.amount };
    let paid = shop.ports.payments.capture(&call_for(key, 62, 1), &ask).await.unwrap();
    let ask = Settle { capture: paid.id.clone(), amount: paid.amount };
    shop.ports.ledger.settle(&call_for(key, 63, 1), &ask).await.unwrap();
    let receipt = Receipt { to: CustomerId::from("ada"), reference: key.into(), amount: paid.amount };
    shop.ports.receipts.print(&call_for(key, 64, 1), &receipt).await.unwrap();
    shop.end("payment", key, End::Completed, eur(5_000));

    for (key, id, capture, minor) in [("refund-1", 71, taken.id, 1_000), ("refund-2", 72, paid.id, 500)] {
        let ask = RefundFunds { capture, amount: eur(minor) };
        shop.ports.payments.refund(&call_for(key, id, 1), &ask).await.unwrap();
        shop.end("refund", key, End::Completed, eur(minor));
    }
    shop
}

#[tokio::test]
async fn a_shop_where_all_is_well_balances_and_says_over_what() {
    let shop = busy_shop().await;
    shop.assert_balances().await;
    let lines: Vec<String> =
        shop.audit().await.iter().map(|finding| format!("{}: {}\n", finding.rule, finding.detail)).collect();
    expect_test::expect![[r#"
        stock balances: what there was is on the shelf, set aside or sent: 10 pieces of 1 kind
        the shelves agree with the reservations: 1 reservation
        money sums to zero in every movement: 9 movements
        the accounts agree with what the gateway says it holds and took: 1 currency, 4 accounts
        no more was given back than was taken: 2 refunds
        at most one effect per request id: 13 effects
        everything that happened belongs to a saga: 5 sagas
        a completed order or payment was paid once, with the right amount: 2 completed
        a completed order was sent once, and its customer told once: 1 parcel
        a completed payment was settled once, and receipted once: 1 settlement
        a completed refund gave the right amount back, once: 2 completed
        what was turned back left nothing: no money taken or given back, no parcel: 1 turned back
        nothing is held for what has ended: no money on a card, no goods set aside: 5 ended
    "#]]
    .assert_eq(&lines.concat());
}

/// Behind the participants' backs, and the words of the rule that has to notice.
const TAMPERING: &[(&str, &str, &str)] = &[
    ("UPDATE stock SET on_hand = on_hand + 1", "stock balances", "lamp: 10 is not 9 + 0 + 2"),
    ("UPDATE reservation_line SET quantity = 3", "the shelves agree", "0 reserved and 2 sent, but 0 and 3"),
    ("UPDATE entry SET minor = minor + 1 WHERE rowid = 1", "money sums to zero", "authorize for order-1"),
    ("DELETE FROM entry WHERE rowid = 2", "money sums to zero", "authorize for order-1"),
    (
        "INSERT INTO entry VALUES (1, 'held', 'EUR', 5), (1, 'customers', 'EUR', -5)",
        "the accounts agree",
        "held is off by -5 EUR",
    ),
    (
        "UPDATE capture SET refunded = minor",
        "no more was given back",
        "500 of 5000, and the gateway says 5000",
    ),
    (
        "INSERT INTO effect SELECT * FROM effect WHERE call = 'capture-payment' LIMIT 1",
        "at most one effect",
        "capture-payment for order-1: effects 2",
    ),
    (
        "INSERT INTO effect VALUES ('x', 'ship-parcel', 'order-9', 1)",
        "belongs to a saga",
        "ship-parcel for order-9",
    ),
    (
        "UPDATE capture SET minor = 2999 WHERE minor = 3000",
        "was paid once",
        "order order-1: 1 captures of 2999 instead of one of 3000",
    ),
    ("DELETE FROM shipment", "was sent once", "order order-1: parcels 0, letters 1"),
    (
        "DELETE FROM effect WHERE call = 'print-receipt'",
        "was settled once",
        "payment payment-1: settlements 1, receipts 0",
    ),
    (
        "UPDATE refund SET business_key = 'refund-2'",
        "gave the right amount",
        "refund refund-2: 2 of 1500 instead of one of 500",
    ),
    (
        "INSERT INTO effect VALUES ('x', 'capture-payment', 'order-2', 1)",
        "left nothing",
        "order order-2: capture-payment",
    ),
    (
        "UPDATE authorization SET state = 'held' WHERE reference = 'order-2'",
        "nothing is held",
        "order order-2: money is held",
    ),
    ("UPDATE reservation SET state = 'held'", "nothing is held", "order order-1: goods are set aside"),
];

#[tokio::test]
async fn every_rule_notices_what_breaks_it() {
    let mut noticed = Vec::new();
    for (sql, rule, words) in TAMPERING {
        let shop = busy_shop().await;
        shop.tamper(sql).await;
        let findings = shop.audit().await;
        let finding = findings.iter().find(|f| f.rule.contains(rule)).unwrap();
        assert!(!finding.ok && finding.detail.contains(words), "{sql}: {finding:?}");
        noticed.push(finding.rule);
    }
    // No rule is there that nothing can break.
    for finding in busy_shop().await.audit().await {
        assert!(noticed.contains(&finding.rule), "nothing here breaks `{}`", finding.rule);
    }
}

#[tokio::test]
async fn what_is_still_open_may_hold_money_and_goods() {
    let shop = Shop::open().await;
    shop.reserve(1, 2).await;
    shop.authorize(2, 3_000).await;
    shop.end("order", crate::shop::KEY, End::Open, eur(3_000));
    shop.assert_balances().await;
}
