//! Amends: saga orchestration that knows what happened and what to do.
//!
//! A workflow is a DAG of typed steps. The engine runs it, writes every decision into a journal before it acts,
//! finds out what happened when an answer is lost, turns a saga back in the right order, and puts in front of a
//! person what it must not decide alone. Workflow authors read [`authoring`]; those who run sagas read
//! [`Engine`]; people and those who build their screens read [`operator`]; those who write a store read [`ports`].
//!
//! It is *not* a store (adapters are, through the traits in [`ports`]; [`memory`] is for tests), *not* a broker
//! or a scheduler of anything but sagas, and *not* exactly-once: a call may leave twice, under one request id.
//!
//! # A whole program
//!
//! With the store in memory, and with `tokio` (features `macros` and `rt-multi-thread`) beside this crate. A store that lasts is
//! one line: `amends_sea_orm::SqliteStore::open("orders.db").await?`.
//!
//! ```
//! use std::sync::Arc;
//!
//! use amends::memory::MemoryStore;
//! use amends::prelude::*;
//! use amends::{Engine, Outcome};
//!
//! struct Reserve;
//!
//! impl Step for Reserve {
//!     type Input = u32;
//!     type Output = String;
//!     type Refusal = String;
//!     type Settle = ByRepeating; // safe to call again with the same request id
//!
//!     async fn run(&self, cx: &StepContext, pieces: u32) -> Result<String, StepError<String>> {
//!         if pieces > 10 {
//!             return Err(StepError::Refused("not so many".to_owned()));
//!         }
//!         Ok(format!("{pieces} pieces under {}", cx.request_id())) // here the warehouse would be called
//!     }
//! }
//!
//! impl Compensate for Reserve {
//!     type UndoSettle = ByRepeating;
//!
//!     async fn compensate(&self, _: &StepContext, _: u32, _: Forward<String>) -> Result<Undo, CompensationError> {
//!         Ok(Undo::Undone)
//!     }
//! }
//!
//! struct Pay;
//!
//! impl Step for Pay {
//!     type Input = (u32, String);
//!     type Output = u64;
//!     type Refusal = String;
//!     type Settle = ByOperator; // only a person can find out
//!
//!     async fn run(&self, _: &StepContext, (pieces, _): (u32, String)) -> Result<u64, StepError<String>> {
//!         match pieces {
//!             0 => Err(StepError::Refused("nothing to pay".to_owned())),
//!             pieces => Ok(u64::from(pieces) * 500),
//!         }
//!     }
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let (mut s, order) = SagaBuilder::<u32>::new("order", 1);
//!     let stock = s.step("reserve-stock", Reserve, order);
//!     let (paid, s) = s.pivot("pay", Pay, (order, stock));
//!     let saga = s.finish(paid)?;
//!
//!     let engine = Engine::builder(Arc::new(MemoryStore::new())).register(saga.clone()).start().await?;
//!     let bought = engine.start(&saga, "order-1", 3).await?.outcome().await?;
//!     assert_eq!(bought, Outcome::Completed(1_500));
//!     let turned = engine.start(&saga, "order-2", 0).await?.outcome().await?; // refused, and the goods put back
//!     assert!(matches!(turned, Outcome::Compensated { .. }));
//!     engine.shutdown(seconds(5)).await?;
//!     println!("bought: {bought:?}; turned back: {turned:?}");
//!     Ok(())
//! }
//! ```
//!
//! # Errors
//!
//! The text of every error here is a sentence of its own that begins with "failed to", so a program may print
//! it as it is. An error that only hands another one on adds nothing. Reasons *inside* a text are fragments.

// The public interface is:
pub mod authoring;
pub mod engine;
pub mod memory;
pub mod operator;
pub mod ports;
pub mod prelude;
pub mod view;

mod controls;
mod letter;
mod visible;
mod worker;

pub use amends_core as core;
pub use authoring::*;
pub use engine::{
    Begun, Drained, Engine, EngineBuilder, EngineCounters, LaneShares, Limits, LogNotifier, Outcome,
    SagaHandle, Settled, StartOptions, StopReason,
};
pub use view::SagaView;
