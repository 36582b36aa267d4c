//! Looks at what people have set for everybody, as often as due sagas are looked for, and obeys it.

use std::sync::Arc;
use std::time::Duration;

use amends_core::{Incarnation, SagaId};
use tokio::sync::mpsc::UnboundedSender;

use super::committer::Backoff;
use super::driver::{Draining, Driver};
use super::input::News;
use super::lease::Lease;
use crate::controls::{Board, Control};
use crate::engine::StopReason;
use crate::ports::{Clock, ControlOrder, Fault, NodeStore, SagaStore};

impl Driver {
    /// Obeys what is in force now: dependencies may bear more or less, sagas of workflows that were paused or go on
    /// again are looked at, and this node may be told to end.
    pub(super) fn controls_changed(&mut self) {
        let now = self.now();
        let controls = self.inlets.controls.borrow_and_update().clone();
        let before = std::mem::replace(&mut self.sagas.controls, controls.clone());
        self.sagas.permits.limit(controls.limits(), now);
        self.list_granted();
        let workflows = controls.pauses_that_differ(&before);
        if !workflows.is_empty() {
            let active = self.sagas.active.iter();
            let concerned = active.filter(|(_, it)| workflows.contains(&it.definition.reference.workflow));
            let mut sagas: Vec<SagaId> = concerned.map(|(saga, _)| *saga).collect();
            sagas.sort_unstable();
            sagas.into_iter().for_each(|saga| self.list(saga));
        }
        if let Some(order) = controls.drain_of(self.incarnation)
            && self.mode.draining.is_none()
        {
            tracing::warn!(by = order.by, reason = order.reason, "this node is drained");
            let (by, reason) = (order.by.clone(), order.reason.clone());
            let until = now + self.limits.drain_within;
            self.drain(Draining { until, replies: Vec::new(), reason: StopReason::Drained { by, reason } });
        }
    }
}

/// Everything that the look-out works with.
pub(super) struct LookOut {
    pub(super) board: Arc<Board>,
    pub(super) nodes: Arc<dyn NodeStore>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) lease: Arc<Lease>,
    pub(super) every: Duration,
    pub(super) news: UnboundedSender<News>,
}

impl LookOut {
    /// Looks until the worker is gone or dismissed. While the store does not answer, what was read last stands.
    pub(super) async fn run(self) {
        let mut failing = false;
        while !self.news.is_closed() {
            if self.lease.held().await.is_err() {
                return;
            }
            let looked = match self.board.look().await {
                Ok(()) => self.lift_drains().await,
                failed => failed,
            };
            if let Err(fault) = &looked
                && !failing
            {
                tracing::warn!(%fault, "the controls cannot be read; what was read last stands");
            }
            failing = looked.is_err();
            self.clock.sleep_until(self.clock.now() + self.every).await;
        }
    }

    /// The order to drain a node is over once the node is gone.
    async fn lift_drains(&self) -> Result<(), Fault> {
        let controls = self.board.current();
        if controls.drained().next().is_none() {
            return Ok(());
        }
        let peers = self.nodes.peers().await?;
        for incarnation in controls.drained() {
            if peers.iter().all(|peer| peer.incarnation != incarnation) {
                lift_drain(&self.board, incarnation, &*self.clock).await?;
            }
        }
        Ok(())
    }
}

/// Lifts the order to drain a node that is gone. Many may do that; it counts once.
pub(super) async fn lift_drain(
    board: &Board,
    incarnation: Incarnation,
    clock: &dyn Clock,
) -> Result<(), Fault> {
    let order = ControlOrder {
        operation_id: format!("gone/{incarnation}"),
        key: Control::NodeDrains { incarnation }.key(),
        value: None,
        actor: "engine".to_owned(),
        reason: "the node is gone".to_owned(),
        at: clock.now(),
    };
    board.store().order(&order).await.map(drop)
}

/// The last act of a node that was drained from elsewhere.
pub(super) struct Leaving {
    pub(super) store: Arc<dyn SagaStore>,
    pub(super) board: Arc<Board>,
    pub(super) incarnation: Incarnation,
    pub(super) clock: Arc<dyn Clock>,
    /// How long a store that does not answer is asked. Then the other nodes dismiss this one, as any that is gone.
    pub(super) within: Duration,
}

impl Leaving {
    pub(super) async fn leave(self) {
        let until = self.clock.now() + self.within;
        let mut backoff = Backoff::default();
        while let Err(fault) = self.tell().await {
            if !matches!(fault, Fault::Unavailable(_)) || self.clock.now() >= until {
                tracing::warn!(%fault, "the store could not be told that this node is gone");
                return;
            }
            backoff.wait(&*self.clock).await;
        }
    }

    async fn tell(&self) -> Result<(), Fault> {
        self.store.leave(self.incarnation, self.clock.now()).await?;
        lift_drain(&self.board, self.incarnation, &*self.clock).await
    }
}
