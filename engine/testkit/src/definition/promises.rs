//! What the engine itself promises, held against every path: so that a trial is no proof by the accused.

use amends_core::agenda::desk;
use amends_core::event::StartCause;
use amends_core::plan::StepKind;
use amends_core::state::{Phase, Stage};
use amends_core::{ActionId, JournalEvent, SagaPlan, SagaState, StepIx};

/// Is a promise broken by what just happened?
pub(super) fn broken_by(plan: &SagaPlan, state: &SagaState, events: &[JournalEvent]) -> Option<String> {
    events.iter().find_map(|event| match event {
        JournalEvent::Started { action, .. } if !action.is_forward() => undone_early(plan, state, action),
        JournalEvent::Started { action, cause: StartCause::Ready | StartCause::Retry, .. }
            if state.turned.is_some() =>
        {
            Some(format!("`{}` began after the saga had turned back", action.step))
        }
        JournalEvent::Compensated {} => {
            let mut left = plan.indices().filter(|ix| state.owes_compensation(plan, *ix));
            left.next().map(|ix| format!("the saga ended, and `{}` was not undone", plan.step(ix).name))
        }
        _ => None,
    })
}

/// No compensation begins before all that depends on its step is settled and undone.
fn undone_early(plan: &SagaPlan, state: &SagaState, action: &ActionId) -> Option<String> {
    let ix = plan.find(&action.step)?;
    if state.step(ix).forward.running.is_some() {
        return Some(format!("`{}` was compensated while an attempt of it was under way", action.step));
    }
    let mut seen = Vec::new();
    let mut open: Vec<StepIx> = plan.graph.children(ix).to_vec();
    while let Some(child) = open.pop() {
        if seen.contains(&child) {
            continue;
        }
        seen.push(child);
        open.extend(plan.graph.children(child));
        let step = state.step(child);
        let undone = step.undo.as_ref().is_some_and(|undo| undo.stage == Stage::Succeeded);
        let leaves_nothing = plan.step(child).kind == StepKind::Read || !step.forward.has_effect() || undone;
        if !step.forward.stage.is_settled() || !leaves_nothing {
            let before = &plan.step(child).name;
            return Some(format!("`{}` was compensated before `{before}`, which depends on it", action.step));
        }
    }
    None
}

/// Is this the end of a path that neither ended nor stands on a desk?
pub(super) fn stands_still(plan: &SagaPlan, state: &SagaState) -> Option<String> {
    let ended = matches!(state.phase, Phase::Completed | Phase::Compensated | Phase::Closed);
    (!ended && desk(plan, state).is_empty())
        .then(|| "the saga stands still: it has not ended, and no person is asked".to_owned())
}

#[cfg(test)]
mod tests {
    use amends::prelude::*;
    use amends_core::event::TurnReason;
    use amends_core::machine::{Start, start};
    use amends_core::state::Effect;
    use amends_core::{Incarnation, Json, SagaId, Timestamp};
    use uuid::Uuid;

    use super::*;
    use crate::{Ledger, Participant, World};

    /// Two steps, one after the other, of a saga that has just begun.
    fn begun() -> (SagaPlan, SagaState) {
        let ledger = Ledger::new(&mut World::new());
        let anybody: Participant<u32, u32, String> = Participant::new(&ledger, "anybody", |n| *n);
        let (mut s, order) = SagaBuilder::<u32>::new("two", 1);
        let first = s.step("first", anybody.step::<ByQuery, ByQuery>(), order);
        let then = s.step("then", anybody.step::<ByQuery, ByQuery>(), first);
        let plan = s.finish(then).expect("the definition is sound").plan().clone();
        let birth = Start {
            saga: SagaId(Uuid::from_u128(1)),
            key: "a-key".into(),
            input: Json::parse("1").expect("a number is JSON"),
            occurred_at: None,
            owner: Incarnation(Uuid::from_u128(1)),
            trigger: None,
            trace: None,
            tenant: None,
        };
        let state = start(&plan, birth, Timestamp(0)).0;
        (plan, state)
    }

    fn started(action: ActionId) -> [JournalEvent; 1] {
        [JournalEvent::Started { action, attempt: 1, cause: StartCause::Ready, input: None, expected: None }]
    }

    #[test]
    fn a_compensation_before_that_of_a_dependent_is_seen() {
        let (plan, mut state) = begun();
        let events = started(ActionId::compensation("first"));
        let then = &mut state.steps[1];
        (then.forward.stage, then.forward.effect) = (Stage::Succeeded, Effect::Applied);
        assert!(broken_by(&plan, &state, &events).is_some_and(|broken| broken.contains("before `then`")));
        state.steps[1].undo.as_mut().expect("it has a compensation").stage = Stage::Succeeded;
        assert_eq!(broken_by(&plan, &state, &events), None);
    }

    #[test]
    fn a_step_that_begins_after_the_turn_is_seen() {
        let (plan, mut state) = begun();
        let events = started(ActionId::forward("first"));
        assert_eq!(broken_by(&plan, &state, &events), None);
        state.turned = Some(TurnReason::Deadline);
        assert!(broken_by(&plan, &state, &events).is_some());
    }

    #[test]
    fn an_end_that_leaves_an_effect_is_seen() {
        let (plan, mut state) = begun();
        assert_eq!(broken_by(&plan, &state, &[JournalEvent::Compensated {}]), None);
        let first = &mut state.steps[0].forward;
        (first.stage, first.effect) = (Stage::Succeeded, Effect::Applied);
        assert!(broken_by(&plan, &state, &[JournalEvent::Compensated {}]).is_some());
    }

    #[test]
    fn a_saga_that_stands_still_is_seen_unless_it_has_ended_or_stands_on_a_desk() {
        let (plan, mut state) = begun();
        assert!(stands_still(&plan, &state).is_some());
        state.phase = Phase::Compensated;
        assert_eq!(stands_still(&plan, &state), None);
    }
}
