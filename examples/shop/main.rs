//! A shop whose orders, payments and refunds are sagas: one command shows what the engine is for.
//!
//! Read `args` (what can be asked), `load`, `generated` and `admission` (what comes in), `place`, `files`, `schemas` and
//! `contents` (what is worked on), `workflows` and `shop` (what works on it), `run` and `drive` (what is done), `submit`
//! and `worker` (the same by many processes), `nats` and `serve` (the same with messages), `findings`, `desk` and `report` (the last page), `audit` (the page without the work),
//! `show` and `waits` (one saga, closely), `reader` and `plans` (how databases are read by who does not work on them)
//! and `text` (how anything is printed).

mod admission;
mod args;
mod audit;
mod contents;
mod desk;
mod drive;
mod files;
mod findings;
mod generated;
mod load;
mod nats;
#[path = "../participants/mod.rs"]
mod participants;
mod place;
mod plans;
mod progress;
mod reader;
mod report;
mod run;
mod schemas;
mod serve;
mod shop;
mod show;
mod submit;
mod text;
mod waits;
mod worker;
mod workflows;

use std::fmt;
use std::process::ExitCode;

use clap::Parser as _;

use args::Args;

/// How a call ends, as its exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum End {
    /// Stock and money balance, a saga was shown, lines were submitted, or a worker or the participants ended as told.
    Good = 0,
    /// A rule of the audit is broken.
    Unbalanced = 1,
    /// The input cannot be used: a flag, the file with the lines, the database.
    Unusable = 2,
    /// Interrupted by SIGINT, in good order.
    Interrupted = 130,
    /// Ended by SIGTERM, in good order.
    Terminated = 143,
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

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    if std::env::var_os("RUST_LOG").is_some() {
        tracing_subscriber::fmt()
            .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
            .with_writer(std::io::stderr)
            .with_ansi(text::coloured(&std::io::stderr()))
            .init();
    }
    let done = match (&args.show, args.audit) {
        (Some(saga), _) => show::show(&args.database, saga).await,
        (None, Some(within)) => audit::audit(&args, within).await,
        (None, None) if args.worker => worker::work(&args).await,
        (None, None) if args.serve_participants => serve::serve(&args).await,
        (None, None) if args.submit => submit::submit(&args).await,
        (None, None) => run::run(&args).await,
    };
    let end = done.unwrap_or_else(|error| {
        text::say(format_args!("shop: {error:#}"));
        End::Unusable
    });
    ExitCode::from(end as u8)
}
