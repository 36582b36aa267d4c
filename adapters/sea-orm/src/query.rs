//! The read side: what is committed, through entities, the same on every backend.

mod controls;
mod intake;
mod lists;
mod nodes;
mod outbox;
pub(crate) mod registry;

use std::collections::HashMap;
use std::fmt;

use amends::ports::{
    CompensationRow, DeskFilter, DeskGroup, DeskPage, DeskQuery, Fault, JournalRow, Loaded, Mail, MailKind,
    SagaFilter, SagaPage, SagaQuery, SagaRow, StoreCounts, StoredMail, WorkItemRow,
};
use amends_core::{Incarnation, SagaId, Timestamp};
use async_trait::async_trait;
use sea_orm::{
    ColumnTrait, ConnectionTrait, DatabaseConnection, EntityTrait, FromQueryResult as _, QueryFilter,
    QueryOrder, QueryResult, QuerySelect, QueryTrait, Statement, TransactionTrait,
};
use uuid::Uuid;

use crate::entity::{compensation, journal, mail, saga, work_item};
use crate::failure::fault;

/// At most so many sagas in one read transaction, because an open one keeps the write-ahead log from
/// shrinking.
pub(crate) const SAGAS_PER_READ: usize = 64;

/// Reads a database without writing to it: no lock, no effect on those who write.
#[derive(Clone)]
pub(crate) struct Queries {
    db: DatabaseConnection,
}

impl fmt::Debug for Queries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queries").finish_non_exhaustive()
    }
}

impl Queries {
    pub(crate) fn new(db: DatabaseConnection) -> Self {
        Self { db }
    }

    /// Waits for reads that are under way; later ones fail.
    pub(crate) async fn close(&self) {
        self.db.clone().close().await.ok();
    }

    /// Loads sagas with their journals in the order asked for; those that do not exist are left out.
    pub(crate) async fn load(&self, sagas: &[SagaId]) -> Result<Vec<Loaded>, Fault> {
        let mut all = Vec::with_capacity(sagas.len());
        for some in sagas.chunks(SAGAS_PER_READ) {
            let (db, ids) = (self.db.clone(), some.iter().map(|saga| saga.0).collect());
            // In a task of its own: a caller that goes away must not leave a read transaction open.
            let loaded = tokio::spawn(load_some(db, ids)).await;
            all.extend(
                loaded.map_err(|error| Fault::Unavailable(format!("the read ended early: {error}")))??,
            );
        }
        Ok(all)
    }

    /// Unread mail of sagas that `incarnation` owns, in the order of ids.
    pub(crate) async fn unread(
        &self,
        incarnation: Incarnation,
        only: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<Mail>, Fault> {
        let owned = saga::Entity::find()
            .select_only()
            .column(saga::Column::Id)
            .filter(saga::Column::Owner.eq(incarnation.0));
        let owned = match only {
            Some(saga) => owned.filter(saga::Column::Id.eq(saga.0)),
            None => owned,
        };
        let mut unread = mail::Entity::find()
            .filter(mail::Column::ConsumedSeq.is_null())
            .filter(mail::Column::SagaId.in_subquery(owned.into_query()));
        if let Some(saga) = only {
            unread = unread.filter(mail::Column::SagaId.eq(saga.0));
        }
        let rows = self.rows(&unread.order_by_asc(mail::Column::Id).limit(u64::from(limit))).await?;
        Ok(readable(&rows, "mail", |row| match stored_mail(row) {
            Ok(stored) => Ok(stored.mail),
            Err(fault) => damaged_mail(row, fault),
        }))
    }

    /// The mail of this key.
    pub(crate) async fn mail(&self, saga: SagaId, key: &str) -> Result<Option<StoredMail>, Fault> {
        let found = mail::Entity::find()
            .filter(mail::Column::SagaId.eq(saga.0))
            .filter(mail::Column::Idempotency.eq(key))
            .one(&self.db)
            .await
            .map_err(fault)?;
        found.map(StoredMail::try_from).transpose()
    }

    /// Everything that was posted to a saga, in the order of ids.
    pub(crate) async fn mail_of(&self, saga: SagaId, limit: u32) -> Result<Vec<StoredMail>, Fault> {
        let all = mail::Entity::find()
            .filter(mail::Column::SagaId.eq(saga.0))
            .order_by_asc(mail::Column::Id)
            .limit(u64::from(limit));
        Ok(readable(&self.rows(&all).await?, "mail", stored_mail))
    }
}

fn stored_mail(row: &QueryResult) -> Result<StoredMail, Fault> {
    StoredMail::try_from(mail::Model::from_query_result(row, "").map_err(fault)?)
}

/// Mail that cannot be read, to be consumed as such. What does not even say whose it is nobody can consume.
fn damaged_mail(row: &QueryResult, fault: Fault) -> Result<Mail, Fault> {
    let (Ok(id), Ok(saga)) = (row.try_get("", "id"), row.try_get("", "saga_id")) else { return Err(fault) };
    tracing::error!(%id, %saga, %fault, "mail cannot be read; it is answered so, and stays as it is");
    Ok(Mail {
        id,
        saga: SagaId(saga),
        kind: MailKind::Damaged,
        key: "".into(),
        actor: "".into(),
        posted_at: Timestamp(row.try_get("", "posted_at").unwrap_or_default()),
        body: fault.to_string(),
    })
}

/// Each row is read by itself, so that one that is damaged hides no other: it is said, and stays as it is.
fn readable<T>(rows: &[QueryResult], what: &str, read: impl Fn(&QueryResult) -> Result<T, Fault>) -> Vec<T> {
    let read = |row: &QueryResult| {
        let read = read(row);
        if let Err(fault) = &read {
            let of = ["saga_id", "incarnation"].iter().find_map(|id| row.try_get::<Uuid>("", id).ok());
            tracing::error!(what, ?of, %fault, "a row cannot be read; it stays, and all others go on");
        }
        read.ok()
    };
    rows.iter().filter_map(read).collect()
}

/// Row and journal of the same instant, hence the transaction.
async fn load_some(db: DatabaseConnection, ids: Vec<Uuid>) -> Result<Vec<Loaded>, Fault> {
    let snapshot = db.begin().await.map_err(fault)?;
    let rows = saga::Entity::find()
        .filter(saga::Column::Id.is_in(ids.iter().copied()))
        .all(&snapshot)
        .await
        .map_err(fault)?;
    let journals = journal::Entity::find()
        .filter(journal::Column::SagaId.is_in(ids.iter().copied()))
        .order_by_asc(journal::Column::SagaId)
        .order_by_asc(journal::Column::Seq)
        .all(&snapshot)
        .await
        .map_err(fault)?;
    snapshot.commit().await.map_err(fault)?;

    let mut found: HashMap<Uuid, Loaded> = HashMap::with_capacity(rows.len());
    for row in rows {
        found.insert(row.id, Loaded { row: SagaRow::try_from(row)?, journal: Vec::new() });
    }
    for row in journals {
        if let Some(loaded) = found.get_mut(&row.saga_id) {
            loaded.journal.push(JournalRow::try_from(row)?);
        }
    }
    Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
}

#[async_trait]
impl SagaQuery for Queries {
    async fn find(&self, workflow: &str, key: &str) -> Result<Option<SagaRow>, Fault> {
        let found = saga::Entity::find()
            .filter(saga::Column::Workflow.eq(workflow))
            .filter(saga::Column::Key.eq(key))
            .one(&self.db)
            .await
            .map_err(fault)?;
        found.map(SagaRow::try_from).transpose()
    }

    async fn read(&self, saga: SagaId) -> Result<Option<Loaded>, Fault> {
        Ok(self.load(&[saga]).await?.pop())
    }

    async fn list(&self, filter: &SagaFilter) -> Result<SagaPage, Fault> {
        self.list_sagas(filter).await
    }

    async fn desk(&self, limit: u32) -> Result<Vec<(SagaId, WorkItemRow)>, Fault> {
        let page = work_item::Entity::find()
            .order_by_asc(work_item::Column::Since)
            .order_by_asc(work_item::Column::SagaId)
            .order_by_asc(work_item::Column::Item)
            .limit(u64::from(limit));
        Ok(readable(&self.rows(&page).await?, "a desk entry", |row| {
            let model = work_item::Model::from_query_result(row, "").map_err(fault)?;
            Ok((SagaId(model.saga_id), WorkItemRow::try_from(model)?))
        }))
    }

    async fn compensations(&self, saga: SagaId) -> Result<Vec<CompensationRow>, Fault> {
        let rows = compensation::Entity::find()
            .filter(compensation::Column::SagaId.eq(saga.0))
            .order_by_asc(compensation::Column::CreatedAt)
            .order_by_asc(compensation::Column::Id)
            .all(&self.db)
            .await
            .map_err(fault)?;
        Ok(rows.into_iter().map(CompensationRow::from).collect())
    }

    async fn counts(&self) -> Result<StoreCounts, Fault> {
        let sql = "SELECT (SELECT count(*) FROM saga), (SELECT count(*) FROM journal), \
            (SELECT CAST(coalesce(sum(octet_length(events)), 0) AS bigint) FROM journal), \
            (SELECT count(*) FROM work_item), (SELECT count(*) FROM compensation)";
        let statement = Statement::from_string(self.db.get_database_backend(), sql);
        let row = self.db.query_one_raw(statement).await.map_err(fault)?;
        let row = row.ok_or_else(|| Fault::Corrupt("counting gave no row".to_owned()))?;
        let count = |column| {
            let number: i64 = row.try_get_by_index(column).map_err(fault)?;
            u64::try_from(number).map_err(|_| Fault::Corrupt(format!("a count of {number}")))
        };
        Ok(StoreCounts {
            sagas: count(0)?,
            journal_rows: count(1)?,
            journal_bytes: count(2)?,
            work_items: count(3)?,
            compensations: count(4)?,
        })
    }
}

#[async_trait]
impl DeskQuery for Queries {
    async fn desk_page(&self, filter: &DeskFilter) -> Result<DeskPage, Fault> {
        self.page_of_entries(filter).await
    }

    async fn desk_groups(&self, filter: &DeskFilter) -> Result<Vec<DeskGroup>, Fault> {
        self.groups_of_entries(filter).await
    }
}
