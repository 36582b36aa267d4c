//! Opening the database: settings, the schema, the writers' and the readers' connections.

use std::fmt::Display;
use std::time::Duration;

use amends::ports::Fault;
use amends_migrations::{Migrator, MigratorTrait as _};
use sea_orm::sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};
use sea_orm::sqlx::{self, ConnectOptions as _, Connection as _, PgPool};
use sea_orm::{
    ConnectionTrait as _, DatabaseConnection, DbErr, SqlxPostgresConnector, TransactionTrait as _,
};

use super::reach;
use super::runner::BEYOND_STATEMENT_TIMEOUT;
use crate::failure::fault;

/// How the database is used. The defaults are right for almost everybody.
#[derive(Clone, Debug)]
pub struct PostgresSettings {
    /// Batches under way at once: each saga is bound to one of so many writers. One more connection than that writes
    /// batches, for those that somebody holds up. Default 2; more gain little.
    pub writers: u32,
    /// Connections for what else writes: mail, claims. Default 4. Two more belong to watching the other nodes, one to the
    /// heartbeat, and two to hints.
    pub side_writers: u32,
    /// Connections that read. Default 4.
    pub readers: u32,
    /// How long a statement waits for what another transaction holds, such as a person's SQL prompt.
    /// Batches do not wait so long. Default 1 s.
    pub lock_timeout: Duration,
    /// How long a batch waits so before it goes on without those of its commits that need what is held: they come
    /// back as [`Verdict::Later`](amends::ports::Verdict::Later). Default 100 ms.
    pub batch_lock_timeout: Duration,
    /// How many times more it waits so before the call ends as unavailable. Default 2.
    pub busy_retries: u32,
    /// How long the server works on one statement before it cancels it. A server that does not even cancel is
    /// given up 5 s later, with its connection. Default 30 s.
    pub statement_timeout: Duration,
    /// How long bringing the schema up to date may take altogether when a store is opened, waiting for another process
    /// included. A server that does not even cancel is given up 5 s later. Default 10 min.
    pub schema_timeout: Duration,
    /// How long a call waits for a connection, its own or a new one, before it ends as unavailable.
    /// Default 10 s.
    pub connection_wait: Duration,
}

impl Default for PostgresSettings {
    fn default() -> Self {
        Self {
            writers: 2,
            side_writers: 4,
            readers: 4,
            lock_timeout: Duration::from_secs(1),
            batch_lock_timeout: Duration::from_millis(100),
            busy_retries: 2,
            statement_timeout: Duration::from_secs(30),
            schema_timeout: Duration::from_secs(600),
            connection_wait: Duration::from_secs(10),
        }
    }
}

/// Of all programs that use this database, only those that bring its schema up to date take this lock.
const SCHEMA_LOCK: i64 = 0x616d_656e_6473;

/// How long a process waits for another one that brings the schema up to date.
const SCHEMA_WAIT: Duration = Duration::from_secs(60);

/// How often a server that is starting is asked again.
const TRY_AGAIN: Duration = Duration::from_millis(100);

/// Where the database is. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Address {
    options: PgConnectOptions,
}

impl Address {
    /// `url` is `postgres://` or `postgresql://`.
    pub(super) fn parse(url: &str) -> Result<Self, Fault> {
        // The URL may hold a password, so no error quotes it.
        let wrong = |reason: &dyn Display| {
            Fault::Unavailable(format!("the database's URL is not `postgres://user@host/database`: {reason}"))
        };
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(wrong(&"another scheme"));
        }
        let options: PgConnectOptions = url.parse().map_err(|error: sqlx::Error| wrong(&error))?;
        Ok(Self { options: options.disable_statement_logging() })
    }

    fn cannot_open(&self, fault: Fault) -> Fault {
        let host = match self.options.get_socket() {
            Some(folder) => folder.display().to_string(),
            None => self.options.get_host().to_owned(),
        };
        let database = self.options.get_database().unwrap_or("the user's own database");
        let place = format!("{database} on {host}, port {}", self.options.get_port());
        match fault {
            Fault::Unavailable(reason) => Fault::Unavailable(format!("{place}: {reason}")),
            Fault::Corrupt(reason) => Fault::Corrupt(format!("{place}: {reason}")),
            other => other,
        }
    }

    /// Finds out whether the server lets anybody in there, before a pool is made: a pool tries again where it is
    /// refused, and in the end says only that it gave up. One that is starting, or has no connection left, is waited
    /// for.
    pub(super) async fn reach(&self, settings: &PostgresSettings) -> Result<(), Fault> {
        let options = self.options.clone().application_name("amends opening");
        let within = settings.connection_wait;
        let (mut again, mut not_now) = (tokio::time::interval(TRY_AGAIN), None);
        let tries = async {
            loop {
                again.tick().await;
                match options.connect().await {
                    Ok(connection) => return Ok(connection),
                    Err(error) if reach::passes(&error) => not_now = Some(error),
                    Err(error) => return Err(error),
                }
            }
        };
        let reason = match tokio::time::timeout(within, tries).await {
            Ok(Ok(connection)) => {
                // It was let in; how it goes away tells nothing more.
                let _goodbye = connection.close().await;
                return Ok(());
            }
            Ok(Err(error)) => reach::told(&error),
            Err(_) => match not_now {
                Some(error) => format!("it could not be reached within {within:?}: {}", reach::told(&error)),
                None => format!("no answer within {within:?}; {}", reach::CORRECT),
            },
        };
        Err(self.cannot_open(Fault::Unavailable(reason)))
    }

    /// Brings the schema up to date. Of many processes that start at once, one does it and the others wait.
    pub(super) async fn migrate(&self, settings: &PostgresSettings) -> Result<(), Fault> {
        let options = self.options.clone().application_name("amends schema");
        // Whatever the server's default is: who waited for the lock must see what its holder has done.
        let isolation = ("default_transaction_isolation", "read committed".to_owned());
        let options = options.options([
            isolation,
            ("lock_timeout", millis(SCHEMA_WAIT.min(settings.schema_timeout))),
            ("statement_timeout", millis(settings.schema_timeout)),
        ]);
        let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(settings.connection_wait);
        let pool = pool.connect_with(options).await.map_err(|error| self.cannot_open(sqlx_fault(error)))?;
        let db = SqlxPostgresConnector::from_sqlx_postgres_pool(pool.clone());
        // In a task of its own: a caller that goes away must not leave half a schema waiting for its COMMIT.
        let done = tokio::spawn(async move {
            let transaction = db.begin().await?;
            let lock = format!("SELECT pg_advisory_xact_lock({SCHEMA_LOCK})");
            transaction.execute_unprepared(&lock).await?;
            Migrator::up(&transaction, None).await?;
            transaction.commit().await
        });
        // One that is given up goes on by itself, and ends with its connection.
        let within = settings.schema_timeout + BEYOND_STATEMENT_TIMEOUT;
        let Ok(done) = tokio::time::timeout(within, done).await else {
            let reason = format!("bringing the schema up to date: no answer within {within:?}");
            return Err(self.cannot_open(Fault::Unavailable(reason)));
        };
        let done = done.map_err(|error| Fault::Unavailable(format!("it ended early: {error}")))?;
        pool.close().await;
        done.map_err(|error: DbErr| self.cannot_open(fault(error)))
    }

    /// At most so many connections that write, each of which waits so long for what somebody else holds.
    pub(super) async fn writers(
        &self,
        most: u32,
        lock_timeout: Duration,
        settings: &PostgresSettings,
    ) -> Result<PgPool, Fault> {
        let options = self.options.clone().application_name("amends writer").options([
            // Whatever the server's defaults are: the statements are proven for this level, and what is
            // accepted is on the disk.
            ("default_transaction_isolation", "read committed".to_owned()),
            ("synchronous_commit", "on".to_owned()),
            ("lock_timeout", millis(lock_timeout)),
            ("statement_timeout", millis(settings.statement_timeout)),
            ("idle_in_transaction_session_timeout", millis(settings.statement_timeout)),
            // A plan made while the tables were small would scan them whole for every batch, for long after.
            ("enable_seqscan", "off".to_owned()),
            // What is switched off counts as very dear, and what is dear would be compiled first.
            ("jit", "off".to_owned()),
        ]);
        let pool = PgPoolOptions::new()
            .max_connections(most.max(1))
            .acquire_timeout(settings.connection_wait)
            // A dead connection shows itself at its first use, and the same rows are submitted again.
            .test_before_acquire(false);
        pool.connect_with(options).await.map_err(|error| self.cannot_open(sqlx_fault(error)))
    }

    /// The heartbeat's connection. The server, too, gives a statement up after this time.
    pub(super) async fn heartbeat(&self, within: Duration) -> Result<PgConnection, Fault> {
        let options = self.options.clone().application_name("amends heartbeat").options([
            ("default_transaction_isolation", "read committed".to_owned()),
            ("synchronous_commit", "on".to_owned()),
            ("lock_timeout", millis(within)),
            ("statement_timeout", millis(within)),
            ("enable_seqscan", "off".to_owned()),
        ]);
        options.connect().await.map_err(|error| self.cannot_open(sqlx_fault(error)))
    }

    /// A connection that listens for hints, made when it is needed.
    pub(super) fn listener(&self) -> PgPool {
        let options = self.options.clone().application_name("amends listener");
        PgPoolOptions::new().max_connections(1).connect_lazy_with(options)
    }

    /// A connection that sends hints, made when it is needed.
    pub(super) fn notifier(&self, settings: &PostgresSettings) -> PgPool {
        let options = self.options.clone().application_name("amends notifier");
        let options = options.options([("statement_timeout", millis(settings.statement_timeout))]);
        let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(settings.connection_wait);
        pool.connect_lazy_with(options)
    }

    /// Connections that cannot write, and whose transactions see one moment.
    pub(super) async fn readers(&self, settings: &PostgresSettings) -> Result<DatabaseConnection, Fault> {
        let (pool, options) = self.reading(settings);
        let pool = pool.connect_with(options).await.map_err(|error| self.cannot_open(sqlx_fault(error)))?;
        Ok(SqlxPostgresConnector::from_sqlx_postgres_pool(pool))
    }

    /// As [`readers`](Self::readers), each made when it is needed.
    pub(super) fn later_readers(&self, settings: &PostgresSettings) -> PgPool {
        let (pool, options) = self.reading(settings);
        pool.connect_lazy_with(options)
    }

    fn reading(&self, settings: &PostgresSettings) -> (PgPoolOptions, PgConnectOptions) {
        let options = self.options.clone().application_name("amends reader").options([
            ("default_transaction_isolation", "repeatable read".to_owned()),
            ("default_transaction_read_only", "on".to_owned()),
            ("statement_timeout", millis(settings.statement_timeout)),
            ("idle_in_transaction_session_timeout", millis(settings.statement_timeout)),
        ]);
        let pool = PgPoolOptions::new()
            .max_connections(settings.readers.max(1))
            .acquire_timeout(settings.connection_wait);
        (pool, options)
    }
}

/// PostgreSQL takes 0 for "no limit", so the shortest limit is a millisecond.
pub(super) fn millis(limit: Duration) -> String {
    limit.as_millis().clamp(1, i32::MAX.unsigned_abs().into()).to_string()
}

fn sqlx_fault(error: sqlx::Error) -> Fault {
    fault(DbErr::Conn(sea_orm::RuntimeErr::SqlxError(error.into())))
}
