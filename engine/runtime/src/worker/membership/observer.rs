//! Whose counter stands still, on this node's own clock.

use std::collections::BTreeMap;
use std::time::Duration;

use amends_core::Incarnation;

use crate::ports::Peer;

/// What one node has seen of the others.
#[derive(Debug)]
pub(super) struct Observer {
    me: Incarnation,
    lease: Duration,
    /// When the last look was answered.
    looked_at: Option<Duration>,
    seen: BTreeMap<Incarnation, Seen>,
}

/// A counter, and since when it is known to stand there.
#[derive(Clone, Copy, Debug)]
struct Seen {
    beat: u64,
    since: Duration,
}

impl Observer {
    pub(super) fn new(me: Incarnation, lease: Duration) -> Self {
        Self { me, lease, looked_at: None, seen: BTreeMap::new() }
    }

    /// The others whose counter was seen unchanged for a lease. The store was asked at `asked_at` and had
    /// answered at `answered_at`, so a counter that moved did so before the latter, and one that stands still
    /// did so until the former.
    ///
    /// An observer that has not looked for half a lease was itself frozen, or the store did not answer it (nor,
    /// perhaps, anybody): it begins anew.
    pub(super) fn silent(&mut self, peers: &[Peer], asked_at: Duration, answered_at: Duration) -> Vec<Peer> {
        let gap = self.looked_at.map(|looked_at| answered_at.saturating_sub(looked_at));
        if gap.is_some_and(|gap| gap > self.lease / 2) {
            self.seen.clear();
        }
        self.looked_at = Some(answered_at);
        let before = std::mem::take(&mut self.seen);
        let mut silent = Vec::new();
        for peer in peers.iter().filter(|peer| peer.incarnation != self.me) {
            let seen = before.get(&peer.incarnation).filter(|seen| seen.beat == peer.beat);
            let seen = seen.copied().unwrap_or(Seen { beat: peer.beat, since: answered_at });
            if asked_at.saturating_sub(seen.since) >= self.lease {
                silent.push(peer.clone());
            }
            self.seen.insert(peer.incarnation, seen);
        }
        silent
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const ME: Incarnation = Incarnation(Uuid::from_u128(1));
    const OTHER: Incarnation = Incarnation(Uuid::from_u128(2));
    const NEVER: [u64; 0] = [];

    fn second(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn peers(mine: u64, others: u64) -> [Peer; 2] {
        let peer = |incarnation, beat| Peer { incarnation, beat, node: String::new() };
        [peer(ME, mine), peer(OTHER, others)]
    }

    /// Looks once a second from `from` to `to`, and says at which seconds the other one counts as silent.
    fn looks(observer: &mut Observer, from: u64, to: u64, beat: impl Fn(u64) -> u64) -> Vec<u64> {
        let silent = |at: &u64| !observer.silent(&peers(7, beat(*at)), second(*at), second(*at)).is_empty();
        (from..=to).filter(silent).collect()
    }

    #[test]
    fn a_counter_that_stands_still_for_a_lease_is_silent_and_mine_never_is() {
        let mut observer = Observer::new(ME, second(10));
        assert_eq!(looks(&mut observer, 0, 12, |_| 3), [10, 11, 12]);
        assert_eq!(looks(&mut observer, 13, 23, |_| 4), [23]);
    }

    #[test]
    fn a_counter_that_moves_is_not() {
        let mut observer = Observer::new(ME, second(10));
        assert_eq!(looks(&mut observer, 0, 100, |at| at / 9), NEVER);
    }

    #[test]
    fn an_observer_that_was_frozen_begins_anew() {
        let mut observer = Observer::new(ME, second(10));
        assert_eq!(looks(&mut observer, 0, 9, |_| 3), NEVER);
        assert_eq!(looks(&mut observer, 60, 69, |_| 3), NEVER, "it saw nothing of that minute");
        assert_eq!(looks(&mut observer, 70, 70, |_| 3), [70]);
    }

    #[test]
    fn a_slow_answer_counts_for_neither_side() {
        let mut observer = Observer::new(ME, second(10));
        assert!(observer.silent(&peers(7, 3), second(0), second(4)).is_empty());
        assert!(observer.silent(&peers(7, 3), second(9), second(9)).is_empty());
        assert!(observer.silent(&peers(7, 3), second(13), second(14)).is_empty(), "seen from second 4 to 13");
        assert_eq!(observer.silent(&peers(7, 3), second(14), second(15)).len(), 1);
    }
}
