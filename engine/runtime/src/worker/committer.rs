//! Group commit: whatever waits at this moment for a writer goes into one batch. When nothing waits, one commit
//! goes alone and at once; there is no timer.
//!
//! A store may have several writers. Each saga is bound to one of them, by its id, and [`writer`] submits one
//! batch at a time for each of them. Since a saga has at most one commit under way, they know nothing of each other,
//! and the order of a saga's transitions is kept whatever the order of their batches is.
//!
//! Failure cases. *The store cannot be reached, or its answer was lost*: the same rows, with the same
//! transition ids, again and again until it answers; nothing is decided anew. *Somebody else holds what one
//! commit needs*: that commit leaves its writer for the [`siding`], where it is submitted again later, and the writer
//! goes on. *A start has waited, here or for the store, past the dedupe horizon*: it may have been made and forgotten
//! meanwhile, so it is submitted no more; whether an earlier submission came through is looked up. *This node has not beaten for half a lease*: nothing is submitted before it has. *The store will not
//! have this incarnation*: the engine stops. *The answer does not fit the batch*: the engine stops, because nobody
//! knows any more what is durable.

mod batch;
mod siding;

use std::sync::Arc;
use std::time::Duration;

use amends_core::{Incarnation, SagaId};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use self::batch::Waiting;
use super::input::News;
use super::lease::Lease;
use crate::authoring::BoxFuture;
use crate::engine::Retention;
use crate::ports::{Clock, Commit, Fault, SagaStore, Verdict};

/// The first and the longest wait between two tries to reach the store.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// What all that writes has in common. Cheap to clone.
#[derive(Clone)]
pub(super) struct Submitter {
    pub(super) store: Arc<dyn SagaStore>,
    pub(super) incarnation: Incarnation,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) lease: Arc<Lease>,
    pub(super) retention: Retention,
    pub(super) news: UnboundedSender<News>,
}

/// Where commits are handed over: one inlet for each writer of the store.
pub(super) struct Writers(Vec<UnboundedSender<Vec<Commit>>>);

/// The inlets of a store's writers, and what runs behind them until the worker is gone or dismissed.
pub(super) fn writers(submitter: &Submitter) -> (Writers, Vec<BoxFuture<()>>) {
    let count = submitter.store.writers().max(1);
    let (held, held_inlet) = unbounded_channel();
    let mut inlets = Vec::with_capacity(count);
    let mut parts: Vec<BoxFuture<()>> = Vec::with_capacity(count + 1);
    for number in 0..count {
        let (inlet, rounds) = unbounded_channel();
        inlets.push(inlet);
        parts.push(Box::pin(writer(number, submitter.clone(), rounds, held.clone())));
    }
    parts.push(Box::pin(siding::run(count, submitter.clone(), held_inlet)));
    (Writers(inlets), parts)
}

impl Writers {
    /// Each commit goes to the writer of its saga.
    pub(super) fn send(&self, round: Vec<Commit>) {
        if let [only] = &self.0[..] {
            let _ = only.send(round);
            return;
        }
        let mut parts: Vec<Vec<Commit>> = self.0.iter().map(|_| Vec::new()).collect();
        for commit in round {
            parts[writer_of(commit.saga, self.0.len())].push(commit);
        }
        for (inlet, part) in self.0.iter().zip(parts) {
            if !part.is_empty() {
                let _ = inlet.send(part);
            }
        }
    }
}

/// Which of so many writers a saga is bound to: by the random part of its id.
fn writer_of(saga: SagaId, writers: usize) -> usize {
    let (_, random) = saga.0.as_u64_pair();
    let hash = random.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    usize::try_from(hash).map_or(0, |hash| hash % writers)
}

/// Writes what comes for one writer.
async fn writer(
    number: usize,
    submitter: Submitter,
    mut rounds: UnboundedReceiver<Vec<Commit>>,
    siding: UnboundedSender<Vec<Held>>,
) {
    let mut waiting = Waiting::default();
    loop {
        if waiting.is_empty() {
            let Some(round) = rounds.recv().await else { return };
            waiting.extend(round);
        }
        while !waiting.fills_a_batch()
            && let Ok(round) = rounds.try_recv()
        {
            waiting.extend(round);
        }
        let Some(held) = submitter.write(number, waiting.next_batch()).await else { return };
        if !held.is_empty() {
            let _ = siding.send(held);
        }
    }
}

/// A commit that somebody else holds up, in the store's own words.
struct Held {
    commit: Commit,
    reason: String,
}

impl Submitter {
    /// Submits a batch until the store answers, and tells what became of its commits. Those that somebody else
    /// holds up come back: their sagas go on waiting. None once nobody listens any more.
    async fn write(&self, writer: usize, mut batch: Vec<Commit>) -> Option<Vec<Held>> {
        let verdicts = match self.submit(writer, &mut batch).await {
            Ok(verdicts) => verdicts,
            Err(fault) => {
                let _ = self.news.send(News::Dismissed(fault));
                return None;
            }
        };
        let mut told = Vec::with_capacity(batch.len());
        let mut held = Vec::new();
        for (commit, verdict) in batch.into_iter().zip(verdicts) {
            match verdict {
                Verdict::Later { reason } => held.push(Held { commit, reason }),
                verdict => told.push((commit.saga, verdict)),
            }
        }
        if !told.is_empty() {
            self.news.send(News::Committed(told)).ok()?;
        }
        Some(held)
    }

    /// Submits the same rows until the store answers, without starts that have become too old.
    async fn submit(&self, writer: usize, batch: &mut Vec<Commit>) -> Result<Vec<Verdict>, Fault> {
        let reachable = |reachable| {
            let _ = self.news.send(News::StoreReachable { writer, reachable });
        };
        let mut backoff = Backoff::default();
        loop {
            if !self.lease.holds() {
                reachable(false);
                self.lease.held().await?;
                reachable(!backoff.is_on());
            }
            batch.retain(|commit| !self.is_outdated(commit));
            if batch.is_empty() {
                reachable(true); // Whoever comes next finds out.
                return Ok(Vec::new());
            }
            match self.store.commit(self.incarnation, batch).await {
                Ok(verdicts) if verdicts.len() == batch.len() => {
                    if backoff.is_on() {
                        tracing::info!("the store answers again");
                        reachable(true);
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
                        reachable(false);
                    }
                    backoff.wait(&*self.clock).await;
                }
                Err(fault) => return Err(fault),
            }
        }
    }

    /// Is it a start that may have been made and forgotten while it waited? Then it is refused.
    fn is_outdated(&self, commit: &Commit) -> bool {
        let Some(start) = &commit.start else { return false };
        let refused = self.retention.too_old(start.occurred_at, self.clock.now());
        let Some(refused) = refused else { return false };
        let _ = self.news.send(News::Outdated { saga: commit.saga, refused });
        true
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::{Ids as _, RandomIds};

    #[test]
    fn sagas_are_spread_over_the_writers_and_each_keeps_its_own() {
        let ids = RandomIds::from_system();
        let mut of_each = [0; 4];
        for _ in 0..4_000 {
            let saga = SagaId(ids.next(amends_core::Timestamp(1_700_000_000_000_000)));
            assert_eq!(writer_of(saga, 1), 0);
            assert_eq!(writer_of(saga, 4), writer_of(saga, 4));
            of_each[writer_of(saga, 4)] += 1;
        }
        assert!(of_each.iter().all(|sagas| (800..1_200).contains(sagas)), "{of_each:?}");
    }
}
