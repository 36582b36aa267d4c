//! A saga whose participants keep their promises survives everything.

use std::time::Duration;

use amends::prelude::*;
use amends_testkit::{Ledger, Participant, World, explore};

use super::shop::{Shop, WINDOW, keeps_answers, one_order};

fn balanced(world: &World, shop: &Shop) {
    if world.all_ended() {
        shop.balances().expect("money and stock balance");
    }
}

#[test]
fn an_order_survives_every_failure() {
    let tried = explore(one_order).every_step_fails().check(balanced);
    assert_eq!(tried.struck, tried.runs);
}

#[test]
fn an_order_survives_every_repeat() {
    let tried = explore(one_order).every_step_repeats().every_compensation_repeats().check(balanced);
    assert_eq!(tried.struck, tried.runs);
}

#[test]
fn an_order_survives_every_lost_outcome() {
    let tried = explore(one_order).every_outcome_is_lost().check(balanced);
    assert_eq!(tried.struck, tried.runs);
}

#[test]
fn an_order_survives_a_crash_at_every_commit() {
    let tried = explore(one_order).crash_at_every_commit().check(balanced);
    assert_eq!(tried.struck, tried.runs);
}

/// No pivot and no refusal: it can only be cancelled. A read, a shaped input, an outcome for a person to settle,
/// and parallel branches that join.
fn cancellable(world: &mut World) {
    let ledger = Ledger::new(world);
    let ms = Duration::from_millis;
    let price: Participant<u32, u32, Never> =
        Participant::slow(&ledger, "price", ms(10), |pieces| pieces * 5);
    let left: Participant<String, String, Never> = Participant::slow(&ledger, "left", ms(30), Clone::clone);
    let right: Participant<u32, u32, Never> = Participant::slow(&ledger, "right", ms(20), |euros| *euros);
    let last: Participant<(String, u32), u32, Never> =
        Participant::slow(&ledger, "last", ms(5), |both: &(String, u32)| both.1);
    let (mut s, pieces) = SagaBuilder::<u32>::new("cancellable", 1);
    let euros = s.read("ask-price", price.read(), pieces);
    let a = s.step("left", left.step::<ByOperator, ByOperator>(), euros.map(|euros| format!("{euros} EUR")));
    let b = s.step("right", right.step::<ByQuery, ByQuery>().contract(keeps_answers()), euros);
    let c = s.step("last", last.step::<ByRepeating, ByRepeating>(), (a, b));
    let saga = s.finish(c).expect("the definition is sound");
    world.register(&saga);
    world.start(&saga, "one", 3);
    world.start(&saga, "two", 4);
}

#[test]
fn a_saga_without_pivot_and_refusals_survives_everything_wherever_it_is_cancelled() {
    let all = explore(cancellable).every_step_fails().every_step_repeats().every_outcome_is_lost();
    let tried = all.every_compensation_repeats().hold();
    assert!(tried.struck > 100, "{tried:?}");
    let tried = explore(cancellable).crash_at_every_commit().hold();
    assert!(tried.struck > 100, "{tried:?}");
}

/// No participant keeps a barrier: every call takes effect. But each can be asked, and says the truth.
fn without_barriers(world: &mut World) {
    let ledger = Ledger::new(world);
    let ms = Duration::from_millis;
    let asked = || Contract { settle_window: Some(WINDOW), ..Contract::default() };
    let left: Participant<u32, u32, String> = Participant::slow_naive(&ledger, "left", ms(30), |n| *n);
    let right: Participant<u32, u32, String> = Participant::slow_naive(&ledger, "right", ms(20), |n| *n);
    let pivot: Participant<(u32, u32), u32, String> =
        Participant::slow_naive(&ledger, "pivot", ms(5), |both: &(u32, u32)| both.1);
    let last: Participant<u32, u32, Never> = Participant::slow_naive(&ledger, "last", ms(10), |n| *n);
    let (mut s, input) = SagaBuilder::<u32>::new("without-barriers", 1);
    let a = s.step("left", left.step::<ByQuery, ByQuery>().contract(asked()), input);
    let b = s.step("right", right.step::<ByQuery, ByQuery>().contract(asked()), input);
    let (c, mut s) = s.pivot("pivot", pivot.step::<ByQuery, ByOperator>().contract(asked()), (a, b));
    let d = s.retriable("last", last.step::<ByQuery, ByOperator>().contract(asked()), c);
    let saga = s.finish(d).expect("the definition is sound");
    world.register(&saga);
    world.start(&saga, "key", 3);
}

#[test]
fn an_engine_that_asks_before_it_calls_again_needs_no_barrier() {
    let tried = explore(without_barriers).every_step_fails().every_outcome_is_lost().hold();
    assert!(tried.struck > 60, "{tried:?}");
    let tried = explore(without_barriers).crash_at_every_commit().hold();
    assert!(tried.struck > 40, "{tried:?}");
}
