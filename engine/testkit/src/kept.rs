//! Journals that are kept for the future: what today's engine writes, tomorrow's has to read.

use std::fmt::Write as _;

use amends::SagaView;
use amends_core::plan::{BranchPlan, InDoubt, Input, Settle, Side, StepKind, StepPlan};
use amends_core::{BranchIx, SagaPlan, StepIx};

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
pub(crate) fn plan_lines(plan: &SagaPlan) -> Vec<String> {
    let workflow = format!("workflow {} v{}", plan.workflow, plan.version);
    let mut lines = vec![workflow];
    let mut known = vec![false; plan.branches.len()];
    for (ix, step) in plan.indices().zip(&plan.steps) {
        let mut around: Vec<BranchIx> = plan.sides_around(ix).map(|side| side.branch).collect();
        around.reverse();
        for branch in around {
            if !std::mem::replace(&mut known[branch.0], true) {
                lines.push(branch_line(plan, plan.branch(branch)));
            }
        }
        lines.push(step_line(plan, step) + &side_word(plan, plan.graph.place(ix)));
    }
    if !plan.branches.is_empty() {
        lines.push(format!("result {}", plan.source_name(plan.result)));
    }
    lines
}

fn side_word(plan: &SagaPlan, side: Option<Side>) -> String {
    side.map_or(String::new(), |side| {
        format!(" {}={}", if side.taken { "if" } else { "unless" }, plan.branch(side.branch).name)
    })
}

fn branch_line(plan: &SagaPlan, branch: &BranchPlan) -> String {
    let sources: Vec<&str> = branch.condition.sources().iter().map(|of| plan.source_name(*of)).collect();
    let sides = [true, false].into_iter().filter_map(|taken| branch.gives.of(taken));
    let gives: Vec<&str> = sides.map(|of| plan.source_name(of)).collect();
    let shaped = if matches!(branch.condition, Input::Shaped(_)) { " shaped" } else { "" };
    let after: Vec<&str> = branch.after.iter().map(|ix| &*plan.step(*ix).name).collect();
    let after = if after.is_empty() { String::new() } else { format!(" after={}", after.join(",")) };
    let (kind, name, side) = (branch.gives.word(), &branch.name, side_word(plan, branch.within));
    format!("{kind} {name}({}) gives={}{shaped}{after}{side}", sources.join(","), gives.join(","))
}

fn step_line(plan: &SagaPlan, step: &StepPlan) -> String {
    let sources: Vec<&str> = step.input.sources().iter().map(|source| plan.source_name(*source)).collect();
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
