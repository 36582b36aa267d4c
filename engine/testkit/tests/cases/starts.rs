//! G13: one trigger, however often it comes, and another one under its key.

use amends::engine::SagaStartError;
use amends::prelude::*;
use amends_core::Json;
use amends_testkit::{Ledger, World};
use serde::{Deserialize, Serialize};

use super::kit::{part, request};

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Placed {
    order: u32,
    amount: u32,
}

impl Payload for Placed {
    const SCHEMA: &'static str = "placed/1";
}

/// Two at once, one five seconds later, one with other key order and white space, one with another amount. (The
/// two at once on two nodes come with the nodes; on one node and on SQLite see `adapters/sea-orm`.)
#[test]
fn g13_a_repeated_trigger_is_the_same_saga_and_a_changed_one_is_told_apart() {
    let mut world = World::new();
    let ledger = Ledger::new(&mut world);
    let gateway = part(&ledger, "gateway");
    let (s, placed) = SagaBuilder::<Placed>::new("order", 1);
    let amount = placed.map(|placed: Placed| placed.amount);
    let (charged, s) = s.pivot("charge", gateway.step::<ByQuery, ByOperator>(), amount);
    let saga = s.finish(charged).expect("the definition is sound");
    world.register(&saga);

    let first = world.start(&saga, "evt-1", Placed { order: 42, amount: 200 });
    let second = world.start(&saga, "evt-1", Placed { order: 42, amount: 200 });
    world.run_for(seconds(5));
    let late = world.start(&saga, "evt-1", Placed { order: 42, amount: 200 });
    let spelled = Json::parse("{ \"amount\" : 200,\n \"order\": 42 }").expect("it is JSON");
    let reordered = world.start_json("order", "evt-1", spelled).expect("it is the same input");
    assert_eq!([second.id(), late.id(), reordered], [first.id(); 3]);

    let (commits, journal) = (world.commits(), first.view().journal().to_vec());
    for amount in ["500", "200.0", "\"200\""] {
        let other = Json::parse(&format!("{{\"order\":42,\"amount\":{amount}}}")).expect("it is JSON");
        let digest = other.canonical_digest().expect("it has one");
        let error = world.start_json("order", "evt-1", other).expect_err("it is another input");
        let SagaStartError::Conflict { standing, input_digest } = error else { panic!("{error}") };
        assert_eq!((standing.id, input_digest), (first.id(), digest), "both are named");
        assert_ne!(standing.input_digest, digest);
    }
    world.run_until_settled();
    first.assert_completed();
    assert_eq!(first.view().journal(), journal, "the saga is untouched");
    assert!(world.commits() <= commits + 3, "a conflict is not tried again and again");
    assert_eq!((gateway.in_place(), ledger.effects(request(&first, "charge"))), (vec![200], 1));
}
