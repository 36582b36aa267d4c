//! What waits for one writer, and how much of it goes into one batch.

use std::collections::VecDeque;

use crate::ports::Commit;

/// The most commits in one batch.
const COMMITS_MAX: usize = 256;

/// The most text in one batch, in bytes: a batch of large payloads must neither take for ever nor fill the memory
/// of this process and the server. A commit that alone has more goes alone.
const TEXT_BYTES_MAX: usize = 8 << 20;

/// What waits, in order.
#[derive(Default)]
pub(super) struct Waiting {
    commits: VecDeque<Commit>,
    text_bytes: usize,
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.commits.is_empty()
    }

    /// Is there as much as one batch takes?
    pub(super) fn fills_a_batch(&self) -> bool {
        self.commits.len() >= COMMITS_MAX || self.text_bytes >= TEXT_BYTES_MAX
    }

    pub(super) fn extend(&mut self, round: Vec<Commit>) {
        self.text_bytes += round.iter().map(Commit::text_bytes).sum::<usize>();
        self.commits.extend(round);
    }

    /// The next batch: what has waited longest, within both bounds. Empty only if nothing waits.
    pub(super) fn next_batch(&mut self) -> Vec<Commit> {
        let (mut commits, mut bytes) = (0, 0);
        for commit in self.commits.iter().take(COMMITS_MAX) {
            let with_this = bytes + commit.text_bytes();
            if commits > 0 && with_this > TEXT_BYTES_MAX {
                break;
            }
            (commits, bytes) = (commits + 1, with_this);
        }
        self.text_bytes -= bytes;
        self.commits.drain(..commits).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use amends_core::{SagaId, Timestamp, TransitionId};
    use uuid::Uuid;

    use super::*;
    use crate::ports::JournalRow;

    const MIB: usize = 1 << 20;

    fn commit(bytes: usize) -> Commit {
        let journal = JournalRow {
            seq: 2,
            at: Timestamp(0),
            actor: Arc::from("engine"),
            transition: TransitionId(Uuid::nil()),
            events: "x".repeat(bytes),
        };
        Commit {
            saga: SagaId(Uuid::nil()),
            start: None,
            journal,
            change: None,
            items: Vec::new(),
            compensations: Vec::new(),
            mail: Vec::new(),
            outbox: Vec::new(),
        }
    }

    /// The sizes of the batches that these commits go into.
    fn batches(commits: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut waiting = Waiting::default();
        waiting.extend(commits.into_iter().map(commit).collect());
        let mut sizes = Vec::new();
        while !waiting.is_empty() {
            sizes.push(waiting.next_batch().len());
        }
        assert_eq!(waiting.text_bytes, 0);
        sizes
    }

    #[test]
    fn small_commits_are_bounded_by_their_number() {
        assert_eq!(batches([10; 600]), [256, 256, 88]);
    }

    #[test]
    fn large_commits_are_bounded_by_their_text() {
        assert_eq!(batches([3 * MIB; 5]), [2, 2, 1]);
        assert_eq!(batches([4 * MIB, 4 * MIB, 1]), [2, 1], "exactly full");
    }

    #[test]
    fn a_commit_that_is_larger_than_a_batch_goes_alone_in_its_turn() {
        assert_eq!(batches([1, 9 * MIB, 1, 1]), [1, 1, 2]);
        assert_eq!(batches([20 * MIB]), [1]);
    }

    #[test]
    fn no_more_is_taken_in_than_one_batch_takes() {
        let mut waiting = Waiting::default();
        waiting.extend(vec![commit(9 * MIB)]);
        assert!(waiting.fills_a_batch());
        waiting.next_batch();
        assert!(!waiting.fills_a_batch());
        waiting.extend((0..256).map(|_| commit(1)).collect());
        assert!(waiting.fills_a_batch());
    }
}
