//! The real shop, as a process of its own, and what it prints.

// Each test program uses a part of it.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;

use sea_orm::{ConnectionTrait as _, Database, DatabaseConnection, Statement};

/// The example. A run of all tests builds it beside the folder of this one; a run of one test alone does not, and
/// would meet none, or that of yesterday.
pub fn shop() -> Command {
    static CURRENT: Once = Once::new();
    let here = std::env::current_exe().expect("this test is a file");
    let profile = here.parent().and_then(Path::parent).expect("it lies in target/PROFILE/deps");
    let shop = profile.join("examples").join("shop");
    CURRENT.call_once(|| {
        let what = if shop.exists() { "older than its sources" } else { "not there" };
        assert!(is_current(&shop), "{} is {what}: run `cargo build --example shop` first", shop.display());
    });
    let mut command = Command::new(shop);
    command.env_remove("NO_COLOR").env_remove("RUST_LOG").stdin(Stdio::null());
    command
}

/// Is it there, and younger than everything that it was made of?
fn is_current(shop: &Path) -> bool {
    let modified = |path: &Path| path.metadata().and_then(|file| file.modified()).ok();
    let made_of = std::fs::read_to_string(shop.with_extension("d")).unwrap_or_default();
    let Some(built) = modified(shop).filter(|_| !made_of.is_empty()) else { return false };
    // As make reads it: `shop: a.rs b.rs`, where a space in a name is escaped.
    let escaped = made_of.replace("\\ ", "\0");
    let sources = escaped.split_whitespace().skip(1).map(|source| source.replace('\0', " "));
    sources.map(PathBuf::from).all(|source| modified(&source).is_some_and(|changed| changed <= built))
}

/// How a call ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// Runs the shop to its end.
pub fn run<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Ended {
    ended(shop().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the shop starts"))
}

/// Runs the shop to its end, with these bytes on its standard input.
pub fn run_with_input<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>, input: &[u8]) -> Ended {
    let mut command = shop();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the shop starts");
    let mut stdin = child.stdin.take().expect("it was piped");
    let input = input.to_vec();
    // It may end before it has read everything; that is its business.
    let feeding = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let ended = ended(child);
    feeding.join().expect("feeding does not panic");
    ended
}

fn ended(child: Child) -> Ended {
    let output = child.wait_with_output().expect("it can be waited for");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the shop prints text");
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// A file of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The page that ends a run, by its headings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub sections: BTreeMap<String, Vec<String>>,
}

impl Page {
    pub fn read(out: &str) -> Self {
        let mut sections: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut heading = String::new();
        for line in out.lines() {
            if ["OUTCOMES", "LINES", "EVENTS", "DESK", "AUDIT"].contains(&line) {
                heading = line.to_owned();
            }
            sections.entry(heading.clone()).or_default().push(line.to_owned());
        }
        Self { sections }
    }

    /// The rows of a section's table, without its head.
    pub fn rows(&self, section: &str) -> Vec<Vec<String>> {
        let lines = self.sections.get(section).map_or(&[][..], Vec::as_slice);
        let cells = |line: &String| -> Option<Vec<String>> {
            let inner = line.strip_prefix('│')?.strip_suffix('│')?;
            Some(inner.split('┆').map(|cell| cell.trim().to_owned()).collect())
        };
        lines.iter().filter_map(cells).skip(1).collect()
    }

    /// One line of a section that begins like this.
    pub fn line(&self, section: &str, begins: &str) -> Option<&str> {
        self.sections
            .get(section)?
            .iter()
            .map(String::as_str)
            .find(|line| line.trim_start().starts_with(begins))
    }
}

/// A database, opened so that it disturbs nobody.
pub async fn look_into(path: &Path) -> DatabaseConnection {
    connect(path, "ro").await
}

/// A database, opened to be tampered with.
pub async fn reach_into(path: &Path) -> DatabaseConnection {
    connect(path, "rw").await
}

async fn connect(path: &Path, mode: &str) -> DatabaseConnection {
    let url = format!("sqlite://{}?mode={mode}", path.display());
    Database::connect(url).await.unwrap_or_else(|error| panic!("{} opens: {error}", path.display()))
}

/// One number.
pub async fn number(db: &DatabaseConnection, sql: &str) -> i64 {
    let row = db.query_one_raw(Statement::from_string(db.get_database_backend(), sql)).await;
    row.expect("the database answers").expect("there is a row").try_get_by_index(0).expect("it is a number")
}

/// All rows of a statement with one text column.
pub async fn texts(db: &DatabaseConnection, sql: &str) -> Vec<String> {
    let rows = db.query_all_raw(Statement::from_string(db.get_database_backend(), sql)).await;
    let rows = rows.expect("the database answers");
    rows.iter().map(|row| row.try_get_by_index(0).expect("it is text")).collect()
}
