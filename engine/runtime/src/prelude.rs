//! What it takes to *define* a workflow: `use amends::prelude::*;`.
//!
//! What it takes to *run* one ([`Engine`](crate::Engine), [`Outcome`](crate::Outcome),
//! [`Settled`](crate::Settled), …) comes from the crate itself: `use amends::{Engine, Outcome};`.

pub use crate::authoring::{
    BranchBuilder, ByOperator, ByQuery, ByRepeating, Class, Classifier, Coded, Compensate, CompensationError,
    Configure, Contract, Exhausted, Finding, Forward, Handle, InDoubt, Meaning, Never, NoEffect, Omitted,
    Order, Payload, PlanErrors, Policies, Precondition, Preview, Problem, QueryError, QueryPolicy, Reconcile,
    ReconcileCompensation, RetryPolicy, Saga, SagaBuilder, Step, StepContext, StepError, Undo, UndoFinding,
    hours, minutes, seconds,
};
