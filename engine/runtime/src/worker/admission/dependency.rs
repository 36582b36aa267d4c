//! Everything that is counted by dependency, or by tenant of one, and whether one more call may begin.

use std::sync::Arc;

use amends_core::Timestamp;

use super::breaker::{Breaker, Change, Health, Probe};
use super::budget::Budget;
use super::group::Group;
use super::queue::Kind;
use super::rate::Bucket;
use crate::authoring::DependencyLimits;
use crate::view::Missing;

/// One dependency, or all that steps do not name.
#[derive(Debug)]
pub(super) struct Dependency {
    /// None for what steps do not name.
    pub(super) name: Option<Arc<str>>,
    running: u32,
    concurrency_max: u32,
    attempts: Option<Bucket>,
    queries: Option<Bucket>,
    budget: Option<Budget>,
    breaker: Option<Breaker>,
}

impl Dependency {
    pub(super) fn new(name: Option<Arc<str>>, limits: &DependencyLimits) -> Self {
        Self {
            name,
            running: 0,
            concurrency_max: limits.concurrency_max.unwrap_or(u32::MAX),
            attempts: limits.rate.map(Bucket::new),
            queries: limits.query_rate.map(Bucket::new),
            budget: limits.retry_budget.map(Budget::new),
            breaker: limits.breaker.map(Breaker::new),
        }
    }

    /// The one of a group, or one more for a tenant of it.
    pub(super) fn of(group: &Group) -> Self {
        Self::new(group.name.clone(), &group.limits)
    }

    /// Would it be the same if it were made anew?
    pub(super) fn is_at_rest(&self, now: Timestamp) -> bool {
        let buckets = [&self.attempts, &self.queries];
        self.running == 0
            && buckets.into_iter().flatten().all(|bucket| bucket.is_at_rest(now))
            && self.budget.as_ref().is_none_or(|budget| budget.is_at_rest(now))
            && self.breaker.as_ref().is_none_or(|breaker| breaker.is_at_rest(now))
    }

    /// What is missing for a call of this kind to begin now.
    pub(super) fn missing(&self, kind: Kind, now: Timestamp) -> Option<Missing> {
        if let Some(Err(until)) = self.breaker.as_ref().map(|breaker| breaker.may_begin(now)) {
            return Some(Missing::Breaker(until));
        }
        if self.running >= self.concurrency_max {
            return Some(Missing::Concurrency);
        }
        let bucket = if kind == Kind::Query { &self.queries } else { &self.attempts };
        if let Some(at) = bucket.as_ref().map(Bucket::ready_at).filter(|at| *at > now) {
            return Some(Missing::Rate(at));
        }
        if kind != Kind::Further {
            return None;
        }
        let ready = self.budget.as_ref().map(|budget| budget.ready_at(now))?;
        ready.is_none_or(|at| at > now).then_some(Missing::RetryBudget(ready))
    }

    /// A call is let through.
    pub(super) fn enter(&mut self, kind: Kind, now: Timestamp) -> Option<Probe> {
        self.running += 1;
        let bucket = if kind == Kind::Query { &mut self.queries } else { &mut self.attempts };
        if let Some(bucket) = bucket {
            bucket.take(now);
        }
        if let Some(budget) = self.budget.as_mut().filter(|_| kind == Kind::Further) {
            budget.draw(now);
        }
        self.breaker.as_mut().and_then(Breaker::begin)
    }

    /// A first attempt that was let through begins for certain. Says whether retries have got more budget by it.
    pub(super) fn first_began(&mut self, now: Timestamp) -> bool {
        self.budget.as_mut().map(|budget| budget.pay_in(now)).is_some()
    }

    /// A call has ended, or does not begin after all: rate and budget that it took are not given back.
    pub(super) fn leave(&mut self, probe: Option<Probe>, health: Option<Health>, now: Timestamp) {
        self.running -= 1;
        let Some(breaker) = &mut self.breaker else { return };
        let dependency = self.name.as_deref().unwrap_or_default();
        match breaker.end(probe, health, now) {
            Some(Change::Opened(until)) => {
                tracing::warn!(dependency, %until, "the breaker opens: calls are deferred");
            }
            Some(Change::Closed) => tracing::info!(dependency, "the breaker closes: the dependency answers"),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::authoring::{self, Rate, RetryBudget};

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(1_000_000 + ms)
    }

    fn dependency(limits: &DependencyLimits) -> Dependency {
        Dependency::new(Some("d".into()), limits)
    }

    #[test]
    fn no_more_are_under_way_than_it_can_bear() {
        let mut two =
            dependency(&DependencyLimits { concurrency_max: Some(2), ..DependencyLimits::unlimited() });
        let probes = [two.enter(Kind::First, at(0)), two.enter(Kind::Query, at(0))];
        assert_eq!(two.missing(Kind::First, at(0)), Some(Missing::Concurrency));
        assert_eq!(two.missing(Kind::Query, at(0)), Some(Missing::Concurrency));
        two.leave(probes[0], None, at(0));
        assert_eq!(two.missing(Kind::First, at(0)), None);
    }

    #[test]
    fn queries_have_a_rate_of_their_own() {
        let once = Some(Rate { calls: 1, per: Duration::from_secs(1), burst: 1 });
        let limits = DependencyLimits { rate: once, query_rate: once, ..DependencyLimits::unlimited() };
        let mut slow = dependency(&limits);
        slow.enter(Kind::First, at(0));
        assert_eq!(slow.missing(Kind::Ordered, at(0)), Some(Missing::Rate(at(1_000))));
        assert_eq!(slow.missing(Kind::Query, at(0)), None);
        slow.enter(Kind::Query, at(500));
        assert_eq!(slow.missing(Kind::Query, at(500)), Some(Missing::Rate(at(1_500))));
        assert_eq!(slow.missing(Kind::First, at(1_000)), None);
    }

    #[test]
    fn only_what_nobody_ordered_and_is_not_first_draws_on_the_budget() {
        let budget =
            RetryBudget { share_percent: 50, constant_per_second: 0, window: Duration::from_secs(10) };
        let limits = DependencyLimits { retry_budget: Some(budget), ..DependencyLimits::unlimited() };
        let mut spent = dependency(&limits);
        for kind in [Kind::First, Kind::Ordered, Kind::Query] {
            assert_eq!(spent.missing(kind, at(0)), None, "{kind:?}");
        }
        assert_eq!(spent.missing(Kind::Further, at(0)), Some(Missing::RetryBudget(None)));
        spent.enter(Kind::First, at(0));
        assert_eq!(spent.missing(Kind::Further, at(0)), Some(Missing::RetryBudget(None)), "let through only");
        assert!(spent.first_began(at(0)) && spent.first_began(at(0)));
        assert_eq!(spent.missing(Kind::Further, at(0)), None, "two first attempts pay for one more");
        spent.enter(Kind::Further, at(0));
        assert_eq!(spent.missing(Kind::Further, at(0)), Some(Missing::RetryBudget(None)));
    }

    #[test]
    fn an_open_breaker_holds_up_queries_too() {
        let breaker = authoring::Breaker { calls_min: 1, ..authoring::Breaker::default() };
        let limits = DependencyLimits { breaker: Some(breaker), ..DependencyLimits::unlimited() };
        let mut broken = dependency(&limits);
        let probe = broken.enter(Kind::First, at(0));
        broken.leave(probe, Some(Health::Failed), at(0));
        for kind in [Kind::First, Kind::Ordered, Kind::Further, Kind::Query] {
            assert_eq!(broken.missing(kind, at(1)), Some(Missing::Breaker(Some(at(5_000)))), "{kind:?}");
        }
        broken.enter(Kind::Query, at(5_000));
        assert_eq!(broken.missing(Kind::First, at(5_000)), Some(Missing::Breaker(None)));
    }
}
