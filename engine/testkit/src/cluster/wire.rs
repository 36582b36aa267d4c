//! The way of one node to the store, which a test can cut, slow down and listen to.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use amends::ports::{
    Access, Claim, Clock as _, Commit, CompensationRow, ControlOrder, ControlRow, ControlStore, DeskFilter,
    DeskGroup, DeskPage, DeskQuery, Fault, Forward, Introduced, LetGo, Loaded, Mail, NodeProfile,
    NodeRegistry, NodeRow, NodeStore, OpenSagas, Ordered, OutboxKind, OutboxMessage, OutboxPlace,
    OutboxStanding, OutboxStore, Peer, Posted, SagaFilter, SagaMail, SagaPage, SagaQuery, SagaRow, SagaStore,
    Sharing, Store, StoreCounts, StoredMail, StoredOrder, Verdict, WorkItemRow,
};
use amends_core::{Incarnation, SagaId, Timestamp};
use async_trait::async_trait;

use super::time::ClusterClock;

/// One node's way to the store of its cluster. Clones are the same way.
#[derive(Clone)]
pub struct Wire {
    store: Arc<dyn Store>,
    clock: Arc<ClusterClock>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    cut: bool,
    delay: Duration,
    claims_lost: u32,
    heard: Vec<(Timestamp, &'static str)>,
}

impl Wire {
    pub(super) fn new(store: Arc<dyn Store>, clock: Arc<ClusterClock>) -> Self {
        Self { store, clock, state: Arc::default() }
    }

    /// While cut, no call of this node reaches the store.
    pub fn cut(&self, cut: bool) {
        self.state().cut = cut;
    }

    /// From now on every call takes so long on its way.
    pub fn delay(&self, delay: Duration) {
        self.state().delay = delay;
    }

    /// The next `count` claims take effect, and their answers are lost.
    pub fn lose_claims(&self, count: u32) {
        self.state().claims_lost = count;
    }

    /// What this node has asked of the store since this was last called, by the names of the ports' methods.
    pub fn heard(&self) -> Vec<(Timestamp, &'static str)> {
        std::mem::take(&mut self.state().heard)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(&self, call: &'static str) -> Result<&dyn Store, Fault> {
        let delay = {
            let mut state = self.state();
            state.heard.push((self.clock.time.now(), call));
            state.delay
        };
        if delay > Duration::ZERO {
            self.clock.sleep_until(self.clock.now() + delay).await;
        }
        if self.state().cut {
            return Err(Fault::Unavailable("the wire is cut".to_owned()));
        }
        Ok(&*self.store)
    }
}

#[async_trait]
impl SagaStore for Wire {
    async fn join(&self, incarnation: Incarnation, node: &str, now: Timestamp) -> Result<(), Fault> {
        self.send("join").await?.join(incarnation, node, now).await
    }

    fn writers(&self) -> usize {
        self.store.writers()
    }

    async fn commit(&self, incarnation: Incarnation, batch: &[Commit]) -> Result<Vec<Verdict>, Fault> {
        self.send("commit").await?.commit(incarnation, batch).await
    }

    async fn claim(&self, claim: &Claim) -> Result<Vec<SagaId>, Fault> {
        let taken = self.send("claim").await?.claim(claim).await?;
        let mut state = self.state();
        if !taken.is_empty() && state.claims_lost > 0 {
            state.claims_lost -= 1;
            return Err(Fault::Unavailable("the answer was lost".to_owned()));
        }
        Ok(taken)
    }

    async fn load(&self, sagas: &[SagaId]) -> Result<Vec<Loaded>, Fault> {
        self.send("load").await?.load(sagas).await
    }

    async fn set_aside(
        &self,
        incarnation: Incarnation,
        saga: SagaId,
        reason: &str,
        now: Timestamp,
    ) -> Result<bool, Fault> {
        self.send("set_aside").await?.set_aside(incarnation, saga, reason, now).await
    }

    async fn leave(&self, incarnation: Incarnation, now: Timestamp) -> Result<(), Fault> {
        self.send("leave").await?.leave(incarnation, now).await
    }
}

#[async_trait]
impl Forward for Wire {
    fn behind(&self) -> &dyn Store {
        &*self.store
    }

    async fn on_the_way(&self, call: &'static str, _access: Access) -> Result<(), Fault> {
        self.send(call).await.map(drop)
    }
}

#[async_trait]
impl NodeStore for Wire {
    fn sharing(&self) -> Sharing {
        self.store.sharing()
    }

    async fn beat(&self, incarnation: Incarnation, within: Duration) -> Result<u64, Fault> {
        self.send("beat").await?.beat(incarnation, within).await
    }

    async fn peers(&self) -> Result<Vec<Peer>, Fault> {
        self.send("peers").await?.peers().await
    }

    async fn dismiss(&self, incarnation: Incarnation, seen: u64, now: Timestamp) -> Result<bool, Fault> {
        self.send("dismiss").await?.dismiss(incarnation, seen, now).await
    }

    async fn release_orphans(&self, now: Timestamp, limit: u32) -> Result<u32, Fault> {
        self.send("release_orphans").await?.release_orphans(now, limit).await
    }

    async fn mend_clock(&self, now: Timestamp, tolerance: Duration, limit: u32) -> Result<u32, Fault> {
        self.send("mend_clock").await?.mend_clock(now, tolerance, limit).await
    }

    async fn mine(
        &self,
        incarnation: Incarnation,
        after: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<SagaId>, Fault> {
        self.send("mine").await?.mine(incarnation, after, limit).await
    }
}

#[async_trait]
impl NodeRegistry for Wire {
    async fn introduce(&self, incarnation: Incarnation, profile: &NodeProfile) -> Result<Introduced, Fault> {
        self.send("introduce").await?.introduce(incarnation, profile).await
    }

    async fn joined(&self, incarnation: Incarnation) -> Result<bool, Fault> {
        self.send("joined").await?.joined(incarnation).await
    }

    async fn live_nodes(&self) -> Result<Vec<NodeRow>, Fault> {
        self.send("live_nodes").await?.live_nodes().await
    }

    async fn open_sagas(&self) -> Result<Vec<OpenSagas>, Fault> {
        self.send("open_sagas").await?.open_sagas().await
    }
}

#[async_trait]
impl SagaQuery for Wire {
    async fn find(&self, workflow: &str, key: &str) -> Result<Option<SagaRow>, Fault> {
        self.send("find").await?.find(workflow, key).await
    }

    async fn read(&self, saga: SagaId) -> Result<Option<Loaded>, Fault> {
        self.send("read").await?.read(saga).await
    }

    async fn list(&self, filter: &SagaFilter) -> Result<SagaPage, Fault> {
        self.send("list").await?.list(filter).await
    }

    async fn desk(&self, limit: u32) -> Result<Vec<(SagaId, WorkItemRow)>, Fault> {
        self.send("desk").await?.desk(limit).await
    }

    async fn compensations(&self, saga: SagaId) -> Result<Vec<CompensationRow>, Fault> {
        self.send("compensations").await?.compensations(saga).await
    }

    async fn counts(&self) -> Result<StoreCounts, Fault> {
        self.send("counts").await?.counts().await
    }
}

#[async_trait]
impl DeskQuery for Wire {
    async fn desk_page(&self, filter: &DeskFilter) -> Result<DeskPage, Fault> {
        self.send("desk_page").await?.desk_page(filter).await
    }

    async fn desk_groups(&self, filter: &DeskFilter) -> Result<Vec<DeskGroup>, Fault> {
        self.send("desk_groups").await?.desk_groups(filter).await
    }
}

#[async_trait]
impl SagaMail for Wire {
    async fn post(&self, mail: &Mail, open_max: u32) -> Result<Posted, Fault> {
        self.send("post").await?.post(mail, open_max).await
    }

    async fn unread(
        &self,
        incarnation: Incarnation,
        only: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<Mail>, Fault> {
        self.send("unread").await?.unread(incarnation, only, limit).await
    }

    async fn mail(&self, saga: SagaId, key: &str) -> Result<Option<StoredMail>, Fault> {
        self.send("mail").await?.mail(saga, key).await
    }

    async fn mail_of(&self, saga: SagaId, limit: u32) -> Result<Vec<StoredMail>, Fault> {
        self.send("mail_of").await?.mail_of(saga, limit).await
    }
}

#[async_trait]
impl OutboxStore for Wire {
    async fn claim_lanes(&self, incarnation: Incarnation) -> Result<Vec<u16>, Fault> {
        self.send("claim_lanes").await?.claim_lanes(incarnation).await
    }

    async fn unpublished(
        &self,
        incarnation: Incarnation,
        kind: OutboxKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<OutboxMessage>, Fault> {
        self.send("unpublished").await?.unpublished(incarnation, kind, now, limit).await
    }

    async fn remove_published(
        &self,
        incarnation: Incarnation,
        published: &[OutboxPlace],
    ) -> Result<u32, Fault> {
        self.send("remove_published").await?.remove_published(incarnation, published).await
    }

    async fn note_refusal(
        &self,
        incarnation: Incarnation,
        refused: OutboxPlace,
        reason: &str,
        next_at: Timestamp,
    ) -> Result<(), Fault> {
        self.send("note_refusal").await?.note_refusal(incarnation, refused, reason, next_at).await
    }

    async fn let_go(&self, message: OutboxPlace, order: &ControlOrder) -> Result<LetGo, Fault> {
        self.send("let_go").await?.let_go(message, order).await
    }

    async fn outbox(&self, limit: u32) -> Result<OutboxStanding, Fault> {
        self.send("outbox").await?.outbox(limit).await
    }
}

#[async_trait]
impl ControlStore for Wire {
    async fn order(&self, order: &ControlOrder) -> Result<Ordered, Fault> {
        self.send("order").await?.order(order).await
    }

    async fn ordered(&self, operation_id: &str) -> Result<Option<StoredOrder>, Fault> {
        self.send("ordered").await?.ordered(operation_id).await
    }

    async fn controls(&self) -> Result<Vec<ControlRow>, Fault> {
        self.send("controls").await?.controls().await
    }
}
