//! Lines that nobody wrote: as many as wanted, the same from the same seed, of the kinds that stand in
//! `examples/orders.jsonl`, without those whose sagas stand on a desk until a person has come.
//!
//! Every tenth is a payment. Its receipt alone is settled by a person: nothing is planned to go wrong there, but a
//! process that dies in the middle of it leaves it on a desk.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::load::{self, Lines};

/// What is sold, and for how much. Of the last ones there is too little on the shelves for many orders.
const GOODS: [(&str, i64, u32); 10] = [
    ("tea-assam", 1_250, 3),
    ("tea-sencha", 1_490, 3),
    ("tea-oolong", 2_100, 2),
    ("coffee-huehue", 1_180, 3),
    ("coffee-yirga", 1_390, 3),
    ("cup-blue", 1_900, 2),
    ("cup-white", 1_700, 2),
    ("kettle-steel", 7_900, 1),
    ("teapot-iron", 4_800, 1),
    ("tin-limited", 3_900, 1),
];

/// How many of [`GOODS`] are in stock for long.
const IN_STOCK: usize = 7;

const CURRENCIES: [&str; 4] = ["EUR", "USD", "GBP", "CHF"];

/// So many lines.
pub fn lines(number: u32, seed: u64) -> Lines {
    let mut rng = Rng::with_seed(seed);
    let text: String = (1..=number).map(|n| format!("{}\n", line(&mut rng, n))).collect();
    load::read(text.as_bytes()).expect("it is read from memory")
}

fn line(rng: &mut Rng, number: u32) -> Value {
    let currency = CURRENCIES[rng.usize(..CURRENCIES.len())];
    let (customer, card) = (format!("c-{}", rng.u32(100..180)), card(rng));
    if rng.u32(..10) == 0 {
        // One in ten is above the limit of its customer.
        let minor = if rng.u32(..10) == 0 { 319_600 } else { rng.i64(500..90_000) };
        let amount = json!({"minor": minor, "currency": currency});
        let payment =
            json!({"payment": format!("P-{number}"), "customer": customer, "card": card, "amount": amount});
        return json!({"payment": payment, "faults": faults(rng, &PAYMENT, 1)});
    }
    let mut goods: Vec<usize> = (0..GOODS.len()).collect();
    rng.shuffle(&mut goods);
    let scarce = rng.u32(..20) == 0;
    goods.retain(|n| scarce || *n < IN_STOCK);
    let (mut total, mut pieces) = (0, 0);
    let wanted: Vec<Value> = goods[..rng.usize(1..=3)]
        .iter()
        .map(|n| {
            let (sku, price, most) = GOODS[*n];
            let quantity = rng.u32(1..=most);
            total += price * i64::from(quantity);
            pieces += quantity;
            json!({"sku": sku, "quantity": quantity, "price": {"minor": price, "currency": currency}})
        })
        .collect();
    let order = json!({
        "order": format!("O-{number}"), "customer": customer, "card": card, "address": "Lindenweg 4, 10115 Berlin",
        "lines": wanted, "total": {"minor": total, "currency": currency},
    });
    json!({"order": order, "faults": faults(rng, &ORDER, pieces)})
}

/// One in thirty cards is refused.
fn card(rng: &mut Rng) -> String {
    match rng.u32(..30) {
        0 => format!("tok-stolen-{}", rng.u32(1_000..10_000)),
        _ => format!("tok-visa-{}", rng.u32(1_000..10_000)),
    }
}

/// The ways in which a call can go wrong.
struct Call {
    name: &'static str,
    kinds: &'static [&'static str],
}

const WRITES: &[&str] = &["slow", "slow", "lost_applied", "lost_not_applied", "transient"];
const ASKED_ABOUT: &[&str] =
    &["slow", "slow", "lost_applied", "lost_not_applied", "transient", "late", "accepted"];
const READS: &[&str] = &["slow", "transient", "lost_not_applied"];

const ORDER: [Call; 7] = [
    Call { name: "reserve-stock", kinds: ASKED_ABOUT },
    Call { name: "reserve-stock", kinds: &["slow", "partial"] },
    Call { name: "release-stock", kinds: WRITES },
    Call { name: "authorize-payment", kinds: WRITES },
    Call { name: "capture-payment", kinds: ASKED_ABOUT },
    Call { name: "ship-parcel", kinds: WRITES },
    Call { name: "notify-customer", kinds: WRITES },
];

const PAYMENT: [Call; 6] = [
    Call { name: "check-fraud", kinds: READS },
    Call { name: "check-limit", kinds: READS },
    Call { name: "authorize-payment", kinds: ASKED_ABOUT },
    Call { name: "void-payment", kinds: WRITES },
    Call { name: "capture-payment", kinds: ASKED_ABOUT },
    Call { name: "settle-payment", kinds: ASKED_ABOUT },
];

/// Half of the lines have a bad day, some of them two. What is of one piece cannot be done in part.
fn faults(rng: &mut Rng, calls: &[Call], pieces: u32) -> Vec<Value> {
    let number = [0, 0, 0, 1, 1, 2][rng.usize(..6)];
    let mut chosen: Vec<&Call> = Vec::new();
    for _ in 0..number {
        let call = &calls[rng.usize(..calls.len())];
        if !chosen.iter().any(|other| other.name == call.name) {
            chosen.push(call);
        }
    }
    let faults = chosen.into_iter().map(|call| fault(rng, call));
    faults.filter(|fault| pieces > 1 || fault["kind"] != "partial").collect()
}

fn fault(rng: &mut Rng, call: &Call) -> Value {
    let kind = call.kinds[rng.usize(..call.kinds.len())];
    let mut fault = json!({"call": call.name, "kind": kind});
    match kind {
        "slow" | "late" | "accepted" => fault["millis"] = json!(rng.u32(200..6_000)),
        "transient" => fault["to"] = json!(rng.u32(1..=3)),
        _ => {}
    }
    fault
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_that_is_made_up_can_be_used_and_fewer_are_the_first_of_more() {
        let (some, more) = (lines(200, 7), lines(300, 7));
        assert!(more.malformed.is_empty(), "{:?}", more.malformed);
        let text = |lines: &Lines| lines.good[..200].iter().map(|line| format!("{:?}", line.event)).collect();
        let (some, more): (Vec<String>, Vec<String>) = (text(&some), text(&more));
        assert_eq!(some, more);
        assert_ne!(some, text(&lines(200, 8)));
    }
}
