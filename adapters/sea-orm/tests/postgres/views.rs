//! The SQL views tell the same story as the machine, on PostgreSQL too.

use amends_sea_orm::SqliteStore;
use sea_orm::sqlx::sqlite::SqliteConnectOptions;
use sea_orm::sqlx::{self, AssertSqlSafe, ConnectOptions as _, Executor as _, Row as _};

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

/// Without since when: the databases round a time to milliseconds in two ways.
const STEPS: &str = "SELECT concat_ws(' | ', key, action, stage, attempts, queries, coalesce(failure_kind, '-'), \
    coalesce(failure_code, '-'), coalesce(failure_message, '-')) FROM saga_step ORDER BY key, action";

#[tokio::test]
async fn the_view_of_steps_is_the_same_on_postgres_as_on_a_file() {
    let schema = OneSchema::new();
    schema.create().await;
    kept::keep_all(&schema.open(&schema.url()).await).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("store.db");
    kept::keep_all(&SqliteStore::open(&path).await.expect("a new file")).await;
    let here = sqlx::query_scalar(STEPS).fetch_all(&mut schema.stranger().await).await;
    let mut file = SqliteConnectOptions::new().filename(&path).connect().await.expect("the file opens");
    let there = sqlx::query_scalar(STEPS).fetch_all(&mut file).await;
    let (here, there): (Vec<String>, Vec<String>) = (here.expect("it reads"), there.expect("it reads"));
    assert!(there.len() > 300, "{} steps", there.len());
    let unlike: Vec<_> = here.iter().zip(&there).filter(|(here, there)| here != there).collect();
    assert!(unlike.is_empty(), "{unlike:#?}");
    assert_eq!(here.len(), there.len());
}

/// Those of the first schema, made once more beside those that people read now.
#[tokio::test]
async fn the_views_have_the_rows_that_those_of_the_first_schema_had() {
    let schema = OneSchema::new();
    schema.create().await;
    kept::keep_all(&schema.open(&schema.url()).await).await;
    let now = &schema.name;
    schema.as_admin(&format!("CREATE SCHEMA {now}_first AUTHORIZATION {now}")).await;
    let mut person = schema.stranger().await;
    let first = include_str!("../../../../migrations/src/first/postgres/views.sql");
    for statement in [&*format!("SET search_path TO {now}_first, {now}"), "SET jit TO off", first] {
        person.execute(AssertSqlSafe(statement.to_owned())).await.expect("they are made");
    }
    for (view, columns) in
        [("saga_event", "saga_id, seq, n, at, actor, event, detail::text"), ("saga_step", "*")]
    {
        let rows = |schema: &str| format!("SELECT {columns} FROM {schema}.{view}");
        let (old, new) = (rows(&format!("{now}_first")), rows(now));
        let unlike = format!(
            "SELECT (SELECT count(*) FROM ({old}) AS old), \
             (SELECT count(*) FROM (({old} EXCEPT ALL {new}) UNION ALL ({new} EXCEPT ALL {old})) AS unlike)"
        );
        let (all, unlike): (i64, i64) =
            sqlx::query_as(AssertSqlSafe(unlike)).fetch_one(&mut person).await.expect("they read");
        assert!(all > 300, "{view}: {all} rows");
        assert_eq!(unlike, 0, "{view}");
    }
}

/// Which took seconds, whatever there was to read. The server compiles what it thinks dearer than this, by default.
const COMPILED_ABOVE: f64 = 100_000.0;

#[tokio::test]
async fn the_steps_of_a_thousand_sagas_are_read_without_compiling_the_view_first() {
    let schema = OneSchema::new();
    schema.create().await;
    kept::keep_all(&schema.open(&schema.url()).await).await;
    let mut person = schema.stranger().await;
    person.execute("ANALYZE saga, journal").await.expect("it counts");
    let plan = sqlx::query_scalar("EXPLAIN SELECT * FROM saga_step").fetch_all(&mut person).await;
    let plan: Vec<String> = plan.expect("it has a plan");
    let cost = plan[0].split("..").nth(1).and_then(|rest| rest.split(' ').next());
    let cost: f64 = cost.and_then(|cost| cost.parse().ok()).expect("the first line tells the whole cost");
    let of_a_thousand = cost * 1_000.0 / kept::keys().len() as f64;
    assert!(of_a_thousand < COMPILED_ABOVE, "{of_a_thousand}:\n{}", plan.join("\n"));
}
