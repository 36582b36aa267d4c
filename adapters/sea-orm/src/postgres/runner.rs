//! Who holds a connection while something is written, and what becomes of it when that fails.
//!
//! What is written runs in a task of its own, which nobody drops before its end: a caller that goes away loses
//! only the answer, and no connection returns to the pool inside somebody else's transaction. (Dropping a
//! `begin` under way would leak one, in SQLx 0.9: transact-rs/sqlx#4393.)
//!
//! What can fail, and what happens then:
//! * another transaction holds what a statement needs: PostgreSQL waits `lock_timeout`, the runner tries
//!   `busy_retries` times more, then the call ends as unavailable. So do deadlocks;
//! * the server refuses a statement: nothing of it is written, and outside a transaction the connection is as
//!   good as before. After a failed transaction the connection is closed;
//! * the server cannot be reached, or does not answer in time: the connection is closed, and the idle ones with
//!   it, which ends its transaction unless it has committed. The same rows may then be submitted again, also while the server is
//!   still at work on the first ones.

use std::time::Duration;

use amends::ports::Fault;
use sea_orm::sqlx::pool::PoolConnection;
use sea_orm::sqlx::postgres::{PgConnection, Postgres};
use sea_orm::sqlx::{self, PgPool};

use super::PostgresSettings;
use crate::failure::Failure;
use crate::unit::Unit;

/// A server that was to cancel a statement by now is given up so much later.
pub(super) const BEYOND_STATEMENT_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs units on the writers' connections. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Runner {
    pool: PgPool,
    busy_retries: u32,
    answer_within: Duration,
}

/// Runs `work` to its end, whatever becomes of the caller.
pub(super) async fn detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, Fault>> + Send + 'static,
) -> Result<T, Fault> {
    match tokio::spawn(work).await {
        Ok(answer) => answer,
        Err(error) => Err(Fault::Unavailable(format!("the call ended early: {error}"))),
    }
}

impl Runner {
    pub(super) fn new(pool: PgPool, settings: &PostgresSettings) -> Self {
        let answer_within = settings.statement_timeout + BEYOND_STATEMENT_TIMEOUT;
        Self { pool, busy_retries: settings.busy_retries, answer_within }
    }

    /// Waits for what is under way; later calls fail.
    pub(super) async fn close(&self) {
        self.pool.close().await;
    }

    /// Runs a unit whose every statement is a transaction of its own, and again while something is busy.
    pub(super) async fn run<U: Unit<PgConnection>>(&self, unit: &U) -> Result<U::Done, Failure> {
        let mut busy = String::new();
        for _ in 0..=self.busy_retries {
            match self.run_once(unit).await {
                Err(Failure::Busy(reason)) => busy = reason,
                ended => return ended,
            }
        }
        Err(Failure::Busy(busy))
    }

    /// As [`run`](Self::run), without trying again.
    pub(super) async fn run_once<U: Unit<PgConnection>>(&self, unit: &U) -> Result<U::Done, Failure> {
        let mut connection = self.pool.acquire().await?;
        let ended = self.in_time(unit.run(&mut connection)).await;
        match &ended {
            Err(Failure::Fault(Fault::Unavailable(_) | Fault::Corrupt(_))) => self.hang_up(connection),
            _ => drop(connection),
        }
        ended
    }

    /// Runs a unit in one transaction, and again while something is busy.
    pub(super) async fn transact<U: Unit<PgConnection>>(&self, unit: &U) -> Result<U::Done, Failure> {
        let mut busy = String::new();
        for _ in 0..=self.busy_retries {
            match self.transact_once(unit).await {
                Err(Failure::Busy(reason)) => busy = reason,
                ended => return ended,
            }
        }
        Err(Failure::Busy(busy))
    }

    async fn transact_once<U: Unit<PgConnection>>(&self, unit: &U) -> Result<U::Done, Failure> {
        let mut connection = self.pool.acquire().await?;
        let body = async {
            sqlx::query("BEGIN").execute(&mut *connection).await?;
            let done = unit.run(&mut connection).await?;
            sqlx::query("COMMIT").execute(&mut *connection).await?;
            Ok(done)
        };
        let ended = self.in_time(body).await;
        match &ended {
            Ok(_) => drop(connection),
            Err(_) => self.hang_up(connection),
        }
        ended
    }

    /// Closes a connection without a word: whatever it was in the middle of, nobody will meet it there. The idle
    /// ones go with it, since what ended this one has probably ended them too (a restart, a fail-over).
    fn hang_up(&self, connection: PoolConnection<Postgres>) {
        drop(connection.detach());
        while let Some(idle) = self.pool.try_acquire() {
            drop(idle.detach());
        }
    }

    async fn in_time<T>(&self, body: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        match tokio::time::timeout(self.answer_within, body).await {
            Ok(ended) => ended,
            Err(_) => {
                let reason = format!("no answer within {:?}", self.answer_within);
                Err(Failure::Fault(Fault::Unavailable(reason)))
            }
        }
    }
}
