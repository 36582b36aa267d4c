//! The files that belong to one database, and what a person can ask for in their place.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::Unusable;
use crate::contents::{self, Contents};
use crate::place;

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
        let in_url;
        let path = match database.split_once(':') {
            Some(("sqlite", rest)) => {
                let rest = rest.strip_prefix("//").unwrap_or(rest);
                in_url = decoded(rest.split_once('?').map_or(rest, |(path, _)| path));
                &in_url
            }
            Some((scheme, rest)) if rest.starts_with("//") => {
                return Err(Unusable::new(
                    format!("`{scheme}` is no kind of database that the shop knows"),
                    "give --database a path, or a URL such as sqlite://shop.db or postgres://user@host/database",
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
        if database.is_dir() || path.ends_with('/') {
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

    /// What each file holds, if it is the shop's to hold: a file is never written to because of its name.
    async fn contents(&self) -> Result<[Contents; 2], Unusable> {
        let mut held = [Contents::Nothing; 2];
        let kinds = [contents::ENGINE, contents::PARTICIPANTS];
        for ((path, kind), held) in [&self.database, &self.participants].into_iter().zip(kinds).zip(&mut held)
        {
            *held = contents::look(path, &kind).await?;
            if *held == Contents::Foreign {
                return Err(Unusable::new(
                    format!("{} is not a database of the shop", path.display()),
                    "remove it by hand, or give --database another path",
                ));
            }
        }
        Ok(held)
    }

    /// Finds out whether the shop can work on these files.
    ///
    /// # Errors
    /// When one is somebody else's, or one of the two was lost.
    pub async fn check(&self) -> Result<(), Unusable> {
        let names: [&dyn Display; 2] = [&self.database.display(), &self.participants.display()];
        place::fit_together(self.contents().await?, names, "file")
    }

    /// Keeps others from removing the participants' file for as long as the answer lives.
    ///
    /// # Errors
    /// When somebody does so at this moment, or there can be no lock.
    pub fn attend(&self) -> Result<File, Unusable> {
        let lock = beside(&self.participants, ".lock");
        let cannot = |error: io::Error| {
            Unusable::new(
                format!("{} cannot be locked: {error}", lock.display()),
                "give --database a path in a folder that can be written to",
            )
        };
        let held = File::options().write(true).create(true).truncate(false).open(&lock).map_err(cannot)?;
        match held.try_lock_shared() {
            Ok(()) => Ok(held),
            Err(TryLockError::WouldBlock) => Err(Unusable::new(
                format!("{} is being removed", self.participants.display()),
                "try again in a moment",
            )),
            Err(TryLockError::Error(error)) => Err(cannot(error)),
        }
    }

    /// Removes both databases, unless a process is at work on them.
    ///
    /// # Errors
    /// When one is, when a file is not the shop's, or when it cannot be removed.
    pub async fn remove(&self) -> Result<(), Unusable> {
        self.contents().await?;
        let cannot = |path: &Path, error: io::Error| {
            Unusable::new(
                format!("{} cannot be removed: {error}", path.display()),
                "remove the files by hand, or give --database another path",
            )
        };
        let mut locks = Vec::new();
        for database in [&self.database, &self.participants] {
            // The lock that a store, or who serves the participants, holds for its life; it stays, for a new file would
            // be another lock.
            let lock = beside(database, ".lock");
            if !lock.exists() && (database == &self.participants || !self.database.exists()) {
                continue;
            }
            let held = File::options().write(true).create(true).truncate(false).open(&lock);
            let held = held.map_err(|error| cannot(&lock, error))?;
            match held.try_lock() {
                Ok(()) => locks.push(held),
                Err(TryLockError::WouldBlock) => {
                    return Err(Unusable::new(
                        format!("another process is at work on {}", database.display()),
                        "stop it before you ask for --fresh, or give --database another path",
                    ));
                }
                Err(TryLockError::Error(error)) => return Err(cannot(&lock, error)),
            }
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

/// The file of the same name with this end.
pub fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// The path in a URL: `%20` is a space there. What is no such escape stays as it is.
fn decoded(path: &str) -> String {
    let bytes = path.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).filter(|digits| *byte == b'%' && digits.is_ascii());
        let escape = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        decoded.push(escape.unwrap_or(*byte));
        at += if escape.is_some() { 3 } else { 1 };
    }
    String::from_utf8(decoded).unwrap_or_else(|_| path.to_owned())
}
