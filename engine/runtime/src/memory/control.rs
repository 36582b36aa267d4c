//! The controls of the in-memory store.

use std::collections::BTreeMap;
use std::sync::Arc;

use amends_core::Timestamp;
use async_trait::async_trait;

use super::MemoryStore;
use crate::ports::{CONTROLS_MAX, ControlOrder, ControlRow, ControlStore, Fault, Ordered, StoredOrder};

/// What is in force, and every order that was given.
#[derive(Debug, Default)]
pub(super) struct Controls {
    in_force: BTreeMap<Arc<str>, ControlRow>,
    orders: BTreeMap<String, StoredOrder>,
}

impl Controls {
    fn order(&mut self, order: &ControlOrder) -> Ordered {
        if let Some(reason) = order.unstorable() {
            return Ordered::Unstorable { reason };
        }
        if let Some(stored) = self.ordered(&order.operation_id) {
            return Ordered::Known(Box::new(stored.clone()));
        }
        let standing = self.in_force.get(&order.key).map(|row| row.value.clone());
        let in_force = u32::try_from(self.in_force.len()).unwrap_or(u32::MAX);
        if order.value.is_some() && standing.is_none() && in_force >= CONTROLS_MAX {
            return Ordered::Full { in_force };
        }
        let changed = standing != order.value;
        if changed {
            match order.row() {
                Some(row) => drop(self.in_force.insert(order.key.clone(), row)),
                None => drop(self.in_force.remove(&order.key)),
            }
        }
        self.keep(order, changed);
        Ordered::Done { changed }
    }

    pub(super) fn ordered(&self, operation_id: &str) -> Option<&StoredOrder> {
        self.orders.get(operation_id)
    }

    pub(super) fn keep(&mut self, order: &ControlOrder, changed: bool) {
        self.orders.insert(order.operation_id.clone(), StoredOrder { order: order.clone(), changed });
    }

    /// Removes orders that were given before then and whose control is not in force; answers how many.
    pub(super) fn purge(&mut self, given_before: Timestamp, limit: usize) -> usize {
        let in_force = |id: &str| self.in_force.values().any(|row| row.operation_id == id);
        let old = self.orders.iter().filter(|(id, stored)| stored.order.at < given_before && !in_force(id));
        let old: Vec<String> = old.take(limit).map(|(id, _)| id.clone()).collect();
        old.iter().for_each(|id| drop(self.orders.remove(id)));
        old.len()
    }
}

#[async_trait]
impl ControlStore for MemoryStore {
    async fn order(&self, order: &ControlOrder) -> Result<Ordered, Fault> {
        Ok(self.lock().controls.order(order))
    }

    async fn ordered(&self, operation_id: &str) -> Result<Option<StoredOrder>, Fault> {
        Ok(self.lock().controls.ordered(operation_id).cloned())
    }

    async fn controls(&self) -> Result<Vec<ControlRow>, Fault> {
        Ok(self.lock().controls.in_force.values().cloned().collect())
    }
}
