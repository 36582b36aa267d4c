//! I9: retries never push first attempts aside.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use amends::authoring::RetryBudget;
use amends_core::agenda::{Lane, Task, tasks};
use amends_core::state::{Action, Stage};
use amends_core::{ActionId, Incarnation, JournalEvent, SagaId, SagaPlan, Timestamp, apply};

use super::{Checker, Step};
use crate::simulation::bearing::Bearing;
use crate::simulation::history::Transitioned;

/// On each node, before each dependency: of what begins while first attempts wait without a break, retries are no
/// more than their lane's share; and attempts beyond first ones never exceed what first attempts and time have
/// paid for.
///
/// All of it is told from journals: what a saga may start and did not, in its last row, waits for a permit.
pub struct Permits {
    bearing: Bearing,
    clocks_agree: bool,
    by: Option<(Incarnation, bool)>,
    owners: BTreeMap<SagaId, Incarnation>,
    lines: BTreeMap<(Incarnation, Arc<str>), Line>,
    waited: Arc<AtomicU64>,
}

impl Permits {
    /// Holds nodes against this. Where clocks differ, times of one node's rows cannot be compared, and budgets are
    /// not looked at.
    pub fn new(bearing: Bearing, clocks_agree: bool) -> Self {
        let (owners, lines, waited) = Default::default();
        Self { bearing, clocks_agree, by: None, owners, lines, waited }
    }

    /// Counts the sagas that waited with a first attempt.
    pub(crate) fn waited(&self) -> Arc<AtomicU64> {
        self.waited.clone()
    }

    fn transitioned(&mut self, transitioned: &Transitioned<'_>) -> Result<(), String> {
        let Some((by, released)) = self.by.take() else { return Ok(()) };
        let saga = transitioned.after.id;
        if let Some(last) = self.owners.insert(saga, by)
            && last != by
        {
            self.wait(last, saga, |_| 0);
        }
        for begun in begun(transitioned) {
            self.began(by, transitioned, &begun)?;
        }
        let plan = transitioned.plan;
        let waiting = match released {
            true => Vec::new(),
            false => tasks(plan, transitioned.after, transitioned.after.at).0,
        };
        self.wait(by, saga, |dependency| {
            let first = |task: &&Task| match task {
                Task::Start { action, lane: Lane::First, .. } => {
                    dependency_of(plan, action) == Some(dependency)
                }
                _ => false,
            };
            waiting.iter().filter(first).count()
        });
        Ok(())
    }

    /// So many first attempts of this saga wait on this node for each dependency.
    fn wait(&mut self, by: Incarnation, saga: SagaId, count: impl Fn(&str) -> usize) {
        for dependency in self.bearing.dependencies.keys() {
            let waits = count(dependency);
            let line = self.lines.entry((by, dependency.clone())).or_default();
            if waits == 0 {
                line.waiting.remove(&saga);
            } else if line.waiting.insert(saga, waits).is_none() {
                self.waited.fetch_add(1, Ordering::Relaxed);
            }
            if line.waiting.is_empty() {
                (line.firsts, line.retries) = (0, 0);
            }
        }
    }

    fn began(
        &mut self,
        by: Incarnation,
        transitioned: &Transitioned<'_>,
        begun: &Begun,
    ) -> Result<(), String> {
        let Some(dependency) = dependency_of(transitioned.plan, &begun.action) else { return Ok(()) };
        let Some((dependency, limits)) = self.bearing.dependencies.get_key_value(dependency) else {
            return Ok(());
        };
        let line = self.lines.entry((by, dependency.clone())).or_default();
        let lanes = self.bearing.lanes;
        let shares = (u64::from(lanes.first), u64::from(lanes.retry));
        let at_once = limits.concurrency_max.map_or(0, u64::from);
        line.begins(begun, shares, at_once).map_err(|reason| format!("{reason} of {dependency} on {by}"))?;
        let Some(budget) = limits.retry_budget.filter(|_| self.clocks_agree) else { return Ok(()) };
        line.spends(begun, budget, transitioned.after.at)
            .map_err(|reason| format!("{reason} of {dependency} on {by}"))
    }
}

/// What is known of those who wait on one node for one dependency.
#[derive(Default)]
struct Line {
    /// Sagas whose first attempts wait, and how many.
    waiting: BTreeMap<SagaId, usize>,
    /// What began since somebody waits without a break.
    firsts: u64,
    retries: u64,
    /// What first attempts have paid in, in hundredths; and what was drawn since the first row.
    paid_in: u64,
    further: u64,
    since: Option<Timestamp>,
}

/// What a wheel may give ahead of its turn, and what a row that is not committed yet may hide.
const SLACK: u64 = 3;

impl Line {
    fn begins(&mut self, begun: &Begun, (first, retry): (u64, u64), at_once: u64) -> Result<(), String> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        match begun.lane {
            Lane::First => self.firsts += 1,
            Lane::Retry => self.retries += 1,
            Lane::Reconciliation | Lane::Compensation => {}
        }
        let Self { firsts, retries, .. } = *self;
        // A permit that is kept for a saga in the middle of a commit shows only with its next row.
        let slack = SLACK + 2 * at_once;
        if retries * first <= firsts * retry + slack * (first + retry) {
            return Ok(());
        }
        Err(format!(
            "{retries} retries and {firsts} first attempts began while first attempts waited, with shares \
             {retry} to {first}, for calls"
        ))
    }

    fn spends(&mut self, begun: &Begun, budget: RetryBudget, at: Timestamp) -> Result<(), String> {
        let since = *self.since.get_or_insert(at);
        match begun.kind {
            Kind::First => self.paid_in += u64::from(budget.share_percent),
            Kind::Further => self.further += 1,
            Kind::Ordered => {}
        }
        let trickled = at.since(since).as_secs() * u64::from(budget.constant_per_second);
        let may = self.paid_in / 100 + trickled + SLACK;
        if self.further <= may {
            return Ok(());
        }
        Err(format!(
            "{} attempts beyond first ones began, and the budget allows {may}, for calls",
            self.further
        ))
    }
}

/// How an attempt stands to the retry budget.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    First,
    Further,
    Ordered,
}

/// An attempt that a row starts.
struct Begun {
    action: ActionId,
    lane: Lane,
    kind: Kind,
}

fn begun(transitioned: &Transitioned<'_>) -> Vec<Begun> {
    let row = transitioned.journal.last().expect("a transition is a row");
    let starts = |event: &JournalEvent| matches!(event, JournalEvent::Started { .. });
    if !row.events.iter().any(starts) {
        return Vec::new();
    }
    let (plan, mut state) = (transitioned.plan, transitioned.before.clone());
    let mut all = Vec::new();
    if row.seq == 1 {
        let first = row.events.iter().filter_map(|event| match event {
            JournalEvent::Started { action, .. } => Some(action.clone()),
            _ => None,
        });
        return first.map(|action| Begun { action, lane: Lane::First, kind: Kind::First }).collect();
    }
    for event in &row.events {
        if let JournalEvent::Started { action, attempt, .. } = event
            && let Some(before) = state.action(plan, action)
        {
            all.push(Begun {
                action: action.clone(),
                lane: lane(action, before),
                kind: kind(*attempt, before),
            });
        }
        match apply(plan, state, row.at, event) {
            Ok(after) => state = after,
            Err(_) => return all, // The fold has a checker of its own.
        }
    }
    all
}

fn lane(action: &ActionId, before: &Action) -> Lane {
    match before.stage {
        Stage::Reconciling => Lane::Reconciliation,
        _ if !action.is_forward() => Lane::Compensation,
        _ if before.attempts_of_budget() == 0 => Lane::First,
        _ => Lane::Retry,
    }
}

fn kind(attempt: u32, before: &Action) -> Kind {
    match attempt {
        1 => Kind::First,
        _ if before.ordered => Kind::Ordered,
        _ => Kind::Further,
    }
}

fn dependency_of<'a>(plan: &'a SagaPlan, action: &ActionId) -> Option<&'a str> {
    plan.step(plan.find(&action.step)?).contract.dependency.as_deref()
}

impl Checker for Permits {
    fn invariant(&self) -> &'static str {
        "I9"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        if self.bearing.dependencies.is_empty() {
            return Ok(());
        }
        match step {
            Step::Accepted(accepted) => self.by = Some((accepted.by, accepted.released)),
            Step::Transitioned(transitioned) => return self.transitioned(transitioned),
            Step::Ended(incarnation) => self.lines.retain(|(by, _), _| by != incarnation),
            _ => {}
        }
        Ok(())
    }
}
