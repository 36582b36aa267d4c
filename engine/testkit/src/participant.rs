//! A participant that does what a test tells it to, and writes down what really happened.

mod life;
mod message;
mod script;
mod step;

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use amends::authoring::{
    CompensationError, Finding, Payload, QueryError, StepContext, StepError, Undo, UndoFinding,
};
use amends_core::{Json, RequestId, Timestamp};

use crate::ledger::Ledger;
use life::Life;
pub(crate) use message::Command;
pub use script::{Acceptance, CallPlan, QueryPlan, Script, UndoPlan};
pub use step::ParticipantStep;

/// A participant for an author's fakes: it takes effect in memory, keeps the [`Ledger`], and misbehaves as its
/// scripts say. Clones are the same participant; it lives on when the engine dies.
///
/// *When to use*: call [`Participant::call`], [`Participant::undo`] and the queries from the step's own
/// methods, or let [`Participant::step`] be the whole step.
///
/// *Guarantees*: with a barrier (the default) it behaves as ARCHITECTURE.md asks of
/// participants: it repeats its answer instead
/// of its effect, fences, and refuses what comes after its compensation. [`Participant::naive`] does none of
/// that: every call takes effect.
pub struct Participant<I, O, R>(Arc<Inner<I, O, R>>);

struct Inner<I, O, R> {
    name: Arc<str>,
    ledger: Ledger,
    barrier: bool,
    latency: Duration,
    life: Arc<Life>,
    answer: Box<dyn Fn(&I) -> O + Send + Sync>,
    calls: Script<CallPlan<R>>,
    undos: Script<UndoPlan>,
    queries: Script<QueryPlan<O>>,
    undo_queries: Script<QueryPlan<()>>,
    rows: Mutex<BTreeMap<RequestId, Row<O, R>>>,
}

/// What is kept of one forward request.
struct Row<O, R> {
    digest: Option<[u8; 32]>,
    fenced: u32,
    compensated: Option<(Undo, Timestamp)>,
    kept: Option<(Kept<O, R>, Timestamp)>,
    /// It was taken, and is answered later.
    in_progress: bool,
    /// Its compensation was taken, and is answered later.
    undo_in_progress: bool,
    /// Effects that are in place.
    in_place: Vec<O>,
}

#[derive(Clone)]
enum Kept<O, R> {
    Done(O),
    Partial(O),
    Refused(R),
}

impl<O, R> Default for Row<O, R> {
    fn default() -> Self {
        Self {
            digest: None,
            fenced: 0,
            compensated: None,
            kept: None,
            in_progress: false,
            undo_in_progress: false,
            in_place: Vec::new(),
        }
    }
}

impl<I, O, R> Clone for Participant<I, O, R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// What a request brings about when it arrives.
#[derive(Clone)]
enum Fate<R> {
    Done,
    Partial,
    Refused(R),
}

impl<I: Payload, O: Payload + Clone, R: Payload + Clone> Participant<I, O, R> {
    /// A participant with a barrier that answers with `answer` and takes effect by it.
    pub fn new(ledger: &Ledger, name: &str, answer: impl Fn(&I) -> O + Send + Sync + 'static) -> Self {
        Self::build(ledger, name, true, Duration::ZERO, answer)
    }

    /// A participant without a barrier: every call takes effect, whatever its request id.
    pub fn naive(ledger: &Ledger, name: &str, answer: impl Fn(&I) -> O + Send + Sync + 'static) -> Self {
        Self::build(ledger, name, false, Duration::ZERO, answer)
    }

    /// A participant with a barrier whose every call takes so long. The effect is at its end, whether or not
    /// anybody waits for the answer any more.
    pub fn slow(
        ledger: &Ledger,
        name: &str,
        latency: Duration,
        answer: impl Fn(&I) -> O + Send + Sync + 'static,
    ) -> Self {
        Self::build(ledger, name, true, latency, answer)
    }

    /// Slow, and without a barrier.
    pub fn slow_naive(
        ledger: &Ledger,
        name: &str,
        latency: Duration,
        answer: impl Fn(&I) -> O + Send + Sync + 'static,
    ) -> Self {
        Self::build(ledger, name, false, latency, answer)
    }

    fn build(
        ledger: &Ledger,
        name: &str,
        barrier: bool,
        latency: Duration,
        answer: impl Fn(&I) -> O + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Inner {
            name: name.into(),
            ledger: ledger.clone(),
            barrier,
            latency,
            life: Arc::default(),
            answer: Box::new(answer),
            calls: Script::new(),
            undos: Script::new(),
            queries: Script::new(),
            undo_queries: Script::new(),
            rows: Mutex::default(),
        }))
    }

    /// The script of its forward calls.
    pub fn on_call(&self) -> &Script<CallPlan<R>> {
        &self.0.calls
    }

    /// The script of its compensations.
    pub fn on_undo(&self) -> &Script<UndoPlan> {
        &self.0.undos
    }

    /// The script of the queries about forward calls.
    pub fn on_query(&self) -> &Script<QueryPlan<O>> {
        &self.0.queries
    }

    /// The script of the queries about compensations.
    pub fn on_undo_query(&self) -> &Script<QueryPlan<()>> {
        &self.0.undo_queries
    }

    /// The next call is refused.
    pub fn refuse_next(&self, refusal: R) {
        self.0.calls.next(CallPlan::Refuse(refusal));
    }

    /// Its machine dies: calls under way are lost, and until it is back nobody is there to call or ask. What it
    /// has committed it keeps, and what it has taken to do later it does.
    pub fn die(&self) {
        self.0.ledger.catch_up();
        self.0.life.end();
    }

    /// Its machine is back.
    pub fn come_back(&self) {
        self.0.ledger.catch_up();
        self.0.life.begin();
    }

    /// It has forgotten every request, as after a restore of an old backup: its barrier holds no more. Broken.
    pub fn forget_everything(&self) {
        self.0.rows().clear();
    }

    /// What is in place: every effect that was not undone, in no particular order.
    pub fn in_place(&self) -> Vec<O> {
        self.0.ledger.catch_up();
        self.0.rows().values().flat_map(|row| row.in_place.iter().cloned()).collect()
    }

    /// A forward call is sent.
    ///
    /// # Errors
    /// As its script says, and as a barrier answers.
    pub async fn call(&self, cx: &StepContext, input: &I) -> Result<O, StepError<R>> {
        let inner = &self.0;
        if inner.life.is_dead() {
            return inner.fail(lost()).await;
        }
        let plan = inner.calls.take(cx.business_key()).unwrap_or(CallPlan::Succeed);
        let (digest, output) = (inner.digest(input), (inner.answer)(input));
        let arrives = |fate: Fate<R>| {
            let (there, cx, output) = (self.0.clone(), cx.clone(), output.clone());
            move || there.arrive(&cx, digest, output, fate)
        };
        match plan {
            CallPlan::Succeed => inner.transmit(arrives(Fate::Done)).await.unwrap_or_else(|| Err(lost())),
            CallPlan::Refuse(refusal) => {
                inner.transmit(arrives(Fate::Refused(refusal))).await.unwrap_or_else(|| Err(lost()))
            }
            CallPlan::Partial => inner.transmit(arrives(Fate::Partial)).await.unwrap_or_else(|| Err(lost())),
            CallPlan::LoseReply => {
                let _ = inner.transmit(arrives(Fate::Done)).await;
                Err(lost())
            }
            CallPlan::ApplyLate(delay) => {
                inner.come_later(delay, arrives(Fate::Done));
                inner.take_time().await;
                Err(lost())
            }
            CallPlan::Twice(later) => {
                inner.come_later(inner.latency + later, arrives(Fate::Done));
                inner.transmit(arrives(Fate::Done)).await.unwrap_or_else(|| Err(lost()))
            }
            CallPlan::Accept(Acceptance { hint, after }) => {
                inner.rows().entry(cx.request_id()).or_default().in_progress = true;
                let arrive = arrives(Fate::Done);
                inner.ledger.later(after, move || drop(arrive()));
                inner.fail(StepError::accepted(hint)).await
            }
            CallPlan::Hang => pending().await,
            CallPlan::Transient => inner.fail(StepError::transient("unavailable", "try again")).await,
            CallPlan::Persistent => {
                inner.fail(StepError::persistent("forbidden", "it will not heal by itself")).await
            }
            CallPlan::LoseRequest => inner.fail(lost()).await,
        }
    }

    /// A compensation is sent.
    ///
    /// # Errors
    /// As its script says.
    pub async fn undo(&self, cx: &StepContext) -> Result<Undo, CompensationError> {
        let inner = &self.0;
        let lost = || CompensationError::unknown("reply-lost", "nobody answered");
        if inner.life.is_dead() {
            return inner.fail(lost()).await;
        }
        let plan = inner.undos.take(cx.business_key()).unwrap_or(UndoPlan::Undo);
        let (there, cx) = (self.0.clone(), cx.clone());
        let forward = cx.forward_request_id();
        let arrive = move || there.arrive_undo(&cx);
        match plan {
            UndoPlan::Undo => inner.transmit(arrive).await.ok_or_else(lost),
            UndoPlan::LoseReply => {
                inner.transmit(arrive).await;
                Err(lost())
            }
            UndoPlan::ApplyLate(delay) => {
                inner.come_later(delay, arrive);
                inner.take_time().await;
                Err(lost())
            }
            UndoPlan::Twice(later) => {
                inner.come_later(inner.latency + later, arrive.clone());
                inner.transmit(arrive).await.ok_or_else(lost)
            }
            UndoPlan::Accept(Acceptance { hint, after }) => {
                inner.rows().entry(forward).or_default().undo_in_progress = true;
                inner.ledger.later(after, move || {
                    arrive();
                });
                inner.fail(CompensationError::accepted(hint)).await
            }
            UndoPlan::Hang => pending().await,
            UndoPlan::DoNothing => {
                inner.take_time().await;
                Ok(Undo::Undone)
            }
            UndoPlan::Transient => inner.fail(CompensationError::transient("unavailable", "try again")).await,
            UndoPlan::Persistent => {
                inner.fail(CompensationError::persistent("forbidden", "it will not heal by itself")).await
            }
            UndoPlan::LoseRequest => inner.fail(lost()).await,
        }
    }

    /// A query about a forward call arrives.
    ///
    /// # Errors
    /// As its script says.
    pub async fn query(&self, cx: &StepContext) -> Result<Finding<O, R>, QueryError> {
        let inner = &self.0;
        inner.ledger.catch_up();
        if inner.life.is_dead() {
            return Err(nobody_there());
        }
        inner.ledger.queried(&inner.name, cx);
        match inner.queries.take(cx.business_key()).unwrap_or(QueryPlan::Truth) {
            QueryPlan::Truth => Ok(inner.find(cx, inner.ledger.now(), cx.fence_through())),
            QueryPlan::Lag(lag) => Ok(inner.find(cx, inner.ledger.now() - lag, None)),
            QueryPlan::SayAbsent => Ok(Finding::Absent),
            QueryPlan::SayInProgress => Ok(Finding::InProgress),
            QueryPlan::SayApplied(output) => Ok(Finding::Applied(output)),
            QueryPlan::Fail => Err(QueryError::new("unavailable", "the query failed")),
            QueryPlan::Hang => pending().await,
        }
    }

    /// A query about a compensation arrives.
    ///
    /// # Errors
    /// As its script says.
    pub async fn query_undo(&self, cx: &StepContext) -> Result<UndoFinding, QueryError> {
        let inner = &self.0;
        inner.ledger.catch_up();
        if inner.life.is_dead() {
            return Err(nobody_there());
        }
        inner.ledger.queried(&inner.name, cx);
        let now = inner.ledger.now();
        match inner.undo_queries.take(cx.business_key()).unwrap_or(QueryPlan::Truth) {
            QueryPlan::Truth => Ok(inner.find_undo(cx, now)),
            QueryPlan::Lag(lag) => Ok(inner.find_undo(cx, now - lag)),
            QueryPlan::SayAbsent => Ok(UndoFinding::Absent),
            QueryPlan::SayInProgress => Ok(UndoFinding::InProgress),
            QueryPlan::SayApplied(()) => Ok(UndoFinding::Undone),
            QueryPlan::Fail => Err(QueryError::new("unavailable", "the query failed")),
            QueryPlan::Hang => pending().await,
        }
    }
}

fn lost<R>() -> StepError<R> {
    StepError::unknown("reply-lost", "nobody answered")
}

fn nobody_there() -> QueryError {
    QueryError::new("unreachable", "nobody is there")
}

impl<I: Payload, O: Payload + Clone, R: Payload + Clone> Inner<I, O, R> {
    /// Sends something on its way, and waits for what comes of it. It arrives whether or not the sender lives
    /// that long; only if the participant dies meanwhile nothing comes of it.
    async fn transmit<T: Send + 'static>(&self, arrive: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        self.ledger.catch_up();
        if self.latency.is_zero() {
            return Some(arrive());
        }
        let answer = Arc::new(Mutex::new(None));
        let (answering, life, sent_in) = (answer.clone(), self.life.clone(), self.life.present());
        self.ledger.later(self.latency, move || {
            if life.present() == sent_in {
                *answering.lock().unwrap_or_else(PoisonError::into_inner) = Some(arrive());
            }
        });
        self.take_time().await;
        self.ledger.catch_up();
        answer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Something arrives much later, if anybody is there then.
    fn come_later<T>(&self, delay: Duration, arrive: impl FnOnce() -> T + Send + 'static) {
        let life = self.life.clone();
        self.ledger.later(delay, move || {
            if !life.is_dead() {
                arrive();
            }
        });
    }

    async fn fail<T, E>(&self, error: E) -> Result<T, E> {
        self.take_time().await;
        Err(error)
    }

    async fn take_time(&self) {
        if !self.latency.is_zero() {
            let clock = self.ledger.clock();
            clock.sleep_until(clock.now() + self.latency).await;
        }
    }

    fn digest(&self, input: &I) -> Option<[u8; 32]> {
        Json::encode(input).ok()?.canonical_digest().ok()
    }

    /// The forward rules of a barrier, in their order; without one, the last alone.
    fn arrive(
        &self,
        cx: &StepContext,
        digest: Option<[u8; 32]>,
        output: O,
        fate: Fate<R>,
    ) -> Result<O, StepError<R>> {
        self.ledger.called(&self.name, cx);
        let now = self.ledger.now();
        let mut rows = self.rows();
        let row = rows.entry(cx.request_id()).or_default();
        if self.barrier {
            if row.digest.is_some() && row.digest != digest {
                let problem = amends::authoring::Problem::new("mismatch", "other parameters are kept");
                return Err(StepError::Mismatch(problem));
            }
            if row.compensated.is_some() {
                return Err(StepError::Fenced { through: u32::MAX });
            }
            if let Some((kept, _)) = &row.kept {
                return kept.clone().answer();
            }
            if cx.attempt() <= row.fenced {
                return Err(StepError::Fenced { through: row.fenced });
            }
        }
        let kept = match fate {
            Fate::Done => Kept::Done(output.clone()),
            Fate::Partial => Kept::Partial(output.clone()),
            Fate::Refused(refusal) => Kept::Refused(refusal),
        };
        row.digest = digest;
        row.kept = Some((kept.clone(), now));
        if !matches!(kept, Kept::Refused(_)) {
            row.in_place.push(output);
            self.ledger.took_effect(&self.name, cx);
        }
        kept.answer()
    }

    /// The compensation's rules of a barrier; without one, whatever was ever done is undone again.
    fn arrive_undo(&self, cx: &StepContext) -> Undo {
        self.ledger.called(&self.name, cx);
        let now = self.ledger.now();
        let mut rows = self.rows();
        let row = rows.entry(cx.forward_request_id()).or_default();
        if self.barrier
            && let Some((undo, _)) = row.compensated
        {
            return undo;
        }
        let done = matches!(row.kept, Some((Kept::Done(_) | Kept::Partial(_), _)));
        let undo = if done { Undo::Undone } else { Undo::NothingToUndo };
        row.compensated = Some((undo, now));
        if done {
            row.in_place.pop();
            self.ledger.took_effect(&self.name, cx);
        }
        undo
    }

    fn find(&self, cx: &StepContext, as_of: Timestamp, fence: Option<u32>) -> Finding<O, R> {
        let mut rows = self.rows();
        let row = rows.entry(cx.request_id()).or_default();
        match &row.kept {
            Some((kept, at)) if *at <= as_of => match kept.clone() {
                Kept::Done(output) => Finding::Applied(output),
                Kept::Partial(output) => Finding::Partial(Some(output)),
                Kept::Refused(refusal) => Finding::Refused(refusal),
            },
            _ => match fence.filter(|_| self.barrier) {
                Some(through) => {
                    row.fenced = row.fenced.max(through);
                    Finding::Fenced { through: row.fenced }
                }
                None if row.in_progress && row.kept.is_none() => Finding::InProgress,
                None => Finding::Absent,
            },
        }
    }

    fn find_undo(&self, cx: &StepContext, as_of: Timestamp) -> UndoFinding {
        let rows = self.rows();
        let row = rows.get(&cx.forward_request_id());
        match row.and_then(|row| row.compensated) {
            Some((Undo::Undone, at)) if at <= as_of => UndoFinding::Undone,
            Some((Undo::NothingToUndo, at)) if at <= as_of => UndoFinding::NothingToUndo,
            None if row.is_some_and(|row| row.undo_in_progress) => UndoFinding::InProgress,
            _ => UndoFinding::Absent,
        }
    }

    fn rows(&self) -> MutexGuard<'_, BTreeMap<RequestId, Row<O, R>>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<O: Payload, R> Kept<O, R> {
    fn answer(self) -> Result<O, StepError<R>> {
        match self {
            Self::Done(output) => Ok(output),
            Self::Partial(output) => Err(StepError::Partial(Json::encode(&output).ok())),
            Self::Refused(refusal) => Err(StepError::Refused(refusal)),
        }
    }
}
