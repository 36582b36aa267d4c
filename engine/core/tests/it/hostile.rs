//! Journals that no machine wrote: kept ones with a change somewhere, and bytes that are none at all.
//!
//! Nobody can know from a journal alone that one amount in it was another one. What is promised is less, and
//! holds: reading one never panics, it is refused or read as just what it says; and a saga so read can be looked
//! at and claimed. `PROPTEST_CASES=30000` for a long run.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use amends_core::agenda::desk;
use amends_core::event::{FailureKind, JournalEvent, Next, StartCause, TurnReason};
use amends_core::machine::{Command, Operation, advance};
use amends_core::{
    ActionId, Incarnation, OperationId, SagaPlan, SagaState, Timestamp, Transition, agenda, apply, replay,
};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;
use uuid::Uuid;

use crate::plan_text::plan;
use crate::script::{action, failure, play};

/// A kept journal, as it lies there.
struct Kept {
    plan: SagaPlan,
    journal: Value,
}

static KEPT: LazyLock<Vec<Kept>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journals");
    let files = std::fs::read_dir(folder).expect("the folder of journals is there");
    let mut files: Vec<_> = files.map(|entry| entry.expect("the folder can be read").path()).collect();
    files.sort();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    let kept = |file: &std::path::PathBuf| {
        let text = std::fs::read_to_string(file).expect("it was listed");
        let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("it is JSON"));
        let head = lines.next().expect("a head");
        let rows: Vec<&str> =
            head["plan"].as_array().expect("lines").iter().filter_map(Value::as_str).collect();
        Kept { plan: plan(&rows.join("\n")), journal: lines.collect() }
    };
    files.iter().map(kept).collect()
});

/// What a mutation does to one place of a journal.
#[derive(Clone, Debug)]
enum Change {
    Remove,
    Twice,
    /// A member under another name: what it said would be missing, and nobody would say so.
    Rename(&'static str),
    Put(Value),
    /// Another number where one stands.
    Number(Value),
    /// What stands in another place of its kind: an event for an event, an action for an action.
    PutFrom(Index),
}

fn changes() -> impl Strategy<Value = Change> {
    const NAMES: &[&str] = &["", "input", "inputs", "attempt", "Claimed", "Completed", "succeeded", "output"];
    let numbers = [
        Value::from(0),
        Value::from(1),
        Value::from(2),
        Value::from(3),
        Value::from(-1),
        Value::from(u32::MAX),
        Value::from(u64::MAX),
        Value::from(i64::MIN),
        Value::from(i64::MAX),
        Value::from(0.5),
    ];
    let others = [
        Value::Null,
        Value::from(""),
        Value::from("a/forward"),
        serde_json::json!([]),
        serde_json::json!({}),
    ];
    prop_oneof![
        2 => Just(Change::Remove),
        2 => Just(Change::Twice),
        1 => prop::sample::select(NAMES).prop_map(Change::Rename),
        1 => prop::sample::select(others.to_vec()).prop_map(Change::Put),
        4 => prop::sample::select(numbers.to_vec()).prop_map(Change::Number),
        8 => any::<Index>().prop_map(Change::PutFrom),
    ]
}

/// Every place of a document but the document itself, as steps into it.
fn places(value: &Value, at: &mut Vec<usize>, to: &mut Vec<Vec<usize>>) {
    let children: Vec<&Value> = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(members) => members.values().collect(),
        _ => Vec::new(),
    };
    for (n, child) in children.into_iter().enumerate() {
        at.push(n);
        to.push(at.clone());
        places(child, at, to);
        at.pop();
    }
}

fn look<'a>(value: &'a Value, place: &[usize]) -> &'a Value {
    place.iter().fold(value, |value, n| match value {
        Value::Array(items) => &items[*n],
        Value::Object(members) => members.values().nth(*n).expect("the place was listed"),
        _ => unreachable!("the place was listed"),
    })
}

/// Under which name a place stands in its object; none in a list.
fn name<'a>(value: &'a Value, place: &[usize]) -> Option<&'a String> {
    let (last, above) = place.split_last()?;
    look(value, above).as_object()?.keys().nth(*last)
}

fn change(journal: &mut Value, place: Index, change: &Change) {
    let mut all = Vec::new();
    places(journal, &mut Vec::new(), &mut all);
    if let Change::Number(_) = change {
        all.retain(|place| look(journal, place).is_number());
    }
    if all.is_empty() {
        return;
    }
    let place = all[place.index(all.len())].clone();
    let other = match change {
        Change::PutFrom(from) => {
            let (named, deep) = (name(journal, &place), place.len());
            all.retain(|other| name(journal, other) == named && (named.is_some() || other.len() == deep));
            look(journal, &all[from.index(all.len())]).clone()
        }
        Change::Put(value) | Change::Number(value) => value.clone(),
        Change::Remove | Change::Twice | Change::Rename(_) => Value::Null,
    };
    let (last, above) = place.split_last().expect("a place has a step");
    let above = above.iter().fold(journal, |value, n| match value {
        Value::Array(items) => &mut items[*n],
        Value::Object(members) => members.values_mut().nth(*n).expect("the place was listed"),
        _ => unreachable!("the place was listed"),
    });
    match above {
        Value::Array(items) => match change {
            Change::Remove => drop(items.remove(*last)),
            Change::Twice | Change::Rename(_) => items.insert(*last, items[*last].clone()),
            Change::Put(_) | Change::Number(_) | Change::PutFrom(_) => items[*last] = other,
        },
        Value::Object(members) => {
            let key = members.keys().nth(*last).expect("the place was listed").clone();
            match change {
                Change::Remove => drop(members.remove(&key)),
                Change::Rename(to) => {
                    let value = members.remove(&key).expect("it was listed");
                    members.insert((*to).to_owned(), value);
                }
                Change::Twice => drop(members.insert(format!("{key}s"), members[&key].clone())),
                Change::Put(_) | Change::Number(_) | Change::PutFrom(_) => drop(members.insert(key, other)),
            }
        }
        _ => unreachable!("it has a place in it"),
    }
}

/// Nothing was made up: all that was `read` is `written` there. Members that no version so far knows may be
/// left out, for a later one may add some.
fn stands_in(read: &Value, written: &Value) -> bool {
    // A billion nanoseconds and more are read as seconds.
    let duration = |value: &Value| serde_json::from_value::<Duration>(value.clone()).ok();
    if duration(read).is_some() && duration(read) == duration(written) {
        return true;
    }
    match (read, written) {
        (Value::Object(read), Value::Object(written)) => read.iter().all(|(key, value)| {
            written.get(key).map_or(value.is_null(), |written| stands_in(value, written))
        }),
        // The reader takes a list of the members' values for the object.
        (Value::Object(read), Value::Array(written)) => read
            .values()
            .all(|value| value.is_null() || written.iter().any(|written| stands_in(value, written))),
        (Value::Array(read), Value::Array(written)) => {
            read.len() == written.len() && read.iter().zip(written).all(|(a, b)| stands_in(a, b))
        }
        (read, written) => read == written,
    }
}

/// Whatever its journal was, the saga can be looked at, and nothing that a worker does by itself panics.
fn work_on(plan: &SagaPlan, state: &SagaState) {
    for now in [state.at, state.at + Duration::from_secs(86_400), Timestamp::MAX] {
        let _ = (agenda(plan, state, now), desk(plan, state));
        let operation =
            Operation { id: OperationId::new("op-hostile"), actor: "ann".into(), reason: "a test".into() };
        let incarnation = Incarnation(Uuid::from_u128(9));
        for command in [Command::Claim { incarnation }, Command::Tick, Command::Cancel(operation)] {
            let mut state = state.clone();
            let _ = advance(plan, &mut state, command, now);
            let _ = (agenda(plan, &state, now), desk(plan, &state));
        }
    }
}

proptest! {
    #[test]
    fn a_journal_with_a_change_in_it_is_refused_or_read_as_it_stands(
        kept in any::<Index>(), mutations in prop::collection::vec((any::<Index>(), changes()), 1..4),
    ) {
        let kept = &KEPT[kept.index(KEPT.len())];
        let mut journal = kept.journal.clone();
        for (place, mutation) in &mutations {
            change(&mut journal, *place, mutation);
        }
        let text = journal.to_string();
        let Ok(read) = serde_json::from_str::<Vec<Transition>>(&text) else { return Ok(()) };
        let again = serde_json::to_string(&read).expect("a journal is JSON");
        let written: Value = serde_json::from_str(&again).expect("a journal is JSON");
        prop_assert!(stands_in(&written, &journal), "of\n{text}\nwas read\n{again}");
        prop_assert_eq!(&serde_json::from_str::<Vec<Transition>>(&again).expect("it was written"), &read);
        if let Ok(state) = replay(&kept.plan, &read) {
            work_on(&kept.plan, &state);
        }
    }

    #[test]
    fn bytes_in_a_journal_that_were_flipped_are_refused_or_read_as_they_stand(
        kept in any::<Index>(), flips in prop::collection::vec((any::<Index>(), any::<u8>()), 1..4),
    ) {
        let kept = &KEPT[kept.index(KEPT.len())];
        let mut bytes = kept.journal.to_string().into_bytes();
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let Ok(read) = serde_json::from_slice::<Vec<Transition>>(&bytes) else { return Ok(()) };
        if let Ok(state) = replay(&kept.plan, &read) {
            work_on(&kept.plan, &state);
        }
    }

    #[test]
    fn arbitrary_bytes_are_no_journal(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(read) = serde_json::from_slice::<Vec<Transition>>(&bytes) {
            prop_assert!(replay(&KEPT[0].plan, &read).is_err(), "{:?}", read);
        }
    }
}

#[test]
fn a_hint_with_more_nanoseconds_than_a_second_has_is_read_as_what_it_says() {
    let hint = serde_json::json!({"secs": 5, "nanos": u32::MAX});
    let read: Duration = serde_json::from_value(hint.clone()).expect("it is a duration");
    assert!(stands_in(&serde_json::to_value(read).expect("it is JSON"), &hint));
    assert!(!stands_in(&serde_json::json!({"secs": 5, "nanos": 0}), &hint));
}

/// The reason for which a fact is refused after a script.
fn refused(plan_text: &str, script: &str, events: &[JournalEvent]) -> String {
    let trial = play(plan_text, script);
    let mut state = trial.state;
    for event in events {
        match apply(&trial.plan, state, trial.now, event) {
            Ok(after) => state = after,
            Err(refused) => return refused.reason,
        }
    }
    panic!("it was read: {events:?}")
}

#[test]
fn a_fact_that_cannot_follow_is_refused() {
    const PLAN: &str = "step a(input) by-query\n pivot p(a) by-query\n retriable r(p) by-query";
    let id = |text: &str| action(text).0;
    let started = |text, attempt| JournalEvent::Started {
        action: id(text),
        attempt,
        cause: StartCause::Ready,
        input: None,
        expected: None,
    };
    let turned = JournalEvent::TurnedBack { reason: TurnReason::Deadline };
    let (operation, done) = (OperationId::new("op9"), JournalEvent::Completed {});
    let paused = JournalEvent::Paused { operation: operation.clone() };
    let unpaused = JournalEvent::Unpaused { operation: operation.clone() };
    let queried = JournalEvent::QueryStarted { action: id("a"), query: 2, fence_through: None };
    let back = "run a\n cancel op1\n run undo:a";
    for (script, event, reason) in [
        ("", started("a", 2), "the attempt's number does not follow"),
        ("begin a\n lost a\n send-again a op\n begin a", started("a", 3), "an attempt is running already"),
        ("", started("p", 1), "started cannot follow PENDING"),
        ("begin a\n lost a", queried, "the query's number does not follow"),
        ("run a\n run p", turned.clone(), "there is no way back after the pivot"),
        ("run a\n begin p", turned.clone(), "the pivot is in doubt, and hinders the turn"),
        ("run a\n begin p\n partial p", turned.clone(), "the pivot is in doubt, and hinders the turn"),
        ("run a\n cancel op1", turned, "the saga cannot turn back"),
        (back, done, "the saga is not in the phase that ends so"),
        ("run a\n run p\n run r", JournalEvent::Compensated {}, "the saga is not in the phase that ends so"),
        ("pause op1", paused, "the saga is paused already"),
        ("", unpaused, "the saga is not paused"),
    ] {
        assert_eq!(refused(PLAN, script, &[event]), reason, "after {script}");
    }
}

#[test]
fn a_read_of_which_an_effect_is_possible_is_refused_once_it_is_to_be_tried_again() {
    let read = || ActionId::forward("a");
    let at = Timestamp(0);
    let next = Next::Query { at };
    let failure = failure(FailureKind::Unknown, "timeout", &[]);
    let unknown = JournalEvent::BecameUnknown { action: read(), attempt: 1, failure, next };
    let repeated = JournalEvent::Started {
        action: read(),
        attempt: 2,
        cause: StartCause::Repeat,
        input: None,
        expected: None,
    };
    let claimed = JournalEvent::Claimed { incarnation: Incarnation(Uuid::from_u128(9)) };
    let planned = JournalEvent::Planned { action: read(), failure: None, next: Next::Retry { at } };
    let reason = refused("read a(input)", "begin a", &[unknown, repeated, claimed, planned]);
    assert_eq!(reason, "the stage implies that there is no effect");
}

#[test]
fn a_journal_that_is_not_whole_is_refused() {
    let trial = play("step a(input) by-query\n step b(a) by-query", "run a\n at 5s begin b\n ok b");
    let refused = |change: &dyn Fn(&mut Vec<Transition>)| {
        let mut journal = trial.journal.clone();
        change(&mut journal);
        replay(&trial.plan, &journal).expect_err("it is not whole").to_string()
    };
    let rest = |journal: &mut Vec<Transition>| drop(journal.remove(0));
    let begins = "replay the journal at sequence 2: the journal does not begin with SagaStarted";
    assert_eq!(refused(&rest), begins);
    let hole = |journal: &mut Vec<Transition>| drop(journal.remove(2));
    assert_eq!(refused(&hole), "replay the journal at sequence 4: sequence 3 is missing");
    let twice = |journal: &mut Vec<Transition>| journal.insert(2, journal[1].clone());
    assert_eq!(refused(&twice), "replay the journal at sequence 2: sequence 3 is missing");
    let back = |journal: &mut Vec<Transition>| journal[4].at = Timestamp(0);
    assert!(refused(&back).starts_with("replay the journal at sequence 5: time went back from"));
    let none = |journal: &mut Vec<Transition>| journal.clear();
    assert_eq!(refused(&none), "replay the journal at sequence 0: the journal is empty");
}

#[test]
fn a_journal_of_another_version_is_refused() {
    let trial = play("workflow order v2\n step a(input) by-query", "run a");
    for (other, reason) in
        [("order v3", "it is of order version 2"), ("offer v2", "it is of order version 2")]
    {
        let other = plan(&format!("workflow {other}\n step a(input) by-query"));
        assert_eq!(replay(&other, &trial.journal).expect_err("it is of another plan").reason, reason);
    }
}
