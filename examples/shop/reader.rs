//! Reading the databases beside whoever works on them: nothing is written, and no place is taken.

use std::fs::File;
use std::path::Path;

use amends_sea_orm::{PostgresStore, SqlReader, SqliteStore};
use anyhow::Context as _;
use tempfile::TempDir;

use crate::Unusable;
use crate::contents::{self, Contents};
use crate::files::beside;
use crate::place::Place;
use crate::schemas::Schemas;
use crate::shop::unopened;

/// A database to read, and the folder of its copy where one was needed.
pub struct Opened {
    /// Reads the engine's.
    pub reader: SqlReader,
    _copy: Option<TempDir>,
}

impl Opened {
    /// Opens what the shop has made there.
    ///
    /// # Errors
    /// When there is no such database, or it cannot be read.
    pub async fn at(place: &Place) -> anyhow::Result<Self> {
        match place {
            Place::Files(files) => open_file(&files.database).await,
            Place::Schemas(schemas) => open_schema(schemas).await,
        }
    }
}

/// Joins nobody: it only reads.
async fn open_schema(schemas: &Schemas) -> anyhow::Result<Opened> {
    match schemas.look().await? {
        Contents::Ours { used: true } => {}
        _ => {
            let then = "run the shop on it first, or give --database another one";
            return Err(Unusable::new("the shop has not run on this database yet", then).into());
        }
    }
    let reader = PostgresStore::open_read_only(&schemas.engine_url()).await.map_err(unopened)?;
    Ok(Opened { reader, _copy: None })
}

async fn open_file(database: &Path) -> anyhow::Result<Opened> {
    let path = database.display();
    match contents::look(database, &contents::ENGINE).await? {
        Contents::Ours { .. } => {}
        Contents::Nothing => {
            let what = match database.exists() {
                true => format!("nothing has run on {path} yet"),
                false => format!("the database {path} does not exist"),
            };
            return Err(
                Unusable::new(what, "run the shop on it first, or give --database another path").into()
            );
        }
        Contents::Foreign => {
            let what = format!("{path} is not a database of the shop");
            return Err(Unusable::new(what, "give --database the path of one").into());
        }
    }
    open(database).await
}

/// SQLite keeps small files beside a database in use. Where its folder cannot be written to, a database that was
/// closed in good order, and so is all in its one file, is read in a copy.
async fn open(database: &Path) -> anyhow::Result<Opened> {
    let fault = match SqliteStore::open_read_only(database).await {
        Ok(reader) => return Ok(Opened { reader, _copy: None }),
        Err(fault) if beside(database, "-wal").exists() => return Err(unopened(fault).into()),
        Err(fault) => fault,
    };
    let folder = tempfile::tempdir().context("failed to make a temporary folder")?;
    let copy = folder.path().join("copy.db");
    let mut from = File::open(database).map_err(|_| unopened(fault))?;
    let mut to = File::create(&copy).context("failed to copy the database")?;
    std::io::copy(&mut from, &mut to).context("failed to copy the database")?;
    let reader = SqliteStore::open_read_only(&copy).await.map_err(unopened)?;
    Ok(Opened { reader, _copy: Some(folder) })
}
