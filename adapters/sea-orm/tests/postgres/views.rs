//! The SQL views tell the same story as the machine, on PostgreSQL too.

use sea_orm::sqlx::{self, Row as _};

use crate::kept;
use crate::server::OneSchema;

#[tokio::test]
async fn the_view_of_steps_tells_the_story_of_every_kept_journal() {
    let schema = OneSchema::new();
    schema.create().await;
    kept::keep_all(&schema.open(&schema.url()).await).await;
    let mut connection = schema.stranger().await;
    let mut wrong = Vec::new();
    for key in kept::keys() {
        let rows = sqlx::query("SELECT action, stage FROM saga_step WHERE workflow = 'kept' AND key = $1");
        let rows = rows.bind(&key).fetch_all(&mut connection).await.expect("the view reads");
        let seen: Vec<(String, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        wrong.extend(kept::complaints(&key, &seen));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn overview_and_desk_show_what_waits_for_whom() {
    let schema = OneSchema::new();
    schema.create().await;
    kept::keep_two_that_wait(&schema.open(&schema.url()).await).await;
    let mut connection = schema.stranger().await;
    let desk = "SELECT concat_ws(' | ', to_char(since AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS'), desk, saga, \
        item, reason, effect, error_code) FROM desk";
    let desk: Vec<String> = sqlx::query_scalar(desk).fetch_all(&mut connection).await.expect("it reads");
    assert_eq!(
        desk,
        [
            "1970-01-01 00:00:00.000 | set aside | 00000000-0000-00bb-0000-000000000000 |  | row 4 is missing",
            "2026-01-01 00:00:00.250 | reconciliation | 00000000-0000-00aa-0000-000000000000 | auth/forward | no-query \
         | possible | timeout",
        ]
    );
    let overview = "SELECT concat_ws(' | ', workflow, phase, desk_items, transitions, owner, set_aside) \
        FROM saga_overview ORDER BY saga";
    let overview: Vec<String> =
        sqlx::query_scalar(overview).fetch_all(&mut connection).await.expect("it reads");
    assert_eq!(overview, ["kept | running | 1 | 1 | node-7", "kept | running | 0 | 1 | row 4 is missing"]);
}
