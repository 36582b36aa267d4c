//! What purging costs: sagas a second, and what a start beside it waits.
//!
//! Sagas of four steps are run to their end, and purged in chunks of a hundred as the engine does it: some with its
//! pause between two chunks, the others without any. Meanwhile one caller starts one saga after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use amends::Engine;
use amends::authoring::Saga;
use amends::ports::Store;
use amends_core::Timestamp;
use amends_sea_orm::{PostgresStore, SqliteStore};
use anyhow::Context as _;

use crate::place::{Place, Spot};
use crate::workload::{self, Parcel, Shape};

/// As the engine's own upkeep does it.
const CHUNK: u32 = 100;
const PAUSE: Duration = Duration::from_millis(100);

/// One of so many is purged at the engine's pace.
const AT_ITS_PACE: usize = 20;

/// Callers while the sagas are made.
const IN_FLIGHT: usize = 256;

/// How long starts are measured with nothing beside them.
const ALONE: Duration = Duration::from_secs(3);

/// Makes so many sagas, purges them, and says what that took.
pub async fn measure(place: &Place, sagas: usize) -> anyhow::Result<String> {
    let spot = place.spot("purge").await?;
    let told = match &spot {
        Spot::File(file) => {
            let store = Arc::new(SqliteStore::open(file).await?);
            let told = run(store.clone(), sagas).await?;
            Arc::into_inner(store).context("the engine still holds the store")?.close().await?;
            told
        }
        Spot::Schema { .. } => {
            let store = PostgresStore::open(&spot.url()).await?;
            let told = run(Arc::new(store.clone()), sagas).await?;
            store.close().await;
            told
        }
    };
    spot.remove().await?;
    Ok(told)
}

async fn run<S: Store>(store: Arc<S>, sagas: usize) -> anyhow::Result<String> {
    let saga = Shape::Chain.define()?;
    let engine = Engine::builder(store.clone()).register(saga.clone()).start().await?;
    let next = Arc::new(AtomicUsize::new(0));
    fill(&engine, &saga, &next, sagas).await?;
    let (before, rows) = (engine.now(), store.counts().await?.journal_rows);
    let mut told = format!("{sagas} sagas in {rows} journal rows are purged\n");
    let alone = starts(&engine, &saga, &next, &timer(ALONE)).await?;
    told += &format!("  {:<44} {}\n", "starts with nothing beside them:", waits(alone));
    for (how, limit, pause) in
        [("at the engine's pace", sagas / AT_ITS_PACE, Some(PAUSE)), ("without pauses", usize::MAX, None)]
    {
        let done = Arc::new(AtomicBool::new(false));
        let starting = {
            let (engine, saga, next, done) = (engine.clone(), saga.clone(), next.clone(), done.clone());
            tokio::spawn(async move { starts(&engine, &saga, &next, &done).await })
        };
        let (gone, seconds) = purge(&*store, before, limit, pause).await?;
        done.store(true, Ordering::Relaxed);
        let speed = format!("{how}, {gone} at {:.0} sagas/s:", gone as f64 / seconds);
        told += &format!("  {speed:<44} {}\n", waits(starting.await??));
    }
    engine.shutdown(Duration::from_secs(30)).await?;
    Ok(told)
}

async fn fill(
    engine: &Engine,
    saga: &Saga<Parcel, Parcel>,
    next: &Arc<AtomicUsize>,
    sagas: usize,
) -> anyhow::Result<()> {
    let callers: Vec<_> = (0..IN_FLIGHT)
        .map(|_| {
            let (engine, saga, next) = (engine.clone(), saga.clone(), next.clone());
            tokio::spawn(async move {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= sagas {
                        return anyhow::Ok(());
                    }
                    engine.start(&saga, format!("bench-{n}"), workload::input(n)).await?.outcome().await?;
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await??;
    }
    Ok(())
}

/// Purges at least so many, or all; how many, in how many seconds.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
async fn purge<S: Store>(
    store: &S,
    ended_before: Timestamp,
    limit: usize,
    pause: Option<Duration>,
) -> anyhow::Result<(usize, f64)> {
    let (began, mut all) = (Instant::now(), 0);
    loop {
        let gone = store.purge(ended_before, ended_before, CHUNK).await?;
        all += gone as usize;
        if gone < CHUNK || all >= limit {
            return Ok((all, began.elapsed().as_secs_f64()));
        }
        if let Some(pause) = pause {
            tokio::time::sleep(pause).await;
        }
    }
}

/// True once so much time has passed.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn timer(after: Duration) -> Arc<AtomicBool> {
    let (done, rings) = (Arc::new(AtomicBool::new(false)), tokio::time::sleep(after));
    let ringing = done.clone();
    tokio::spawn(async move {
        rings.await;
        ringing.store(true, Ordering::Relaxed);
    });
    done
}

/// One caller starts one saga after the other until that is done; how long each start took.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
async fn starts(
    engine: &Engine,
    saga: &Saga<Parcel, Parcel>,
    next: &AtomicUsize,
    done: &AtomicBool,
) -> anyhow::Result<Vec<Duration>> {
    let mut took = Vec::new();
    while !done.load(Ordering::Relaxed) {
        let n = next.fetch_add(1, Ordering::Relaxed);
        let one = Instant::now();
        engine.start(saga, format!("bench-{n}"), workload::input(n)).await?;
        took.push(one.elapsed());
    }
    Ok(took)
}

fn waits(mut took: Vec<Duration>) -> String {
    took.sort();
    let Some(longest) = took.last() else { return "no start".to_owned() };
    let ms = |time: &Duration| time.as_secs_f64() * 1e3;
    let at = |share: f64| ms(&took[((took.len() - 1) as f64 * share) as usize]);
    let (p50, p99) = (at(0.50), at(0.99));
    format!("{} starts, p50 {p50:.2} ms, p99 {p99:.2} ms, longest {:.2} ms", took.len(), ms(longest))
}
