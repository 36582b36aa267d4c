//! What people set for a whole workflow, a dependency or a node: every node reads it at its polling pace.
//!
//! A control is a key with a value; what they mean is the engine's business. Setting or lifting one is an *order* with
//! an actor, a reason and a one-time id. Orders stay until they are [purged](super::PurgeStore::purge_orders), so that one
//! which comes again finds its first answer.

use std::sync::Arc;

use amends_core::Timestamp;
use async_trait::async_trait;

use super::content::no_nul;
use super::store::Fault;

/// The most controls in force at once.
pub const CONTROLS_MAX: u32 = 1_000;

/// The longest key or value of a control, in bytes.
pub const CONTROL_BYTES_MAX: usize = 512;

/// A control that is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlRow {
    /// What it is about.
    pub key: Arc<str>,
    /// How it is set.
    pub value: String,
    /// Who set it.
    pub actor: String,
    /// Why.
    pub reason: String,
    /// The order that set it.
    pub operation_id: String,
    /// When.
    pub at: Timestamp,
}

/// Sets a control, or lifts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlOrder {
    /// Chosen by whoever orders, and used once.
    pub operation_id: String,
    /// What it is about. At most 512 bytes.
    pub key: Arc<str>,
    /// How it is set, at most 512 bytes; none lifts it.
    pub value: Option<String>,
    /// Who orders it.
    pub actor: String,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Timestamp,
}

impl ControlOrder {
    /// Why no store takes it, if so.
    pub fn unstorable(&self) -> Option<String> {
        let value = self.value.as_deref().unwrap_or_default();
        for (name, text) in [("key", &*self.key), ("value", value)] {
            if text.len() > CONTROL_BYTES_MAX {
                let bytes = text.len();
                return Some(format!(
                    "the {name} of a control has {bytes} bytes, more than {CONTROL_BYTES_MAX}"
                ));
            }
        }
        no_nul("key", &self.key)
            .and_then(|()| no_nul("value", value))
            .and_then(|()| no_nul("actor", &self.actor))
            .and_then(|()| no_nul("reason", &self.reason))
            .and_then(|()| no_nul("operation id", &self.operation_id))
            .err()
    }

    /// What it puts in force; nothing if it lifts.
    pub fn row(&self) -> Option<ControlRow> {
        self.value.clone().map(|value| ControlRow {
            key: self.key.clone(),
            value,
            actor: self.actor.clone(),
            reason: self.reason.clone(),
            operation_id: self.operation_id.clone(),
            at: self.at,
        })
    }
}

/// An order as it stands in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredOrder {
    /// As it was given.
    pub order: ControlOrder,
    /// Did it change anything? What is set so already, or is not in force, stays as it is.
    pub changed: bool,
}

/// What became of an order. Nothing was written but for [`Ordered::Done`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ordered {
    /// It is durable.
    Done {
        /// Did it change anything?
        changed: bool,
    },
    /// An order of this id was given before: this one. Also how an order whose answer was lost finds itself.
    Known(Box<StoredOrder>),
    /// As many controls are in force as may be.
    Full {
        /// How many that is.
        in_force: u32,
    },
    /// No store takes its content.
    Unstorable {
        /// Why.
        reason: String,
    },
}

/// The controls side of a store.
///
/// # Guarantees asked of an implementation
/// * Everything here may be called by anybody at any moment, and wants no incarnation.
/// * `order` is safe to repeat after [`Fault::Unavailable`]: an order counts once, however often it comes.
/// * Orders of one key take effect one after the other.
/// * As in [`SagaStore`](super::SagaStore), no method may be raced against a timer by its caller.
#[async_trait]
pub trait ControlStore: Send + Sync + 'static {
    /// Gives an order.
    async fn order(&self, order: &ControlOrder) -> Result<Ordered, Fault>;

    /// The order of this id.
    async fn ordered(&self, operation_id: &str) -> Result<Option<StoredOrder>, Fault>;

    /// What is in force, in the order of keys.
    async fn controls(&self) -> Result<Vec<ControlRow>, Fault>;
}
