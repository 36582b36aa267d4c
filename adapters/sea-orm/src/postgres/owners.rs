//! Who owns what: joining, leaving, claiming, setting aside.

use amends::ports::{Claim, DefinitionRef, Fault};
use amends_core::{Incarnation, SagaId, Timestamp};
use async_trait::async_trait;
use sea_orm::sqlx::postgres::{PgArguments, PgConnection, Postgres};
use sea_orm::sqlx::query::Query;
use sea_orm::sqlx::{self, Row as _};
use uuid::Uuid;

use super::sql;
use crate::failure::Failure;
use crate::unit::Unit;

/// Registers an incarnation beside the others, which may all be alive. In a transaction.
///
/// An incarnation that has ended, by itself or dismissed, never comes back: the lock on its `node` row makes
/// joining and dismissing wait for each other.
pub(super) struct Join {
    pub(super) incarnation: Incarnation,
    pub(super) node: String,
    pub(super) now: Timestamp,
}

#[async_trait]
impl Unit<PgConnection> for Join {
    type Done = ();

    async fn run(&self, connection: &mut PgConnection) -> Result<(), Failure> {
        let me = self.incarnation.0;
        let row = sqlx::query(sql::NODE_JOINS).bind(me).bind(&*self.node).bind(self.now.0);
        row.execute(&mut *connection).await?;
        if sqlx::query_scalar(sql::NODE_ENDED).bind(me).fetch_one(&mut *connection).await? {
            return Err(Failure::Fault(Fault::Fenced));
        }
        let row = sqlx::query(sql::WORKER_JOINS).bind(me).bind(&*self.node).bind(self.now.0);
        row.execute(&mut *connection).await?;
        Ok(())
    }
}

/// An incarnation's `worker` row goes, and it never comes back. In a transaction.
pub(super) struct Leave {
    pub(super) incarnation: Incarnation,
    pub(super) now: Timestamp,
}

#[async_trait]
impl Unit<PgConnection> for Leave {
    type Done = ();

    async fn run(&self, connection: &mut PgConnection) -> Result<(), Failure> {
        let me = self.incarnation.0;
        sqlx::query(sql::NODE_ENDED).bind(me).fetch_optional(&mut *connection).await?;
        sqlx::query(sql::WORKER_GOES).bind(me).execute(&mut *connection).await?;
        sqlx::query(sql::NODE_ENDS).bind(me).bind(self.now.0).execute(&mut *connection).await?;
        Ok(())
    }
}

/// The definitions of a claim, a column each.
struct Registered<'a> {
    workflows: Vec<&'a str>,
    versions: Vec<i32>,
    digests: Vec<&'a [u8]>,
}

impl<'a> Registered<'a> {
    fn of(definitions: &'a [DefinitionRef]) -> Self {
        let mut all = Self { workflows: Vec::new(), versions: Vec::new(), digests: Vec::new() };
        for definition in definitions {
            // A version that the column cannot hold is one that no saga has.
            if let Ok(version) = i32::try_from(definition.version) {
                all.workflows.push(&definition.workflow);
                all.versions.push(version);
                all.digests.push(&definition.digest);
            }
        }
        all
    }

    /// The parameters that every claim begins with.
    fn query(&self, text: &'static str, by: Incarnation) -> Query<'_, Postgres, PgArguments> {
        let Self { workflows, versions, digests } = self;
        sqlx::query(text).bind(by.0).bind(&workflows[..]).bind(&versions[..]).bind(&digests[..])
    }
}

async fn taken(
    connection: &mut PgConnection,
    claim: Query<'_, Postgres, PgArguments>,
) -> Result<Vec<SagaId>, Failure> {
    let row = claim.fetch_one(connection).await?;
    if row.try_get::<i64, _>(0)? == 0 {
        return Err(Failure::Fault(Fault::Fenced));
    }
    let taken: Option<Vec<Uuid>> = row.try_get(1)?;
    Ok(taken.unwrap_or_default().into_iter().map(SagaId).collect())
}

#[async_trait]
impl Unit<PgConnection> for Claim {
    type Done = Vec<SagaId>;

    async fn run(&self, connection: &mut PgConnection) -> Result<Vec<SagaId>, Failure> {
        let registered = Registered::of(&self.definitions);
        let (me, limit) = (self.incarnation, i64::from(self.limit));
        if let Some(saga) = self.only {
            // No saga more than none.
            let saga = (limit > 0).then_some(saga.0);
            return taken(connection, registered.query(sql::CLAIM_ONE, me).bind(saga)).await;
        }
        let due = registered.query(sql::CLAIM_DUE, me).bind(self.now.0).bind(limit);
        let mut all = taken(connection, due).await?;
        let left = limit.saturating_sub_unsigned(all.len() as u64);
        if left > 0 {
            let by_mail = registered.query(sql::CLAIM_BY_MAIL, me).bind(left);
            match taken(connection, by_mail).await {
                Ok(more) => all.extend(more),
                // Nothing of this part was taken, and what the first part took must be told.
                Err(Failure::Busy(_) | Failure::Slow(_)) if !all.is_empty() => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(all)
    }
}

/// Sets a saga aside that nobody else owns; of two reasons the first is kept. False if somebody else holds it.
pub(super) struct SetAside {
    pub(super) incarnation: Incarnation,
    pub(super) saga: SagaId,
    pub(super) reason: String,
    pub(super) now: Timestamp,
}

#[async_trait]
impl Unit<PgConnection> for SetAside {
    type Done = bool;

    async fn run(&self, connection: &mut PgConnection) -> Result<bool, Failure> {
        let set = sqlx::query_as(sql::SET_ASIDE).bind(self.incarnation.0).bind(self.saga.0);
        let set = set.bind(self.now.0).bind(&*self.reason).fetch_one(connection).await?;
        let (alive, held): (i64, bool) = set;
        if alive == 0 { Err(Failure::Fault(Fault::Fenced)) } else { Ok(!held) }
    }
}
