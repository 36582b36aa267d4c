//! Policies: how often, how long, and what on exhaustion. Numbers, so outside the digest: a change decides
//! new things only; what was decided stands in the journal.

use std::time::Duration;

use crate::id::RequestId;

/// How the attempts of an action are retried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RetryPolicy {
    /// The name it is attached by; in the digest and in every recorded decision.
    pub name: String,
    /// Attempts in one budget, the first included. Default 5.
    pub max_attempts: u32,
    /// Upper bound of the first delay. Default 500 ms.
    pub base: Duration,
    /// Upper bound of every delay. Default 30 s.
    pub cap: Duration,
    /// How long one attempt may take, from sending. Default 30 s. Then it ends: its future is dropped, so it sends
    /// nothing more, and what it would have answered is not heard.
    pub attempt_timeout: Duration,
    /// From the first READY, or the last `resume`. Default 24 h.
    pub give_up_after: Duration,
    /// What happens when attempts or `give_up_after` are spent.
    pub on_exhausted: Exhausted,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            name: "default".into(),
            max_attempts: 5,
            base: Duration::from_millis(500),
            cap: Duration::from_secs(30),
            attempt_timeout: Duration::from_secs(30),
            give_up_after: Duration::from_secs(24 * 3_600),
            on_exhausted: Exhausted::Quarantine,
        }
    }
}

/// What the exhaustion of a forward action's budget leads to. A compensation is always quarantined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Exhausted {
    /// A person decides.
    #[default]
    Quarantine,
    /// The saga turns back; before the pivot only.
    TurnBack,
}

/// How often an unknown outcome is asked about, or its call repeated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueryPolicy {
    /// The name it is attached by.
    pub name: String,
    /// Queries in one budget. Repeats are counted by the retry policy's `max_attempts`. Default 10.
    pub max_queries: u32,
    /// Upper bound of the first delay between queries. Default 1 s.
    pub base: Duration,
    /// Upper bound of every delay. Default 60 s.
    pub cap: Duration,
    /// How long one query may take. Default 10 s.
    pub timeout: Duration,
}

impl Default for QueryPolicy {
    fn default() -> Self {
        Self {
            name: "default".into(),
            max_queries: 10,
            base: Duration::from_secs(1),
            cap: Duration::from_secs(60),
            timeout: Duration::from_secs(10),
        }
    }
}

/// `min(cap, base × 2^(attempt−1))`, without overflow for any attempt, base or cap. `attempt` counts from 1.
pub fn upper(base: Duration, cap: Duration, attempt: u32) -> Duration {
    let doublings = attempt.saturating_sub(1).min(127);
    let micros = base.as_micros().saturating_mul(1u128 << doublings).min(cap.as_micros());
    duration(micros)
}

/// Full jitter: uniform in `[0, upper]`, drawn from (request id, attempt). Spread across sagas, identical on
/// replay.
pub fn full_jitter(upper: Duration, id: RequestId, attempt: u32) -> Duration {
    let (high, low) = id.0.as_u64_pair();
    let drawn = mix(mix(high).wrapping_add(low).wrapping_add(u64::from(attempt)));
    let span = upper.as_micros().min(u128::from(u64::MAX) - 1) + 1;
    duration((u128::from(drawn) * span) >> 64)
}

fn duration(micros: u128) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
fn mix(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_stay_within_base_and_cap_for_every_attempt() {
        let (base, cap) = (Duration::from_secs(1), Duration::from_secs(60));
        for attempt in 1..=200 {
            let bound = upper(base, cap, attempt);
            assert!(bound <= cap && bound >= base.min(cap), "attempt {attempt}: {bound:?}");
            let id = RequestId(uuid::Uuid::from_u128(u128::from(attempt) << 64 | 7));
            assert!(full_jitter(bound, id, attempt) <= bound);
        }
        assert_eq!(upper(base, cap, 3), Duration::from_secs(4));
        assert_eq!(upper(Duration::MAX, Duration::MAX, u32::MAX), Duration::from_micros(u64::MAX));
        assert_eq!(upper(Duration::ZERO, cap, 9), Duration::ZERO);
    }

    #[test]
    fn jitter_reaches_both_ends_of_its_range_and_repeats_itself() {
        let bound = Duration::from_micros(9);
        let draw = |n: u128| full_jitter(bound, RequestId(uuid::Uuid::from_u128(n)), 1).as_micros();
        let drawn: std::collections::BTreeSet<u128> = (0..400).map(draw).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), (0..=9).collect::<Vec<_>>());
        assert_eq!(draw(5), draw(5));
    }
}
