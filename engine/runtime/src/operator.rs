//! What people do when a saga needs them: find it, see why it is not moving, and decide.
//!
//! Everything here goes through the store, so it works on any node that shares it: what is asked is posted as
//! mail to the saga, its owner decides it in the order in which it came, and the answer is written with the
//! decision. Asking again under the same operation id, from anywhere, returns the stored answer and changes
//! nothing; so whoever did not hear an answer asks again.
//!
//! ```no_run
//! # use amends::operator::By;
//! # async fn a_desk(engine: amends::Engine) -> Result<(), Box<dyn std::error::Error>> {
//! let operator = engine.operator();
//! for entry in operator.desk(&Default::default()).await?.entries {
//!     let saga = operator.saga(entry.saga);
//!     println!("{} waits since {}: {}", entry.item.step, entry.item.since, entry.item.reason);
//!     if entry.item.reason == "persistent" {
//!         let action = entry.item.item.parse()?;
//!         saga.resume(action, By::new("ann", "the credential was renewed", "ticket-17")).await?;
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Answers
//!
//! A verb is answered `Accepted` (done), `TooLate`, `Already` or `Pending`; `Pending` becomes final later, under
//! the same operation id. What the state does not allow is [`OperateError::Refused`], with the state as the reason;
//! that, too, is kept, and shown by [`OperatedSaga::asked`].
//!
//! # Everybody at once
//!
//! [`Operator::workflow`], [`Operator::dependency`] and [`Operator::node`] set what every node obeys within a second or
//! so: hold the starts of a workflow, pause it, limit a dependency, drain a node. [`Operator::controls`] lists what is in
//! force, with who set it, why and since when.
//!
//! # Messages that nobody takes
//!
//! [`Operator::let_go`] lets a message of the outbox go that was refused for good, so that the later events of its saga go
//! out.
//!
//! # Risk
//!
//! What may do something twice, undo what may not have happened, or end what is not finished, stands behind
//! [`OperatedSaga::risky`], so that nobody reaches for it by completion.

mod by;
mod controls;
mod find;
mod intake;
mod outbox;
mod post;
mod risky;
mod saga;

pub use by::By;
pub use controls::{OperatedDependency, OperatedNode, OperatedWorkflow};
pub use intake::OperatedIntake;
pub use risky::Risky;
pub use saga::{Asking, CompensationDemand, Inspected, OperatedSaga};

pub use crate::controls::{Control, ControlInForce};
pub use crate::engine::OperateError;
pub use crate::ports::{
    DeskCursor, DeskEntry, DeskFilter, DeskGroup, DeskPage, OutboxPlace, SagaFilter, SagaPage,
};
pub use amends_core::event::Answer;
pub use amends_core::machine::PersonFinding;

use crate::Engine;

/// The use-cases of people. Cheap to make and to clone.
#[derive(Clone, Debug)]
pub struct Operator {
    engine: Engine,
}

impl Engine {
    /// What people can do, through this engine's store.
    pub fn operator(&self) -> Operator {
        Operator { engine: self.clone() }
    }
}

impl Operator {
    /// One saga, to be looked at or asked something. It need not exist.
    pub fn saga(&self, saga: amends_core::SagaId) -> OperatedSaga {
        OperatedSaga::new(self.engine.clone(), saga)
    }
}
