//! Where the shop keeps everything: two files, or two schemas of one PostgreSQL database.

use std::fmt::Display;
use std::fs::File;

use crate::Unusable;
use crate::contents::Contents;
use crate::files::Files;
use crate::participants;
use crate::schemas::{AtWork, Schemas};

/// One place for sagas, and one for their effects.
#[derive(Clone, Debug)]
pub enum Place {
    /// Two SQLite files.
    Files(Files),
    /// Two schemas of a PostgreSQL database.
    Schemas(Box<Schemas>),
}

/// Held for as long as a process serves the participants of a place.
pub enum Attending {
    /// Of a file.
    File(#[expect(dead_code, reason = "the lock is the file's")] File),
    /// Of a schema.
    Schema(#[expect(dead_code, reason = "it keeps the lock")] AtWork),
}

impl Place {
    /// From a path, a `sqlite:` URL, or a `postgres:` URL.
    ///
    /// # Errors
    /// When it names another kind of database, or none.
    pub fn named(database: &str) -> Result<Self, Unusable> {
        match database.split_once(':') {
            Some(("postgres" | "postgresql", _)) => Ok(Self::Schemas(Box::new(Schemas::named(database)?))),
            _ => Files::named(database).map(Self::Files),
        }
    }

    /// Where the participants have theirs.
    pub fn effects(&self) -> participants::Place {
        match self {
            Self::Files(files) => participants::Place::File(files.participants.clone()),
            Self::Schemas(schemas) => schemas.participants(),
        }
    }

    /// Finds out whether the shop can work there.
    ///
    /// # Errors
    /// When it is somebody else's, or one of the two was lost.
    pub async fn check(&self) -> Result<(), Unusable> {
        match self {
            Self::Files(files) => files.check().await,
            Self::Schemas(schemas) => schemas.check().await,
        }
    }

    /// Keeps `--fresh` of others away from the participants for as long as the answer lives.
    ///
    /// # Errors
    /// When it cannot.
    pub async fn attend(&self) -> Result<Attending, Unusable> {
        match self {
            Self::Files(files) => files.attend().map(Attending::File),
            Self::Schemas(schemas) => schemas.enter().await.map(Attending::Schema),
        }
    }

    /// Removes what the shop has made there, unless a process is at work on it.
    ///
    /// # Errors
    /// When one is, when it is not the shop's, or when it cannot be removed.
    pub async fn remove(&self) -> Result<(), Unusable> {
        match self {
            Self::Files(files) => files.remove().await,
            Self::Schemas(schemas) => schemas.remove().await,
        }
    }
}

/// A database as it may be shown: its URL may hold a password.
pub fn shown(database: &str) -> &str {
    match database.split_once(':') {
        Some(("postgres" | "postgresql", _)) => "URL",
        _ => database,
    }
}

/// Sagas and their effects belong together: where one of the two was lost they would contradict each other, and every
/// such saga would do its work again.
///
/// # Errors
/// When one was.
pub fn fit_together(
    [sagas, effects]: [Contents; 2],
    [database, participants]: [&dyn Display; 2],
    missing: &str,
) -> Result<(), Unusable> {
    let lost = match (sagas, effects) {
        (Contents::Ours { used: true }, Contents::Nothing) => {
            format!("{database} has sagas, but {participants}, where their effects were kept, is missing")
        }
        (Contents::Nothing | Contents::Ours { used: false }, Contents::Ours { used: true }) => {
            format!("{participants} has effects of sagas that {database} does not have")
        }
        _ => return Ok(()),
    };
    Err(Unusable::new(lost, format!("put the missing {missing} back, or begin again with --fresh")))
}
