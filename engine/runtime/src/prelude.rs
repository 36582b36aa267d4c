//! Everything a workflow author needs: `use amends::prelude::*;`.

pub use crate::authoring::{
    BranchBuilder, ByOperator, ByQuery, ByRepeating, Class, Classifier, Coded, Compensate, CompensationError,
    Configure, Contract, Exhausted, Finding, Forward, Handle, InDoubt, Meaning, Never, NoEffect, Order,
    Payload, PlanErrors, Policies, Problem, QueryError, QueryPolicy, Reconcile, ReconcileCompensation,
    RetryPolicy, Saga, SagaBuilder, Step, StepContext, StepError, Undo, UndoFinding, hours, minutes, seconds,
};
