//! One order on one SQLite file: the README's lines, as a program.
//!
//! ```text
//! cargo run --example quickstart
//! ```

#[path = "participants/mod.rs"]
mod participants;

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use amends::ports::SystemClock;
use amends::{Engine, Outcome};
use amends_sea_orm::SqliteStore;
use amends_workflows::{Currency, Money, OrderPlaced, OrderSaga, order_saga, policies};

async fn run(file: &Path, order: &OrderSaga, placed: OrderPlaced) -> anyhow::Result<String> {
    let store = Arc::new(SqliteStore::open(file).await?);
    let engine = Engine::builder(store).policies(policies(1.0)).register(order.saga.clone()).start().await?;

    let saga = engine.start(&order.saga, "order-42", placed).await?; // same key, same input: the same saga
    let ended = match saga.outcome().await? {
        Outcome::Completed(sent) => format!("completed: {sent:?}"),
        Outcome::Compensated { reason } => format!("turned back and undone: {reason:?}"),
        other => format!("{other:?}"),
    };

    let timeline = saga.view().await?.timeline();
    engine.shutdown(Duration::from_secs(10)).await?;
    Ok(format!("{ended}\n{timeline}"))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let clock = Arc::new(SystemClock::new());
    let place = participants::Place::File(dir.path().join("participants.db"));
    let participants = participants::Participants::open(&place, 1.0, clock).await?;
    participants.stock_up(&[("lamp".into(), 10)]).await?;
    let order = order_saga(&participants.ports())?;
    let price = Money::from_minor(1_500, Currency::Eur);
    let lines = vec![amends_workflows::order::OrderLine { sku: "lamp".into(), quantity: 2, price }];
    let buyer = amends_workflows::order::Buyer {
        customer: "ada".into(),
        card: "tok-1".into(),
        address: "1 Main Street".into(),
    };
    let placed = OrderPlaced::new("order-42".into(), buyer, lines)?;
    let told = run(&dir.path().join("orders.db"), &order, placed).await?;
    participants.close().await?;
    // Not `println!`, which panics when whoever reads has stopped.
    let _ = writeln!(std::io::stdout(), "{told}");
    Ok(())
}
