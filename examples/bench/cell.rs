//! One cell: one shape at one number of sagas in flight, on a fresh file or schema.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use amends::ports::{Store, StoreCounts, WriteStats};
use amends::{Engine, Outcome};
use amends_sea_orm::{PostgresStore, SqliteStore};
use anyhow::{Context as _, bail};
use serde::Serialize;

use crate::place::{Place, Spot};
use crate::process::{self, Fsync};
use crate::raw;
use crate::workload::{self, Shape};

/// The figures of one cell.
#[derive(Serialize)]
pub struct Cell {
    pub shape: &'static str,
    pub in_flight: usize,
    pub sagas: usize,
    pub sagas_per_second: f64,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub commits_per_saga: f64,
    pub journal_rows_per_saga: f64,
    pub journal_rows_per_commit: f64,
    pub journal_bytes_per_saga: f64,
    pub cpu_ms_per_saga: Option<f64>,
    pub raw_sagas_per_second: f64,
    pub raw_cpu_ms_per_saga: Option<f64>,
    pub ratio_to_raw: f64,
    pub fsync: Fsync,
}

/// What the engine did.
struct Ran {
    seconds: f64,
    /// Of each saga, the shortest first.
    took: Vec<Duration>,
    wrote: [WriteStats; 2],
    cpu: Option<Duration>,
    counts: StoreCounts,
}

/// Runs the cell.
pub async fn measure(
    place: &Place,
    shape: Shape,
    in_flight: usize,
    sagas: usize,
    fsync: Fsync,
) -> anyhow::Result<Cell> {
    let spot = place.spot("cell").await?;
    let ran = match &spot {
        Spot::File(file) => {
            let store = Arc::new(SqliteStore::open(file).await?);
            let ran = run(store.clone(), |store| store.stats(), shape, in_flight, sagas).await?;
            Arc::into_inner(store).context("the engine still holds the store")?.close().await?;
            ran
        }
        Spot::Schema { .. } => {
            let store = PostgresStore::open(&spot.url()).await?;
            let ran = run(Arc::new(store.clone()), |store| store.stats(), shape, in_flight, sagas).await?;
            store.close().await;
            ran
        }
    };
    let at = |share: f64| ran.took[((ran.took.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    let commits = ran.wrote[1].commits - ran.wrote[0].commits;
    let rows = ran.wrote[1].journal_rows - ran.wrote[0].journal_rows;
    let per_saga = |n: u64| n as f64 / sagas as f64;
    let cpu = ran.cpu.map(|cpu| cpu.as_secs_f64() * 1e3 / sagas as f64);
    let raw = raw::ceiling(&spot, place).await?;
    spot.remove().await?;
    Ok(Cell {
        shape: shape.name(),
        in_flight,
        sagas,
        sagas_per_second: sagas as f64 / ran.seconds,
        p50_ms: at(0.50),
        p95_ms: at(0.95),
        p99_ms: at(0.99),
        commits_per_saga: per_saga(commits),
        journal_rows_per_saga: per_saga(rows),
        journal_rows_per_commit: rows as f64 / commits as f64,
        journal_bytes_per_saga: per_saga(ran.counts.journal_bytes),
        cpu_ms_per_saga: cpu,
        raw_sagas_per_second: raw.sagas_per_second,
        raw_cpu_ms_per_saga: raw.cpu_ms_per_saga,
        ratio_to_raw: (sagas as f64 / ran.seconds) / raw.sagas_per_second,
        fsync,
    })
}

/// Sees so many sagas through, and lets go of the store.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
async fn run<S: Store>(
    store: Arc<S>,
    stats: impl Fn(&S) -> WriteStats,
    shape: Shape,
    in_flight: usize,
    sagas: usize,
) -> anyhow::Result<Ran> {
    let saga = shape.define()?;
    let engine = Engine::builder(store.clone()).register(saga.clone()).start().await?;
    let next = Arc::new(AtomicUsize::new(0));
    let before = (stats(&store), process::cpu());
    let began = Instant::now();
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
                    let started = engine.start(&saga, format!("bench-{n}"), workload::input(n)).await?;
                    let outcome = started.outcome().await?;
                    match (shape, &outcome) {
                        (Shape::Chain | Shape::Diamond, Outcome::Completed(_)) => {}
                        (Shape::Compensation, Outcome::Compensated { .. }) => {}
                        _ => bail!("saga {n} ended in an unexpected way"),
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
    let seconds = began.elapsed().as_secs_f64();
    let after = (stats(&store), process::cpu());
    took.sort();
    let counts = store.counts().await?;
    engine.shutdown(Duration::from_secs(5)).await?;
    let cpu = before.1.zip(after.1).map(|(from, to)| to - from);
    Ok(Ran { seconds, took, wrote: [before.0, after.0], cpu, counts })
}
