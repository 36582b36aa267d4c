//! Admission: how many attempts and queries may be under way at once, and who is next.
//!
//! A permit is taken *before* an attempt is journalled as started. Without one the action keeps its place in a
//! queue: a deferral, not an attempt and not a failure. Nothing here reads a clock; what time alone brings (a rate,
//! a breaker that becomes half open) the driver is told with [`Admission::wake`].
//!
//! # The protocol
//!
//! * Every dependency that a step or the catalogue names has a line of its own, and one for each tenant where its limits
//!   are by tenant; steps that name none share one. A line has four lanes; a lane is fair between workflows and their
//!   tenants; of one tenant the earliest deadline goes first.
//! * [`Admission::dispatch`] runs after whatever may let somebody go. So nobody waits who could go, and whoever
//!   comes to an empty line with room may go at once, past those who wait elsewhere and cannot.
//! * Of a line, the lane whose turn it is by its own shares is a candidate; among the candidates of all lines the
//!   lane is chosen by the shares of the whole engine; among lines with the same lane, in turn. So the shares hold
//!   where a dependency is the bottleneck, and where the engine is.
//! * Who is chosen while its saga is being committed gets its permit *kept*, until the saga takes it or does not
//!   want it any more.
//!
//! Memory is bounded by [`Limits::max_active`](crate::Limits::max_active): an action of a saga in memory has one
//! place at most, and a saga that goes leaves none behind.

mod breaker;
mod budget;
mod dependency;
mod group;
mod line;
mod queue;
mod rate;
mod wheel;
mod window;

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;

use amends_core::agenda::Lane;
use amends_core::{ActionId, SagaId, Timestamp};

use self::breaker::Probe;
use self::dependency::Dependency;
use self::group::{Group, TENANTS_MAX};
use self::line::Line;
use self::queue::{Flow, Turn};
use self::wheel::{LANES, Wheel};
use crate::authoring::DependencyLimits;
use crate::controls::ControlInForce;
use crate::engine::{LaneShares, Limits};
use crate::view::{Deferral, Missing};
pub(super) use breaker::Health;
pub(super) use queue::Kind;

/// The line, and the group, of steps that name no dependency.
const REST: usize = 0;

/// The permits of one worker.
#[derive(Debug)]
pub(super) struct Admission {
    free: usize,
    lines: Vec<Line>,
    /// Lines that no tenant has any more.
    spare: Vec<usize>,
    /// The lines in which somebody waits.
    queued: BTreeSet<usize>,
    groups: Vec<Group>,
    by_name: BTreeMap<Arc<str>, usize>,
    shares: LaneShares,
    wheel: Wheel,
    /// The line that had the last turn of each lane.
    last: [usize; LANES],
    held: BTreeMap<SagaId, BTreeMap<ActionId, Hold>>,
    waiting: usize,
    tickets: u64,
    granted: Vec<SagaId>,
    wake: Option<Timestamp>,
}

/// Who asks for a permit, and for what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    pub(super) saga: SagaId,
    pub(super) action: &'a ActionId,
    pub(super) workflow: &'a Arc<str>,
    pub(super) tenant: Option<&'a Arc<str>>,
    pub(super) dependency: Option<&'a str>,
    pub(super) lane: Lane,
    pub(super) kind: Kind,
    /// Its patience: the earliest goes first. What has none goes by when it came.
    pub(super) deadline: Option<Timestamp>,
}

/// One call may be under way. It is to be given back, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a permit that is not given back is lost for ever"]
pub(super) struct Permit {
    line: usize,
    probe: Option<Probe>,
}

#[derive(Debug)]
enum Hold {
    /// It has a place in the queue.
    Waiting { line: usize, lane: Lane, kind: Kind, of: Flow, turn: Turn, since: Timestamp },
    /// A permit is kept for it.
    Granted { kind: Kind, permit: Permit },
}

impl Admission {
    /// `named` are the dependencies that steps name: those that the catalogue does not limit, people may.
    pub(super) fn new(
        limits: &Limits,
        catalogue: &BTreeMap<Arc<str>, DependencyLimits>,
        named: impl IntoIterator<Item = Arc<str>>,
    ) -> Self {
        let unlimited = DependencyLimits::unlimited();
        let all: BTreeMap<Arc<str>, &DependencyLimits> = named
            .into_iter()
            .map(|name| (name, &unlimited))
            .chain(catalogue.iter().map(|(name, limits)| (name.clone(), limits)))
            .collect();
        let by_name = all.keys().cloned().zip(REST + 1..).collect();
        let named = all.into_iter().map(|(name, limits)| (Some(name), limits));
        let groups = std::iter::once((None, &unlimited)).chain(named).enumerate();
        let groups: Vec<Group> =
            groups.map(|(line, (name, limits))| Group::new(name, limits.clone(), line)).collect();
        let lines = groups.iter().map(|group| Line::new(Dependency::of(group), group.line, limits.lanes));
        Self {
            free: limits.max_running,
            lines: lines.collect(),
            spare: Vec::new(),
            queued: BTreeSet::new(),
            groups,
            by_name,
            shares: limits.lanes,
            wheel: Wheel::new(limits.lanes),
            last: [REST; LANES],
            held: BTreeMap::new(),
            waiting: 0,
            tickets: 0,
            granted: Vec::new(),
            wake: None,
        }
    }

    /// What people limit from now on; every other dependency bears what the catalogue says.
    pub(super) fn limit(&mut self, limits: &BTreeMap<Arc<str>, (u32, Arc<ControlInForce>)>, now: Timestamp) {
        for (name, group) in &self.by_name {
            self.groups[*group].limit(limits.get(name).cloned());
        }
        self.dispatch(now);
    }

    /// Takes a permit, or a place in the queue.
    pub(super) fn take(&mut self, request: &Request<'_>, now: Timestamp) -> Option<Permit> {
        let Request { saga, action, kind, .. } = *request;
        match self.held.get(&saga).and_then(|actions| actions.get(action)) {
            Some(Hold::Granted { kind: granted, permit }) if *granted == kind => {
                let permit = *permit;
                self.drop_hold(saga, action);
                return Some(permit);
            }
            Some(Hold::Waiting { lane, kind: waits, .. }) if (*lane, *waits) == (request.lane, kind) => {
                return None;
            }
            Some(_) => self.give_up(saga, action, now), // A person ordered what had waited for a retry.
            None => {}
        }
        let line = self.line_of(request, now);
        if self.free > 0 && self.missing(line, kind, now).is_none() && self.lines[line].is_empty() {
            return Some(self.enter(line, kind, now));
        }
        self.wait(request, line, now);
        self.dispatch(now);
        let Some(Hold::Granted { permit, .. }) = self.held.get(&saga)?.get(action) else { return None };
        let permit = *permit;
        self.drop_hold(saga, action);
        if let Some(at) = self.granted.iter().rposition(|granted| *granted == saga) {
            self.granted.remove(at); // It is being looked at.
        }
        Some(permit)
    }

    /// The first attempt of an action begins for certain, because that is durable: it pays for what goes beyond first ones.
    /// A start whose key turned out to be taken, and whatever else was decided and is not so, has paid nothing.
    pub(super) fn first_began(&mut self, permit: Permit, now: Timestamp) {
        if self.lines[permit.line].dependency.first_began(now) && self.waiting > 0 {
            self.dispatch(now);
        }
    }

    /// Gives a permit back, with what the call says of the dependency; none if it was not sent, or nobody knows.
    pub(super) fn give_back(&mut self, permit: Permit, health: Option<Health>, now: Timestamp) {
        self.free += 1;
        let line = &mut self.lines[permit.line];
        self.groups[line.group].leave();
        line.dependency.leave(permit.probe, health, now);
        self.dispatch(now);
    }

    /// Gives up what `saga` holds for actions it does not want any more.
    pub(super) fn keep_only(&mut self, saga: SagaId, wanted: &[ActionId], now: Timestamp) {
        let Some(actions) = self.held.get(&saga) else { return };
        let unwanted: Vec<ActionId> =
            actions.keys().filter(|action| !wanted.contains(action)).cloned().collect();
        unwanted.iter().for_each(|action| self.give_up(saga, action, now));
    }

    /// The sagas that got a permit since this was last asked: they should be looked at.
    pub(super) fn granted(&mut self) -> Vec<SagaId> {
        mem::take(&mut self.granted)
    }

    /// When time alone lets somebody go; then [`Self::dispatch`].
    pub(super) fn wake(&self) -> Option<Timestamp> {
        self.wake
    }

    /// Does this saga wait for dependencies only, and for none of them just because others have their turn?
    pub(super) fn is_held_up(&self, saga: SagaId, now: Timestamp) -> bool {
        self.held.get(&saga).is_some_and(|holds| {
            holds.values().all(|hold| match hold {
                Hold::Waiting { line, kind, .. } => self.missing(*line, *kind, now).is_some(),
                Hold::Granted { .. } => false,
            })
        })
    }

    /// What this saga waits for, and why.
    pub(super) fn deferrals(&self, saga: SagaId, now: Timestamp) -> Vec<Deferral> {
        let holds = self.held.get(&saga).into_iter().flatten();
        let waiting = holds.filter_map(|(action, hold)| match hold {
            Hold::Granted { .. } => None,
            Hold::Waiting { line, lane, kind, since, .. } => {
                let here = if self.free == 0 { Missing::Capacity } else { Missing::Turn };
                Some(Deferral {
                    action: action.clone(),
                    lane: *lane,
                    since: *since,
                    dependency: self.groups[self.lines[*line].group].name.clone(),
                    missing: self.missing(*line, *kind, now).unwrap_or(here),
                })
            }
        });
        waiting.collect()
    }

    /// Lets go whoever can, and notes when it is worth looking again.
    pub(super) fn dispatch(&mut self, now: Timestamp) {
        while self.free > 0
            && self.waiting > 0
            && let Some((line, lane)) = self.choose(now)
        {
            let Some((kind, (saga, action))) = self.lines[line].pop(lane, now) else { break };
            self.left(line);
            self.last[lane] = line;
            let permit = self.enter(line, kind, now);
            if let Some(hold) = self.held.get_mut(&saga).and_then(|actions| actions.get_mut(&action)) {
                *hold = Hold::Granted { kind, permit };
            }
            self.granted.push(saga);
        }
        let somebody_may = self.free > 0 && self.waiting > 0;
        let opens_at = |line: &usize| self.lines[*line].opens_at(now);
        self.wake = somebody_may.then(|| self.going().filter_map(|line| opens_at(&line)).min()).flatten();
    }

    /// The lane by the shares of the engine, among the lanes whose turn it is in their lines; then the line.
    fn choose(&mut self, now: Timestamp) -> Option<(usize, usize)> {
        let mut has = [false; LANES];
        let mut turns: [Option<usize>; LANES] = [None; LANES];
        let lines = self.lines.len();
        for at in self.going() {
            let Some(lane) = self.lines[at].next(now) else { continue };
            has[lane] = true;
            let after_last = |at: usize| (at + lines - self.last[lane] - 1) % lines;
            if turns[lane].is_none_or(|chosen| after_last(at) < after_last(chosen)) {
                turns[lane] = Some(at);
            }
        }
        let lane = self.wheel.next(has)?;
        self.wheel.turn(has, lane);
        turns[lane].map(|line| (line, lane))
    }

    /// The lines in which somebody waits and that no person holds up.
    fn going(&self) -> impl Iterator<Item = usize> {
        let held = |line: &usize| self.groups[self.lines[*line].group].held().is_some();
        self.queued.iter().copied().filter(move |line| !held(line))
    }

    /// What is missing in this line for a call of this kind to begin now.
    fn missing(&self, line: usize, kind: Kind, now: Timestamp) -> Option<Missing> {
        let Line { group, dependency, .. } = &self.lines[line];
        self.groups[*group].held().or_else(|| dependency.missing(kind, now))
    }

    /// The line of whoever asks: one of a tenant is made when it first asks.
    fn line_of(&mut self, request: &Request<'_>, now: Timestamp) -> usize {
        let group = request.dependency.and_then(|name| self.by_name.get(name)).copied().unwrap_or(REST);
        if let Some(line) = self.groups[group].line_of(request.tenant) {
            return line;
        }
        let Self { groups, lines, spare, shares, .. } = self;
        let (at, group) = (group, &mut groups[group]);
        if group.is_to_be_swept() {
            spare.extend(group.sweep(|line| lines[line].is_at_rest(now)));
        }
        let Some(tenant) = request.tenant.filter(|_| group.tenants.len() < TENANTS_MAX) else {
            return group.line;
        };
        let made = Line::new(Dependency::of(group), at, *shares);
        let line = match spare.pop() {
            Some(line) => {
                lines[line] = made;
                line
            }
            None => {
                lines.push(made);
                lines.len() - 1
            }
        };
        group.tenants.insert(tenant.clone(), line);
        line
    }

    /// Somebody waits no more in this line.
    fn left(&mut self, line: usize) {
        self.waiting -= 1;
        if self.lines[line].is_empty() {
            self.queued.remove(&line);
        }
    }

    fn enter(&mut self, line: usize, kind: Kind, now: Timestamp) -> Permit {
        self.free -= 1;
        self.groups[self.lines[line].group].enter();
        Permit { line, probe: self.lines[line].dependency.enter(kind, now) }
    }

    fn wait(&mut self, request: &Request<'_>, line: usize, now: Timestamp) {
        let Request { saga, action, workflow, tenant, lane, kind, deadline, .. } = *request;
        let of = Flow { workflow: workflow.clone(), tenant: tenant.cloned() };
        let turn = Turn { deadline: deadline.unwrap_or(now), ticket: self.tickets };
        self.tickets += 1;
        self.waiting += 1;
        self.queued.insert(line);
        self.lines[line].lanes[lane as usize].insert(&of, kind, turn, (saga, action.clone()));
        let hold = Hold::Waiting { line, lane, kind, of, turn, since: now };
        self.held.entry(saga).or_default().insert(action.clone(), hold);
    }

    fn give_up(&mut self, saga: SagaId, action: &ActionId, now: Timestamp) {
        match self.drop_hold(saga, action) {
            Some(Hold::Waiting { line, lane, kind, of, turn, .. }) => {
                self.lines[line].lanes[lane as usize].remove(&of, kind, turn);
                self.left(line);
            }
            Some(Hold::Granted { permit, .. }) => self.give_back(permit, None, now),
            None => {}
        }
    }

    fn drop_hold(&mut self, saga: SagaId, action: &ActionId) -> Option<Hold> {
        let actions = self.held.get_mut(&saga)?;
        let hold = actions.remove(action);
        if actions.is_empty() {
            self.held.remove(&saga);
        }
        hold
    }
}

#[cfg(test)]
mod tests;
