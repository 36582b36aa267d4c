//! Who of a batch waits for somebody else.
//!
//! PostgreSQL says *that* a statement waited too long, not which of its rows it waited for. So a batch that was
//! kept waiting is halved until the culprits stand alone ([`split`](crate::split)), and while that goes on no
//! statement waits long. Before it begins one looks whether anything can be written at all: where somebody has
//! locked a whole table or this incarnation's own row, no commit is to blame, and the call ends as unavailable.

use std::time::Duration;

use amends_core::Incarnation;
use async_trait::async_trait;
use sea_orm::sqlx;
use sea_orm::sqlx::postgres::PgConnection;

use super::PostgresSettings;
use super::open::millis;
use super::sql;
use crate::failure::Failure;
use crate::unit::Unit;

/// How long a statement waits for somebody while culprits are looked for.
const LOCK_TIMEOUT: Duration = Duration::from_millis(10);

/// While culprits are looked for, the server works this part of its usual time on one statement.
const OF_STATEMENT_TIMEOUT: u32 = 10;

/// How long a connection's statements may take.
#[derive(Clone, Debug)]
pub(super) struct Patience {
    lock_timeout: String,
    statement_timeout: String,
}

impl Patience {
    /// Of a connection that writes batches, as it is opened.
    pub(super) fn usual(settings: &PostgresSettings) -> Self {
        Self {
            lock_timeout: millis(settings.batch_lock_timeout),
            statement_timeout: millis(settings.statement_timeout),
        }
    }

    fn short(settings: &PostgresSettings) -> Self {
        Self {
            lock_timeout: millis(LOCK_TIMEOUT.min(settings.batch_lock_timeout)),
            statement_timeout: millis(settings.statement_timeout / OF_STATEMENT_TIMEOUT),
        }
    }

    async fn set(&self, connection: &mut PgConnection) -> Result<(), Failure> {
        let set = sqlx::query(sql::SET_PATIENCE).bind(&*self.lock_timeout).bind(&*self.statement_timeout);
        set.execute(connection).await?;
        Ok(())
    }
}

/// The two patiences of a store's writers.
#[derive(Clone, Debug)]
pub(super) struct Patiences {
    usual: Patience,
    short: Patience,
}

impl Patiences {
    pub(super) fn of(settings: &PostgresSettings) -> Self {
        Self { usual: Patience::usual(settings), short: Patience::short(settings) }
    }

    /// The unit with little patience. Its connection has the usual patience again afterwards, or is closed.
    pub(super) fn hasty<'a, U>(&'a self, unit: &'a U) -> Hasty<'a, U> {
        Hasty { unit, patiences: self }
    }
}

/// A unit that does not wait long.
pub(super) struct Hasty<'a, U> {
    unit: &'a U,
    patiences: &'a Patiences,
}

#[async_trait]
impl<U: Unit<PgConnection>> Unit<PgConnection> for Hasty<'_, U> {
    type Done = U::Done;

    async fn run(&self, connection: &mut PgConnection) -> Result<U::Done, Failure> {
        self.patiences.short.set(connection).await?;
        let ended = self.unit.run(connection).await;
        self.patiences.usual.set(connection).await?;
        ended
    }
}

/// Can this incarnation write at all? Busy if not.
pub(super) struct CanWrite(pub(super) Incarnation);

#[async_trait]
impl Unit<PgConnection> for CanWrite {
    type Done = ();

    async fn run(&self, connection: &mut PgConnection) -> Result<(), Failure> {
        sqlx::query(sql::MY_WORKER).bind(self.0.0).execute(&mut *connection).await?;
        sqlx::raw_sql(sql::LOCK_TABLES).execute(connection).await?;
        Ok(())
    }
}
