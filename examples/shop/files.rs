//! The files that belong to one database, and what a person can ask for in their place.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::Unusable;

/// A database file and the participants' own beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The engine's.
    pub database: PathBuf,
    /// The participants'.
    pub participants: PathBuf,
}

impl Files {
    /// From a path or a `sqlite:` URL.
    ///
    /// # Errors
    /// When it names another kind of database, or none.
    pub fn named(database: &str) -> Result<Self, Unusable> {
        let path = match database.split_once(':') {
            Some(("postgres" | "postgresql", _)) => {
                return Err(Unusable::new(
                    "PostgreSQL comes with a later release",
                    "give --database a path, or a URL such as sqlite://shop.db",
                ));
            }
            Some(("sqlite", rest)) => {
                let rest = rest.strip_prefix("//").unwrap_or(rest);
                rest.split_once('?').map_or(rest, |(path, _)| path)
            }
            Some((scheme, rest)) if rest.starts_with("//") => {
                return Err(Unusable::new(
                    format!("`{scheme}` is no kind of database that the shop knows"),
                    "give --database a path, or a URL such as sqlite://shop.db",
                ));
            }
            _ => database,
        };
        if path.is_empty() || path == ":memory:" {
            return Err(Unusable::new(
                format!("`{database}` names no file, and what runs in memory could not be continued"),
                "give --database a path",
            ));
        }
        let database = PathBuf::from(path);
        if database.is_dir() {
            return Err(Unusable::new(
                format!("{} is a folder", database.display()),
                "give --database the path of a file in it",
            ));
        }
        let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return Err(Unusable::new(
                format!("the folder {} does not exist", folder.display()),
                "make it first, or give --database another path",
            ));
        }
        Ok(Self { participants: beside(&database, ".participants"), database })
    }

    /// Removes both databases, unless a process is at work on them.
    ///
    /// # Errors
    /// When one is, or a file cannot be removed.
    pub fn remove(&self) -> Result<(), Unusable> {
        // The same lock that a store holds for its life; it stays, for a new file would be another lock.
        let lock = beside(&self.database, ".lock");
        let cannot = |path: &Path, error: io::Error| {
            Unusable::new(
                format!("{} cannot be removed: {error}", path.display()),
                "remove the files by hand, or give --database another path",
            )
        };
        if !lock.exists() && !self.database.exists() && !self.participants.exists() {
            return Ok(());
        }
        let held = File::options().write(true).create(true).truncate(false).open(&lock);
        let held = held.map_err(|error| cannot(&lock, error))?;
        match held.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Unusable::new(
                    format!("another process is at work on {}", self.database.display()),
                    "stop it before you ask for --fresh, or give --database another path",
                ));
            }
            Err(TryLockError::Error(error)) => return Err(cannot(&lock, error)),
        }
        for database in [&self.database, &self.participants] {
            for end in ["", "-wal", "-shm"] {
                let path = beside(database, end);
                match std::fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(cannot(&path, error));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}
