//! Opening the file: settings, the writer's connection and the readers' pool.

use std::path::{Path, PathBuf};
use std::time::Duration;

use amends::ports::{Fault, Sharing};
use amends_migrations::{Migrator, MigratorTrait as _};
use sea_orm::sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sea_orm::{ConnectOptions, Database, DatabaseConnection, DbErr};

use crate::failure::fault;

/// How long a read waits for one of the readers' connections before it ends as unavailable.
const CONNECTION_WAIT: Duration = Duration::from_secs(10);

/// How the file is used. The defaults are right for almost everybody.
#[derive(Clone, Debug)]
pub struct SqliteSettings {
    /// How long one transaction waits for another program's write lock, such as a person's SQL prompt.
    /// Default 2 s.
    pub busy_timeout: Duration,
    /// How many times more it waits so before the call ends as unavailable. Default 2.
    pub busy_retries: u32,
    /// Connections that read. Default 4.
    pub readers: u32,
    /// The database may not grow beyond so many pages of 8 KiB; more is refused as "database or disk is
    /// full". Default: no bound but the disk.
    pub pages_max: Option<u32>,
    /// Whether the file belongs to one engine of this process at a time, or several engines of it share it,
    /// each as a node of its own: then recovery waits for a lease, also after a restart of the process, whose
    /// nodes nobody has dismissed. Other processes are kept out either way. Default: one engine.
    pub sharing: Sharing,
}

impl Default for SqliteSettings {
    fn default() -> Self {
        Self {
            busy_timeout: Duration::from_secs(2),
            busy_retries: 2,
            readers: 4,
            pages_max: None,
            sharing: Sharing::Exclusive,
        }
    }
}

/// A path, or a URL such as `sqlite://orders.db?mode=rwc`, whose parameters are ignored: the store knows how
/// it must be opened.
pub(super) fn path_of(database: &Path) -> Result<PathBuf, Fault> {
    let Some(text) = database.to_str() else { return Ok(database.to_owned()) };
    let path = match text.strip_prefix("sqlite:") {
        Some(rest) => {
            let rest = rest.strip_prefix("//").unwrap_or(rest);
            rest.split_once('?').map_or(rest, |(path, _)| path)
        }
        None => text,
    };
    if path.is_empty() || path == ":memory:" {
        let reason = format!("`{text}` names no file; for a store in memory use `MemoryStore`");
        return Err(Fault::Unavailable(reason));
    }
    Ok(PathBuf::from(path))
}

/// SeaORM wants a URL; the path itself is set in SQLx's own options, so nothing has to be escaped.
fn options(
    connections: u32,
    set: impl Fn(SqliteConnectOptions) -> SqliteConnectOptions + Send + Sync + 'static,
) -> ConnectOptions {
    let mut options = ConnectOptions::new("sqlite://set-below");
    options
        .max_connections(connections)
        .acquire_timeout(CONNECTION_WAIT)
        .sqlx_logging(false)
        .map_sqlx_sqlite_opts(set);
    options
}

fn cannot_open(path: &Path, error: DbErr) -> Fault {
    match fault(error) {
        Fault::Unavailable(reason) => Fault::Unavailable(format!("{}: {reason}", path.display())),
        Fault::Corrupt(reason) => Fault::Corrupt(format!("{}: {reason}", path.display())),
        other => other,
    }
}

/// The pool that the writer's one connection comes from, with the schema brought up to date.
pub(super) async fn writer(path: &Path, settings: &SqliteSettings) -> Result<DatabaseConnection, Fault> {
    let (file, busy_timeout, pages_max) = (path.to_owned(), settings.busy_timeout, settings.pages_max);
    let set = move |options: SqliteConnectOptions| {
        let mut options = options
            .filename(&file)
            .create_if_missing(true)
            .page_size(8_192)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(busy_timeout)
            // All texts of `sql`, four of them for each number of rows.
            .statement_cache_capacity(512)
            // Multi-row statements otherwise write their rows to temporary files first.
            .pragma("temp_store", "MEMORY")
            .pragma("cache_size", "-65536")
            .pragma("journal_size_limit", "67108864");
        if let Some(pages) = pages_max {
            options = options.pragma("max_page_count", pages.to_string());
        }
        options
    };
    let db = Database::connect(options(1, set)).await.map_err(|error| cannot_open(path, error))?;
    Migrator::up(&db, None).await.map_err(|error| cannot_open(path, error))?;
    Ok(db)
}

/// Connections that cannot write, for a file that exists.
pub(super) async fn readers(path: &Path, settings: &SqliteSettings) -> Result<DatabaseConnection, Fault> {
    let (file, busy_timeout) = (path.to_owned(), settings.busy_timeout);
    let set = move |options: SqliteConnectOptions| {
        options.filename(&file).read_only(true).create_if_missing(false).busy_timeout(busy_timeout)
    };
    Database::connect(options(settings.readers, set)).await.map_err(|error| cannot_open(path, error))
}
