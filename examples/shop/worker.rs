//! One of many processes that work on the same sagas. It reads no lines, and ends when it is told to.

use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::signal::unix::{SignalKind, signal};

use crate::End;
use crate::args::Args;
use crate::nats::Nats;
use crate::place::Place;
use crate::run::ready;
use crate::shop::{Shop, Tempo};
use crate::text::{counted, say};

/// How often it is asked whether the engine still runs.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Works until SIGTERM or SIGINT.
///
/// # Errors
/// When a database cannot be opened, or the other processes have taken this one for dead: whoever watches over it
/// starts it again.
pub async fn work(args: &Args) -> anyhow::Result<End> {
    let place = Place::named(&args.database)?;
    let nats = Nats::asked_for(args).await?;
    let elsewhere = nats.as_ref().is_some_and(Nats::is_served_elsewhere);
    ready(args, &place, nats.as_ref(), elsewhere).await?;
    // Caught from here on: nothing has been begun before.
    let mut interrupt = signal(SignalKind::interrupt()).context("failed to listen for signals")?;
    let mut terminate = signal(SignalKind::terminate()).context("failed to listen for signals")?;
    let mut shop = Shop::open(&place, Tempo::of(args).with_calls(args.in_flight.into()), nats).await?;
    say(format_args!("at work as {}", shop.engine.incarnation()));
    let mut look = tokio::time::interval(LOOK_EVERY);
    loop {
        tokio::select! {
            _ = interrupt.recv() => break,
            _ = terminate.recv() => break,
            _ = look.tick() => if let Some(reason) = shop.engine.stopped() {
                bail!("failed to go on: {reason}");
            },
        }
    }
    let drained = shop.shut_down().await?;
    let doubt = match drained.in_doubt {
        0 => String::new(),
        n => {
            format!("; {} had not answered, and whoever goes on will settle it", counted(n, "call", "calls"))
        }
    };
    say(format_args!("ended as told{doubt}"));
    shop.close().await?;
    Ok(End::Good)
}
