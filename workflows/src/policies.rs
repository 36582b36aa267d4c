//! The catalogue of named policies: how patient the shop is with whom.
//!
//! | name | retries | repeats and queries | when it is over |
//! |---|---|---|---|
//! | `checkout` | 4 attempts, a customer waits | | turns back |
//! | `risk-engine` | 4 attempts, a customer waits | | turns back |
//! | `sales` | 20 attempts: an order may take its time | | quarantine |
//! | `warehouse` | 6 attempts | 15 queries | quarantine |
//! | `payment-gateway` | 6 attempts | 15 queries | quarantine |
//! | `ledger` | 8 attempts within 5 minutes | 15 queries | quarantine |
//! | `carrier` | 10 attempts | repeats as it recovers, slowly | quarantine |
//! | `post-office` | 6 attempts | repeats | quarantine |
//! | `compensation` | 12 attempts, since somebody's money or goods are held | | quarantine |

use std::time::Duration;

use amends::prelude::{Exhausted, Policies, QueryPolicy, RetryPolicy};

/// However fast the pace, nobody is given less time to answer than this: a busy machine needs it.
const TIMEOUT_MIN: Duration = Duration::from_secs(2);

/// As [`TIMEOUT_MIN`], for everything that is made of a step: its attempts, and the waits between them.
const GIVE_UP_MIN: Duration = Duration::from_secs(5);

/// The policies of all workflows, every time in them multiplied by `pace`: 1.0 in production, less where
/// nobody wants to wait. A participant's settle window has to be scaled by the same number.
///
/// # Panics
/// When `pace` is negative or no number.
#[must_use]
pub fn policies(pace: f64) -> Policies {
    let retry = |attempts, base, on_exhausted| RetryPolicy {
        max_attempts: attempts,
        base: paced(base, pace),
        cap: paced(15_000, pace),
        attempt_timeout: paced(10_000, pace).max(TIMEOUT_MIN),
        give_up_after: paced(24 * 3_600_000, pace).max(GIVE_UP_MIN),
        on_exhausted,
        ..RetryPolicy::default()
    };
    let query = |queries, base| QueryPolicy {
        max_queries: queries,
        base: paced(base, pace),
        cap: paced(20_000, pace),
        timeout: paced(5_000, pace).max(TIMEOUT_MIN),
        ..QueryPolicy::default()
    };
    // What is not in the books by then, somebody has to look at.
    let books_close = paced(5 * 60_000, pace).max(GIVE_UP_MIN);
    Policies::new()
        .retry("checkout", retry(4, 500, Exhausted::TurnBack))
        .retry("risk-engine", retry(4, 500, Exhausted::TurnBack))
        .retry("sales", retry(20, 2_000, Exhausted::Quarantine))
        .retry("warehouse", retry(6, 1_000, Exhausted::Quarantine))
        .retry("payment-gateway", retry(6, 1_000, Exhausted::Quarantine))
        .retry("ledger", RetryPolicy { give_up_after: books_close, ..retry(8, 1_000, Exhausted::Quarantine) })
        .retry("carrier", retry(10, 2_000, Exhausted::Quarantine))
        .retry("post-office", retry(6, 1_000, Exhausted::Quarantine))
        .retry("compensation", retry(12, 1_000, Exhausted::Quarantine))
        .query("warehouse", query(15, 2_000))
        .query("payment-gateway", query(15, 2_000))
        .query("ledger", query(15, 2_000))
        .query("carrier", query(15, 4_000))
        .query("post-office", query(15, 2_000))
}

fn paced(millis: u64, pace: f64) -> Duration {
    Duration::from_millis(millis).mul_f64(pace)
}
