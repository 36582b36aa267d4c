//! The in-memory store as several nodes share it.

use std::time::Duration;

use amends_core::{Incarnation, SagaId, Timestamp};
use async_trait::async_trait;

use super::MemoryStore;
use super::tables::Tables;
use crate::ports::{Fault, Hints, NodeProfile, NodeRow, NodeStore, Peer, Sharing};

/// A row of `worker`.
#[derive(Debug)]
pub(super) struct Worker {
    beat: u64,
    node: String,
    /// It has asked for lanes of the outbox.
    pub(super) publishes: bool,
    started_at: Timestamp,
    pub(super) profile: NodeProfile,
}

impl Worker {
    pub(super) fn row(&self, incarnation: Incarnation) -> NodeRow {
        let Self { node, started_at, profile, .. } = self;
        NodeRow { incarnation, node: node.clone(), started_at: *started_at, profile: profile.clone() }
    }
}

impl Tables {
    pub(super) fn is_worker(&self, incarnation: Incarnation) -> bool {
        self.workers.contains_key(&incarnation)
    }

    pub(super) fn has_joined(&self, incarnation: Incarnation) -> bool {
        self.is_worker(incarnation) || self.ended.contains(&incarnation)
    }

    /// Registers `incarnation`; false if it was fenced out before. Where one process owns the store, it is the
    /// only one from then on.
    pub(super) fn join(&mut self, incarnation: Incarnation, node: &str, now: Timestamp) -> bool {
        if self.ended.contains(&incarnation) {
            return false;
        }
        self.workers.entry(incarnation).or_insert_with(|| Worker {
            beat: 0,
            node: node.to_owned(),
            publishes: false,
            started_at: now,
            profile: NodeProfile::default(),
        });
        if self.sharing == Sharing::Exclusive {
            let others = self.workers.extract_if(.., |worker, _| *worker != incarnation);
            self.ended.extend(others.map(|(worker, _)| worker));
            self.release_orphans(now, usize::MAX);
            self.mend_clock(now, crate::ports::CLOCK_TOLERANCE, usize::MAX);
        }
        true
    }

    pub(super) fn leave(&mut self, incarnation: Incarnation, now: Timestamp) {
        if self.workers.remove(&incarnation).is_some() {
            self.ended.insert(incarnation);
        }
        self.release_orphans(now, usize::MAX);
    }

    fn dismiss(&mut self, incarnation: Incarnation, seen: u64) -> bool {
        let stands = self.workers.get(&incarnation).is_some_and(|worker| worker.beat == seen);
        if stands {
            self.workers.remove(&incarnation);
            self.ended.insert(incarnation);
        }
        stands
    }

    /// Sagas whose owner has no worker row lose it, and are due.
    fn release_orphans(&mut self, now: Timestamp, limit: usize) -> usize {
        self.release_lanes();
        let orphaned = |owner: Option<Incarnation>| owner.is_some_and(|owner| !self.is_worker(owner));
        let orphans = self.sagas(None).filter(|row| orphaned(row.owner)).take(limit);
        let orphans: Vec<SagaId> = orphans.map(|row| row.id).collect();
        orphans.iter().for_each(|saga| self.due_now(*saga, now));
        orphans.len()
    }

    /// Wake-up times that a clock set which ran ahead of `now` are due.
    fn mend_clock(&mut self, now: Timestamp, tolerance: Duration, limit: usize) -> usize {
        let asleep: Vec<SagaId> = self.set_after(now, now + tolerance).take(limit).collect();
        asleep.iter().for_each(|saga| self.due_now(*saga, now));
        asleep.len()
    }
}

#[async_trait]
impl NodeStore for MemoryStore {
    fn sharing(&self) -> Sharing {
        self.lock().sharing
    }

    async fn beat(&self, incarnation: Incarnation, _within: Duration) -> Result<u64, Fault> {
        let mut tables = self.lock();
        let worker = tables.workers.get_mut(&incarnation).ok_or(Fault::Fenced)?;
        worker.beat += 1;
        Ok(worker.beat)
    }

    fn hints(&self, incarnation: Incarnation) -> Option<Hints> {
        let hints = self.lock().listeners.add(incarnation);
        hints.give();
        Some(hints)
    }

    async fn peers(&self) -> Result<Vec<Peer>, Fault> {
        let tables = self.lock();
        let peer = |(incarnation, Worker { beat, node, .. }): (&Incarnation, &Worker)| Peer {
            incarnation: *incarnation,
            beat: *beat,
            node: node.clone(),
        };
        Ok(tables.workers.iter().map(peer).collect())
    }

    async fn dismiss(&self, incarnation: Incarnation, seen: u64, _now: Timestamp) -> Result<bool, Fault> {
        Ok(self.lock().dismiss(incarnation, seen))
    }

    async fn release_orphans(&self, now: Timestamp, limit: u32) -> Result<u32, Fault> {
        let released = self.lock().release_orphans(now, limit as usize);
        Ok(u32::try_from(released).expect("it is at most the limit"))
    }

    async fn mend_clock(&self, now: Timestamp, tolerance: Duration, limit: u32) -> Result<u32, Fault> {
        let woken = self.lock().mend_clock(now, tolerance, limit as usize);
        Ok(u32::try_from(woken).expect("it is at most the limit"))
    }

    async fn mine(
        &self,
        incarnation: Incarnation,
        after: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<SagaId>, Fault> {
        let tables = self.lock();
        let owned = tables.sagas(after).filter(|row| row.owner == Some(incarnation));
        Ok(owned.take(limit as usize).map(|row| row.id).collect())
    }
}
