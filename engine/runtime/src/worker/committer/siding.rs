//! Commits that somebody else holds up: a start whose key belongs to a stranger's open transaction, a transition
//! whose saga's row a person has locked. They wait here, each for itself and ever longer, and are submitted in
//! small batches of their own, so that no writer waits for them twice. Their sagas decide nothing meanwhile.
//!
//! What is still held up when the engine ends is dropped with it: nothing of it was written, and nothing was sent.

use std::time::Duration;

use amends_core::Timestamp;
use tokio::sync::mpsc::UnboundedReceiver;

use super::{Held, Submitter};
use crate::ports::Commit;
use crate::worker::input::News;

/// The first and the longest wait of a commit between two tries.
const WAIT: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// The most commits in one batch: few, because each that is still held costs the others of its batch some time.
const BATCH_MAX: usize = 16;

/// A commit, and when it is submitted again.
struct Postponed {
    commit: Commit,
    due: Timestamp,
    /// How long it has waited since its last try.
    wait: Duration,
}

/// Submits what comes, later, until the writers are gone or the worker was dismissed. `number` is its own among them.
pub(super) async fn run(number: usize, submitter: Submitter, mut inlet: UnboundedReceiver<Vec<Held>>) {
    let mut postponed: Vec<Postponed> = Vec::new();
    loop {
        let next = postponed.iter().map(|it| it.due).min();
        let due = async {
            match next {
                Some(at) => submitter.clock.sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let (before, mut new) = (postponed.len(), Vec::new());
        tokio::select! {
            biased;
            held = inlet.recv() => match held {
                Some(held) => {
                    let now = submitter.clock.now();
                    new.extend(held.iter().map(|held| held.commit.saga));
                    postponed.extend(held.into_iter().map(|held| first_wait(held, now)));
                }
                None => return,
            },
            () = due => {
                let batch = take_due(&mut postponed, submitter.clock.now());
                let waits: Vec<_> = batch.iter().map(|it| (it.commit.saga, it.wait)).collect();
                let commits = batch.into_iter().map(|it| it.commit).collect();
                let Some(held) = submitter.write(number, commits).await else { return };
                let now = submitter.clock.now();
                for Held { commit, .. } in held {
                    let waited = waits.iter().find(|(saga, _)| *saga == commit.saga);
                    let wait = waited.map_or(WAIT.0, |(_, wait)| (*wait * 2).min(WAIT.1));
                    postponed.push(Postponed { commit, due: now + wait, wait });
                }
            }
        }
        let all = postponed.len();
        if all != before && submitter.news.send(News::Postponed { sagas: new, all }).is_err() {
            return;
        }
    }
}

fn first_wait(Held { commit, reason }: Held, now: Timestamp) -> Postponed {
    tracing::warn!(
        saga = %commit.saga,
        seq = commit.journal.seq,
        %reason,
        "somebody else holds what this transition needs; it is submitted again until it gets through"
    );
    Postponed { commit, due: now + WAIT.0, wait: WAIT.0 }
}

/// Those that are due, the most overdue first, as many as one batch takes.
fn take_due(postponed: &mut Vec<Postponed>, now: Timestamp) -> Vec<Postponed> {
    postponed.sort_by_key(|it| it.due);
    let due = postponed.iter().take(BATCH_MAX).take_while(|it| it.due <= now).count();
    postponed.drain(..due).collect()
}
