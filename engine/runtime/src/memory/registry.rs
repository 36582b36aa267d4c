//! What nodes of the in-memory store say of themselves.

use std::collections::BTreeMap;

use amends_core::Incarnation;
use async_trait::async_trait;

use super::MemoryStore;
use super::tables::Tables;
use crate::ports::{Fault, Introduced, NodeProfile, NodeRegistry, NodeRow, OpenSagas};

impl Tables {
    fn live_nodes(&self) -> Vec<NodeRow> {
        let live = self.workers.iter().map(|(incarnation, worker)| worker.row(*incarnation));
        live.collect()
    }

    fn introduce(&mut self, incarnation: Incarnation, profile: &NodeProfile) -> Result<Introduced, Fault> {
        if !self.is_worker(incarnation) {
            return Err(Fault::Fenced);
        }
        let other = |row: &NodeRow| {
            row.incarnation != incarnation
                && profile.lease.is_some()
                && row.profile.lease.is_some_and(|lease| Some(lease) != profile.lease)
        };
        let others: Vec<NodeRow> = self.live_nodes().into_iter().filter(other).collect();
        if !others.is_empty() {
            return Ok(Introduced::OtherLease(others));
        }
        if let Some(worker) = self.workers.get_mut(&incarnation) {
            worker.profile = profile.clone();
        }
        Ok(Introduced::Welcome)
    }

    fn open_sagas(&self) -> Vec<OpenSagas> {
        let open = self
            .sagas(None)
            .filter(|row| matches!(&*row.phase, "running" | "compensating") && row.set_aside.is_none());
        let mut all = BTreeMap::new();
        for row in open {
            let definition = &row.definition;
            let name = (definition.workflow.clone(), definition.version, definition.digest);
            let first = || OpenSagas { definition: definition.clone(), sagas: 0, oldest: row.id };
            all.entry(name).or_insert_with(first).sagas += 1; // In the order of ids: the first is the oldest.
        }
        all.into_values().collect()
    }
}

#[async_trait]
impl NodeRegistry for MemoryStore {
    async fn introduce(&self, incarnation: Incarnation, profile: &NodeProfile) -> Result<Introduced, Fault> {
        self.lock().introduce(incarnation, profile)
    }

    async fn joined(&self, incarnation: Incarnation) -> Result<bool, Fault> {
        Ok(self.lock().has_joined(incarnation))
    }

    async fn live_nodes(&self) -> Result<Vec<NodeRow>, Fault> {
        Ok(self.lock().live_nodes())
    }

    async fn open_sagas(&self) -> Result<Vec<OpenSagas>, Fault> {
        Ok(self.lock().open_sagas())
    }
}
