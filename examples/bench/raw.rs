//! The raw ceiling: the very rows and bytes that the engine wrote, written again into a fresh database of the same
//! schema and kind in perfect batches, by SQL alone.

use std::time::Instant;

use amends_migrations::{Migrator, MigratorTrait as _};
use anyhow::bail;
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DbBackend, QueryResult, Statement, TransactionTrait as _, Value,
};
use uuid::Uuid;

use crate::place::{Place, Spot};
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

/// Writes again what stands in `written`.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub async fn ceiling(written: &Spot, place: &Place) -> anyhow::Result<Raw> {
    let from = written.connect().await?;
    let sagas = read(&from, "saga").await?;
    let journal = read(&from, "journal").await?;
    let ends = ends(&sagas);
    from.close().await?;
    let target = place.spot("raw").await?;
    let to = target.connect().await?;
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
    target.remove().await?;
    Ok(Raw { sagas_per_second: count as f64 / seconds, cpu_ms_per_saga: spent })
}

fn statement(db: &impl ConnectionTrait, sql: &str, values: Vec<Value>) -> Statement {
    Statement::from_sql_and_values(db.get_database_backend(), sql, values)
}

/// `(?, ?), (?, ?)` or `($1, $2), ($3, $4)`: so many rows of so many values. SQLite takes `$1` for a name, and looks
/// for each name among all names before: that halved the ceiling.
fn places(db: &impl ConnectionTrait, rows: usize, columns: usize) -> String {
    let numbered = db.get_database_backend() == DbBackend::Postgres;
    let place = |n: usize| if numbered { format!("${n}") } else { "?".to_owned() };
    let row = |row: usize| {
        let all: Vec<String> = (1..=columns).map(|n| place(row * columns + n)).collect();
        format!("({})", all.join(", "))
    };
    (0..rows).map(row).collect::<Vec<_>>().join(", ")
}

/// All rows of a table, with whatever columns it has.
async fn read(db: &DatabaseConnection, table: &'static str) -> anyhow::Result<Written> {
    let about = match db.get_database_backend() {
        DbBackend::Postgres => {
            "SELECT column_name AS name, data_type AS type FROM information_schema.columns \
             WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position"
        }
        _ => "SELECT name, type FROM pragma_table_info($1)",
    };
    let about = db.query_all_raw(statement(db, about, vec![table.into()])).await?;
    let mut columns = Vec::new();
    let mut kinds = Vec::new();
    for column in about {
        columns.push(column.try_get::<String>("", "name")?);
        kinds.push(column.try_get::<String>("", "type")?);
    }
    let sql = format!("SELECT {} FROM {table} ORDER BY 1", columns.join(", "));
    let rows = db.query_all_raw(statement(db, &sql, vec![])).await?;
    let rows = rows.iter().map(|row| values(row, &columns, &kinds)).collect::<anyhow::Result<_>>()?;
    Ok(Written { table, columns, rows })
}

fn values(row: &QueryResult, columns: &[String], kinds: &[String]) -> anyhow::Result<Row> {
    let one = |(name, kind): (&String, &String)| -> anyhow::Result<Value> {
        Ok(match kind.as_str() {
            "INTEGER" | "bigint" => row.try_get::<Option<i64>>("", name)?.into(),
            "integer" => row.try_get::<Option<i32>>("", name)?.into(),
            "smallint" => row.try_get::<Option<i16>>("", name)?.into(),
            "BLOB" | "bytea" => row.try_get::<Option<Vec<u8>>>("", name)?.into(),
            "uuid" => row.try_get::<Option<Uuid>>("", name)?.into(),
            "TEXT" | "text" => row.try_get::<Option<String>>("", name)?.into(),
            other => bail!("failed to read the column {name}: nobody copies a {other} here"),
        })
    };
    columns.iter().zip(kinds).map(one).collect()
}

/// What the update sets that each ended saga got, by its columns.
const ENDS: [&str; 5] = ["id", "phase", "outcome", "open_actions", "ended_at"];

fn ends(sagas: &Written) -> Vec<Row> {
    let places = ENDS.map(|column| sagas.columns.iter().position(|name| name == column));
    sagas.rows.iter().map(|row| places.iter().flatten().map(|place| row[*place].clone()).collect()).collect()
}

async fn write<C: ConnectionTrait>(db: &C, of: &Written, from: usize, count: usize) -> anyhow::Result<()> {
    let rows = of.rows.iter().skip(from).take(count).collect::<Vec<_>>();
    for chunk in rows.chunks(CHUNK) {
        let all = places(db, chunk.len(), of.columns.len());
        let sql = format!("INSERT INTO {} ({}) VALUES {all}", of.table, of.columns.join(", "));
        let values = chunk.iter().flat_map(|row| row.iter().cloned()).collect();
        db.execute_raw(statement(db, &sql, values)).await?;
    }
    Ok(())
}

async fn update<C: ConnectionTrait>(db: &C, ends: &[Row], from: usize, count: usize) -> anyhow::Result<()> {
    let rows = ends.iter().skip(from).take(count).collect::<Vec<_>>();
    for chunk in rows.chunks(CHUNK) {
        let all = places(db, chunk.len(), ENDS.len());
        let sql = format!(
            "UPDATE saga SET phase = p.column2, outcome = p.column3, open_actions = p.column4, \
             ended_at = p.column5, owner = NULL FROM (VALUES {all}) AS p WHERE saga.id = p.column1"
        );
        let values = chunk.iter().flat_map(|row| row.iter().cloned()).collect();
        db.execute_raw(statement(db, &sql, values)).await?;
    }
    Ok(())
}
