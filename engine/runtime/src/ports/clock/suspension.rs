//! How long the machine was suspended, as far as the platform tells.

use std::time::Duration;

/// Less than this is not told from the time between two readings of two clocks.
const GRAIN: Duration = Duration::from_millis(10);

/// Measures suspensions from its making on.
///
/// On Linux the difference between `CLOCK_BOOTTIME`, which counts them, and `CLOCK_MONOTONIC`, which does not.
/// Elsewhere nothing is measured: there a suspension is noticed by its consequences only, at the first
/// heartbeat after it.
#[derive(Debug)]
pub(super) struct Suspension {
    ahead_at_start: Duration,
}

impl Suspension {
    pub(super) fn measured_from_now() -> Self {
        Self { ahead_at_start: ahead() }
    }

    /// The suspended time so far, a multiple of ten milliseconds.
    pub(super) fn so_far(&self) -> Duration {
        in_grains(ahead().saturating_sub(self.ahead_at_start))
    }
}

fn in_grains(time: Duration) -> Duration {
    let grains = time.as_millis() / GRAIN.as_millis();
    GRAIN * u32::try_from(grains).unwrap_or(u32::MAX)
}

/// How far the clock that counts suspensions is ahead of the one that does not. Two clocks cannot be read at
/// once; a reading during which the process was put aside is made again, and errs on the longer side.
#[cfg(target_os = "linux")]
fn ahead() -> Duration {
    use rustix::time::{ClockId, clock_gettime};

    let read = |clock| Duration::try_from(clock_gettime(clock)).unwrap_or_default();
    let mut ahead = Duration::ZERO;
    for _ in 0..4 {
        let (before, counting, after) =
            (read(ClockId::Monotonic), read(ClockId::Boottime), read(ClockId::Monotonic));
        ahead = counting.saturating_sub(before);
        if after.saturating_sub(before) < GRAIN / 2 {
            break;
        }
    }
    ahead
}

#[cfg(not(target_os = "linux"))]
fn ahead() -> Duration {
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_suspended_before_does_not_count_and_nothing_is_made_up() {
        let suspension = Suspension::measured_from_now();
        assert_eq!(suspension.so_far(), Duration::ZERO);
        let suspension = Suspension { ahead_at_start: ahead() + Duration::from_secs(5) };
        assert_eq!(suspension.so_far(), Duration::ZERO);
    }

    #[test]
    fn a_suspension_counts_and_the_time_between_two_readings_does_not() {
        assert_eq!(in_grains(Duration::from_millis(9)), Duration::ZERO);
        assert_eq!(in_grains(Duration::from_millis(3_600_014)), Duration::from_millis(3_600_010));
    }
}
