//! Where a cell is measured: a file of its own, or a schema of its own on a PostgreSQL server.

use std::path::{Path, PathBuf};

use amends::ports::{Ids as _, RandomIds};
use amends_core::Timestamp;
use sea_orm::sqlx::sqlite::{SqliteJournalMode, SqliteSynchronous};
use sea_orm::{ConnectOptions, ConnectionTrait as _, Database, DatabaseConnection};

/// Where all cells are measured.
pub enum Place {
    /// In files of this folder.
    Folder(PathBuf),
    /// On the server at this URL.
    Server(String),
}

/// One database of the engine's schema.
pub enum Spot {
    /// A file.
    File(PathBuf),
    /// A schema, by the URL that looks there first.
    Schema { server: String, name: String },
}

impl Place {
    /// A new one, with nothing in it.
    pub async fn spot(&self, name: &str) -> anyhow::Result<Spot> {
        let unique = RandomIds::from_system().next(Timestamp(0)).simple();
        match self {
            Self::Folder(folder) => Ok(Spot::File(folder.join(format!("{name}-{unique}.db")))),
            Self::Server(server) => {
                let name = format!("amends_bench_{unique}");
                let db = Database::connect(server).await?;
                db.execute_unprepared(&format!("CREATE SCHEMA {name}")).await?;
                db.close().await?;
                Ok(Spot::Schema { server: server.clone(), name })
            }
        }
    }
}

impl Spot {
    /// One connection for plain SQL, as durable as the engine's.
    pub async fn connect(&self) -> anyhow::Result<DatabaseConnection> {
        let mut options = match self {
            Self::File(file) => ConnectOptions::new(format!("sqlite://{}?mode=rwc", file.display())),
            Self::Schema { .. } => ConnectOptions::new(self.url()),
        };
        options.max_connections(1).sqlx_logging(false);
        options.map_sqlx_sqlite_opts(|sqlite| {
            sqlite
                .journal_mode(SqliteJournalMode::Wal)
                .synchronous(SqliteSynchronous::Full)
                .pragma("temp_store", "MEMORY")
                .statement_cache_capacity(64)
        });
        options.map_sqlx_postgres_opts(|postgres| postgres.options([("synchronous_commit", "on")]));
        Ok(Database::connect(options).await?)
    }

    /// For the engine's store.
    pub fn url(&self) -> String {
        match self {
            Self::File(file) => file.display().to_string(),
            Self::Schema { server, name } => {
                let joint = if server.contains('?') { '&' } else { '?' };
                format!("{server}{joint}options[search_path]={name}")
            }
        }
    }

    /// Removes it.
    pub async fn remove(self) -> anyhow::Result<()> {
        match self {
            Self::File(file) => {
                for end in ["", "-wal", "-shm", ".lock"] {
                    let _ = std::fs::remove_file(with_end(&file, end));
                }
            }
            Self::Schema { server, name } => {
                let db = Database::connect(server).await?;
                db.execute_unprepared(&format!("DROP SCHEMA {name} CASCADE")).await?;
                db.close().await?;
            }
        }
        Ok(())
    }
}

fn with_end(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(end);
    name.into()
}
