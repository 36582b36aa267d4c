//! What is in a file, found without changing it: nobody's file is written to, or removed, because of its name.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use sea_orm::{
    ConnectOptions, ConnectionTrait as _, Database, DatabaseConnection, DbBackend, DbErr, Statement,
};

use crate::Unusable;
use crate::files::beside;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// There is no file, or one without anything in it.
    Nothing,
    /// Tables of the shop, with or without something in them.
    Ours {
        /// Whether sagas, or effects of sagas, are there.
        used: bool,
    },
    /// Something of somebody else.
    Foreign,
}

/// By what a database is known.
pub struct Mark {
    /// Counts something if the database is of this kind.
    pub kind: &'static str,
    /// The table that is filled by use.
    pub used: &'static str,
}

/// The engine's database: its migrations keep their own table.
pub const ENGINE: Mark = Mark {
    kind: "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'amends_migration'",
    used: "saga",
};

/// The participants' database: the first table that is made in it, by its columns.
pub const PARTICIPANTS: Mark = Mark {
    kind: "SELECT count(*) = 5 FROM pragma_table_info('stock')
           WHERE name IN ('sku', 'initial', 'on_hand', 'reserved', 'shipped')",
    used: "effect",
};

/// What the file at `path` holds.
///
/// # Errors
/// When it cannot be read.
pub async fn look(path: &Path, mark: &Mark) -> Result<Contents, Unusable> {
    let cannot = |error: String| {
        Unusable::new(
            format!("{} cannot be read: {error}", path.display()),
            "remove it by hand, or give --database another path",
        )
    };
    let metadata = match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Contents::Nothing),
        found => found.map_err(|error| cannot(error.to_string()))?,
    };
    if !metadata.is_file() {
        return Ok(Contents::Foreign);
    }
    if metadata.len() == 0 {
        return Ok(Contents::Nothing);
    }
    let mut head = Vec::new();
    let begin = File::open(path).and_then(|file| file.take(16).read_to_end(&mut head));
    begin.map_err(|error| cannot(error.to_string()))?;
    if head != *b"SQLite format 3\0" {
        return Ok(Contents::Foreign);
    }
    tables(path, mark).await.map_err(|error| cannot(error.to_string()))
}

async fn tables(path: &Path, mark: &Mark) -> Result<Contents, DbErr> {
    // Without a log of changes the file is all there is, and SQLite need not make files of its own to read it.
    let (file, complete) = (path.to_owned(), !beside(path, "-wal").exists());
    let mut options = ConnectOptions::new("sqlite://set-below");
    options.max_connections(1).sqlx_logging(false).map_sqlx_sqlite_opts(move |sqlite| {
        sqlite.filename(&file).read_only(true).create_if_missing(false).immutable(complete)
    });
    let db = Database::connect(options).await?;
    let found = judge(&db, mark).await;
    db.close().await?;
    found
}

async fn judge(db: &DatabaseConnection, mark: &Mark) -> Result<Contents, DbErr> {
    if number(db, "SELECT count(*) FROM sqlite_schema").await? == 0 {
        return Ok(Contents::Nothing);
    }
    if number(db, mark.kind).await? == 0 {
        return Ok(Contents::Foreign);
    }
    let table = format!("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '{}'", mark.used);
    let used = number(db, &table).await? > 0
        && number(db, &format!("SELECT EXISTS (SELECT 1 FROM {})", mark.used)).await? > 0;
    Ok(Contents::Ours { used })
}

async fn number(db: &DatabaseConnection, sql: &str) -> Result<i64, DbErr> {
    let row = db.query_one_raw(Statement::from_string(DbBackend::Sqlite, sql)).await?;
    row.map_or(Ok(0), |row| row.try_get_by_index(0))
}
