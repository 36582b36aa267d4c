//! A definition on trial, in the pure machine: what holds, what does not, and how that is told.

use amends::prelude::*;
use amends_testkit::{Ledger, Participant, World, expect, explore_definition};

use super::shop::Shop;

type Anything = Participant<u32, u32, String>;
type Certain = Participant<u32, u32, Never>;

fn anybody(world: &mut World) -> (Anything, Certain) {
    let ledger = Ledger::new(world);
    (Participant::new(&ledger, "anybody", |n| *n), Participant::new(&ledger, "sure", |n| *n))
}

/// Its participant keeps a barrier: in doubt its compensation is sent.
struct Barrier;

impl Step for Barrier {
    type Input = u32;
    type Output = u32;
    type Refusal = String;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, pieces: u32) -> Result<u32, StepError<String>> {
        Ok(pieces)
    }
}

impl Compensate for Barrier {
    type UndoSettle = ByRepeating;

    const IN_DOUBT: InDoubt = InDoubt::Fence;

    async fn compensate(&self, _: &StepContext, _: u32, _: Forward<u32>) -> Result<Undo, CompensationError> {
        Ok(Undo::Undone)
    }
}

/// Ships before it captures: the graph allows it, and no test of the good path shows it.
fn ships_early(world: &mut World) -> Saga<u32, u32> {
    let (anybody, _) = anybody(world);
    let (mut s, order) = SagaBuilder::<u32>::new("hasty", 1);
    let ship = s.step("ship", anybody.step::<ByQuery, ByQuery>(), order);
    let (paid, s) = s.pivot("capture", anybody.step::<ByQuery, ByOperator>(), order.after(ship));
    s.finish(paid).expect("the definition is sound")
}

/// Reserves, where in doubt the compensation is sent: with or without a barrier is the author's word.
fn fences(world: &mut World) -> Saga<u32, u32> {
    let (anybody, _) = anybody(world);
    let (mut s, order) = SagaBuilder::<u32>::new("fencing", 1);
    let stock = s.step("reserve", Barrier, order);
    let (paid, s) = s.pivot("capture", anybody.step::<ByQuery, ByOperator>(), order.after(stock));
    s.finish(paid).expect("the definition is sound")
}

#[test]
fn a_sound_order_is_explored_completely_and_keeps_its_rules() {
    let mut world = World::new();
    let saga = Shop::new(&mut world).order().saga;
    let explored = explore_definition(&saga)
        .never("a shipment before its debit", |story| story.applied("ship-parcel").before("capture-payment"))
        .never("a debit before its goods are there", |story| {
            story.applied("capture-payment").before("reserve-stock")
        })
        .never("goods out, and the saga turned back", |story| story.turned() && story.in_place("ship-parcel"))
        .never("an end that leaves something in doubt", |story| {
            story.phase().is_ended() && story.in_doubt("reserve-stock")
        })
        .check();
    assert!(explored.complete && explored.completed > 0 && explored.compensated > 0, "{explored}");
    assert!(explored.states > 1_000 && explored.waiting > 0, "{explored}");
}

#[test]
fn a_debit_after_a_shipment_is_found_on_a_shortest_path() {
    let mut world = World::new();
    let violation = explore_definition(&ships_early(&mut world))
        .never("a debit after a shipment", |story| story.applied("capture").after("ship"))
        .try_check()
        .unwrap_err();
    expect![[r#"
        the definition allows what must never be: a debit after a shipment

        +0.000s hasty 1 started for a-key
        +0.000s ship started (attempt 1)
        +0.000s ship succeeded
        +0.000s capture started (attempt 1)
        +0.000s capture succeeded
        +0.000s completed

        ┌───────────┐
        │  ship ↺   │
        │ SUCCEEDED │
        └─────┬─────┘
              ▼
        ╔═══════════╗
        ║  capture  ║
        ║ SUCCEEDED ║
        ╚═══════════╝

        ↺ has a compensation   ═ pivot: no way back

        found after 10 states"#]]
    .assert_eq(&violation.to_string());
}

#[test]
fn a_compensation_that_can_meet_a_forward_in_doubt_is_found_where_it_is_declared_and_nowhere_else() {
    let mut world = World::new();
    let never = |saga: &Saga<u32, u32>, step: &'static str| {
        explore_definition(saga)
            .never("a compensation of what may still arrive", move |story| {
                story.undone_in_doubt(step).happened()
            })
            .try_check()
    };
    let violation = never(&fences(&mut world), "reserve").unwrap_err();
    assert!(violation.timeline.contains("compensation of reserve started"), "{violation}");
    let explored = never(&ships_early(&mut world), "ship").unwrap();
    assert!(explored.complete, "{explored}");
}

#[test]
fn a_step_whose_exhaustion_leaves_no_way_to_an_end_is_found_until_its_policy_turns_back() {
    let mut world = World::new();
    let (saga, stands) = (fences(&mut world), "a capture that stands while goods are reserved");
    let trial = |policies: &Policies| {
        explore_definition(&saga)
            .policies(policies)
            .never(stands, |story| {
                story.waits_for_person("capture") == Some("attempts-spent") && story.in_place("reserve")
            })
            .try_check()
    };
    let violation = trial(&Policies::new()).unwrap_err();
    assert_eq!(violation.broken, stands);
    assert!(violation.picture.contains("QUARANTINED"), "{violation}");
    let turning = RetryPolicy { on_exhausted: Exhausted::TurnBack, ..RetryPolicy::default() };
    let explored = trial(&Policies::new().retry("default", turning)).unwrap();
    assert!(explored.complete, "{explored}");
}

#[test]
fn both_sides_of_a_branch_are_explored() {
    let mut world = World::new();
    let (anybody, sure) = anybody(&mut world);
    let (mut s, order) = SagaBuilder::<u32>::new("branching", 1);
    let large = order.map(|n| n > 10);
    let checked = s.when("large", large, |s| s.step("check", anybody.step::<ByQuery, ByQuery>(), order));
    let (paid, mut s) = s.pivot("capture", anybody.step::<ByQuery, ByOperator>(), order.after(checked));
    let told = s.retriable("tell", sure.step::<ByRepeating, ByOperator>(), paid);
    let saga = s.finish(told).unwrap();
    for checks in [true, false] {
        let violation = explore_definition(&saga)
            .never("this way to the end", move |story| {
                story.phase().is_ended()
                    && story.applied("tell").happened()
                    && story.applied("check").happened() == checks
            })
            .try_check();
        assert!(violation.is_err(), "with a check: {checks}");
    }
}

#[test]
fn a_trial_that_is_cut_off_says_so() {
    let mut world = World::new();
    let explored = explore_definition(&ships_early(&mut world)).states_max(20).check();
    assert!(!explored.complete && explored.states == 20, "{explored}");
    let all = explore_definition(&ships_early(&mut world)).check();
    assert!(all.complete && all.states > 20, "{all}");
}

#[test]
#[should_panic(expected = "`hasty` has no step `ship-it` (it has: ship, capture)")]
fn a_rule_about_a_step_that_is_not_there_is_a_mistake_and_not_a_proof() {
    let mut world = World::new();
    let trial = explore_definition(&ships_early(&mut world));
    trial.never("anything", |story| story.applied("ship-it").happened()).check();
}
