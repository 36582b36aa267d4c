//! The invariants of ARCHITECTURE.md that one saga can keep or break, told from the journal and the plan: what the
//! machine believes of itself is not asked where the facts can be.
//!
//! I1 no second transmission while an earlier one may have an effect, except a declared repeat · I2 a
//! compensated saga undid everything once, in reverse · I3 a completed saga did everything and undid nothing ·
//! I4 nothing is undone that never was, nothing begins after its compensation · I5 budgets, delays, deadlines ·
//! A branch is decided once, and what stands in it begins on the side taken and not before ·
//! I6 no gaps, times never decrease · I7 no limbo. And the agenda is honest: what it asks for can be done.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use amends_core::agenda::{Agenda, Task, Wait, desk};
use amends_core::event::{
    Because, Failure, FailureKind, Finding, JournalEvent, Next, Recorded, StartCause, Transition,
};
use amends_core::machine::Command;
use amends_core::plan::policy::upper;
use amends_core::plan::{InDoubt, RetryPolicy, SagaPlan, Settle, Side, StepKind, StepPlan};
use amends_core::state::{Phase, Stage};
use amends_core::{ActionId, Direction, SagaState, StepIx, Timestamp, agenda, apply, decide};

pub(crate) type Held = Result<(), String>;

fn law(holds: bool, broken: impl FnOnce() -> String) -> Held {
    if holds { Ok(()) } else { Err(broken()) }
}

/// Every law, after a transition that led from `before` to `after`.
pub(crate) fn hold(
    plan: &SagaPlan,
    before: &SagaState,
    after: &SagaState,
    journal: &[Transition],
    now: Timestamp,
) -> Held {
    gapless(journal)?;
    let mut ledger = Ledger::default();
    for transition in journal {
        for event in &transition.events {
            ledger.enter(plan, transition.at, event)?;
        }
    }
    ledger.ends(plan, after)?;
    if let Some(last) = journal.last() {
        begun_in_time(plan, before, last.at, &last.events)?;
    }
    ends_once(before, after)?;
    stands(plan, after, now)
}

/// The laws that can be told from the state alone.
pub(crate) fn stands(plan: &SagaPlan, state: &SagaState, now: Timestamp) -> Held {
    let answered = state.wishes.is_empty() || (state.turned.is_none() && state.pivot_in_doubt(plan));
    law(answered, || "a wish is left without its answer".into())?;
    kept_while_they_mean_something(plan, state)?;
    no_limbo(plan, state, now)?;
    honest(plan, state, now)
}

/// An outcome, once recorded, does not change, nor when it was.
pub(crate) fn ends_once(before: &SagaState, after: &SagaState) -> Held {
    let ended = match (before.phase.is_ended(), after.phase.is_ended()) {
        (true, _) => (before.phase, before.ended_at) == (after.phase, after.ended_at),
        (false, true) => after.ended_at == Some(after.at),
        (false, false) => after.ended_at.is_none(),
    };
    law(ended, || format!("the saga is {:?} since {:?}", after.phase, after.ended_at))
}

/// What is planned, asked and explained of an action goes with the stage that it belongs to.
fn kept_while_they_mean_something(plan: &SagaPlan, state: &SagaState) -> Held {
    for (id, a) in state.actions(plan) {
        let of = |field: &str, there: bool, stage: Stage| {
            law(!there || a.stage == stage, || format!("{id} is {} and has {field}", a.stage.name()))
        };
        of("a time to be retried at", a.retry_at.is_some(), Stage::RetryScheduled)?;
        of("a reason of its quarantine", a.quarantine.is_some(), Stage::Quarantined)?;
        of("a plan to settle it", a.settling.is_some(), Stage::Reconciling)?;
        of("a transmission that is unknown", !a.unknown.is_empty(), Stage::Reconciling)?;
    }
    Ok(())
}

/// I6.
fn gapless(journal: &[Transition]) -> Held {
    for (seq, transition) in (1..).zip(journal) {
        law(transition.seq == seq, || format!("I6: sequence {seq} is missing"))?;
    }
    let ordered = journal.windows(2).all(|two| two[0].at <= two[1].at);
    law(ordered, || "I6: time went back".into())
}

/// What the facts say of one action.
#[derive(Clone, Default)]
struct Account {
    running: Option<u32>,
    unknown: BTreeSet<u32>,
    /// Known to have taken effect, and when in the order of facts.
    applied: Option<usize>,
    /// When that was first believed: news may contradict it later.
    first_applied: Option<usize>,
    nothing: bool,
    /// It stands QUARANTINED with a partial effect.
    partial: bool,
    /// News contradicts it.
    disputed: bool,
    /// Sending it again was ordered.
    ordered: bool,
    order_spent: bool,
    /// Attempts that were ordered, beside those of the budget.
    orders: u32,
    doubt_ordered: bool,
    waived: bool,
    begun: Option<usize>,
    of_budget: u32,
    granted: Option<u32>,
    /// Queries asked to close out the attempts up to this one.
    asked_to_fence: u32,
}

/// What the facts of a journal say, as far as it was read.
#[derive(Clone, Default)]
pub(crate) struct Ledger {
    accounts: BTreeMap<ActionId, Account>,
    facts: usize,
    turned: bool,
    wishes: u32,
    ended: bool,
    pivot_done: bool,
    completed: bool,
    compensated: bool,
    /// The branches that were decided.
    sides: BTreeMap<String, bool>,
}

impl Ledger {
    fn of(&mut self, action: &ActionId) -> &mut Account {
        self.accounts.entry(action.clone()).or_default()
    }

    /// Reads the next fact.
    ///
    /// # Errors
    /// When it breaks a law.
    pub(crate) fn enter(&mut self, plan: &SagaPlan, at: Timestamp, event: &JournalEvent) -> Held {
        self.facts += 1;
        law(!self.ended || !moves_forward(event), || format!("an ended saga moved: {event:?}"))?;
        match event {
            // What is found about a dispute is judged by the fact that settles it.
            JournalEvent::QueryAnswered { action, .. }
            | JournalEvent::QueryFailed { action, .. }
            | JournalEvent::FoundByPerson { action, .. }
            | JournalEvent::AcceptedByPerson { action, .. }
                if self.of(action).disputed => {}
            JournalEvent::Claimed { .. } => self.orphan(plan),
            JournalEvent::BranchDecided { branch, taken } => {
                law(!self.turned, || format!("the branch {branch} was decided after the turn"))?;
                let before = self.sides.insert(branch.clone(), *taken);
                law(before.is_none(), || format!("the branch {branch} was decided twice"))?;
            }
            JournalEvent::TurnedBack { .. } => {
                law(!self.turned, || "the saga turned back twice".into())?;
                law(!self.pivot_done, || "the saga turned back after its pivot".into())?;
                self.turned = true;
            }
            JournalEvent::WishRecorded { .. } => self.wishes += 1,
            JournalEvent::Answered { verb: amends_core::event::Verb::Cancel, answer, .. } => {
                let turned = match answer {
                    amends_core::event::Answer::Accepted | amends_core::event::Answer::Already => true,
                    amends_core::event::Answer::TooLate => false,
                    _ => return Ok(()),
                };
                law(turned == self.turned, || format!("cancel was answered {answer:?}"))?;
            }
            JournalEvent::Completed {} => (self.completed, self.ended) = (true, true),
            JournalEvent::Compensated {} => (self.compensated, self.ended) = (true, true),
            JournalEvent::Started { action, attempt, cause, .. } => {
                self.started(plan, action, *attempt, *cause)?;
            }
            JournalEvent::Withdrawn { action, .. } => {
                let account = self.of(action);
                account.running = None;
                if std::mem::take(&mut account.order_spent) {
                    account.ordered = true;
                    account.orders -= 1;
                } else {
                    account.of_budget -= 1;
                }
            }
            JournalEvent::Succeeded { action, attempt, output } => {
                if let Some(attempt) = attempt {
                    self.of(action).answered(*attempt);
                }
                self.applied(plan, action, nothing(output));
            }
            JournalEvent::AcceptedByPerson { action, output, .. } => {
                let nothing = output.as_ref().is_some_and(|output| output.text() == "\"NothingToUndo\"");
                self.applied(plan, action, nothing);
            }
            JournalEvent::Failed { action, attempt, next, failure } => {
                self.of(action).answered(*attempt);
                self.delay(plan, at, action, next, failure.hint)?;
                self.follow(action, next)?;
            }
            JournalEvent::Refused { action, attempt, next, .. } => {
                if let Some(attempt) = attempt {
                    self.of(action).answered(*attempt);
                }
                self.follow(action, next)?;
            }
            JournalEvent::FencedOut { action, attempt, through, next } => {
                let own = self.of(action).asked_to_fence >= *attempt.max(through);
                let by_others = *next == Next::Quarantine { because: Because::Fenced };
                let may = matches!(next, Next::Retry { .. } | Next::TurnBack { .. });
                law(if own { !by_others } else { !may }, || {
                    format!("{action}#{attempt} is closed out through {through} by whom? {next:?}")
                })?;
                self.of(action).answered(*attempt);
                self.delay(plan, at, action, next, None)?;
                self.follow(action, next)?;
            }
            JournalEvent::QueryStarted { action, fence_through: Some(through), .. } => {
                let account = self.of(action);
                account.asked_to_fence = account.asked_to_fence.max(*through);
            }
            JournalEvent::WentStale { action, attempt, .. } => {
                self.of(action).answered(*attempt);
                self.follow(action, &Next::Quarantine { because: Because::Stale })?;
            }
            JournalEvent::Mismatched { action, attempt, .. } => {
                let account = self.of(action);
                account.answered(*attempt);
                account.unknown.insert(*attempt);
            }
            JournalEvent::PartlyApplied { action, attempt, next, .. } => {
                let running = attempt.is_none_or(|attempt| self.of(action).running == Some(attempt));
                self.partly(plan, action, next, running);
            }
            JournalEvent::QueryAnswered { action, finding: Finding::Partial(_), next, .. }
            | JournalEvent::FoundByPerson { action, finding: Finding::Partial(_), next, .. }
                if matches!(next, Next::Done | Next::Quarantine { .. }) =>
            {
                self.partly(plan, action, next, true);
            }
            JournalEvent::FoundByPerson { action, next, .. } => {
                if *next != Next::Stay {
                    self.of(action).unknown.clear();
                    self.of(action).partial = false;
                }
                self.delay(plan, at, action, next, None)?;
                self.follow(action, next)?;
            }
            JournalEvent::SendAgainOrdered { action, .. } => self.of(action).ordered = true,
            JournalEvent::NewsRecorded(news) => {
                if let Some(attempt) = news.attempt.filter(|n| self.of(&news.action).running == Some(*n)) {
                    self.of(&news.action).answered(attempt);
                }
            }
            JournalEvent::Disputed(news) => {
                let account = self.of(&news.action);
                account.disputed = true;
                if let Some(attempt) = news.attempt {
                    account.answered(attempt);
                }
            }
            JournalEvent::DisputeSettled { action, finding } => self.settled(plan, action, finding),
            JournalEvent::InDoubtCompensationOrdered { action, .. } => self.of(action).doubt_ordered = true,
            JournalEvent::Waived { action, .. } => self.of(action).waived = true,
            JournalEvent::RequestDecided { request, approved: true, .. } => {
                if let Ok(action) = request.parse::<ActionId>() {
                    (self.of(&action).of_budget, self.of(&action).orders) = (0, 0);
                    self.of(&action).granted = None;
                }
            }
            JournalEvent::Accepted { action, attempt, next, .. }
            | JournalEvent::BecameUnknown { action, attempt, next, .. } => {
                let account = self.of(action);
                account.answered(*attempt);
                account.unknown.insert(*attempt);
                self.follow(action, next)?;
            }
            JournalEvent::QueryAnswered { action, finding: Finding::Applied(output), .. } => {
                self.applied(plan, action, nothing(output));
            }
            JournalEvent::QueryAnswered { action, next, .. } => {
                let open = Next::Stay;
                if !matches!(next, Next::Query { .. } | Next::Repeat { .. } | Next::Desk { .. })
                    && *next != open
                {
                    self.of(action).unknown.clear();
                }
                self.delay(plan, at, action, next, None)?;
                self.follow(action, next)?;
            }
            JournalEvent::QueryFailed { action, next, .. } | JournalEvent::Planned { action, next, .. } => {
                self.follow(action, next)?;
            }
            JournalEvent::Resumed { action, attempts, .. } => {
                let account = self.of(action);
                law(!account.partial, || format!("I1: {action} was resumed with a partial effect"))?;
                (account.of_budget, account.orders, account.granted) = (0, 0, Some(*attempts));
            }
            _ => {}
        }
        Ok(())
    }

    fn orphan(&mut self, plan: &SagaPlan) {
        for (action, account) in &mut self.accounts {
            account.order_spent = false;
            if let Some(running) = account.running.take()
                && !is_read(plan, action)
                && account.applied.is_none()
            {
                account.unknown.insert(running);
            }
        }
    }

    fn started(&mut self, plan: &SagaPlan, id: &ActionId, attempt: u32, cause: StartCause) -> Held {
        let (turned, wished, facts) = (self.turned, self.wishes > 0, self.facts);
        let forward = self.accounts.get(&ActionId::forward(id.step.clone()));
        let (applied, doubted) =
            forward.map_or((false, false), |a| (a.applied.is_some(), !a.unknown.is_empty()));
        let running = forward.is_some_and(|a| a.running.is_some());
        let ordered_in_doubt = forward.is_some_and(|a| a.doubt_ordered);
        let manual = matches!(id.direction, Direction::Manual(_));
        let late = self.compensated;
        let undo_begun =
            self.accounts.get(&ActionId::compensation(id.step.clone())).is_some_and(|a| a.begun.is_some());
        let step = step_of(plan, id);
        let on_its_side = |side: Side| self.sides.get(&*plan.branch(side.branch).name) == Some(&side.taken);
        let ix = plan.find(&id.step).expect("journals name steps of their plan");
        law(!id.is_forward() || plan.sides_around(ix).all(on_its_side), || {
            format!("{id} began before its branch was decided, or on the side not taken")
        })?;
        if id.is_forward() {
            law(!undo_begun, || format!("I4: {id} began after its compensation"))?;
            law(!self.ended, || format!("{id} began after the end"))?;
            let settles = matches!(cause, StartCause::Repeat | StartCause::Ordered);
            law(settles || !(turned || wished), || {
                format!("I5: {id} began after the turn, or under a wish")
            })?;
        } else {
            law(turned || manual, || format!("I4: {id} began before the turn"))?;
            law(!running, || format!("I4: {id} overlaps an attempt of its step"))?;
            let fences = ordered_in_doubt || step.undo.is_some_and(|undo| undo.in_doubt == InDoubt::Fence);
            law(applied || (doubted && fences) || manual, || format!("I4: {id} undoes what never was"))?;
            law(!self.ended || late || manual, || format!("{id} began after the end"))?;
        }
        let max = retry_of(step, id).max_attempts;
        let repeats = settle_of(step, id) == Settle::ByRepeating;
        let account = self.of(id);
        law(account.running.is_none(), || format!("I1: {id} runs twice at once"))?;
        law(!account.disputed && !account.partial, || format!("I1: {id} began with an effect"))?;
        let ordered = std::mem::take(&mut account.ordered);
        if cause == StartCause::Ordered && ordered {
            account.order_spent = true; // The order grants it.
            account.orders += 1;
        } else if cause == StartCause::Repeat {
            law(repeats && !account.unknown.is_empty(), || {
                format!("I1: {id}#{attempt} is no declared repeat")
            })?;
        } else {
            law(account.unknown.is_empty(), || format!("I1: {id}#{attempt} began in doubt"))?;
        }
        account.running = Some(attempt);
        account.begun.get_or_insert(facts);
        account.of_budget += u32::from(!account.order_spent);
        let granted = account.granted.unwrap_or(max);
        law(account.of_budget <= granted, || format!("I5: {id}#{attempt} is beyond its budget"))
    }

    fn applied(&mut self, plan: &SagaPlan, id: &ActionId, nothing: bool) {
        let facts = self.facts;
        if plan.pivot.is_some_and(|pivot| id.is_forward() && plan.step(pivot).name == id.step) {
            self.pivot_done = true;
            self.wishes = 0;
        }
        let account = self.of(id);
        account.unknown.clear();
        account.partial = false;
        account.nothing = nothing;
        account.applied.get_or_insert(facts);
        account.first_applied.get_or_insert(facts);
        if id.direction == Direction::Compensation {
            // A compensation that ran in doubt settles its forward action.
            let forward = self.of(&ActionId::forward(id.step.clone()));
            if !nothing && !forward.unknown.is_empty() {
                forward.applied.get_or_insert(facts);
            }
            forward.unknown.clear();
        }
    }

    /// A partial effect: undone like a whole one, or held for a person.
    fn partly(&mut self, plan: &SagaPlan, id: &ActionId, next: &Next, ended: bool) {
        if ended {
            self.of(id).running = None;
        }
        if *next == Next::Done {
            self.applied(plan, id, false);
        } else {
            let account = self.of(id);
            account.unknown.clear();
            account.partial = true;
        }
    }

    fn settled(&mut self, plan: &SagaPlan, id: &ActionId, finding: &Finding) {
        self.of(id).disputed = false;
        match finding {
            Finding::Applied(_) | Finding::Partial(_) => self.applied(plan, id, false),
            _ => {
                let stands = self.ended && id.is_forward() && self.completed;
                let account = self.of(id);
                if stands {
                    return; // What an ended saga did is known better, and stays done.
                }
                account.applied = None;
            }
        }
    }

    /// A decision that takes the action for free of effects is made when nothing is in doubt.
    fn follow(&mut self, id: &ActionId, next: &Next) -> Held {
        let account = self.of(id);
        let open = !account.unknown.is_empty();
        match next {
            Next::Retry { .. } | Next::Quarantine { .. } | Next::TurnBack { .. } | Next::Skip { .. } => {
                law(!open, || format!("I1: {id} was taken for free of effects, in doubt: {next:?}"))
            }
            Next::Reject => {
                account.unknown.clear();
                Ok(())
            }
            Next::Query { .. } | Next::Repeat { .. } | Next::Desk { .. } => {
                law(open, || format!("{id} is settled though nothing is unknown: {next:?}"))
            }
            Next::Done | Next::Stay => Ok(()),
        }
    }

    /// I5: every delay within its bound.
    fn delay(
        &mut self,
        plan: &SagaPlan,
        at: Timestamp,
        id: &ActionId,
        next: &Next,
        hint: Option<Duration>,
    ) -> Held {
        let Next::Retry { at: due } = next else { return Ok(()) };
        let policy = retry_of(step_of(plan, id), id);
        let bound = upper(policy.base, policy.cap, self.of(id).of_budget + self.of(id).orders);
        let (least, most) = (hint.unwrap_or_default(), bound.max(hint.unwrap_or_default()));
        law(*due >= at + least && *due <= at + most, || {
            format!("I5: {id} waits {:?}, not {least:?} to {most:?}", due.since(at))
        })
    }

    /// I2 and I3, of the state that the facts lead to.
    ///
    /// # Errors
    /// When it breaks one.
    pub(crate) fn ends(&self, plan: &SagaPlan, state: &SagaState) -> Held {
        law(self.completed == (state.phase == Phase::Completed), || "the end is not in the journal".into())?;
        law(self.compensated == (state.phase == Phase::Compensated), || {
            "the end is not in the journal".into()
        })?;
        let begun = |id: &ActionId| self.accounts.get(id).and_then(|account| account.begun);
        let applied = |id: &ActionId| self.accounts.get(id).and_then(|account| account.applied);
        if self.completed {
            law(!self.turned, || "I3: completed after a turn".into())?;
            for step in &plan.steps {
                let name = &step.name;
                let forward = ActionId::forward(name.clone());
                let waived = self.accounts.get(&forward).is_some_and(|account| account.waived);
                let done = applied(&forward).is_some() || waived;
                let skipped = self.skips(plan, name);
                law(done || skipped, || format!("I3: {name} did not succeed"))?;
                law(begun(&ActionId::compensation(name.clone())).is_none(), || {
                    format!("I3: {name} was undone")
                })?;
            }
        }
        for ix in plan.indices() {
            let step = plan.step(ix);
            let undo = ActionId::compensation(step.name.clone());
            let done =
                applied(&ActionId::forward(step.name.clone())).is_some() && step.kind != StepKind::Read;
            let quiet = self.compensated && state.open_actions(plan) == 0;
            let by_hand = state.step(ix).manual.iter().any(|manual| manual.action.stage.is_settled());
            if quiet && done && !by_hand {
                law(applied(&undo).is_some(), || format!("I2: {} was not undone", step.name))?;
            }
            if quiet {
                let open = self.accounts.values().any(|a| a.running.is_some() || !a.unknown.is_empty());
                law(!open, || "I2: compensated with an outcome open".into())?;
            }
            let Some(undone_from) = begun(&undo) else { continue };
            for below in descendants(plan, ix) {
                let below = &plan.step(below).name;
                let child = ActionId::compensation(below.clone());
                let forward = self.accounts.get(&ActionId::forward(below.clone()));
                let effect = forward.is_some_and(|a| a.applied.is_some_and(|f| f < undone_from));
                let needs = effect && plan.find(below).is_some_and(|ix| plan.step(ix).undo.is_some());
                let first = self.accounts.get(&child).and_then(|account| account.first_applied);
                let before = first.is_some_and(|fact| fact < undone_from);
                law(!needs || before, || format!("I2: {undo} began before {child} was done"))?;
                let in_doubt = forward.is_some_and(|a| a.running.is_some() || !a.unknown.is_empty());
                law(!in_doubt, || format!("I2: {undo} began while {below} was in doubt"))?;
            }
        }
        Ok(())
    }
}

impl Ledger {
    /// Does a decision skip this step?
    fn skips(&self, plan: &SagaPlan, step: &str) -> bool {
        let ix = plan.find(step).expect("it is a step of the plan");
        plan.sides_around(ix).any(|side| {
            self.sides.get(&*plan.branch(side.branch).name).is_some_and(|taken| *taken != side.taken)
        })
    }
}

impl Account {
    fn answered(&mut self, attempt: u32) {
        if self.running == Some(attempt) {
            self.running = None;
            self.order_spent = false;
        }
        self.unknown.remove(&attempt);
    }
}

/// I5: what a transition of these facts began, it began before its deadline. One transition may hold what several
/// commands did, so each fact is held against the state that the facts before it led to.
pub(crate) fn begun_in_time(
    plan: &SagaPlan,
    before: &SagaState,
    at: Timestamp,
    events: &[JournalEvent],
) -> Held {
    let mut before = before.clone();
    for event in events {
        // The start of a saga is no fact of an earlier state.
        let after = apply(plan, before.clone(), at, event).unwrap_or_else(|_| before.clone());
        let before = std::mem::replace(&mut before, after);
        let JournalEvent::Started { action, cause, .. } = event else { continue };
        let Some(was) = before.action(plan, action) else { continue };
        let step = step_of(plan, action);
        let give_up = retry_of(step, action).give_up_after;
        let own = was.deadline.or(was.ready_at.map(|at| at + give_up)).unwrap_or(Timestamp::MAX);
        let past = before.past_pivot(plan) || !action.is_forward();
        let saga = before.deadline.filter(|_| !past).unwrap_or(Timestamp::MAX);
        let limit = match (cause, step.contract.key_retention, was.first_sent_at) {
            // What was ordered was judged when it was ordered: with an override no limit stands.
            (StartCause::Ordered, ..) if was.stage == Stage::Reconciling => Timestamp::MAX,
            (StartCause::Repeat, Some(retention), Some(first)) => first + retention,
            (StartCause::Repeat, _, _) => own,
            _ => own.min(saga),
        };
        law(at < limit, || format!("I5: {action} began at its deadline or after it"))?;
        let undone = action.is_forward() && before.compensation_began(plan, action);
        law(!undone, || format!("I4: {action} began after its compensation was requested"))?;
    }
    Ok(())
}

/// I7, as far as one saga knows: a thing to do, a time, something running, a named pause, or a person. What
/// moves is told, and the agenda names why.
fn no_limbo(plan: &SagaPlan, state: &SagaState, now: Timestamp) -> Held {
    let Agenda { tasks, wake, waits } = agenda(plan, state, now);
    if state.phase.is_ended() && state.open_actions(plan) == 0 {
        let quiet = tasks.is_empty() && wake.is_none() && desk(plan, state).is_empty();
        return law(quiet, || "an ended saga without open actions has something to do".into());
    }
    let moving = tasks.iter().any(|task| !matches!(task, Task::Stop { .. }));
    let under_way = waits.iter().any(|wait| {
        matches!(wait, Wait::Attempt { .. } | Wait::Querying { .. } | Wait::Paused { .. } | Wait::Person(_))
    });
    law(moving || wake.is_some() || under_way, || "I7: limbo".into())?;
    let at_once = tasks.iter().any(|task| matches!(task, Task::Tick | Task::Decide { .. }));
    let told = !waits.is_empty() || at_once;
    law(told, || "I7: nothing says why it is not moving".into())
}

/// What the agenda asks for can be done, and a wake-up finds something to do.
fn honest(plan: &SagaPlan, state: &SagaState, now: Timestamp) -> Held {
    let Agenda { tasks, wake, .. } = agenda(plan, state, now);
    for task in &tasks {
        let command = match task {
            Task::Start { action, .. } => {
                Command::Begin { action: action.clone(), input: None, expected: None }
            }
            Task::Query { action, .. } => Command::BeginQuery { action: action.clone() },
            Task::Decide { branch } => {
                let failure = Failure {
                    kind: FailureKind::Persistent,
                    code: "condition".into(),
                    message: "it panicked".into(),
                    rule: "condition".into(),
                    classifier: "test/1".into(),
                    hint: None,
                };
                let fails = Command::ConditionFailed { branch: branch.clone(), failure };
                let no = Command::DecideBranch { branch: branch.clone(), taken: false };
                for command in [fails, no] {
                    let did = decide(plan, state, command, now);
                    law(did.is_ok(), || {
                        format!("the agenda asks for what cannot be done: {task:?}: {did:?}")
                    })?;
                }
                Command::DecideBranch { branch: branch.clone(), taken: true }
            }
            Task::Tick => Command::Tick,
            Task::Stop { action } => {
                let running = state.action(plan, action).is_some_and(|a| a.running.is_some());
                law(running, || format!("{action} is to stop and does not run"))?;
                continue;
            }
        };
        let did = decide(plan, state, command, now);
        law(did.as_ref().is_ok_and(|events| !events.is_empty()), || {
            format!("the agenda asks for what cannot be done: {task:?}: {did:?}")
        })?;
    }
    let Some(wake) = wake else { return Ok(()) };
    law(wake.at > now, || "the wake-up has passed".into())?;
    let then = agenda(plan, state, wake.at).tasks;
    law(then.iter().any(|task| !matches!(task, Task::Stop { .. })), || {
        format!("the wake-up finds nothing to do: {wake:?}")
    })
}

/// What an ended saga does not do any more. Late and requested compensations, news and notes go on.
fn moves_forward(event: &JournalEvent) -> bool {
    match event {
        JournalEvent::TurnedBack { .. } | JournalEvent::Completed {} | JournalEvent::Compensated {} => true,
        JournalEvent::Started { action, .. } => action.is_forward(),
        _ => false,
    }
}

fn nothing(output: &Recorded) -> bool {
    output.value().is_some_and(|value| value.text() == "\"NothingToUndo\"")
}

fn step_of<'a>(plan: &'a SagaPlan, id: &ActionId) -> &'a StepPlan {
    plan.step(plan.find(&id.step).expect("journals name steps of their plan"))
}

fn is_read(plan: &SagaPlan, id: &ActionId) -> bool {
    id.is_forward() && step_of(plan, id).kind == StepKind::Read
}

fn retry_of<'a>(step: &'a StepPlan, id: &ActionId) -> &'a RetryPolicy {
    if id.is_forward() { &step.retry } else { &step.compensation }
}

fn settle_of(step: &StepPlan, id: &ActionId) -> Settle {
    step.undo.filter(|_| !id.is_forward()).map_or(step.settle, |undo| undo.settle)
}

fn descendants(plan: &SagaPlan, of: StepIx) -> BTreeSet<StepIx> {
    let mut found = BTreeSet::new();
    let mut next = vec![of];
    while let Some(ix) = next.pop() {
        next.extend(plan.graph.children(ix).iter().filter(|child| found.insert(**child)));
    }
    found
}
