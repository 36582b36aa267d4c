//! A shop whose orders, payments and refunds are sagas: one command shows what the engine is for.
//!
//! Read `args` (what can be asked), `load` and `admission` (what comes in), `shop` (what works on it), `run`
//! and `drive` (what is done), `findings` and `report` (the last page) and `show` (one saga, closely).

mod admission;
mod args;
mod drive;
mod files;
mod findings;
mod load;
#[path = "../participants/mod.rs"]
mod participants;
mod progress;
mod report;
mod run;
mod shop;
mod show;

use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use args::Args;

/// How a call ends, as its exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum End {
    /// Stock and money balance, or a saga was shown.
    Good = 0,
    /// Stock and money do not balance.
    Unbalanced = 1,
    /// The input cannot be used: a flag, the file with the lines, the database.
    Unusable = 2,
    /// Interrupted by a signal, in good order.
    Interrupted = 130,
}

/// Something that a person has to change before the shop can do anything, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Unusable {
    what: String,
    then: String,
}

impl Unusable {
    fn new(what: impl Into<String>, then: impl Into<String>) -> Self {
        Self { what: what.into(), then: then.into() }
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.then)
    }
}

impl std::error::Error for Unusable {}

/// Prints a page. Whoever reads it through `head` may stop early.
fn print(page: &str) -> std::io::Result<()> {
    match std::io::stdout().write_all(page.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    if std::env::var_os("RUST_LOG").is_some() {
        tracing_subscriber::fmt()
            .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
            .with_writer(std::io::stderr)
            .init();
    }
    let done = match &args.show {
        Some(saga) => show::show(&args.database, saga).await,
        None => run::run(&args).await,
    };
    let end = done.unwrap_or_else(|error| {
        eprintln!("shop: {error:#}");
        End::Unusable
    });
    ExitCode::from(end as u8)
}
