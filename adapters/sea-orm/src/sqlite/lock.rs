//! The exclusive lock file: one process owns the database.

use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use amends::ports::Fault;

/// Proof that this process owns the database, until it is dropped or the process dies, however it dies.
///
/// The file is never deleted: a new file of that name would be another lock. It holds the owner's process id,
/// for people. Not for network file systems.
#[derive(Debug)]
pub(super) struct LockFile {
    held: File,
    path: PathBuf,
}

/// The lock files that this process holds. Their ids do not tell: a process in another container may have the same.
static HELD_HERE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// How long a store of this very process is waited for: one whose last handle was dropped is about to let go.
const OURS_WITHIN: Duration = Duration::from_secs(1);

/// How often it is looked at meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// `<database>.lock`, beside the database.
fn path_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

impl LockFile {
    /// Takes the lock. Another process is not waited for; this one is, for a moment.
    pub(super) async fn take(database: &Path) -> Result<Self, Fault> {
        let looks = async {
            let mut again = tokio::time::interval(LOOK_EVERY);
            loop {
                again.tick().await;
                match Self::look(database) {
                    Err(Refusal::Ours) => {}
                    ended => return ended,
                }
            }
        };
        let ended = match tokio::time::timeout(OURS_WITHIN, looks).await {
            Ok(ended) => ended,
            Err(_) => Self::look(database),
        };
        ended.map_err(|refusal| match refusal {
            Refusal::Ours => ours(database),
            Refusal::Fault(fault) => fault,
        })
    }

    fn look(database: &Path) -> Result<Self, Refusal> {
        let path = path_of(database);
        let unavailable = |error: std::io::Error| {
            let reason = match no_folder(database) {
                Some(reason) => format!("{} cannot be opened: {reason}", database.display()),
                None => format!("the lock file {} cannot be opened: {error}", path.display()),
            };
            Fault::Unavailable(reason)
        };
        let options = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = options.map_err(unavailable)?;
        let whole = path.canonicalize().map_err(unavailable)?;
        let mut held_here = HELD_HERE.lock().unwrap_or_else(PoisonError::into_inner);
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) if held_here.contains(&whole) => return Err(Refusal::Ours),
            Err(TryLockError::WouldBlock) => return Err(in_use(database, &path, &mut file).into()),
            Err(TryLockError::Error(error)) => return Err(unavailable(error).into()),
        }
        if !is_ours(&mut file).map_err(unavailable)? {
            let what = "is no lock of a database, and is left as it is";
            return Err(Fault::Corrupt(format!("{} {what}", path.display())).into());
        }
        file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(unavailable)?;
        held_here.push(whole.clone());
        Ok(Self { held: file, path: whole })
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // Both under the one guard: nobody takes this lock for another process's between them.
        let mut held_here = HELD_HERE.lock().unwrap_or_else(PoisonError::into_inner);
        // Where it cannot be given up here, it goes when the file is closed, which is next.
        let _given_up = self.held.unlock();
        held_here.retain(|path| *path != self.path);
    }
}

/// Why the lock was not given.
enum Refusal {
    /// Another store of this process holds it.
    Ours,
    Fault(Fault),
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// What is wrong with the folder that a new file would lie in.
fn no_folder(database: &Path) -> Option<String> {
    // The folder of a bare name is the one that the process is in.
    let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty())?;
    match folder.metadata() {
        Ok(found) if found.is_dir() => None,
        Ok(_) => Some(format!("{} is no folder; use another path", folder.display())),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Some(format!("the folder {} does not exist; create it first", folder.display()))
        }
        Err(_) => None,
    }
}

/// Does it hold nothing, or the process id of an earlier owner? A file of that name may be somebody else's.
fn is_ours(file: &mut File) -> std::io::Result<bool> {
    let mut begin = Vec::new();
    file.rewind()?;
    file.take(ID_BYTES_MAX + 1).read_to_end(&mut begin)?;
    file.rewind()?;
    let is_id = begin.iter().all(|byte| byte.is_ascii_digit() || *byte == b'\n');
    Ok(is_id && begin.len() as u64 <= ID_BYTES_MAX)
}

/// No process id is longer, its line end included.
const ID_BYTES_MAX: u64 = 21;

fn ours(database: &Path) -> Fault {
    Fault::InUse(format!(
        "{} belongs to this process, which has it open and holds {}; close its other store first and drop every handle \
         of it, use a clone of that handle, or open the file read-only",
        database.display(),
        path_of(database).display()
    ))
}

fn in_use(database: &Path, lock: &Path, file: &mut File) -> Fault {
    let mut owner = String::new();
    let read = file.rewind().and_then(|()| file.read_to_string(&mut owner));
    let owner = match (read, owner.trim()) {
        (Ok(_), id) if !id.is_empty() => format!("process {id}"),
        _ => "another process".to_owned(),
    };
    Fault::InUse(format!(
        "{} belongs to {owner}, which holds {}; stop it first, use another file, or open this one read-only",
        database.display(),
        lock.display()
    ))
}
