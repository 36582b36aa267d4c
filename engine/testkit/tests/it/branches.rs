//! Branches, as a workflow's author writes and sees them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use amends::prelude::*;
use amends_core::JournalEvent;
use amends_core::event::Answer;
use amends_testkit::{Ledger, Participant, Side, World, WorldSaga, expect, explore, kept_journal};

use super::shop::keeps_answers;

/// A shop that wraps large orders, and ships them by one of two carriers.
struct GiftShop {
    stock: Participant<u32, u32, String>,
    paper: Participant<u32, String, String>,
    ribbon: Participant<String, String, String>,
    payments: Participant<(u32, Option<String>), u32, String>,
    express: Participant<u32, String, Never>,
    bulk: Participant<u32, String, Never>,
    /// How often the condition of the gift was evaluated.
    asked: Arc<AtomicU32>,
    /// The condition of the gift panics.
    broken: Arc<AtomicBool>,
}

struct GiftOrder {
    saga: Saga<u32, String>,
    gift: Handle<Option<String>>,
    paid: Handle<u32>,
    parcel: Handle<String>,
}

impl GiftShop {
    fn new(world: &mut World) -> Self {
        let ledger = Ledger::new(world);
        let ms = Duration::from_millis;
        Self {
            stock: Participant::slow(&ledger, "stock", ms(10), |pieces| *pieces),
            paper: Participant::slow(&ledger, "paper", ms(10), |pieces| format!("paper for {pieces}")),
            ribbon: Participant::slow(&ledger, "ribbon", ms(10), |paper| format!("{paper} and a ribbon")),
            payments: Participant::slow(&ledger, "payments", ms(10), |of: &(u32, Option<String>)| {
                of.0 * 5 + of.1.as_ref().map_or(0, |_| 3)
            }),
            express: Participant::slow(&ledger, "express", ms(10), |paid| format!("{paid} EUR by express")),
            bulk: Participant::slow(&ledger, "bulk", ms(10), |paid| format!("{paid} EUR in bulk")),
            asked: Arc::default(),
            broken: Arc::default(),
        }
    }

    fn order(&self) -> GiftOrder {
        let (mut s, order) = SagaBuilder::<u32>::new("gift-order", 1);
        let reserve = self.stock.step::<ByQuery, ByQuery>().contract(keeps_answers());
        let stock = s.step("reserve", reserve, order);
        let (asked, broken) = (self.asked.clone(), self.broken.clone());
        let is_large = stock.map(move |pieces| {
            asked.fetch_add(1, Ordering::Relaxed);
            assert!(!broken.load(Ordering::Relaxed), "the condition is broken");
            pieces >= 10
        });
        let gift = s.when("gift", is_large, |b| {
            let paper = self.paper.step::<ByQuery, ByQuery>().contract(keeps_answers());
            let paper = b.step("wrap", paper, stock);
            b.step("tie", self.ribbon.step::<ByRepeating, ByRepeating>().contract(keeps_answers()), paper)
        });
        let pay = self.payments.step::<ByQuery, ByOperator>().contract(keeps_answers());
        let (paid, mut s) = s.pivot("pay", pay, (stock, gift));
        let parcel = s.either(
            "carrier",
            (stock, gift).map(|(pieces, gift): (u32, Option<String>)| pieces > 20 || gift.is_none()),
            |b| b.retriable("ship-express", self.express.step::<ByRepeating, ByOperator>(), paid),
            |b| b.retriable("ship-bulk", self.bulk.step::<ByRepeating, ByOperator>(), paid),
        );
        GiftOrder { saga: s.finish(parcel).expect("the definition is sound"), gift, paid, parcel }
    }
}

fn ordered(pieces: u32) -> (World, GiftShop, GiftOrder, WorldSaga<String>) {
    let mut world = World::new();
    let shop = GiftShop::new(&mut world);
    let order = shop.order();
    world.register(&order.saga);
    let saga = world.start(&order.saga, "order-42", pieces);
    (world, shop, order, saga)
}

#[test]
fn a_branch_that_is_taken_gives_what_its_side_gives() {
    let (mut world, shop, order, saga) = ordered(12);
    world.run_until_settled();
    saga.assert_completed();
    assert_eq!(saga.output(order.gift), Some(Some("paper for 12 and a ribbon".to_owned())));
    assert_eq!(saga.output(order.paid), Some(63));
    assert_eq!(saga.output(order.parcel), Some("63 EUR in bulk".to_owned()));
    assert_eq!(shop.asked.load(Ordering::Relaxed), 1);
    saga.timeline(expect![[r#"
        +0.000s gift-order 1 started for order-42
        +0.000s reserve started (attempt 1)
        +0.010s reserve succeeded
        +0.010s branch gift: yes
        +0.010s wrap started (attempt 1)
        +0.020s wrap succeeded
        +0.020s tie started (attempt 1)
        +0.030s tie succeeded
        +0.030s pay started (attempt 1)
        +0.040s pay succeeded
        +0.040s branch carrier: no
        +0.040s ship-bulk started (attempt 1)
        +0.050s ship-bulk succeeded
        +0.050s completed
    "#]]);
}

#[test]
fn a_branch_that_is_not_taken_gives_nothing_and_leaves_no_trace_at_its_participants() {
    let (mut world, shop, order, saga) = ordered(2);
    world.run_until_settled();
    saga.assert_completed();
    assert_eq!(saga.output(order.gift), Some(None));
    assert_eq!(saga.output(order.paid), Some(10));
    assert_eq!(saga.output(order.parcel), Some("10 EUR by express".to_owned()));
    assert!(shop.paper.in_place().is_empty() && shop.bulk.in_place().is_empty());
    saga.timeline(expect![[r#"
        +0.000s gift-order 1 started for order-42
        +0.000s reserve started (attempt 1)
        +0.010s reserve succeeded
        +0.010s branch gift: no
        +0.010s pay started (attempt 1)
        +0.020s pay succeeded
        +0.020s branch carrier: yes
        +0.020s ship-express started (attempt 1)
        +0.030s ship-express succeeded
        +0.030s completed
    "#]]);
    expect![[r#"
        ✓ reserve       done
        - wrap          skipped  after reserve  if gift
        - tie           skipped  after wrap  if gift
        ✓ pay           done  pivot  after tie
        ✓ ship-express  done  after pay  if carrier
        - ship-bulk     skipped  after pay  unless carrier
    "#]]
    .assert_eq(&saga.view().picture());
    expect![[r#"
        flowchart TD
          s0["reserve<br/>done"]:::done
          s1["wrap<br/>skipped<br/>if gift"]:::skipped
          s2["tie<br/>skipped<br/>if gift"]:::skipped
          s3{{"pay<br/>done"}}:::done
          s4["ship-express<br/>done<br/>if carrier"]:::done
          s5["ship-bulk<br/>skipped<br/>unless carrier"]:::skipped
          s0 --> s1
          s1 --> s2
          s2 --> s3
          s3 --> s4
          s3 --> s5
          classDef waiting fill:#eeeeee,stroke:#999999,color:#333333
          classDef moving fill:#cfe8ff,stroke:#1f6feb,color:#0a3069
          classDef done fill:#d2f4d9,stroke:#1a7f37,color:#0a3d1a
          classDef refused fill:#ffd8d3,stroke:#cf222e,color:#6e0b14
          classDef undone fill:#e8dcff,stroke:#8250df,color:#3b1d78
          classDef person fill:#fff3c2,stroke:#9a6700,color:#4d3800
          classDef skipped fill:#ffffff,stroke:#bbbbbb,color:#777777,stroke-dasharray:4 3
    "#]]
    .assert_eq(&saga.view().mermaid());
}

#[test]
fn a_saga_that_turns_back_undoes_the_side_that_was_taken_before_what_it_was_decided_by() {
    let (mut world, shop, _, saga) = ordered(12);
    shop.payments.refuse_next("insufficient funds".to_owned());
    world.run_until_settled();
    saga.assert_compensated();
    assert_eq!(saga.compensations(), ["tie", "wrap", "reserve"]);
    assert!(shop.stock.in_place().is_empty() && shop.paper.in_place().is_empty());
}

#[test]
fn a_side_that_was_skipped_is_not_undone() {
    let (mut world, shop, order, saga) = ordered(2);
    shop.payments.refuse_next("insufficient funds".to_owned());
    world.run_until_settled();
    saga.assert_compensated();
    assert_eq!(saga.compensations(), ["reserve"]);
    assert_eq!(saga.output(order.gift), Some(None));
}

#[test]
fn a_decision_is_not_made_again_by_the_next_process() {
    for pieces in [2, 12] {
        let commits = {
            let (mut world, _, _, _) = ordered(pieces);
            world.run_until_settled();
            world.commits()
        };
        for commit in 1..=commits {
            for side in [Side::Before, Side::After] {
                let mut world = World::new();
                let shop = GiftShop::new(&mut world);
                let order = shop.order();
                world.register(&order.saga);
                world.crash_at_commit(commit, side);
                let saga = world.start(&order.saga, "order-42", pieces);
                world.run_until_settled();
                saga.assert_completed();
                let view = saga.view();
                let events = view.journal().iter().flat_map(|row| &row.events);
                let decided = events.filter(|event| matches!(event, JournalEvent::BranchDecided { .. }));
                assert_eq!(decided.count(), 2, "at commit {commit}, {side:?}");
            }
        }
    }
}

#[test]
fn a_condition_that_panics_waits_for_a_person_and_a_resume_asks_it_again() {
    let (mut world, shop, order, saga) = ordered(12);
    shop.broken.store(true, Ordering::Relaxed);
    world.run_until_settled();
    assert_eq!(saga.output(order.gift), None);
    let view = saga.view();
    assert_eq!(view.desk.len(), 1);
    expect![[r#"wrap/forward on quarantine: evaluate the condition of branch `gift`: it panicked: the condition is broken"#]]
    .assert_eq(&format!(
        "{} on {}: {}",
        view.desk[0].name(),
        view.desk[0].desk.word(),
        view.desk[0].failure.as_ref().expect("it says why").message
    ));
    assert_eq!(world.resume(&saga, "wrap"), Ok(Answer::Accepted));
    world.run_until_settled();
    assert_eq!(saga.view().desk.len(), 1, "it is still broken");

    shop.broken.store(false, Ordering::Relaxed);
    assert_eq!(world.resume(&saga, "wrap"), Ok(Answer::Accepted));
    world.run_until_settled();
    saga.assert_completed();
    assert_eq!(saga.attempts("wrap"), 1);
}

#[test]
fn a_branch_that_cannot_be_decided_does_not_hold_a_cancel_back() {
    let (mut world, shop, _, saga) = ordered(12);
    shop.broken.store(true, Ordering::Relaxed);
    world.run_until_settled();
    world.cancel(&saga).expect("the saga can turn back");
    world.run_until_settled();
    saga.assert_compensated();
    assert_eq!(saga.compensations(), ["reserve"]);
    assert!(saga.view().desk.is_empty());
}

#[test]
fn a_value_that_is_null_is_not_taken_for_a_side_that_was_not_taken() {
    for taken in [true, false] {
        let told = Arc::new(std::sync::Mutex::new(Vec::new()));
        let (mut s, order) = SagaBuilder::<bool>::new("null", 1);
        let nothing = s.when("nothing", order, |b| b.read_fn("unit", order, |_, _: bool| async { Ok(()) }));
        let heard = told.clone();
        let end = s.read_fn("end", nothing, move |_, given: Option<()>| {
            heard.lock().expect("nobody panics").push(given);
            async { Ok(0u32) }
        });
        let saga = s.finish(end).expect("the definition is sound");
        let mut world = World::new();
        world.register(&saga);
        let started = world.start(&saga, "key", taken);
        world.run_until_settled();
        started.assert_completed();
        let expected = taken.then_some(());
        assert_eq!(*told.lock().expect("nobody panics"), [expected]);
        assert_eq!(started.output(nothing), Some(expected));
    }
}

#[test]
fn what_a_branch_gives_can_be_the_result_of_the_saga() {
    for amount in [1u32, 7] {
        let (mut s, order) = SagaBuilder::<u32>::new("gift-only", 1);
        let gift = s.when("gift", order.map(|amount| amount > 3), |b| {
            b.read_fn("twice", order, |_, amount: u32| async move { Ok(amount * 2) })
        });
        let saga = s.finish(gift).expect("the definition is sound");
        let mut world = World::new();
        world.register(&saga);
        let started = world.start(&saga, "key", amount);
        world.run_until_settled();
        started.assert_completed();
        assert_eq!(started.output(gift), Some((amount > 3).then_some(amount * 2)));
    }
}

#[test]
fn the_journal_refers_to_what_a_branch_gave_and_stores_nothing_twice() {
    let (mut world, _, _, saga) = ordered(12);
    world.run_until_settled();
    let journal = kept_journal(&saga.view());
    let starts_with_input = saga
        .view()
        .journal()
        .iter()
        .flat_map(|row| row.events.clone())
        .any(|event| matches!(event, JournalEvent::Started { input: Some(_), .. }));
    assert!(!starts_with_input, "{journal}");
    let lines: Vec<&str> = journal.lines().take(1).collect();
    expect![[r#"{"plan":["workflow gift-order v1","step reserve(input) by-query undo-by-query keeps-answers","when gift(reserve) gives=tie shaped","step wrap(reserve) by-query undo-by-query keeps-answers if=gift","step tie(wrap) by-repeating undo-by-repeating keeps-answers if=gift","pivot pay(reserve,gift) by-query keeps-answers","either carrier(reserve,gift) gives=ship-express,ship-bulk shaped","retriable ship-express(pay) by-repeating if=carrier","retriable ship-bulk(pay) by-repeating unless=carrier","result carrier"]}"#]].assert_eq(lines[0]);
}

#[test]
fn the_laws_hold_on_either_side() {
    for pieces in [2, 12] {
        let tried = explore(|world| {
            let shop = GiftShop::new(world);
            let order = shop.order();
            world.register(&order.saga);
            world.start(&order.saga, "order-42", pieces);
            shop
        })
        .every_step_fails()
        .every_step_repeats()
        .every_outcome_is_lost()
        .every_compensation_repeats()
        .crash_at_every_commit()
        .check(|world, shop| {
            let gone = shop.express.in_place().len() + shop.bulk.in_place().len();
            let held = shop.stock.in_place().len();
            assert!(held == gone || !world.all_ended(), "{held} reservations, {gone} parcels");
        });
        assert!(tried.struck > 30, "{tried:?}");
    }
}
