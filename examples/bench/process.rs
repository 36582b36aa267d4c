//! What the operating system says: CPU time of this process, and how fast this disk syncs right now.

use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

/// How fast 4 KiB are made durable right now.
#[derive(Clone, Copy, Serialize)]
pub struct Fsync {
    pub p50_ms: f64,
    pub per_second: f64,
}

/// Overwrites 4 KiB and syncs, for half a second.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub fn fsync_baseline(dir: &Path) -> anyhow::Result<Fsync> {
    let mut file = tempfile::tempfile_in(dir)?;
    let block = [7u8; 4096];
    let began = Instant::now();
    let mut took = Vec::new();
    while began.elapsed() < Duration::from_millis(500) {
        let one = Instant::now();
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&block)?;
        file.sync_data()?;
        took.push(one.elapsed());
    }
    let seconds = began.elapsed().as_secs_f64();
    took.sort();
    Ok(Fsync { p50_ms: took[took.len() / 2].as_secs_f64() * 1e3, per_second: took.len() as f64 / seconds })
}

/// User and system CPU time that this process has used.
pub fn cpu() -> Option<Duration> {
    cpu_of("self")
}

/// The same of another process, by its id: from `/proc/<id>/stat` in ticks of 10 ms; none where there is no such file.
pub fn cpu_of(process: &str) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Fields 14 and 15, counted after the command name, which may hold spaces but ends at the last `)`.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}
