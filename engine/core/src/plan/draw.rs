//! Pictures of a plan: Mermaid, Graphviz DOT, JSON and text.
//!
//! Every picture is a pure function of the plan, so a snapshot of it is a review of the workflow's shape.

mod json;
mod text;

use std::fmt::Write as _;

use super::{SagaPlan, Side, Source, StepKind};
use crate::id::{BranchIx, StepIx};
pub use json::json;
pub use text::{text, text_with};

#[cfg(test)]
mod tests;

/// A Mermaid flowchart, from left to right.
///
/// The pivot is a hexagon, a read has round ends and a dashed border, `↺` marks a step with a compensation.
/// An arrow is data, a dotted arrow is order without data, a thick arrow is the pivot's barrier. A barrier
/// edge that other edges imply is left out. A rhombus is the decision of a branch: `yes` leads to the steps of
/// the side that is taken when the condition holds, `no` to those of the other side or, where there is none, to
/// who uses what the branch gives.
pub fn mermaid(plan: &SagaPlan) -> String {
    mermaid_with(plan, |_| None::<&str>)
}

/// [`mermaid`] with a word under the steps that have one, for instance the stage of a running saga.
///
/// The word in lower case is the step's class too; the words of stages have colours.
pub fn mermaid_with<S: Into<String>>(plan: &SagaPlan, word: impl Fn(StepIx) -> Option<S>) -> String {
    let mut out = String::from("flowchart LR\n");
    let mut classes: Vec<(StepIx, String)> = Vec::new();
    for (ix, step) in plan.indices().zip(&plan.steps) {
        let (open, close) = match step.kind {
            StepKind::Pivot => ("{{", "}}"),
            StepKind::Read => ("([", "])"),
            StepKind::Compensated | StepKind::Retriable => ("[", "]"),
        };
        let (word, class) = match word(ix).map(Into::into) {
            Some(word) => (format!("<br/>{}", escaped(&word)), Some(class(&word))),
            None => (String::new(), None),
        };
        let _ = writeln!(out, "    s{}{open}\"{}{word}\"{close}", ix.0, marked(plan, ix));
        if matches!(step.kind, StepKind::Pivot | StepKind::Read) {
            classes.push((ix, step.kind.word().to_owned()));
        }
        classes.extend(class.map(|class| (ix, class)));
    }
    for (at, branch) in plan.branches.iter().enumerate() {
        let _ = writeln!(out, "    b{at}{{\"{}?\"}}", branch.name);
    }
    for edge in edges(plan) {
        let arrow = match edge.kind {
            EdgeKind::Data => "-->",
            EdgeKind::After => "-.->",
            EdgeKind::Barrier => "==>",
        };
        let _ = writeln!(out, "    s{} {arrow} s{}", edge.from.0, edge.to.0);
    }
    for decision in decisions(plan) {
        let _ = match decision {
            Decision::Waits(step, branch) => writeln!(out, "    s{} --> b{}", step.0, branch.0),
            Decision::Leads(side, To::Step(step)) => {
                writeln!(out, "    b{} -->|{}| s{}", side.branch.0, yes(side), step.0)
            }
            Decision::Leads(side, To::Branch(inner)) => {
                writeln!(out, "    b{} -->|{}| b{}", side.branch.0, yes(side), inner.0)
            }
        };
    }
    for (ix, class) in &classes {
        let _ = writeln!(out, "    class s{} {class}", ix.0);
    }
    for (name, style) in STYLES {
        if classes.iter().any(|(_, class)| class == name) {
            let _ = writeln!(out, "    classDef {name} {style}");
        }
    }
    out
}

/// Graphviz' DOT language, with the conventions of [`mermaid`].
pub fn dot(plan: &SagaPlan) -> String {
    let mut out = format!("digraph \"{} {}\" {{\n", escaped(&plan.workflow), plan.version);
    out.push_str("    rankdir=LR;\n    node [shape=box];\n");
    for (ix, step) in plan.indices().zip(&plan.steps) {
        let style = match step.kind {
            StepKind::Pivot => ", shape=hexagon, penwidth=3",
            StepKind::Read => ", style=\"rounded,dashed\"",
            StepKind::Compensated | StepKind::Retriable => "",
        };
        let _ = writeln!(out, "    s{} [label=\"{}\"{style}];", ix.0, marked(plan, ix));
    }
    for (at, branch) in plan.branches.iter().enumerate() {
        let _ = writeln!(out, "    b{at} [label=\"{}?\", shape=diamond];", branch.name);
    }
    for edge in edges(plan) {
        let style = match edge.kind {
            EdgeKind::Data => "",
            EdgeKind::After => " [style=dotted]",
            EdgeKind::Barrier => " [penwidth=3]",
        };
        let _ = writeln!(out, "    s{} -> s{}{style};", edge.from.0, edge.to.0);
    }
    for decision in decisions(plan) {
        let _ = match decision {
            Decision::Waits(step, branch) => writeln!(out, "    s{} -> b{};", step.0, branch.0),
            Decision::Leads(side, To::Step(step)) => {
                writeln!(out, "    b{} -> s{} [label={}];", side.branch.0, step.0, yes(side))
            }
            Decision::Leads(side, To::Branch(inner)) => {
                writeln!(out, "    b{} -> b{} [label={}];", side.branch.0, inner.0, yes(side))
            }
        };
    }
    out.push_str("}\n");
    out
}

/// What kinds and stages look like, in Mermaid's words.
const STYLES: [(&str, &str); 10] = [
    ("pivot", "stroke-width:3px"),
    ("read", "stroke-dasharray:4 3"),
    ("running", "fill:#cfe8ff"),
    ("retry-scheduled", "fill:#cfe8ff"),
    ("reconciling", "fill:#fff3b0"),
    ("quarantined", "fill:#ffc9c9"),
    ("succeeded", "fill:#d3f2d3"),
    ("partial", "fill:#fff3b0"),
    ("terminal-rejected", "fill:#fde2c4"),
    ("skipped", "fill:#f0f0f0"),
];

/// The step's name, with marks when it has a compensation and when it stands in a branch.
fn marked(plan: &SagaPlan, ix: StepIx) -> String {
    let step = plan.step(ix);
    let undo = if step.undo.is_some() { " ↺" } else { "" };
    let branch = if plan.graph.place(ix).is_some() { " ?" } else { "" };
    format!("{}{undo}{branch}", step.name)
}

/// Text inside double quotes: names are harmless by themselves, words and workflow names may be anything.
fn escaped(text: &str) -> String {
    text.replace(['"', '\\', '\n'], "'")
}

/// A class name that Mermaid accepts.
fn class(word: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    word.chars().map(legal).collect()
}

/// Why one step waits for another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EdgeKind {
    /// It needs the output.
    Data,
    /// It was told to (`.after(…)`).
    After,
    /// One of them is the pivot.
    Barrier,
}

#[derive(Clone, Copy)]
struct Edge {
    from: StepIx,
    to: StepIx,
    kind: EdgeKind,
}

/// The edges that a picture shows, by target and then by source: all that the author wrote, and of the
/// barrier those that are not implied by others.
fn edges(plan: &SagaPlan) -> Vec<Edge> {
    let mut all = Vec::new();
    for to in plan.indices() {
        let step = plan.step(to);
        let data: Vec<StepIx> =
            step.input.sources().iter().flat_map(|source| plan.outputs_of(*source)).collect();
        for &from in plan.graph.parents(to) {
            let kind = if data.contains(&from) {
                EdgeKind::Data
            } else if step.after.contains(&from) {
                EdgeKind::After
            } else if plan.pivot == Some(from) || plan.pivot == Some(to) {
                EdgeKind::Barrier
            } else {
                continue; // It waits for a decision, which is shown by itself.
            };
            if kind != EdgeKind::Barrier || is_needed(plan, from, to) {
                all.push(Edge { from, to, kind });
            }
        }
    }
    all
}

/// A line to or from a decision.
enum Decision {
    /// The decision waits for a step.
    Waits(StepIx, BranchIx),
    /// One side begins so.
    Leads(Side, To),
}

/// Where a decision leads.
enum To {
    Step(StepIx),
    Branch(BranchIx),
}

fn yes(side: Side) -> &'static str {
    if side.taken { "yes" } else { "no" }
}

/// The lines of every decision: what it waits for, then where its sides begin.
fn decisions(plan: &SagaPlan) -> Vec<Decision> {
    let mut all = Vec::new();
    for ix in plan.branch_indices() {
        let branch = plan.branch(ix);
        let given = branch.condition.sources().iter().flat_map(|source| plan.outputs_of(*source));
        let mut waits: Vec<StepIx> = given.chain(branch.after.iter().copied()).collect();
        if waits.is_empty() && branch.within.is_none() {
            waits.extend(plan.graph.decision_parents(ix));
        }
        waits.sort_unstable();
        waits.dedup();
        all.extend(waits.into_iter().map(|step| Decision::Waits(step, ix)));
        for taken in [true, false] {
            let side = Side { branch: ix, taken };
            let inside = |step: &StepIx| plan.steps_of(side).any(|of| of == *step);
            let begins =
                branch.side(taken).iter().filter(|step| !plan.graph.parents(**step).iter().any(inside));
            all.extend(begins.map(|step| Decision::Leads(side, To::Step(*step))));
            let inner = plan.branch_indices().filter(|inner| {
                let waits = plan.graph.decision_parents(*inner).iter().any(inside);
                plan.branch(*inner).within == Some(side) && !waits
            });
            all.extend(inner.map(|inner| Decision::Leads(side, To::Branch(inner))));
            if branch.gives.of(taken).is_none() {
                let uses = |step: &StepIx| plan.step(*step).input.sources().contains(&Source::Branch(ix));
                all.extend(plan.indices().filter(uses).map(|step| Decision::Leads(side, To::Step(step))));
            }
        }
    }
    all
}

/// Is there no longer way from `from` to `to`, so that the direct edge says something?
fn is_needed(plan: &SagaPlan, from: StepIx, to: StepIx) -> bool {
    let mut ways: Vec<StepIx> =
        plan.graph.children(from).iter().copied().filter(|child| *child != to).collect();
    let mut seen = vec![false; plan.steps.len()];
    while let Some(at) = ways.pop() {
        if at == to {
            return false;
        }
        if !std::mem::replace(&mut seen[at.0], true) {
            ways.extend_from_slice(plan.graph.children(at));
        }
    }
    true
}
