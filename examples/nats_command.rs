//! One order whose card is charged by a service over NATS: a command step.
//!
//! ```text
//! cargo run --example nats_command -- nats://127.0.0.1:4222
//! python3 examples/nats/participant.py   # in another terminal; or participant.mjs, or cargo run --example nats_participant
//! ```

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use amends::Engine;
use amends::ports::OutboxKind;
use amends::prelude::*;
use amends_nats::{Commands, Connection, NatsPublisher, NatsSettings, Replies, ReplySettings, streams};
use amends_sea_orm::SqliteStore;
use anyhow::anyhow;
use clap::Parser;
use serde::{Deserialize, Serialize};

/// What the service is told.
#[derive(Clone, Serialize, Deserialize)]
struct Order {
    order: String,
    cents: i64,
}

impl Payload for Order {
    const SCHEMA: &'static str = "order/1";
}

/// What it answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Charged {
    charge: String,
}

impl Payload for Charged {
    const SCHEMA: &'static str = "charged/1";
}

/// Or what it answers if it does not want to.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Declined {
    reason: String,
}

impl Payload for Declined {
    const SCHEMA: &'static str = "declined/1";
}

fn order_saga(commands: &Commands) -> anyhow::Result<Saga<Order, Charged>> {
    let (mut s, order) = SagaBuilder::<Order>::new("order", 1);
    let charge = commands.step::<Order, Charged, Declined>("payments", "charge")?;
    let charged = s.step("charge", charge, order);
    Ok(s.finish(charged)?)
}

/// Orders once: the card is charged by a service over NATS. Prints the saga's timeline when it has ended.
#[derive(Parser)]
struct Options {
    /// Where the nats-server listens, one with JetStream (nats-server -js).
    #[arg(default_value = "nats://127.0.0.1:4222")]
    nats: String,
    /// The SQLite file with the engine's sagas.
    #[arg(default_value = "nats_command.db")]
    database: String,
}

/// Orders once, waits until the saga has ended, and prints its timeline.
pub async fn run(url: &str, file: &Path, mut out: impl Write) -> anyhow::Result<()> {
    let connection = Connection::open(NatsSettings::new(url)).await.map_err(|error| {
        anyhow!("{error}; start a nats-server with JetStream (nats-server -js), or give the address of one")
    })?;
    for stream in streams("amends")? {
        connection.declare_stream(&stream, true).await?;
    }
    let saga = order_saga(&Commands::new(connection.clone(), "amends", "shop")?)?;
    let publisher = Arc::new(NatsPublisher::new(connection.clone(), "amends")?);
    let engine = Engine::builder(Arc::new(SqliteStore::open(file).await?))
        .register(saga.clone())
        .publisher_of(OutboxKind::Command, publisher)
        .start()
        .await?;
    let replies = Replies::take(engine.clone(), connection, ReplySettings::new("shop")).await?;

    let order = Order { order: "o-1".to_owned(), cents: 1_250 };
    let ordered = engine.start(&saga, "o-1", order).await?;
    let _ =
        writeln!(std::io::stderr(), "o-1 is ordered; its card is charged when the service `payments` runs");
    ordered.outcome().await?;
    writeln!(out, "{}", ordered.view().await?.timeline().trim_end())?;

    replies.stop().await;
    engine.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    run(&options.nats, Path::new(&options.database), std::io::stdout()).await
}
