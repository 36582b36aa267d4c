//! The two schemas of one PostgreSQL database: the engine's, and the participants' own beside it.
//!
//! The shop makes both, and says so in their comments; a schema without that comment is never written to, nor removed.
//! Several processes may be at work on them, each with a lock that keeps `--fresh` away; the server lets go of it when
//! a process is gone.

use std::fmt::Display;
use std::time::Duration;

use amends_migrations::{Migrator, MigratorTrait as _};
use sea_orm::sqlx::postgres::{PgConnectOptions, PgConnection};
use sea_orm::sqlx::{self, ConnectOptions as _};
use sea_orm::{
    ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DbBackend, DbErr, Statement,
    TransactionTrait as _,
};

use crate::Unusable;
use crate::contents::Contents;
use crate::participants::Participants;
use crate::place;

/// How long the server may take over a connection.
const CONNECTION_WAIT: Duration = Duration::from_secs(10);

/// Of a URL that names no schema.
const NAME: &str = "shop";

/// What comes after the name for the participants.
const PARTICIPANTS: &str = "_participants";

/// PostgreSQL cuts longer names.
const NAME_MAX: usize = 63 - PARTICIPANTS.len();

/// The comment on a schema of the shop.
const MARK: &str = "made by the shop of Amends, whose --fresh removes it";

/// What a schema that is not the shop's asks for.
const ANOTHER: &str =
    "name another one, as in --database 'postgres://user@host/database?options[search_path]=my_shop'";

/// Where the schemas are.
#[derive(Clone, Debug)]
pub struct Schemas {
    /// As it was given. It may hold a password, so nothing prints it.
    url: String,
    options: PgConnectOptions,
    engine: String,
    participants: String,
}

/// Held for as long as a process is at work.
pub struct AtWork(#[expect(dead_code, reason = "the lock is the connection's")] PgConnection);

impl Schemas {
    /// From a `postgres:` URL. Its `options[search_path]` names the engine's schema; by default it is `shop`.
    ///
    /// # Errors
    /// When it is no URL, or the schema's name would have to be quoted.
    pub fn named(url: &str) -> Result<Self, Unusable> {
        let options: PgConnectOptions = url.parse().map_err(|error: sqlx::Error| {
            // The error, unlike the URL, holds no password.
            Unusable::new(
                format!("this is no URL of a PostgreSQL database: {error}"),
                "give --database one such as postgres://user@host/database",
            )
        })?;
        let asked = options.get_options().unwrap_or_default();
        let asked = asked.split_whitespace().filter_map(|word| word.strip_prefix("search_path=")).next_back();
        let engine = asked.unwrap_or(NAME).to_owned();
        let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
        if !engine.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '_')
            || !engine.chars().all(plain)
            || engine.starts_with("pg_")
            || engine.len() > NAME_MAX
        {
            return Err(Unusable::new(
                format!("`{engine}` cannot be the name of a schema of the shop"),
                format!(
                    "use at most {NAME_MAX} lower-case letters, digits and underscores in options[search_path]"
                ),
            ));
        }
        let participants = format!("{engine}{PARTICIPANTS}");
        Ok(Self { url: url.to_owned(), options: options.disable_statement_logging(), engine, participants })
    }

    /// For the engine's store: its tables lie in the schema of the shop.
    pub fn engine_url(&self) -> String {
        let joint = if self.url.contains('?') { '&' } else { '?' };
        format!("{}{joint}options[search_path]={}", self.url, self.engine)
    }

    /// For the participants.
    pub fn participants(&self) -> crate::participants::Place {
        crate::participants::Place::Schema { url: self.url.clone(), schema: self.participants.clone() }
    }

    /// What the engine's schema holds.
    ///
    /// # Errors
    /// When the server cannot be asked.
    pub async fn look(&self) -> Result<Contents, Unusable> {
        let db = self.connect().await?;
        let found = look(&db, &self.engine, "saga").await;
        let _ = db.close().await;
        found.map_err(|error| self.failed(error))
    }

    /// As [`place::Place::check`].
    ///
    /// # Errors
    /// As there.
    pub async fn check(&self) -> Result<(), Unusable> {
        let db = self.connect().await?;
        let held = self.contents(&db).await;
        let _ = db.close().await;
        place::fit_together(held?, [&self.engine, &self.participants], "schema")
    }

    /// Makes the schemas that are missing, and keeps `--fresh` of others away for as long as the answer lives.
    ///
    /// # Errors
    /// When the server does not allow it.
    pub async fn enter(&self) -> Result<AtWork, Unusable> {
        let mut at_work = self.options.connect().await.map_err(|error| self.failed(error))?;
        let lock = sqlx::query("SELECT pg_advisory_lock_shared(hashtextextended($1, 0))").bind(self.lock());
        lock.execute(&mut at_work).await.map_err(|error| self.failed(error))?;
        let db = self.connect().await?;
        let made = self.make(&db).await;
        let _ = db.close().await;
        made.map_err(|error| self.failed(error))?;
        Ok(AtWork(at_work))
    }

    async fn make(&self, db: &DatabaseConnection) -> Result<(), DbErr> {
        let txn = db.begin().await?;
        // Of many processes that start at once, one makes them and the others wait.
        let alone = "SELECT pg_advisory_xact_lock(hashtextextended($1, 1))";
        txn.execute_raw(statement(alone, &self.lock())).await?;
        for schema in [&self.engine, &self.participants] {
            let there = "SELECT count(*) FROM pg_namespace WHERE nspname = $1";
            let there = txn.query_one_raw(statement(there, schema)).await?;
            if there.map_or(Ok(0), |row| row.try_get_by_index::<i64>(0))? == 0 {
                txn.execute_unprepared(&format!(
                    "CREATE SCHEMA {schema}; COMMENT ON SCHEMA {schema} IS '{MARK}'"
                ))
                .await?;
            }
        }
        txn.commit().await
    }

    /// As [`place::Place::remove`].
    ///
    /// # Errors
    /// As there.
    pub async fn remove(&self) -> Result<(), Unusable> {
        let db = self.connect().await?;
        let removed = self.remove_by(&db).await;
        let _ = db.close().await;
        removed
    }

    async fn remove_by(&self, db: &DatabaseConnection) -> Result<(), Unusable> {
        let txn = db.begin().await.map_err(|error| self.failed(error))?;
        let alone = "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))";
        let alone = txn.query_one_raw(statement(alone, &self.lock())).await;
        let alone = alone.and_then(|row| row.map_or(Ok(false), |row| row.try_get_by_index::<bool>(0)));
        if !alone.map_err(|error| self.failed(error))? {
            return Err(Unusable::new(
                format!("another process is at work on the schema {}", self.engine),
                "stop it before you ask for --fresh, or give --database another schema",
            ));
        }
        let [sagas, effects] = self.contents(&txn).await?;
        let removed = async {
            if sagas != Contents::Nothing {
                txn.execute_unprepared(&format!("SET LOCAL search_path TO {}", self.engine)).await?;
                Migrator::down(&txn, None).await?;
                let schema = &self.engine;
                txn.execute_unprepared(&format!("DROP TABLE amends_migration; DROP SCHEMA {schema}")).await?;
            }
            if effects != Contents::Nothing {
                txn.execute_unprepared(&format!("SET LOCAL search_path TO {}", self.participants)).await?;
                Participants::remove(&txn).await?;
                txn.execute_unprepared(&format!("DROP SCHEMA {}", self.participants)).await?;
            }
            txn.commit().await
        };
        // Nothing is dropped that others have put there or built on it: then all of it stays.
        removed.await.map_err(|error: DbErr| {
            Unusable::new(
                format!("the schemas {} and {} cannot be removed: {error}", self.engine, self.participants),
                "remove by hand what is not the shop's, or give --database another schema",
            )
        })
    }

    /// What each schema holds, if it is the shop's to hold.
    async fn contents(&self, db: &impl ConnectionTrait) -> Result<[Contents; 2], Unusable> {
        let mut held = [Contents::Nothing; 2];
        let kinds = [(&self.engine, "saga"), (&self.participants, "effect")];
        for ((schema, used), held) in kinds.into_iter().zip(&mut held) {
            *held = look(db, schema, used).await.map_err(|error| self.failed(error))?;
            if *held == Contents::Foreign {
                return Err(Unusable::new(format!("the schema {schema} was not made by the shop"), ANOTHER));
            }
        }
        Ok(held)
    }

    fn lock(&self) -> String {
        format!("shop of amends: {}", self.engine)
    }

    async fn connect(&self) -> Result<DatabaseConnection, Unusable> {
        // A pool tries again where it is refused, and in the end says only that it gave up.
        match tokio::time::timeout(CONNECTION_WAIT, self.options.connect()).await {
            Ok(Err(error @ sqlx::Error::Io(_))) => return Err(self.failed(error)),
            Ok(Ok(let_in)) => drop(let_in),
            // The pool waits for what is starting, and tells the rest.
            _ => {}
        }
        let mut options = ConnectOptions::new(&self.url);
        options.max_connections(1).acquire_timeout(CONNECTION_WAIT).sqlx_logging(false);
        Database::connect(options).await.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: impl Display) -> Unusable {
        let database = self.options.get_database().unwrap_or("the user's own database");
        Unusable::new(
            format!("{database} on {}, port {}: {error}", self.options.get_host(), self.options.get_port()),
            "give --database the URL of a PostgreSQL server, 14 or later, whose user may create schemas",
        )
    }
}

fn statement(sql: &str, value: &str) -> Statement {
    Statement::from_sql_and_values(DbBackend::Postgres, sql, [value.into()])
}

async fn look(db: &impl ConnectionTrait, schema: &str, used: &str) -> Result<Contents, DbErr> {
    let comment =
        "SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace WHERE nspname = $1";
    let Some(row) = db.query_one_raw(statement(comment, schema)).await? else { return Ok(Contents::Nothing) };
    if row.try_get_by_index::<String>(0)? != MARK {
        return Ok(Contents::Foreign);
    }
    let table = format!("{schema}.{used}");
    let there = db.query_one_raw(statement("SELECT to_regclass($1) IS NOT NULL", &table)).await?;
    if !there.map_or(Ok(false), |row| row.try_get_by_index(0))? {
        return Ok(Contents::Ours { used: false });
    }
    let some = Statement::from_string(DbBackend::Postgres, format!("SELECT EXISTS (SELECT 1 FROM {table})"));
    let some = db.query_one_raw(some).await?;
    Ok(Contents::Ours { used: some.map_or(Ok(false), |row| row.try_get_by_index(0))? })
}
