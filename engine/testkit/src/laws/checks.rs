//! The checks that every run passes: what is recorded is what happened.

use std::collections::BTreeSet;

use amends::SagaView;
use amends_core::plan::StepKind;
use amends_core::state::{Action, Effect, Stage};
use amends_core::{ActionId, JournalEvent, StepIx};

use crate::ledger::Ledger;
use crate::world::World;

/// Looks at every saga and every ledger of a settled world.
pub(super) fn judge(world: &World) -> Result<(), String> {
    for ledger in world.ledgers() {
        ledger.catch_up_with_everything();
        at_most_one_effect(ledger)?;
    }
    for view in world.views() {
        in_reverse_order(&view)?;
        for ledger in world.ledgers() {
            balanced(&view, ledger)?;
        }
    }
    Ok(())
}

/// What is recorded of a saga is what its participants did, and they undid it in reverse.
pub(crate) fn balanced(view: &SagaView, ledger: &Ledger) -> Result<(), String> {
    for ix in view.plan().indices() {
        recorded_is_real(view, ledger, ix)?;
    }
    undone_in_reverse(view, ledger)
}

fn at_most_one_effect(ledger: &Ledger) -> Result<(), String> {
    for (_, entry) in ledger.entries() {
        let times = entry.effects.len();
        if times > 1 {
            let what = if entry.undoes.is_some() { "a compensation" } else { "a request" };
            return Err(format!(
                "{what} took effect {times} times at `{}` under one request id",
                entry.participant
            ));
        }
    }
    Ok(())
}

/// What the ledger says of one step: `None` if the step does not use it.
struct Real {
    done: usize,
    undone: usize,
    /// The order of its first effect.
    done_at: Option<u64>,
    /// The order of the effects of its compensation.
    undone_at: Vec<u64>,
}

fn real(view: &SagaView, ledger: &Ledger, ix: StepIx) -> Option<Real> {
    let name = &view.plan().step(ix).name;
    let forward = ActionId::forward(name.clone()).request_id(view.state().id);
    let undo = ledger.entry(ActionId::compensation(name.clone()).request_id(view.state().id));
    let entry = ledger.entry(forward);
    if entry.is_none() && undo.is_none() {
        return None;
    }
    let undone_at: Vec<u64> = undo.iter().flat_map(|undo| &undo.effects).map(|effect| effect.order).collect();
    let done_at = entry.iter().flat_map(|entry| &entry.effects).map(|effect| effect.order).min();
    Some(Real {
        done: entry.as_ref().map_or(0, |entry| entry.effects.len()),
        done_at,
        undone: undone_at.len(),
        undone_at,
    })
}

fn events(view: &SagaView) -> impl Iterator<Item = &JournalEvent> {
    view.journal().iter().flat_map(|transition| &transition.events)
}

/// A person's word is not the participant's.
fn settled_by_person(view: &SagaView, step: &str) -> bool {
    events(view).any(|event| match event {
        JournalEvent::AcceptedByPerson { action, .. } | JournalEvent::FoundByPerson { action, .. } => {
            *action.step == *step
        }
        _ => false,
    })
}

/// What the ledger says of one step, unless a person's word stands for it.
fn undone_by_itself(view: &SagaView, ledger: &Ledger, ix: StepIx) -> Option<Real> {
    real(view, ledger, ix).filter(|_| !settled_by_person(view, &view.plan().step(ix).name))
}

fn recorded_is_real(view: &SagaView, ledger: &Ledger, ix: StepIx) -> Result<(), String> {
    let (step, state) = (view.plan().step(ix), view.state().step(ix));
    if step.kind == StepKind::Read || settled_by_person(view, &step.name) {
        return Ok(());
    }
    let Some(Real { done, undone, .. }) = real(view, ledger, ix) else { return Ok(()) };
    let name = &step.name;
    let stage = state.forward.stage.name();
    match state.forward.effect {
        Effect::None if done > 0 => {
            return Err(format!(
                "`{name}` is {stage}, known to be without effect, and took effect all the same"
            ));
        }
        Effect::Applied if done == 0 => {
            return Err(format!("`{name}` is {stage}, and nothing took effect"));
        }
        Effect::None | Effect::Applied | Effect::Possible | Effect::Partial => {}
    }
    let claims = |stage| state.undo.as_ref().is_some_and(|undo: &Action| undo.stage == stage);
    if claims(Stage::Succeeded) && done > undone {
        return Err(format!("`{name}` is recorded as compensated, and its effect is still in place"));
    }
    if undone > done {
        return Err(format!("`{name}` was undone {undone} times, and took effect {done} times"));
    }
    if undone > 0 && view.state().turned.is_none() {
        return Err(format!("`{name}` was undone, and the saga never turned back"));
    }
    Ok(())
}

/// Every step that depends on `of`, directly or not.
fn descendants(view: &SagaView, of: StepIx) -> BTreeSet<StepIx> {
    let mut found = BTreeSet::new();
    let mut next = vec![of];
    while let Some(ix) = next.pop() {
        next.extend(view.plan().graph.children(ix).iter().copied().filter(|child| found.insert(*child)));
    }
    found
}

/// As the participants saw it. What a person said that it was undone, the participant may have undone later; and what
/// took effect only after the other was undone (a command that came later than its settle window) nobody undoes before.
fn undone_in_reverse(view: &SagaView, ledger: &Ledger) -> Result<(), String> {
    for ancestor in view.plan().indices() {
        let Some(above) = undone_by_itself(view, ledger, ancestor) else { continue };
        for below in descendants(view, ancestor) {
            let Some(real) = undone_by_itself(view, ledger, below) else { continue };
            let (first, last) = (above.undone_at.iter().min(), real.undone_at.iter().max());
            if let (Some(first), Some(last)) = (first, last)
                && first < last
                && real.done_at.is_none_or(|done| done < *first)
            {
                return Err(wrong_order(view, ancestor, below));
            }
        }
    }
    Ok(())
}

/// As the journal has it, but for what was found only afterwards to have taken effect.
fn in_reverse_order(view: &SagaView) -> Result<(), String> {
    let position = |wanted: &dyn Fn(&JournalEvent) -> bool| events(view).position(wanted);
    for ancestor in view.plan().indices() {
        let undo = ActionId::compensation(view.plan().step(ancestor).name.clone());
        let began =
            position(&|event| matches!(event, JournalEvent::Started { action, .. } if *action == undo));
        let Some(began) = began else { continue };
        for below in descendants(view, ancestor) {
            let child = ActionId::compensation(view.plan().step(below).name.clone());
            let last = events(view).enumerate().filter(
                |(_, event)| matches!(event, JournalEvent::Started { action, .. } if *action == child),
            );
            let forward = ActionId::forward(view.plan().step(below).name.clone());
            let found_late = events(view)
                .skip(began)
                .any(|event| matches!(event, JournalEvent::Disputed(news) if news.action == forward));
            if !found_late && last.map(|(at, _)| at).max().is_some_and(|last| last > began) {
                return Err(wrong_order(view, ancestor, below));
            }
        }
    }
    Ok(())
}

fn wrong_order(view: &SagaView, ancestor: StepIx, below: StepIx) -> String {
    let name = |ix| &view.plan().step(ix).name;
    format!("`{}` was compensated before `{}`, which depends on it", name(ancestor), name(below))
}
