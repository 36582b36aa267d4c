//! Starts the sagas of the lines and leaves them to the workers.
//!
//! Who starts a saga owns it first, so this is a worker for as long as it takes: when all are there it hands them over
//! as any worker does that ends. The same lines again find the same sagas. A refund is started beside its order, and
//! asks again until that is paid.
//!
//! With NATS nobody is started here: the lines are published, and whoever is at work takes them.

use std::collections::HashSet;
use std::sync::Arc;

use amends::ports::SystemClock;
use anyhow::{Context as _, anyhow, bail};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

use crate::End;
use crate::args::Args;
use crate::drive::{Fed, Feeder, Started, Starter, arrival};
use crate::load::{Event, Line, Lines, SagaName};
use crate::nats::Nats;
use crate::participants::Participants;
use crate::place::Place;
use crate::run::{lines, ready};
use crate::shop::{Shop, Tempo};
use crate::text::{self, counted, say};

/// It starts; the work is for others.
const CALLS_MAX: usize = 4;

/// What became of the lines.
#[derive(Default)]
struct Submitted {
    sagas: usize,
    repeated: usize,
    refused: usize,
    /// Why a line could not be fed; the rest of the lines may be there all the same.
    failed: Option<String>,
}

/// Starts them all.
///
/// # Errors
/// When the lines cannot be used, a database fails, or the engine stops before all are there: the same call again
/// starts the rest.
pub async fn submit(args: &Args) -> anyhow::Result<End> {
    let place = Place::named(&args.database)?;
    let (source, lines) = lines(args)?;
    if let Some(nats) = Nats::asked_for(args).await? {
        return publish(args, &place, &nats, &source, lines).await;
    }
    ready(args, &place, None, false).await?;
    let mut interrupt = signal(SignalKind::interrupt()).context("failed to listen for signals")?;
    let mut terminate = signal(SignalKind::terminate()).context("failed to listen for signals")?;
    let mut shop = Shop::open(&place, Tempo::of(args).with_calls(CALLS_MAX), None).await?;
    let ended = tokio::select! {
        submitted = start_all(&shop, &source, arrival(lines.good, args.seed), args.in_flight) => Ok(submitted),
        _ = interrupt.recv() => Err(End::Interrupted),
        _ = terminate.recv() => Err(End::Terminated),
    };
    let stopped = shop.engine.stopped().map(ToString::to_string);
    shop.shut_down().await?;
    shop.close().await?;
    let Submitted { sagas, repeated, refused, failed } = match ended {
        Ok(submitted) => submitted,
        Err(end) => {
            say(format_args!("interrupted; the same command without --fresh goes on"));
            return Ok(end);
        }
    };
    if let Some(reason) = stopped.or(failed) {
        bail!("failed to submit all lines: {reason}");
    }
    let sagas = counted(sagas, "saga is", "sagas are");
    let malformed = lines.malformed.len() + refused;
    say(format_args!("{sagas} there; {repeated} of the lines were repeated, {malformed} cannot be used"));
    Ok(End::Good)
}

/// Publishes them all, once their bad days are planned where the participants are served.
async fn publish(args: &Args, place: &Place, nats: &Nats, source: &str, lines: Lines) -> anyhow::Result<End> {
    ready(args, place, Some(nats), true).await?;
    let participants = Participants::visit(&place.effects(), args.pace, Arc::new(SystemClock::new()))
        .await
        .context("failed to open the database of the participants")?;
    let incoming = nats.incoming(source);
    let (mut events, mut planned) = (0, HashSet::new());
    for Line { number, event } in arrival(lines.good, args.seed) {
        let Event::Start(start) = event else { continue };
        if planned.insert(start.saga.clone()) {
            participants.plan(&start.saga.key, &start.faults).await?;
        }
        incoming.publish(number, &start).await.map_err(|why| {
            anyhow!(
                "failed to publish line {number}: {why}; the same call again publishes all, and no saga twice"
            )
        })?;
        events += 1;
    }
    participants.close().await?;
    let events = counted(events, "event is", "events are");
    say(format_args!("{events} published; {} of the lines cannot be used", lines.malformed.len()));
    Ok(End::Good)
}

async fn start_all(shop: &Shop, source: &str, lines: Vec<Line>, in_flight: u16) -> Submitted {
    let (fed, mut feed) = mpsc::channel(64);
    // Whoever comes after another saga does not wait for it: its start is settled at once.
    let starts = lines.iter().filter_map(|line| match &line.event {
        Event::Start(start) => Some(start.saga.clone()),
        Event::Operator(_) => None,
    });
    let settled: watch::Sender<HashSet<SagaName>> = watch::Sender::new(starts.collect());
    let starter = Starter {
        engine: shop.engine.clone(),
        participants: shop.participants.clone(),
        source: source.into(),
        incoming: None,
    };
    let feeder = Feeder { starter, settled: settled.subscribe(), in_flight: in_flight.into(), fed };
    let feeding = tokio::spawn(feeder.feed(lines));
    let mut submitted = Submitted::default();
    while let Some(fed) = feed.recv().await {
        match fed {
            Fed::Started { started: Started::New, .. } => submitted.sagas += 1,
            Fed::Started { .. } => submitted.repeated += 1,
            Fed::Failed { line, why } => {
                submitted.failed =
                    Some(format!("line {line} could not be begun, and is to come again: {why}"));
            }
            Fed::Not { line, started } => {
                let why = match started {
                    Started::Conflict(saga) => format!("{saga} was started with another input"),
                    Started::Refused(why) => why,
                    Started::New | Started::Duplicate => continue,
                };
                say(format_args!("{source}:{line}: {}", text::shown(&why)));
                submitted.refused += 1;
            }
        }
    }
    feeding.await.expect("the feeder ends with the lines, or with who listens");
    submitted
}
