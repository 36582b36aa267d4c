//! Sagas whose four steps are commands to another process.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use amends::ports::{OutboxKind, WriteStats};
use amends::{Engine, Outcome};
use amends_nats::{Commands, Connection, NatsPublisher, Replies, ReplySettings};
use amends_sea_orm::SqliteStore;
use anyhow::bail;
use serde::Serialize;

use super::bus::{Bus, Taking};
use super::participant::Keeps;
use super::raw::{self, Asked};
use super::workload::{ENGINE, PREFIX, four_commands};
use crate::process;
use crate::workload::input;

/// The figures of one cell.
#[derive(Serialize)]
pub struct Commanded {
    /// What the participant keeps.
    pub keeps: &'static str,
    pub in_flight: usize,
    pub sagas: usize,
    pub sagas_per_second: f64,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    /// Transactions that wrote journal rows.
    pub commits_per_saga: f64,
    /// Rows of mail written: replies that were posted to their saga, and decided.
    pub mail_rows_per_saga: f64,
    /// Rows of the outbox written and removed.
    pub outbox_rows_per_saga: f64,
    /// Messages of the engine's connection, in either direction.
    pub messages_per_saga: f64,
    pub cpu_ms_per_saga: Option<f64>,
    pub server_cpu_ms_per_saga: Option<f64>,
    pub participant_cpu_ms_per_saga: Option<f64>,
    pub raw_asked: Asked,
}

/// What is read before and after.
struct Reading {
    wrote: WriteStats,
    messages: u64,
    cpu: [Option<Duration>; 3],
}

/// Sees so many sagas through, so many at a time.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub async fn measure(
    bus: &Bus,
    folder: &Path,
    keeps: Keeps,
    in_flight: usize,
    sagas: usize,
) -> anyhow::Result<Commanded> {
    let folder = tempfile::tempdir_in(folder)?;
    let connection = bus.connect().await?;
    let taking = Taking::start(&bus.url(), keeps, folder.path()).await?;
    let raw_asked = raw::ask(&connection, 5_000).await?;
    let store = Arc::new(SqliteStore::open(folder.path().join("engine.db")).await?);
    // Each store is another engine, with a consumer of its own.
    let engine_name = format!("{ENGINE}-{}-{in_flight}", keeps.name());
    let saga = four_commands(&Commands::new(connection.clone(), PREFIX, &engine_name)?)?;
    let publisher = Arc::new(NatsPublisher::new(connection.clone(), PREFIX)?);
    let engine = Engine::builder(store.clone()).register(saga.clone());
    let engine = engine.publisher_of(OutboxKind::Command, publisher).start().await?;
    let settings = ReplySettings { prefix: PREFIX.to_owned(), ..ReplySettings::new(engine_name) };
    let replies = Replies::take(engine.clone(), connection.clone(), settings).await?;
    let read = || Reading {
        wrote: store.stats(),
        messages: messages(&connection),
        cpu: [process::cpu(), bus.cpu(), taking.cpu()],
    };

    let next = Arc::new(AtomicUsize::new(0));
    let (before, began) = (read(), Instant::now());
    let callers: Vec<_> = (0..in_flight)
        .map(|_| {
            let (engine, saga, next) = (engine.clone(), saga.clone(), next.clone());
            tokio::spawn(async move {
                let mut took: Vec<Duration> = Vec::new();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= sagas {
                        return anyhow::Ok(took);
                    }
                    let one = Instant::now();
                    let started = engine.start(&saga, format!("bench-{n}"), input(n)).await?;
                    if !matches!(started.outcome().await?, Outcome::Completed(_)) {
                        bail!("saga {n} did not complete");
                    }
                    took.push(one.elapsed());
                }
            })
        })
        .collect();
    let mut took = Vec::with_capacity(sagas);
    for caller in callers {
        took.extend(caller.await??);
    }
    let (seconds, after) = (began.elapsed().as_secs_f64(), read());
    replies.stop().await;
    engine.shutdown(Duration::from_secs(5)).await?;
    taking.stop().await?;

    took.sort();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    let per_saga = |from: u64, to: u64| (to - from) as f64 / sagas as f64;
    let cpu = |whose: usize| {
        let spent = before.cpu[whose].zip(after.cpu[whose]);
        spent.map(|(from, to)| (to - from).as_secs_f64() * 1e3 / sagas as f64)
    };
    Ok(Commanded {
        keeps: keeps.name(),
        in_flight,
        sagas,
        sagas_per_second: sagas as f64 / seconds,
        p50_ms: at(0.50),
        p95_ms: at(0.95),
        p99_ms: at(0.99),
        commits_per_saga: per_saga(before.wrote.commits, after.wrote.commits),
        mail_rows_per_saga: per_saga(before.wrote.mail, after.wrote.mail),
        outbox_rows_per_saga: per_saga(before.wrote.outbox, after.wrote.outbox),
        messages_per_saga: per_saga(before.messages, after.messages),
        cpu_ms_per_saga: cpu(0),
        server_cpu_ms_per_saga: cpu(1),
        participant_cpu_ms_per_saga: cpu(2),
        raw_asked,
    })
}

/// Messages of a connection so far, in either direction.
pub fn messages(connection: &Connection) -> u64 {
    let counted = connection.client().statistics();
    counted.in_messages.load(Ordering::Relaxed) + counted.out_messages.load(Ordering::Relaxed)
}
