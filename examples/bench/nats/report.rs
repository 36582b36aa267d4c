//! The figures over NATS, for people.

use comfy_table::{Table, presets};

use super::commands::Commanded;
use super::events::Events;

/// What the columns mean.
pub const LEGEND: &str = "\
events: sagas of one step, durable and acknowledged; raw: the same events, published, or pulled and acknowledged, alone.
keeps: what the participant writes: nothing; effect and answer behind a barrier, a transaction for each command; the same
with one transaction for all commands that wait. p50/p95/p99: milliseconds from the call of `start` to the outcome.
commits: transactions of the engine with journal rows; mail, outbox: rows written and removed beside them.
messages: of the engine's connection, in and out. CPU ms: of engine, nats-server and participant, per saga.
request/s: requests to the participant's process and their answers, 64 at a time, alone; and one after another, in µs.";

fn or_dash(n: Option<f64>) -> String {
    n.map_or("-".to_owned(), |n| format!("{n:.2}"))
}

/// What became of events.
pub fn events(of: &Events) -> String {
    format!(
        "{} events: {:.0} sagas/s durable, {:.0}/s completed, {:.3} commits and {:.1} messages a saga, CPU ms a saga: engine {}, \
         nats-server {}; raw: {:.0}/s published, {:.0}/s consumed",
        of.events,
        of.sagas_per_second,
        of.completed_per_second,
        of.commits_per_saga,
        of.messages_per_saga,
        or_dash(of.cpu_ms_per_saga),
        or_dash(of.server_cpu_ms_per_saga),
        of.raw_published_per_second,
        of.raw_consumed_per_second,
    )
}

/// One cell while others still run.
pub fn line(cell: &Commanded) -> String {
    format!(
        "4 commands, keeps {:<8} {:>4} in flight: {:>6.0} sagas/s, {:.2} commits and {:.1} messages a saga",
        cell.keeps, cell.in_flight, cell.sagas_per_second, cell.commits_per_saga, cell.messages_per_saga,
    )
}

/// All cells.
pub fn table(cells: &[Commanded]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(vec![
        "4 commands, keeps",
        "in flight",
        "sagas/s",
        "p50",
        "p95",
        "p99",
        "commits",
        "mail",
        "outbox",
        "messages",
        "CPU engine",
        "CPU server",
        "CPU participant",
        "request/s",
        "request µs",
    ]);
    for cell in cells {
        table.add_row(vec![
            cell.keeps.to_owned(),
            cell.in_flight.to_string(),
            format!("{:.0}", cell.sagas_per_second),
            format!("{:.2}", cell.p50_ms),
            format!("{:.2}", cell.p95_ms),
            format!("{:.2}", cell.p99_ms),
            format!("{:.2}", cell.commits_per_saga),
            format!("{:.1}", cell.mail_rows_per_saga),
            format!("{:.1}", cell.outbox_rows_per_saga),
            format!("{:.1}", cell.messages_per_saga),
            or_dash(cell.cpu_ms_per_saga),
            or_dash(cell.server_cpu_ms_per_saga),
            or_dash(cell.participant_cpu_ms_per_saga),
            format!("{:.0}", cell.raw_asked.per_second),
            format!("{:.0}", cell.raw_asked.p50_us),
        ]);
    }
    table
}
