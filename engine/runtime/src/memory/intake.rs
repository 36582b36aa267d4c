//! The intake of the in-memory store.

use std::collections::BTreeMap;
use std::sync::Arc;

use amends_core::Timestamp;
use async_trait::async_trait;
use uuid::Uuid;

use super::MemoryStore;
use crate::ports::{
    Closing, Fault, Filed, INTAKE_PAGE_MAX, IntakeClosing, IntakeFilter, IntakePut, IntakeRow, IntakeStore,
};

/// Messages that became no saga, or belong to none.
#[derive(Debug, Default)]
pub(super) struct Intake {
    rows: BTreeMap<Uuid, IntakeRow>,
    keys: BTreeMap<(Arc<str>, Arc<str>), Uuid>,
}

impl Intake {
    fn put(&mut self, put: &IntakePut, open_max: u32) -> Filed {
        if let Some(reason) = put.unstorable() {
            return Filed::Unstorable { reason };
        }
        let key = (put.source.clone(), put.dedupe.clone());
        if let Some(row) = self.keys.get(&key).and_then(|id| self.rows.get_mut(id)) {
            if row.id == put.id {
                return Filed::New;
            }
            row.seen += 1;
            row.last_seen = row.last_seen.max(put.seen_at);
            return Filed::Again { id: row.id, seen: row.seen };
        }
        let open = self.rows.values().filter(|row| row.closed.is_none() && row.source == put.source).count();
        let open = u32::try_from(open).unwrap_or(u32::MAX);
        if open >= open_max {
            return Filed::Full { open };
        }
        self.keys.insert(key, put.id);
        self.rows.insert(put.id, IntakeRow::first(put));
        Filed::New
    }

    /// Messages that were closed before then go; answers how many.
    pub(super) fn purge(&mut self, closed_before: Timestamp, limit: usize) -> usize {
        let is_old = |row: &&IntakeRow| row.closed.as_ref().is_some_and(|closed| closed.at < closed_before);
        let old: Vec<Uuid> = self.rows.values().filter(is_old).take(limit).map(|row| row.id).collect();
        for id in &old {
            if let Some(row) = self.rows.remove(id) {
                self.keys.remove(&(row.source, row.dedupe));
            }
        }
        old.len()
    }

    fn close(&mut self, id: Uuid, closing: &IntakeClosing) -> Closing {
        if let Some(reason) = closing.unstorable() {
            return Closing::Unstorable { reason };
        }
        let Some(row) = self.rows.get_mut(&id) else { return Closing::NoSuchMessage };
        let standing = row.closed.get_or_insert_with(|| closing.clone());
        let same = closing.repeats(standing);
        let row = Box::new(row.clone());
        if same { Closing::Done(row) } else { Closing::Before(row) }
    }
}

#[async_trait]
impl IntakeStore for MemoryStore {
    async fn put_intake(&self, put: &IntakePut, open_max: u32) -> Result<Filed, Fault> {
        Ok(self.lock().intake.put(put, open_max))
    }

    async fn list_intake(&self, filter: &IntakeFilter) -> Result<Vec<IntakeRow>, Fault> {
        let tables = self.lock();
        let shown = tables.intake.rows.values().filter(|row| filter.shows(row));
        Ok(shown.take(filter.limit.min(INTAKE_PAGE_MAX) as usize).cloned().collect())
    }

    async fn read_intake(&self, id: Uuid) -> Result<Option<IntakeRow>, Fault> {
        Ok(self.lock().intake.rows.get(&id).cloned())
    }

    async fn close_intake(&self, id: Uuid, closing: &IntakeClosing) -> Result<Closing, Fault> {
        Ok(self.lock().intake.close(id, closing))
    }
}
