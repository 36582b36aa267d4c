//! Branches: parts of a plan that a saga may not take.
//!
//! A branch has a condition, decided once from recorded values, and one or two sides. The steps of the side not
//! taken are skipped. What a branch gives can be used outside of it; what is made inside of it cannot.

use std::collections::HashSet;
use std::sync::Arc;

use super::graph::good_name;
use super::{Input, PlanError, SagaPlan, Source, StepKind, StepPlan};
use crate::id::{BranchIx, StepIx};

/// One branch of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchPlan {
    /// Unique among the plan's branches and steps; the journal speaks of it.
    pub name: Arc<str>,
    /// The side of another branch that it stands in. That branch is declared before this one.
    pub within: Option<Side>,
    /// Where the condition's value comes from.
    pub condition: Input,
    /// The steps that the decision waits for without needing their output.
    pub after: Vec<StepIx>,
    /// The steps of the side that is taken when the condition holds, without those of branches inside it.
    pub taken: Vec<StepIx>,
    /// The steps of the other side, without those of branches inside it.
    pub otherwise: Vec<StepIx>,
    /// What it gives to the steps outside.
    pub gives: Merge,
    /// The schema tag of what it gives.
    pub schema: String,
}

/// One side of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Side {
    /// Of which branch.
    pub branch: BranchIx,
    /// The side taken when the condition holds, or the other one.
    pub taken: bool,
}

/// What a branch gives: one side may be missing, or each has its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// The value if the side is taken, nothing otherwise. There is no other side.
    When(Source),
    /// The value of the side that is taken.
    Either {
        /// If the condition holds.
        taken: Source,
        /// If it does not.
        otherwise: Source,
    },
}

impl Merge {
    /// The source on one side; none where that side gives nothing.
    pub fn of(self, taken: bool) -> Option<Source> {
        match (self, taken) {
            (Self::When(source), true)
            | (Self::Either { taken: source, .. }, true)
            | (Self::Either { otherwise: source, .. }, false) => Some(source),
            (Self::When(_), false) => None,
        }
    }

    /// The word used in digests and pictures.
    pub fn word(self) -> &'static str {
        match self {
            Self::When(_) => "when",
            Self::Either { .. } => "either",
        }
    }

    fn sources(self) -> impl Iterator<Item = (bool, Source)> {
        [true, false].into_iter().filter_map(move |taken| Some((taken, self.of(taken)?)))
    }
}

impl BranchPlan {
    /// The steps that stand directly on one side.
    pub fn side(&self, taken: bool) -> &[StepIx] {
        if taken { &self.taken } else { &self.otherwise }
    }
}

impl SagaPlan {
    /// The branch at `ix`.
    ///
    /// # Panics
    /// When `ix` is of another plan.
    pub fn branch(&self, ix: BranchIx) -> &BranchPlan {
        &self.branches[ix.0]
    }

    /// The position of the branch named `name`.
    pub fn find_branch(&self, name: &str) -> Option<BranchIx> {
        self.branches.iter().position(|branch| *branch.name == *name).map(BranchIx)
    }

    /// All branches, in the order of declaration: each after the one that it stands in.
    pub fn branch_indices(&self) -> impl DoubleEndedIterator<Item = BranchIx> + ExactSizeIterator + use<> {
        (0..self.branches.len()).map(BranchIx)
    }

    /// The sides that `step` stands in, from the innermost to the outermost.
    pub fn sides_around(&self, step: StepIx) -> impl Iterator<Item = Side> + '_ {
        around(&self.branches, self.graph.place(step))
    }

    /// The side that `branch` stands in, and those around it.
    pub fn sides_around_branch(&self, branch: BranchIx) -> impl Iterator<Item = Side> + '_ {
        around(&self.branches, self.branch(branch).within)
    }

    /// Every step of one side, with those of the branches inside it, in the order of declaration.
    pub fn steps_of(&self, side: Side) -> impl Iterator<Item = StepIx> + '_ {
        self.indices().filter(move |step| self.sides_around(*step).any(|around| around == side))
    }

    /// Every step of both sides of a branch, with those of the branches inside it.
    pub fn steps_within(&self, branch: BranchIx) -> impl Iterator<Item = StepIx> + '_ {
        self.indices().filter(move |step| self.sides_around(*step).any(|around| around.branch == branch))
    }

    /// The steps whose outputs `source` may stand for, whichever sides are taken.
    pub fn outputs_of(&self, source: Source) -> Vec<StepIx> {
        let mut steps = Vec::new();
        let mut open = vec![source];
        while let Some(source) = open.pop() {
            match source {
                Source::SagaInput => {}
                Source::Step(step) => steps.push(step),
                Source::Branch(branch) => {
                    open.extend(self.branch(branch).gives.sources().map(|(_, source)| source));
                }
            }
        }
        steps
    }

    /// Does anything read the output of `step`: another step, a condition, or the saga's result?
    pub fn needs_output(&self, step: StepIx) -> bool {
        let inputs = self.steps.iter().flat_map(|other| other.input.sources());
        let conditions = self.branches.iter().flat_map(|branch| branch.condition.sources());
        let mut all = inputs.chain(conditions).chain(std::iter::once(&self.result));
        all.any(|source| self.outputs_of(*source).contains(&step))
    }
}

fn around(branches: &[BranchPlan], place: Option<Side>) -> impl Iterator<Item = Side> + '_ {
    std::iter::successors(place, |side| branches[side.branch.0].within)
}

/// The innermost side that each step stands in.
pub(super) fn places(steps: usize, branches: &[BranchPlan]) -> Vec<Option<Side>> {
    let mut places = vec![None; steps];
    for (at, branch) in branches.iter().enumerate() {
        for taken in [true, false] {
            for step in branch.side(taken) {
                places[step.0] = Some(Side { branch: BranchIx(at), taken });
            }
        }
    }
    places
}

/// What each branch makes others wait for.
pub(super) struct Edges<'a> {
    branches: &'a [BranchPlan],
    pivot: Option<usize>,
    /// The steps that the decision waits for.
    pub(super) decisions: Vec<Vec<StepIx>>,
    /// The steps that a user of the value waits for: those of the decision, and those that make the value.
    values: Vec<Vec<StepIx>>,
}

impl<'a> Edges<'a> {
    /// Follows every branch to the steps behind it.
    ///
    /// # Errors
    /// The branches that wait for themselves.
    pub(super) fn of(steps: &[StepPlan], branches: &'a [BranchPlan]) -> Result<Self, Vec<PlanError>> {
        let pivot = steps.iter().position(|step| step.kind == StepKind::Pivot);
        let none = || vec![Vec::new(); branches.len()];
        let mut edges = Self { branches, pivot, decisions: none(), values: none() };
        let mut waiting: Vec<Wanted> =
            (0..branches.len()).flat_map(|at| [Wanted::Decision(at), Wanted::Value(at)]).collect();
        let mut known = HashSet::new();
        // Each round settles those whose own needs are settled; a round that settles none has found a cycle.
        while !waiting.is_empty() {
            let before = waiting.len();
            waiting.retain(|wanted| {
                let ready = edges.needs(*wanted).iter().all(|need| known.contains(need));
                if ready {
                    edges.settle(*wanted);
                    known.insert(*wanted);
                }
                !ready
            });
            if waiting.len() == before {
                let mut names: Vec<String> =
                    waiting.iter().map(|wanted| branches[wanted.at()].name.to_string()).collect();
                names.dedup();
                return Err(names.into_iter().map(PlanError::Cycle).collect());
            }
        }
        Ok(edges)
    }

    /// The steps that a user of `source` waits for.
    pub(super) fn behind(&self, source: Source) -> Vec<StepIx> {
        match source {
            Source::SagaInput => Vec::new(),
            Source::Step(step) => vec![step],
            Source::Branch(branch) => self.values[branch.0].clone(),
        }
    }

    fn needs(&self, wanted: Wanted) -> Vec<Wanted> {
        let value = |source: &Source| match source {
            Source::Branch(branch) => Some(Wanted::Value(branch.0)),
            Source::SagaInput | Source::Step(_) => None,
        };
        let branch = &self.branches[wanted.at()];
        match wanted {
            Wanted::Decision(_) => {
                let outer = branch.within.map(|side| Wanted::Decision(side.branch.0));
                branch.condition.sources().iter().filter_map(value).chain(outer).collect()
            }
            Wanted::Value(at) => {
                let made = branch.gives.sources().filter_map(|(_, source)| value(&source));
                made.chain(std::iter::once(Wanted::Decision(at))).collect()
            }
        }
    }

    fn settle(&mut self, wanted: Wanted) {
        let branch = &self.branches[wanted.at()];
        let mut steps: Vec<StepIx> = match wanted {
            Wanted::Decision(_) => {
                let given = branch.condition.sources().iter().flat_map(|source| self.behind(*source));
                let outer = branch.within.map(|side| self.decisions[side.branch.0].clone());
                let inside = branch.taken.iter().chain(&branch.otherwise);
                let past = self.pivot.filter(|pivot| inside.clone().any(|step| step.0 > *pivot));
                let waits = branch.after.iter().copied().chain(past.map(StepIx));
                given.chain(outer.into_iter().flatten()).chain(waits).collect()
            }
            Wanted::Value(at) => {
                let made = branch.gives.sources().flat_map(|(_, source)| self.behind(source));
                made.chain(self.decisions[at].iter().copied()).collect()
            }
        };
        steps.sort_unstable();
        steps.dedup();
        match wanted {
            Wanted::Decision(at) => self.decisions[at] = steps,
            Wanted::Value(at) => self.values[at] = steps,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Wanted {
    Decision(usize),
    Value(usize),
}

impl Wanted {
    fn at(self) -> usize {
        match self {
            Self::Decision(at) | Self::Value(at) => at,
        }
    }
}

/// What is wrong with the branches, and with what uses them.
pub(super) fn check(steps: &[StepPlan], branches: &[BranchPlan], result: Source) -> Vec<PlanError> {
    let mut errors = Vec::new();
    let mut names: HashSet<&str> = steps.iter().map(|step| &*step.name).collect();
    for branch in branches {
        if !good_name(&branch.name) {
            errors.push(PlanError::BadBranchName(branch.name.to_string()));
        }
        if !names.insert(&branch.name) {
            errors.push(PlanError::DuplicateBranch(branch.name.to_string()));
        }
    }
    let broken = check_places(steps, branches);
    if broken.is_empty() {
        errors.extend(check_insides(steps, branches));
        errors.extend(check_leaks(steps, branches, result));
    }
    errors.extend(broken);
    errors
}

/// Every position is one of this plan, and every step stands in one place.
fn check_places(steps: &[StepPlan], branches: &[BranchPlan]) -> Vec<PlanError> {
    let mut errors = Vec::new();
    let mut placed = HashSet::new();
    for (at, branch) in branches.iter().enumerate() {
        let broken = |why| PlanError::BrokenBranch { branch: branch.name.to_string(), why };
        let inside = || branch.taken.iter().chain(&branch.otherwise);
        if inside().chain(&branch.after).any(|step| step.0 >= steps.len()) {
            errors.push(broken("names a step that is not declared"));
        }
        if inside().any(|step| !placed.insert(*step)) {
            errors.push(broken("holds a step that stands in another place too"));
        }
        if branch.within.is_some_and(|side| side.branch.0 >= at) {
            errors.push(broken("stands in a branch that is not declared before it"));
        }
        let of = branch.condition.sources().iter().copied().chain(branch.gives.sources().map(|(_, of)| of));
        if of.into_iter().any(|source| !known(source, steps, branches)) {
            errors.push(broken("uses what is not declared"));
        }
    }
    errors
}

fn known(source: Source, steps: &[StepPlan], branches: &[BranchPlan]) -> bool {
    match source {
        Source::SagaInput => true,
        Source::Step(step) => step.0 < steps.len(),
        Source::Branch(branch) => branch.0 < branches.len(),
    }
}

/// Sides have steps, and none of them is the pivot.
fn check_insides(steps: &[StepPlan], branches: &[BranchPlan]) -> Vec<PlanError> {
    let mut errors = Vec::new();
    let pivot = steps.iter().position(|step| step.kind == StepKind::Pivot);
    for (at, branch) in branches.iter().enumerate() {
        let name = || branch.name.to_string();
        let filled = |taken| {
            let side = Some(Side { branch: BranchIx(at), taken });
            !branch.side(taken).is_empty() || branches.iter().any(|inner| inner.within == side)
        };
        match branch.gives {
            Merge::When(_) if filled(false) => {
                let why = "gives nothing on a side that has steps";
                errors.push(PlanError::BrokenBranch { branch: name(), why });
            }
            Merge::When(_) if !filled(true) => {
                errors.push(PlanError::EmptySide { branch: name(), side: "no step at all" });
            }
            Merge::When(_) => {}
            Merge::Either { .. } => {
                let sides = [(true, "no step on its first side"), (false, "no step on its second side")];
                let empty = sides.into_iter().filter(|(taken, _)| !filled(*taken));
                errors.extend(empty.map(|(_, side)| PlanError::EmptySide { branch: name(), side }));
            }
        }
        let inside = || branch.taken.iter().chain(&branch.otherwise);
        for step in inside().filter(|step| Some(step.0) == pivot) {
            errors.push(PlanError::PivotInBranch { step: steps[step.0].name.to_string(), branch: name() });
        }
        let [before, past] = [true, false]
            .map(|before| inside().any(|step| pivot.is_some_and(|pivot| (step.0 < pivot) == before)));
        if before && past && !inside().any(|step| Some(step.0) == pivot) {
            let why = "has steps before the pivot and behind it";
            errors.push(PlanError::BrokenBranch { branch: name(), why });
        }
    }
    errors
}

/// What is made inside a branch is used inside it only.
fn check_leaks(steps: &[StepPlan], branches: &[BranchPlan], result: Source) -> Vec<PlanError> {
    let places = places(steps.len(), branches);
    let mut errors = Vec::new();
    let mut check = |user: String, at: Option<Side>, sources: &[Source]| {
        for source in sources {
            if let Some((of, branch)) = leak(steps, branches, &places, at, *source) {
                errors.push(PlanError::Leak { user: user.clone(), of, branch });
            }
        }
    };
    for (step, place) in steps.iter().zip(&places) {
        check(format!("`{}`", step.name), *place, step.input.sources());
    }
    for (at, branch) in branches.iter().enumerate() {
        let condition = format!("the condition of branch `{}`", branch.name);
        check(condition, branch.within, branch.condition.sources());
        for (taken, source) in branch.gives.sources() {
            let side = Side { branch: BranchIx(at), taken };
            check(format!("the value of branch `{}`", branch.name), Some(side), &[source]);
        }
    }
    check("the result".to_owned(), None, &[result]);
    errors
}

/// The name of `source` and of the branch it is locked in, if it cannot be used at `at`.
fn leak(
    steps: &[StepPlan],
    branches: &[BranchPlan],
    places: &[Option<Side>],
    at: Option<Side>,
    source: Source,
) -> Option<(String, String)> {
    if !known(source, steps, branches) {
        return None; // That is another mistake, and named as such.
    }
    let around: Vec<Side> = around(branches, at).collect();
    let (name, made, itself) = match source {
        Source::SagaInput => return None,
        Source::Step(step) => (&steps[step.0].name, places[step.0], None),
        Source::Branch(branch) => (&branches[branch.0].name, branches[branch.0].within, Some(branch)),
    };
    let locked = match (made, itself) {
        (_, Some(branch)) if around.iter().any(|side| side.branch == branch) => branch,
        (Some(side), _) if !around.contains(&side) => side.branch,
        _ => return None,
    };
    Some((name.to_string(), branches[locked.0].name.to_string()))
}
