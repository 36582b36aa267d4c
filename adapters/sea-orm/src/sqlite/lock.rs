//! The exclusive lock file: one process owns the database.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use amends::ports::Fault;

/// Proof that this process owns the database, until it is dropped or the process dies, however it dies.
///
/// The file is never deleted: a new file of that name would be another lock. It holds the owner's process id,
/// for people. Not for network file systems.
#[derive(Debug)]
pub(super) struct LockFile {
    _held: File,
}

/// `<database>.lock`, beside the database.
fn path_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

impl LockFile {
    pub(super) fn take(database: &Path) -> Result<Self, Fault> {
        let path = path_of(database);
        let unavailable = |error: std::io::Error| {
            Fault::Unavailable(format!("the lock file {} cannot be opened: {error}", path.display()))
        };
        let options = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = options.map_err(unavailable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(database, &path, &mut file)),
            Err(TryLockError::Error(error)) => return Err(unavailable(error)),
        }
        if !is_ours(&mut file).map_err(unavailable)? {
            let what = "is no lock of a database, and is left as it is";
            return Err(Fault::Corrupt(format!("{} {what}", path.display())));
        }
        file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(unavailable)?;
        Ok(Self { _held: file })
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
