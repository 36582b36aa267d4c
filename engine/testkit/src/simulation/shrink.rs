//! From a run that fails to the shortest that still does.

use std::time::Duration;

use super::setup::Setup;
use super::summary::{Failure, Run};

/// What was tried.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The shortest run that still breaks the same invariant.
    pub failure: Box<Failure>,
    /// Runs that it took.
    pub runs: u32,
}

/// The most runs that one search may take.
const RUNS_MAX: u32 = 120;

/// Below this, an earlier end is not looked for.
const STEP_MIN: Duration = Duration::from_secs(5);

/// Looks for a shorter run with the same violation: fewer kinds of faults, fewer sagas, an earlier end, fewer
/// nodes, one after the other until nothing can be left out. `run` plays a setup.
pub fn shrink(failure: Box<Failure>, mut run: impl FnMut(&Setup) -> Result<Run, Box<Failure>>) -> Shrunk {
    let mut search = Search { best: failure, runs: 0 };
    loop {
        let before = search.best.setup.clone();
        search.fewer_troubles(&mut run);
        search.fewer_sagas(&mut run);
        search.earlier_end(&mut run);
        while search.best.setup.nodes > 1 {
            let nodes = search.best.setup.nodes - 1;
            if !search.fails(Setup { nodes, ..search.best.setup.clone() }, &mut run) {
                break;
            }
        }
        if search.best.setup == before || search.runs >= RUNS_MAX {
            return Shrunk { failure: search.best, runs: search.runs };
        }
    }
}

struct Search {
    best: Box<Failure>,
    runs: u32,
}

impl Search {
    /// Does this setup fail in the same way? Then it is the best from now on.
    fn fails(&mut self, setup: Setup, run: &mut impl FnMut(&Setup) -> Result<Run, Box<Failure>>) -> bool {
        if self.runs >= RUNS_MAX {
            return false;
        }
        self.runs += 1;
        match run(&setup) {
            Err(failure) if failure.violation.invariant == self.best.violation.invariant => {
                self.best = failure;
                true
            }
            _ => false,
        }
    }

    fn fewer_troubles(&mut self, run: &mut impl FnMut(&Setup) -> Result<Run, Box<Failure>>) {
        for trouble in self.best.setup.troubles() {
            let mut setup = self.best.setup.clone();
            setup.without.insert(trouble);
            self.fails(setup, run);
        }
    }

    fn fewer_sagas(&mut self, run: &mut impl FnMut(&Setup) -> Result<Run, Box<Failure>>) {
        let mut less = self.best.setup.sagas / 2;
        while less > 0 {
            let sagas = self.best.setup.sagas.saturating_sub(less).max(1);
            if sagas == self.best.setup.sagas || !self.fails(Setup { sagas, ..self.best.setup.clone() }, run)
            {
                less /= 2;
            }
        }
    }

    fn earlier_end(&mut self, run: &mut impl FnMut(&Setup) -> Result<Run, Box<Failure>>) {
        let mut less = self.best.setup.length() / 2;
        while less > STEP_MIN {
            let stop_at = Some(self.best.setup.length().saturating_sub(less));
            if !self.fails(Setup { stop_at, ..self.best.setup.clone() }, run) {
                less /= 2;
            }
        }
    }
}
