//! The same seed tells the same story.

use std::time::Duration;

use amends_testkit::{CallPlan, World};

use super::shop::Shop;

/// Twenty orders with trouble, a crash among them: every timeline, one after the other.
fn story(seed: u64) -> String {
    let mut world = World::seeded(seed);
    let shop = Shop::new(&mut world);
    let order = shop.order();
    world.register(&order.saga);
    shop.stock.on_call().nth(2, CallPlan::Transient).nth(5, CallPlan::LoseReply).nth(9, CallPlan::Hang);
    shop.payments.on_call().nth(3, CallPlan::LoseRequest).nth(4, CallPlan::Transient);
    shop.capture.on_call().nth(6, CallPlan::Refuse("declined".to_owned())).nth(7, CallPlan::LoseReply);
    let sagas: Vec<_> = (0..20).map(|n| world.start(&order.saga, &format!("order-{n}"), n)).collect();
    world.run_for(Duration::from_millis(90));
    world.crash();
    world.run_until_settled();
    let timelines: Vec<String> = sagas.iter().map(|saga| saga.view().timeline()).collect();
    let journals: Vec<String> = sagas.iter().map(|saga| format!("{:?}", saga.view().journal())).collect();
    timelines.join("\n") + &journals.join("\n")
}

#[test]
fn one_seed_gives_one_story_to_the_last_id() {
    assert_eq!(story(7), story(7));
}

#[test]
fn another_seed_gives_another_story() {
    assert_ne!(story(7), story(8));
}
