//! Pictures of a plan: Mermaid, Graphviz DOT, JSON and text.
//!
//! Every picture is a pure function of the plan, so a snapshot of it is a review of the workflow's shape.

mod json;
mod text;

use std::fmt::Write as _;

use super::{SagaPlan, Source, StepKind};
use crate::id::StepIx;
pub use json::json;
pub use text::{text, text_with};

#[cfg(test)]
mod tests;

/// A Mermaid flowchart, from left to right.
///
/// The pivot is a hexagon, a read has round ends and a dashed border, `↺` marks a step with a compensation.
/// An arrow is data, a dotted arrow is order without data, a thick arrow is the pivot's barrier. A barrier
/// edge that other edges imply is left out.
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
    for edge in edges(plan) {
        let arrow = match edge.kind {
            EdgeKind::Data => "-->",
            EdgeKind::After => "-.->",
            EdgeKind::Barrier => "==>",
        };
        let _ = writeln!(out, "    s{} {arrow} s{}", edge.from.0, edge.to.0);
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
    for edge in edges(plan) {
        let style = match edge.kind {
            EdgeKind::Data => "",
            EdgeKind::After => " [style=dotted]",
            EdgeKind::Barrier => " [penwidth=3]",
        };
        let _ = writeln!(out, "    s{} -> s{}{style};", edge.from.0, edge.to.0);
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

/// The step's name, with a mark when it has a compensation.
fn marked(plan: &SagaPlan, ix: StepIx) -> String {
    let step = plan.step(ix);
    let mark = if step.undo.is_some() { " ↺" } else { "" };
    format!("{}{mark}", step.name)
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
        for &from in plan.graph.parents(to) {
            let kind = if step.input.sources().contains(&Source::Step(from)) {
                EdgeKind::Data
            } else if step.after.contains(&from) {
                EdgeKind::After
            } else {
                EdgeKind::Barrier
            };
            if kind != EdgeKind::Barrier || is_needed(plan, from, to) {
                all.push(Edge { from, to, kind });
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
