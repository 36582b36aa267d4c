//! Journals of finished sagas against today's definition.

use amends::authoring::Definition;
use amends::prelude::*;
use amends_core::state::Phase;
use amends_testkit::{
    Call, Differs, Fault, FaultKind, FinishedJournal, Ledger, Participant, World, kept_journal,
    replay_journal,
};
use std::path::Path;

use super::shop::Shop;

/// An order's journal as a file would hold it.
fn exported(refused: bool) -> String {
    let mut world = World::new();
    let order = Shop::new(&mut world).order();
    world.register(&order.saga);
    if refused {
        world.inject(Fault::first("capture-payment", Call::Forward, FaultKind::Refused));
    }
    let saga = world.start(&order.saga, "order-42", 3);
    world.run_until_settled();
    kept_journal(&saga.view())
}

fn today() -> Definition {
    Shop::new(&mut World::new()).order().saga.resolve(&Policies::new()).expect("the defaults fit")
}

fn replayed(definition: &Definition, text: &str) -> Result<Phase, Differs> {
    replay_journal(definition, &FinishedJournal::from_lines(text)?)
}

#[test]
fn every_kept_journal_of_an_order_replays_against_todays_definition() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/tests/journals");
    let definition = today();
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("order-") && name.ends_with(".jsonl") {
            let text = std::fs::read_to_string(&path).unwrap();
            replayed(&definition, &text).unwrap_or_else(|differs| panic!("{name}: {differs}"));
            count += 1;
        }
    }
    assert!(count >= 17, "{count} journals of orders");
}

#[test]
fn a_journal_tells_how_its_saga_ended() {
    assert_eq!(replayed(&today(), &exported(false)), Ok(Phase::Completed));
    assert_eq!(replayed(&today(), &exported(true)), Ok(Phase::Compensated));
}

#[test]
fn a_changed_shape_is_told_line_by_line() {
    let text = exported(false).replace("step reserve-stock(input)", "step reserve-goods(input)");
    let Err(Differs::Shape { what }) = replayed(&today(), &text) else { panic!("the shape differs") };
    assert!(what.contains("reserve-goods") && what.contains("reserve-stock"), "{what}");
}

#[test]
fn an_output_that_todays_type_does_not_read_names_step_and_place() {
    let text = exported(false).replace(r#"{"value":15}"#, r#"{"value":"fifteen"}"#);
    let Err(Differs::Undecodable { step, reason }) = replayed(&today(), &text) else {
        panic!("a word is no number: {:?}", replayed(&today(), &text))
    };
    assert_eq!(step, "capture-payment");
    assert!(reason.contains("u32"), "{reason}");
}

#[test]
fn an_impossible_transition_names_its_row() {
    let text = exported(false);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.remove(3);
    let Err(Differs::Impossible { seq, .. }) = replayed(&today(), &lines.join("\n")) else {
        panic!("a row is missing")
    };
    assert_eq!(seq, 4);
}

#[test]
fn what_is_no_journal_names_its_row() {
    let text = exported(false) + "{\"seq\":1}\n";
    assert!(matches!(replayed(&today(), &text), Err(Differs::Unreadable { row, .. }) if row > 1));
    assert!(matches!(replayed(&today(), ""), Err(Differs::Unreadable { row: 0, .. })));
}

#[test]
fn the_rows_of_a_store_replay_by_digest_and_end() {
    use amends::ports::{DefinitionRef, JournalRow, Loaded, SagaRow};
    let mut world = World::new();
    let ledger = Ledger::new(&mut world);
    let anybody: Participant<u32, u32, String> = Participant::new(&ledger, "anybody", |n| *n);
    let saga = |undo: bool| {
        let (mut s, order) = SagaBuilder::<u32>::new("small", 1);
        let first = if undo { "first" } else { "begin" };
        let held = s.step(first, anybody.step::<ByQuery, ByQuery>(), order);
        s.finish(held).unwrap()
    };
    world.register(&saga(true));
    let ran = world.start(&saga(true), "small-1", 3);
    world.run_until_settled();
    let view = ran.view();
    let rows = view.journal().iter().map(|transition| JournalRow {
        seq: transition.seq,
        at: transition.at,
        actor: transition.actor.as_str().into(),
        transition: transition.id,
        events: serde_json::to_string(&transition.events).unwrap(),
    });
    let plan = view.plan();
    let row = SagaRow {
        id: view.id,
        definition: DefinitionRef {
            workflow: plan.workflow.clone(),
            version: plan.version,
            digest: plan.digest.0,
        },
        key: view.key.clone(),
        input_digest: [0; 32],
        phase: "completed".into(),
        outcome: None,
        owner: None,
        wake_at: None,
        open_actions: 0,
        started_at: view.started_at,
        ended_at: view.ended_at,
        set_aside: None,
        tenant: None,
        labels: Vec::new(),
    };
    let mut loaded = Loaded { row, journal: rows.collect() };
    let resolved = |undo| saga(undo).resolve(&Policies::new()).unwrap();
    let of = |loaded: &Loaded| FinishedJournal::from_rows(loaded).unwrap();
    assert_eq!(replay_journal(&resolved(true), &of(&loaded)), Ok(Phase::Completed));
    assert!(matches!(replay_journal(&resolved(false), &of(&loaded)), Err(Differs::Shape { .. })));
    loaded.row.phase = "compensated".into();
    let another = Differs::AnotherEnd { kept: "compensated".into(), today: "completed" };
    assert_eq!(replay_journal(&resolved(true), &of(&loaded)), Err(another));
}
