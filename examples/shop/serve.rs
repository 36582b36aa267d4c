//! The participants as a process of their own: it serves them over NATS, and starts no sagas.

use std::sync::Arc;

use amends::ports::SystemClock;
use anyhow::{Context as _, bail};
use tokio::signal::unix::{SignalKind, signal};

use crate::End;
use crate::args::Args;
use crate::nats::Nats;
use crate::participants::Participants;
use crate::place::Place;
use crate::shop::stock;
use crate::text::say;

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// When NATS or the database cannot be used.
pub async fn serve(args: &Args) -> anyhow::Result<End> {
    let Some(mut nats) = Nats::asked_for(args).await? else {
        bail!("failed to serve without NATS; give its address with --nats");
    };
    let place = Place::named(&args.database)?;
    if args.fresh {
        place.remove().await?;
        nats.forget().await?;
    }
    place.check().await?;
    // Caught from here on: nothing has been begun before.
    let mut interrupt = signal(SignalKind::interrupt()).context("failed to listen for signals")?;
    let mut terminate = signal(SignalKind::terminate()).context("failed to listen for signals")?;
    let _attending = place.attend().await?;
    let participants = Participants::serve(&place.effects(), args.pace, Arc::new(SystemClock::new()))
        .await
        .context("failed to open the database of the participants")?;
    stock(&participants).await?;
    nats.declare().await?;
    nats.serve(&participants).await?;
    say(format_args!("the participants are at work"));
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    nats.close().await;
    participants.close().await?;
    say(format_args!("ended as told"));
    Ok(End::Good)
}
