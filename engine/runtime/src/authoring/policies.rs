//! The catalogue of named policies, and the check of numbers at registration.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use amends_core::plan::lint::{Warning, lint};
use amends_core::plan::{Exhausted, QueryPolicy, RetryPolicy, SagaPlan, StepPlan};

use super::dependency::{self, DependencyLimits};
use super::node::Definition;
use super::saga::Saga;

/// Named retry and query policies, and what dependencies can bear. Data: a change decides new things only.
///
/// Holds `default` of both kinds from the start (see [`RetryPolicy::default`] and [`QueryPolicy::default`]), and no
/// dependency. Without dependencies the names in contracts are names and nothing more; with the first one, every
/// dependency that a step names must be there.
///
/// ```
/// use amends::prelude::*;
/// use amends::{DependencyLimits, Rate};
///
/// let gateway = DependencyLimits { concurrency_max: Some(20), rate: Some(Rate::per_second(50)), ..Default::default() };
/// let policies = Policies::new()
///     .dependency("payment-gateway", gateway)
///     .dependency("warehouse", DependencyLimits::unlimited());
/// # drop(policies);
/// ```
#[derive(Clone, Debug)]
pub struct Policies {
    retry: BTreeMap<String, RetryPolicy>,
    query: BTreeMap<String, QueryPolicy>,
    dependencies: BTreeMap<Arc<str>, DependencyLimits>,
}

impl Default for Policies {
    fn default() -> Self {
        Self::new()
    }
}

impl Policies {
    /// A catalogue with the defaults only.
    pub fn new() -> Self {
        let empty = Self { retry: BTreeMap::new(), query: BTreeMap::new(), dependencies: BTreeMap::new() };
        empty.retry("default", RetryPolicy::default()).query("default", QueryPolicy::default())
    }

    /// Adds or replaces a retry policy, for forward attempts and compensations.
    #[must_use]
    pub fn retry(mut self, name: &str, policy: RetryPolicy) -> Self {
        self.retry.insert(name.to_owned(), RetryPolicy { name: name.to_owned(), ..policy });
        self
    }

    /// Adds or replaces a query policy, for queries and repeats.
    #[must_use]
    pub fn query(mut self, name: &str, policy: QueryPolicy) -> Self {
        self.query.insert(name.to_owned(), QueryPolicy { name: name.to_owned(), ..policy });
        self
    }

    /// Adds or replaces what a dependency can bear. Steps name it in their contract.
    #[must_use]
    pub fn dependency(mut self, name: &str, limits: DependencyLimits) -> Self {
        self.dependencies.insert(name.into(), limits);
        self
    }

    pub(crate) fn dependencies(&self) -> &BTreeMap<Arc<str>, DependencyLimits> {
        &self.dependencies
    }

    /// What is wrong with the numbers of dependencies, each as a sentence.
    pub(crate) fn problems_of_dependencies(&self) -> Vec<String> {
        let all = self.dependencies.iter();
        all.flat_map(|(name, limits)| dependency::problems(name, limits)).collect()
    }
}

/// What is wrong with a workflow's numbers: all problems at once, by name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to register workflow `{workflow}`: {}", .problems.join("; "))]
pub struct RegistrationErrors {
    /// The workflow.
    pub workflow: String,
    /// Every problem, as a sentence.
    pub problems: Vec<String>,
}

impl<I, O> Saga<I, O> {
    /// Fills in the numbers of the named policies, and checks them: all or nothing.
    ///
    /// # Errors
    /// Unknown policy or dependency, zero attempts or queries, base above cap, a deadline shorter than an attempt,
    /// *turn back* on exhaustion after the pivot, a settle window not shorter than the key retention.
    pub fn resolve(&self, policies: &Policies) -> Result<Definition, RegistrationErrors> {
        let mut plan: SagaPlan = (*self.plan).clone();
        let mut problems = Vec::new();
        for (step, timeout) in plan.steps.iter_mut().zip(self.timeouts.iter()) {
            fill(step, *timeout, policies, &mut problems);
            check(step, &mut problems);
            problems.extend(unknown_dependency(step, policies));
        }
        check_place(&plan, &mut problems);
        if problems.is_empty() {
            let (nodes, conditions) = (self.nodes.clone(), self.conditions.clone());
            Ok(Definition { plan: Arc::new(plan), nodes, conditions, labels: self.labels.clone() })
        } else {
            Err(RegistrationErrors { workflow: plan.workflow.to_string(), problems })
        }
    }

    /// What a payments reviewer would ask about it, under these policies: see [`amends_core::plan::lint()`].
    ///
    /// # Errors
    /// As [`Saga::resolve`].
    pub fn lint(&self, policies: &Policies) -> Result<Vec<Warning>, RegistrationErrors> {
        Ok(lint(&self.resolve(policies)?.plan))
    }
}

fn fill(step: &mut StepPlan, timeout: Option<Duration>, policies: &Policies, problems: &mut Vec<String>) {
    let unknown = |kind: &str, name: &str, known: Vec<&String>| {
        let known: Vec<&str> = known.into_iter().map(String::as_str).collect();
        format!(
            "`{}` names the {kind} policy `{name}`, which the catalogue does not have (it has: {})",
            step.name,
            known.join(", ")
        )
    };
    let retry = policies.retry.get(&step.retry.name);
    let query = policies.query.get(&step.query.name);
    let compensation = policies.retry.get(&step.compensation.name);
    if retry.is_none() {
        problems.push(unknown("retry", &step.retry.name, policies.retry.keys().collect()));
    }
    if query.is_none() {
        problems.push(unknown("query", &step.query.name, policies.query.keys().collect()));
    }
    if compensation.is_none() && step.undo.is_some() {
        problems.push(unknown("compensation", &step.compensation.name, policies.retry.keys().collect()));
    }
    if let Some(policy) = retry {
        step.retry = policy.clone();
    }
    if let Some(policy) = query {
        step.query = policy.clone();
    }
    if let Some(policy) = compensation {
        step.compensation = policy.clone();
    }
    if let Some(timeout) = timeout {
        step.retry.attempt_timeout = timeout;
    }
}

/// A name that is not there is a name misspelt, and its limits would limit nothing.
fn unknown_dependency(step: &StepPlan, policies: &Policies) -> Option<String> {
    let name = step.contract.dependency.as_deref()?;
    if policies.dependencies.is_empty() || policies.dependencies.contains_key(name) {
        return None;
    }
    let known: Vec<&str> = policies.dependencies.keys().map(|name| &**name).collect();
    Some(format!(
        "`{}` names the dependency `{name}`, which the catalogue does not have (it has: {}); one that can bear \
         everything is `DependencyLimits::unlimited()`",
        step.name,
        known.join(", ")
    ))
}

fn check(step: &StepPlan, problems: &mut Vec<String>) {
    let name = &step.name;
    check_retry(name, "retry", &step.retry, problems);
    if step.undo.is_some() {
        check_retry(name, "compensation", &step.compensation, problems);
    }
    let query = &step.query;
    if query.max_queries == 0 {
        problems.push(format!("`{name}`: query policy `{}` allows no query at all", query.name));
    }
    if query.base > query.cap {
        problems.push(format!(
            "`{name}`: query policy `{}` has base {:?} above cap {:?}",
            query.name, query.base, query.cap
        ));
    }
    if query.timeout.is_zero() {
        problems.push(format!("`{name}`: query policy `{}` gives a query no time at all", query.name));
    }
    if let (Some(window), Some(retention)) = (step.contract.settle_window, step.contract.key_retention)
        && window >= retention
    {
        problems.push(format!(
            "`{name}`: the settle window {window:?} is not shorter than the key retention {retention:?}, so \
             \"absent\" could never mean \"without effect\""
        ));
    }
}

/// The numbers that depend on where a step stands: the saga's deadline rules up to the pivot, and behind it
/// nothing turns back.
fn check_place(plan: &SagaPlan, problems: &mut Vec<String>) {
    if plan.deadline == Some(Duration::ZERO) {
        problems.push("the saga's deadline is zero: every saga would turn back at once".into());
    }
    for (ix, step) in plan.indices().zip(&plan.steps) {
        let (name, policy) = (&step.name, &step.retry);
        let is_past_pivot = plan.pivot.is_some_and(|pivot| ix.0 > pivot.0);
        if is_past_pivot && policy.on_exhausted == Exhausted::TurnBack {
            problems.push(format!(
                "`{name}`: retry policy `{}` turns back on exhaustion, but the step stands after the pivot",
                policy.name
            ));
        }
        let deadline = plan.deadline.filter(|deadline| !deadline.is_zero() && !is_past_pivot);
        if let Some(deadline) = deadline.filter(|deadline| *deadline < policy.attempt_timeout) {
            problems.push(format!(
                "`{name}`: the saga's deadline {deadline:?} is shorter than one attempt of {:?} may take",
                policy.attempt_timeout
            ));
        }
    }
}

fn check_retry(step: &str, which: &str, policy: &RetryPolicy, problems: &mut Vec<String>) {
    let name = &policy.name;
    if policy.max_attempts == 0 {
        problems.push(format!("`{step}`: {which} policy `{name}` allows no attempt at all"));
    }
    if policy.base > policy.cap {
        let (base, cap) = (policy.base, policy.cap);
        problems.push(format!("`{step}`: {which} policy `{name}` has base {base:?} above cap {cap:?}"));
    }
    if policy.attempt_timeout.is_zero() {
        problems.push(format!("`{step}`: {which} policy `{name}` gives an attempt no time at all"));
    }
    if policy.give_up_after < policy.attempt_timeout {
        let (give_up, timeout) = (policy.give_up_after, policy.attempt_timeout);
        problems.push(format!(
            "`{step}`: {which} policy `{name}` gives up after {give_up:?}, before one attempt of {timeout:?} could end"
        ));
    }
}
