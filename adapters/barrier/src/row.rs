//! The table, and the statements that touch it.

use std::time::Duration;

use sea_orm::entity::prelude::*;
use sea_orm::sea_query::{ColumnDef, LockBehavior, LockType, OnConflict, Query, Table};
use sea_orm::{DatabaseTransaction, DbBackend, ExprTrait, FromQueryResult, QuerySelect};

use crate::answer::{Keep, PARTIAL, SUCCESS};
use crate::{Call, Error, Fence};

/// What is known under one request id, a forward call's or a compensation's.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "barrier")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) request_id: Uuid,
    /// The forward request that this compensation undoes; none for a forward call.
    pub(crate) compensates: Option<Uuid>,
    /// The highest attempt that is closed out.
    pub(crate) fenced_through: Option<i64>,
    /// What was said of that attempt by who closed it out; none where a query did.
    pub(crate) closed_out: Option<String>,
    /// Set on a forward call's row by its compensation.
    pub(crate) fenced_for_ever: bool,
    /// Set with the outcome, never before: a call that keeps nothing binds nobody to its input.
    pub(crate) input_digest: Option<Vec<u8>>,
    pub(crate) outcome: Option<String>,
    pub(crate) answer: Option<String>,
    /// Milliseconds since 1970, by the database's clock, so that all processes share one.
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

/// Creates the table `barrier` if it does not exist, in the database that holds the effects.
///
/// A service with migrations calls it in one of them. Two processes that do so at one instant may collide
/// on PostgreSQL; the one that is refused finds the table when it tries again.
///
/// # Errors
///
/// [`Error::Database`] if the statement fails.
pub async fn install<C: ConnectionTrait>(db: &C) -> Result<(), Error> {
    let table = Table::create()
        .table(Entity)
        .if_not_exists()
        .col(ColumnDef::new(Column::RequestId).uuid().not_null().primary_key())
        .col(ColumnDef::new(Column::Compensates).uuid())
        .col(ColumnDef::new(Column::FencedThrough).big_integer())
        .col(ColumnDef::new(Column::ClosedOut).text())
        .col(ColumnDef::new(Column::FencedForEver).boolean().not_null())
        .col(ColumnDef::new(Column::InputDigest).var_binary(32))
        .col(ColumnDef::new(Column::Outcome).text())
        .col(ColumnDef::new(Column::Answer).text())
        .col(ColumnDef::new(Column::CreatedAt).big_integer().not_null())
        .col(ColumnDef::new(Column::UpdatedAt).big_integer().not_null())
        .to_owned();
    db.execute(&table).await?;
    Ok(())
}

/// Deletes the rows that have not changed for `age`, and says how many they were.
///
/// A row is all that stands between a late call and a second effect, so `age` must not be less than the
/// *key retention* that the service's contract states, **nor** than the longest time after which a
/// compensation of a call may still be ordered: without the row of the forward call, its compensation
/// finds nothing to undo. The whole table is read; call it rarely, not with every request.
///
/// # Errors
///
/// [`Error::Database`] if the statement fails.
pub async fn purge_older_than<C: ConnectionTrait>(db: &C, age: Duration) -> Result<u64, Error> {
    let age_ms = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    let oldest_kept = now_ms(db.get_database_backend()).sub(age_ms);
    let deleted =
        Entity::delete_many().filter(Column::UpdatedAt.into_expr().lt(oldest_kept)).exec(db).await?;
    Ok(deleted.rows_affected)
}

/// Inserts the row of `request_id` or finds it, and holds it until the transaction (or the savepoint
/// around it) ends: everyone else who locks it waits.
///
/// One statement does both. "Insert or do nothing, then select for update" would have a gap between the
/// two in which the row can be purged.
pub(crate) async fn lock(txn: &DatabaseTransaction, request_id: Uuid) -> Result<Model, DbErr> {
    let now = now_ms(txn.get_database_backend());
    let insert = Query::insert()
        .into_table(Entity)
        .columns([Column::RequestId, Column::FencedForEver, Column::CreatedAt, Column::UpdatedAt])
        .values_panic([request_id.into(), false.into(), now.clone(), now])
        .on_conflict(OnConflict::column(Column::RequestId).update_column(Column::RequestId).to_owned())
        .returning_all()
        .to_owned();
    let row = txn.query_one(&insert).await?;
    let row = row.ok_or_else(|| DbErr::RecordNotFound(format!("the barrier row of {request_id}")))?;
    Model::from_query_result(&row, "")
}

/// The committed row of `request_id`, without waiting for anyone.
pub(crate) async fn look(txn: &DatabaseTransaction, request_id: Uuid) -> Result<Option<Model>, DbErr> {
    Entity::find_by_id(request_id).one(txn).await
}

/// Whether another transaction holds the row. Never on SQLite, which has no row locks: who writes there
/// holds the database, and who reads sees what was committed before.
pub(crate) async fn is_held(txn: &DatabaseTransaction, request_id: Uuid) -> Result<bool, DbErr> {
    let free = Entity::find_by_id(request_id)
        .lock_with_behavior(LockType::Update, LockBehavior::SkipLocked)
        .one(txn)
        .await?;
    Ok(free.is_none())
}

/// The row-changing statements. Each is given a row that this transaction has locked.
impl Model {
    pub(crate) async fn keep<K: Keep>(
        &self,
        txn: &DatabaseTransaction,
        call: &Call,
        compensates: Option<Uuid>,
        answer: &K,
    ) -> Result<(), Error> {
        let text = answer.write().map_err(Error::Unwritable)?;
        let changes = [
            (Column::Compensates, compensates.into()),
            (Column::InputDigest, call.input_digest.to_vec().into()),
            (Column::Outcome, answer.word().into()),
            (Column::Answer, text.into()),
        ];
        Ok(self.update(txn, changes).await?)
    }

    pub(crate) async fn fence_through(&self, txn: &DatabaseTransaction, attempt: u32) -> Result<(), DbErr> {
        self.fence_out(txn, attempt, None).await
    }

    pub(crate) async fn close_out(
        &self,
        txn: &DatabaseTransaction,
        attempt: u32,
        said: &str,
    ) -> Result<(), DbErr> {
        self.fence_out(txn, attempt, Some(said.to_owned())).await
    }

    async fn fence_out(
        &self,
        txn: &DatabaseTransaction,
        attempt: u32,
        said: Option<String>,
    ) -> Result<(), DbErr> {
        let changes = [(Column::FencedThrough, i64::from(attempt).into()), (Column::ClosedOut, said.into())];
        self.update(txn, changes).await
    }

    pub(crate) async fn fence_for_ever(&self, txn: &DatabaseTransaction) -> Result<(), DbErr> {
        self.update(txn, [(Column::FencedForEver, true.into())]).await
    }

    async fn update<const N: usize>(
        &self,
        txn: &DatabaseTransaction,
        changes: [(Column, Value); N],
    ) -> Result<(), DbErr> {
        let mut update = Entity::update_many()
            .col_expr(Column::UpdatedAt, now_ms(txn.get_database_backend()))
            .filter(Column::RequestId.eq(self.request_id));
        for (column, value) in changes {
            update = update.col_expr(column, Expr::value(value));
        }
        let updated = update.exec(txn).await?;
        assert_eq!(updated.rows_affected, 1, "a locked barrier row cannot vanish");
        Ok(())
    }
}

/// What a row says, in the words of the rules.
impl Model {
    pub(crate) fn fence(&self) -> Option<Fence> {
        if self.fenced_for_ever {
            return Some(Fence::ForEver);
        }
        // Only `fence_through` writes the column, so a number beyond `u32` is somebody else's; it fences all.
        self.fenced_through.map(|attempt| Fence::Through(u32::try_from(attempt).unwrap_or(u32::MAX)))
    }

    /// What is said of an attempt that is fenced by who closed it, or a later one, out.
    pub(crate) fn said_of(&self, attempt: u32) -> Option<&str> {
        self.closed_out.as_deref().filter(|_| Some(i64::from(attempt)) <= self.fenced_through)
    }

    /// The digest of the input that the kept answer is for.
    pub(crate) fn digest(&self) -> Option<[u8; 32]> {
        self.input_digest.as_deref().and_then(|digest| digest.try_into().ok())
    }

    /// Whether the kept answer stands for an effect, whole or in part.
    pub(crate) fn has_effect(&self) -> bool {
        matches!(self.outcome.as_deref(), Some(SUCCESS | PARTIAL))
    }

    pub(crate) fn kept<K: Keep>(&self) -> Result<Option<K>, Error> {
        let (Some(outcome), Some(answer)) = (&self.outcome, &self.answer) else { return Ok(None) };
        let kept = K::read(outcome, answer);
        kept.map(Some).map_err(|source| Error::Unreadable { request_id: self.request_id, source })
    }
}

fn now_ms(backend: DbBackend) -> Expr {
    Expr::cust(match backend {
        DbBackend::Sqlite => "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
        _ => "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
    })
}
