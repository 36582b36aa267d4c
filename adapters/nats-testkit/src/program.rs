//! Where the program is.

use std::path::{Path, PathBuf};

/// The program of the server.
///
/// # Panics
/// When there is none, with what to do.
pub fn program() -> PathBuf {
    if let Some(named) = std::env::var_os("AMENDS_TEST_NATS_SERVER") {
        return named.into();
    }
    downloaded().or_else(in_path).unwrap_or_else(|| {
        panic!(
            "no nats-server was found. Run `tests/run --quick -p amends-nats`, which downloads one, or set \
             AMENDS_TEST_NATS_SERVER to the path of a nats-server of version 2.11 or later"
        )
    })
}

/// What `tests/run` downloaded lies beside the folder of this very program: in `<target>/tools`.
fn downloaded() -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    let tools = this.ancestors().map(|folder| folder.join("tools")).find(|tools| tools.is_dir())?;
    let mut versions: Vec<PathBuf> = std::fs::read_dir(tools)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path().join("bin/nats-server")))
        .filter(|program| program.is_file())
        .collect();
    versions.sort();
    versions.pop()
}

fn in_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join("nats-server"))
        .find(|program| Path::is_file(program))
}
