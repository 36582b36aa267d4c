//! Amends: saga orchestration that knows what happened and what to do.
//!
//! Workflow authors read [`authoring`]; those who run them read [`Engine`] and [`ports`].
//! This crate stores nothing and talks to no broker: adapters do, through the traits in [`ports`].

// The public interface is:
pub mod authoring;
pub mod engine;
pub mod memory;
pub mod ports;
pub mod prelude;
pub mod view;

mod visible;
mod worker;

pub use amends_core as core;
pub use authoring::*;
pub use engine::{
    Drained, Engine, EngineBuilder, Limits, Outcome, SagaHandle, Settled, StartOptions, StopReason,
};
pub use view::SagaView;
