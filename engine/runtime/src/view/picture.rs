//! A workflow's graph with a saga's state in it.

use std::fmt::Write as _;

use amends_core::plan::StepKind;
use amends_core::state::{Action, Effect, Stage, StepState};
use amends_core::{SagaPlan, SagaState, StepIx};

/// A Mermaid flowchart: `stateDiagram` cannot show a DAG. Classes carry the colours.
pub(super) fn mermaid(plan: &SagaPlan, state: &SagaState) -> String {
    let mut text = "flowchart TD\n".to_owned();
    for (ix, step) in plan.indices().zip(&plan.steps) {
        let at = state.step(ix);
        let (open, close) = match step.kind {
            StepKind::Pivot => ("{{", "}}"),
            StepKind::Read => ("([", "])"),
            StepKind::Compensated | StepKind::Retriable => ("[", "]"),
        };
        let (name, standing, class) = (&step.name, standing(at), class(at));
        let side = side(plan, ix);
        let side = if side.is_empty() { side } else { format!("<br/>{}", side.trim_start()) };
        let _ = writeln!(text, "  s{}{open}\"{name}<br/>{standing}{side}\"{close}:::{class}", ix.0);
    }
    for ix in plan.indices() {
        for parent in drawn_parents(plan, ix) {
            let _ = writeln!(text, "  s{} --> s{}", parent.0, ix.0);
        }
    }
    for (class, colours) in CLASSES {
        let _ = writeln!(text, "  classDef {class} {colours}");
    }
    text
}

/// Fill and border of every class; readable on light and dark pages.
const CLASSES: [(&str, &str); 7] = [
    ("waiting", "fill:#eeeeee,stroke:#999999,color:#333333"),
    ("moving", "fill:#cfe8ff,stroke:#1f6feb,color:#0a3069"),
    ("done", "fill:#d2f4d9,stroke:#1a7f37,color:#0a3d1a"),
    ("refused", "fill:#ffd8d3,stroke:#cf222e,color:#6e0b14"),
    ("undone", "fill:#e8dcff,stroke:#8250df,color:#3b1d78"),
    ("person", "fill:#fff3c2,stroke:#9a6700,color:#4d3800"),
    ("skipped", "fill:#ffffff,stroke:#bbbbbb,color:#777777,stroke-dasharray:4 3"),
];

/// The graph as text: one line per step in the order of declaration.
pub(super) fn text(plan: &SagaPlan, state: &SagaState) -> String {
    let width = plan.steps.iter().map(|step| step.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (ix, step) in plan.indices().zip(&plan.steps) {
        let at = state.step(ix);
        let parents: Vec<&str> = drawn_parents(plan, ix).map(|parent| &*plan.step(parent).name).collect();
        let after =
            if parents.is_empty() { String::new() } else { format!("  after {}", parents.join(", ")) };
        let pivot = if step.kind == StepKind::Pivot { "  pivot" } else { "" };
        let side = side(plan, ix);
        let _ = writeln!(text, "{} {:width$}  {}{pivot}{after}{side}", mark(at), step.name, standing(at));
    }
    text
}

/// `  if gift-wrap`, for a step that stands in a branch.
fn side(plan: &SagaPlan, ix: StepIx) -> String {
    plan.graph.place(ix).map_or(String::new(), |side| {
        let word = if side.taken { "if" } else { "unless" };
        format!("  {word} {}", plan.branch(side.branch).name)
    })
}

/// The parents without those that another parent waits for: what is drawn, not what holds.
fn drawn_parents(plan: &SagaPlan, ix: StepIx) -> impl Iterator<Item = StepIx> + '_ {
    let parents = plan.graph.parents(ix);
    let behind = move |parent: &StepIx| {
        parents.iter().any(|other| other != parent && comes_before(plan, *parent, *other))
    };
    parents.iter().copied().filter(move |parent| !behind(parent))
}

fn comes_before(plan: &SagaPlan, first: StepIx, then: StepIx) -> bool {
    let mut seen = vec![then];
    let mut at = 0;
    while let Some(&ix) = seen.get(at) {
        at += 1;
        for parent in plan.graph.parents(ix) {
            if *parent == first {
                return true;
            }
            if !seen.contains(parent) {
                seen.push(*parent);
            }
        }
    }
    false
}

/// Which of a step's two lives says where it stands: the compensation, once it has begun.
fn telling(step: &StepState) -> (&Action, bool) {
    match &step.undo {
        Some(undo) if undo.stage != Stage::Pending => (undo, true),
        _ => (&step.forward, false),
    }
}

/// Its outcome is unknown, and only a person can settle it now.
fn on_desk(action: &Action) -> bool {
    action.settling.is_some_and(|settling| settling.item.is_some())
}

fn standing(step: &StepState) -> String {
    let (action, undo) = telling(step);
    let word = match (action.stage, undo) {
        (Stage::Pending, _) => "waits",
        (Stage::Ready, _) => "ready",
        (Stage::Running, false) => "running",
        (Stage::Running, true) => "being undone",
        (Stage::RetryScheduled, _) => "will be retried",
        (Stage::Reconciling, _) if on_desk(action) => "unknown, waits for a person",
        (Stage::Reconciling, _) => "unknown, being settled",
        (Stage::Quarantined, _) => "quarantined",
        (Stage::Succeeded, false) => "done",
        (Stage::Succeeded, true) if action.effect == Effect::None => "nothing to undo",
        (Stage::Succeeded, true) => "undone",
        (Stage::Partial, _) => "done in part",
        (Stage::TerminalRejected, _) => "refused",
        (Stage::Skipped, _) => "skipped",
    };
    match (action.attempts, undo) {
        (0 | 1, _) | (_, true) => word.to_owned(),
        (attempts, false) => format!("{word}, {attempts} attempts"),
    }
}

fn class(step: &StepState) -> &'static str {
    let (action, undo) = telling(step);
    match action.stage {
        Stage::Pending => "waiting",
        Stage::Reconciling if on_desk(action) => "person",
        Stage::Ready | Stage::Running | Stage::RetryScheduled | Stage::Reconciling => "moving",
        Stage::Quarantined | Stage::Partial => "person",
        Stage::Succeeded => {
            if undo {
                "undone"
            } else {
                "done"
            }
        }
        Stage::TerminalRejected => "refused",
        Stage::Skipped => "skipped",
    }
}

fn mark(step: &StepState) -> char {
    match class(step) {
        "done" => '✓',
        "moving" => '…',
        "refused" => '✗',
        "undone" => '↺',
        "person" => '!',
        "skipped" => '-',
        _ => '·',
    }
}
