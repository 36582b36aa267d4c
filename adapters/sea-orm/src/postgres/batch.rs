//! One batch: one statement, and what to think of its answer.
//!
//! The statement says how many transitions it accepted. If that is all of them, nothing is left to ask. If not,
//! new statements look at what stands: my transition id is success, another's is not, and a start that is not
//! there met a key that is taken. They must be new ones, because a statement sees only what was committed
//! before it began, which is neither what it wrote nor what it waited for.

use std::collections::{HashMap, HashSet};

use amends::ports::{
    CompensationChange, CompensationParticulars, ConsumedMail, Fault, ItemChange, Label, Mail, NewSaga,
    OutboxRow, SagaChange, Verdict, WorkItemRow, WriteStats,
};
use amends_core::{Incarnation, SagaId, TransitionId};
use async_trait::async_trait;
use sea_orm::QueryResult;
use sea_orm::sqlx::postgres::{PgArguments, PgConnection, Postgres};
use sea_orm::sqlx::query::Query;
use sea_orm::sqlx::{self, Row as _};
use uuid::Uuid;

use super::held::{CanWrite, Patiences};
use super::outbox::lane;
use super::runner::Runner;
use super::sql::{self, Parts};
use crate::failure::Failure;
use crate::prepared::{Prepared, key_taken};
use crate::split::{WriteBatch, Written};
use crate::stats::Counters;
use crate::unit::Unit;

/// How many times a batch is submitted when what it met is gone by the time one looks (a key that a purge or
/// another start gave up meanwhile).
const SUBMISSIONS_MAX: u32 = 5;

type Bound<'q> = Query<'q, Postgres, PgArguments>;

/// Writes parts of a batch through a runner.
pub(super) struct Writer<'a> {
    runner: &'a Runner,
    counters: &'a Counters,
    patiences: &'a Patiences,
    /// Some part was kept waiting: who of it is to blame is being found out.
    searching: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(runner: &'a Runner, counters: &'a Counters, patiences: &'a Patiences) -> Self {
        Self { runner, counters, patiences, searching: false }
    }

    /// A part was kept waiting: by what some of its commits need, if this incarnation can write at all.
    async fn kept_waiting(&mut self, incarnation: Incarnation, reason: String) -> Failure {
        if !self.searching {
            let can_write = CanWrite(incarnation);
            if let Err(failure) = self.runner.run_once(&self.patiences.hasty(&can_write)).await {
                return failure;
            }
            self.searching = true;
        }
        Failure::Held(reason)
    }
}

#[async_trait]
impl WriteBatch for Writer<'_> {
    async fn write(&mut self, incarnation: Incarnation, part: &[Prepared]) -> Result<Written, Failure> {
        let batch = Batch { incarnation, commits: part.iter().collect(), counters: self.counters };
        let ended = match self.searching {
            true => self.runner.run_once(&self.patiences.hasty(&batch)).await,
            false => self.runner.run_once(&batch).await,
        };
        match ended {
            // Each submission has counted what it wrote: one that fails later has written all the same.
            Ok(verdicts) => Ok(Written { verdicts, stats: WriteStats::default() }),
            Err(Failure::Busy(reason) | Failure::Slow(reason)) => {
                Err(self.kept_waiting(incarnation, reason).await)
            }
            Err(failure) => Err(failure),
        }
    }
}

/// One batch.
struct Batch<'a> {
    incarnation: Incarnation,
    commits: Vec<&'a Prepared>,
    counters: &'a Counters,
}

#[async_trait]
impl Unit<PgConnection> for Batch<'_> {
    type Done = Vec<Verdict>;

    async fn run(&self, connection: &mut PgConnection) -> Result<Vec<Verdict>, Failure> {
        for _ in 0..SUBMISSIONS_MAX {
            if self.submit(connection).await? == self.commits.len() as u64 {
                return Ok(vec![Verdict::Accepted; self.commits.len()]);
            }
            if let Some(verdicts) = self.verdicts(connection).await? {
                return Ok(verdicts);
            }
        }
        Err(Failure::Busy("what this batch met was gone each time one looked".to_owned()))
    }
}

impl Batch<'_> {
    fn parts(&self) -> Parts {
        let any = |has: fn(&Prepared) -> bool| self.commits.iter().any(|commit| has(commit));
        let parts = Parts {
            starts: any(|commit| commit.start.is_some()),
            changes: any(|commit| commit.change.is_some() && commit.start.is_none()),
            rest: any(|commit| {
                !(commit.items.is_empty() && commit.compensations.is_empty() && commit.mail.is_empty())
            }),
            outbox: any(|commit| !commit.outbox.is_empty()),
        };
        parts.rounded_up()
    }

    /// How many transitions the database accepted.
    async fn submit(&self, connection: &mut PgConnection) -> Result<u64, Failure> {
        let parts = self.parts();
        let mut query = sqlx::query(sql::batch(parts)).bind(self.incarnation.0);
        if parts.starts {
            query = bind_starts(query, self.incarnation, &self.commits);
        }
        query = bind_journal(query, &self.commits);
        if parts.changes {
            query = bind_changes(query, &self.commits);
        }
        if parts.rest {
            query = bind_items(query, &self.commits);
            query = bind_compensations(query, &self.commits);
            query = bind_mail(query, &self.commits);
        }
        if parts.outbox {
            query = bind_messages(query, &self.commits);
        }
        let counts = query.fetch_one(connection).await?;
        let count = |column: usize| -> Result<u64, Failure> {
            let count: i64 = counts.try_get(column)?;
            Ok(u64::try_from(count).expect("a count is not negative"))
        };
        if count(0)? == 0 {
            return Err(Failure::Fault(Fault::Fenced));
        }
        let journal_rows = count(2)?;
        self.counters.add(&WriteStats {
            commits: u64::from(journal_rows > 0),
            saga_inserts: count(1)?,
            journal_rows,
            saga_updates: count(3)?,
            work_items: count(4)?,
            compensations: count(5)?,
            mail: count(6)?,
            outbox: count(7)?,
            ..WriteStats::default()
        });
        Ok(journal_rows)
    }

    /// What stands where each commit would be, if something stands everywhere.
    async fn verdicts(&self, connection: &mut PgConnection) -> Result<Option<Vec<Verdict>>, Failure> {
        let sagas = column(&self.commits, |commit| commit.saga);
        let query = sqlx::query(sql::TRANSITIONS_AT).bind(sagas).bind(column(&self.commits, |it| it.seq));
        let mut standing: HashMap<Uuid, Uuid> = HashMap::with_capacity(self.commits.len());
        for row in query.fetch_all(&mut *connection).await? {
            standing.insert(row.try_get(0)?, row.try_get(1)?);
        }
        let missing: Vec<&Prepared> =
            self.commits.iter().copied().filter(|commit| !standing.contains_key(&commit.saga)).collect();
        let mut refused = refused_starts(connection, &missing).await?;
        let verdict = |commit: &&Prepared| match standing.get(&commit.saga) {
            Some(by) if *by == commit.transition => Some(Verdict::Accepted),
            Some(by) => Some(Verdict::Occupied { by: TransitionId(*by) }),
            None => refused.remove(&commit.saga),
        };
        Ok(self.commits.iter().map(verdict).collect())
    }
}

/// Why these starts are not there, by saga; those for which there is no reason any more are left out.
async fn refused_starts(
    connection: &mut PgConnection,
    missing: &[&Prepared],
) -> Result<HashMap<Uuid, Verdict>, Failure> {
    let starts = starts(missing);
    if starts.is_empty() {
        return Ok(HashMap::new());
    }
    let workflows: Vec<&str> = starts.iter().map(|(_, new, _)| &*new.definition.workflow).collect();
    let keys: Vec<&str> = starts.iter().map(|(_, new, _)| &*new.key).collect();
    let rows = sqlx::query(sql::holders()).bind(workflows).bind(keys).fetch_all(&mut *connection).await?;
    let mut holders: HashMap<(String, String), Verdict> = HashMap::with_capacity(rows.len());
    for row in rows {
        let (key, holder) = ((row.try_get("workflow")?, row.try_get("key")?), row.try_get("id")?);
        let verdict = key_taken(holder, &QueryResult::from(row)).map_err(Failure::Fault)?;
        holders.insert(key, verdict);
    }
    let mut refused = HashMap::with_capacity(starts.len());
    let mut keyless = Vec::new();
    for (commit, new, _) in starts {
        match holders.get(&(new.definition.workflow.to_string(), new.key.to_string())) {
            Some(verdict) => drop(refused.insert(commit.saga, verdict.clone())),
            None => keyless.push(commit.saga),
        }
    }
    if !keyless.is_empty() {
        let existing = sqlx::query_scalar(sql::EXISTING).bind(keyless).fetch_all(connection).await?;
        let existing: HashSet<Uuid> = existing.into_iter().collect();
        refused.extend(existing.into_iter().map(|saga| {
            let reason = format!("saga {saga} exists under another key and has no journal");
            (saga, Verdict::Unstorable { reason })
        }));
    }
    Ok(refused)
}

fn column<'a, T>(commits: &[&'a Prepared], value: impl Fn(&'a Prepared) -> T) -> Vec<T> {
    commits.iter().map(|commit| value(commit)).collect()
}

type Start<'a> = (&'a Prepared, &'a NewSaga, Option<&'a SagaChange>);

fn starts<'a>(commits: &[&'a Prepared]) -> Vec<Start<'a>> {
    let start = |commit: &&'a Prepared| Some((*commit, commit.start.as_ref()?, commit.change.as_ref()));
    commits.iter().filter_map(start).collect()
}

fn wake_at(change: &SagaChange) -> Option<i64> {
    change.release.and_then(|release| release.wake_at).map(|at| at.0)
}

/// In the order of [`sql::START`].
fn bind_starts<'q>(query: Bound<'q>, incarnation: Incarnation, commits: &[&Prepared]) -> Bound<'q> {
    let starts = starts(commits);
    fn all<'a, T>(starts: &[Start<'a>], value: impl Fn(&Start<'a>) -> T) -> Vec<T> {
        starts.iter().map(value).collect()
    }
    let wake = |change: Option<&SagaChange>| change.and_then(wake_at);
    query
        .bind(all(&starts, |(commit, ..)| commit.saga))
        .bind(all(&starts, |(_, _, change)| {
            (!change.is_some_and(SagaChange::gives_up)).then_some(incarnation.0)
        }))
        .bind(all(&starts, |(_, _, change)| wake(*change)))
        .bind(all(&starts, |(commit, _, change)| wake(*change).map(|_| commit.at)))
        .bind(all(&starts, |(_, new, _)| new.occurred_at.0))
        .bind(all(&starts, |(_, new, _)| new.deadline.map(|at| at.0)))
        .bind(all(&starts, |(_, new, _)| new.started_at.0))
        .bind(all(&starts, |(_, _, change)| change.and_then(|change| change.ended_at).map(|at| at.0)))
        .bind(all(&starts, |(_, new, _)| i64::from(new.definition.version)))
        .bind(all(&starts, |(_, _, change)| change.map_or(0, |change| i64::from(change.open_actions))))
        .bind(all(&starts, |(_, new, _)| &*new.definition.workflow))
        .bind(all(&starts, |(_, new, _)| &*new.key))
        .bind(all(&starts, |(_, new, _)| &new.definition.digest[..]))
        .bind(all(&starts, |(_, new, _)| &new.input_digest[..]))
        .bind(all(&starts, |(_, _, change)| change.map_or("running", |change| change.phase)))
        .bind(all(&starts, |(_, _, change)| change.and_then(|change| change.outcome.as_deref())))
        .bind(all(&starts, |(_, new, _)| new.tenant.as_deref()))
        .bind(all(&starts, |(_, new, _)| Label::write(&new.labels)))
}

/// In the order of [`sql::JOURNAL`].
fn bind_journal<'q>(query: Bound<'q>, commits: &[&Prepared]) -> Bound<'q> {
    query
        .bind(column(commits, |commit| commit.saga))
        .bind(column(commits, |commit| commit.transition))
        .bind(column(commits, |commit| commit.seq))
        .bind(column(commits, |commit| commit.at))
        .bind(column(commits, |commit| &*commit.actor))
        .bind(column(commits, |commit| &*commit.events))
}

/// In the order of [`sql::CHANGE`]. A start has its change in its own row.
fn bind_changes<'q>(query: Bound<'q>, commits: &[&Prepared]) -> Bound<'q> {
    let changed = commits.iter().filter(|commit| commit.start.is_none());
    let changed: Vec<(&Prepared, &SagaChange)> =
        changed.filter_map(|commit| Some((*commit, commit.change.as_ref()?))).collect();
    fn all<'a, T>(
        changed: &[(&'a Prepared, &'a SagaChange)],
        value: impl Fn(&'a Prepared, &'a SagaChange) -> T,
    ) -> Vec<T> {
        changed.iter().map(|(commit, change)| value(commit, change)).collect()
    }
    query
        .bind(all(&changed, |commit, _| commit.saga))
        .bind(all(&changed, |commit, _| commit.seq))
        .bind(all(&changed, |_, change| change.phase))
        .bind(all(&changed, |_, change| change.outcome.as_deref()))
        .bind(all(&changed, |_, change| i64::from(change.open_actions)))
        .bind(all(&changed, |_, change| change.ended_at.map(|at| at.0)))
        .bind(all(&changed, |_, change| change.gives_up()))
        .bind(all(&changed, |_, change| wake_at(change)))
        .bind(all(&changed, |commit, change| wake_at(change).map(|_| commit.at)))
}

/// In the order of [`sql::ITEM`], then [`sql::REMOVED`].
fn bind_items<'q>(query: Bound<'q>, commits: &[&Prepared]) -> Bound<'q> {
    let mut put: Vec<(&Prepared, &WorkItemRow)> = Vec::new();
    let mut removed: Vec<(&Prepared, &str)> = Vec::new();
    for commit in commits {
        for item in &commit.items {
            match item {
                ItemChange::Put(row) => put.push((commit, row)),
                ItemChange::Remove(item) => removed.push((commit, item)),
            }
        }
    }
    fn all<'a, R: Copy, T>(rows: &[(&'a Prepared, R)], value: impl Fn(&'a Prepared, R) -> T) -> Vec<T> {
        rows.iter().map(|(commit, row)| value(commit, *row)).collect()
    }
    query
        .bind(all(&put, |commit, _| commit.saga))
        .bind(all(&put, |commit, _| commit.seq))
        .bind(all(&put, |_, row| &*row.item))
        .bind(all(&put, |_, row| row.desk))
        .bind(all(&put, |_, row| &*row.reason))
        .bind(all(&put, |_, row| row.since.0))
        .bind(all(&put, |_, row| &*row.workflow))
        .bind(all(&put, |_, row| &*row.step))
        .bind(all(&put, |_, row| &*row.direction))
        .bind(all(&put, |_, row| row.effect))
        .bind(all(&put, |_, row| &*row.fingerprint))
        .bind(all(&put, |_, row| i64::from(row.attempts)))
        .bind(all(&put, |_, row| row.error_kind.as_deref()))
        .bind(all(&put, |_, row| row.error_code.as_deref()))
        .bind(all(&put, |_, row| row.error_rule.as_deref()))
        .bind(all(&put, |_, row| row.classifier.as_deref()))
        .bind(all(&removed, |commit, _| commit.saga))
        .bind(all(&removed, |commit, _| commit.seq))
        .bind(all(&removed, |_, item| item))
}

/// What a commit changes of one compensation record, all of it together: within one statement no other part could
/// still change a row that it has inserted or changed.
struct RecordChange<'a> {
    commit: &'a Prepared,
    id: Uuid,
    requested: Option<Requested<'a>>,
    approved_by: Option<&'a str>,
    ended_at: Option<i64>,
    result: Option<&'a str>,
}

/// A compensation record that begins.
#[derive(Clone, Copy)]
struct Requested<'a> {
    created_at: i64,
    step: &'a str,
    business_key: &'a str,
    reason_code: &'a str,
    requested_by: &'a str,
    particulars: &'a CompensationParticulars,
}

fn record_changes<'a>(commits: &[&'a Prepared]) -> Vec<RecordChange<'a>> {
    let mut records: Vec<RecordChange> = Vec::new();
    for commit in commits {
        let first = records.len();
        for change in &commit.compensations {
            let (CompensationChange::Requested { id, .. }
            | CompensationChange::Approved { id, .. }
            | CompensationChange::Ended { id, .. }) = change;
            let at = records[first..].iter().position(|record| record.id == *id).map(|at| first + at);
            let at = at.unwrap_or_else(|| {
                let (requested, approved_by, ended_at, result) = (None, None, None, None);
                records.push(RecordChange { commit, id: *id, requested, approved_by, ended_at, result });
                records.len() - 1
            });
            records[at].add(change);
        }
    }
    records
}

impl<'a> RecordChange<'a> {
    fn add(&mut self, change: &'a CompensationChange) {
        match change {
            CompensationChange::Requested {
                id: _,
                step,
                business_key,
                reason_code,
                requested_by,
                approved_by,
                particulars,
                created_at,
            } => {
                self.approved_by = approved_by.as_deref();
                self.requested = Some(Requested {
                    created_at: created_at.0,
                    step,
                    business_key,
                    reason_code,
                    requested_by,
                    particulars,
                });
            }
            CompensationChange::Approved { id: _, approved_by } => self.approved_by = Some(approved_by),
            CompensationChange::Ended { id: _, ended_at, result } => {
                (self.ended_at, self.result) = (Some(ended_at.0), Some(&**result));
            }
        }
    }
}

/// In the order of [`sql::REQUESTED`], then [`sql::CONTINUED`].
fn bind_compensations<'q>(query: Bound<'q>, commits: &[&Prepared]) -> Bound<'q> {
    let all = record_changes(commits);
    let begun: Vec<(&RecordChange, Requested)> =
        all.iter().filter_map(|record| Some((record, record.requested?))).collect();
    let later: Vec<&RecordChange> = all.iter().filter(|record| record.requested.is_none()).collect();
    query
        .bind(begun.iter().map(|(record, _)| record.id).collect::<Vec<_>>())
        .bind(begun.iter().map(|(record, _)| record.commit.saga).collect::<Vec<_>>())
        .bind(begun.iter().map(|(record, _)| record.commit.seq).collect::<Vec<_>>())
        .bind(begun.iter().map(|(_, new)| new.created_at).collect::<Vec<_>>())
        .bind(begun.iter().map(|(record, _)| record.ended_at).collect::<Vec<_>>())
        .bind(begun.iter().map(|(_, new)| new.step).collect::<Vec<_>>())
        .bind(begun.iter().map(|(_, new)| new.business_key).collect::<Vec<_>>())
        .bind(begun.iter().map(|(_, new)| new.reason_code).collect::<Vec<_>>())
        .bind(begun.iter().map(|(_, new)| new.requested_by).collect::<Vec<_>>())
        .bind(begun.iter().map(|(record, _)| record.approved_by).collect::<Vec<_>>())
        .bind(begun.iter().map(|(_, new)| new.particulars.expected.as_deref()).collect::<Vec<_>>())
        .bind(begun.iter().map(|(_, new)| new.particulars.proposed.as_deref()).collect::<Vec<_>>())
        .bind(begun.iter().map(|(_, new)| new.particulars.affected.as_deref()).collect::<Vec<_>>())
        .bind(begun.iter().map(|(_, new)| new.particulars.dry_run.as_deref()).collect::<Vec<_>>())
        .bind(begun.iter().map(|(record, _)| record.result).collect::<Vec<_>>())
        .bind(later.iter().map(|record| record.id).collect::<Vec<_>>())
        .bind(later.iter().map(|record| record.commit.saga).collect::<Vec<_>>())
        .bind(later.iter().map(|record| record.commit.seq).collect::<Vec<_>>())
        .bind(later.iter().map(|record| record.ended_at).collect::<Vec<_>>())
        .bind(later.iter().map(|record| record.approved_by).collect::<Vec<_>>())
        .bind(later.iter().map(|record| record.result).collect::<Vec<_>>())
}

/// In the order of [`sql::CONSUMED`], then [`sql::BROUGHT`].
fn bind_mail<'q>(query: Bound<'q>, commits: &[&Prepared]) -> Bound<'q> {
    let consumed = commits.iter().flat_map(|commit| commit.mail.iter().map(move |mail| (*commit, mail)));
    let (brought, consumed): (Vec<(&Prepared, &ConsumedMail)>, Vec<_>) =
        consumed.partition(|(_, mail)| mail.brought.is_some());
    fn all<'a, T>(brought: &[(&'a Prepared, &'a ConsumedMail)], value: impl Fn(&'a Mail) -> T) -> Vec<T> {
        brought.iter().filter_map(|(_, mail)| mail.brought.as_deref()).map(value).collect()
    }
    query
        .bind(consumed.iter().map(|(commit, _)| commit.saga).collect::<Vec<_>>())
        .bind(consumed.iter().map(|(commit, _)| commit.seq).collect::<Vec<_>>())
        .bind(consumed.iter().map(|(_, mail)| mail.id).collect::<Vec<_>>())
        .bind(consumed.iter().map(|(_, mail)| &*mail.answer).collect::<Vec<_>>())
        .bind(all(&brought, |mail| mail.id))
        .bind(all(&brought, |mail| mail.saga.0))
        .bind(all(&brought, |mail| mail.posted_at.0))
        .bind(all(&brought, |mail| mail.kind.word()))
        .bind(all(&brought, |mail| &*mail.key))
        .bind(all(&brought, |mail| &*mail.actor))
        .bind(all(&brought, |mail| &*mail.body))
        .bind(brought.iter().map(|(commit, _)| commit.seq).collect::<Vec<_>>())
        .bind(brought.iter().map(|(_, mail)| &*mail.answer).collect::<Vec<_>>())
}

/// In the order of [`sql::MESSAGE`].
fn bind_messages<'q>(query: Bound<'q>, commits: &[&'q Prepared]) -> Bound<'q> {
    let mut rows: Vec<(&Prepared, (i16, &OutboxRow))> = Vec::new();
    for commit in commits {
        rows.extend((0..).zip(&commit.outbox).map(|row| (*commit, row)));
    }
    fn all<'a, T>(
        rows: &[(&'a Prepared, (i16, &'a OutboxRow))],
        value: impl Fn(&'a Prepared, &'a OutboxRow) -> T,
    ) -> Vec<T> {
        rows.iter().map(|(commit, (_, row))| value(commit, row)).collect()
    }
    query
        .bind(all(&rows, |commit, _| lane(SagaId(commit.saga))))
        .bind(all(&rows, |_, row| row.kind.word()))
        .bind(all(&rows, |commit, _| commit.saga))
        .bind(all(&rows, |commit, _| commit.seq))
        .bind(rows.iter().map(|(_, (n, _))| *n).collect::<Vec<i16>>())
        .bind(all(&rows, |_, row| row.id))
        .bind(all(&rows, |commit, _| commit.at))
        .bind(all(&rows, |_, row| &*row.subject))
        .bind(all(&rows, |_, row| &*row.headers))
        .bind(all(&rows, |_, row| &*row.body))
}
