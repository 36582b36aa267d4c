//! What a run tells: its summary, or what it found.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::setup::Setup;
use super::trouble::Trouble;
use amends_core::Timestamp;

/// A run without a violation.
#[derive(Clone, Debug)]
pub struct Run {
    /// The numbers.
    pub summary: Summary,
    /// Everything that happened, line by line.
    pub history: String,
}

/// The numbers of one run, or of many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Runs.
    pub runs: u64,
    /// Sagas.
    pub sagas: u64,
    /// Transitions committed.
    pub transitions: u64,
    /// How sagas ended, or that they stand on a desk, by word.
    pub outcomes: BTreeMap<String, u64>,
    /// Faults that really struck, by kind.
    pub struck: BTreeMap<Trouble, u64>,
    /// Virtual time.
    pub virtual_time: Duration,
    /// The lives of all sagas together, in virtual time.
    pub saga_time: Duration,
}

impl Summary {
    /// Adds the numbers of another run.
    pub fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.sagas += other.sagas;
        self.transitions += other.transitions;
        self.virtual_time += other.virtual_time;
        self.saga_time += other.saga_time;
        for (word, count) in &other.outcomes {
            *self.outcomes.entry(word.clone()).or_default() += count;
        }
        for (trouble, count) in &other.struck {
            *self.struck.entry(*trouble).or_default() += count;
        }
    }
}

fn hours(time: Duration) -> f64 {
    time.as_secs_f64() / 3_600.0
}

fn list<'a>(counts: impl Iterator<Item = (&'a str, u64)>) -> String {
    let told: Vec<String> = counts.map(|(word, count)| format!("{word} {count}")).collect();
    if told.is_empty() { "none".to_owned() } else { told.join(", ") }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, sagas, transitions, outcomes, struck, virtual_time, saga_time } = self;
        writeln!(f, "runs          {runs}")?;
        writeln!(f, "sagas         {sagas}, {transitions} transitions")?;
        writeln!(f, "outcomes      {}", list(outcomes.iter().map(|(word, count)| (word.as_str(), *count))))?;
        writeln!(
            f,
            "faults        {}",
            list(struck.iter().map(|(trouble, count)| (trouble.word(), *count)))
        )?;
        write!(f, "virtual time  {:.1} h, {:.1} saga-hours", hours(*virtual_time), hours(*saga_time))
    }
}

/// An invariant was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which one.
    pub invariant: &'static str,
    /// When, in virtual time.
    pub at: Timestamp,
    /// How.
    pub reason: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.reason)
    }
}

/// A run that broke an invariant.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What it was made from.
    pub setup: Setup,
    /// What was broken.
    pub violation: Violation,
    /// Transitions until then.
    pub transitions: u64,
    /// The story of the saga, if it was one saga's.
    pub timeline: Option<String>,
    /// Everything that happened, line by line.
    pub history: String,
}

/// The lines of the history that are shown with a failure.
const LINES_SHOWN: usize = 40;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { setup, violation, transitions, timeline, history } = self;
        writeln!(f, "violation of {violation}")?;
        writeln!(f, "after {transitions} transitions; again with: simulate {setup}")?;
        if let Some(timeline) = timeline {
            writeln!(f, "\nthe saga:\n{timeline}")?;
        }
        let lines: Vec<&str> = history.lines().collect();
        let shown = &lines[lines.len().saturating_sub(LINES_SHOWN)..];
        write!(f, "\nthe last {} of {} lines:\n{}", shown.len(), lines.len(), shown.join("\n"))
    }
}
