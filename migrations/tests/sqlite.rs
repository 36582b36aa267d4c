//! The schema on a real SQLite file: there, back, and there again.

use amends_migrations::{Migrator, MigratorTrait};
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement};

async fn file() -> (tempfile::TempDir, DatabaseConnection) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("store.db").display());
    (folder, Database::connect(url).await.expect("a new file opens"))
}

/// Name and text of everything in the schema but SQLite's own and the migrations' table.
async fn schema(db: &DatabaseConnection) -> Vec<(String, String)> {
    let sql = "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' AND name <> 'amends_migration' ORDER BY name";
    let rows =
        db.query_all_raw(Statement::from_string(DbBackend::Sqlite, sql)).await.expect("the schema reads");
    rows.iter()
        .map(|row| (row.try_get_by_index(0).expect("a name"), row.try_get_by_index(1).expect("its text")))
        .collect()
}

#[tokio::test]
async fn up_down_and_up_again_gives_the_same_schema() {
    let (_folder, db) = file().await;
    Migrator::up(&db, None).await.expect("up");
    let first = schema(&db).await;
    assert!(first.iter().any(|(name, _)| name == "journal"), "{first:?}");
    Migrator::down(&db, None).await.expect("down");
    assert_eq!(schema(&db).await, Vec::new(), "down leaves nothing");
    Migrator::up(&db, None).await.expect("up again");
    assert_eq!(schema(&db).await, first);
}

#[tokio::test]
async fn a_migration_that_fails_leaves_nothing_behind() {
    let (_folder, db) = file().await;
    db.execute_unprepared("CREATE TABLE desk (in_the_way integer)").await.expect("a table of that name");
    Migrator::up(&db, None).await.expect_err("the view `desk` cannot be made");
    let names: Vec<String> = schema(&db).await.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["desk"], "whole or not at all");
}

#[tokio::test]
async fn every_table_is_strict_and_no_key_may_be_null() {
    let (_folder, db) = file().await;
    Migrator::up(&db, None).await.expect("up");
    for (name, sql) in schema(&db).await.into_iter().filter(|(_, sql)| sql.starts_with("CREATE TABLE")) {
        assert!(sql.contains("STRICT"), "{name} is not STRICT");
        let sql =
            format!("SELECT count(*) FROM pragma_table_info('{name}') WHERE pk > 0 AND \"notnull\" = 0");
        let row =
            db.query_one_raw(Statement::from_string(DbBackend::Sqlite, sql)).await.expect("its columns read");
        let nullable: i64 = row.expect("one row").try_get_by_index(0).expect("a count");
        assert_eq!(nullable, 0, "{name} has a key column that may be NULL");
    }
}
