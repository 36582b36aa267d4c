//! One cell: one shape at one number of sagas in flight, on a fresh file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use amends::ports::SagaQuery as _;
use amends::{Engine, Outcome};
use amends_sea_orm::SqliteStore;
use anyhow::{Context as _, bail};
use serde::Serialize;

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

/// Runs the cell.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub async fn measure(
    dir: &Path,
    shape: Shape,
    in_flight: usize,
    sagas: usize,
    fsync: Fsync,
) -> anyhow::Result<Cell> {
    let file =
        dir.join(format!("{}-{in_flight}.db", shape.name().replace([' ', '|', '>', '(', ')', ','], "_")));
    let store = Arc::new(SqliteStore::open(&file).await?);
    let saga = shape.define()?;
    let engine = Engine::builder(store.clone()).register(saga.clone()).start().await?;
    let next = Arc::new(AtomicUsize::new(0));
    let before = (store.stats(), process::cpu());
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
    let after = (store.stats(), process::cpu());
    took.sort();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    let counts = store.counts().await?;
    engine.shutdown(Duration::from_secs(5)).await?;
    drop(engine);
    let store = Arc::into_inner(store).context("the engine still holds the store")?;
    store.close().await?;
    let commits = after.0.commits - before.0.commits;
    let rows = after.0.journal_rows - before.0.journal_rows;
    let per_saga = |n: u64| n as f64 / sagas as f64;
    let cpu = before.1.zip(after.1).map(|(from, to)| (to - from).as_secs_f64() * 1e3 / sagas as f64);
    let raw = raw::ceiling(&file, dir).await?;
    Ok(Cell {
        shape: shape.name(),
        in_flight,
        sagas,
        sagas_per_second: sagas as f64 / seconds,
        p50_ms: at(0.50),
        p95_ms: at(0.95),
        p99_ms: at(0.99),
        commits_per_saga: per_saga(commits),
        journal_rows_per_saga: per_saga(rows),
        journal_rows_per_commit: rows as f64 / commits as f64,
        journal_bytes_per_saga: per_saga(counts.journal_bytes),
        cpu_ms_per_saga: cpu,
        raw_sagas_per_second: raw.sagas_per_second,
        raw_cpu_ms_per_saga: raw.cpu_ms_per_saga,
        ratio_to_raw: (sagas as f64 / seconds) / raw.sagas_per_second,
        fsync,
    })
}
