//! The journals that the core keeps, written to a store, and what their stories tell.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use amends::ports::{
    Commit, DefinitionRef, ItemChange, JournalRow, NewSaga, SagaStore, Verdict, WorkItemRow,
};
use amends_core::{Incarnation, SagaId, Timestamp, Transition};
use uuid::Uuid;

const ME: Incarnation = Incarnation(Uuid::from_u128(1));

fn journals() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../engine/core/tests/journals");
    let entries = std::fs::read_dir(folder).expect("the core keeps journals");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut kept: Vec<_> = paths.filter(|path| path.extension().is_some_and(|is| is == "jsonl")).collect();
    kept.sort();
    assert!(kept.len() > 20, "{} journals", kept.len());
    kept
}

/// Saga `n`, whose key is the name of its journal.
fn commits(n: u128, path: &Path) -> Vec<Commit> {
    let key = path.file_stem().and_then(|name| name.to_str()).expect("a name");
    let text = std::fs::read_to_string(path).expect("it was listed");
    let transitions =
        text.lines().skip(1).map(|line| serde_json::from_str::<Transition>(line).expect("a transition"));
    let commit = |transition: Transition| {
        let new = NewSaga {
            definition: DefinitionRef { workflow: Arc::from("kept"), version: 1, digest: [7; 32] },
            key: Arc::from(key),
            input_digest: [8; 32],
            occurred_at: transition.at,
            deadline: None,
            started_at: transition.at,
            tenant: None,
            labels: Vec::new(),
        };
        Commit {
            saga: SagaId(Uuid::from_u128(n << 64)),
            start: (transition.seq == 1).then_some(new),
            journal: JournalRow {
                seq: transition.seq,
                at: transition.at,
                actor: transition.actor.into(),
                transition: transition.id,
                events: serde_json::to_string(&transition.events).expect("events are JSON"),
            },
            change: None,
            items: Vec::new(),
            compensations: Vec::new(),
            mail: Vec::new(),
            outbox: Vec::new(),
        }
    };
    transitions.map(commit).collect()
}

/// Action and stage, as the story's ending tells them: `  reserve: SUCCEEDED applied · undo RUNNING possible`.
fn told(path: &Path) -> Vec<(String, String)> {
    let story = std::fs::read_to_string(path.with_extension("story")).expect("each journal has a story");
    let mut stages = Vec::new();
    for line in story.lines().skip_while(|line| !line.starts_with('=')) {
        let Some((step, rest)) = line.strip_prefix("  ").and_then(|line| line.split_once(": ")) else {
            continue;
        };
        let stage = |text: &str| text.split(' ').next().expect("a stage").to_owned();
        if rest.chars().next().is_none_or(|first| !first.is_ascii_uppercase()) {
            continue;
        }
        let (forward, undo) = rest.split_once(" · undo ").map_or((rest, None), |(a, b)| (a, Some(b)));
        stages.push((format!("{step}/forward"), stage(forward)));
        stages.extend(undo.map(|undo| (format!("{step}/compensation"), stage(undo))));
    }
    assert!(!stages.is_empty(), "{}: no ending in\n{story}", path.display());
    stages
}

/// Writes every kept journal.
pub(crate) async fn keep_all(store: &impl SagaStore) {
    store.join(ME, "node", Timestamp(0)).await.expect("it joins");
    for (n, path) in (1..).zip(journals()) {
        for commit in commits(n, &path) {
            let verdicts = store.commit(ME, &[commit]).await.expect("it commits");
            assert_eq!(verdicts, [Verdict::Accepted], "{}", path.display());
        }
    }
}

/// The keys of all kept journals.
pub(crate) fn keys() -> Vec<String> {
    let key = |path: &PathBuf| path.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
    journals().iter().map(key).collect()
}

/// Where the view of steps, with action and stage of each row of `key`, tells another story than the journal.
pub(crate) fn complaints(key: &str, seen: &[(String, String)]) -> Vec<String> {
    let mut wrong = Vec::new();
    let path = journals().into_iter().find(|path| path.file_stem().is_some_and(|name| name == key));
    let told = told(&path.expect("a kept journal"));
    // The story speaks of a step's own two actions only, not of what a person requested beside them.
    for (action, stage) in seen.iter().filter(|(action, _)| !action.contains("/manual:")) {
        if !told.contains(&(action.clone(), stage.clone())) {
            wrong.push(format!("{key}: {action} {stage}, but {told:?}"));
        }
    }
    // Whatever the view leaves out had not begun.
    for (action, stage) in told {
        let begun = seen.iter().any(|(seen, _)| *seen == action);
        if !begun && !["PENDING", "READY", "SKIPPED"].contains(&&*stage) {
            wrong.push(format!("{key}: {action} {stage} is missing"));
        }
    }
    wrong
}

/// Two sagas of a node named `node-7`: one waits for a person, one is set aside.
pub(crate) async fn keep_two_that_wait(store: &impl SagaStore) {
    store.join(ME, "node-7", Timestamp(0)).await.expect("it joins");
    let kept = journals();
    let (mut first, mut second) = (commits(1, &kept[0]).swap_remove(0), commits(2, &kept[1]).swap_remove(0));
    first.items = vec![ItemChange::Put(Box::new(WorkItemRow {
        item: "auth/forward".to_owned(),
        desk: "reconciliation",
        reason: "no-query".to_owned(),
        since: Timestamp(1_767_225_600_250_000),
        workflow: Arc::from("kept"),
        step: "auth".to_owned(),
        direction: "forward".to_owned(),
        effect: "possible",
        fingerprint: "alike".to_owned(),
        attempts: 2,
        error_kind: None,
        error_code: Some("timeout".to_owned()),
        error_rule: None,
        classifier: None,
    }))];
    (first.saga, second.saga) = (SagaId(Uuid::from_u128(0xaa << 64)), SagaId(Uuid::from_u128(0xbb << 64)));
    store.commit(ME, &[first, second]).await.expect("it commits");
    store
        .set_aside(ME, SagaId(Uuid::from_u128(0xbb << 64)), "row 4 is missing", Timestamp(5))
        .await
        .expect("aside");
}
