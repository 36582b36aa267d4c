//! Who waits for whom: the DAG with the pivot's barrier edges in it, and those of the branches' decisions.

use std::collections::HashSet;

use petgraph::graph::{DiGraph, NodeIndex};

use super::branch::{self, BranchPlan, Edges, Side};
use super::{Source, StepKind, StepPlan};
use crate::id::{BranchIx, StepIx};

/// Direct dependencies in both directions, and an order that respects them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    parents: Vec<Vec<StepIx>>,
    children: Vec<Vec<StepIx>>,
    order: Vec<StepIx>,
    decisions: Vec<Vec<StepIx>>,
    places: Vec<Option<Side>>,
}

/// What is wrong with a plan: the author's mistake, named.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A workflow must do something.
    #[error("the saga has no steps")]
    Empty,
    /// Journals and request ids speak of step names.
    #[error("two steps are named `{0}`")]
    DuplicateName(String),
    /// Names stand in `step/direction`, subjects and SQL views.
    #[error("`{0}` is not a step name: use 1 to 100 of a-z, A-Z, 0-9, `-`, `_` and `.`")]
    BadName(String),
    /// There is at most one point of no return.
    #[error("`{0}` is a second pivot")]
    SecondPivot(String),
    /// A step names a step that does not stand before it.
    #[error("`{0}` uses the output of a step that is not declared before it")]
    UnknownSource(String),
    /// The steps wait for each other.
    #[error("`{0}` waits for itself through other steps")]
    Cycle(String),
    /// An effect before the pivot must be undoable, a read and an effect after the pivot must not be undone.
    #[error("`{step}` is a {kind} and must {must}")]
    Compensation {
        /// The step.
        step: String,
        /// Its kind.
        kind: &'static str,
        /// What is asked of it.
        must: &'static str,
    },
    /// A compensated step after the pivot, or a retriable before it.
    #[error("`{step}` is a {kind} and must stand {place} the pivot")]
    Misplaced {
        /// The step.
        step: String,
        /// Its kind.
        kind: &'static str,
        /// Where it must stand.
        place: &'static str,
    },
    /// The journal speaks of branch names, and pictures show them beside those of steps.
    #[error("`{0}` names a branch, and another branch or a step too")]
    DuplicateBranch(String),
    /// Branch names follow the rule of step names.
    #[error("`{0}` is not a branch name: use 1 to 100 of a-z, A-Z, 0-9, `-`, `_` and `.`")]
    BadBranchName(String),
    /// A side without a step decides nothing.
    #[error("the branch `{branch}` has {side}")]
    EmptySide {
        /// The branch.
        branch: String,
        /// Which side has none.
        side: &'static str,
    },
    /// The point of no return cannot be optional.
    #[error(
        "the pivot `{step}` stands inside the branch `{branch}`: the point of no return cannot be skipped"
    )]
    PivotInBranch {
        /// The pivot.
        step: String,
        /// The branch.
        branch: String,
    },
    /// What is made inside a branch may never be made.
    #[error(
        "{user} uses `{of}`, which is made inside the branch `{branch}` and may never be: use what the branch \
         gives"
    )]
    Leak {
        /// Who uses it.
        user: String,
        /// What is used.
        of: String,
        /// Where it is made.
        branch: String,
    },
    /// The branch does not fit into this plan. The authoring API cannot write such a one.
    #[error("the branch `{branch}` {why}")]
    BrokenBranch {
        /// The branch.
        branch: String,
        /// What does not fit.
        why: &'static str,
    },
}

impl Graph {
    /// Computes the graph of `steps` and `branches`, whose order is the order of declaration.
    pub(super) fn new(
        steps: &[StepPlan],
        branches: &[BranchPlan],
        result: Source,
    ) -> Result<Self, Vec<PlanError>> {
        let mut errors = check_steps(steps, branches.len());
        errors.extend(branch::check(steps, branches, result));
        if !errors.is_empty() {
            return Err(errors);
        }
        let edges = Edges::of(steps, branches)?;
        let places = branch::places(steps.len(), branches);
        let parents = parents_of(steps, &edges, &places);
        let mut dag = DiGraph::<(), ()>::with_capacity(steps.len(), steps.len() * 2);
        let nodes: Vec<NodeIndex> = steps.iter().map(|_| dag.add_node(())).collect();
        for (child, its) in parents.iter().enumerate() {
            for parent in its {
                dag.add_edge(nodes[parent.0], nodes[child], ());
            }
        }
        let order = match petgraph::algo::toposort(&dag, None) {
            Ok(order) => order.into_iter().map(|n| StepIx(n.index())).collect(),
            Err(cycle) => {
                errors.push(PlanError::Cycle(steps[cycle.node_id().index()].name.to_string()));
                return Err(errors);
            }
        };
        let mut children = vec![Vec::new(); steps.len()];
        for (child, its) in parents.iter().enumerate() {
            for parent in its {
                children[parent.0].push(StepIx(child));
            }
        }
        Ok(Self { parents, children, order, decisions: edges.decisions, places })
    }

    /// The steps that `step` waits for directly.
    pub fn parents(&self, step: StepIx) -> &[StepIx] {
        &self.parents[step.0]
    }

    /// The steps that wait for `step` directly.
    pub fn children(&self, step: StepIx) -> &[StepIx] {
        &self.children[step.0]
    }

    /// The steps that the decision of `branch` waits for directly. The steps inside it wait for them too.
    pub fn decision_parents(&self, branch: BranchIx) -> &[StepIx] {
        &self.decisions[branch.0]
    }

    /// The innermost side of a branch that `step` stands in.
    pub fn place(&self, step: StepIx) -> Option<Side> {
        self.places[step.0]
    }

    /// All steps, each after everything it waits for.
    pub fn order(&self) -> &[StepIx] {
        &self.order
    }
}

/// Direct dependencies: data, `.after`, the decision of the branch it stands in, and the barrier of the pivot.
fn parents_of(steps: &[StepPlan], edges: &Edges<'_>, places: &[Option<Side>]) -> Vec<Vec<StepIx>> {
    let pivot = steps.iter().position(|s| s.kind == StepKind::Pivot);
    let mut all = Vec::with_capacity(steps.len());
    for (ix, step) in steps.iter().enumerate() {
        let data = step.input.sources().iter().flat_map(|source| edges.behind(*source));
        let decision = places[ix].into_iter().flat_map(|side| &edges.decisions[side.branch.0]);
        let mut its: Vec<StepIx> = data.chain(step.after.iter().chain(decision).copied()).collect();
        match pivot {
            Some(pivot) if ix == pivot => its.extend((0..ix).map(StepIx)),
            Some(pivot) if ix > pivot => its.push(StepIx(pivot)),
            _ => {}
        }
        its.sort_unstable();
        its.dedup();
        all.push(its);
    }
    all
}

fn check_steps(steps: &[StepPlan], branches: usize) -> Vec<PlanError> {
    let mut errors = Vec::new();
    if steps.is_empty() {
        errors.push(PlanError::Empty);
    }
    let mut names = HashSet::new();
    let mut pivot_seen = false;
    let has_pivot = steps.iter().any(|s| s.kind == StepKind::Pivot);
    for (ix, step) in steps.iter().enumerate() {
        let name = || step.name.to_string();
        if !good_name(&step.name) {
            errors.push(PlanError::BadName(name()));
        }
        if !names.insert(step.name.clone()) {
            errors.push(PlanError::DuplicateName(name()));
        }
        if step.kind == StepKind::Pivot {
            if pivot_seen {
                errors.push(PlanError::SecondPivot(name()));
            }
            pivot_seen = true;
        }
        let is_unknown = |source: &Source| match source {
            Source::SagaInput => false,
            Source::Step(of) => of.0 >= steps.len(),
            Source::Branch(of) => of.0 >= branches,
        };
        let mut sources = step.input.sources().iter();
        if sources.any(is_unknown) || step.after.iter().any(|of| of.0 >= steps.len()) {
            errors.push(PlanError::UnknownSource(name()));
        } else if step.after.contains(&StepIx(ix)) || step.input.sources().contains(&Source::Step(StepIx(ix)))
        {
            errors.push(PlanError::Cycle(name()));
        }
        errors.extend(check_kind(step, pivot_seen, has_pivot));
    }
    errors
}

fn check_kind(step: &StepPlan, pivot_seen: bool, has_pivot: bool) -> Option<PlanError> {
    let kind = step.kind.word();
    let compensation = |must| Some(PlanError::Compensation { step: step.name.to_string(), kind, must });
    let misplaced = |place| Some(PlanError::Misplaced { step: step.name.to_string(), kind, place });
    match step.kind {
        StepKind::Compensated if step.undo.is_none() => compensation("have a compensation"),
        StepKind::Read | StepKind::Pivot | StepKind::Retriable if step.undo.is_some() => {
            compensation("not have a compensation")
        }
        StepKind::Compensated if pivot_seen => misplaced("before"),
        StepKind::Retriable if !(pivot_seen && has_pivot) => misplaced("after"),
        StepKind::Read | StepKind::Compensated | StepKind::Pivot | StepKind::Retriable => None,
    }
}

pub(super) fn good_name(name: &str) -> bool {
    (1..=100).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}
