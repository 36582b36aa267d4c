//! The tables of the in-memory store: one value, changed only under its lock.
//!
//! A commit is checked against everything first and written afterwards, so nothing has to be undone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use amends_core::{Incarnation, SagaId, Timestamp};
use uuid::Uuid;

use super::control::Controls;
use super::hints::Listeners;
use super::intake::Intake;
use super::mail::Mailbox;
use super::nodes::Worker;
use super::outbox::Outbox;
use crate::ports::{
    Claim, Commit, CompensationChange, CompensationParticulars, CompensationRow, ItemChange, JournalRow,
    Loaded, Mail, NewSaga, Posted, SagaChange, SagaRow, Sharing, StoredMail, Verdict, WorkItemRow,
    WriteStats, kept_outcome,
};

/// The phase of a saga that was purged.
const PURGED: &str = "purged";

/// When a saga is due, and when that was decided.
#[derive(Clone, Copy)]
struct Wake {
    at: Timestamp,
    set_at: Timestamp,
}

/// Everything the store holds.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) sharing: Sharing,
    pub(super) workers: BTreeMap<Incarnation, Worker>,
    /// Incarnations that had a `worker` row once.
    pub(super) ended: BTreeSet<Incarnation>,
    sagas: BTreeMap<SagaId, SagaRow>,
    keys: BTreeMap<(Arc<str>, Arc<str>), SagaId>,
    /// Sagas that have a `wake_at`, hence no owner, with the time it was set: the index that claims read. Its
    /// entries follow [`Tables::place`], the only function that changes owner or wake-up time.
    due: BTreeMap<(Timestamp, SagaId), Timestamp>,
    journals: BTreeMap<SagaId, BTreeMap<u64, JournalRow>>,
    items: BTreeMap<(SagaId, String), WorkItemRow>,
    compensations: BTreeMap<Uuid, (SagaId, CompensationRow)>,
    mailbox: Mailbox,
    pub(super) listeners: Listeners,
    pub(super) outbox: Outbox,
    pub(super) controls: Controls,
    pub(super) intake: Intake,
    pub(super) stats: WriteStats,
}

impl Tables {
    pub(super) fn shared() -> Self {
        Self { sharing: Sharing::Shared, ..Self::default() }
    }

    /// No owner, and due.
    pub(super) fn due_now(&mut self, saga: SagaId, now: Timestamp) {
        self.place(saga, None, Some(Wake { at: now, set_at: now }));
    }

    /// Sagas that are not due at `now`, whose wake-up time was set after `latest`.
    pub(super) fn set_after(&self, now: Timestamp, latest: Timestamp) -> impl Iterator<Item = SagaId> {
        let ahead =
            move |((at, _), set_at): &(&(Timestamp, SagaId), &Timestamp)| *at > now && **set_at > latest;
        self.due.iter().filter(ahead).map(|((_, saga), _)| *saga)
    }

    /// Changes who owns a saga and when it is due, and the index with it.
    fn place(&mut self, saga: SagaId, owner: Option<Incarnation>, wake: Option<Wake>) {
        assert!(owner.is_none() || wake.is_none(), "an owned saga is not due");
        let Some(row) = self.sagas.get_mut(&saga) else { return };
        if let Some(was) = row.wake_at.take() {
            self.due.remove(&(was, saga));
        }
        row.owner = owner;
        row.wake_at = wake.map(|wake| wake.at);
        if let Some(wake) = wake {
            self.due.insert((wake.at, saga), wake.set_at);
            if wake.at <= wake.set_at {
                self.listeners.hint(None);
            }
        }
    }

    /// Writes one commit, or finds why not.
    pub(super) fn commit(&mut self, incarnation: Incarnation, commit: &Commit) -> Verdict {
        if let Some(reason) = commit.unstorable() {
            return Verdict::Unstorable { reason };
        }
        if let Some(standing) = self.journals.get(&commit.saga).and_then(|rows| rows.get(&commit.journal.seq))
        {
            let mine = standing.transition == commit.journal.transition;
            return if mine { Verdict::Accepted } else { Verdict::Occupied { by: standing.transition } };
        }
        if let Some(new) = &commit.start {
            if let Some(holder) = self.find(&new.definition.workflow, &new.key) {
                return Verdict::KeyTaken(Box::new(holder.clone()));
            }
            self.insert(commit.saga, new, incarnation);
        }
        self.journals.entry(commit.saga).or_default().insert(commit.journal.seq, commit.journal.clone());
        self.stats.journal_rows += 1;
        if let Some(change) = &commit.change {
            self.change(commit.saga, incarnation, change, commit.journal.at);
        }
        for change in &commit.items {
            self.item(commit.saga, change);
        }
        for change in &commit.compensations {
            self.compensation(commit.saga, change);
        }
        for mail in &commit.mail {
            let consumed = self.mailbox.consume(commit.saga, commit.journal.seq, mail);
            self.stats.mail += u64::from(consumed);
        }
        self.outbox.put(commit);
        self.stats.outbox += commit.outbox.len() as u64;
        Verdict::Accepted
    }

    fn insert(&mut self, id: SagaId, new: &NewSaga, owner: Incarnation) {
        let row = SagaRow {
            id,
            definition: new.definition.clone(),
            key: new.key.clone(),
            input_digest: new.input_digest,
            phase: "running".to_owned(),
            outcome: None,
            owner: Some(owner),
            wake_at: None,
            open_actions: 0,
            started_at: new.started_at,
            ended_at: None,
            set_aside: None,
            tenant: new.tenant.clone(),
            labels: new.labels.clone(),
        };
        self.keys.insert((new.definition.workflow.clone(), new.key.clone()), id);
        self.sagas.insert(id, row);
        self.stats.saga_inserts += 1;
    }

    /// The phase follows the accepted row always; owner and wake-up time only if the saga is mine or ended.
    fn change(&mut self, saga: SagaId, incarnation: Incarnation, change: &SagaChange, at: Timestamp) {
        let Some(row) = self.sagas.get_mut(&saga) else { return };
        row.phase = change.phase.to_owned();
        row.outcome.clone_from(&change.outcome);
        row.open_actions = change.open_actions;
        row.ended_at = change.ended_at;
        self.stats.saga_updates += 1;
        let ended = change.ended_at.is_some();
        if change.gives_up() && (ended || row.owner == Some(incarnation)) {
            let wake_at = change.release.and_then(|release| release.wake_at);
            let wake_at = if row.set_aside.is_some() { None } else { wake_at };
            self.place(saga, None, wake_at.map(|wake_at| Wake { at: wake_at, set_at: at }));
        }
    }

    fn item(&mut self, saga: SagaId, change: &ItemChange) {
        match change {
            ItemChange::Put(row) => {
                self.items.insert((saga, row.item.clone()), WorkItemRow::clone(row));
            }
            ItemChange::Remove(item) => {
                self.items.remove(&(saga, item.clone()));
            }
        }
        self.stats.work_items += 1;
    }

    fn compensation(&mut self, saga: SagaId, change: &CompensationChange) {
        match change {
            CompensationChange::Requested {
                id,
                step,
                business_key,
                reason_code,
                requested_by,
                approved_by,
                particulars,
                created_at,
            } => {
                let row = CompensationRow {
                    id: *id,
                    step: step.clone(),
                    business_key: business_key.clone(),
                    reason_code: reason_code.clone(),
                    requested_by: requested_by.clone(),
                    approved_by: approved_by.clone(),
                    particulars: CompensationParticulars::clone(particulars),
                    created_at: *created_at,
                    ended_at: None,
                    result: None,
                };
                self.compensations.entry(*id).or_insert((saga, row));
            }
            CompensationChange::Approved { id, approved_by } => {
                if let Some((_, row)) = self.compensations.get_mut(id) {
                    row.approved_by = Some(approved_by.clone());
                }
            }
            CompensationChange::Ended { id, ended_at, result } => {
                if let Some((_, row)) = self.compensations.get_mut(id) {
                    row.ended_at = Some(*ended_at);
                    row.result = Some(result.clone());
                }
            }
        }
        self.stats.compensations += 1;
    }

    pub(super) fn claim(&mut self, claim: &Claim) -> Vec<SagaId> {
        let takes = |row: &SagaRow| {
            row.owner.is_none()
                && row.set_aside.is_none()
                && row.phase != PURGED
                && claim.definitions.contains(&row.definition)
        };
        let taken: Vec<SagaId> = match claim.only {
            Some(saga) => {
                let free = claim.limit > 0 && self.sagas.get(&saga).is_some_and(takes);
                free.then_some(saga).into_iter().collect()
            }
            None => {
                let by_time = self.due.iter().take_while(|((at, _), _)| *at <= claim.now);
                let by_time: Vec<SagaId> = by_time
                    .filter_map(|((_, saga), _)| self.sagas.get(saga))
                    .filter(|row| takes(row))
                    .take(claim.limit as usize)
                    .map(|row| row.id)
                    .collect();
                let left = claim.limit as usize - by_time.len();
                let by_mail = self
                    .mailbox
                    .addressees()
                    .filter(|saga| !by_time.contains(saga) && self.sagas.get(saga).is_some_and(takes))
                    .take(left);
                by_time.iter().copied().chain(by_mail).collect()
            }
        };
        for saga in &taken {
            self.place(*saga, Some(claim.incarnation), None);
        }
        self.stats.claims += taken.len() as u64;
        taken
    }

    /// What another node owns is left alone.
    pub(super) fn set_aside(&mut self, by: Incarnation, saga: SagaId, reason: &str) {
        if self.sagas.get(&saga).is_some_and(|row| row.owner.is_some_and(|owner| owner != by)) {
            return;
        }
        self.place(saga, None, None);
        if let Some(row) = self.sagas.get_mut(&saga) {
            row.set_aside.get_or_insert_with(|| reason.to_owned());
        }
    }

    pub(super) fn post(&mut self, mail: &Mail, open_max: u32) -> Posted {
        if let Some(reason) = mail.unstorable() {
            return Posted::Unstorable { reason };
        }
        match self.sagas.get(&mail.saga) {
            None => return Posted::NoSuchSaga,
            Some(row) if row.phase == PURGED => return Posted::Purged,
            Some(_) => {}
        }
        let posted = self.mailbox.post(mail, open_max);
        if posted == Posted::Accepted {
            self.stats.mail += 1;
            self.listeners.hint(self.sagas.get(&mail.saga).and_then(|row| row.owner));
        }
        posted
    }

    /// Unread mail of the sagas that `incarnation` owns, in the order of ids.
    pub(super) fn unread(&self, incarnation: Incarnation, only: Option<SagaId>, limit: usize) -> Vec<Mail> {
        let mine = |saga: &SagaId| {
            only.is_none_or(|only| only == *saga)
                && self.sagas.get(saga).is_some_and(|row| row.owner == Some(incarnation))
        };
        let mut unread: Vec<Mail> = self
            .mailbox
            .addressees()
            .filter(mine)
            .flat_map(|saga| self.mailbox.unread_of(saga))
            .cloned()
            .collect();
        unread.sort_by_key(|mail| mail.id);
        unread.truncate(limit);
        unread
    }

    pub(super) fn mail(&self, saga: SagaId, key: &str) -> Option<&StoredMail> {
        self.mailbox.find(saga, key)
    }

    pub(super) fn mail_of(&self, saga: SagaId) -> impl Iterator<Item = &StoredMail> {
        self.mailbox.of(saga)
    }

    /// Purges what ended before then and may be purged, the earliest end first; answers how many.
    pub(super) fn purge(&mut self, ended_before: Timestamp, limit: usize) -> usize {
        let at_rest = |row: &SagaRow| {
            row.owner.is_none() && row.wake_at.is_none() && row.open_actions == 0 && row.set_aside.is_none()
        };
        let waits = |saga: SagaId| {
            let desk = (saga, String::new())..;
            self.items.range(desk).next().is_some_and(|((of, _), _)| *of == saga)
                || self.mailbox.unread_of(saga).next().is_some()
        };
        let mut old: Vec<(Timestamp, SagaId)> = self
            .sagas
            .values()
            .filter(|row| row.phase != PURGED && at_rest(row) && !waits(row.id))
            .filter_map(|row| Some((row.ended_at.filter(|at| *at < ended_before)?, row.id)))
            .collect();
        old.sort_unstable();
        old.truncate(limit);
        for (_, saga) in &old {
            self.journals.remove(saga);
            self.compensations.retain(|_, (of, _)| of != saga);
            self.mailbox.remove(*saga);
            let Some(row) = self.sagas.get_mut(saga) else { continue };
            row.outcome = Some(kept_outcome(&row.phase, row.outcome.as_deref()));
            row.phase = PURGED.to_owned();
            row.tenant = None;
            row.labels.clear();
        }
        old.len()
    }

    /// What is left of purged sagas that ended before then goes; answers how many.
    pub(super) fn forget(&mut self, ended_before: Timestamp, limit: usize) -> usize {
        let is_old = |row: &&SagaRow| row.phase == PURGED && row.ended_at.is_some_and(|at| at < ended_before);
        let old: Vec<SagaId> = self.sagas.values().filter(is_old).take(limit).map(|row| row.id).collect();
        for saga in &old {
            if let Some(row) = self.sagas.remove(saga) {
                self.keys.remove(&(row.definition.workflow, row.key));
            }
        }
        old.len()
    }

    pub(super) fn find(&self, workflow: &str, key: &str) -> Option<&SagaRow> {
        self.sagas.get(self.keys.get(&(Arc::from(workflow), Arc::from(key)))?)
    }

    pub(super) fn load(&self, saga: SagaId) -> Option<Loaded> {
        let row = self.sagas.get(&saga)?.clone();
        let journal =
            self.journals.get(&saga).map(|rows| rows.values().cloned().collect()).unwrap_or_default();
        Some(Loaded { row, journal })
    }

    /// Sagas in id order, after `after`.
    pub(super) fn sagas(&self, after: Option<SagaId>) -> impl Iterator<Item = &SagaRow> {
        let from = after.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
        self.sagas.range((from, std::ops::Bound::Unbounded)).map(|(_, row)| row)
    }

    pub(super) fn items(&self) -> impl Iterator<Item = (SagaId, &WorkItemRow)> {
        self.items.iter().map(|((saga, _), row)| (*saga, row))
    }

    /// Those of one saga.
    pub(super) fn items_of(&self, saga: SagaId) -> impl Iterator<Item = &WorkItemRow> {
        let from = (saga, String::new());
        self.items.range(from..).take_while(move |((of, _), _)| *of == saga).map(|(_, row)| row)
    }

    pub(super) fn saga(&self, saga: SagaId) -> Option<&SagaRow> {
        self.sagas.get(&saga)
    }

    pub(super) fn journal_rows(&self) -> impl Iterator<Item = &JournalRow> {
        self.journals.values().flat_map(BTreeMap::values)
    }

    pub(super) fn saga_count(&self) -> usize {
        self.sagas.len()
    }

    pub(super) fn compensations(&self, saga: SagaId) -> Vec<CompensationRow> {
        let mut rows: Vec<_> =
            self.compensations.values().filter(|(of, _)| *of == saga).map(|(_, row)| row.clone()).collect();
        rows.sort_by_key(|row| (row.created_at, row.id));
        rows
    }

    pub(super) fn compensation_count(&self) -> usize {
        self.compensations.len()
    }
}
