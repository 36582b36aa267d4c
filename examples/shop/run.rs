//! One run: read the lines, open the shop, see everything through, close it, say how it went.

use std::fs::File;
use std::io::{BufReader, stdin};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::Args;
use crate::drive::{Drive, arrival};
use crate::findings::Books;
use crate::load::{self, Lines};
use crate::nats::Nats;
use crate::place::Place;
use crate::plans::Plans;
use crate::progress::Progress;
use crate::report::{Events, Look, Report};
use crate::shop::{Shop, Tempo};
use crate::text::{self, counted, print, say};
use crate::{End, Unusable, findings, generated};

/// How many malformed lines are shown when there is nothing else to show.
const COMPLAINTS_SHOWN: usize = 10;

/// Runs the lines and prints the report.
///
/// # Errors
/// When the input cannot be used, or a database fails.
pub async fn run(args: &Args) -> anyhow::Result<End> {
    let place = Place::named(&args.database)?;
    let (source, lines) = lines(args)?;
    let nats = Nats::asked_for(args).await?;
    let mut progress = Progress::here();
    let elsewhere = nats.as_ref().is_some_and(Nats::is_served_elsewhere);
    ready(args, &place, nats.as_ref(), elsewhere).await?;
    // Caught from here on: nothing has been begun before.
    let mut interrupt = signal(SignalKind::interrupt()).context("failed to listen for signals")?;
    let mut terminate = signal(SignalKind::terminate()).context("failed to listen for signals")?;

    let mut shop = Shop::open(&place, Tempo::of(args), nats).await?;
    let drive = Drive::new(&shop, &source, &lines.good);
    let lines_in_order = arrival(lines.good, args.seed);
    let seen = tokio::select! {
        seen = drive.see_through(lines_in_order, args.in_flight, &mut progress) => Ok(seen?),
        _ = interrupt.recv() => Err(End::Interrupted),
        _ = terminate.recv() => Err(End::Terminated),
    };
    let events = match (&shop.nats, &seen) {
        (Some(nats), Ok(_)) => Some(nats.events().await?),
        _ => None,
    };
    let drained = shop.shut_down().await?;
    let (facts, tally, elapsed) = match seen {
        Ok(seen) => seen,
        Err(end) => {
            progress.give_way();
            let doubt = match drained.in_doubt {
                0 => String::new(),
                n => format!(" ({} had not answered and will be settled then)", counted(n, "call", "calls")),
            };
            say(format_args!("interrupted; the same command without --fresh continues{doubt}"));
            shop.close().await?;
            return Ok(end);
        }
    };
    progress.finish(&tally, elapsed);
    let malformed = lines.malformed.iter().map(|(line, malformed)| (*line, malformed.to_string())).collect();
    let plans = Plans::of(&shop.participants.ports())?;
    let books =
        Books { query: shop.engine.query(), plans, effects: shop.effects.clone(), now: shop.engine.now() };
    let mut report = findings::report(&books, facts, malformed).await?;
    report.audit.extend(events.as_ref().map(Events::verdict));
    report.events = events.map(|events| events.triggers);
    shop.close().await?;
    print_page(&report)
}

/// Makes the place ready, and with it everything on NATS; the participants may be served by others, `elsewhere`.
///
/// # Errors
/// When something is not the shop's, or is in use, or nobody answers who should.
pub async fn ready(args: &Args, place: &Place, nats: Option<&Nats>, elsewhere: bool) -> anyhow::Result<()> {
    if args.fresh {
        if elsewhere {
            let what =
                "the participants are elsewhere, and what they have cannot be removed behind their back";
            let then = "give --fresh to the process with --serve-participants, before this one is started";
            return Err(Unusable::new(what, then).into());
        }
        place.remove().await?;
        if let Some(nats) = nats {
            nats.forget().await?;
        }
    }
    if let Some(nats) = nats {
        nats.declare().await?;
        if elsewhere {
            nats.find_participants(&args.database).await?;
        }
    }
    Ok(place.check().await?)
}

/// Prints the last page, and says what it comes to.
///
/// # Errors
/// When it cannot be printed.
pub fn print_page(report: &Report) -> anyhow::Result<End> {
    let look = Look { colours: text::coloured(&std::io::stdout()), width: text::width() };
    print(&report.page(look)).context("failed to print the report")?;
    Ok(if report.balances() { End::Good } else { End::Unbalanced })
}

/// The lines that are asked for, and what they are called.
///
/// # Errors
/// When they cannot be read, or none can be used.
pub fn lines(args: &Args) -> Result<(String, Lines), Unusable> {
    let (source, lines) = match args.generated {
        Some(number) => ("generated".to_owned(), generated::lines(number, args.seed)),
        None => read(args.orders.as_deref())?,
    };
    if !lines.good.is_empty() {
        return Ok((source, lines));
    }
    for (number, malformed) in lines.malformed.iter().take(COMPLAINTS_SHOWN) {
        say(format_args!("{source}:{number}: {}", text::shown(&malformed.to_string())));
    }
    let what = match lines.malformed.len() {
        0 => format!("{source} is empty"),
        n => format!("{source} has no line that can be used ({n} malformed)"),
    };
    let then = "give --orders a file with one JSON document per line, as in examples/orders.jsonl";
    Err(Unusable::new(what, then))
}

/// The lines of a file, and what they are called.
fn read(orders: Option<&Path>) -> Result<(String, Lines), Unusable> {
    if orders == Some(Path::new("-")) {
        let lines = load::read(stdin().lock()).map_err(|error| {
            Unusable::new(format!("standard input cannot be read: {error}"), "pipe lines into it")
        })?;
        return Ok(("stdin".to_owned(), lines));
    }
    let path = orders.map_or_else(shipped, Path::to_owned);
    let unreadable = |error| {
        Unusable::new(
            format!("{} cannot be read: {error}", path.display()),
            "give --orders the path of a file, or - for standard input",
        )
    };
    let file = File::open(&path).map_err(unreadable)?;
    let lines = load::read(BufReader::new(file)).map_err(unreadable)?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok((name, lines))
}

/// The lines that come with the shop: found from the current folder, or where the shop was built.
fn shipped() -> PathBuf {
    let here = PathBuf::from("examples/orders.jsonl");
    if here.exists() { here } else { Path::new(env!("CARGO_MANIFEST_DIR")).join(here) }
}
