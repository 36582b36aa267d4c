//! What stands in the store, and how a run ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use amends::SagaView;
use amends::ports::{INTAKE_PAGE_MAX, IntakeFilter, IntakeRow, Loaded, SagaFilter, SagaRow};
use amends_core::SagaId;

use super::super::checkers::End;
use super::super::messages::{FaultyBroker, Source};
use super::super::mishaps;
use super::super::schedule::Act;
use super::super::summary::{Failure, Run, Summary, Violation};
use super::super::trouble::Trouble;
use super::{Playing, at_once};
use crate::world::settle::{Standing, standing};

impl Playing {
    pub(super) fn rows(&self) -> Vec<SagaRow> {
        let (store, mut rows) = (self.nodes.store().inner(), Vec::<SagaRow>::new());
        loop {
            let filter =
                SagaFilter { after: rows.last().map(|row| row.id), limit: 1_000, ..SagaFilter::default() };
            let page = at_once(store.list(&filter));
            if page.is_empty() {
                return rows;
            }
            rows.extend(page);
        }
    }

    pub(super) fn has_mail(&self, saga: SagaId) -> bool {
        let mail = at_once(self.nodes.store().inner().mail_of(saga, u32::MAX));
        mail.iter().any(|mail| mail.consumed_seq.is_none())
    }

    /// What was set aside is read once it can be read again.
    pub(super) fn unread(&self, rows: &[SagaRow]) -> Vec<SagaId> {
        let readable = rows.iter().filter(|row| row.set_aside.is_none()).map(|row| row.id);
        readable.filter(|saga| self.has_mail(*saga)).collect()
    }

    fn stored(&self) -> Vec<Loaded> {
        let sagas: Vec<SagaId> = self.rows().iter().map(|row| row.id).collect();
        let mut stored = at_once(self.nodes.store().inner().load(&sagas));
        for Loaded { row, journal } in stored.iter_mut().filter(|loaded| loaded.row.phase == "purged") {
            *journal = self.history.rows(row.id);
        }
        stored
    }

    /// What the broker, and the outbox, still have.
    fn unfinished(&self) -> Vec<String> {
        let Some(broker) = self.nodes.broker() else { return Vec::new() };
        let mut unfinished = broker.unfinished();
        let outbox = at_once(self.nodes.store().inner().outbox(1));
        let waits = outbox.counts.iter().map(|count| format!("{} of the outbox", count.waiting));
        unfinished.extend(waits);
        unfinished
    }

    fn intake(&self) -> Vec<IntakeRow> {
        let (store, mut all) = (self.nodes.store().inner(), Vec::<IntakeRow>::new());
        loop {
            let (after, limit) = (all.last().map(|row| row.id), INTAKE_PAGE_MAX);
            let filter = IntakeFilter { after, limit, closed_too: true, ..IntakeFilter::default() };
            let page = at_once(store.list_intake(&filter));
            if page.is_empty() {
                return all;
            }
            all.extend(page);
        }
    }

    /// Starts that nobody has answered, or whose event is not published.
    fn unanswered(&self) -> Vec<String> {
        let called =
            self.starts.iter().map(|start| format!("that of saga {} on {}", start.saga, start.place));
        let is_start = |act: &&Act| matches!(act, Act::Start { .. } | Act::Event { .. });
        let due = self.due.values().filter(is_start).map(|act| format!("{act:?}"));
        let unpublished = self.source.as_ref().map_or(0, Source::unpublished);
        let events = (unpublished > 0).then(|| format!("{unpublished} unpublished events"));
        called.chain(due).chain(events).collect()
    }

    /// Sagas that something still moves, or nobody.
    fn unsettled(&self) -> Vec<SagaId> {
        let now = self.nodes.now();
        let moves = |loaded: &Loaded| {
            let told = self.history.told(loaded.row.id)?;
            if told.state.phase.is_ended() && told.state.open_actions(&told.plan) == 0 {
                return None;
            }
            let view = SagaView::new(told.plan.clone(), loaded, now).ok()?;
            (standing(&view) != Standing::Settled).then_some(loaded.row.id)
        };
        self.stored().iter().filter_map(moves).collect()
    }

    pub(super) fn has_settled(&self) -> bool {
        let orders = at_once(self.nodes.store().inner().controls());
        let free = orders.iter().all(|order| order.key.starts_with("drain/"));
        let is_answered = self.unanswered().is_empty() && self.unfinished().is_empty();
        is_answered && free && self.unsettled().is_empty() && self.unread(&self.rows()).is_empty()
    }

    pub(super) fn end(&mut self) -> Result<(), Violation> {
        let ledger = self.nodes.cluster().ledger();
        ledger.catch_up_with_everything();
        let unsettled = self.unsettled();
        let unanswered = self.unanswered();
        let items = at_once(self.nodes.store().inner().desk(u32::MAX));
        self.of = unsettled.first().copied();
        let rows = self.rows();
        let unread = self.unread(&rows);
        let (stored, unfinished, intake) = (self.stored(), self.unfinished(), self.intake());
        let end = End { stored, items, unsettled, unanswered, unread, unfinished, intake };
        self.moment(&rows, &BTreeSet::new(), Some(&end))
    }

    /// How many sagas were purged, and perhaps forgotten.
    fn purged(&self) -> u64 {
        let whole = self.rows().iter().filter(|row| row.phase != "purged").count();
        (self.history.sagas().len() - whole) as u64
    }

    pub(super) fn told(mut self) -> Run {
        let now = self.nodes.now();
        let mut struck = std::mem::take(&mut self.struck);
        for (trouble, count) in self.nodes.store().struck() {
            *struck.entry(trouble).or_default() += count;
        }
        for (trouble, count) in self.nodes.broker().map(FaultyBroker::struck).unwrap_or_default() {
            *struck.entry(trouble).or_default() += count;
        }
        for (trouble, times) in [
            (Trouble::Purge, self.purged()),
            (Trouble::ClockSkew, self.nodes.skewed()),
            (Trouble::Scarce, self.waited.load(Ordering::Relaxed)),
        ] {
            if times > 0 {
                struck.insert(trouble, times);
            }
        }
        self.shapes.iter().flatten().for_each(|shape| mishaps::count(shape, &mut struck));
        let mut outcomes = BTreeMap::<String, u64>::new();
        let mut saga_time = Duration::ZERO;
        for told in self.history.sagas().values() {
            let phase = told.state.phase;
            let word = if phase.is_ended() { phase.word() } else { "on a desk" };
            *outcomes.entry(word.to_owned()).or_default() += 1;
            saga_time += told.state.ended_at.unwrap_or(now).since(told.state.started_at);
        }
        let summary = Summary {
            runs: 1,
            sagas: self.history.sagas().len() as u64,
            transitions: self.history.transitions(),
            outcomes,
            struck,
            virtual_time: now.since(self.begun),
            saga_time,
        };
        Run { summary, history: self.history.into_text() }
    }

    pub(super) fn failed(self, violation: Violation) -> Failure {
        let loaded = self.of.map(|saga| at_once(self.nodes.store().inner().load(&[saga])));
        let loaded = loaded.and_then(|mut loaded| loaded.pop());
        let loaded = loaded.map(|loaded| Loaded { journal: self.history.rows(loaded.row.id), ..loaded });
        let timeline = loaded.and_then(|loaded| {
            let told = self.history.told(loaded.row.id)?;
            Some(SagaView::new(told.plan.clone(), &loaded, self.nodes.now()).ok()?.timeline())
        });
        let transitions = self.history.transitions();
        Failure { setup: self.setup, violation, transitions, timeline, history: self.history.into_text() }
    }
}
