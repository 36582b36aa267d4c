//! Participants behave as ARCHITECTURE.md asks of them, or as their script says.

use std::time::Duration;

use amends::prelude::*;
use amends_core::{ActionId, JournalEvent};
use amends_testkit::{Acceptance, CallPlan, Ledger, Participant, QueryPlan, UndoPlan, World, WorldSaga};

use super::shop::keeps_answers;

/// One compensated step, and a pivot that refuses if the test says so.
struct Two {
    world: World,
    ledger: Ledger,
    first: Participant<u32, String, String>,
    pivot: Participant<String, String, String>,
    saga: Saga<u32, String>,
}

fn two(barrier: bool) -> Two {
    let mut world = World::new();
    let ledger = Ledger::new(&mut world);
    let made = |pieces: &u32| format!("{pieces} pieces");
    let first = if barrier {
        Participant::new(&ledger, "first", made)
    } else {
        Participant::naive(&ledger, "first", made)
    };
    let pivot = Participant::new(&ledger, "pivot", |text: &String| text.clone());
    let (mut s, input) = SagaBuilder::<u32>::new("two", 1);
    let handle = s.step("first", first.step::<ByQuery, ByQuery>().contract(keeps_answers()), input);
    let (end, s) = s.pivot("pivot", pivot.step::<ByRepeating, ByOperator>(), handle);
    let saga = s.finish(end).expect("the definition is sound");
    world.register(&saga);
    Two { world, ledger, first, pivot, saga }
}

impl Two {
    fn run(&mut self) -> WorldSaga<String> {
        let saga = self.world.start(&self.saga, "key", 3);
        self.world.run_until_settled();
        saga
    }

    fn effects(&self, saga: &WorldSaga<String>) -> (usize, usize) {
        let forward = ActionId::forward("first").request_id(saga.id());
        (self.ledger.effects(forward), self.ledger.undone(forward))
    }
}

#[test]
fn a_late_call_is_fenced_once_the_saga_has_settled_without_it() {
    let mut two = two(true);
    two.first.on_call().next(CallPlan::ApplyLate(Duration::from_secs(60)));
    let saga = two.run();
    saga.assert_completed();
    two.world.run_for(Duration::from_secs(120));
    assert_eq!(two.effects(&saga), (1, 0));
    let forward = ActionId::forward("first").request_id(saga.id());
    assert_eq!(two.ledger.calls(forward), 2, "the late one arrived too");
}

#[test]
fn a_late_call_takes_effect_twice_where_there_is_no_barrier() {
    let mut two = two(false);
    two.first.on_call().next(CallPlan::ApplyLate(Duration::from_secs(60)));
    let saga = two.run();
    two.world.run_for(Duration::from_secs(120));
    assert_eq!(two.effects(&saga), (2, 0));
}

#[test]
fn a_query_that_lags_says_what_was_so() {
    let mut two = two(true);
    two.first.on_call().next(CallPlan::LoseReply);
    two.first.on_query().next(QueryPlan::Lag(Duration::from_secs(10)));
    let saga = two.run();
    saga.assert_completed();
    assert!(saga.view().timeline().contains("first found absent (query 1)"), "{}", saga.view().timeline());
    assert_eq!((saga.attempts("first"), two.effects(&saga)), (1, (1, 0)));
}

#[test]
fn what_came_late_is_found_by_a_query_that_lags_less_however_long_nobody_looked() {
    let mut two = two(true);
    two.first.on_call().next(CallPlan::ApplyLate(Duration::from_secs(5)));
    two.first.on_query().always(QueryPlan::Lag(Duration::from_secs(10)));
    let saga = two.run();
    saga.assert_completed();
    assert_eq!((saga.attempts("first"), two.effects(&saga)), (1, (1, 0)), "{}", saga.view().timeline());
}

#[test]
fn a_lost_reply_of_a_compensation_is_asked_for() {
    let mut two = two(true);
    two.pivot.refuse_next("no".to_owned());
    two.first.on_undo().next(UndoPlan::LoseReply);
    two.first.on_undo_query().next(QueryPlan::Fail);
    let saga = two.run();
    saga.assert_compensated();
    assert_eq!(two.effects(&saga), (1, 1));
}

#[test]
fn scripts_speak_of_keys_before_numbers_and_of_numbers_before_the_next() {
    let mut two = two(true);
    two.pivot.on_call().always(CallPlan::Transient).next(CallPlan::Transient).nth(2, CallPlan::Persistent);
    two.pivot.on_call().for_key("key", CallPlan::Refuse("by key".to_owned()));
    let saga = two.run();
    saga.assert_compensated();
    assert_eq!(two.pivot.on_call().calls(), 1);
    let view = saga.view();
    assert!(view.timeline().contains("pivot refused \"by key\""), "{}", view.timeline());
}

#[test]
fn g09_a_partial_effect_is_undone_by_its_own_compensation() {
    let mut two = two(true);
    two.first.on_call().next(CallPlan::Partial);
    let saga = two.run();
    saga.assert_compensated();
    assert_eq!(two.effects(&saga), (1, 1));
}

/// When queries about an action were sent, in minutes since the saga's start.
fn asked_at(saga: &WorldSaga<String>, action: &ActionId) -> Vec<u64> {
    let view = saga.view();
    let asked = view.journal().iter().filter(|row| {
        let of_it = |event: &JournalEvent| matches!(event, JournalEvent::QueryStarted { action: of, .. } if of == action);
        row.events.iter().any(of_it)
    });
    asked.map(|row| row.at.since(view.started_at).as_secs() / 60).collect()
}

#[test]
fn an_accepted_call_is_not_asked_about_before_its_hint_and_not_sent_again() {
    let mut two = two(true);
    let acceptance = Acceptance { hint: Some(minutes(30)), after: minutes(20) };
    two.first.on_call().next(CallPlan::Accept(acceptance));
    let saga = two.run();
    saga.assert_completed();
    assert_eq!(asked_at(&saga, &ActionId::forward("first")), [30]);
    assert_eq!((saga.attempts("first"), two.effects(&saga)), (1, (1, 0)));
}

#[test]
fn an_accepted_call_without_a_hint_is_asked_about_until_it_is_answered() {
    let mut two = two(true);
    two.first.on_call().next(CallPlan::Accept(Acceptance { hint: None, after: minutes(20) }));
    let saga = two.run();
    saga.assert_completed();
    let asked = asked_at(&saga, &ActionId::forward("first"));
    assert!(asked.len() > 1 && asked[0] < 20, "{asked:?}");
    assert!(
        saga.view().timeline().contains("first found in progress (query 1)"),
        "{}",
        saga.view().timeline()
    );
    assert_eq!((saga.attempts("first"), two.effects(&saga)), (1, (1, 0)));
}

#[test]
fn an_accepted_compensation_is_not_asked_about_before_its_hint() {
    let mut two = two(true);
    two.pivot.refuse_next("no".to_owned());
    two.first.on_undo().next(UndoPlan::Accept(Acceptance { hint: Some(minutes(30)), after: minutes(20) }));
    let saga = two.run();
    saga.assert_compensated();
    assert_eq!(asked_at(&saga, &ActionId::compensation("first")), [30]);
    assert_eq!((two.first.on_undo().calls(), two.effects(&saga)), (1, (1, 1)));
}
