//! Check before sending: may this node still act?
//!
//! Other nodes dismiss a node whose counter has stood still for a lease. So from half a lease after the last
//! heartbeat that succeeded on, this node does nothing that anybody could notice until it has renewed. Half a
//! lease is the margin for what nobody can measure: that another node saw the counter move a little earlier
//! than this node learned of it, and that the two clocks do not run at quite the same pace.
//!
//! The time is [`Clock::elapsed`], which counts the time during which the machine was suspended. What cannot
//! be excluded is a freeze between the check and the wire; there the participant's barrier is the only guard.
//!
//! Whoever waits for the next heartbeat goes on in the order in which they began to wait. A watch channel wakes them in
//! an order that chance chooses, and a seed must replay a whole run.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::ports::{Clock, Fault};

/// This node's right to act.
pub(crate) struct Lease {
    clock: Arc<dyn Clock>,
    /// How long a heartbeat lasts: half a lease.
    half: Duration,
    term: Mutex<Term>,
    changed: Notify,
}

/// Until when the right lasts.
#[derive(Clone, Copy, Debug)]
enum Term {
    /// Nobody else can take the store: it lasts as long as the process.
    Unlimited,
    /// Until this reading of [`Clock::elapsed`].
    Until(Duration),
    /// This incarnation was dismissed.
    Over,
}

impl Lease {
    /// Of a process that owns its store.
    pub(crate) fn unlimited(clock: Arc<dyn Clock>) -> Self {
        Self::beginning(clock, Duration::ZERO, Term::Unlimited)
    }

    /// Of a node that joined, or beat, by a call that began when `elapsed` showed `joined`.
    pub(crate) fn of(clock: Arc<dyn Clock>, lease: Duration, joined: Duration) -> Self {
        let half = lease / 2;
        Self::beginning(clock, half, Term::Until(joined + half))
    }

    fn beginning(clock: Arc<dyn Clock>, half: Duration, term: Term) -> Self {
        Self { clock, half, term: Mutex::new(term), changed: Notify::new() }
    }

    fn term(&self) -> Term {
        *self.term.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says what the term is from now on, unless it is over or has no end.
    fn change(&self, term: Term) {
        {
            let mut standing = self.term.lock().unwrap_or_else(PoisonError::into_inner);
            match (*standing, term) {
                (Term::Unlimited | Term::Over, Term::Until(_)) => return,
                _ => *standing = term,
            }
        }
        self.changed.notify_waiters();
    }

    /// May this node act, now?
    pub(crate) fn holds(&self) -> bool {
        self.is_on(self.term())
    }

    fn is_on(&self, term: Term) -> bool {
        match term {
            Term::Unlimited => true,
            Term::Until(end) => self.clock.elapsed() < end,
            Term::Over => false,
        }
    }

    /// Returns once this node may act: at once, or after the next heartbeat.
    ///
    /// # Errors
    /// [`Fault::Fenced`] once it was dismissed.
    pub(crate) async fn held(&self) -> Result<(), Fault> {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let term = self.term();
            if self.is_on(term) {
                return Ok(());
            }
            if matches!(term, Term::Over) {
                return Err(Fault::Fenced);
            }
            changed.await;
        }
    }

    /// A heartbeat succeeded, which was sent when `elapsed` showed `sent_at`.
    pub(super) fn renew(&self, sent_at: Duration) {
        self.change(Term::Until(sent_at + self.half));
    }

    /// This incarnation was dismissed: nothing is allowed any more.
    pub(super) fn end(&self) {
        self.change(Term::Over);
    }
}

#[cfg(test)]
mod tests {
    use amends_core::Timestamp;
    use futures_util::FutureExt as _;

    use super::*;
    use crate::ports::SystemClock;

    const LEASE: Duration = Duration::from_secs(10);

    async fn pass(clock: &dyn Clock, time: Duration) {
        clock.sleep_until(clock.now() + time).await;
    }

    #[tokio::test(start_paused = true)]
    async fn it_lasts_half_a_lease_from_the_sending_of_the_heartbeat() {
        let clock = Arc::new(SystemClock::starting_at(Timestamp(0)));
        let lease = Lease::of(clock.clone(), LEASE, clock.elapsed());
        pass(&*clock, Duration::from_millis(4_900)).await;
        assert!(lease.holds());
        let sent_at = clock.elapsed();
        pass(&*clock, Duration::from_secs(2)).await; // the answer takes its time
        assert!(!lease.holds());
        assert!(lease.held().now_or_never().is_none());
        lease.renew(sent_at);
        assert!(lease.holds());
        pass(&*clock, Duration::from_secs(3)).await;
        assert!(!lease.holds());
    }

    #[tokio::test(start_paused = true)]
    async fn who_was_dismissed_waits_for_nothing() {
        let clock = Arc::new(SystemClock::starting_at(Timestamp(0)));
        let lease = Arc::new(Lease::of(clock.clone(), Duration::ZERO, clock.elapsed()));
        let waits = tokio::spawn({
            let lease = lease.clone();
            async move { lease.held().await }
        });
        pass(&*clock, LEASE).await;
        lease.end();
        lease.renew(clock.elapsed());
        assert!(matches!(waits.await, Ok(Err(Fault::Fenced))));
        assert!(!lease.holds());
    }
}
