//! A path, told.

use std::sync::Arc;

use amends::SagaView;
use amends::ports::{DefinitionRef, JournalRow, Loaded, SagaRow};
use amends_core::plan::draw;
use amends_core::state::Stage;
use amends_core::{JournalEvent, SagaPlan, SagaState, Timestamp, TransitionId};
use uuid::Uuid;

/// The story of a path, one line per fact.
pub(super) fn timeline(
    plan: &SagaPlan,
    state: &SagaState,
    path: &[(Timestamp, Vec<JournalEvent>)],
) -> String {
    let journal = (1..).zip(path).map(|(seq, (at, events))| JournalRow {
        seq,
        at: *at,
        actor: "engine".into(),
        transition: TransitionId(Uuid::from_u128(u128::from(seq))),
        events: serde_json::to_string(events).expect("events have string keys only, so they encode"),
    });
    let definition =
        DefinitionRef { workflow: plan.workflow.clone(), version: plan.version, digest: plan.digest.0 };
    let row = SagaRow {
        id: state.id,
        definition,
        key: state.key.clone(),
        input_digest: [0; 32],
        phase: state.phase.word().to_owned(),
        outcome: None,
        owner: None,
        wake_at: None,
        open_actions: state.open_actions(plan),
        started_at: state.started_at,
        ended_at: state.ended_at,
        set_aside: None,
        tenant: None,
        labels: Vec::new(),
    };
    let loaded = Loaded { row, journal: journal.collect() };
    let view = SagaView::new(Arc::new(plan.clone()), &loaded, state.at);
    view.map_or_else(|error| format!("the path cannot be told: {error}\n"), |view| view.timeline())
}

/// The plan with the stages in it.
pub(super) fn picture(plan: &SagaPlan, state: &SagaState) -> String {
    draw::text_with(plan, |ix| {
        let step = state.step(ix);
        let undo = step.undo.as_ref().filter(|undo| undo.stage != Stage::Pending);
        Some(match undo {
            Some(undo) => format!("UNDO {}", undo.stage.name()),
            None => step.forward.stage.name().to_owned(),
        })
    })
}
