//! When two states are the same: their times have the same order, and steps that the shape does not tell apart
//! may have changed places.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::hash::{Hash as _, Hasher as _};

use amends_core::{Incarnation, SagaPlan, SagaState, Timestamp, agenda};
use uuid::Uuid;

/// 128 bits of a state's canonical text: the chance that two of a million share them is below 10⁻²⁶.
pub(crate) type Key = (u64, u64);

/// The key of `state` at `now`; the least one of all orders in which the steps may stand.
pub(crate) fn of(plan: &SagaPlan, orders: &[Vec<usize>], state: &SagaState, now: Timestamp) -> Key {
    let mut bare = state.clone();
    bare.answers.clear();
    bare.owner = Incarnation(Uuid::nil());
    let steps = std::mem::take(&mut bare.steps);
    let mut texts: Vec<String> = Vec::with_capacity(steps.len());
    for mut step in steps {
        let manual = step.manual.iter_mut().map(|manual| &mut manual.action);
        for action in [Some(&mut step.forward), step.undo.as_mut()].into_iter().flatten().chain(manual) {
            action.since = Timestamp(0);
        }
        texts.push(format!("{step:?}"));
    }
    let asked = agenda(plan, state, now);
    let mut rest = format!("{bare:?}{now:?}{:?}", asked.wake);
    for task in &asked.tasks {
        let _ = write!(rest, "{task:?}");
    }
    let times = times(texts.iter().chain([&rest]));
    let texts: Vec<String> = texts.iter().map(|text| ranked(text, &times)).collect();
    let rest = ranked(&rest, &times);
    orders.iter().map(|order| hash(plan, order, &texts, &rest)).min().expect("one order is as declared")
}

fn hash(plan: &SagaPlan, order: &[usize], texts: &[String], rest: &str) -> Key {
    let mut whole = rest.to_owned();
    for at in order {
        whole += &texts[*at];
    }
    if order.windows(2).any(|two| two[0] > two[1]) {
        let quoted = |at: usize| format!("\"{}\"", plan.steps[at].name);
        for (to, from) in order.iter().enumerate() {
            whole = whole.replace(&quoted(*from), &format!("<{to}>"));
        }
        for at in 0..order.len() {
            whole = whole.replace(&format!("<{at}>"), &quoted(at));
        }
    }
    let (mut one, mut other) = (DefaultHasher::new(), DefaultHasher::new());
    whole.hash(&mut one);
    1u8.hash(&mut other);
    whole.hash(&mut other);
    (one.finish(), other.finish())
}

/// Where the digits of a time stand: `1767225600000000us`.
fn spots(text: &str) -> impl Iterator<Item = (usize, usize)> {
    text.match_indices("us").filter_map(|(end, _)| {
        let digits = text[..end].bytes().rev().take_while(u8::is_ascii_digit).count();
        (digits > 0).then_some((end - digits, end))
    })
}

fn times<'a>(texts: impl Iterator<Item = &'a String>) -> Vec<i64> {
    let mut times: Vec<i64> =
        texts.flat_map(|text| spots(text).map(|(from, to)| number(&text[from..to]))).collect();
    times.sort_unstable();
    times.dedup();
    times
}

fn ranked(text: &str, times: &[i64]) -> String {
    let (mut ranked, mut done) = (String::with_capacity(text.len()), 0);
    for (from, to) in spots(text) {
        let rank = times.binary_search(&number(&text[from..to])).expect("every time has a rank");
        let _ = write!(ranked, "{}t{rank}", &text[done..from]);
        done = to;
    }
    ranked + &text[done..]
}

fn number(digits: &str) -> i64 {
    digits.parse().expect("it is digits")
}
