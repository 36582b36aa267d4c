//! The SQL views tell the same story as the machine: kept journals, replayed by the one and folded by the other.

mod kept;

use std::path::Path;

use amends_sea_orm::SqliteStore;
use sea_orm::sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sea_orm::sqlx::{self, ConnectOptions as _, Row as _};

async fn stranger(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).read_only(true).connect().await.expect("the file opens")
}

#[tokio::test]
async fn the_view_of_steps_tells_the_story_of_every_kept_journal() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).await.expect("a new file");
    kept::keep_all(&store).await;
    let mut connection = stranger(&path).await;
    let mut wrong = Vec::new();
    for key in kept::keys() {
        let rows = sqlx::query("SELECT action, stage FROM saga_step WHERE workflow = 'kept' AND key = ?");
        let rows = rows.bind(&key).fetch_all(&mut connection).await.expect("the view reads");
        let seen: Vec<(String, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        wrong.extend(kept::complaints(&key, &seen));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn overview_and_desk_show_what_waits_for_whom() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).await.expect("a new file");
    kept::keep_two_that_wait(&store).await;
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
