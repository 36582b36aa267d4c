//! What workflow authors write: steps, and the definition that connects them.
//!
//! A step is a type with [`Step`]; a definition puts steps in their places, and each place asks for something:
//!
//! | place | for | the step has |
//! |---|---|---|
//! | [`SagaBuilder::step`] | an effect that can be undone | [`Compensate`] |
//! | [`SagaBuilder::read`] | what changes nothing | `type Settle = NoEffect` |
//! | [`SagaBuilder::pivot`] | the point of no return: the last that may refuse | nothing more |
//! | [`SagaBuilder::retriable`] | what has to happen behind the pivot | `type Refusal = Never` |
//!
//! Calls get lost. What is done when nobody knows whether an effect is there, the step says in one word, `type Settle`:
//!
//! | word | the participant | the step has |
//! |---|---|---|
//! | [`ByQuery`] | can be asked what became of a request id | [`Reconcile`] |
//! | [`ByRepeating`] | looks at the request id, so that a second call is harmless | nothing more |
//! | [`ByOperator`] | can do neither: the saga stands on a desk until a person has found out | nothing more |
//!
//! How an attempt failed is said by [`StepError`]; how often and how long it is tried, by [`Policies`] under a name
//! ([`Configure::retry`]).

mod branch;
mod builder;
mod classify;
mod command;
mod configured;
mod context;
mod dependency;
mod encode;
mod erase;
mod error;
mod gives;
mod handle;
mod labels;
mod node;
mod payload;
mod policies;
mod precondition;
mod recorded;
mod saga;
mod step;

pub use crate::ports::{Label, LabelValue};
pub use amends_core::TraceContext;
pub use amends_core::event::Omitted;
pub use amends_core::plan::{Contract, Exhausted, InDoubt, QueryPolicy, RetryPolicy};
pub use branch::BranchBuilder;
pub use builder::{AfterPivot, BeforePivot, CanTurnBack, PastPivot, PlanErrors, SagaBuilder};
pub use classify::{Class, Classified, Classifier, Coded, Meaning};
pub use command::{Outgoing, Transmission};
pub use configured::{Configure, Configured, Settings, hours, minutes, seconds};
pub use context::{ContextParts, StepContext};
pub use dependency::{Breaker, DependencyLimits, Rate, RetryBudget};
pub use encode::PAYLOAD_BYTES_MAX;
pub(crate) use encode::{accepted, omitted, storable, unstorable, unwritable};
pub(crate) use error::failure_bounded;
pub use error::{CompensationError, Finding, Forward, Problem, QueryError, StepError, Undo, UndoFinding};
pub use gives::Gives;
pub use handle::{After, Handle, Map, Order, Origin};
pub use labels::Labeller;
pub(crate) use labels::kept;
pub(crate) use node::evaluate;
pub use node::{BoxFuture, Condition, Definition, ForwardOutcome, InputProblem, Node, Prepared, Values};
pub use payload::{Never, Payload};
pub use policies::{Policies, RegistrationErrors};
pub use precondition::{Precondition, Preview};
pub use saga::Saga;
pub use step::{
    AllowedIn, ByOperator, ByQuery, ByRepeating, Compensate, NoEffect, NoEffectAtAll, Reconcile,
    ReconcileCompensation, Settles, SettlesUndo, Step,
};
