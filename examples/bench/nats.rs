//! The same over NATS: events into sagas, and sagas whose steps are commands to another process.
//!
//! Engine and load are this process, with the engine's store on one SQLite file (`synchronous=FULL`); the nats-server and
//! the participant are one process each. Everything runs on this machine, so what the table says is for all three.

mod bus;
mod commands;
mod events;
pub mod participant;
mod raw;
mod report;
pub mod workload;

use std::path::Path;

use serde::Serialize;

use self::bus::Bus;
use self::commands::Commanded;
use self::events::Events;
use self::participant::Keeps;
use crate::process::{self, Fsync};
use crate::say;

/// All figures.
#[derive(Serialize)]
pub struct Figures {
    fsync: Fsync,
    events: Events,
    commands: Vec<Commanded>,
}

/// What is to be measured.
pub struct Wanted {
    /// A server that is there; otherwise one of our own.
    pub url: Option<String>,
    pub quick: bool,
    /// How many sagas run at once.
    pub in_flight: Vec<usize>,
}

/// Measures, and says how far it is.
pub async fn measure(wanted: Wanted, folder: &Path) -> anyhow::Result<Figures> {
    let bus = Bus::open(wanted.url);
    let fsync = process::fsync_baseline(folder)?;
    say(&format!("fsync of 4 KiB: p50 {:.2} ms, {:.0}/s", fsync.p50_ms, fsync.per_second));
    let events = events::measure(&bus, folder, if wanted.quick { 2_000 } else { 20_000 }).await?;
    say(&report::events(&events));
    let mut commands = Vec::new();
    for keeps in [Keeps::Nothing, Keeps::Each, Keeps::Together] {
        for &in_flight in &wanted.in_flight {
            let sagas = sagas(in_flight, wanted.quick);
            let cell = commands::measure(&bus, folder, keeps, in_flight, sagas).await?;
            say(&report::line(&cell));
            commands.push(cell);
        }
    }
    bus.clean_up().await?;
    Ok(Figures { fsync, events, commands })
}

fn sagas(in_flight: usize, quick: bool) -> usize {
    let full = match in_flight {
        0..=7 => 300,
        8..=127 => 4_000,
        _ => 8_000,
    };
    if quick { full / 10 } else { full }
}

impl Figures {
    /// For people.
    pub fn page(&self) -> String {
        let table = report::table(&self.commands);
        format!("{}\n\n{table}\n{}", report::events(&self.events), report::LEGEND)
    }
}
