//! Group commit: whatever waits at this moment goes into one batch. When nothing waits, one commit goes alone
//! and at once; there is no timer.
//!
//! Failure cases. *The store cannot be reached, or its answer was lost*: the same rows, with the same
//! transition ids, again and again until it answers; nothing is decided anew. *This node has not beaten for half
//! a lease*: nothing is submitted before it has. *The store will not have this incarnation*: the engine stops. *The answer does not fit the batch*: the engine stops, because nobody
//! knows any more what is durable.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use amends_core::Incarnation;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::input::News;
use super::lease::Lease;
use crate::ports::{Clock, Commit, Fault, SagaStore, Verdict};

/// The most commits in one batch.
const BATCH_MAX: usize = 256;

/// The first and the longest wait between two tries to reach the store.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// Writes what comes until the worker is gone or dismissed.
pub(super) async fn run(
    store: Arc<dyn SagaStore>,
    incarnation: Incarnation,
    (clock, lease): (Arc<dyn Clock>, Arc<Lease>),
    mut rounds: UnboundedReceiver<Vec<Commit>>,
    news: UnboundedSender<News>,
) {
    let mut waiting: VecDeque<Commit> = VecDeque::new();
    let mut batch: Vec<Commit> = Vec::with_capacity(BATCH_MAX);
    loop {
        if waiting.is_empty() {
            let Some(round) = rounds.recv().await else { return };
            waiting.extend(round);
        }
        while waiting.len() < BATCH_MAX
            && let Ok(round) = rounds.try_recv()
        {
            waiting.extend(round);
        }
        batch.clear();
        batch.extend(waiting.drain(..waiting.len().min(BATCH_MAX)));
        let report = match write(&*store, incarnation, (&*clock, &lease), &batch, &news).await {
            Ok(verdicts) => News::Committed(batch.iter().map(|commit| commit.saga).zip(verdicts).collect()),
            Err(fault) => {
                let _ = news.send(News::Dismissed(fault));
                return;
            }
        };
        if news.send(report).is_err() {
            return;
        }
    }
}

/// Submits the same rows until the store answers.
async fn write(
    store: &dyn SagaStore,
    incarnation: Incarnation,
    (clock, lease): (&dyn Clock, &Lease),
    batch: &[Commit],
    news: &UnboundedSender<News>,
) -> Result<Vec<Verdict>, Fault> {
    let mut backoff = Backoff::default();
    loop {
        if !lease.holds() {
            let _ = news.send(News::StoreReachable(false));
            lease.held().await?;
            let _ = news.send(News::StoreReachable(!backoff.is_on()));
        }
        match store.commit(incarnation, batch).await {
            Ok(verdicts) if verdicts.len() == batch.len() => {
                if backoff.is_on() {
                    tracing::info!("the store answers again");
                    let _ = news.send(News::StoreReachable(true));
                }
                return Ok(verdicts);
            }
            Ok(verdicts) => {
                let reason = format!("{} verdicts for {} commits", verdicts.len(), batch.len());
                return Err(Fault::Corrupt(reason));
            }
            Err(Fault::Unavailable(reason)) => {
                if !backoff.is_on() {
                    tracing::warn!(%reason, "the store does not answer; the same rows are submitted until it does");
                    let _ = news.send(News::StoreReachable(false));
                }
                backoff.wait(clock).await;
            }
            Err(fault) => return Err(fault),
        }
    }
}

/// The wait between two tries: doubling, bounded.
#[derive(Debug, Default)]
pub(crate) struct Backoff(Option<Duration>);

impl Backoff {
    /// Has there been a failure?
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Waits before the next try.
    pub(crate) async fn wait(&mut self, clock: &dyn Clock) {
        let (first, longest) = BACKOFF;
        let wait = self.0.map_or(first, |last| (last * 2).min(longest));
        self.0 = Some(wait);
        clock.sleep_until(clock.now() + wait).await;
    }
}
