//! What makes a plan's states few enough to look at all of them.

use std::time::Duration;

use amends_core::SagaPlan;
use amends_core::plan::RetryPolicy;

/// Attempts in one budget.
const ATTEMPTS_MAX: u32 = 2;

/// Queries in one budget.
const QUERIES_MAX: u32 = 1;

/// The plan with fewer attempts and queries, and without delays. A settle window that is stated stays stated.
pub(super) fn bounded(plan: &SagaPlan) -> SagaPlan {
    let mut plan = plan.clone();
    for step in &mut plan.steps {
        bound(&mut step.retry);
        bound(&mut step.compensation);
        step.query.max_queries = step.query.max_queries.min(QUERIES_MAX);
        (step.query.base, step.query.cap) = (Duration::ZERO, Duration::ZERO);
        step.contract.settle_window = step.contract.settle_window.map(|_| Duration::ZERO);
    }
    plan
}

fn bound(policy: &mut RetryPolicy) {
    policy.max_attempts = policy.max_attempts.min(ATTEMPTS_MAX);
    (policy.base, policy.cap) = (Duration::ZERO, Duration::ZERO);
}
