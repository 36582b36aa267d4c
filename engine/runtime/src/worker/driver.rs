//! The worker's loop: one task that owns every active saga.
//!
//! A round takes what has arrived, decides each saga that is concerned once, and hands all its transitions to
//! the committer together. Decisions are made in memory; the outside hears of them only after acceptance.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use amends_core::machine::{Command, Start, start};
use amends_core::{ActionId, Incarnation, SagaId, Timestamp};
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, UnboundedSender};
use tokio::sync::{oneshot, watch};

use super::active::{Active, Draft, Input, Sent, Starter};
use super::admission::{Admission, Health};
use super::committer::Writers;
use super::input::{LookedUp, News, Recovered, Request, StartRequest, Watched, Watcher};
use super::invoke::{Wires, panic_text};
use super::mail::Posters;
use super::publisher::Outbox;
use super::recovery::Errand;
use super::time::{SagaTime, Timers};
use super::told::Audience;
use crate::authoring::BoxFuture;
use crate::controls::Controls;
use crate::engine::{Limits, SagaStartError, StopReason};
use crate::ports::{CLOCK_TOLERANCE, Clock, Commit, Hints, Ids, Mail, NewSaga};

/// The most inputs of one kind that one round takes: every kind gets its turn.
const ROUND_MAX: usize = 256;

/// After one look that a hint has asked for, so long passes before the next one: many hints are few looks.
const HINTED_LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(20);

/// Everything that the loop owns.
pub(super) struct Driver {
    pub(super) incarnation: Incarnation,
    pub(super) limits: Limits,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn Ids>,
    pub(super) wires: Wires,
    pub(super) inlets: Inlets,
    pub(super) outlets: Outlets,
    pub(super) sagas: Sagas,
    pub(super) mode: Mode,
    pub(super) audience: Arc<Audience>,
}

/// Where inputs come from.
pub(super) struct Inlets {
    pub(super) news: UnboundedReceiver<News>,
    pub(super) requests: Receiver<Request>,
    pub(super) starts: Receiver<StartRequest>,
    pub(super) controls: watch::Receiver<Arc<Controls>>,
    pub(super) alarm: Alarm,
    /// Where nodes share the store and it gives hints.
    pub(super) hints: Option<Hints>,
}

/// Where the worker's own parts are reached.
pub(super) struct Outlets {
    pub(super) commits: Writers,
    pub(super) errands: UnboundedSender<Errand>,
    pub(super) outbox: Outbox,
}

/// What is known of sagas.
pub(super) struct Sagas {
    pub(super) active: HashMap<SagaId, Active>,
    /// Those to be looked at in this round.
    pub(super) listed: VecDeque<SagaId>,
    /// The transitions of this round.
    pub(super) round: Vec<Commit>,
    pub(super) permits: Admission,
    pub(super) timers: Timers,
    pub(super) watchers: HashMap<SagaId, Vec<Watcher>>,
    pub(super) posters: Posters,
    /// When sagas are claimed, and mail is looked for, next; none while that is under way.
    pub(super) claim_at: Option<Timestamp>,
    /// A hint came while one was looking: one looks again.
    pub(super) look_again: bool,
    /// No look for a hint before this.
    pub(super) hinted_from: Timestamp,
    /// What people have set for everybody.
    pub(super) controls: Arc<Controls>,
}

/// How the worker stands as a whole.
#[derive(Default)]
pub(super) struct Mode {
    /// The parts of the committer that do not reach the store.
    unreachable: BTreeSet<usize>,
    pub(super) draining: Option<Draining>,
    /// Commits with the store.
    pub(super) committing: usize,
    /// Of these, so many are held up by somebody else.
    postponed: usize,
    /// Calls under way.
    pub(super) flying: usize,
}

impl Mode {
    /// Is there nothing with the store that will soon be answered?
    fn is_held_up(&self) -> bool {
        !self.unreachable.is_empty() || self.committing <= self.postponed
    }
}

/// The worker ends in an orderly way.
pub(super) struct Draining {
    /// Until when what runs is awaited.
    pub(super) until: Timestamp,
    /// Who waits for that, in this process.
    pub(super) replies: Vec<oneshot::Sender<usize>>,
    pub(super) reason: StopReason,
}

/// The one alarm: armed for the earliest time. An alarm that rings too early costs a look; it is not moved
/// when the earliest time moves away.
#[derive(Default)]
pub(super) struct Alarm(Option<(Timestamp, BoxFuture<()>)>);

impl Alarm {
    fn arm(&mut self, at: Option<Timestamp>, clock: &Arc<dyn Clock>) {
        let Some(at) = at else { return };
        if self.0.as_ref().is_some_and(|(armed, _)| *armed <= at) {
            return;
        }
        let clock = clock.clone();
        self.0 = Some((at, Box::pin(async move { clock.sleep_until(at).await })));
    }

    /// Returns when it rings; never, if it is not armed. Dropping the future loses nothing.
    async fn ring(&mut self) {
        match &mut self.0 {
            Some((_, sleep)) => sleep.await,
            None => std::future::pending().await,
        }
        self.0 = None;
    }
}

impl Driver {
    /// Runs until drained, or until it cannot go on: dismissed by the store, or without one of its parts.
    pub(super) async fn run(mut self) -> StopReason {
        loop {
            self.arm();
            let first = tokio::select! {
                biased;
                Ok(()) = self.inlets.controls.changed() => First::Controls,
                Some(news) = self.inlets.news.recv() => First::News(news),
                Some(request) = self.inlets.requests.recv() => First::Request(request),
                () = self.inlets.alarm.ring() => First::Alarm,
                () = hinted(self.inlets.hints.as_ref()) => First::Hint,
                Some(start) = self.inlets.starts.recv(), if self.takes_starts() => First::Start(start),
            };
            if let Some(reason) = self.round(first) {
                return reason;
            }
            if self.drained()
                && let Some(Draining { replies, reason, .. }) = self.mode.draining.take()
            {
                for reply in replies {
                    let _ = reply.send(self.mode.flying);
                }
                return reason;
            }
        }
    }

    fn arm(&mut self) {
        let now = self.now();
        let drain = self.mode.draining.as_ref().map(|draining| draining.until).filter(|until| *until > now);
        let next = [self.sagas.timers.next(), self.sagas.permits.wake(), self.sagas.claim_at, drain]
            .into_iter()
            .flatten()
            .min();
        self.inlets.alarm.arm(next, &self.clock);
    }

    /// Memory is bounded: starts wait with their callers.
    fn takes_starts(&self) -> bool {
        self.mode.draining.is_none()
            && self.mode.unreachable.is_empty()
            && self.sagas.active.len() < self.limits.max_active
    }

    /// Takes what has arrived, decides, hands over.
    fn round(&mut self, first: First) -> Option<StopReason> {
        let mut stop = None;
        match first {
            First::News(news) => stop = self.news(news),
            First::Request(request) => self.request(request),
            First::Start(start) => self.start(start),
            First::Controls => self.controls_changed(),
            First::Hint => self.look_soon(),
            First::Alarm => {}
        }
        for _ in 0..ROUND_MAX {
            let Ok(news) = self.inlets.news.try_recv() else { break };
            stop = stop.or(self.news(news));
        }
        if stop.is_some() {
            return stop;
        }
        for _ in 0..ROUND_MAX {
            let Ok(request) = self.inlets.requests.try_recv() else { break };
            self.request(request);
        }
        self.time();
        for _ in 0..ROUND_MAX {
            if !self.takes_starts() {
                break;
            }
            let Ok(start) = self.inlets.starts.try_recv() else { break };
            self.start(start);
        }
        while let Some(saga) = self.sagas.listed.pop_front() {
            self.decide(saga);
        }
        if !self.sagas.round.is_empty() {
            self.mode.committing += self.sagas.round.len();
            self.outlets.commits.send(std::mem::take(&mut self.sagas.round));
        }
        None
    }

    /// Is nothing left that is worth waiting for? Neither a store that does not answer is waited for, nor whoever
    /// holds up commits.
    fn drained(&self) -> bool {
        let Some(Draining { until, .. }) = &self.mode.draining else { return false };
        let late = self.now() >= *until;
        (self.mode.flying == 0 || late) && (self.mode.committing == 0 || (late && self.mode.is_held_up()))
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) fn list(&mut self, saga: SagaId) {
        if let Some(active) = self.sagas.active.get_mut(&saga)
            && !active.listed
        {
            active.listed = true;
            self.sagas.listed.push_back(saga);
        }
    }

    fn tell(&mut self, saga: SagaId, input: Input) {
        if let Some(active) = self.sagas.active.get_mut(&saga) {
            active.inbox.push_back(input);
            self.list(saga);
        }
    }

    // --- what arrives ---------------------------------------------------------------------------------------

    fn news(&mut self, news: News) -> Option<StopReason> {
        match news {
            News::Attempt { saga, action, attempt, answer } => {
                let health = Health::of_attempt(&answer);
                self.landed(saga, &action, health, |what| what == Sent::Attempt(attempt));
                self.tell(saga, Input::Engine(Command::Answer { action, attempt: Some(attempt), answer }));
            }
            News::Query { saga, action, query: number, answer } => {
                let health = Health::of_query(&answer);
                let is_it = |what| matches!(what, Sent::Query { query, .. } if query == number);
                self.landed(saga, &action, health, is_it);
                let command = match answer {
                    Ok(finding) => Command::Found { action, query: number, finding },
                    Err(failure) => Command::QueryFailed { action, query: number, failure },
                };
                self.tell(saga, Input::Engine(command));
            }
            News::Unsent { saga, action, attempt } => {
                self.landed(saga, &action, None, |what| what == Sent::Attempt(attempt));
                self.tell(saga, Input::Engine(Command::Withdraw { action, attempt }));
            }
            News::Acknowledged { saga, message } => self.acknowledged(saga, message),
            News::Committed(verdicts) => {
                for (saga, verdict) in verdicts {
                    self.verdict(saga, verdict);
                }
            }
            News::Outdated { saga, refused } => {
                self.mode.committing -= 1;
                self.refuse_start(saga, refused);
            }
            News::StoreReachable { writer, reachable: true } => drop(self.mode.unreachable.remove(&writer)),
            News::StoreReachable { writer, reachable: false } => drop(self.mode.unreachable.insert(writer)),
            News::Postponed { sagas, all } => {
                self.mode.postponed = all;
                sagas.into_iter().for_each(|saga| self.stand_aside(saga));
            }
            News::Dismissed(fault) => {
                tracing::error!(%fault, "the store dismissed this engine; it stops");
                return Some(StopReason::Dismissed(fault));
            }
            News::Broken(reason) => return Some(reason),
            News::Claimed { sagas, mail, more } => {
                let now = self.now();
                let wait = if more { std::time::Duration::ZERO } else { self.limits.claim_every };
                self.sagas.claim_at = Some(now + wait);
                self.sagas.hinted_from = now + HINTED_LOOK_EVERY;
                if std::mem::take(&mut self.sagas.look_again) {
                    self.look_soon();
                }
                for recovered in sagas {
                    self.adopt(recovered);
                }
                self.deliver(mail);
            }
            News::Released => self.sagas.claim_at = self.sagas.claim_at.map(|_| self.now()),
            News::SweepDue => {
                // Of sagas that went on elsewhere nobody here is told when their watchers are gone.
                self.sagas.watchers.retain(|_, watchers| {
                    watchers.retain(|watcher| !watcher.reply.is_closed());
                    !watchers.is_empty()
                });
                let _ = self.outlets.errands.send(Errand::Sweep { after: None });
            }
            News::Owned { sagas, next } => self.owned(sagas, next),
            News::Reclaimed { sagas } => sagas.into_iter().for_each(|recovered| self.adopt(recovered)),
            News::Mail(mail) => self.deliver(mail),
            News::LookedUp { saga, found } => self.looked_up(saga, found),
            News::SetAside { saga, reason } => self.was_set_aside(saga, &reason),
        }
        None
    }

    /// A hint came: sagas are claimed and mail is looked for sooner than it would be time for.
    fn look_soon(&mut self) {
        match self.sagas.claim_at {
            Some(at) => self.sagas.claim_at = Some(at.min(self.sagas.hinted_from.max(self.now()))),
            None => self.sagas.look_again = true,
        }
    }

    /// The permit goes to whoever is next. A flight of a saga that was dropped gave its permit back then.
    fn landed(
        &mut self,
        saga: SagaId,
        action: &ActionId,
        health: Option<Health>,
        is_it: impl Fn(Sent) -> bool,
    ) {
        let Some(active) = self.sagas.active.get_mut(&saga) else { return };
        if let Some(flight) = active.landed(action, is_it) {
            self.mode.flying -= 1;
            let now = self.now();
            if let Some(permit) = flight.permit {
                self.sagas.permits.give_back(permit, health, now);
            }
            self.list_granted();
        }
    }

    /// Those that got a permit are looked at.
    pub(super) fn list_granted(&mut self) {
        self.sagas.permits.granted().into_iter().for_each(|saga| self.list(saga));
    }

    fn request(&mut self, request: Request) {
        match request {
            Request::Posted { saga, mail, told } => {
                if let Some(told) = told {
                    self.sagas.posters.wait(mail, saga, told);
                }
                self.look_for_mail(saga);
            }
            Request::Bring { mail, looked, told } => self.bring(mail, looked, told),
            Request::Watch { saga, until, absent_too, reply } => {
                if absent_too || self.sagas.active.contains_key(&saga) {
                    let watchers = self.sagas.watchers.entry(saga).or_default();
                    watchers.retain(|watcher| !watcher.reply.is_closed());
                    watchers.push(Watcher { until, looks: absent_too, reply });
                    self.tell_standing(saga);
                } else {
                    let _ = reply.send(Watched::NotHere);
                }
            }
            Request::Deferrals { saga, reply } => {
                let _ = reply.send(self.sagas.permits.deferrals(saga, self.now()));
            }
            Request::Drain { until, reply } => {
                self.drain(Draining { until, replies: vec![reply], reason: StopReason::ShutDown });
            }
        }
    }

    /// Of several who want it nobody waits longer than they said, and all are told.
    pub(super) fn drain(&mut self, mut draining: Draining) {
        if let Some(before) = self.mode.draining.take() {
            draining.until = draining.until.min(before.until);
            draining.replies.extend(before.replies);
        }
        self.mode.draining = Some(draining);
        self.inlets.starts.close();
        while let Ok(start) = self.inlets.starts.try_recv() {
            let _ = start.reply.send(Err(SagaStartError::Stopped));
        }
    }

    /// Whoever posted says so. A saga that is not in memory is taken up for its mail; an engine that ends takes
    /// nothing up, and the next start finds the mail.
    pub(super) fn look_for_mail(&mut self, saga: SagaId) {
        if self.sagas.active.contains_key(&saga) {
            let _ = self.outlets.errands.send(Errand::ReadMail(saga));
        } else if self.mode.draining.is_none() {
            let _ = self.outlets.errands.send(Errand::LookUp { saga, mail: true });
        } else {
            self.sagas.posters.not_here(saga);
        }
    }

    /// Mail of a saga that was given up meanwhile is unread still: whoever has it next finds it.
    fn deliver(&mut self, mail: Vec<Mail>) {
        for mail in mail {
            let saga = mail.saga;
            match self.sagas.active.get_mut(&saga).map(|active| active.receive(mail)) {
                Some(true) => self.arrived(saga),
                Some(false) => {}
                None if self.sagas.posters.any_of(saga) => self.look_for_mail(saga),
                None => {}
            }
        }
    }

    fn time(&mut self) {
        let now = self.now();
        while let Some(saga) = self.sagas.timers.due(now) {
            if let Some(active) = self.sagas.active.get_mut(&saga) {
                active.wake = None;
                self.list(saga);
            }
        }
        if self.sagas.permits.wake().is_some_and(|at| at <= now) {
            self.sagas.permits.dispatch(now);
            self.list_granted();
        }
        if self.sagas.claim_at.is_some_and(|at| at <= now) && self.mode.draining.is_none() {
            let free = self.limits.max_active.saturating_sub(self.sagas.active.len());
            let limit = u32::try_from(free.min(ROUND_MAX)).unwrap_or(u32::MAX);
            self.sagas.claim_at = None;
            let _ = self.outlets.errands.send(Errand::Claim { limit });
        } else if self.mode.draining.is_some() {
            self.sagas.claim_at = None;
        }
    }

    fn start(&mut self, request: StartRequest) {
        let StartRequest { definition, key, input, input_digest, asked_at, occurred_at, .. } = request;
        let StartRequest { trigger, trace, tenant, labels, reply, .. } = request;
        let at = self.now();
        if let Some(refused) = self.limits.retention.too_old(occurred_at.unwrap_or(asked_at), at) {
            let _ = reply.send(Err(refused));
            return;
        }
        let saga = SagaId(self.ids.next(at));
        let plan = definition.plan.clone();
        let owner = self.incarnation;
        let first = Start {
            saga,
            key: key.clone(),
            input,
            occurred_at,
            owner,
            trigger,
            trace,
            tenant: tenant.clone(),
        };
        let begun = catch_unwind(AssertUnwindSafe(|| start(&plan, first, at)));
        let (state, events) = match begun {
            Ok(begun) => begun,
            Err(panic) => {
                let reason = panic_text(&*panic);
                let _ = reply.send(Err(SagaStartError::Unstorable(reason)));
                return;
            }
        };
        let row = NewSaga {
            definition: definition.reference.clone(),
            key,
            input_digest,
            occurred_at: state.occurred_at,
            deadline: state.deadline,
            started_at: at,
            tenant,
            labels,
        };
        let mut active = Active::started(definition, state, Draft { at, start: row, events });
        active.effects.starter = Some(Starter { reply, input_digest });
        self.sagas.active.insert(saga, active);
        self.list(saga);
    }

    /// Takes a loaded saga over: nothing else happens before that is durable.
    fn adopt(&mut self, recovered: Recovered) {
        let saga = recovered.state.id;
        if self.sagas.active.contains_key(&saga) {
            return;
        }
        let time = SagaTime::going_on_from(recovered.state.at, self.now());
        if time.ahead() > CLOCK_TOLERANCE {
            tracing::warn!(%saga, ahead = ?time.ahead(), "a clock that was ahead wrote this journal; the saga goes on in its own time");
        }
        let incarnation = self.incarnation;
        let paused = self.sagas.controls.pause_of(&recovered.definition.reference.workflow).is_some();
        let claim =
            if paused { Command::ClaimPaused { incarnation } } else { Command::Claim { incarnation } };
        self.sagas.active.insert(saga, Active::recovered(recovered, claim, time));
        self.list(saga);
    }

    /// What is owned here and not in memory was claimed by a call whose answer was lost. What finds no room is
    /// found again by the next sweep.
    fn owned(&mut self, sagas: Vec<SagaId>, next: Option<SagaId>) {
        if self.mode.draining.is_some() {
            return;
        }
        let room = self.limits.max_active.saturating_sub(self.sagas.active.len());
        let lost = sagas.into_iter().filter(|saga| !self.sagas.active.contains_key(saga));
        let lost: Vec<SagaId> = lost.take(room).collect();
        if !lost.is_empty() {
            tracing::warn!(sagas = lost.len(), "sagas are owned here and not in memory; they are loaded");
            let _ = self.outlets.errands.send(Errand::Reclaim(lost));
        }
        if next.is_some() {
            let _ = self.outlets.errands.send(Errand::Sweep { after: next });
        }
    }

    fn looked_up(&mut self, saga: SagaId, found: LookedUp) {
        match found {
            LookedUp::Mine(recovered, mail) => {
                self.adopt(*recovered);
                self.deliver(mail);
            }
            LookedUp::Ended(state) => {
                self.sagas.posters.not_here(saga);
                self.tell_watchers(saga, *state);
            }
            LookedUp::NotHere => self.sagas.posters.not_here(saga),
        }
    }

    fn was_set_aside(&mut self, saga: SagaId, reason: &str) {
        self.sagas.posters.set_aside(saga, reason);
        for watcher in self.sagas.watchers.remove(&saga).unwrap_or_default() {
            let _ = watcher.reply.send(Watched::SetAside(reason.to_owned()));
        }
    }
}

/// What ended the wait.
enum First {
    News(News),
    Request(Request),
    Start(StartRequest),
    Controls,
    Hint,
    Alarm,
}

/// Returns with the next hint; never, if the store gives none.
async fn hinted(hints: Option<&Hints>) {
    match hints {
        Some(hints) => hints.next().await,
        None => std::future::pending().await,
    }
}
