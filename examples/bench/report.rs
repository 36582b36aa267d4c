//! The figures, for people.

use comfy_table::Table;
use comfy_table::presets;

use crate::cell::Cell;

/// What the columns mean.
pub const LEGEND: &str = "\
sagas/s: completed (or compensated), each transition durable before the next step begins.
p50/p95/p99: milliseconds from the call of `start` to the outcome.
commits, rows: transactions and journal rows per saga; rows/commit: how well the group commit fills.
KiB: journal text per saga. CPU: user and system time of this whole process per saga, load generator and
SQLite included, a PostgreSQL server not. raw: the same rows and bytes by SQL alone in perfect batches, in this run; of raw: the ratio.";

/// One cell while others still run.
pub fn line(cell: &Cell) -> String {
    format!(
        "{:<18} {:>4} in flight: {:>7.0} sagas/s, {:.2} commits/saga, {:.1} rows/commit, raw {:.0}/s",
        cell.shape,
        cell.in_flight,
        cell.sagas_per_second,
        cell.commits_per_saga,
        cell.journal_rows_per_commit,
        cell.raw_sagas_per_second,
    )
}

/// All cells.
pub fn table(cells: &[Cell]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(vec![
        "shape",
        "in flight",
        "sagas/s",
        "p50",
        "p95",
        "p99",
        "commits",
        "rows",
        "rows/commit",
        "KiB",
        "CPU ms",
        "raw/s",
        "raw CPU ms",
        "of raw",
        "fsync p50 ms",
    ]);
    let or_dash = |n: Option<f64>| n.map_or("-".into(), |n| format!("{n:.3}"));
    for cell in cells {
        table.add_row(vec![
            cell.shape.to_owned(),
            cell.in_flight.to_string(),
            format!("{:.0}", cell.sagas_per_second),
            format!("{:.2}", cell.p50_ms),
            format!("{:.2}", cell.p95_ms),
            format!("{:.2}", cell.p99_ms),
            format!("{:.2}", cell.commits_per_saga),
            format!("{:.2}", cell.journal_rows_per_saga),
            format!("{:.1}", cell.journal_rows_per_commit),
            format!("{:.1}", cell.journal_bytes_per_saga / 1024.0),
            or_dash(cell.cpu_ms_per_saga),
            format!("{:.0}", cell.raw_sagas_per_second),
            or_dash(cell.raw_cpu_ms_per_saga),
            format!("{:.0} %", cell.ratio_to_raw * 100.0),
            format!("{:.2}", cell.fsync.p50_ms),
        ]);
    }
    table
}
