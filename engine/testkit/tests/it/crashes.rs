//! Processes that die, and what the next one finds.

use std::time::Duration;

use amends_core::JournalEvent;
use amends_core::event::Answer;
use amends_testkit::{CallPlan, Side, World};

use super::shop::Shop;

/// A world whose first process dies at that commit, on that side, while it runs one order.
fn dies_at(commit: u64, side: Side) -> (World, Shop, amends_testkit::WorldSaga<String>) {
    let mut world = World::new();
    let shop = Shop::new(&mut world);
    let order = shop.order();
    world.register(&order.saga);
    world.crash_at_commit(commit, side);
    let saga = world.start(&order.saga, "order-42", 3);
    world.run_until_settled();
    (world, shop, saga)
}

#[test]
fn a_start_whose_answer_was_lost_is_the_same_saga_when_made_again() {
    for side in [Side::Before, Side::After] {
        let (world, shop, saga) = dies_at(1, side);
        assert!(world.crashed());
        saga.assert_completed();
        shop.balances().expect("money and stock balance");
        let view = saga.view();
        let events = view.journal().iter().flat_map(|row| &row.events);
        let starts = events.filter(|event| matches!(event, JournalEvent::SagaStarted(_)));
        assert_eq!(starts.count(), 1, "{side:?}");
    }
}

#[test]
fn what_was_not_durable_did_not_happen_for_the_saga_and_is_found_out() {
    let (_, shop, saga) = dies_at(2, Side::Before);
    saga.assert_completed();
    assert!(saga.view().timeline().contains("reserve-stock found applied"), "{}", saga.view().timeline());
    assert_eq!(shop.stock.in_place().len(), 1);
}

#[test]
fn an_engine_that_dies_again_and_again_finishes_all_the_same() {
    let mut world = World::new();
    let shop = Shop::new(&mut world);
    let order = shop.order();
    world.register(&order.saga);
    let saga = world.start(&order.saga, "order-42", 3);
    for _ in 0..25 {
        world.run_for(Duration::from_millis(40));
        world.crash();
    }
    world.run_until_settled();
    saga.assert_completed();
    shop.balances().expect("money and stock balance");
}

#[test]
fn what_a_person_asked_is_asked_again_when_the_process_dies_of_it() {
    for side in [Side::Before, Side::After] {
        let mut world = World::new();
        let shop = Shop::new(&mut world);
        let order = shop.order();
        world.register(&order.saga);
        shop.parcels.on_call().next(CallPlan::Persistent);
        let saga = world.start(&order.saga, "order-42", 3);
        world.run_until_settled();
        world.crash_at_commit(world.commits() + 1, side);
        assert_eq!(world.resume(&saga, "ship-parcel"), Ok(Answer::Accepted), "{side:?}");
        world.run_until_settled();
        assert!(world.crashed());
        saga.assert_completed();
        assert_eq!(saga.view().timeline().matches("ship-parcel resumed").count(), 1, "{side:?}");
    }
}
