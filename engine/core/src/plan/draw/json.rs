//! A plan as JSON, for other tools.

use std::time::Duration;

use serde::Serialize;

use crate::id::{BranchIx, StepIx};
use crate::plan::{InDoubt, Input, SagaPlan, StepPlan};

/// The plan as JSON, indented, with its keys in a fixed order.
///
/// Policies stand by name: their numbers are not part of a workflow's shape and change without a new version.
/// Durations are whole milliseconds.
///
/// # Panics
/// Never: a plan holds nothing that JSON cannot say.
pub fn json(plan: &SagaPlan) -> String {
    let view = PlanView {
        workflow: &plan.workflow,
        version: plan.version,
        digest: plan.digest.to_string(),
        input: &plan.input_schema,
        result: plan.source_name(plan.result),
        pivot: plan.pivot.map(|ix| &*plan.step(ix).name),
        deadline_ms: plan.deadline.map(millis),
        steps: plan.steps.iter().enumerate().map(|(ix, step)| StepView::of(plan, ix, step)).collect(),
        branches: plan.branch_indices().map(|ix| BranchView::of(plan, ix)).collect(),
    };
    serde_json::to_string_pretty(&view).expect("strings, numbers and lists are always JSON")
}

#[derive(Serialize)]
struct PlanView<'a> {
    workflow: &'a str,
    version: u32,
    digest: String,
    input: &'a str,
    result: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pivot: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_ms: Option<u64>,
    steps: Vec<StepView<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    branches: Vec<BranchView<'a>>,
}

#[derive(Serialize)]
struct BranchView<'a> {
    name: &'a str,
    /// `when`: it gives its value or nothing; `either`: it gives the value of the side taken.
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<WithinView<'a>>,
    condition: InputView<'a>,
    waits_for: Vec<&'a str>,
    taken: SideView<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    otherwise: Option<SideView<'a>>,
    schema: &'a str,
}

#[derive(Serialize)]
struct WithinView<'a> {
    branch: &'a str,
    taken: bool,
}

#[derive(Serialize)]
struct SideView<'a> {
    steps: Vec<&'a str>,
    gives: &'a str,
}

#[derive(Serialize)]
struct StepView<'a> {
    name: &'a str,
    kind: &'static str,
    input: InputView<'a>,
    waits_for: Vec<&'a str>,
    settle: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    compensation: Option<UndoView<'a>>,
    policies: PoliciesView<'a>,
    schemas: SchemasView<'a>,
    contract: ContractView<'a>,
}

#[derive(Serialize)]
struct InputView<'a> {
    /// Does a function of the author shape it from the sources?
    shaped: bool,
    sources: Vec<&'a str>,
}

#[derive(Serialize)]
struct UndoView<'a> {
    settle: &'static str,
    in_doubt: &'static str,
    policy: &'a str,
}

#[derive(Serialize)]
struct PoliciesView<'a> {
    retry: &'a str,
    query: &'a str,
}

#[derive(Serialize)]
struct SchemasView<'a> {
    input: &'a str,
    output: &'a str,
    refusal: &'a str,
}

#[derive(Serialize)]
struct ContractView<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    settle_window_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_retention_ms: Option<u64>,
    keeps_answers: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    dependency: Option<&'a str>,
}

impl<'a> BranchView<'a> {
    fn of(plan: &'a SagaPlan, ix: BranchIx) -> Self {
        let branch = plan.branch(ix);
        let names = |steps: &[StepIx]| steps.iter().map(|&step| &*plan.step(step).name).collect();
        let side = |taken| {
            let gives = branch.gives.of(taken)?;
            Some(SideView { steps: names(branch.side(taken)), gives: plan.source_name(gives) })
        };
        Self {
            name: &branch.name,
            kind: branch.gives.word(),
            within: branch
                .within
                .map(|side| WithinView { branch: &plan.branch(side.branch).name, taken: side.taken }),
            condition: InputView::of(plan, &branch.condition),
            waits_for: names(plan.graph.decision_parents(ix)),
            taken: side(true).expect("the first side of a branch always gives something"),
            otherwise: side(false),
            schema: &branch.schema,
        }
    }
}

impl<'a> InputView<'a> {
    fn of(plan: &'a SagaPlan, input: &'a Input) -> Self {
        Self {
            shaped: matches!(input, Input::Shaped(_)),
            sources: input.sources().iter().map(|&of| plan.source_name(of)).collect(),
        }
    }
}

impl<'a> StepView<'a> {
    fn of(plan: &'a SagaPlan, ix: usize, step: &'a StepPlan) -> Self {
        let parents = plan.graph.parents(StepIx(ix));
        Self {
            name: &step.name,
            kind: step.kind.word(),
            input: InputView::of(plan, &step.input),
            waits_for: parents.iter().map(|&parent| &*plan.step(parent).name).collect(),
            settle: step.settle.word(),
            compensation: step.undo.map(|undo| UndoView {
                settle: undo.settle.word(),
                in_doubt: match undo.in_doubt {
                    InDoubt::Wait => "wait",
                    InDoubt::Fence => "fence",
                },
                policy: &step.compensation.name,
            }),
            policies: PoliciesView { retry: &step.retry.name, query: &step.query.name },
            schemas: SchemasView {
                input: &step.schemas.input,
                output: &step.schemas.output,
                refusal: &step.schemas.refusal,
            },
            contract: ContractView {
                settle_window_ms: step.contract.settle_window.map(millis),
                key_retention_ms: step.contract.key_retention.map(millis),
                keeps_answers: step.contract.keeps_answers,
                dependency: step.contract.dependency.as_deref(),
            },
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
