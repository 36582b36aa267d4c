//! Journals that are kept for the future: what today's engine writes, tomorrow's has to read.

use std::fmt::Write as _;

use amends::SagaView;
use amends_core::plan::{InDoubt, Input, Settle, Source, StepKind, StepPlan};
use amends_core::{SagaPlan, StepIx};

/// A saga's journal as the files of `engine/core/tests/journals` keep it: first the plan in the language of
/// that folder's tests, then one transition a line.
///
/// # Panics
/// When it cannot be written as JSON, which no journal of an engine can be.
pub fn kept_journal(view: &SagaView) -> String {
    let head = serde_json::json!({ "plan": plan_lines(view.plan()) });
    let mut text = format!("{head}\n");
    for transition in view.journal() {
        let line = serde_json::to_string(transition).expect("events have string keys only, so they encode");
        let _ = writeln!(text, "{line}");
    }
    text
}

/// What a replay needs of a plan: names, kinds, edges, settlements. Policies are numbers, and decided already.
fn plan_lines(plan: &SagaPlan) -> Vec<String> {
    let workflow = format!("workflow {} v{}", plan.workflow, plan.version);
    std::iter::once(workflow).chain(plan.steps.iter().map(|step| step_line(plan, step))).collect()
}

fn step_line(plan: &SagaPlan, step: &StepPlan) -> String {
    let source = |source: &Source| match source {
        Source::SagaInput => "input",
        Source::Step(ix) => &plan.step(*ix).name,
    };
    let sources: Vec<&str> = step.input.sources().iter().map(source).collect();
    let mut line = format!("{} {}({})", step.kind.word(), step.name, sources.join(","));
    let mut add = |word: &str| line = format!("{line} {word}");
    if step.kind != StepKind::Read {
        add(settle_word(step.settle));
    }
    if let Some(undo) = step.undo {
        add(&format!("undo-{}", settle_word(undo.settle)));
        if undo.in_doubt == InDoubt::Fence {
            add("fence");
        }
    }
    if step.contract.keeps_answers {
        add("keeps-answers");
    }
    if matches!(step.input, Input::Shaped(_)) {
        add("shaped");
    }
    if !step.after.is_empty() {
        let after: Vec<&str> = step.after.iter().map(|ix: &StepIx| &*plan.step(*ix).name).collect();
        add(&format!("after={}", after.join(",")));
    }
    line
}

fn settle_word(settle: Settle) -> &'static str {
    match settle {
        Settle::ByQuery => "by-query",
        Settle::ByRepeating => "by-repeating",
        Settle::ByOperator | Settle::NoEffect => "by-operator",
    }
}
