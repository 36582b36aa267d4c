//! How every call is taken: what is planned for it, the barrier, the effect, and the answer.

mod backlog;
mod closing;
mod planned;
mod query;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use amends::core::Json;
use amends::ports::Clock;
use amends::prelude::{Contract, Undo};
use amends_barrier::{self as barrier, Outcome};
use amends_workflows::ports::{Answer, Call, CallError, Fault, UndoAnswer, UndoError, code};
use sea_orm::{DatabaseConnection, DatabaseTransaction, DbErr, TransactionTrait};
use serde::{Serialize, de::DeserializeOwned};
use uuid::Uuid;

use planned::{InPart, Refusing};

use super::fault::{self, Fate, Kind, Plan, PlannedFault};
use super::place::Place;
use super::{schema, sql};

/// What has not happened so long after it was sent does not happen any more. Multiplied by the pace.
pub(super) const SETTLE_WINDOW: Duration = Duration::from_secs(30);

/// How long request ids are remembered. Nothing is ever purged here, so any promise would be kept.
const KEY_RETENTION: Duration = Duration::from_secs(30 * 24 * 3_600);

/// One place, and all that the participants at it share. Cheap to clone.
#[derive(Clone)]
pub(super) struct Service(Arc<Shared>);

/// What a process does at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it.
    Alone,
    /// It serves; others plan bad days.
    Server,
    /// It plans bad days; others serve.
    Visitor,
}

struct Shared {
    place: Place,
    part: Part,
    /// One connection: who writes waits here for its turn, in order, and neither in SQLite's busy handler nor
    /// crosswise for rows.
    writer: DatabaseConnection,
    /// Who only reads waits for nobody.
    reader: DatabaseConnection,
    plan: RwLock<Plan>,
    /// The requests that are heard of as running, so that a query can say so. Lost with the process, as it
    /// should be: they are then not running any more.
    running: Mutex<HashSet<Uuid>>,
    clock: Arc<dyn Clock>,
    pace: f64,
}

/// Something that a call brings about. The asked-for values are its digest, so equal calls are equal.
pub(super) trait Effect: Serialize + Send + Sync + 'static {
    /// What the call is named in plans of faults and lists of effects.
    const CALL: &'static str;
    /// What it gives.
    type Output: Serialize + DeserializeOwned + Send + Sync + 'static;
    /// Why it may be refused.
    type Refusal: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// Brings it about, in the barrier's transaction.
    fn apply(
        &self,
        txn: &DatabaseTransaction,
        call: &Call,
    ) -> impl Future<Output = Result<Outcome<Self::Output, Self::Refusal>, Failed>> + Send;

    /// What is said where a refusal is planned, if this can be refused.
    fn planned_refusal(&self) -> Option<Self::Refusal> {
        None
    }

    /// The result as it is told where it is planned to be too large, if it can be.
    fn oversized(output: Self::Output) -> Self::Output
    where
        Self: Sized,
    {
        output
    }

    /// What is brought about where only a part of it is planned to be, if this has parts.
    fn part(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}

/// Something that a compensation brings about. Its forward call is known to have taken effect.
pub(super) trait Undoing: Serialize + Send + Sync + 'static {
    /// As [`Effect::CALL`].
    const CALL: &'static str;

    /// Undoes the effect of `call.forward_request_id`, in the barrier's transaction.
    fn undo(
        &self,
        txn: &DatabaseTransaction,
        call: &Call,
    ) -> impl Future<Output = Result<Undo, Failed>> + Send;

    /// Moves what it would undo, where that is planned: SQL with the forward request id for its one parameter; empty
    /// where nothing moves.
    const MOVES: &'static str = "";
}

/// Something that is asked and changes nothing.
pub(super) trait Question: Send + Sync + 'static {
    /// As [`Effect::CALL`].
    const CALL: &'static str;
    /// The answer.
    type Output: Send + 'static;
    /// Why there may be none.
    type Refusal: Send + 'static;

    /// Looks it up.
    fn ask(
        &self,
        db: &DatabaseConnection,
    ) -> impl Future<Output = Answer<Self::Output, Self::Refusal>> + Send;

    /// As [`Effect::planned_refusal`].
    fn planned_refusal(&self) -> Self::Refusal;
}

/// Why a call brought nothing about, on its way through the barrier.
#[derive(Debug)]
pub(super) enum Failed {
    /// The barrier could not answer, or the database under it.
    Barrier(barrier::Error),
    /// The participant has an answer of its own, and what it wrote is undone.
    Fault(Fault),
    /// What was to be undone does not stand as expected; how it stands.
    Stale(Json),
}

impl Failed {
    pub(super) fn stale(found: &impl Serialize) -> Self {
        Json::encode(found).map_or_else(|error| Fault::lost(error.to_string()).into(), Self::Stale)
    }
}

impl From<barrier::Error> for Failed {
    fn from(error: barrier::Error) -> Self {
        Self::Barrier(error)
    }
}

impl From<DbErr> for Failed {
    fn from(error: DbErr) -> Self {
        Self::Barrier(error.into())
    }
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// What the caller is told: only what is known of the effect decides the code.
impl From<Failed> for Fault {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Fault(fault) => fault,
            Failed::Stale(found) => Fault::new(code::BAD_REQUEST, format!("it stands otherwise: {found}")),
            Failed::Barrier(barrier::Error::Database(error)) => {
                Fault::new(code::UNAVAILABLE, error.to_string())
            }
            Failed::Barrier(barrier::Error::Unwritable(error)) => {
                Fault::new(code::BAD_REQUEST, error.to_string())
            }
            // A commit without an answer, and whatever the barrier may learn to say: nobody knows.
            Failed::Barrier(error) => Fault::lost(error.to_string()),
        }
    }
}

impl From<Failed> for UndoError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Stale(found) => Self::Stale { found },
            other => Self::Failed(other.into()),
        }
    }
}

impl Service {
    pub(super) async fn open(
        place: &Place,
        pace: f64,
        clock: Arc<dyn Clock>,
        part: Part,
    ) -> Result<Self, DbErr> {
        let writer = place.connect(place.writers()).await?;
        if part != Part::Visitor {
            schema::install(&writer).await?;
        }
        let reader = place.connect(4).await?;
        let plan = RwLock::new(Plan::load(&writer).await?);
        let (place, running) = (place.clone(), Mutex::default());
        let service = Self(Arc::new(Shared { place, part, writer, reader, plan, running, clock, pace }));
        if part != Part::Visitor {
            service.take_up().await?;
        }
        Ok(service)
    }

    /// Where it keeps what it has.
    pub(super) fn place(&self) -> &Place {
        &self.0.place
    }

    pub(super) async fn close(&self) -> Result<(), DbErr> {
        self.0.reader.close_by_ref().await?;
        self.0.writer.close_by_ref().await
    }

    /// The connection for reads that wait for nobody.
    pub(super) fn reader(&self) -> &DatabaseConnection {
        &self.0.reader
    }

    /// The connection that everything is written through.
    pub(super) fn writer(&self) -> &DatabaseConnection {
        &self.0.writer
    }

    pub(super) async fn plan(&self, key: &str, faults: &[PlannedFault]) -> Result<(), DbErr> {
        if faults.is_empty() {
            return Ok(());
        }
        let txn = self.0.writer.begin().await?;
        for planned in faults {
            fault::write(&txn, key, planned).await?;
        }
        txn.commit().await?;
        // Of this key alone: to read the whole plan again for every line would take longer with each.
        let planned = fault::planned(&self.0.writer, key).await?;
        self.0.plan.write().unwrap_or_else(PoisonError::into_inner).set(key, planned);
        Ok(())
    }

    /// What a participant with a barrier promises.
    pub(super) fn promises(&self, dependency: &str) -> Contract {
        Contract {
            settle_window: Some(SETTLE_WINDOW.mul_f64(self.0.pace)),
            key_retention: Some(KEY_RETENTION),
            keeps_answers: true,
            dependency: Some(dependency.into()),
        }
    }

    /// Takes a call that is to have an effect.
    pub(super) async fn effect<E: Effect>(&self, call: &Call, ask: E) -> Answer<E::Output, E::Refusal> {
        self.learn(&call.business_key).await?;
        let Some(fate) = self.fate(call, E::CALL) else {
            return self.detached(call, Duration::ZERO, ask).await;
        };
        match fate.kind {
            Kind::LostApplied => {
                // Whatever it answers is what gets lost.
                let _ = self.detached(call, Duration::ZERO, ask).await;
                Err(Fault::lost("the answer did not arrive").into())
            }
            Kind::Slow => {
                let _running = self.heard_of(call);
                self.detached(call, fate.after, ask).await
            }
            Kind::Late => {
                let (service, call) = (self.clone(), call.clone());
                tokio::spawn(async move { service.detached(&call, fate.after, ask).await });
                Err(Fault::lost("no answer so far").into())
            }
            Kind::Refused => self.detached(call, Duration::ZERO, Refusing(ask)).await,
            Kind::RefusedApplied => {
                let refusal = ask.planned_refusal();
                let done = self.detached(call, Duration::ZERO, ask).await;
                refusal.map_or(done, |refusal| Err(CallError::Refused(refusal)))
            }
            Kind::Oversized => self.detached(call, Duration::ZERO, ask).await.map(E::oversized),
            Kind::Accepted if self.is_answered(call, &ask).await? => {
                self.detached(call, Duration::ZERO, ask).await
            }
            Kind::Accepted => {
                self.take(call, fate.after, ask).await?;
                Err(CallError::Accepted { wait: None })
            }
            Kind::Partial => self.detached(call, Duration::ZERO, InPart(ask)).await,
            Kind::Mismatch => {
                self.hold_otherwise(call, &ask).await?;
                self.detached(call, Duration::ZERO, ask).await
            }
            Kind::Fenced => {
                self.fence(call, &ask).await?;
                self.detached(call, Duration::ZERO, ask).await
            }
            _ => Err(self.failure(fate).into()),
        }
    }

    /// Takes a compensation of the call `call.forward_request_id`.
    pub(super) async fn undoing<U: Undoing>(&self, call: &Call, ask: U) -> UndoAnswer {
        self.learn(&call.business_key).await?;
        let Some(fate) = self.fate(call, U::CALL) else {
            return self.detached_undo(call, Duration::ZERO, ask).await;
        };
        match fate.kind {
            Kind::LostApplied => {
                let _ = self.detached_undo(call, Duration::ZERO, ask).await;
                Err(Fault::lost("the answer did not arrive").into())
            }
            Kind::Slow => {
                let _running = self.heard_of(call);
                self.detached_undo(call, fate.after, ask).await
            }
            Kind::Late => {
                let (service, call) = (self.clone(), call.clone());
                tokio::spawn(async move { service.detached_undo(&call, fate.after, ask).await });
                Err(Fault::lost("no answer so far").into())
            }
            Kind::Stale => {
                self.move_it::<U>(call).await?;
                self.detached_undo(call, Duration::ZERO, ask).await
            }
            Kind::Overlooked if self.is_first(call, U::CALL).await? => Ok(Undo::NothingToUndo),
            Kind::Overlooked => self.detached_undo(call, Duration::ZERO, ask).await,
            _ => Err(self.failure(fate).into()),
        }
    }

    /// Answers a question that changes nothing.
    pub(super) async fn question<Q: Question>(&self, call: &Call, ask: Q) -> Answer<Q::Output, Q::Refusal> {
        self.learn(&call.business_key).await?;
        match self.fate(call, Q::CALL) {
            None => ask.ask(&self.0.reader).await,
            Some(Fate { kind: Kind::Slow, after }) => {
                self.wait(after).await;
                ask.ask(&self.0.reader).await
            }
            Some(Fate { kind: Kind::Refused, .. }) => Err(CallError::Refused(ask.planned_refusal())),
            Some(fate) => Err(self.failure(fate).into()),
        }
    }

    /// Works in a task of its own: a caller that stops listening stops nothing.
    async fn detached<E: Effect>(
        &self,
        call: &Call,
        after: Duration,
        ask: E,
    ) -> Answer<E::Output, E::Refusal> {
        let (service, call) = (self.clone(), call.clone());
        let work = tokio::spawn(async move {
            service.wait(after).await;
            service.work(&call, &ask).await
        });
        work.await.unwrap_or_else(|died| Err(Fault::lost(died.to_string()).into()))
    }

    async fn detached_undo<U: Undoing>(&self, call: &Call, after: Duration, ask: U) -> UndoAnswer {
        let (service, call) = (self.clone(), call.clone());
        let work = tokio::spawn(async move {
            service.wait(after).await;
            service.work_back(&call, &ask).await
        });
        work.await.unwrap_or_else(|died| Err(Fault::lost(died.to_string()).into()))
    }

    /// One transaction through the barrier.
    async fn work<E: Effect>(&self, call: &Call, ask: &E) -> Answer<E::Output, E::Refusal> {
        let at = transmission(call, ask)?;
        let answer = barrier::in_transaction(&self.0.writer, async |txn| {
            barrier::forward(txn, at, || async {
                let outcome = ask.apply(txn, call).await?;
                if !matches!(outcome, Outcome::Refused(_)) {
                    note_effect(txn, call, E::CALL).await?;
                }
                Ok::<_, Failed>(outcome)
            })
            .await
        })
        .await;
        match answer.map_err(Fault::from)? {
            barrier::Answer::Kept(Outcome::Success(output)) => Ok(output),
            barrier::Answer::Kept(Outcome::Refused(reason)) => Err(CallError::Refused(reason)),
            barrier::Answer::Kept(Outcome::Partial(output)) => {
                let output = output.as_ref().map(Json::encode).transpose();
                // That it took effect in part must reach the caller even where the part cannot be told.
                Err(CallError::Partial(output.unwrap_or_default()))
            }
            barrier::Answer::Fenced(_) => Err(Fault::new(code::FENCED, "closed out").into()),
            barrier::Answer::ClosedOut(said) => Err(Fault::new(code::UNAVAILABLE, said).into()),
            barrier::Answer::Mismatch => Err(Fault::new(code::MISMATCH, "held with other values").into()),
        }
    }

    async fn work_back<U: Undoing>(&self, call: &Call, ask: &U) -> UndoAnswer {
        let at = transmission(call, ask)?;
        let answer = barrier::in_transaction(&self.0.writer, async |txn| {
            barrier::compensate(txn, at, call.forward_request_id.0, || async {
                Ok::<_, Failed>(match ask.undo(txn, call).await? {
                    Undo::Undone => {
                        note_effect(txn, call, U::CALL).await?;
                        barrier::Undo::Undone
                    }
                    Undo::NothingToUndo => barrier::Undo::NothingToUndo,
                })
            })
            .await
        })
        .await;
        match answer? {
            barrier::Answer::Kept(barrier::Undo::Undone) => Ok(Undo::Undone),
            barrier::Answer::Kept(barrier::Undo::NothingToUndo) => Ok(Undo::NothingToUndo),
            barrier::Answer::Fenced(_) => Err(Fault::new(code::FENCED, "closed out").into()),
            barrier::Answer::ClosedOut(said) => Err(Fault::new(code::UNAVAILABLE, said).into()),
            barrier::Answer::Mismatch => Err(Fault::new(code::MISMATCH, "held with other values").into()),
        }
    }

    async fn wait(&self, how_long: Duration) {
        if !how_long.is_zero() {
            self.0.clock.sleep_until(self.0.clock.now() + how_long.mul_f64(self.0.pace)).await;
        }
    }

    fn fate(&self, call: &Call, name: &str) -> Option<Fate> {
        let plan = self.0.plan.read().unwrap_or_else(PoisonError::into_inner);
        plan.fate(&call.business_key, name, call.attempt)
    }

    /// Where other processes plan, too, looks up what is planned for this business key.
    async fn learn(&self, key: &str) -> Result<(), Fault> {
        if self.0.part == Part::Server || self.0.place.is_shared() {
            let planned = fault::planned(&self.0.reader, key).await.map_err(Failed::from)?;
            self.0.plan.write().unwrap_or_else(PoisonError::into_inner).set(key, planned);
        }
        Ok(())
    }

    /// What the caller of a call is told that never gets to work.
    fn failure(&self, fate: Fate) -> Fault {
        match fate.kind {
            Kind::Transient => Fault {
                retry_after: (!fate.after.is_zero()).then(|| fate.after.mul_f64(self.0.pace)),
                ..Fault::new(code::UNAVAILABLE, "come back later")
            },
            Kind::Persistent => Fault::new(code::BAD_CREDENTIAL, "the credential is not accepted"),
            _ => Fault::lost("the call did not arrive"),
        }
    }

    fn heard_of(&self, call: &Call) -> Running {
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner).insert(call.request_id.0);
        Running(self.clone(), call.request_id.0)
    }

    fn is_running(&self, call: &Call) -> bool {
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner).contains(&call.request_id.0)
    }
}

/// A call that is heard of as running, for as long as this lives.
struct Running(Service, Uuid);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.0.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}

fn transmission<A: Serialize>(call: &Call, ask: &A) -> Result<barrier::Call, Fault> {
    let input_digest = barrier::digest(ask).map_err(Failed::from)?;
    Ok(barrier::Call { request_id: call.request_id.0, attempt: call.attempt, input_digest })
}

async fn note_effect(txn: &DatabaseTransaction, call: &Call, name: &str) -> Result<(), DbErr> {
    let insert = "INSERT INTO effect VALUES ($1, $2, $3, $4)";
    let id = call.request_id.to_string();
    let values = [id.into(), name.into(), (&*call.business_key).into(), i64::from(call.attempt).into()];
    sql::execute(txn, insert, values).await?;
    Ok(())
}

/// A name for what a request made: readable, and the same whenever it is made.
pub(super) fn name(prefix: &str, call: &Call) -> String {
    let digits = call.request_id.0.simple().to_string();
    format!("{prefix}-{}", &digits[..16])
}
