//! What people have set for a whole workflow, a dependency or a node, as this engine last read it.
//!
//! # The protocol
//!
//! * The store is the truth. Every node reads all of it at the pace at which it looks for due sagas
//!   ([`Limits::claim_every`](crate::Limits::claim_every)), and once before it begins; so an order is obeyed
//!   everywhere within one such look. The node that was asked reads at once.
//! * What was read is one value, replaced as a whole: the worker and whoever asks see the same one.
//!
//! What can fail: *the store does not answer*: what was read last stands. *A drained node dies before it is gone*: its
//! order is lifted by whoever looks next and finds no such node.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use amends_core::{Incarnation, Timestamp};
use tokio::sync::{Mutex, watch};

use crate::ports::{ControlRow, ControlStore, Fault};

/// What a control is about, and how it is set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Control {
    /// No saga of this workflow is started.
    StartsHeld {
        /// Its name.
        workflow: Arc<str>,
    },
    /// No new attempt of any kind starts in sagas of this workflow.
    WorkflowPaused {
        /// Its name.
        workflow: Arc<str>,
    },
    /// On each node no more calls to this dependency are under way at once.
    DependencyLimited {
        /// Its name.
        dependency: Arc<str>,
        /// So many; 0 holds everything.
        calls_max: u32,
    },
    /// This node ends in an orderly way.
    NodeDrains {
        /// Which one.
        incarnation: Incarnation,
    },
    /// Something that this build does not know, set by another one.
    Unknown {
        /// What it is about.
        key: Arc<str>,
        /// How it is set.
        value: String,
    },
}

const HELD: &str = "hold/";
const PAUSED: &str = "pause/";
const LIMITED: &str = "limit/";
const DRAINS: &str = "drain/";

/// The value of what is either set or not.
const ON: &str = "on";

impl Control {
    /// As stores know it.
    pub(crate) fn key(&self) -> Arc<str> {
        match self {
            Self::StartsHeld { workflow } => format!("{HELD}{workflow}").into(),
            Self::WorkflowPaused { workflow } => format!("{PAUSED}{workflow}").into(),
            Self::DependencyLimited { dependency, .. } => format!("{LIMITED}{dependency}").into(),
            Self::NodeDrains { incarnation } => format!("{DRAINS}{incarnation}").into(),
            Self::Unknown { key, .. } => key.clone(),
        }
    }

    /// As stores know it, while it is in force.
    pub(crate) fn value(&self) -> String {
        match self {
            Self::StartsHeld { .. } | Self::WorkflowPaused { .. } | Self::NodeDrains { .. } => ON.to_owned(),
            Self::DependencyLimited { calls_max, .. } => calls_max.to_string(),
            Self::Unknown { value, .. } => value.clone(),
        }
    }

    fn read(row: &ControlRow) -> Self {
        let of = |kind: &str| row.key.strip_prefix(kind);
        let is_on = row.value == ON;
        if let Some(workflow) = of(HELD).filter(|_| is_on) {
            return Self::StartsHeld { workflow: workflow.into() };
        }
        if let Some(workflow) = of(PAUSED).filter(|_| is_on) {
            return Self::WorkflowPaused { workflow: workflow.into() };
        }
        if let (Some(dependency), Ok(calls_max)) = (of(LIMITED), row.value.parse()) {
            return Self::DependencyLimited { dependency: dependency.into(), calls_max };
        }
        if let Some(Ok(incarnation)) = of(DRAINS).filter(|_| is_on).map(str::parse) {
            return Self::NodeDrains { incarnation: Incarnation(incarnation) };
        }
        Self::Unknown { key: row.key.clone(), value: row.value.clone() }
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StartsHeld { workflow } => write!(f, "starts of workflow `{workflow}` are held"),
            Self::WorkflowPaused { workflow } => write!(f, "workflow `{workflow}` is paused"),
            Self::DependencyLimited { dependency, calls_max: 0 } => {
                write!(f, "calls to dependency `{dependency}` are held")
            }
            Self::DependencyLimited { dependency, calls_max } => {
                write!(f, "dependency `{dependency}` is limited to {calls_max} calls at once on each node")
            }
            Self::NodeDrains { incarnation } => write!(f, "node {incarnation} is being drained"),
            Self::Unknown { key, value } => write!(f, "`{key}` is set to `{value}`"),
        }
    }
}

/// A control that is in force: who set it, why and since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlInForce {
    /// What was set.
    pub control: Control,
    /// Who set it.
    pub by: String,
    /// Why.
    pub reason: String,
    /// Since when.
    pub since: Timestamp,
    /// The operation that set it.
    pub operation_id: String,
}

impl ControlInForce {
    pub(crate) fn read(row: &ControlRow) -> Self {
        Self {
            control: Control::read(row),
            by: row.actor.clone(),
            reason: row.reason.clone(),
            since: row.at,
            operation_id: row.operation_id.clone(),
        }
    }
}

/// For instance "workflow `order` is paused by ann since …: the bank has a fault".
impl fmt::Display for ControlInForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { control, by, reason, since, .. } = self;
        write!(f, "{control} by {by} since {since}: {reason}")
    }
}

/// Everything that is in force, at one moment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Controls {
    held: BTreeMap<Arc<str>, Arc<ControlInForce>>,
    paused: BTreeMap<Arc<str>, Arc<ControlInForce>>,
    limited: BTreeMap<Arc<str>, (u32, Arc<ControlInForce>)>,
    drained: BTreeMap<Incarnation, Arc<ControlInForce>>,
}

impl Controls {
    pub(crate) fn read(rows: &[ControlRow]) -> Self {
        let mut all = Self::default();
        for row in rows {
            let set = Arc::new(ControlInForce::read(row));
            match &set.control {
                Control::StartsHeld { workflow } => drop(all.held.insert(workflow.clone(), set.clone())),
                Control::WorkflowPaused { workflow } => {
                    drop(all.paused.insert(workflow.clone(), set.clone()))
                }
                Control::DependencyLimited { dependency, calls_max } => {
                    all.limited.insert(dependency.clone(), (*calls_max, set.clone()));
                }
                Control::NodeDrains { incarnation } => drop(all.drained.insert(*incarnation, set.clone())),
                Control::Unknown { .. } => {}
            }
        }
        all
    }

    /// The hold of a workflow's starts.
    pub(crate) fn hold_of(&self, workflow: &str) -> Option<&Arc<ControlInForce>> {
        self.held.get(workflow)
    }

    /// The pause of a workflow.
    pub(crate) fn pause_of(&self, workflow: &str) -> Option<&Arc<ControlInForce>> {
        self.paused.get(workflow)
    }

    /// Dependencies with the most calls that each may have under way.
    pub(crate) fn limits(&self) -> &BTreeMap<Arc<str>, (u32, Arc<ControlInForce>)> {
        &self.limited
    }

    pub(crate) fn drain_of(&self, incarnation: Incarnation) -> Option<&Arc<ControlInForce>> {
        self.drained.get(&incarnation)
    }

    /// Nodes that are being drained.
    pub(crate) fn drained(&self) -> impl Iterator<Item = Incarnation> {
        self.drained.keys().copied()
    }

    /// Workflows that are paused in one of the two and not in the other.
    pub(crate) fn pauses_that_differ(&self, other: &Self) -> BTreeSet<Arc<str>> {
        let differs = |workflow: &&Arc<str>| {
            self.paused.contains_key(*workflow) != other.paused.contains_key(*workflow)
        };
        self.paused.keys().chain(other.paused.keys()).filter(differs).cloned().collect()
    }
}

/// Where the controls are read, and who is told of them.
pub(crate) struct Board {
    store: Arc<dyn ControlStore>,
    current: watch::Sender<Arc<Controls>>,
    /// Of two who read at once, the later reading must be the one that stays.
    reading: Mutex<()>,
}

impl Board {
    /// Reads what is in force for the first time.
    pub(crate) async fn open(store: Arc<dyn ControlStore>) -> Result<Self, Fault> {
        let first = Controls::read(&store.controls().await?);
        Ok(Self { store, current: watch::Sender::new(Arc::new(first)), reading: Mutex::new(()) })
    }

    pub(crate) fn store(&self) -> &dyn ControlStore {
        &*self.store
    }

    /// What was read last.
    pub(crate) fn current(&self) -> Arc<Controls> {
        self.current.borrow().clone()
    }

    /// Whoever is to be told when something changes.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<Controls>> {
        self.current.subscribe()
    }

    /// Reads again, and tells everybody if something has changed.
    pub(crate) async fn look(&self) -> Result<(), Fault> {
        let _one_at_a_time = self.reading.lock().await;
        let read = Controls::read(&self.store.controls().await?);
        self.current.send_if_modified(|current| {
            let changed = **current != read;
            if changed {
                *current = Arc::new(read);
            }
            changed
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(control: &Control) -> ControlRow {
        ControlRow {
            key: control.key(),
            value: control.value(),
            actor: "ann".to_owned(),
            reason: "a test".to_owned(),
            operation_id: "1".to_owned(),
            at: Timestamp(0),
        }
    }

    #[test]
    fn what_is_set_is_read_back() {
        let all = [
            Control::StartsHeld { workflow: "a/b".into() },
            Control::WorkflowPaused { workflow: "order".into() },
            Control::DependencyLimited { dependency: "bank".into(), calls_max: 0 },
            Control::NodeDrains { incarnation: Incarnation(uuid::Uuid::from_u128(7)) },
        ];
        for control in all {
            assert_eq!(ControlInForce::read(&row(&control)).control, control);
        }
    }

    #[test]
    fn what_another_build_set_is_shown_and_obeyed_by_nobody() {
        let strange = ControlRow {
            key: "limit/bank".into(),
            value: "some".to_owned(),
            ..row(&Control::StartsHeld { workflow: "w".into() })
        };
        let read = ControlInForce::read(&strange).control;
        assert_eq!(read, Control::Unknown { key: "limit/bank".into(), value: "some".to_owned() });
        assert_eq!(Controls::read(&[strange]), Controls::default());
    }
}
