//! Where the run is, while it runs: a bar on a terminal, one line a second elsewhere. On standard error, so
//! that the report on standard output can be kept alone.

use std::fmt;
use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::text::say;

/// How far the run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Sagas that the lines ask for, as far as it is known.
    pub sagas: usize,
    /// Of those, begun.
    pub begun: usize,
    /// Of those, ended.
    pub ended: usize,
    /// Not ended, and standing on a desk with nothing else to do.
    pub waiting: usize,
    /// Turned back and not ended.
    pub turning_back: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let under_way = self.begun.saturating_sub(self.ended + self.waiting);
        write!(
            f,
            "{} of {} sagas ended, {} on desks, {under_way} under way",
            self.ended, self.sagas, self.waiting
        )?;
        if self.turning_back > 0 {
            write!(f, " ({} undoing)", self.turning_back)?;
        }
        Ok(())
    }
}

/// Shows tallies.
pub struct Progress {
    bar: Option<ProgressBar>,
    last_second: Option<u64>,
}

impl Progress {
    /// For this process's standard error.
    pub fn here() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(0);
            // The bar takes what the tally leaves of the line.
            let style = ProgressStyle::with_template("{elapsed:>4} [{wide_bar}] {msg}")
                .expect("the template is well formed");
            bar.set_style(style.progress_chars("=> "));
            bar
        });
        Self { bar, last_second: None }
    }

    /// Shows where the run is, `elapsed` after its beginning. Call it as often as you like.
    pub fn show(&mut self, tally: &Tally, elapsed: Duration) {
        if let Some(bar) = &self.bar {
            bar.set_length(tally.sagas as u64);
            bar.set_position((tally.ended + tally.waiting) as u64);
            bar.set_message(tally.to_string());
        } else if self.last_second != Some(elapsed.as_secs()) {
            self.last_second = Some(elapsed.as_secs());
            say(format_args!("{:>3} s  {tally}", elapsed.as_secs()));
        }
    }

    /// The bar goes, and nothing stays.
    pub fn give_way(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// The last word: the bar goes, the tally stays.
    pub fn finish(self, tally: &Tally, elapsed: Duration) {
        self.give_way();
        say(format_args!("{:>5.1} s  {tally}", elapsed.as_secs_f64()));
    }
}
