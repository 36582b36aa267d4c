//! The calls of the ports, each through the connection that fails.

use std::time::Duration;

use amends::ports::{
    Access, Claim, Commit, CompensationRow, ControlOrder, ControlRow, ControlStore, DeskFilter, DeskGroup,
    DeskPage, DeskQuery, Fault, Forward, Introduced, LetGo, Loaded, Mail, NodeProfile, NodeRegistry, NodeRow,
    NodeStore, OpenSagas, Ordered, OutboxKind, OutboxMessage, OutboxPlace, OutboxStanding, OutboxStore, Peer,
    Posted, SagaFilter, SagaMail, SagaPage, SagaQuery, SagaRow, SagaStore, Sharing, Store, StoreCounts,
    StoredMail, StoredOrder, Verdict, WorkItemRow,
};
use amends_core::{Incarnation, SagaId, Timestamp};
use async_trait::async_trait;

use super::{CLAIMS_STRUCK, Fate, FaultyStore, Ghost, lost};
use crate::simulation::trouble::Trouble;

#[async_trait]
impl SagaStore for FaultyStore {
    async fn join(&self, incarnation: Incarnation, node: &str, now: Timestamp) -> Result<(), Fault> {
        self.arrive(Some(incarnation), true).await?;
        self.inner.join(incarnation, node, now).await?;
        self.answer(())
    }

    fn writers(&self) -> usize {
        self.inner.writers()
    }

    async fn commit(&self, incarnation: Incarnation, batch: &[Commit]) -> Result<Vec<Verdict>, Fault> {
        self.arrive(Some(incarnation), true).await?;
        let fate = self.state().fate();
        match fate {
            Fate::Well => {
                let verdicts = self.write(incarnation, batch).await?;
                self.answer(verdicts)
            }
            Fate::DiesBefore => {
                self.die(incarnation).await;
                Err(lost())
            }
            Fate::DiesAfter => {
                self.write(incarnation, batch).await?;
                self.die(incarnation).await;
                Err(lost())
            }
            Fate::AnswerLost => {
                self.write(incarnation, batch).await?;
                Err(lost())
            }
            Fate::Ghost(later) => {
                let at = self.clock.now() + later;
                self.state().ghosts.push(Ghost { at, by: incarnation, batch: batch.to_vec() });
                Err(lost())
            }
        }
    }

    async fn claim(&self, claim: &Claim) -> Result<Vec<SagaId>, Fault> {
        self.arrive(Some(claim.incarnation), true).await?;
        if claim.only.is_some_and(|saga| self.state().held_sagas.contains(&saga)) {
            return self.answer(Vec::new());
        }
        let taken = self.inner.claim(claim).await?;
        if !taken.is_empty() && self.state().strikes(Trouble::LostClaim, CLAIMS_STRUCK) {
            return Err(lost());
        }
        self.answer(taken)
    }

    async fn load(&self, sagas: &[SagaId]) -> Result<Vec<Loaded>, Fault> {
        self.arrive(None, false).await?;
        self.inner.load(sagas).await
    }

    async fn set_aside(
        &self,
        incarnation: Incarnation,
        saga: SagaId,
        reason: &str,
        now: Timestamp,
    ) -> Result<bool, Fault> {
        self.arrive(Some(incarnation), true).await?;
        if self.state().held_sagas.contains(&saga) {
            return self.answer(false);
        }
        let done = self.inner.set_aside(incarnation, saga, reason, now).await?;
        self.answer(done)
    }

    async fn leave(&self, incarnation: Incarnation, now: Timestamp) -> Result<(), Fault> {
        self.arrive(Some(incarnation), true).await?;
        self.inner.leave(incarnation, now).await?;
        self.ended(incarnation);
        self.answer(())
    }
}

#[async_trait]
impl Forward for FaultyStore {
    fn behind(&self) -> &dyn Store {
        &*self.inner
    }

    async fn on_the_way(&self, _call: &'static str, access: Access) -> Result<(), Fault> {
        self.arrive(None, access == Access::Writes).await
    }

    fn on_the_way_back(&self, _call: &'static str, _access: Access) -> Result<(), Fault> {
        self.answer(())
    }
}

#[async_trait]
impl NodeStore for FaultyStore {
    fn sharing(&self) -> Sharing {
        self.inner.sharing()
    }

    async fn beat(&self, incarnation: Incarnation, within: Duration) -> Result<u64, Fault> {
        self.arrive(Some(incarnation), true).await?;
        self.inner.beat(incarnation, within).await
    }

    async fn peers(&self) -> Result<Vec<Peer>, Fault> {
        self.arrive(None, false).await?;
        self.inner.peers().await
    }

    async fn dismiss(&self, incarnation: Incarnation, seen: u64, now: Timestamp) -> Result<bool, Fault> {
        self.arrive(None, true).await?;
        let dismissed = self.inner.dismiss(incarnation, seen, now).await?;
        if dismissed {
            self.ended(incarnation);
        }
        self.answer(dismissed)
    }

    async fn release_orphans(&self, now: Timestamp, limit: u32) -> Result<u32, Fault> {
        self.arrive(None, true).await?;
        let released = self.inner.release_orphans(now, limit).await?;
        self.answer(released)
    }

    async fn mend_clock(&self, now: Timestamp, tolerance: Duration, limit: u32) -> Result<u32, Fault> {
        self.arrive(None, true).await?;
        let mended = self.inner.mend_clock(now, tolerance, limit).await?;
        self.answer(mended)
    }

    async fn mine(
        &self,
        incarnation: Incarnation,
        after: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<SagaId>, Fault> {
        self.arrive(Some(incarnation), false).await?;
        self.inner.mine(incarnation, after, limit).await
    }
}

#[async_trait]
impl NodeRegistry for FaultyStore {
    async fn introduce(&self, incarnation: Incarnation, profile: &NodeProfile) -> Result<Introduced, Fault> {
        self.arrive(Some(incarnation), true).await?;
        let introduced = self.inner.introduce(incarnation, profile).await?;
        self.answer(introduced)
    }

    async fn joined(&self, incarnation: Incarnation) -> Result<bool, Fault> {
        self.arrive(None, false).await?;
        self.inner.joined(incarnation).await
    }

    async fn live_nodes(&self) -> Result<Vec<NodeRow>, Fault> {
        self.arrive(None, false).await?;
        self.inner.live_nodes().await
    }

    async fn open_sagas(&self) -> Result<Vec<OpenSagas>, Fault> {
        self.arrive(None, false).await?;
        self.inner.open_sagas().await
    }
}

#[async_trait]
impl SagaQuery for FaultyStore {
    async fn find(&self, workflow: &str, key: &str) -> Result<Option<SagaRow>, Fault> {
        self.arrive(None, false).await?;
        self.inner.find(workflow, key).await
    }

    async fn read(&self, saga: SagaId) -> Result<Option<Loaded>, Fault> {
        self.arrive(None, false).await?;
        self.inner.read(saga).await
    }

    async fn list(&self, filter: &SagaFilter) -> Result<SagaPage, Fault> {
        self.arrive(None, false).await?;
        self.inner.list(filter).await
    }

    async fn desk(&self, limit: u32) -> Result<Vec<(SagaId, WorkItemRow)>, Fault> {
        self.arrive(None, false).await?;
        self.inner.desk(limit).await
    }

    async fn compensations(&self, saga: SagaId) -> Result<Vec<CompensationRow>, Fault> {
        self.arrive(None, false).await?;
        self.inner.compensations(saga).await
    }

    async fn counts(&self) -> Result<StoreCounts, Fault> {
        self.arrive(None, false).await?;
        self.inner.counts().await
    }
}

#[async_trait]
impl DeskQuery for FaultyStore {
    async fn desk_page(&self, filter: &DeskFilter) -> Result<DeskPage, Fault> {
        self.arrive(None, false).await?;
        self.inner.desk_page(filter).await
    }

    async fn desk_groups(&self, filter: &DeskFilter) -> Result<Vec<DeskGroup>, Fault> {
        self.arrive(None, false).await?;
        self.inner.desk_groups(filter).await
    }
}

#[async_trait]
impl SagaMail for FaultyStore {
    async fn post(&self, mail: &Mail, open_max: u32) -> Result<Posted, Fault> {
        self.arrive(None, true).await?;
        let posted = self.inner.post(mail, open_max).await?;
        self.answer(posted)
    }

    async fn unread(
        &self,
        incarnation: Incarnation,
        only: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<Mail>, Fault> {
        self.arrive(Some(incarnation), false).await?;
        self.inner.unread(incarnation, only, limit).await
    }

    async fn mail(&self, saga: SagaId, key: &str) -> Result<Option<StoredMail>, Fault> {
        self.arrive(None, false).await?;
        self.inner.mail(saga, key).await
    }

    async fn mail_of(&self, saga: SagaId, limit: u32) -> Result<Vec<StoredMail>, Fault> {
        self.arrive(None, false).await?;
        self.inner.mail_of(saga, limit).await
    }
}

#[async_trait]
impl OutboxStore for FaultyStore {
    async fn claim_lanes(&self, incarnation: Incarnation) -> Result<Vec<u16>, Fault> {
        self.arrive(Some(incarnation), true).await?;
        let answer = self.inner.claim_lanes(incarnation).await?;
        self.answer(answer)
    }

    async fn unpublished(
        &self,
        incarnation: Incarnation,
        kind: OutboxKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<OutboxMessage>, Fault> {
        self.arrive(Some(incarnation), false).await?;
        self.inner.unpublished(incarnation, kind, now, limit).await
    }

    async fn remove_published(
        &self,
        incarnation: Incarnation,
        published: &[OutboxPlace],
    ) -> Result<u32, Fault> {
        self.arrive(Some(incarnation), true).await?;
        let answer = self.inner.remove_published(incarnation, published).await?;
        self.answer(answer)
    }

    async fn note_refusal(
        &self,
        incarnation: Incarnation,
        refused: OutboxPlace,
        reason: &str,
        next_at: Timestamp,
    ) -> Result<(), Fault> {
        self.arrive(Some(incarnation), true).await?;
        let answer = self.inner.note_refusal(incarnation, refused, reason, next_at).await?;
        self.answer(answer)
    }

    async fn let_go(&self, message: OutboxPlace, order: &ControlOrder) -> Result<LetGo, Fault> {
        self.arrive(None, true).await?;
        let answer = self.inner.let_go(message, order).await?;
        self.answer(answer)
    }

    async fn outbox(&self, limit: u32) -> Result<OutboxStanding, Fault> {
        self.arrive(None, false).await?;
        self.inner.outbox(limit).await
    }
}

#[async_trait]
impl ControlStore for FaultyStore {
    async fn order(&self, order: &ControlOrder) -> Result<Ordered, Fault> {
        self.arrive(None, true).await?;
        let ordered = self.inner.order(order).await?;
        self.answer(ordered)
    }

    async fn ordered(&self, operation_id: &str) -> Result<Option<StoredOrder>, Fault> {
        self.arrive(None, false).await?;
        self.inner.ordered(operation_id).await
    }

    async fn controls(&self) -> Result<Vec<ControlRow>, Fault> {
        self.arrive(None, false).await?;
        self.inner.controls().await
    }
}
