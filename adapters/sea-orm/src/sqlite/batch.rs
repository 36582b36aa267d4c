//! What one batch does inside its transaction.
//!
//! The common case is that every row is new: a handful of multi-row inserts whose row counts say so. If a
//! count falls short nothing is kept, and the batch is written again commit by commit, looking at what stands
//! before each: that is exact, because the transaction holds the write lock from its first statement on.

use amends::ports::{CompensationChange, ItemChange, Label, SagaChange, Verdict, WorkItemRow, WriteStats};
use amends_core::{Incarnation, TransitionId};
use async_trait::async_trait;
use sea_orm::QueryResult;
use sea_orm::sqlx::query::Query;
use sea_orm::sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection};
use sea_orm::sqlx::{self, Row as _};
use uuid::Uuid;

use super::sql::{self, SQL, Sized};
use super::{mail, outbox};
use crate::failure::Failure;
use crate::prepared::{Prepared, key_taken};
use crate::split::Written;
use crate::unit::Unit;

pub(super) type Bound = Query<'static, Sqlite, SqliteArguments>;

/// How a batch is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// In multi-row statements, in the belief that every row is new.
    Together,
    /// Commit by commit, each after a look at what stands.
    OneByOne,
}

/// One batch.
pub(super) struct Batch<'a> {
    pub(super) incarnation: Incarnation,
    pub(super) commits: &'a [Prepared],
    pub(super) manner: Manner,
}

#[async_trait]
impl Unit<SqliteConnection> for Batch<'_> {
    type Done = Written;

    async fn run(&self, connection: &mut SqliteConnection) -> Result<Written, Failure> {
        write(connection, self.incarnation, self.commits, self.manner).await
    }
}

async fn write(
    connection: &mut SqliteConnection,
    incarnation: Incarnation,
    batch: &[Prepared],
    manner: Manner,
) -> Result<Written, Failure> {
    super::owners::fence(connection, incarnation).await?;
    let mut stats = WriteStats::default();
    let (verdicts, accepted) = match manner {
        Manner::Together => together(connection, incarnation, batch, &mut stats).await?,
        Manner::OneByOne => one_by_one(connection, incarnation, batch, &mut stats).await?,
    };
    changes(connection, incarnation, &accepted, &mut stats).await?;
    items(connection, &accepted, &mut stats).await?;
    compensations(connection, &accepted, &mut stats).await?;
    stats.mail = mail::consume(connection, &accepted).await?;
    stats.outbox = outbox::put(connection, &accepted).await?;
    let verdicts = read_back(connection, verdicts).await?;
    stats.commits = u64::from(!accepted.is_empty());
    Ok(Written { verdicts, stats })
}

/// A verdict, or the key whose holder is read once everything is written.
enum Found {
    Verdict(Verdict),
    KeyTakenBy(Uuid),
}

type Decided<'a> = (Vec<Found>, Vec<&'a Prepared>);

async fn together<'a>(
    connection: &mut SqliteConnection,
    incarnation: Incarnation,
    batch: &'a [Prepared],
    stats: &mut WriteStats,
) -> Result<Decided<'a>, Failure> {
    let starts: Vec<&Prepared> = batch.iter().filter(|commit| commit.start.is_some()).collect();
    stats.saga_inserts = insert_sagas(connection, incarnation, &starts).await?;
    if stats.saga_inserts < starts.len() as u64 {
        return Err(Failure::NotAllNew);
    }
    let all: Vec<&Prepared> = batch.iter().collect();
    stats.journal_rows = insert_journal(connection, &all).await?;
    if stats.journal_rows < all.len() as u64 {
        return Err(Failure::NotAllNew);
    }
    Ok((batch.iter().map(|_| Found::Verdict(Verdict::Accepted)).collect(), all))
}

async fn one_by_one<'a>(
    connection: &mut SqliteConnection,
    incarnation: Incarnation,
    batch: &'a [Prepared],
    stats: &mut WriteStats,
) -> Result<Decided<'a>, Failure> {
    let mut decided: Decided = (Vec::with_capacity(batch.len()), Vec::new());
    for commit in batch {
        let mut found = standing(connection, commit).await?;
        if found.is_none() && commit.start.is_some() {
            let inserted = insert_sagas(connection, incarnation, &[commit]).await?;
            stats.saga_inserts += inserted;
            if inserted == 0 {
                let reason = format!("saga {} exists under another key and has no journal", commit.saga);
                found = Some(Found::Verdict(Verdict::Unstorable { reason }));
            }
        }
        if found.is_none() {
            stats.journal_rows += insert_journal(connection, &[commit]).await?;
            decided.1.push(commit);
        }
        decided.0.push(found.unwrap_or(Found::Verdict(Verdict::Accepted)));
    }
    Ok(decided)
}

/// What stands where this commit would be written, if anything does.
async fn standing(connection: &mut SqliteConnection, commit: &Prepared) -> Result<Option<Found>, Failure> {
    let row = sqlx::query(sql::TRANSITION_AT).bind(commit.saga).bind(commit.seq);
    if let Some(row) = row.fetch_optional(&mut *connection).await? {
        let by: Uuid = row.try_get(0)?;
        let verdict = if by == commit.transition {
            Verdict::Accepted
        } else {
            Verdict::Occupied { by: TransitionId(by) }
        };
        return Ok(Some(Found::Verdict(verdict)));
    }
    let Some(new) = &commit.start else { return Ok(None) };
    let row = sqlx::query(sql::SAGA_OF_KEY).bind(new.definition.workflow.clone()).bind(new.key.clone());
    let Some(row) = row.fetch_optional(&mut *connection).await? else { return Ok(None) };
    Ok(Some(Found::KeyTakenBy(row.try_get(0)?)))
}

/// Sends `rows` through a sized statement, and counts the rows it wrote.
pub(super) async fn send<R>(
    connection: &mut SqliteConnection,
    statement: &'static Sized,
    mut rows: &[R],
    open: impl Fn(Bound) -> Bound,
    bind: impl Fn(Bound, &R) -> Bound,
) -> Result<u64, Failure> {
    let mut wrote = 0;
    while !rows.is_empty() {
        let (text, takes) = statement.next(rows.len());
        let (now, later) = rows.split_at(takes);
        let bound = now.iter().fold(open(sqlx::query(text)), &bind);
        wrote += bound.execute(&mut *connection).await?.rows_affected();
        rows = later;
    }
    Ok(wrote)
}

async fn insert_sagas(
    connection: &mut SqliteConnection,
    incarnation: Incarnation,
    starts: &[&Prepared],
) -> Result<u64, Failure> {
    let bind = |query: Bound, commit: &&Prepared| {
        let new = commit.start.as_ref().expect("only starts are inserted as sagas");
        query
            .bind(commit.saga)
            .bind(incarnation.0)
            .bind(new.occurred_at.0)
            .bind(new.deadline.map(|at| at.0))
            .bind(new.started_at.0)
            .bind(i64::from(new.definition.version))
            .bind(new.definition.workflow.clone())
            .bind(new.key.clone())
            .bind(new.definition.digest.to_vec())
            .bind(new.input_digest.to_vec())
            .bind(new.tenant.clone())
            .bind(Label::write(&new.labels))
    };
    send(connection, &SQL.saga, starts, |query| query, bind).await
}

async fn insert_journal(connection: &mut SqliteConnection, commits: &[&Prepared]) -> Result<u64, Failure> {
    let bind = |query: Bound, commit: &&Prepared| {
        query
            .bind(commit.saga)
            .bind(commit.transition)
            .bind(commit.seq)
            .bind(commit.at)
            .bind(commit.actor.clone())
            .bind(commit.events.clone())
    };
    send(connection, &SQL.journal, commits, |query| query, bind).await
}

async fn changes(
    connection: &mut SqliteConnection,
    incarnation: Incarnation,
    accepted: &[&Prepared],
    stats: &mut WriteStats,
) -> Result<(), Failure> {
    let changed: Vec<(&Prepared, &SagaChange)> =
        accepted.iter().filter_map(|commit| Some((*commit, commit.change.as_ref()?))).collect();
    let bind = |query: Bound, (commit, change): &(&Prepared, &SagaChange)| {
        let wake_at = change.release.and_then(|release| release.wake_at);
        query
            .bind(commit.saga)
            .bind(change.phase)
            .bind(change.outcome.clone())
            .bind(i64::from(change.open_actions))
            .bind(change.ended_at.map(|at| at.0))
            .bind(change.gives_up())
            .bind(wake_at.map(|at| at.0))
            .bind(wake_at.map(|_| commit.at))
    };
    stats.saga_updates =
        send(connection, &SQL.change, &changed, |query| query.bind(incarnation.0), bind).await?;
    Ok(())
}

async fn items(
    connection: &mut SqliteConnection,
    accepted: &[&Prepared],
    stats: &mut WriteStats,
) -> Result<(), Failure> {
    for commit in accepted {
        for item in &commit.items {
            let bound = match item {
                ItemChange::Put(row) => put(commit.saga, row),
                ItemChange::Remove(item) => {
                    sqlx::query(sql::ITEM_REMOVE).bind(commit.saga).bind(item.clone())
                }
            };
            bound.execute(&mut *connection).await?;
            stats.work_items += 1;
        }
    }
    Ok(())
}

fn put(saga: Uuid, row: &WorkItemRow) -> Bound {
    sqlx::query(sql::ITEM_PUT)
        .bind(saga)
        .bind(row.item.clone())
        .bind(row.desk)
        .bind(row.reason.clone())
        .bind(row.since.0)
        .bind(row.workflow.clone())
        .bind(row.step.clone())
        .bind(row.direction.clone())
        .bind(row.effect)
        .bind(row.fingerprint.clone())
        .bind(i64::from(row.attempts))
        .bind(row.error_kind.clone())
        .bind(row.error_code.clone())
        .bind(row.error_rule.clone())
        .bind(row.classifier.clone())
}

async fn compensations(
    connection: &mut SqliteConnection,
    accepted: &[&Prepared],
    stats: &mut WriteStats,
) -> Result<(), Failure> {
    let mut requested = Vec::new();
    let mut later = Vec::new();
    for commit in accepted {
        for change in &commit.compensations {
            let to = if matches!(change, CompensationChange::Requested { .. }) {
                &mut requested
            } else {
                &mut later
            };
            to.push((commit.saga, change));
        }
    }
    let bind = |query: Bound, (saga, change): &(Uuid, &CompensationChange)| match change {
        CompensationChange::Requested {
            id,
            step,
            business_key,
            reason_code,
            requested_by,
            approved_by,
            particulars,
            created_at,
        } => query
            .bind(*id)
            .bind(*saga)
            .bind(created_at.0)
            .bind(step.clone())
            .bind(business_key.clone())
            .bind(reason_code.clone())
            .bind(requested_by.clone())
            .bind(approved_by.clone())
            .bind(particulars.expected.clone())
            .bind(particulars.proposed.clone())
            .bind(particulars.affected.clone())
            .bind(particulars.dry_run.clone()),
        CompensationChange::Approved { .. } | CompensationChange::Ended { .. } => query,
    };
    stats.compensations = send(connection, &SQL.compensation, &requested, |query| query, bind).await?;
    for (_, change) in later {
        let update = match change {
            CompensationChange::Requested { .. } => continue,
            CompensationChange::Approved { id, approved_by } => {
                sqlx::query(sql::COMPENSATION_APPROVED).bind(approved_by.clone()).bind(*id)
            }
            CompensationChange::Ended { id, ended_at, result } => {
                sqlx::query(sql::COMPENSATION_ENDED).bind(ended_at.0).bind(result.clone()).bind(*id)
            }
        };
        stats.compensations += update.execute(&mut *connection).await?.rows_affected();
    }
    Ok(())
}

/// Looks up who holds the keys that were taken, as they stand after this batch.
async fn read_back(connection: &mut SqliteConnection, found: Vec<Found>) -> Result<Vec<Verdict>, Failure> {
    let mut verdicts = Vec::with_capacity(found.len());
    for found in found {
        verdicts.push(match found {
            Found::Verdict(verdict) => verdict,
            Found::KeyTakenBy(saga) => {
                let row = sqlx::query(sql::SAGA).bind(saga).fetch_one(&mut *connection).await?;
                key_taken(saga, &QueryResult::from(row)).map_err(Failure::Fault)?
            }
        });
    }
    Ok(verdicts)
}
