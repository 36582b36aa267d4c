//! One transition: everything that can be decided about a saga now, in one journal row.
//!
//! What arrived is decided first. Then the agenda is asked and obeyed until nothing more can be done: a point
//! in time is decided, and whatever may start and has a permit is journalled as started. So the result of one
//! step and the intent of the next are one row, and a chain of four steps costs five commits.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use amends_core::agenda::{Lane, Task, Wake, tasks, tasks_of_paused};
use amends_core::event::{Answer, Failure, FailureKind};
use amends_core::machine::{Command, advance};
use amends_core::{ActionId, JournalEvent, Json, Rejected, Timestamp};

use super::active::{Active, By, Effects, Input, Send, Sent};
use super::admission::{Admission, Kind, Request};
use super::announce::{self, Notice};
use super::command;
use super::invoke::{attempt_timeout, forward_outcome};
use super::mail::Question;
use super::rows::DeskChange;
use super::told::{Audience, Moved};
use crate::authoring::{InputProblem, Outgoing, Prepared, Transmission, Values, evaluate};
use crate::letter;
use crate::ports::{
    CLOCK_TOLERANCE, Commit, ConsumedMail, ItemChange, JournalRow, Mail, MailKind, OutboxKind, OutboxRow,
    Release, SagaChange, message_id,
};

/// What a transition is decided with.
pub(super) struct Bench<'a> {
    pub(super) permits: &'a mut Admission,
    /// What this node's clock shows: permits go by it.
    pub(super) now: Timestamp,
    /// The id of the transition, if there will be one.
    pub(super) transition: &'a dyn Fn(Timestamp) -> amends_core::TransitionId,
    /// Nothing new begins any more.
    pub(super) draining: bool,
    /// The saga's workflow is paused: no attempt begins, and no deadline is decided.
    pub(super) paused: bool,
    /// An idle saga whose next time is not before this is given up.
    pub(super) release_after: Option<Timestamp>,
    pub(super) audience: &'a Audience,
}

/// The rounds of asking the agenda that no healthy plan needs: each round begins or decides something.
const ROUNDS_MAX: usize = 10_000;

/// Decides all that can be decided now. The commit, if anything was decided; the effects stay in `active`.
///
/// # Panics
/// When the machine or the author's code does. The caller sets the saga aside.
pub(super) fn decide_all(active: &mut Active, bench: &mut Bench<'_>) -> Option<Commit> {
    let mut decided = Decided::begin(active, bench.now);
    decided.take_inbox(active);
    let asked = decided.follow_agenda(active, bench);
    let saga = active.state.id;
    bench.permits.keep_only(saga, &decided.waiting, bench.now);
    active.effects.stops = mem::take(&mut decided.stops);
    let Decided { at, start, events, actor, mail, mut outbox, .. } = decided;
    let due = asked.wake.as_ref().map(|wake| active.time.on_node(later(wake, at)));
    active.wake = due.into_iter().chain(active.awaited_until()).min();
    let release = idle_until(active, &asked, bench);
    if events.is_empty() && mail.is_empty() && release.is_none() {
        return None;
    }
    active.seq += 1;
    active.state.at = active.state.at.max(at); // a row without facts counts for time all the same
    let plan = active.definition.plan.clone();
    let DeskChange { changes: items, entered } = active.shown.desk(&plan, &active.state);
    let moved = Moved {
        plan: &plan,
        state: &active.state,
        seq: active.seq,
        at,
        events: &events,
        was: active.shown.phase,
        entered: &entered,
        left: items.iter().filter_map(ItemChange::removed).collect(),
    };
    bench.audience.tell(&moved, &mut outbox);
    active.effects.messages.extend(outbox.iter().map(|row| row.kind));
    active.effects.messages.dedup();
    if !bench.audience.notices {
        active.effects.notices.extend(entered.into_iter().map(|item| Notice::Desk(Box::new(item))));
    }
    announce::failures(&mut active.effects.notices, &plan, &events);
    let journal = JournalRow {
        seq: active.seq,
        at,
        actor: actor.unwrap_or_else(|| Arc::from("engine")),
        transition: (bench.transition)(at),
        events: serde_json::to_string(&events).expect("events have string keys only, so they encode"),
    };
    let change = active.shown.change(&plan, &active.state, release);
    active.released = change.as_ref().is_some_and(SagaChange::gives_up);
    active.effects.answered = mail.iter().map(|mail| (mail.id, mail.answer.clone())).collect();
    let commit = Commit {
        saga,
        change,
        items,
        compensations: active.shown.compensations(&plan, &active.state, &events, at),
        mail,
        outbox,
        start,
        journal,
    };
    active.committing = true;
    Some(commit)
}

/// What the agenda says once nothing more can be done.
struct Asked {
    /// Nothing waits for a permit, and nothing under way is asked to stop.
    idle: bool,
    /// Nothing but permits is waited for.
    deferred: bool,
    wake: Option<Wake>,
}

/// What was decided so far.
struct Decided {
    at: Timestamp,
    start: Option<crate::ports::NewSaga>,
    events: Vec<JournalEvent>,
    actor: Option<Arc<str>>,
    /// Mail that is decided, with the answers.
    mail: Vec<ConsumedMail>,
    /// Messages to participants.
    outbox: Vec<OutboxRow>,
    stops: Vec<ActionId>,
    /// Actions that may start and have no permit.
    waiting: Vec<ActionId>,
}

impl Decided {
    /// All of one transition is decided at one time, which is never before the transition before it.
    fn begin(active: &mut Active, now: Timestamp) -> Self {
        let (at, start, events) = match active.draft.take() {
            Some(draft) => (draft.at, Some(draft.start), draft.events),
            None => (active.time.at(now).max(active.state.at), None, Vec::new()),
        };
        Self {
            at,
            start,
            events,
            actor: None,
            mail: Vec::new(),
            outbox: Vec::new(),
            stops: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// Decides a command; says whether it changed anything.
    fn decide(&mut self, active: &mut Active, command: Command) -> Result<bool, Rejected> {
        let events = advance(&active.definition.plan, &mut active.state, command, self.at)?;
        let moved = !events.is_empty();
        if self.events.is_empty() {
            self.events = events;
        } else {
            self.events.extend(events);
        }
        Ok(moved)
    }

    /// Decides what arrived. A row has one actor: what a second person asks waits for the next row.
    fn take_inbox(&mut self, active: &mut Active) {
        while let Some(input) = active.inbox.pop_front() {
            match input {
                Input::Engine(command) => {
                    if let Err(rejected) = self.decide(active, command) {
                        tracing::debug!(saga = %active.state.id, %rejected, "an answer came too late to change anything");
                    }
                }
                Input::Mail(mail) => {
                    let person = mail.kind == MailKind::Operator;
                    if person && self.actor.as_ref().is_some_and(|actor| *actor != mail.actor) {
                        active.inbox.push_front(Input::Mail(mail));
                        active.again = true;
                        return;
                    }
                    let answer = letter::spell(&self.open(active, &mail));
                    self.mail.push(ConsumedMail { id: mail.id, answer, brought: None });
                    if person {
                        self.actor = Some(mail.actor);
                    }
                }
                Input::Brought(mail) => {
                    let answer = letter::spell(&self.open(active, &mail));
                    self.mail.push(ConsumedMail { id: mail.id, answer, brought: Some(mail) });
                }
            }
        }
    }

    /// Decides a mail. It is answered whatever it says, so that it is never read for nothing again and again.
    fn open(&mut self, active: &mut Active, mail: &Mail) -> Answer {
        let question = match Question::of(active, mail) {
            Ok(question) => question,
            Err(reason) => return Answer::Refused { reason },
        };
        let (command, operation) = question.into_parts();
        active.hear(&command);
        let decided = self.decide(active, command).map(drop);
        Question::answer(operation, decided, &active.state)
    }

    /// Asks the agenda and does what it says, until it says nothing more.
    fn follow_agenda(&mut self, active: &mut Active, bench: &mut Bench<'_>) -> Asked {
        for _ in 0..ROUNDS_MAX {
            let ask = if bench.paused { tasks_of_paused } else { tasks };
            let (tasks, wake) = ask(&active.definition.plan, &active.state, self.at);
            self.stops.clear();
            self.waiting.clear();
            let mut moved = false;
            for task in &tasks {
                moved |= self.obey(active, bench, task);
            }
            if !moved {
                let (idle, waiting) = (tasks.is_empty(), self.waiting.len());
                return Asked { idle, deferred: !idle && tasks.len() == waiting, wake };
            }
        }
        panic!("the agenda of saga {} asks for more after {ROUNDS_MAX} rounds", active.state.id);
    }

    fn obey(&mut self, active: &mut Active, bench: &mut Bench<'_>, task: &Task) -> bool {
        match task {
            Task::Tick => self.decide(active, Command::Tick).unwrap_or(false),
            Task::Decide { branch } => {
                let command = match condition(active, branch) {
                    Ok(taken) => Command::DecideBranch { branch: branch.clone(), taken },
                    Err(InputProblem { reason }) => {
                        let message = format!("evaluate the condition of branch `{branch}`: {reason}");
                        let failure = input_failure(message, "condition");
                        Command::ConditionFailed { branch: branch.clone(), failure }
                    }
                };
                self.decide(active, command).unwrap_or(false)
            }
            Task::Stop { action } => {
                self.stops.push(action.clone());
                false
            }
            Task::Start { .. } | Task::Query { .. } if bench.draining => false,
            Task::Start { action, attempt, lane, deadline } => {
                let kind = kind(active, action, *attempt);
                self.send(active, bench, action, Sent::Attempt(*attempt), (*lane, kind, *deadline))
            }
            Task::Query { action, query, fence_through } => {
                let what = Sent::Query { query: *query, fence_through: *fence_through };
                self.send(active, bench, action, what, (Lane::Reconciliation, Kind::Query, None))
            }
        }
    }

    /// Takes a permit, builds the input, journals the intent. Says whether anything was decided.
    fn send(
        &mut self,
        active: &mut Active,
        bench: &mut Bench<'_>,
        action: &ActionId,
        what: Sent,
        (lane, kind, deadline): (Lane, Kind, Option<Timestamp>),
    ) -> bool {
        let plan = &active.definition.plan;
        let step = plan.find(&action.step).map(|ix| plan.step(ix));
        let dependency = step.and_then(|step| step.contract.dependency.as_deref());
        let (saga, workflow, tenant) = (active.state.id, &plan.workflow, active.state.tenant.as_ref());
        let deadline = deadline.map(|at| active.time.on_node(at));
        let request = Request { saga, action, workflow, tenant, dependency, lane, kind, deadline };
        let permit = bench.permits.take(&request, bench.now);
        if permit.is_none() {
            self.waiting.push(action.clone());
            return false;
        }
        active.in_hand = permit;
        let prepared = match what {
            Sent::Attempt(attempt) => Ready::attempt(active, action, attempt, self.at),
            Sent::Query { .. } => Ready::query(active, action),
        };
        if let Ok(Ready { message: Some(message), .. }) = &prepared
            && !command::fits(&self.outbox, message)
        {
            active.again = true;
            give_back(active, bench);
            return false;
        }
        let moved = match (prepared, what) {
            (Ok(Ready { input, expected, message }), Sent::Attempt(_)) => {
                let begin = Command::Begin { action: action.clone(), input: input.shaped.clone(), expected };
                let began = self.decide(active, begin).unwrap_or(false);
                let by = match message.filter(|_| began) {
                    Some(message) => self.post(active, message),
                    None => By::Call(input),
                };
                return self.keep_or_give_back(active, bench, began, action, what, by);
            }
            (Ok(Ready { input, .. }), Sent::Query { .. }) => {
                let began =
                    self.decide(active, Command::BeginQuery { action: action.clone() }).unwrap_or(false);
                return self.keep_or_give_back(active, bench, began, action, what, By::Call(input));
            }
            (Err(problem), Sent::Attempt(_)) => {
                let failure = input_failure(problem.to_string(), "input");
                self.decide(active, Command::InputFailed { action: action.clone(), failure }).unwrap_or(false)
            }
            (Err(problem), Sent::Query { query, .. }) => {
                let failure = input_failure(problem.to_string(), "input");
                let began =
                    self.decide(active, Command::BeginQuery { action: action.clone() }).unwrap_or(false);
                let failed = Command::QueryFailed { action: action.clone(), query, failure };
                began && self.decide(active, failed).unwrap_or(false)
            }
        };
        give_back(active, bench);
        moved
    }

    /// Has a message leave with the transition that is being decided.
    fn post(&mut self, active: &Active, message: Outgoing) -> By {
        let number = u16::try_from(self.outbox.len()).expect("a saga has fewer actions than that");
        let headers: BTreeMap<&str, String> = message.headers.into_iter().collect();
        let id = message_id(active.state.id, active.seq + 1, number);
        self.outbox.push(OutboxRow {
            id,
            kind: OutboxKind::Command,
            subject: message.subject,
            headers: serde_json::to_string(&headers).expect("texts are always JSON"),
            body: message.body,
        });
        By::Message(id)
    }

    fn keep_or_give_back(
        &mut self,
        active: &mut Active,
        bench: &mut Bench<'_>,
        began: bool,
        action: &ActionId,
        what: Sent,
        by: By,
    ) -> bool {
        match active.in_hand.take_if(|_| began) {
            permit @ Some(_) => active.effects.sends.push(Send { action: action.clone(), what, permit, by }),
            None => give_back(active, bench),
        }
        began
    }
}

fn give_back(active: &mut Active, bench: &mut Bench<'_>) {
    if let Some(permit) = active.in_hand.take() {
        bench.permits.give_back(permit, None, bench.now);
    }
}

/// How an attempt stands to the retry budget.
fn kind(active: &Active, action: &ActionId, attempt: u32) -> Kind {
    let is_ordered = || active.state.action(&active.definition.plan, action).is_some_and(|a| a.ordered);
    match attempt {
        1 => Kind::First,
        _ if is_ordered() => Kind::Ordered,
        _ => Kind::Further,
    }
}

/// What is sent, before it is written down.
struct Ready {
    input: Prepared,
    expected: Option<Json>,
    /// The message that it is, if it is one.
    message: Option<Outgoing>,
}

impl Ready {
    fn query(active: &Active, action: &ActionId) -> Result<Self, InputProblem> {
        Ok(Self { input: prepare(active, action)?, expected: None, message: None })
    }

    fn attempt(
        active: &Active,
        action: &ActionId,
        attempt: u32,
        at: Timestamp,
    ) -> Result<Self, InputProblem> {
        let (input, first) = (prepare(active, action)?, expected(active, action)?);
        let (plan, state) = (&active.definition.plan, &active.state);
        let ix = plan.find(&action.step).expect("the agenda names actions of its own plan");
        let forward = (!action.is_forward()).then(|| forward_outcome(&state.step(ix).forward));
        let of = Transmission {
            saga: state.id,
            key: state.key.clone(),
            workflow: plan.workflow.clone(),
            action: action.clone(),
            request_id: action.request_id(state.id),
            forward_request_id: ActionId::forward(action.step.clone()).request_id(state.id),
            attempt,
            deadline: at + attempt_timeout(plan.step(ix), action),
            expected: first.clone().or_else(|| state.action(plan, action)?.expected.clone()),
            trace: state.trace.clone(),
        };
        let message = active.definition.nodes[ix.0].command(&of, &input, forward)?;
        let message = message.map(command::sendable).transpose()?;
        Ok(Self { input, expected: first, message })
    }
}

/// Builds the typed input.
fn prepare(active: &Active, action: &ActionId) -> Result<Prepared, InputProblem> {
    let plan = &active.definition.plan;
    let ix = plan.find(&action.step).expect("the agenda names actions of its own plan");
    let values = Values { plan, state: &active.state };
    active.definition.nodes[ix.0].prepare(values, active.state.step(ix).shaped.as_ref())
}

/// What the author says that a compensation expects to find: asked once, and then recorded.
fn expected(active: &Active, action: &ActionId) -> Result<Option<Json>, InputProblem> {
    let plan = &active.definition.plan;
    let ix = plan.find(&action.step).expect("the agenda names actions of its own plan");
    match active.state.action(plan, action) {
        Some(undo) if undo.may_yet_expect(action) => {
            active.definition.nodes[ix.0].expected(forward_outcome(&active.state.step(ix).forward))
        }
        _ => Ok(None),
    }
}

/// Evaluates the author's condition.
fn condition(active: &Active, branch: &str) -> Result<bool, InputProblem> {
    let plan = &active.definition.plan;
    let ix = plan.find_branch(branch).expect("the agenda names branches of its own plan");
    evaluate(&active.definition.conditions[ix.0], Values { plan, state: &active.state })
}

fn input_failure(message: String, code: &str) -> Failure {
    Failure {
        kind: FailureKind::Persistent,
        code: code.to_owned(),
        message,
        rule: code.to_owned(),
        classifier: "engine/1".to_owned(),
        hint: None,
    }
}

/// When to look again. A time that has passed although nothing was left to do cannot be right; looking again
/// a second later keeps such a saga visible without spinning.
fn later(wake: &Wake, at: Timestamp) -> Timestamp {
    if wake.at > at {
        return wake.at;
    }
    tracing::error!(why = ?wake.why, "a time has come and the agenda has nothing to do");
    at + std::time::Duration::from_secs(1)
}

/// Gives an idle saga up in this very commit: if memory is scarce and it will sleep long, or a dependency holds it
/// up; or if it has ended and nothing of it moves by itself any more. A saga that is ahead of this node's clock stays
/// ahead: given up, it sleeps until clocks show its own time, and whoever takes it up before finds it where it was.
fn idle_until(active: &Active, asked: &Asked, bench: &Bench<'_>) -> Option<Release> {
    let Effects { sends, .. } = &active.effects;
    let busy = !sends.is_empty() || !active.flights.is_empty() || !active.inbox.is_empty();
    if busy {
        return None;
    }
    if asked.deferred {
        return held_up_until(active, asked, bench);
    }
    if !asked.idle {
        return None;
    }
    if bench.paused && goes_on_unpaused(active, active.time.at(bench.now)) {
        // Nobody wakes it when the workflow is unpaused, so it comes back to look.
        return bench
            .release_after
            .map(|after| Release { wake_at: Some(after.max(bench.now + HELD_UP_MIN)) });
    }
    if active.state.phase.is_ended() && asked.wake.is_none() {
        return Some(Release { wake_at: None });
    }
    let stays = if active.time.ahead() > CLOCK_TOLERANCE { STAYS_AHEAD } else { Duration::ZERO };
    let after = active.time.at(bench.release_after?.max(bench.now + stays));
    match &asked.wake {
        Some(wake) if wake.at < after => None,
        wake => Some(Release { wake_at: wake.as_ref().map(|wake| wake.at) }),
    }
}

/// The time of a saga that is ahead passes in memory only. What it waits for no longer than this it waits for there, or
/// a clock that was wrong would hold up its retries for as long as it was wrong.
const STAYS_AHEAD: Duration = Duration::from_secs(600);

/// Would anything of it begin, or be decided, if its workflow were not paused?
fn goes_on_unpaused(active: &Active, now: Timestamp) -> bool {
    let (tasks, wake) = tasks(&active.definition.plan, &active.state, now.max(active.state.at));
    !tasks.is_empty() || wake.is_some()
}

/// What a dependency holds up leaves memory to sagas that need other ones, and comes back after a while: without
/// its place, to whoever then has the earliest deadline.
fn held_up_until(active: &Active, asked: &Asked, bench: &Bench<'_>) -> Option<Release> {
    let after = bench.release_after?.max(bench.now + HELD_UP_MIN);
    let deadline_is_near = asked.wake.as_ref().is_some_and(|wake| wake.at < active.time.at(after));
    let may_leave = !deadline_is_near && !active.state.phase.is_ended();
    let leaves = may_leave && bench.permits.is_held_up(active.state.id, bench.now);
    leaves.then_some(Release { wake_at: Some(after) })
}

/// Each return costs a row: not more often than this.
const HELD_UP_MIN: Duration = Duration::from_secs(1);
