//! The laws: one line that proves a saga survives every failure, every lost answer, every repeat, and a crash
//! at every commit.
//!
//! Each law runs the author's scenario from its beginning, many times, each time with one more thing going
//! wrong. Nothing is drawn by chance: a law tries *every* place where its fault can strike. The evidence is
//! the participants' [`Ledger`](crate::Ledger), not what the saga says of itself.

mod cases;
pub(crate) mod checks;
mod report;

use std::panic::{AssertUnwindSafe, catch_unwind};

use cases::{Base, Case, Law};
use report::{Violation, panic_text};

use crate::world::World;

/// A scenario to try: it builds participants and definition in the world it is given, and starts sagas.
///
/// It is run many times from its beginning, so it must do the same every time. What it returns is handed to
/// [`Exploration::check`]: usually the participants and the started sagas.
pub fn explore<S, F: Fn(&mut World) -> S>(scenario: F) -> Exploration<S, F> {
    Exploration {
        scenario,
        seed: World::SEED,
        laws: Vec::new(),
        blind: false,
        outcome: std::marker::PhantomData,
    }
}

const NOTHING_SEEN: &str = "\
there is nothing to prove with: the sagas have steps that take effect, and no participant wrote a ledger entry.
Give your participants a Ledger: use `Participant::new(&ledger, …)`, or call `Ledger::called` and \
`Ledger::took_effect` in your own. If they cannot be observed, say `.without_observable_participants()`.";

/// A scenario, and the laws it will be tried by. Nothing runs before [`Exploration::check`] or
/// [`Exploration::hold`].
#[must_use = "laws are tried by `check` or `hold`"]
pub struct Exploration<S, F> {
    scenario: F,
    seed: u64,
    laws: Vec<Law>,
    /// The author knows that no ledger will say anything.
    blind: bool,
    outcome: std::marker::PhantomData<fn() -> S>,
}

/// What the laws have tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Runs from the beginning.
    pub runs: usize,
    /// Runs whose fault met a call, or whose process died: the others prove nothing.
    pub struck: usize,
}

impl<S, F: Fn(&mut World) -> S> Exploration<S, F> {
    /// Runs with another seed than the fixed one.
    pub fn seeded(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Every forward action in turn fails: for good and is then resumed by a person, for a while, until its
    /// attempts are spent, by a refusal where the step can refuse, and by a request that never arrives. And
    /// every compensation: for a while, and for good until a person resumes it.
    pub fn every_step_fails(self) -> Self {
        self.law(Law::EveryStepFails)
    }

    /// Every forward action in turn arrives twice, whatever it declares: a network repeats too.
    pub fn every_step_repeats(self) -> Self {
        self.law(Law::EveryStepRepeats)
    }

    /// The outcome of every forward action and of every compensation in turn is lost, once with and once
    /// without effect. Where it is settled by query, that query also fails, and also does not know yet; where
    /// by repeating, the outcomes of all repeats are lost too.
    pub fn every_outcome_is_lost(self) -> Self {
        self.law(Law::EveryOutcomeIsLost)
    }

    /// Every compensation in turn arrives twice.
    pub fn every_compensation_repeats(self) -> Self {
        self.law(Law::EveryCompensationRepeats)
    }

    /// The process dies at every commit in turn, before it is durable and after; of the undisturbed run and
    /// of every run that turns back.
    pub fn crash_at_every_commit(self) -> Self {
        self.law(Law::CrashAtEveryCommit)
    }

    /// For workflows whose participants cannot be observed: tries the laws although no ledger is written.
    ///
    /// What then is checked is what the sagas say of themselves: that each has ended or stands on a desk, and
    /// that compensations began in reverse dependency order. That nothing took effect twice, and that what is
    /// recorded is what happened, is *not* checked, however green the test. Give participants a
    /// [`Ledger`](crate::Ledger) instead where you can.
    pub fn without_observable_participants(mut self) -> Self {
        self.blind = true;
        self
    }

    /// Tries the laws with the built-in checks alone.
    ///
    /// After every run each saga has ended or stands on a desk with a reason; no request id has taken effect
    /// twice; what is recorded of each action is what the ledger says of it; compensations went in reverse
    /// dependency order.
    ///
    /// # Panics
    /// When a law is broken: with the law, the fault, the seed and the shortest failing timeline. And when
    /// there is nothing to prove with: sagas whose steps take effect, and no ledger that was written.
    pub fn hold(self) -> Tried {
        self.check(|_, _| {})
    }

    /// Tries the laws with the built-in checks (see [`Exploration::hold`]) and the author's own, which looks
    /// at the world when every saga has settled and panics if something is wrong.
    ///
    /// # Panics
    /// When a law is broken: with the law, the fault, the seed and the shortest failing timeline. And when
    /// there is nothing to prove with: sagas whose steps take effect, and no ledger that was written.
    pub fn check(self, check: impl Fn(&World, &S)) -> Tried {
        let mut tried = Tried { runs: 0, struck: 0 };
        let mut violations = Vec::new();
        let mut run = |case: &Case| {
            let ran = self.run(case, &check);
            tried.runs += 1;
            tried.struck += usize::from(ran.struck);
            violations.extend(ran.violation);
            ran.observed
        };
        let bases = cases::bases(&mut run);
        for law in &self.laws {
            for case in bases.iter().flat_map(|base| cases::of(*law, base)) {
                run(&case);
            }
        }
        if let Some(report) = report::shortest(violations, self.seed) {
            panic!("{report}");
        }
        assert!(self.blind || !cases::nothing_seen(&bases), "{NOTHING_SEEN}");
        tried
    }

    fn law(mut self, law: Law) -> Self {
        self.laws.push(law);
        self
    }

    fn run(&self, case: &Case, check: &impl Fn(&World, &S)) -> Ran {
        let mut world = World::seeded(self.seed);
        for fault in &case.faults {
            world.inject(fault.clone());
        }
        if let Some((commit, side)) = case.crash {
            world.crash_at_commit(commit, side);
        }
        if let Some(commit) = case.cancel_at {
            world.cancel_at_commit(commit);
        }
        let scenario = (self.scenario)(&mut world);
        let wrong = settle_and_judge(&mut world, case).and_then(|()| {
            let judged = catch_unwind(AssertUnwindSafe(|| check(&world, &scenario)));
            judged.map_err(|panic| panic_text(&*panic))
        });
        let violation = wrong.err().map(|what| Violation::new(case, what, &world));
        let cancelled = case.cancel_at.is_some() && case.law.is_none();
        let struck = case.is_undisturbed() || cancelled || world.crashed() || world.faults().any_met();
        Ran { observed: Base::observe(case, &world), violation, struck }
    }
}

/// What one run gave.
struct Ran {
    observed: Base,
    violation: Option<Violation>,
    struck: bool,
}

/// Runs to the end and looks at every saga; then, if persons are part of the case, they resume what failed
/// for good, and it is looked at again.
fn settle_and_judge(world: &mut World, case: &Case) -> Result<(), String> {
    world.try_run_until_settled()?;
    checks::judge(world)?;
    if case.resumed {
        world.faults().heal();
        if world.resume_everything() {
            world.try_run_until_settled()?;
            checks::judge(world)?;
        }
    }
    Ok(())
}
