//! What a dependency can bear: the numbers behind the name in a step's contract.

use std::time::Duration;

/// What may be asked of one dependency by one engine.
///
/// Steps name their dependency in their [`Contract`](super::Contract); the catalogue says what it can bear
/// ([`Policies::dependency`](super::Policies::dependency)). Everything here is looked at *before* an attempt or a
/// query is journalled as started. What has to wait is deferred: no attempt, no failure, nothing of its budget is
/// spent. It waits until its step deadline at most, and
/// [`SagaView::deferrals`](crate::SagaView::deferrals) says for what.
///
/// **Per engine**: each node counts for itself. Where three nodes share a store, a dependency sees up to three
/// times these numbers.
///
/// The default bounds neither concurrency nor rate, for nobody but its owner knows what a dependency can bear; it
/// has the retry budget and the breaker of their own defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencyLimits {
    /// Attempts and queries under way at once. Default none: no bound but
    /// [`Limits::max_running`](crate::Limits::max_running).
    pub concurrency_max: Option<u32>,
    /// How often attempts are sent: first ones, retries, repeats and compensations together. Default none: no bound.
    pub rate: Option<Rate>,
    /// How often queries are sent. Default none: no bound.
    pub query_rate: Option<Rate>,
    /// How many attempts may follow first ones. Default [`RetryBudget::default`]; none: no bound.
    pub retry_budget: Option<RetryBudget>,
    /// When nothing is sent because it fails anyway. Default [`Breaker::default`]; none: never.
    pub breaker: Option<Breaker>,
    /// Everything above holds for each [tenant](crate::StartOptions::tenant) by itself, and once more for sagas without
    /// one; nothing then bounds all of them together but [`Limits::max_running`](crate::Limits::max_running) and what
    /// a person [limits](crate::operator::OperatedDependency::limit). At most 10 000 tenants are told apart; more share
    /// the numbers of sagas without tenant. Default no: all sagas share them, and tenants take turns.
    pub per_tenant: bool,
}

impl Default for DependencyLimits {
    fn default() -> Self {
        let (retry_budget, breaker) = (Some(RetryBudget::default()), Some(Breaker::default()));
        Self { retry_budget, breaker, ..Self::unlimited() }
    }
}

impl DependencyLimits {
    /// No bound at all: for a dependency whose name the catalogue should know and that can bear everything.
    pub fn unlimited() -> Self {
        Self {
            concurrency_max: None,
            rate: None,
            query_rate: None,
            retry_budget: None,
            breaker: None,
            per_tenant: false,
        }
    }
}

/// How often something may begin: a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// So many, at least 1,
    pub calls: u32,
    /// in so long; evenly spread.
    pub per: Duration,
    /// How many may begin at one moment after a pause, at least 1. In any span of time at most `burst` more begin
    /// than the even rate allows.
    pub burst: u32,
}

impl Rate {
    /// So many a second, and a tenth of that (at least one) at one moment.
    pub fn per_second(calls: u32) -> Self {
        Self { calls, per: Duration::from_secs(1), burst: (calls / 10).max(1) }
    }
}

/// How many attempts may follow first ones: retries and repeats, forward and of compensations, even while the
/// dependency idles. Queries and what a person ordered do not draw on it. What has to wait goes by deadline, the
/// earliest first.
///
/// In any window at most `share_percent` of the first attempts of it and the window before, and `constant_per_second`
/// for each second of it. The defaults are those of Finagle's `RetryBudget`: a fifth, ten a second, ten seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryBudget {
    /// So many for every hundred first attempts within the window; 0 to 100. Default 20.
    pub share_percent: u32,
    /// And so many each second, evenly spread, so that what is left over drains when nothing new comes. Default 10.
    pub constant_per_second: u32,
    /// How long a first attempt counts. Default 10 s.
    pub window: Duration,
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self { share_percent: 20, constant_per_second: 10, window: Duration::from_secs(10) }
    }
}

/// When nothing is sent to a dependency because it fails anyway.
///
/// Failures are attempts and queries that end `Transient` or `Unknown` (a timeout is unknown). Everything else is
/// an answer of a dependency that works: a refusal, a permanent failure, a fence.
///
/// It *opens* when enough of the calls within the window failed. Nothing is sent then, neither attempts nor
/// queries; they are deferred and spend nothing. After `open_for` it is *half open*: `probes` calls are let
/// through. When all of them are answered it is closed and forgets what was; when one fails it opens again. The
/// defaults are those of Hystrix: half of at least twenty calls in ten seconds, five seconds, one probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breaker {
    /// It opens at so many failures of a hundred calls; 1 to 100. Default 50.
    pub failures_percent: u32,
    /// Below so many calls within the window it never opens. Default 20.
    pub calls_min: u32,
    /// How long a call counts. Default 10 s.
    pub window: Duration,
    /// How long it stays open. Default 5 s.
    pub open_for: Duration,
    /// Calls that are let through to see whether it works again. Default 1.
    pub probes: u32,
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            failures_percent: 50,
            calls_min: 20,
            window: Duration::from_secs(10),
            open_for: Duration::from_secs(5),
            probes: 1,
        }
    }
}

/// What is wrong with the numbers, each as a sentence.
pub(super) fn problems(name: &str, limits: &DependencyLimits) -> Vec<String> {
    let mut found = Vec::new();
    let mut says = |wrong: bool, problem: &str| {
        if wrong {
            found.push(format!("dependency `{name}`: {problem}"));
        }
    };
    let is_idle = |rate: Rate| rate.calls == 0 || rate.per.is_zero() || rate.burst == 0;
    says(name.is_empty(), "it has no name");
    says(limits.concurrency_max == Some(0), "its concurrency of zero allows no call at all");
    says(limits.rate.is_some_and(is_idle), "its rate has a zero, and allows no attempt at all");
    says(limits.query_rate.is_some_and(is_idle), "its query rate has a zero, and allows no query at all");
    if let Some(budget) = limits.retry_budget {
        says(
            budget.share_percent > 100,
            "its retry budget has a share above 100 percent: retries beyond that are a storm",
        );
        says(
            budget.share_percent == 0 && budget.constant_per_second == 0,
            "its retry budget is empty: every retry would wait for its deadline; to retry nothing, give the retry \
             policy one attempt",
        );
        says(budget.window.is_zero(), "the window of its retry budget is zero");
    }
    if let Some(breaker) = limits.breaker {
        says(
            !(1..=100).contains(&breaker.failures_percent),
            "its breaker opens at a share outside 1 to 100 percent",
        );
        says(breaker.calls_min == 0, "its breaker judges by no call at all");
        says(breaker.window.is_zero(), "the window of its breaker is zero");
        says(breaker.open_for.is_zero(), "its breaker would be open for no time at all");
        says(breaker.probes == 0, "its breaker has no probe and could never close");
    }
    found
}
