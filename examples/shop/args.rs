//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// What one call of the shop is asked to do.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "shop",
    version,
    about = "A shop that survives its failures: orders, payments and refunds as sagas on one SQLite file, or on
PostgreSQL; with participants that are called, or written to over NATS.",
    after_help = EXAMPLES,
    next_line_help = true
)]
pub struct Args {
    /// The database: a path, a sqlite:// URL (in which %20 is a space), or a postgres:// URL. The
    /// participants keep their own beside it: in <database>.participants, or on PostgreSQL in a
    /// second schema. There the two are shop and shop_participants; ?options[search_path]=NAME
    /// at the end of the URL names others. A database that exists is continued: what has ended
    /// stays ended, what was under way goes on.
    #[arg(long, value_name = "PATH|URL", default_value = "shop.db", verbatim_doc_comment)]
    pub database: String,

    /// The lines to run, one JSON object each, as shown below; - reads them from standard input.
    /// By default examples/orders.jsonl, which comes with the shop.
    #[arg(long, value_name = "FILE|-", verbatim_doc_comment)]
    pub orders: Option<PathBuf>,

    /// Runs lines that are made up from --seed instead, so many of them, with bad days that the
    /// sagas get over by themselves. The same seed gives the same lines, and a smaller number
    /// the first of them.
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "orders",
        value_parser = clap::value_parser!(u32).range(1..=100_000),
        allow_negative_numbers = true,
        verbatim_doc_comment
    )]
    pub generated: Option<u32>,

    /// Shuffles the order in which the lines arrive; lines about one order keep theirs. 0 is
    /// the order of the file. Nothing else here is left to chance: what a participant does
    /// wrong stands in the lines.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = seed, allow_negative_numbers = true, verbatim_doc_comment)]
    pub seed: u64,

    /// Removes the database, and that of the participants, first. A file that is neither stays,
    /// and so does a schema that the shop has not made, or in which others keep something.
    #[arg(long, verbatim_doc_comment)]
    pub fresh: bool,

    /// How many seconds a second of the shop takes: retries, timeouts, settle windows and slow
    /// participants are scaled by it. 1 is real time.
    #[arg(long, value_name = "X", default_value_t = 0.02, value_parser = pace, allow_negative_numbers = true, verbatim_doc_comment)]
    pub pace: f64,

    /// How many sagas may be under way at once; of a worker, which takes whatever is there, how
    /// many calls.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 64,
        value_parser = clap::value_parser!(u16).range(1..=4096),
        allow_negative_numbers = true,
        verbatim_doc_comment
    )]
    pub in_flight: u16,

    /// After how many seconds without a heartbeat a process is taken for dead, and the others
    /// go on with its sagas; the same for all processes on one database. Not used on a file.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = lease, allow_negative_numbers = true, verbatim_doc_comment)]
    pub lease: f64,

    /// Runs on NATS, of 2.11 or later and with JetStream: the lines are published as events, from
    /// which triggers start the sagas, and the participants take commands and send replies. The
    /// sagas are the same, and a database may be continued with and without it. Streams that are
    /// missing are made; --fresh removes them.
    #[arg(long, value_name = "URL", verbatim_doc_comment)]
    pub nats: Option<String>,

    /// What the names of all subjects and streams on NATS begin with: one for each database.
    #[arg(long, value_name = "NAME", default_value = "shop", requires = "nats", value_parser = prefix, verbatim_doc_comment)]
    pub prefix: String,

    /// Whether the participants are served by this process too, or by another one that runs with
    /// --serve-participants, on the same --database and at the same --pace.
    #[arg(
        long,
        value_name = "WHERE",
        default_value = "here",
        requires = "nats",
        value_enum,
        hide_possible_values = true,
        verbatim_doc_comment
    )]
    pub participants: Served,

    /// Serves the participants over NATS, and nothing else, until SIGTERM or SIGINT. Kill it, and
    /// start it again, as you like.
    #[arg(
        long,
        group = "mode",
        requires = "nats",
        conflicts_with_all = ["orders", "generated", "seed", "in_flight", "lease", "participants"],
        verbatim_doc_comment
    )]
    pub serve_participants: bool,

    /// Works on the sagas that are there, beside other processes, and reads no lines. SIGTERM or
    /// SIGINT ends it: what is under way is awaited, and the others go on with the rest.
    #[arg(
        long,
        group = "mode",
        conflicts_with_all = ["orders", "generated", "seed", "fresh"],
        verbatim_doc_comment
    )]
    pub worker: bool,

    /// Starts the sagas of the lines, awaits nothing, and leaves them to the workers. With --nats
    /// it publishes the events alone, and works on no database but that of the participants.
    #[arg(long, group = "mode", verbatim_doc_comment)]
    pub submit: bool,

    /// Does no work: waits until nothing is under way, for at most so many seconds, and prints
    /// the last page, with two more rules: every line that starts a saga has its saga, and every
    /// saga has ended or stands on a desk with a reason. Nothing is changed.
    #[arg(
        long,
        value_name = "SECONDS",
        group = "mode",
        conflicts_with_all = ["fresh", "pace", "in_flight", "lease", "nats"],
        value_parser = clap::value_parser!(u32).range(0..=86_400),
        allow_negative_numbers = true,
        verbatim_doc_comment
    )]
    pub audit: Option<u32>,

    /// Shows one saga and runs nothing: where it stands, its graph and its timeline. SAGA is
    /// its id, its key, or workflow/key. Opens the database read-only, also while a run is
    /// going on; SQLite then keeps two small files beside it, so the folder must be writable.
    #[arg(
        long,
        value_name = "SAGA",
        group = "mode",
        conflicts_with_all = ["orders", "generated", "seed", "fresh", "pace", "in_flight", "lease", "nats"],
        verbatim_doc_comment
    )]
    pub show: Option<String>,
}

/// Who serves the participants over NATS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Served {
    /// This process.
    Here,
    /// Another one.
    Elsewhere,
}

const EXAMPLES: &str = r#"Examples:
  cargo run --example shop                            run the lines that come with it, on ./shop.db
  cargo run --example shop -- --fresh --pace 0.2      from the beginning, ten times slower, to watch it
  cargo run --example shop -- --show order/O-1189     what happened to one order, and why
  cargo run --example shop -- --orders mine.jsonl --database /tmp/mine.db
  cargo run --example shop -- --database postgres://me@localhost/test
  tail -n 20 mine.jsonl | cargo run --example shop -- --orders -

Many processes on one PostgreSQL, killed and started again as you like:
  cargo run --example shop -- --database postgres://me@localhost/test --worker        three times, say
  cargo run --example shop -- --database postgres://me@localhost/test --submit --generated 2000
  cargo run --example shop -- --database postgres://me@localhost/test --audit 300 --generated 2000

On NATS, in one process or in two:
  cargo run --example shop -- --nats nats://127.0.0.1:4222
  cargo run --example shop -- --nats nats://127.0.0.1:4222 --serve-participants
  cargo run --example shop -- --nats nats://127.0.0.1:4222 --participants elsewhere
Or in many: --worker, and --submit, take --nats as well.

Lines, one object each; the last two are what a person does about a saga that stands on a desk, and
the page at the end of a run tells the other verbs:
  {"order": {"order": "O-1", "customer": "c-1", "card": "tok-1", "address": "Lindenweg 4",
    "lines": [{"sku": "tea-assam", "quantity": 2, "price": {"minor": 1250, "currency": "EUR"}}],
    "total": {"minor": 2500, "currency": "EUR"}}}   (on one line; "minor" counts cents)
  {"payment": {"payment": "P-1", "customer": "c-1", "card": "tok-1", "amount": {"minor": 900, "currency": "EUR"}}}
  {"refund": {"refund": "R-1", "order": "O-1", "customer": "c-1", "amount": {"minor": 1250, "currency": "EUR"}}}
  {"resume": {"saga": "order/O-1", "action": "ship-parcel/forward", "reason": "credential renewed"}}
  {"cancel": {"saga": "order/O-1", "reason": "the customer called"}}
Bad days of the participants can be planned for each of the first three: examples/README.md.

It may be killed at any moment; the same command continues. RUST_LOG=amends=info shows failures,
retries and desk entries; --show tells every decision of a saga.

Exit codes:
    0  stock and money balance, a saga was shown, lines were submitted, or a worker ended as told
    1  they do not balance, or --audit found a line without its saga, or a saga under way, or
       with --nats something is left in a stream
    2  the input cannot be used, or a database, NATS or the output failed; nothing was lost
  130  interrupted by SIGINT, in good order
  143  ended by SIGTERM, in good order; a worker and the participants end with 0 then, and by
       SIGINT too"#;

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("give a whole number from 0 to {}", u64::MAX))
}

fn prefix(text: &str) -> Result<String, String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    match (1..=64).contains(&text.len()) && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err("use 1 to 64 letters, digits, - and _".to_owned()),
    }
}

fn pace(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(pace) if (0.001..=100.0).contains(&pace) => Ok(pace),
        _ => Err("give a number from 0.001 (a thousand times faster than life) to 100".to_owned()),
    }
}

fn lease(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(lease) if (0.1..=3_600.0).contains(&lease) => Ok(lease),
        _ => Err("give a number of seconds from 0.1 to 3600".to_owned()),
    }
}
