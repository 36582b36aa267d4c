//! Who owns what: joining, leaving, claiming, setting aside. Each inside an open transaction.

use amends::ports::{Claim, DefinitionRef, Fault, Sharing};
use amends_core::{Incarnation, SagaId, Timestamp};
use async_trait::async_trait;
use sea_orm::sqlx::query::Query;
use sea_orm::sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection};
use sea_orm::sqlx::{self, AssertSqlSafe, Row as _};
use uuid::Uuid;

use super::sql;
use crate::failure::Failure;
use crate::unit::Unit;

async fn count(
    connection: &mut SqliteConnection,
    text: &'static str,
    incarnation: Incarnation,
) -> Result<i64, Failure> {
    Ok(sqlx::query(text).bind(incarnation.0).fetch_one(&mut *connection).await?.try_get(0)?)
}

/// Refuses the transaction of an incarnation without `worker` row.
pub(super) async fn fence(
    connection: &mut SqliteConnection,
    incarnation: Incarnation,
) -> Result<(), Failure> {
    match count(connection, sql::IS_WORKER, incarnation).await? {
        0 => Err(Failure::Fault(Fault::Fenced)),
        _ => Ok(()),
    }
}

/// Registers an incarnation. Where it is alone, the lock file proves that every other is dead: their rows go.
pub(super) struct Join {
    pub(super) sharing: Sharing,
    pub(super) incarnation: Incarnation,
    pub(super) node: String,
    pub(super) now: Timestamp,
}

#[async_trait]
impl Unit<SqliteConnection> for Join {
    type Done = ();

    async fn run(&self, connection: &mut SqliteConnection) -> Result<(), Failure> {
        let (me, now) = (self.incarnation.0, self.now.0);
        if count(connection, sql::NODE_ENDED, self.incarnation).await? > 0 {
            return Err(Failure::Fault(Fault::Fenced));
        }
        if self.sharing == Sharing::Exclusive {
            sqlx::query(sql::OTHER_WORKERS_GO).bind(me).execute(&mut *connection).await?;
            sqlx::query(sql::OTHER_NODES_END).bind(now).bind(me).execute(&mut *connection).await?;
        }
        for text in [sql::NODE_JOINS, sql::WORKER_JOINS] {
            let row = sqlx::query(text).bind(me).bind(self.node.clone()).bind(now);
            row.execute(&mut *connection).await?;
        }
        Ok(())
    }
}

/// An incarnation's rows go.
pub(super) struct Leave {
    pub(super) incarnation: Incarnation,
    pub(super) now: Timestamp,
}

#[async_trait]
impl Unit<SqliteConnection> for Leave {
    type Done = ();

    async fn run(&self, connection: &mut SqliteConnection) -> Result<(), Failure> {
        let me = self.incarnation.0;
        sqlx::query(sql::WORKER_GOES).bind(me).execute(&mut *connection).await?;
        sqlx::query(sql::NODE_ENDS).bind(self.now.0).bind(me).execute(&mut *connection).await?;
        Ok(())
    }
}

/// Runs a claim, whose last parameters are the registered definitions.
async fn claimed(
    connection: &mut SqliteConnection,
    mut claim: Query<'_, Sqlite, SqliteArguments>,
    definitions: &[DefinitionRef],
) -> Result<Vec<SagaId>, Failure> {
    for definition in definitions {
        claim = claim
            .bind(definition.workflow.clone())
            .bind(i64::from(definition.version))
            .bind(definition.digest.to_vec());
    }
    let rows = claim.fetch_all(&mut *connection).await?;
    rows.iter().map(|row| Ok(SagaId(row.try_get::<Uuid, _>(0)?))).collect()
}

#[async_trait]
impl Unit<SqliteConnection> for Claim {
    type Done = Vec<SagaId>;

    async fn run(&self, connection: &mut SqliteConnection) -> Result<Vec<SagaId>, Failure> {
        fence(connection, self.incarnation).await?;
        let registered = self.definitions.len();
        if registered == 0 || self.limit == 0 {
            return Ok(Vec::new());
        }
        if let Some(saga) = self.only {
            let one = sqlx::query(AssertSqlSafe(sql::claim_one(registered)));
            return claimed(connection, one.bind(self.incarnation.0).bind(saga.0), &self.definitions).await;
        }
        let limit = i64::from(self.limit);
        let due = sqlx::query(AssertSqlSafe(sql::claim_due(registered)));
        let due = due.bind(self.incarnation.0).bind(self.now.0).bind(limit);
        let mut taken = claimed(connection, due, &self.definitions).await?;
        let left = limit - i64::try_from(taken.len()).unwrap_or(limit);
        if left > 0 {
            let by_mail = sqlx::query(AssertSqlSafe(sql::claim_by_mail(registered)));
            let by_mail = by_mail.bind(self.incarnation.0).bind(left);
            taken.extend(claimed(connection, by_mail, &self.definitions).await?);
        }
        Ok(taken)
    }
}

/// Sets a saga aside that nobody else owns; of two reasons the first is kept.
pub(super) struct SetAside {
    pub(super) incarnation: Incarnation,
    pub(super) saga: SagaId,
    pub(super) reason: String,
    pub(super) now: Timestamp,
}

#[async_trait]
impl Unit<SqliteConnection> for SetAside {
    type Done = ();

    async fn run(&self, connection: &mut SqliteConnection) -> Result<(), Failure> {
        fence(connection, self.incarnation).await?;
        let set = sqlx::query(sql::SET_ASIDE).bind(self.now.0).bind(self.reason.clone()).bind(self.saga.0);
        set.bind(self.incarnation.0).execute(&mut *connection).await?;
        Ok(())
    }
}
