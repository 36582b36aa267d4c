//! The labels that a workflow computes from its input.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use amends_core::Json;

use super::payload::Payload;
use crate::ports::{LABELS_MAX, Label};

/// What a workflow makes of an input. An error is the reason why there are none.
pub type Labeller = Arc<dyn Fn(&Json) -> Result<Vec<Label>, String> + Send + Sync>;

/// The labels of a saga with this input: an author's function, erased.
pub(super) fn labeller<I: Payload>(label: impl Fn(&I) -> Vec<Label> + Send + Sync + 'static) -> Labeller {
    Arc::new(move |input| {
        let input: I = input.decode().map_err(|error| error.to_string())?;
        catch_unwind(AssertUnwindSafe(|| label(&input))).map_err(|_| "it panicked".to_owned())
    })
}

/// What can be kept of what a workflow says of an input. A label never keeps a saga from being started: what cannot be
/// kept is left out, and said.
pub(crate) fn kept(labeller: Option<&Labeller>, input: &Json, workflow: &str) -> Vec<Label> {
    let Some(labeller) = labeller else { return Vec::new() };
    let labels = labeller(input).unwrap_or_else(|reason| {
        tracing::warn!(workflow, reason, "the labels of a saga cannot be computed; it has none");
        Vec::new()
    });
    let mut kept: Vec<Label> = Vec::with_capacity(labels.len().min(LABELS_MAX));
    for label in labels {
        let repeated = kept.iter().any(|other| other.name == label.name);
        let reason = match label.unstorable() {
            Some(reason) => reason,
            None if repeated => format!("there is a label `{}` already", label.name),
            None if kept.len() == LABELS_MAX => format!("a saga has at most {LABELS_MAX} labels"),
            None => {
                kept.push(label);
                continue;
            }
        };
        tracing::warn!(workflow, reason, "a label of a saga is left out");
    }
    kept
}
