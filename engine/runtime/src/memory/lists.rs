//! Lists of the in-memory store.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::MemoryStore;
use super::tables::Tables;
use crate::ports::{
    DeskEntry, DeskFilter, DeskGroup, DeskPage, DeskQuery, Fault, PAGE_MAX, SagaFilter, SagaPage, SagaRow,
};

impl Tables {
    pub(super) fn list(&self, filter: &SagaFilter) -> SagaPage {
        let limit = filter.limit.min(PAGE_MAX) as usize;
        let rows: Vec<SagaRow> =
            self.sagas(filter.after).filter(|row| self.lists(filter, row)).take(limit).cloned().collect();
        let is_full = limit > 0 && rows.len() == limit;
        let next = rows.last().map(|row| row.id).filter(|_| is_full);
        SagaPage { rows, damaged: Vec::new(), next }
    }

    fn lists(&self, filter: &SagaFilter, row: &SagaRow) -> bool {
        let is = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
        let mut entries = self.items_of(row.id);
        is(&filter.workflow, &row.definition.workflow)
            && is(&filter.phase, &row.phase)
            && (filter.tenant.is_none() || filter.tenant.as_deref() == row.tenant.as_deref())
            && filter.started_from.is_none_or(|from| row.started_at >= from)
            && filter.started_before.is_none_or(|before| row.started_at < before)
            && (!filter.set_aside || row.set_aside.is_some())
            && if filter.asks_for_entries() {
                entries.any(|item| is(&filter.reason, &item.reason) && is(&filter.step, &item.step))
            } else {
                !filter.needing_attention || row.set_aside.is_some() || entries.next().is_some()
            }
    }

    /// Entries in their order.
    fn entries(&self, filter: &DeskFilter) -> Vec<DeskEntry> {
        let of_tenant = |entry: &DeskEntry| {
            filter.tenant.is_none()
                || self.saga(entry.saga).is_some_and(|row| row.tenant.as_deref() == filter.tenant.as_deref())
        };
        let all = self.items().map(|(saga, item)| DeskEntry { saga, item: item.clone() });
        let mut entries: Vec<DeskEntry> =
            all.filter(|entry| filter.shows(&entry.item) && of_tenant(entry)).collect();
        entries.sort_by_key(DeskEntry::cursor);
        entries
    }

    fn desk_page(&self, filter: &DeskFilter) -> DeskPage {
        let limit = filter.limit.min(PAGE_MAX) as usize;
        let mut entries = self.entries(filter);
        entries.retain(|entry| filter.after.as_ref().is_none_or(|after| entry.cursor() > *after));
        entries.truncate(limit);
        let is_full = limit > 0 && entries.len() == limit;
        let next = entries.last().map(DeskEntry::cursor).filter(|_| is_full);
        DeskPage { entries, damaged: Vec::new(), next }
    }

    fn desk_groups(&self, filter: &DeskFilter) -> Vec<DeskGroup> {
        let mut groups: BTreeMap<_, DeskGroup> = BTreeMap::new();
        for DeskEntry { item, .. } in self.entries(filter) {
            let name = (item.desk, item.fingerprint.clone(), item.workflow.clone(), item.step.clone());
            let first = || DeskGroup {
                desk: item.desk.to_owned(),
                workflow: item.workflow.to_string(),
                step: item.step.clone(),
                fingerprint: item.fingerprint.clone(),
                entries: 0,
                oldest: item.since, // The oldest come first.
            };
            groups.entry(name).or_insert_with(first).entries += 1;
        }
        let mut groups: Vec<DeskGroup> = groups.into_values().collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.entries)); // Of equals the order of names stays.
        groups.truncate(filter.limit.min(PAGE_MAX) as usize);
        groups
    }
}

#[async_trait]
impl DeskQuery for MemoryStore {
    async fn desk_page(&self, filter: &DeskFilter) -> Result<DeskPage, Fault> {
        Ok(self.lock().desk_page(filter))
    }

    async fn desk_groups(&self, filter: &DeskFilter) -> Result<Vec<DeskGroup>, Fault> {
        Ok(self.lock().desk_groups(filter))
    }
}
