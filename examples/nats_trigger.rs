//! Orders from NATS: each event starts one saga, whatever is delivered.
//!
//! ```text
//! cargo run --example nats_trigger -- nats://127.0.0.1:4222
//! ```

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use amends::ports::SagaFilter;
use amends::prelude::*;
use amends::{Engine, Saga};
use amends_nats::{Connection, NatsSettings, StreamSettings, Trigger, Triggers};
use amends_sea_orm::SqliteStore;
use anyhow::anyhow;
use clap::Parser;
use serde::{Deserialize, Serialize};

/// What comes in an event, and what the saga takes.
#[derive(Clone, Serialize, Deserialize)]
struct Order {
    order: String,
    cents: u64,
}

impl Payload for Order {
    const SCHEMA: &'static str = "order/1";
}

struct Reserve;

impl Step for Reserve {
    type Input = Order;
    type Output = String;
    type Refusal = String;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, order: Order) -> Result<String, StepError<String>> {
        Ok(format!("shelf of {}", order.order)) // here the warehouse would be called
    }
}

impl Compensate for Reserve {
    type UndoSettle = ByRepeating;

    async fn compensate(
        &self,
        _: &StepContext,
        _: Order,
        _: Forward<String>,
    ) -> Result<Undo, CompensationError> {
        Ok(Undo::Undone)
    }
}

struct Charge;

impl Step for Charge {
    type Input = (Order, String);
    type Output = u64;
    type Refusal = String;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, (order, _): (Order, String)) -> Result<u64, StepError<String>> {
        match order.cents {
            0 => Err(StepError::Refused("nothing to pay".to_owned())),
            cents => Ok(cents), // here the payment provider would be called, with `cx.request_id()`
        }
    }
}

fn order_saga() -> anyhow::Result<Saga<Order, u64>> {
    let (mut s, order) = SagaBuilder::<Order>::new("order", 1);
    let shelf = s.step("reserve", Reserve, order);
    let (charged, s) = s.pivot("charge", Charge, (order, shelf));
    Ok(s.finish(charged)?)
}

fn trigger(saga: &Saga<Order, u64>) -> Trigger<Order, u64> {
    Trigger::on("ORDERS", "orders.placed")
        .workflow(saga) // the event's data is its input, the event's id its key
        .declare_stream(StreamSettings::new("ORDERS", ["orders.>"]))
}

/// Takes orders from NATS: each event starts one saga, whose timeline is printed. Ctrl-C ends it.
#[derive(Parser)]
struct Options {
    /// Where the nats-server listens, one with JetStream (nats-server -js).
    #[arg(default_value = "nats://127.0.0.1:4222")]
    nats: String,
    /// The SQLite file with the engine's sagas.
    #[arg(default_value = "nats_trigger.db")]
    database: String,
}

/// Takes orders until it is told to end, and prints the timeline of every saga that has ended.
pub async fn run(
    url: &str,
    file: &Path,
    mut out: impl Write,
    until: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let saga = order_saga()?;
    let connection = Connection::open(NatsSettings::new(url)).await.map_err(|error| {
        anyhow!("{error}; start a nats-server with JetStream (nats-server -js), or give the address of one")
    })?;
    let store = Arc::new(SqliteStore::open(file).await?);
    let engine = Engine::builder(store).register(saga.clone()).start().await?;
    let triggers = Triggers::on(&connection, &engine).with(trigger(&saga)).start().await?;
    let _ = writeln!(std::io::stderr(), "ready: publish to orders.placed; Ctrl-C ends it");

    let (mut told, mut after) = (0, None);
    let mut until = std::pin::pin!(until);
    loop {
        tokio::select! {
            () = &mut until => break,
            readiness = triggers.until(|readiness| readiness.triggers[0].counters.sagas > told) => {
                told = readiness.triggers[0].counters.sagas;
            }
        }
        let new =
            SagaFilter { workflow: Some("order".to_owned()), after, limit: 100, ..SagaFilter::default() };
        for row in engine.query().list(&new).await? {
            after = Some(row.id);
            let Some(saga) = engine.find("order", &row.key).await? else { continue };
            saga.settled().await?;
            writeln!(out, "{}", saga.view().await?.timeline().trim_end())?;
        }
    }
    triggers.stop(Duration::from_secs(5)).await;
    engine.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let interrupted = async { drop(tokio::signal::ctrl_c().await) };
    run(&options.nats, Path::new(&options.database), std::io::stdout(), interrupted).await
}
