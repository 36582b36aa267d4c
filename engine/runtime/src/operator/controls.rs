//! What people set for a whole workflow, a dependency or a node. Every node obeys it within one look
//! ([`Limits::claim_every`](crate::Limits::claim_every)); the engine that is asked obeys it at once.

use std::sync::Arc;

use amends_core::{Incarnation, Rejected};

use super::by::said;
use super::{Answer, By, OperateError, Operator};
use crate::Engine;
use crate::controls::{Control, ControlInForce};
use crate::ports::{ControlOrder, Fault, Ordered, Peer, StoredOrder};
use crate::worker::Backoff;

/// The longest name of a workflow, a dependency or a node, in bytes.
const NAME_BYTES_MAX: usize = 200;

impl Operator {
    /// A workflow, all versions of it, to be held or paused. It need not be registered here.
    pub fn workflow(&self, name: impl Into<Arc<str>>) -> OperatedWorkflow {
        OperatedWorkflow { engine: self.engine.clone(), name: name.into() }
    }

    /// A dependency, by the name that steps give it in their contracts.
    pub fn dependency(&self, name: impl Into<Arc<str>>) -> OperatedDependency {
        OperatedDependency { engine: self.engine.clone(), name: name.into() }
    }

    /// A live node, by its incarnation or by the name it was given.
    pub fn node(&self, node: impl ToString) -> OperatedNode {
        OperatedNode { engine: self.engine.clone(), node: node.to_string() }
    }

    /// Everything that is in force: held and paused workflows, limited dependencies, nodes that are being drained.
    /// Read from the store, so it is what every node obeys within its next look.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn controls(&self) -> Result<Vec<ControlInForce>, Fault> {
        let rows = self.engine.board().store().controls().await?;
        Ok(rows.iter().map(ControlInForce::read).collect())
    }
}

/// One workflow, in all its versions.
///
/// # Errors
/// All verbs are answered `Accepted`, or `Already` where nothing had to change, and end as [`OperateError`] says.
#[derive(Clone, Debug)]
pub struct OperatedWorkflow {
    engine: Engine,
    name: Arc<str>,
}

impl OperatedWorkflow {
    /// No saga of it is started any more: [`Engine::start`] answers
    /// [`Held`](crate::engine::SagaStartError::Held). Those that run go on.
    pub async fn hold_starts(&self, by: By) -> Result<Answer, OperateError> {
        self.set(Control::StartsHeld { workflow: self.name.clone() }, true, by).await
    }

    /// Sagas of it may be started again.
    pub async fn release(&self, by: By) -> Result<Answer, OperateError> {
        self.set(Control::StartsHeld { workflow: self.name.clone() }, false, by).await
    }

    /// No new attempt of any kind starts in its sagas, on any node: no compensation and no repeat either. What runs
    /// ends, queries and news go on, a cancel is answered at once. Deadlines run, and are decided when it is
    /// unpaused. Starts are not held: what is started stands and waits.
    pub async fn pause(&self, by: By) -> Result<Answer, OperateError> {
        self.set(Control::WorkflowPaused { workflow: self.name.clone() }, true, by).await
    }

    /// Attempts may start again, and the deadlines that passed meanwhile are decided.
    pub async fn unpause(&self, by: By) -> Result<Answer, OperateError> {
        self.set(Control::WorkflowPaused { workflow: self.name.clone() }, false, by).await
    }

    async fn set(&self, control: Control, on: bool, by: By) -> Result<Answer, OperateError> {
        said("the workflow", &self.name, NAME_BYTES_MAX)?;
        self.engine.order(&control, on, by).await
    }
}

/// One dependency.
///
/// # Errors
/// As those of [`OperatedWorkflow`].
#[derive(Clone, Debug)]
pub struct OperatedDependency {
    engine: Engine,
    name: Arc<str>,
}

impl OperatedDependency {
    /// On each node at most so many attempts and queries to it are under way at once; 0 holds all of them. What has
    /// to wait is deferred, up to its step's deadline: no attempt, no failure. The smaller of this and what the
    /// catalogue says counts; a later limit replaces an earlier one.
    pub async fn limit(&self, calls_max: u32, by: By) -> Result<Answer, OperateError> {
        self.set(calls_max, true, by).await
    }

    /// Only the catalogue limits it.
    pub async fn unlimit(&self, by: By) -> Result<Answer, OperateError> {
        self.set(0, false, by).await
    }

    async fn set(&self, calls_max: u32, on: bool, by: By) -> Result<Answer, OperateError> {
        said("the dependency", &self.name, NAME_BYTES_MAX)?;
        let control = Control::DependencyLimited { dependency: self.name.clone(), calls_max };
        self.engine.order(&control, on, by).await
    }
}

/// One node.
#[derive(Clone, Debug)]
pub struct OperatedNode {
    engine: Engine,
    node: String,
}

impl OperatedNode {
    /// The node ends as [`Engine::shutdown`] does: nothing new begins, what runs is awaited for at most
    /// [`Limits::drain_within`](crate::Limits::drain_within), its sagas go on elsewhere. It then says
    /// [`Drained`](crate::engine::StopReason::Drained) to whoever asks why it stopped. A process that starts later
    /// under the same name is another node.
    ///
    /// # Errors
    /// As those of [`OperatedWorkflow`]; refused if no live node, or more than one, is called so.
    pub async fn drain(&self, by: By) -> Result<Answer, OperateError> {
        by.check()?;
        let incarnation = match self.drained_before(&by).await? {
            Some(incarnation) => incarnation,
            None => self.find().await?,
        };
        self.engine.order(&Control::NodeDrains { incarnation }, true, by).await
    }

    /// The node that an operation of this id drained: it may be gone by now.
    async fn drained_before(&self, by: &By) -> Result<Option<Incarnation>, OperateError> {
        let stored = self.engine.board().store().ordered(&by.operation_id.0).await?;
        let control =
            stored.and_then(|stored| stored.order.row()).map(|row| ControlInForce::read(&row).control);
        Ok(match control {
            Some(Control::NodeDrains { incarnation }) => Some(incarnation),
            _ => None,
        })
    }

    async fn find(&self) -> Result<Incarnation, OperateError> {
        let peers = self.engine.nodes().peers().await?;
        let is_it = |peer: &&Peer| peer.incarnation.to_string() == self.node || peer.node == self.node;
        let found: Vec<String> =
            peers.iter().filter(is_it).map(|peer| peer.incarnation.to_string()).collect();
        match (&found[..], peers.iter().find(is_it)) {
            ([_], Some(peer)) => Ok(peer.incarnation),
            ([], _) | (_, None) => Err(refused(format!("no live node is called `{}`", self.node))),
            (several, _) => Err(refused(format!(
                "{} live nodes are called `{}`: name one by its incarnation ({})",
                several.len(),
                self.node,
                several.join(", ")
            ))),
        }
    }
}

fn refused(reason: String) -> OperateError {
    OperateError::Refused(Rejected::State(reason))
}

impl Engine {
    /// Sets a control or lifts it, and obeys it here at once. A store that does not answer is asked again for a while.
    async fn order(&self, control: &Control, on: bool, by: By) -> Result<Answer, OperateError> {
        by.check()?;
        let order = ControlOrder {
            operation_id: by.operation_id.0.to_string(),
            key: control.key(),
            value: on.then(|| control.value()),
            actor: by.actor,
            reason: by.reason,
            at: self.now(),
        };
        let until = self.now() + self.limits().answer_within;
        let changed = match self.give(&order, until).await? {
            Ordered::Done { changed } => changed,
            Ordered::Known(known) => same_order(&known, &order)?,
            Ordered::Full { in_force } => {
                return Err(refused(format!("{in_force} controls are in force already: lift one first")));
            }
            Ordered::Unstorable { reason } => return Err(OperateError::Incomplete(reason)),
        };
        // What was ordered is durable: if it cannot be read now, the next look finds it.
        let _ = self.board().look().await;
        Ok(if changed { Answer::Accepted } else { Answer::Already })
    }

    async fn give(&self, order: &ControlOrder, until: amends_core::Timestamp) -> Result<Ordered, Fault> {
        let mut backoff = Backoff::default();
        loop {
            match self.board().store().order(order).await {
                Err(Fault::Unavailable(_)) if self.now() < until => backoff.wait(self.clock()).await,
                ordered => return ordered,
            }
        }
    }
}

/// An operation id belongs to one order, which has its answer.
pub(super) fn same_order(known: &StoredOrder, order: &ControlOrder) -> Result<bool, OperateError> {
    if (&known.order.key, &known.order.value) == (&order.key, &order.value) {
        return Ok(known.changed);
    }
    let (id, key) = (&order.operation_id, &known.order.key);
    Err(refused(format!("the operation id `{id}` was used for `{key}` before; each operation needs its own")))
}
