//! The raw ceiling: the very rows and bytes that the engine wrote, written again into a fresh file of the same
//! schema in perfect batches, by SQL alone.

use std::path::Path;
use std::time::Instant;

use amends_migrations::{Migrator, MigratorTrait as _};
use sea_orm::sqlx::sqlite::{SqliteJournalMode, SqliteSynchronous};
use sea_orm::{
    ConnectOptions, ConnectionTrait as _, Database, DatabaseConnection, DbBackend, QueryResult, Statement,
    TransactionTrait as _, Value,
};

use crate::process;

/// What SQL alone does.
pub struct Raw {
    pub sagas_per_second: f64,
    pub cpu_ms_per_saga: Option<f64>,
}

/// Journal rows per transaction: beyond 256 little is won.
const BATCH: usize = 256;
/// Rows per statement.
const CHUNK: usize = 64;

type Row = Vec<Value>;

/// One table's worth of rows in perfect batches.
struct Written {
    table: &'static str,
    columns: Vec<String>,
    rows: Vec<Row>,
}

/// Writes again what stands in `file`.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub async fn ceiling(file: &Path, dir: &Path) -> anyhow::Result<Raw> {
    let from = connect(file, "ro").await?;
    let sagas = read(&from, "saga").await?;
    let journal = read(&from, "journal").await?;
    let ends = ends(&from).await?;
    from.close().await?;
    let target = dir.join("raw.db");
    let to = connect(&target, "rwc").await?;
    Migrator::up(&to, None).await?;
    let count = sagas.rows.len();
    let (cpu, began) = (process::cpu(), Instant::now());
    // As the engine does: a saga row is inserted at its start and updated at its end, between its journal rows.
    let per_saga = journal.rows.len().div_ceil(count.max(1));
    let sagas_per_batch = (BATCH / per_saga).max(1);
    let batches = count.div_ceil(sagas_per_batch);
    for batch in 0..batches {
        let tx = to.begin().await?;
        write(&tx, &sagas, batch * sagas_per_batch, sagas_per_batch).await?;
        let rows = sagas_per_batch * per_saga;
        write(&tx, &journal, batch * rows, rows).await?;
        update(&tx, &ends, batch * sagas_per_batch, sagas_per_batch).await?;
        tx.commit().await?;
    }
    let seconds = began.elapsed().as_secs_f64();
    let spent = cpu.zip(process::cpu()).map(|(from, to)| (to - from).as_secs_f64() * 1e3 / count as f64);
    to.close().await?;
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", target.display()));
    }
    Ok(Raw { sagas_per_second: count as f64 / seconds, cpu_ms_per_saga: spent })
}

async fn connect(file: &Path, mode: &str) -> anyhow::Result<DatabaseConnection> {
    let mut options = ConnectOptions::new(format!("sqlite://{}?mode={mode}", file.display()));
    options.max_connections(1).sqlx_logging(false).map_sqlx_sqlite_opts(|o| {
        o.journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .pragma("temp_store", "MEMORY")
            .statement_cache_capacity(64)
    });
    Ok(Database::connect(options).await?)
}

fn statement(sql: &str, values: Vec<Value>) -> Statement {
    Statement::from_sql_and_values(DbBackend::Sqlite, sql, values)
}

/// All rows of a table, with whatever columns it has.
async fn read(db: &DatabaseConnection, table: &'static str) -> anyhow::Result<Written> {
    let about = db.query_all_raw(statement(&format!("PRAGMA table_info({table})"), vec![])).await?;
    let mut columns = Vec::new();
    let mut kinds = Vec::new();
    for column in about {
        columns.push(column.try_get::<String>("", "name")?);
        kinds.push(column.try_get::<String>("", "type")?);
    }
    let sql = format!("SELECT {} FROM {table} ORDER BY 1", columns.join(", "));
    let rows = db.query_all_raw(statement(&sql, vec![])).await?;
    let rows = rows.iter().map(|row| values(row, &columns, &kinds)).collect::<anyhow::Result<_>>()?;
    Ok(Written { table, columns, rows })
}

fn values(row: &QueryResult, columns: &[String], kinds: &[String]) -> anyhow::Result<Row> {
    let one = |(name, kind): (&String, &String)| -> anyhow::Result<Value> {
        Ok(match kind.as_str() {
            "INTEGER" => row.try_get::<Option<i64>>("", name)?.into(),
            "BLOB" => row.try_get::<Option<Vec<u8>>>("", name)?.into(),
            _ => row.try_get::<Option<String>>("", name)?.into(),
        })
    };
    columns.iter().zip(kinds).map(one).collect()
}

/// The update that each ended saga got.
async fn ends(db: &DatabaseConnection) -> anyhow::Result<Vec<Row>> {
    let sql = "SELECT id, phase, outcome, open_actions, ended_at FROM saga ORDER BY 1";
    let rows = db.query_all_raw(statement(sql, vec![])).await?;
    rows.iter()
        .map(|row| {
            Ok(vec![
                row.try_get::<Vec<u8>>("", "id")?.into(),
                row.try_get::<String>("", "phase")?.into(),
                row.try_get::<Option<String>>("", "outcome")?.into(),
                row.try_get::<i64>("", "open_actions")?.into(),
                row.try_get::<Option<i64>>("", "ended_at")?.into(),
            ])
        })
        .collect()
}

async fn write<C: sea_orm::ConnectionTrait>(
    db: &C,
    of: &Written,
    from: usize,
    count: usize,
) -> anyhow::Result<()> {
    let rows = of.rows.iter().skip(from).take(count).collect::<Vec<_>>();
    for chunk in rows.chunks(CHUNK) {
        let one = format!("({})", vec!["?"; of.columns.len()].join(", "));
        let all = vec![one; chunk.len()].join(", ");
        let sql = format!("INSERT INTO {} ({}) VALUES {all}", of.table, of.columns.join(", "));
        let values = chunk.iter().flat_map(|row| row.iter().cloned()).collect();
        db.execute_raw(statement(&sql, values)).await?;
    }
    Ok(())
}

async fn update<C: sea_orm::ConnectionTrait>(
    db: &C,
    ends: &[Row],
    from: usize,
    count: usize,
) -> anyhow::Result<()> {
    let rows = ends.iter().skip(from).take(count).collect::<Vec<_>>();
    for chunk in rows.chunks(CHUNK) {
        let all = vec!["(?, ?, ?, ?, ?)"; chunk.len()].join(", ");
        let sql = format!(
            "UPDATE saga SET phase = p.column2, outcome = p.column3, open_actions = p.column4, \
             ended_at = p.column5, owner = NULL FROM (VALUES {all}) AS p WHERE saga.id = p.column1"
        );
        let values = chunk.iter().flat_map(|row| row.iter().cloned()).collect();
        db.execute_raw(statement(&sql, values)).await?;
    }
    Ok(())
}
