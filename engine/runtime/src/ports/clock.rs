//! Time, injected. The engine reads no other clock.

use amends_core::Timestamp;
use async_trait::async_trait;
use tokio::time::Instant;

/// Where the engine's time comes from.
///
/// Wall time at process start plus monotonic time: wall jumps change nothing. Not required to agree between
/// nodes; never used for ownership.
#[async_trait]
pub trait Clock: Send + Sync + 'static {
    /// The present time.
    fn now(&self) -> Timestamp;

    /// Returns once `at` has come. Dropping the future is safe.
    async fn sleep_until(&self, at: Timestamp);
}

/// The clock of production: the wall clock once, then the monotonic one. Under tokio's paused time it is
/// virtual, which is what the test kit uses.
#[derive(Debug)]
pub struct SystemClock {
    wall_at_start: Timestamp,
    start: Instant,
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
        Self { wall_at_start: wall, start: Instant::now() }
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

    #[expect(clippy::disallowed_methods, reason = "this is the one place that waits")]
    async fn sleep_until(&self, at: Timestamp) {
        tokio::time::sleep_until(self.start + at.since(self.wall_at_start)).await;
    }
}
