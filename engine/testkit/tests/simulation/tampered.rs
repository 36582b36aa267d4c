//! Histories that no engine wrote: a real journal with one wrong fact, for the checkers that watch single sagas.
//!
//! The machine is the same for all stores and nodes, so a broken one cannot be wrapped; its journal can.

use std::sync::Arc;

use amends::prelude::*;
use amends_core::event::{JournalEvent, Next, StartCause, TurnReason};
use amends_core::{ActionId, SagaPlan, SagaState, Timestamp, Transition, apply, replay};
use amends_testkit::simulation::checkers::{Checker as _, Facts, Step as Seen};
use amends_testkit::simulation::{Told, Transitioned};
use amends_testkit::{CallPlan, Ledger, Participant, World};

/// A journal of three steps, of which the first does what is planned and the last is refused if so wanted.
fn journal(first: Option<CallPlan<String>>, refused: bool) -> (Arc<SagaPlan>, Vec<Transition>) {
    let mut world = World::new();
    let ledger = Ledger::new(&mut world);
    let participant = |name: &str| Participant::<u32, u32, String>::new(&ledger, name, |n| n + 1);
    let (one, two, three) = (participant("one"), participant("two"), participant("three"));
    if let Some(plan) = first {
        one.on_call().next(plan);
    }
    if refused {
        three.refuse_next("no".to_owned());
    }
    let (mut s, input) = SagaBuilder::<u32>::new("tampered", 1);
    let first = s.step("one", one.step::<ByQuery, ByRepeating>(), input);
    let second = s.step("two", two.step::<ByQuery, ByRepeating>(), first);
    let third = s.step("three", three.step::<ByQuery, ByRepeating>(), second);
    let saga = s.finish(third).expect("the definition is sound");
    world.register(&saga);
    let started = world.start(&saga, "key", 1);
    world.run_until_settled();
    let view = started.view();
    (Arc::new(view.plan().clone()), view.journal().to_vec())
}

/// Shows a journal to the checkers, transition by transition, and says which invariants it breaks. What no
/// machine can fold is shown with the state before it.
fn broken(plan: &Arc<SagaPlan>, journal: &[Transition]) -> Vec<&'static str> {
    let mut checkers = Facts::ALL;
    let mut state: Option<SagaState> = None;
    for length in 1..=journal.len() {
        let told = &journal[..length];
        let last = &told[length - 1];
        let after = match &state {
            None => replay(plan, told).expect("it begins well"),
            Some(before) => {
                let fold =
                    |state: SagaState, event| apply(plan, state.clone(), last.at, event).unwrap_or(state);
                last.events.iter().fold(before.clone(), fold)
            }
        };
        let before = state.take().unwrap_or_else(|| after.clone());
        let told = Told { plan: plan.clone(), state: after.clone(), journal: told.to_vec() };
        let transitioned = Transitioned::of(&told, &before, after.at, &[]);
        let seen = Seen::Transitioned(&transitioned);
        let mut caught = Vec::new();
        for checker in &mut checkers {
            if checker.observe(&seen).is_err() {
                caught.push(checker.invariant());
            }
        }
        if !caught.is_empty() {
            return caught;
        }
        state = Some(after);
    }
    Vec::new()
}

fn started(action: ActionId, attempt: u32, cause: StartCause) -> JournalEvent {
    JournalEvent::Started { action, attempt, cause, input: None, expected: None }
}

/// One more transition at the end.
fn and_then(journal: &[Transition], events: Vec<JournalEvent>) -> Vec<Transition> {
    let last = journal.last().expect("it has one");
    let next = Transition { seq: last.seq + 1, at: Timestamp(last.at.0 + 1), events, ..last.clone() };
    journal.iter().cloned().chain([next]).collect()
}

/// The journal up to the first transition with such an event.
fn until(journal: &[Transition], is_it: impl Fn(&JournalEvent) -> bool) -> Vec<Transition> {
    let at = journal.iter().position(|row| row.events.iter().any(&is_it)).expect("there is such a fact");
    journal[..=at].to_vec()
}

#[test]
fn real_journals_break_nothing() {
    for (first, refused) in [(None, false), (None, true), (Some(CallPlan::Transient), true)] {
        let (plan, journal) = journal(first, refused);
        assert_eq!(broken(&plan, &journal), Vec::<&str>::new());
    }
}

#[test]
fn an_engine_that_sends_again_in_doubt_is_caught() {
    let (plan, journal) = journal(Some(CallPlan::LoseReply), false);
    let doubtful = until(&journal, |event| matches!(event, JournalEvent::BecameUnknown { .. }));
    let again = vec![started(ActionId::forward("one"), 2, StartCause::Retry)];
    assert_eq!(broken(&plan, &and_then(&doubtful, again)), ["I1"]);
}

#[test]
fn an_engine_that_undoes_in_the_wrong_order_is_caught() {
    let (plan, mut journal) = journal(None, true);
    for event in journal.iter_mut().flat_map(|row| &mut row.events) {
        if let JournalEvent::Started { action, .. } | JournalEvent::Succeeded { action, .. } = event
            && !action.is_forward()
        {
            let other = if &*action.step == "one" { "two" } else { "one" };
            *action = ActionId::compensation(other);
        }
    }
    assert_eq!(broken(&plan, &journal), ["I2"]);
}

#[test]
fn an_engine_that_completes_with_a_step_undone_is_caught() {
    let (plan, mut journal) = journal(None, false);
    for row in &mut journal {
        row.events.retain(|event| match event {
            JournalEvent::Started { action, .. } | JournalEvent::Succeeded { action, .. } => {
                *action != ActionId::forward("two")
            }
            _ => true,
        });
    }
    assert_eq!(broken(&plan, &journal), ["I3"]);
}

#[test]
fn an_engine_that_undoes_what_never_was_is_caught() {
    let (plan, journal) = journal(Some(CallPlan::Refuse("no".to_owned())), false);
    let refused = until(&journal, |event| matches!(event, JournalEvent::TurnedBack { .. }));
    let mut refused = refused;
    let last = refused.last_mut().expect("it has one");
    last.events.retain(|event| !matches!(event, JournalEvent::Compensated {}));
    let undo = vec![started(ActionId::compensation("one"), 1, StartCause::Ready)];
    assert_eq!(broken(&plan, &and_then(&refused, undo)), ["I4"]);
}

#[test]
fn an_engine_that_begins_after_the_turn_is_caught() {
    let (plan, journal) = journal(None, false);
    let first = until(&journal, |event| matches!(event, JournalEvent::Succeeded { .. }));
    let mut first = first;
    let last = first.last_mut().expect("it has one");
    last.events.retain(|event| !matches!(event, JournalEvent::Started { .. }));
    last.events.push(JournalEvent::TurnedBack { reason: TurnReason::Deadline });
    let on = vec![started(ActionId::forward("two"), 1, StartCause::Ready)];
    assert_eq!(broken(&plan, &and_then(&first, on)), ["I5"]);
}

#[test]
fn an_engine_that_waits_longer_than_its_policy_is_caught() {
    let (plan, mut journal) = journal(Some(CallPlan::Transient), false);
    for event in journal.iter_mut().flat_map(|row| &mut row.events) {
        if let JournalEvent::Failed { next: Next::Retry { at }, .. } = event {
            *at = Timestamp(at.0 + 3_600_000_000);
        }
    }
    assert_eq!(broken(&plan, &journal), ["I5"]);
}
