//! Which runs a law consists of.

use std::sync::Arc;

use amends::SagaView;
use amends_core::SagaPlan;
use amends_core::plan::{Settle, StepKind, StepPlan};

use crate::faults::{Call, Fault, FaultKind};
use crate::world::{Side, World};

/// The laws, by the names of the methods that ask for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Law {
    EveryStepFails,
    EveryStepRepeats,
    EveryOutcomeIsLost,
    EveryCompensationRepeats,
    CrashAtEveryCommit,
}

impl Law {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::EveryStepFails => "every_step_fails",
            Self::EveryStepRepeats => "every_step_repeats",
            Self::EveryOutcomeIsLost => "every_outcome_is_lost",
            Self::EveryCompensationRepeats => "every_compensation_repeats",
            Self::CrashAtEveryCommit => "crash_at_every_commit",
        }
    }
}

/// One run.
#[derive(Clone, Debug, Default)]
pub(super) struct Case {
    /// Whose; none for the runs that others are derived from.
    pub(super) law: Option<Law>,
    /// The fault of the law first: a call meets the first that fits.
    pub(super) faults: Vec<Fault>,
    pub(super) crash: Option<(u64, Side)>,
    pub(super) cancel_at: Option<u64>,
    /// When it has settled, persons resume what stands on the quarantine desk, and the world is well.
    pub(super) resumed: bool,
}

impl Case {
    pub(super) fn is_undisturbed(&self) -> bool {
        self.faults.is_empty() && self.crash.is_none() && self.cancel_at.is_none()
    }

    /// What goes wrong, for people.
    pub(super) fn told(&self) -> String {
        let mut told: Vec<String> = Vec::new();
        told.extend(self.crash.map(|(commit, side)| match side {
            Side::Before => format!("the process dies before commit {commit} is durable"),
            Side::After => format!("the process dies after commit {commit}, before it sees the answer"),
        }));
        told.extend(self.faults.iter().map(ToString::to_string));
        told.extend(self.cancel_at.map(|commit| format!("the saga is cancelled at commit {commit}")));
        if told.is_empty() { "nothing goes wrong".to_owned() } else { told.join("; ") }
    }

    /// Who answers for it, in a report.
    pub(super) fn title(&self) -> &'static str {
        match self.law {
            Some(law) => law.name(),
            None if self.is_undisturbed() => "the scenario itself",
            None => "the turn that other laws begin with",
        }
    }

    fn with(&self, law: Law, faults: impl IntoIterator<Item = Fault>) -> Self {
        let faults = faults.into_iter().chain(self.faults.iter().cloned()).collect();
        Self { law: Some(law), faults, ..self.clone() }
    }
}

/// A run without a law's fault: undisturbed, or turned back by a refusal or a cancel; and what was seen of it.
#[derive(Clone, Debug)]
pub(super) struct Base {
    case: Case,
    commits: u64,
    /// Every step of every registered definition with the calls that were made, by all sagas together.
    steps: Vec<Seen>,
    /// Participants wrote what they did, or there was nothing to write.
    observable: bool,
}

#[derive(Clone, Debug)]
struct Seen {
    plan: Arc<SagaPlan>,
    at: usize,
    forward: bool,
    compensation: bool,
}

impl Seen {
    fn step(&self) -> &StepPlan {
        &self.plan.steps[self.at]
    }

    fn name(&self) -> String {
        self.step().name.to_string()
    }

    fn has_effect(&self) -> bool {
        self.step().kind != StepKind::Read
    }

    /// Can a refusal of this step turn the saga back?
    fn may_refuse(&self) -> bool {
        self.step().kind != StepKind::Retriable && self.step().schemas.refusal != NEVER && !self.after_pivot()
    }

    /// Is it a read after the pivot?
    fn after_pivot(&self) -> bool {
        self.plan.pivot.is_some_and(|pivot| self.at > pivot.0)
    }
}

/// The schema tag of a refusal that cannot be.
const NEVER: &str = "never";

impl Base {
    pub(super) fn observe(case: &Case, world: &World) -> Self {
        let mut steps = Vec::new();
        for plan in world.plans() {
            for (at, step) in plan.steps.iter().enumerate() {
                let made = |call| world.faults().made(&step.name, call) > 0;
                let (forward, compensation) = (made(Call::Forward), made(Call::Compensation));
                steps.push(Seen { plan: plan.clone(), at, forward, compensation });
            }
        }
        let written = world.ledgers().iter().any(|ledger| !ledger.entries().is_empty());
        let takes_effect = |view: &SagaView| view.plan().steps.iter().any(|step| step.kind != StepKind::Read);
        let observable = written || !world.views().iter().any(takes_effect);
        Self { case: case.clone(), commits: world.commits(), steps, observable }
    }

    /// A fault that takes effect at this step contradicts a base whose fault refuses it without asking.
    fn refuses(&self, step: &str) -> bool {
        self.case.faults.iter().any(|fault| fault.step == step && fault.kind == FaultKind::Refused)
    }

    fn forward(&self) -> impl Iterator<Item = &Seen> {
        self.steps.iter().filter(|seen| seen.forward)
    }

    fn compensations(&self) -> impl Iterator<Item = &Seen> {
        self.steps.iter().filter(|seen| seen.compensation)
    }
}

/// The runs that the laws start from: the undisturbed one, and one turned back by each step that can refuse.
/// A workflow in which nothing can refuse is cancelled instead, at every commit in turn.
pub(super) fn bases(run: &mut impl FnMut(&Case) -> Base) -> Vec<Base> {
    let undisturbed = run(&Case::default());
    let refusing = undisturbed.forward().filter(|seen| seen.may_refuse());
    let mut turned: Vec<Case> = refusing
        .map(|seen| Case {
            faults: vec![Fault::every(seen.name(), Call::Forward, FaultKind::Refused)],
            ..Case::default()
        })
        .collect();
    if turned.is_empty() {
        let at_each = 1..=undisturbed.commits;
        turned.extend(at_each.map(|commit| Case { cancel_at: Some(commit), ..Case::default() }));
    }
    let turned: Vec<Base> = turned.iter().map(run).collect();
    std::iter::once(undisturbed).chain(turned).collect()
}

/// Did nothing that the participants wrote show the effects of the undisturbed run?
pub(super) fn nothing_seen(bases: &[Base]) -> bool {
    bases.iter().any(|base| base.case.is_undisturbed() && !base.observable)
}

/// The runs of a law that start from `base`.
pub(super) fn of(law: Law, base: &Base) -> Vec<Case> {
    match law {
        Law::EveryStepFails if base.case.is_undisturbed() => {
            base.forward().flat_map(|seen| fails(base, seen)).collect()
        }
        Law::EveryStepFails => base.compensations().flat_map(|seen| undo_fails(base, seen)).collect(),
        Law::EveryStepRepeats if base.case.is_undisturbed() => base
            .forward()
            .filter(|seen| seen.has_effect())
            .map(|seen| base.case.with(law, [first(seen, Call::Forward, FaultKind::Repeated)]))
            .collect(),
        Law::EveryStepRepeats => Vec::new(),
        Law::EveryOutcomeIsLost => {
            let forward = base.forward().flat_map(|seen| lost(base, seen, Call::Forward));
            let undo = base.compensations().flat_map(|seen| lost(base, seen, Call::Compensation));
            forward.chain(undo).collect()
        }
        Law::EveryCompensationRepeats => base
            .compensations()
            .map(|seen| base.case.with(law, [first(seen, Call::Compensation, FaultKind::Repeated)]))
            .collect(),
        Law::CrashAtEveryCommit => (1..=base.commits)
            .flat_map(|commit| [(commit, Side::Before), (commit, Side::After)])
            .map(|crash| Case { law: Some(law), crash: Some(crash), ..base.case.clone() })
            .collect(),
    }
}

fn first(seen: &Seen, call: Call, kind: FaultKind) -> Fault {
    Fault::first(seen.name(), call, kind)
}

fn fails(base: &Base, seen: &Seen) -> Vec<Case> {
    let law = Law::EveryStepFails;
    let forward = |kind| first(seen, Call::Forward, kind);
    let spent = Fault::every(seen.name(), Call::Forward, FaultKind::Transient);
    let resumed = |fault| Case { resumed: true, ..base.case.with(law, [fault]) };
    let mut cases = vec![
        resumed(forward(FaultKind::Persistent)),
        base.case.with(law, [forward(FaultKind::Transient)]),
        resumed(spent),
        base.case.with(law, [forward(FaultKind::RequestLost)]),
    ];
    if seen.may_refuse() {
        cases.push(base.case.with(law, [Fault::every(seen.name(), Call::Forward, FaultKind::Refused)]));
    }
    cases
}

/// A failed compensation holds back its ancestors until a person resumes it.
fn undo_fails(base: &Base, seen: &Seen) -> [Case; 2] {
    let failing = |kind| base.case.with(Law::EveryStepFails, [first(seen, Call::Compensation, kind)]);
    [Case { resumed: true, ..failing(FaultKind::Persistent) }, failing(FaultKind::Transient)]
}

fn lost(base: &Base, seen: &Seen, call: Call) -> Vec<Case> {
    let law = Law::EveryOutcomeIsLost;
    let step = seen.step();
    let (settle, query) = match call {
        Call::Forward | Call::Query => (step.settle, Call::Query),
        Call::Compensation | Call::CompensationQuery => {
            (step.undo.map_or(Settle::ByOperator, |undo| undo.settle), Call::CompensationQuery)
        }
    };
    let mut cases = Vec::new();
    for loss in [FaultKind::ReplyLost, FaultKind::RequestLost] {
        if call == Call::Forward && loss == FaultKind::ReplyLost && base.refuses(&step.name) {
            continue;
        }
        cases.push(base.case.with(law, [first(seen, call, loss)]));
        if settle == Settle::ByQuery {
            for kind in [FaultKind::QueryFails, FaultKind::QueryLags] {
                cases.push(base.case.with(law, [first(seen, call, loss), first(seen, query, kind)]));
            }
        }
        if settle == Settle::ByRepeating {
            cases.push(base.case.with(law, [Fault::every(seen.name(), call, loss)]));
        }
    }
    cases
}
