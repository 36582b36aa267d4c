//! What may not change under one version: the declared shape, not policy numbers, bodies or the build.

use std::fmt;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::{Input, SagaPlan, Source, StepPlan};

/// SHA-256 of a plan's declared shape: names, kinds, edges, settlement declarations, policy *names* and
/// payload schema tags.
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

/// The shape as text, one line per step: also what a plan snapshot test compares.
pub fn shape(plan: &SagaPlan) -> String {
    let mut text = format!("workflow {} version {}\n", plan.workflow, plan.version);
    let source = |s: &Source| match s {
        Source::SagaInput => "input".to_owned(),
        Source::Step(ix) => plan.step(*ix).name.to_string(),
    };
    let _ = writeln!(text, "input {}", plan.input_schema);
    for (ix, step) in plan.indices().zip(&plan.steps) {
        line(&mut text, step, &source);
        let waits: Vec<&str> = plan.graph.parents(ix).iter().map(|p| &*plan.step(*p).name).collect();
        let _ = writeln!(text, "  waits for [{}]", waits.join(", "));
    }
    let _ = writeln!(text, "result {}", source(&plan.result));
    text
}

fn line(text: &mut String, step: &StepPlan, source: &dyn Fn(&Source) -> String) {
    let (how, sources) = match &step.input {
        Input::Recorded(sources) => ("recorded", sources),
        Input::Shaped(sources) => ("shaped", sources),
    };
    let sources: Vec<String> = sources.iter().map(source).collect();
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
    let _ = writeln!(text, "  input {how} [{}]", sources.join(", "));
    let (retry, query, compensation) = (&step.retry.name, &step.query.name, &step.compensation.name);
    let _ = writeln!(text, "  policies retry={retry} query={query} compensation={compensation}");
}
