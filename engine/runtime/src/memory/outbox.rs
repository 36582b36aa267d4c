//! The outbox of the in-memory store.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use amends_core::{Incarnation, SagaId, Timestamp};
use async_trait::async_trait;
use uuid::Uuid;

use super::MemoryStore;
use super::tables::Tables;
use crate::ports::{
    Commit, ControlOrder, Fault, LetGo, OUTBOX_LANES, OutboxCount, OutboxKind, OutboxMessage, OutboxPlace,
    OutboxStanding, OutboxStore, REFUSAL_WAIT_MAX, RefusedMessage, lane_of,
};

/// Everything that is to be published.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// In the order of kind, saga and sequence.
    rows: BTreeMap<OutboxPlace, Row>,
    /// Lanes that have an owner.
    lanes: BTreeMap<u16, Incarnation>,
}

#[derive(Debug)]
struct Row {
    message: OutboxMessage,
    /// Why it was refused last, and when it is due again.
    refused: Option<(String, Timestamp)>,
}

impl Row {
    fn is_due(&self, now: Timestamp) -> bool {
        self.refused.as_ref().is_none_or(|(_, at)| *at <= now || *at > now + REFUSAL_WAIT_MAX)
    }
}

fn everything_of(kind: OutboxKind) -> RangeInclusive<OutboxPlace> {
    OutboxPlace { kind, saga: SagaId(Uuid::nil()), seq: 0, n: 0 }..=OutboxPlace {
        kind,
        saga: SagaId(Uuid::max()),
        seq: u64::MAX,
        n: u16::MAX,
    }
}

impl Outbox {
    /// Takes the messages of an accepted commit.
    pub(super) fn put(&mut self, commit: &Commit) {
        for (n, row) in (0..).zip(&commit.outbox) {
            let place = OutboxPlace { kind: row.kind, saga: commit.saga, seq: commit.journal.seq, n };
            let message = OutboxMessage {
                place,
                id: row.id,
                written_at: commit.journal.at,
                subject: row.subject.clone(),
                headers: row.headers.clone(),
                body: row.body.clone(),
                refusals: 0,
            };
            self.rows.insert(place, Row { message, refused: None });
        }
    }

    fn owns(&self, incarnation: Incarnation, saga: SagaId) -> bool {
        self.lanes.get(&lane_of(saga)) == Some(&incarnation)
    }

    fn lanes_of(&self, incarnation: Incarnation) -> Vec<u16> {
        self.lanes.iter().filter(|(_, owner)| **owner == incarnation).map(|(lane, _)| *lane).collect()
    }

    /// As many lanes as `share`, as far as there are free ones.
    fn claim(&mut self, incarnation: Incarnation, share: usize) -> Vec<u16> {
        let mine = self.lanes_of(incarnation);
        for lane in mine.iter().skip(share) {
            self.lanes.remove(lane);
        }
        let free: Vec<u16> = (0..OUTBOX_LANES).filter(|lane| !self.lanes.contains_key(lane)).collect();
        for lane in free.into_iter().take(share.saturating_sub(mine.len())) {
            self.lanes.insert(lane, incarnation);
        }
        self.lanes_of(incarnation)
    }

    fn unpublished(
        &self,
        incarnation: Incarnation,
        kind: OutboxKind,
        now: Timestamp,
        limit: usize,
    ) -> Vec<OutboxMessage> {
        let mut last = None;
        let ready = |row: &&Row| {
            let saga = row.message.place.saga;
            let waits_for_another = kind == OutboxKind::Event && last.replace(saga) == Some(saga);
            !waits_for_another && self.owns(incarnation, saga) && row.is_due(now)
        };
        let rows = self.rows.range(everything_of(kind)).map(|(_, row)| row);
        rows.filter(ready).take(limit).map(|row| row.message.clone()).collect()
    }

    fn standing(&self, limit: usize) -> OutboxStanding {
        let count = |kind| {
            let rows = || self.rows.range(everything_of(kind)).map(|(_, row)| row);
            Some(OutboxCount {
                kind,
                waiting: rows().count() as u64,
                oldest: rows().map(|row| row.message.written_at).min()?,
                refused: rows().filter(|row| row.refused.is_some()).count() as u64,
            })
        };
        let refused = |row: &Row| {
            let (reason, next_at) = row.refused.clone()?;
            Some(RefusedMessage { message: row.message.clone(), reason, next_at })
        };
        let mut refused: Vec<RefusedMessage> = self.rows.values().filter_map(refused).collect();
        refused.sort_by_key(|refused| (refused.message.written_at, refused.message.place.saga));
        refused.truncate(limit);
        OutboxStanding { counts: OutboxKind::ALL.into_iter().filter_map(count).collect(), refused }
    }
}

impl Tables {
    /// Lanes whose owner has no worker row lose it.
    pub(super) fn release_lanes(&mut self) {
        let Self { workers, outbox, .. } = self;
        outbox.lanes.retain(|_, owner| workers.contains_key(owner));
    }

    fn claim_lanes(&mut self, incarnation: Incarnation) -> Option<Vec<u16>> {
        self.workers.get_mut(&incarnation)?.publishes = true;
        let publishers = self.workers.values().filter(|worker| worker.publishes).count();
        let share = usize::from(OUTBOX_LANES).div_ceil(publishers);
        Some(self.outbox.claim(incarnation, share))
    }

    fn let_go(&mut self, message: OutboxPlace, order: &ControlOrder) -> LetGo {
        if let Some(reason) = order.unstorable() {
            return LetGo::Unstorable { reason };
        }
        if let Some(known) = self.controls.ordered(&order.operation_id) {
            return LetGo::Known(Box::new(known.clone()));
        }
        match self.outbox.rows.get(&message) {
            None => LetGo::NoSuchMessage,
            Some(row) if row.refused.is_none() => LetGo::NotRefused,
            Some(_) => {
                self.outbox.rows.remove(&message);
                self.stats.outbox += 1;
                self.controls.keep(order, true);
                LetGo::Done
            }
        }
    }

    fn fence(&self, incarnation: Incarnation) -> Result<(), Fault> {
        if self.is_worker(incarnation) { Ok(()) } else { Err(Fault::Fenced) }
    }
}

#[async_trait]
impl OutboxStore for MemoryStore {
    async fn claim_lanes(&self, incarnation: Incarnation) -> Result<Vec<u16>, Fault> {
        self.lock().claim_lanes(incarnation).ok_or(Fault::Fenced)
    }

    async fn unpublished(
        &self,
        incarnation: Incarnation,
        kind: OutboxKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<OutboxMessage>, Fault> {
        let tables = self.lock();
        tables.fence(incarnation)?;
        Ok(tables.outbox.unpublished(incarnation, kind, now, limit as usize))
    }

    async fn remove_published(
        &self,
        incarnation: Incarnation,
        published: &[OutboxPlace],
    ) -> Result<u32, Fault> {
        let mut tables = self.lock();
        tables.fence(incarnation)?;
        let mut removed = 0;
        for place in published {
            if tables.outbox.owns(incarnation, place.saga) && tables.outbox.rows.remove(place).is_some() {
                removed += 1;
            }
        }
        tables.stats.outbox += u64::from(removed);
        Ok(removed)
    }

    async fn note_refusal(
        &self,
        incarnation: Incarnation,
        refused: OutboxPlace,
        reason: &str,
        next_at: Timestamp,
    ) -> Result<(), Fault> {
        let mut tables = self.lock();
        tables.fence(incarnation)?;
        if !tables.outbox.owns(incarnation, refused.saga) {
            return Ok(());
        }
        let Some(row) = tables.outbox.rows.get_mut(&refused) else { return Ok(()) };
        row.message.refusals += 1;
        row.refused = Some((reason.to_owned(), next_at));
        tables.stats.outbox += 1;
        Ok(())
    }

    async fn let_go(&self, message: OutboxPlace, order: &ControlOrder) -> Result<LetGo, Fault> {
        Ok(self.lock().let_go(message, order))
    }

    async fn outbox(&self, limit: u32) -> Result<OutboxStanding, Fault> {
        Ok(self.lock().outbox.standing(limit as usize))
    }
}
