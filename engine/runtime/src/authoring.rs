//! What workflow authors write.

mod context;
mod node;

pub use context::{ContextParts, StepContext};
pub use node::{BoxFuture, Definition, ForwardOutcome, InputProblem, Node, Prepared, Values};
