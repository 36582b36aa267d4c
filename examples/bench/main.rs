//! The first measurement: how many sagas a second, what each costs, and how far that is from SQL alone.
//!
//! ```text
//! cargo run --release --example bench                     # all cells, about a minute
//! cargo run --release --example bench -- --quick          # fewer sagas per cell
//! cargo run --release --example bench -- --json out.json  # the same figures for machines
//! cargo run --release --example bench -- --database postgres://user@host/database
//! cargo run --release --example bench -- --nats           # events and commands over NATS instead: see `nats.rs`
//! cargo run --release --example bench -- --purge 100000   # what purging costs, and what starts beside it wait
//! ```
//!
//! Everything runs in one process on one SQLite file with `synchronous=FULL`: engine, steps (which return at
//! once), load generator and SQLite itself. Disks differ by ten times from minute to minute, so an fsync
//! baseline of the same minute and the raw ceiling of the same run stand beside every figure.
//!
//! On PostgreSQL every cell has a schema of its own, which goes with it, and the server is another process, perhaps on
//! another machine: its CPU is not counted here, and the fsync baseline is that of this machine.

mod cell;
mod nats;
mod place;
mod process;
mod purge;
mod raw;
mod report;
mod workload;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Parser;
use serde::Serialize;

use cell::Cell;
use nats::participant::{self, Keeps};
use place::Place;
use workload::Shape;

/// Measures sagas per second, commits, rows and CPU per saga, beside an fsync baseline and the raw ceiling.
#[derive(Parser)]
struct Args {
    /// Fewer sagas per cell: a look, not a measurement.
    #[arg(long)]
    quick: bool,
    /// Writes the figures as JSON too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Where the database files are made and removed again. By default the system's temporary folder; it
    /// must be on the disk that is to be measured.
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
    /// A PostgreSQL server to measure instead of SQLite, as postgres://user@host/database. The user must be able
    /// to create schemas.
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Measures over NATS instead: events into sagas, and sagas whose steps are commands to another process. With a URL
    /// on the server there, whose JetStream gets streams of the bench while it runs; otherwise on one of its own, from
    /// AMENDS_TEST_NATS_SERVER or PATH.
    #[arg(long, value_name = "URL", num_args = 0..=1, conflicts_with = "database")]
    nats: Option<Option<String>>,
    /// Is the participant of a bench that runs elsewhere: what the bench starts itself.
    #[arg(long, hide = true, value_name = "KEEPS", requires = "nats")]
    take_part: Option<Keeps>,
    /// How many sagas run at once; may be given several times.
    #[arg(long, value_name = "N", default_values_t = [1, 64, 512])]
    in_flight: Vec<usize>,
    /// Measures nothing but the purging of so many sagas, and what starts beside it wait.
    #[arg(long, value_name = "SAGAS")]
    purge: Option<usize>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if let (Some(keeps), Some(Some(url)), Some(dir)) = (args.take_part, &args.nats, &args.dir) {
        return participant::run(url, keeps, dir).await;
    }
    let dir = match &args.dir {
        Some(dir) => tempfile::tempdir_in(dir)?,
        None => tempfile::tempdir()?,
    };
    if let Some(url) = args.nats {
        let wanted = nats::Wanted { url, quick: args.quick, in_flight: args.in_flight };
        let figures = nats::measure(wanted, dir.path()).await?;
        write_json(args.json.as_deref(), &figures)?;
        let _ = writeln!(std::io::stdout(), "{}", figures.page());
        return Ok(());
    }
    let place = match &args.database {
        Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
            Place::Server(url.clone())
        }
        Some(_) => {
            bail!("give --database a URL such as postgres://user@host/database, or leave it out for SQLite")
        }
        None => Place::Folder(dir.path().to_owned()),
    };
    if let Some(sagas) = args.purge {
        let fsync = process::fsync_baseline(dir.path())?;
        say(&format!("fsync of 4 KiB: p50 {:.2} ms, {:.0}/s", fsync.p50_ms, fsync.per_second));
        let _ = write!(std::io::stdout(), "{}", purge::measure(&place, sagas).await?);
        return Ok(());
    }
    let mut cells: Vec<Cell> = Vec::new();
    for &in_flight in &args.in_flight {
        let fsync = process::fsync_baseline(dir.path())?;
        say(&format!("fsync of 4 KiB: p50 {:.2} ms, {:.0}/s", fsync.p50_ms, fsync.per_second));
        for shape in Shape::ALL {
            let sagas = sagas(in_flight, args.quick);
            let cell = cell::measure(&place, shape, in_flight, sagas, fsync).await?;
            say(&report::line(&cell));
            cells.push(cell);
        }
    }
    write_json(args.json.as_deref(), &cells)?;
    let _ = writeln!(std::io::stdout(), "{}\n{}", report::table(&cells), report::LEGEND);
    Ok(())
}

/// The file first: whoever reads the table may stop early.
fn write_json(file: Option<&Path>, figures: &impl Serialize) -> anyhow::Result<()> {
    if let Some(file) = file {
        std::fs::write(file, serde_json::to_string_pretty(figures)?)?;
    }
    Ok(())
}

/// Says how far it is. If nobody can hear it, the measurement goes on.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Enough sagas for a second or more of work, and for a p99.
fn sagas(in_flight: usize, quick: bool) -> usize {
    let full = match in_flight {
        0..=7 => 500,
        8..=127 => 8_000,
        _ => 16_000,
    };
    if quick { full / 10 } else { full }
}
