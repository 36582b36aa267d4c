//! The pure saga machine of Amends.
//!
//! Read [`machine`], [`state`], [`event`], [`mod@agenda`], [`plan`] in that order and you know the engine.
//! [`admission`] stands at the door: what of the world's JSON comes in, and what of it is kept.
//!
//! This crate has no clock, no randomness and no IO: time is an argument, effects are asked for by
//! [`agenda()`] and never performed. It runs no steps, stores no journals and knows no broker.

// The public interface is:
pub mod admission;
pub mod agenda;
pub mod event;
pub mod id;
pub mod json;
pub mod machine;
pub mod plan;
pub mod state;
pub mod time;
pub mod trace;

pub use agenda::{Agenda, agenda};
pub use event::{JournalEvent, Transition};
pub use id::{
    ActionId, BranchIx, Direction, Incarnation, OperationId, RequestId, SagaId, StepIx, TransitionId,
};
pub use json::Json;
pub use machine::{Command, CorruptJournal, Rejected, apply, decide, replay};
pub use plan::SagaPlan;
pub use state::SagaState;
pub use time::Timestamp;
pub use trace::TraceContext;
