//! Events from JetStream into durable sagas.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use amends::Engine;
use amends_nats::Triggers;
use amends_sea_orm::SqliteStore;
use anyhow::{Context as _, bail};
use serde::Serialize;

use super::bus::Bus;
use super::commands::messages;
use super::raw;
use super::workload::trigger;
use crate::process;
use crate::workload;

/// What came of a stream of events.
#[derive(Serialize)]
pub struct Events {
    pub events: usize,
    /// Until each had a durable saga and was acknowledged.
    pub sagas_per_second: f64,
    /// Until each of these sagas had done its one step.
    pub completed_per_second: f64,
    pub commits_per_saga: f64,
    pub messages_per_saga: f64,
    pub cpu_ms_per_saga: Option<f64>,
    pub server_cpu_ms_per_saga: Option<f64>,
    /// The same events, published and acknowledged.
    pub raw_published_per_second: f64,
    /// The same events, pulled and acknowledged, and nothing else.
    pub raw_consumed_per_second: f64,
}

/// Publishes so many events, and has each start a saga of one step.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub async fn measure(bus: &Bus, folder: &Path, events: usize) -> anyhow::Result<Events> {
    let connection = bus.connect().await?;
    let raw_published_per_second = raw::publish(&connection, events).await?;
    let raw_consumed_per_second = raw::consume(&connection, events).await?;

    let store = Arc::new(SqliteStore::open(folder.join("events.db")).await?);
    let saga = workload::one_step()?;
    let engine = Engine::builder(store.clone()).register(saga.clone()).start().await?;
    let before = (store.stats(), process::cpu(), bus.cpu(), messages(&connection));
    let began = Instant::now();
    let triggers = Triggers::on(&connection, &engine).with(trigger(&saga)).start().await?;
    let consumer = triggers.readiness().triggers[0].consumer.clone();
    let counters = loop {
        let counters = triggers.counters(&consumer).context("the trigger counts")?;
        if counters.ended() >= events as u64 && counters.in_hand == 0 {
            break counters;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    let durable = began.elapsed().as_secs_f64();
    if counters.sagas != events as u64 {
        bail!("not every event became a saga: {counters:?}");
    }
    while store.stats().saga_updates < events as u64 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let completed = began.elapsed().as_secs_f64();
    let after = (store.stats(), process::cpu(), bus.cpu(), messages(&connection));
    triggers.stop(Duration::from_secs(5)).await;
    engine.shutdown(Duration::from_secs(5)).await?;
    let per_saga = |from: Option<Duration>, to: Option<Duration>| {
        from.zip(to).map(|(from, to)| (to - from).as_secs_f64() * 1e3 / events as f64)
    };
    Ok(Events {
        events,
        sagas_per_second: events as f64 / durable,
        completed_per_second: events as f64 / completed,
        commits_per_saga: (after.0.commits - before.0.commits) as f64 / events as f64,
        messages_per_saga: (after.3 - before.3) as f64 / events as f64,
        cpu_ms_per_saga: per_saga(before.1, after.1),
        server_cpu_ms_per_saga: per_saga(before.2, after.2),
        raw_published_per_second,
        raw_consumed_per_second,
    })
}
