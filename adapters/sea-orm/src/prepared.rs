//! A batch as its writer holds it, the same on every backend: judged, sorted, and cheap to bind again.

use std::sync::Arc;

use amends::ports::{
    Commit, CompensationChange, ConsumedMail, Fault, ItemChange, NewSaga, OutboxRow, SagaChange, SagaRow,
    Verdict,
};
use sea_orm::{FromQueryResult as _, QueryResult};
use uuid::Uuid;

use crate::entity::saga;
use crate::failure::fault;

/// A commit whose bound values are shared, so that binding it again copies nothing.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    /// Where its verdict goes in the caller's batch.
    pub(crate) position: usize,
    pub(crate) saga: Uuid,
    pub(crate) transition: Uuid,
    pub(crate) seq: i64,
    pub(crate) at: i64,
    pub(crate) actor: Arc<str>,
    pub(crate) events: Arc<str>,
    pub(crate) start: Option<NewSaga>,
    pub(crate) change: Option<SagaChange>,
    pub(crate) items: Vec<ItemChange>,
    pub(crate) compensations: Vec<CompensationChange>,
    pub(crate) mail: Vec<ConsumedMail>,
    pub(crate) outbox: Vec<OutboxRow>,
}

impl Prepared {
    /// `commit` must not be [unstorable](Commit::unstorable).
    fn new(position: usize, commit: &Commit) -> Self {
        let journal = &commit.journal;
        Self {
            position,
            saga: commit.saga.0,
            transition: journal.transition.0,
            seq: i64::try_from(journal.seq).expect("a storable commit's sequence fits"),
            at: journal.at.0,
            actor: journal.actor.clone(),
            events: Arc::from(journal.events.as_str()),
            start: commit.start.clone(),
            change: commit.change.clone(),
            items: commit.items.clone(),
            compensations: commit.compensations.clone(),
            mail: commit.mail.clone(),
            outbox: commit.outbox.clone(),
        }
    }
}

/// The verdicts of a caller's batch, as far as they are known.
pub(crate) struct Verdicts(Vec<Option<Verdict>>);

impl Verdicts {
    /// Judges what no store takes, and sorts the rest by saga: all writers take their locks in that order.
    ///
    /// # Panics
    /// If the batch holds two commits of one saga: the caller's mistake.
    pub(crate) fn begin(batch: &[Commit]) -> (Self, Vec<Prepared>) {
        let mut verdicts = Vec::with_capacity(batch.len());
        let mut prepared = Vec::with_capacity(batch.len());
        for (position, commit) in batch.iter().enumerate() {
            let refused = commit.unstorable().map(|reason| Verdict::Unstorable { reason });
            if refused.is_none() {
                prepared.push(Prepared::new(position, commit));
            }
            verdicts.push(refused);
        }
        prepared.sort_unstable_by_key(|commit| commit.saga);
        let unique = prepared.windows(2).all(|pair| pair[0].saga != pair[1].saga);
        assert!(unique, "at most one commit per saga and batch");
        (Self(verdicts), prepared)
    }

    /// With what the writer found of the prepared ones.
    pub(crate) fn end(mut self, found: Vec<(usize, Verdict)>) -> Vec<Verdict> {
        for (position, verdict) in found {
            self.0[position] = Some(verdict);
        }
        self.0.into_iter().map(|verdict| verdict.expect("the writer judges each commit")).collect()
    }
}

/// The verdict on a start whose key is held by the saga of this row.
///
/// # Errors
/// The way to the row failed. A row that cannot be read is no error: it refuses the starts under its own key,
/// not the whole batch.
pub(crate) fn key_taken(saga: Uuid, row: &QueryResult) -> Result<Verdict, Fault> {
    let row = saga::Model::from_query_result(row, "").map_err(fault).and_then(SagaRow::try_from);
    match row {
        Ok(row) => Ok(Verdict::KeyTaken(Box::new(row))),
        Err(Fault::Corrupt(reason)) => Ok(Verdict::Unstorable {
            reason: format!("the saga {saga} holds its key and cannot be read: {reason}"),
        }),
        Err(fault) => Err(fault),
    }
}
