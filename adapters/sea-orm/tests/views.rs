//! The SQL views tell the same story as the machine: kept journals, replayed by the one and folded by the other.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use amends::ports::{
    Commit, DefinitionRef, ItemChange, JournalRow, NewSaga, SagaStore as _, Verdict, WorkItemRow,
};
use amends_core::{Incarnation, SagaId, Timestamp, Transition};
use amends_sea_orm::SqliteStore;
use sea_orm::sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sea_orm::sqlx::{self, ConnectOptions as _, Row as _};
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

async fn stranger(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).read_only(true).connect().await.expect("the file opens")
}

#[tokio::test]
async fn the_view_of_steps_tells_the_story_of_every_kept_journal() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).await.expect("a new file");
    store.join(ME, "node", Timestamp(0)).await.expect("it joins");
    let kept = journals();
    for (n, path) in (1..).zip(&kept) {
        for commit in commits(n, path) {
            let verdicts = store.commit(ME, &[commit]).await.expect("it commits");
            assert_eq!(verdicts, [Verdict::Accepted], "{}", path.display());
        }
    }
    let mut connection = stranger(&path).await;
    let mut wrong = Vec::new();
    for path in &kept {
        let key = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        let rows =
            sqlx::query("SELECT action, stage FROM saga_step WHERE workflow = 'kept' AND key = ?").bind(key);
        let rows = rows.fetch_all(&mut connection).await.expect("the view reads");
        let seen: Vec<(String, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        let told = told(path);
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
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn overview_and_desk_show_what_waits_for_whom() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).await.expect("a new file");
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

    let mut connection = stranger(&path).await;
    let desk =
        sqlx::query("SELECT concat_ws(' | ', since, desk, saga, item, reason, effect, error_code) FROM desk");
    let desk: Vec<String> =
        desk.fetch_all(&mut connection).await.expect("the view reads").iter().map(|row| row.get(0)).collect();
    assert_eq!(
        desk,
        [
            "1970-01-01T00:00:00.000Z | set aside | 00000000-0000-00bb-0000-000000000000 |  | row 4 is missing",
            "2026-01-01T00:00:00.250Z | reconciliation | 00000000-0000-00aa-0000-000000000000 | auth/forward | no-query \
         | possible | timeout",
        ]
    );
    let sql = "SELECT concat_ws(' | ', workflow, phase, desk_items, transitions, owner, set_aside) FROM saga_overview";
    let overview: Vec<String> = sqlx::query(sql)
        .fetch_all(&mut connection)
        .await
        .expect("it reads")
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(overview, ["kept | running | 1 | 1 | node-7", "kept | running | 0 | 1 | row 4 is missing"]);
}
