//! Where the participants keep what they have, and how it is reached.

use std::path::PathBuf;
use std::time::Duration;

use sea_orm::sqlx::sqlite::{SqliteJournalMode, SqliteSynchronous};
use sea_orm::{ConnectOptions, Database, DatabaseConnection, DbErr};

/// How long a call waits for a connection.
const CONNECTION_WAIT: Duration = Duration::from_secs(10);

/// A file, or a schema of a PostgreSQL database: the participants' own.
#[derive(Clone, Debug)]
pub enum Place {
    /// A file, which is made if it does not exist.
    File(PathBuf),
    /// A schema that exists.
    Schema {
        /// `postgres://user@host/database`.
        url: String,
        /// Its name, which needs no quotes.
        schema: String,
    },
}

impl Place {
    /// Opens a pool of at most so many connections.
    pub(super) async fn connect(&self, connections: u32) -> Result<DatabaseConnection, DbErr> {
        match self {
            Self::File(path) => Database::connect(file(path.clone(), connections)).await,
            Self::Schema { url, schema } => Database::connect(server(url, schema.clone(), connections)).await,
        }
    }

    /// How many connections write: a file takes one writer at a time, whoever asks.
    pub(super) fn writers(&self) -> u32 {
        match self {
            Self::File(_) => 1,
            Self::Schema { .. } => 8,
        }
    }

    /// Whether other processes may be at work there at the same time.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Self::Schema { .. })
    }
}

/// WAL with `synchronous = NORMAL`: a commit is in the operating system's hands before it is answered, so a
/// SIGKILL of the process loses none; only a power cut could, and then the whole file with it goes back to an
/// older, consistent state. The engine's own file does better; for a shop to try, this is enough, and quick.
fn file(path: PathBuf, connections: u32) -> ConnectOptions {
    // SeaORM wants a URL; the path itself is set in SQLx's own options, so that `?`, `#` and `%` in it are
    // letters like others.
    let mut options = ConnectOptions::new("sqlite://set-below");
    options.max_connections(connections).sqlx_logging(false).map_sqlx_sqlite_opts(move |sqlite| {
        sqlite
            .filename(&path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(Duration::from_secs(10))
            .foreign_keys(true)
    });
    options
}

/// A commit is on the server's disk before it is answered: the server may restart while the engine remembers.
fn server(url: &str, schema: String, connections: u32) -> ConnectOptions {
    let mut options = ConnectOptions::new(url);
    options
        .max_connections(connections)
        .acquire_timeout(CONNECTION_WAIT)
        .sqlx_logging(false)
        .map_sqlx_postgres_opts(move |postgres| {
            postgres.application_name("shop participants").options([
                ("search_path", &*schema),
                ("synchronous_commit", "on"),
                ("default_transaction_isolation", "read committed"),
            ])
        });
    options
}
