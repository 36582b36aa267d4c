//! Statements as text with bound values: the tables are few and their SQL is the documentation. It is SQL that SQLite
//! and PostgreSQL both read, with `$1` for a value, and quotes where PostgreSQL keeps a word for itself.

use sea_orm::{ConnectionTrait, DbErr, QueryResult, Statement, Value};

fn statement<const N: usize>(db: &impl ConnectionTrait, sql: &str, values: [Value; N]) -> Statement {
    Statement::from_sql_and_values(db.get_database_backend(), sql, values)
}

/// Changes rows, and says how many.
pub(super) async fn execute<const N: usize>(
    db: &impl ConnectionTrait,
    sql: &str,
    values: [Value; N],
) -> Result<u64, DbErr> {
    Ok(db.execute_raw(statement(db, sql, values)).await?.rows_affected())
}

/// The first row, if there is one.
pub(super) async fn first<const N: usize>(
    db: &impl ConnectionTrait,
    sql: &str,
    values: [Value; N],
) -> Result<Option<QueryResult>, DbErr> {
    db.query_one_raw(statement(db, sql, values)).await
}

/// All rows.
pub(super) async fn all<const N: usize>(
    db: &impl ConnectionTrait,
    sql: &str,
    values: [Value; N],
) -> Result<Vec<QueryResult>, DbErr> {
    db.query_all_raw(statement(db, sql, values)).await
}
