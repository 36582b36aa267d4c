//! What only tests with real processes need: signals, moments of real time, and what the environment asks for.

// Each test program uses a part of it.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant, SystemTime};

/// Sends a signal to one process that this test has started, by its id, and to nobody else. One that has just ended
/// by itself hears nothing.
pub fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).output();
    sent.expect("`kill` is there");
}

/// Lets real time pass.
#[expect(clippy::disallowed_methods, reason = "real processes are met at moments of real time")]
pub async fn pause(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

/// A moment, to measure from.
#[expect(clippy::disallowed_methods, reason = "real processes are measured in real time")]
pub fn moment() -> Instant {
    Instant::now()
}

/// Since then.
pub fn since(then: Instant) -> Duration {
    moment().duration_since(then)
}

/// The wall clock, as journals have it: in microseconds.
#[expect(clippy::disallowed_methods, reason = "compared with times in the journal of other processes")]
pub fn wall_clock() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_micros()).expect("before the year 290 000")
}

/// A number that the environment may change.
pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| {
        text.parse().unwrap_or_else(|error| panic!("{name} is to be a whole number: {error}"))
    })
}

/// Whether the long variants are asked for: `CHAOS=long`.
pub fn is_long() -> bool {
    std::env::var("CHAOS").is_ok_and(|asked| asked == "long")
}

/// Shows the end of every log in a folder when the test fails.
pub struct Logs<'a>(pub &'a Path);

impl Logs<'_> {
    /// Why processes ended by themselves, and how often, as they said it.
    pub fn last_words(&self) -> BTreeMap<String, usize> {
        let mut words = BTreeMap::new();
        for (_, text) in self.read() {
            for said in text.lines().filter_map(|line| line.strip_prefix("shop: ")) {
                *words.entry(said.to_owned()).or_default() += 1;
            }
        }
        words
    }

    /// Every log, by its name.
    fn read(&self) -> BTreeMap<PathBuf, String> {
        let entries = std::fs::read_dir(self.0).into_iter().flatten().filter_map(Result::ok);
        let logs = entries.map(|entry| entry.path());
        let logs = logs.filter(|path| path.extension().is_some_and(|end| end == "log"));
        logs.map(|path| {
            let text = std::fs::read(&path).unwrap_or_default();
            (path, String::from_utf8_lossy(&text).into_owned())
        })
        .collect()
    }
}

/// Lines of each log.
const LINES_SHOWN: usize = 60;

impl Drop for Logs<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        for (log, text) in self.read() {
            let lines: Vec<&str> = text.lines().collect();
            println!("--- {} ({} lines)", log.display(), lines.len());
            for line in &lines[lines.len().saturating_sub(LINES_SHOWN)..] {
                println!("{line}");
            }
        }
    }
}
