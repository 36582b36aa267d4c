//! What happens to the calls of each saga, planned before it starts: so that leaving one saga or one kind of
//! fault out changes nothing about the others.

use std::collections::BTreeMap;
use std::time::Duration;

use amends::authoring::Payload;
use fastrand::Rng;

use super::setup::{Setup, span};
use super::shapes::{Counterpart, Shape};
use super::trouble::Trouble;
use crate::participant::{Acceptance, CallPlan, Participant, QueryPlan, UndoPlan};

/// Of the calls that can meet a kind of fault, this share does at a rate of 1.
const SHARE_STRUCK: f64 = 0.3;

/// The kinds that participants bring about.
const KINDS: [Trouble; 13] = [
    Trouble::LateEffect,
    Trouble::Twice,
    Trouble::LostRequest,
    Trouble::LostReply,
    Trouble::Silence,
    Trouble::Transient,
    Trouble::Persistent,
    Trouble::Refusal,
    Trouble::Partial,
    Trouble::Accepted,
    Trouble::QueryLag,
    Trouble::QueryFails,
    Trouble::QueryLie,
];

/// Plans what happens to the calls of one business key. Says whether a query will lie about it.
pub(super) fn plan(setup: &Setup, nth: u32, key: &str, shape: &Shape) -> bool {
    let mut lies = false;
    for kind in KINDS {
        let Some(rate) = setup.rate(kind) else { continue };
        let mut chance = setup.chance(kind.word(), u64::from(nth));
        for counterpart in &shape.counterparts {
            if chance.f64() >= rate * SHARE_STRUCK {
                continue;
            }
            lies |= kind == Trouble::QueryLie;
            for _ in 0..chance.u8(1..=3) {
                match counterpart {
                    Counterpart::Refusing(participant) => {
                        strike(participant, key, kind, Some("no".to_owned()), &mut chance);
                    }
                    Counterpart::Willing(participant) => strike(participant, key, kind, None, &mut chance),
                }
            }
        }
    }
    lies
}

fn strike<R: Payload + Clone>(
    participant: &Participant<Vec<u32>, u32, R>,
    key: &str,
    kind: Trouble,
    refusal: Option<R>,
    chance: &mut Rng,
) {
    let is_undo = chance.f64() < 0.35;
    let late = span(chance, 500, 25_000);
    let acceptance = Acceptance { hint: chance.bool().then_some(Duration::from_secs(3)), after: late };
    let (call, undo) = match kind {
        Trouble::LateEffect => (Some(CallPlan::ApplyLate(late)), Some(UndoPlan::ApplyLate(late))),
        Trouble::Twice => (Some(CallPlan::Twice(late)), Some(UndoPlan::Twice(late))),
        Trouble::LostRequest => (Some(CallPlan::LoseRequest), Some(UndoPlan::LoseRequest)),
        Trouble::LostReply => (Some(CallPlan::LoseReply), Some(UndoPlan::LoseReply)),
        Trouble::Silence => (Some(CallPlan::Hang), Some(UndoPlan::Hang)),
        Trouble::Transient => (Some(CallPlan::Transient), Some(UndoPlan::Transient)),
        Trouble::Persistent => (Some(CallPlan::Persistent), Some(UndoPlan::Persistent)),
        Trouble::Refusal => (refusal.map(CallPlan::Refuse), None),
        Trouble::Partial => (Some(CallPlan::Partial), None),
        Trouble::Accepted => (Some(CallPlan::Accept(acceptance)), Some(UndoPlan::Accept(acceptance))),
        _ => (None, None),
    };
    match (undo.filter(|_| is_undo), call) {
        (Some(undo), _) => drop(participant.on_undo().for_key(key, undo)),
        (None, Some(call)) => drop(participant.on_call().for_key(key, call)),
        (None, None) => ask(participant, key, kind, is_undo, chance),
    }
}

fn ask<R: Payload + Clone>(
    participant: &Participant<Vec<u32>, u32, R>,
    key: &str,
    kind: Trouble,
    is_undo: bool,
    chance: &mut Rng,
) {
    let lag = span(chance, 100, 5_000);
    let which = chance.u8(0..3);
    fn plan<O>(kind: Trouble, which: u8, lag: Duration, value: O) -> Option<QueryPlan<O>> {
        Some(match (kind, which) {
            (Trouble::QueryLag, _) => QueryPlan::Lag(lag),
            (Trouble::QueryFails, 0) => QueryPlan::Hang,
            (Trouble::QueryFails, _) => QueryPlan::Fail,
            (Trouble::QueryLie, 0) => QueryPlan::SayAbsent,
            (Trouble::QueryLie, 1) => QueryPlan::SayInProgress,
            (Trouble::QueryLie, _) => QueryPlan::SayApplied(value),
            _ => return None,
        })
    }
    if is_undo {
        if let Some(query) = plan(kind, which, lag, ()) {
            participant.on_undo_query().for_key(key, query);
        }
    } else if let Some(query) = plan(kind, which, lag, 7) {
        participant.on_query().for_key(key, query);
    }
}

/// From now on every participant of this workflow behaves.
pub(super) fn heal(shape: &Shape) {
    for counterpart in &shape.counterparts {
        match counterpart {
            Counterpart::Refusing(participant) => heal_one(participant),
            Counterpart::Willing(participant) => heal_one(participant),
        }
    }
}

fn heal_one<R: Payload + Clone>(participant: &Participant<Vec<u32>, u32, R>) {
    participant.on_call().heal();
    participant.on_undo().heal();
    participant.on_query().heal();
    participant.on_undo_query().heal();
    participant.come_back();
}

/// Counts what really happened at the participants of this workflow.
pub(super) fn count(shape: &Shape, struck: &mut BTreeMap<Trouble, u64>) {
    if shape.slow > 0 {
        *struck.entry(Trouble::Slow).or_default() += shape.slow;
    }
    for counterpart in &shape.counterparts {
        match counterpart {
            Counterpart::Refusing(participant) => count_one(participant, struck),
            Counterpart::Willing(participant) => count_one(participant, struck),
        }
    }
}

fn count_one<R: Payload + Clone>(
    participant: &Participant<Vec<u32>, u32, R>,
    struck: &mut BTreeMap<Trouble, u64>,
) {
    let calls = participant.on_call().happened().into_iter().filter_map(|plan| match plan {
        CallPlan::Succeed => None,
        CallPlan::Refuse(_) => Some(Trouble::Refusal),
        CallPlan::Transient => Some(Trouble::Transient),
        CallPlan::Persistent => Some(Trouble::Persistent),
        CallPlan::Hang => Some(Trouble::Silence),
        CallPlan::LoseReply => Some(Trouble::LostReply),
        CallPlan::LoseRequest => Some(Trouble::LostRequest),
        CallPlan::ApplyLate(_) => Some(Trouble::LateEffect),
        CallPlan::Twice(_) => Some(Trouble::Twice),
        CallPlan::Partial => Some(Trouble::Partial),
        CallPlan::Accept(_) => Some(Trouble::Accepted),
    });
    let undos = participant.on_undo().happened().into_iter().filter_map(|plan| match plan {
        UndoPlan::Undo | UndoPlan::DoNothing => None,
        UndoPlan::Transient => Some(Trouble::Transient),
        UndoPlan::Persistent => Some(Trouble::Persistent),
        UndoPlan::Hang => Some(Trouble::Silence),
        UndoPlan::LoseReply => Some(Trouble::LostReply),
        UndoPlan::LoseRequest => Some(Trouble::LostRequest),
        UndoPlan::ApplyLate(_) => Some(Trouble::LateEffect),
        UndoPlan::Twice(_) => Some(Trouble::Twice),
        UndoPlan::Accept(_) => Some(Trouble::Accepted),
    });
    let queries = participant.on_query().happened().into_iter().filter_map(|plan| asked(&plan));
    let undo_queries = participant.on_undo_query().happened().into_iter().filter_map(|plan| asked(&plan));
    for trouble in calls.chain(undos).chain(queries).chain(undo_queries) {
        *struck.entry(trouble).or_default() += 1;
    }
}

fn asked<O>(plan: &QueryPlan<O>) -> Option<Trouble> {
    match plan {
        QueryPlan::Truth => None,
        QueryPlan::Lag(_) => Some(Trouble::QueryLag),
        QueryPlan::SayAbsent | QueryPlan::SayInProgress | QueryPlan::SayApplied(_) => Some(Trouble::QueryLie),
        QueryPlan::Fail | QueryPlan::Hang => Some(Trouble::QueryFails),
    }
}
