//! Time, injected. The engine reads no other clock.

mod suspension;

use std::time::Duration;

use amends_core::Timestamp;
use async_trait::async_trait;
use tokio::time::Instant;

use suspension::Suspension;

/// Where the engine's time comes from.
///
/// Wall time at process start plus monotonic time: wall jumps change nothing. Not required to agree between
/// nodes.
#[async_trait]
pub trait Clock: Send + Sync + 'static {
    /// The present time.
    fn now(&self) -> Timestamp;

    /// Time since some fixed moment, for leases: it never goes back, no wall jump moves it, and it counts the
    /// time during which the machine was suspended, where the platform tells. By default the same as
    /// [`now`](Self::now), which is right for a clock that never stands still.
    fn elapsed(&self) -> Duration {
        self.now().since(Timestamp(0))
    }

    /// Returns once `at` has come. Dropping the future is safe.
    async fn sleep_until(&self, at: Timestamp);
}

/// The clock of production: the wall clock once, then the monotonic one. Under tokio's paused time it is
/// virtual, which is what the test kit uses.
///
/// Suspensions of the machine count on Linux (`CLOCK_BOOTTIME`). Elsewhere they do not: a node that was
/// suspended there learns of it from its first heartbeat, and may have acted before.
#[derive(Debug)]
pub struct SystemClock {
    wall_at_start: Timestamp,
    start: Instant,
    suspension: Suspension,
}

impl SystemClock {
    /// Reads the wall clock, once.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the wall clock")]
    pub fn new() -> Self {
        let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Self::starting_at(Timestamp(0) + wall)
    }

    /// A clock that shows `wall` now: for simulations.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the monotonic clock")]
    pub fn starting_at(wall: Timestamp) -> Self {
        Self { wall_at_start: wall, start: Instant::now(), suspension: Suspension::measured_from_now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        self.wall_at_start + self.start.elapsed()
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed() + self.suspension.so_far()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place that waits")]
    async fn sleep_until(&self, at: Timestamp) {
        tokio::time::sleep_until(self.start + at.since(self.wall_at_start)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn under_paused_time_leases_run_in_virtual_time() {
        let clock = SystemClock::starting_at(Timestamp(0));
        let before = clock.elapsed();
        clock.sleep_until(Timestamp(90_000_000)).await;
        assert_eq!(clock.elapsed() - before, Duration::from_secs(90));
    }
}
