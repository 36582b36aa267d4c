//! What may not change under one version: the declared shape, not policy numbers, bodies or the build.

use std::fmt;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::{BranchPlan, Input, Merge, SagaPlan, Source, StepPlan};
use crate::id::StepIx;

/// SHA-256 of a plan's declared shape: names, kinds, edges, branch sides, settlement declarations, policy
/// *names* and payload schema tags.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PlanDigest(pub [u8; 32]);

impl PlanDigest {
    pub(super) fn of(plan: &SagaPlan) -> Self {
        Self(Sha256::digest(shape(plan).as_bytes()).into())
    }
}

impl fmt::Display for PlanDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PlanDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlanDigest({self})")
    }
}

/// The shape as text, one line per step and branch: also what a plan snapshot test compares.
pub fn shape(plan: &SagaPlan) -> String {
    let mut text = format!("workflow {} version {}\n", plan.workflow, plan.version);
    let source = |s: &Source| plan.source_name(*s).to_owned();
    let _ = writeln!(text, "input {}", plan.input_schema);
    for (ix, step) in plan.indices().zip(&plan.steps) {
        line(&mut text, step, &source);
        let _ = writeln!(text, "  waits for [{}]", names(plan, plan.graph.parents(ix)));
    }
    for (ix, branch) in plan.branch_indices().zip(&plan.branches) {
        branch_lines(&mut text, plan, branch, &source);
        let _ = writeln!(text, "  waits for [{}]", names(plan, plan.graph.decision_parents(ix)));
    }
    let _ = writeln!(text, "result {}", source(&plan.result));
    text
}

fn names(plan: &SagaPlan, steps: &[StepIx]) -> String {
    let names: Vec<&str> = steps.iter().map(|step| &*plan.step(*step).name).collect();
    names.join(", ")
}

fn branch_lines(text: &mut String, plan: &SagaPlan, branch: &BranchPlan, source: &dyn Fn(&Source) -> String) {
    let (how, sources) = recorded(&branch.condition, source);
    let _ = writeln!(text, "{} {}: {}", branch.gives.word(), branch.name, branch.schema);
    if let Some(side) = branch.within {
        let word = if side.taken { "taken" } else { "otherwise" };
        let _ = writeln!(text, "  within {} {word}", plan.branch(side.branch).name);
    }
    let _ = writeln!(text, "  condition {how} [{sources}]");
    match branch.gives {
        Merge::When(given) => {
            let _ = writeln!(text, "  taken [{}] gives {}", names(plan, &branch.taken), source(&given));
        }
        Merge::Either { taken, otherwise } => {
            for (word, steps, given) in
                [("taken", &branch.taken, taken), ("otherwise", &branch.otherwise, otherwise)]
            {
                let _ = writeln!(text, "  {word} [{}] gives {}", names(plan, steps), source(&given));
            }
        }
    }
}

fn recorded(input: &Input, source: &dyn Fn(&Source) -> String) -> (&'static str, String) {
    let (how, sources) = match input {
        Input::Recorded(sources) => ("recorded", sources),
        Input::Shaped(sources) => ("shaped", sources),
    };
    let sources: Vec<String> = sources.iter().map(source).collect();
    (how, sources.join(", "))
}

fn line(text: &mut String, step: &StepPlan, source: &dyn Fn(&Source) -> String) {
    let (how, sources) = recorded(&step.input, source);
    let _ = writeln!(
        text,
        "{} {}: {} -> {} | {}, settled {}",
        step.kind.word(),
        step.name,
        step.schemas.input,
        step.schemas.output,
        step.schemas.refusal,
        step.settle.word(),
    );
    if let Some(undo) = &step.undo {
        let _ = writeln!(text, "  compensation settled {}, in doubt {:?}", undo.settle.word(), undo.in_doubt);
    }
    let _ = writeln!(text, "  input {how} [{sources}]");
    let (retry, query, compensation) = (&step.retry.name, &step.query.name, &step.compensation.name);
    let _ = writeln!(text, "  policies retry={retry} query={query} compensation={compensation}");
}
