//! The engine: what starts sagas, finds them again, and shows what waits for whom.

mod before;
mod begun;
mod builder;
mod counters;
mod dry_run;
mod errors;
mod handle;
mod health;
mod intake;
mod notify;
mod orphans;
mod outbox;
mod prepared;
mod reply;
mod retention;
mod shares;

use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use amends_core::agenda::Wait;
use amends_core::event::Trigger;
use amends_core::{ActionId, Incarnation, Json, SagaId, Timestamp, TraceContext};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use begun::Begun;
pub use builder::{EngineBuilder, Limits, Registrable};
pub(crate) use counters::Counted;
pub use counters::EngineCounters;
pub use dry_run::DryRunError;
pub use errors::{
    OperateError, OutcomeError, SagaStartError, StartError, StopReason, UnknownDefinition, ViewError,
};
pub use handle::{Outcome, SagaHandle, Settled};
pub use health::{Health, Trouble};
pub use intake::{IntakeError, IntakeMessage, Kept};
pub use notify::LogNotifier;
pub use orphans::{Orphans, Stranded};
pub use outbox::{OutboxTrouble, OutboxView};
pub use reply::{Reply, ReplyError};
pub use retention::{Retention, Tombstone};
pub use shares::LaneShares;

use crate::authoring::{Payload, Saga, kept, unstorable, unwritable};
use crate::controls::Board;
use crate::ports;
use crate::ports::{
    Clock, DefinitionRef, DeskQuery, Fault, Ids, IntakeStore, KEY_BYTES_MAX, NodeRegistry, NodeStore,
    OutboxStore, SagaMail, SagaQuery, SagaRow, SagaStore, Store, WorkItemRow,
};
use crate::view::{Deferral, SagaView};
use crate::worker::{
    Backoff, Definitions, Lease, Outbox, Parts, Registered, Request, StartRequest, Started, Worker,
};

/// A running engine. Cheap to clone: every clone is the same engine.
///
/// *When the last clone and the last handle are dropped* the engine ends at once, as if its process had been
/// killed: what was under way is recovered at the next start. End it in an orderly way with
/// [`Engine::shutdown`].
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

struct Inner {
    store: Arc<dyn SagaStore>,
    reads: Reads,
    mail: Arc<dyn SagaMail>,
    nodes: Arc<dyn NodeStore>,
    board: Arc<Board>,
    outbox: Arc<dyn OutboxStore>,
    publishing: Outbox,
    lease: Arc<Lease>,
    counted: Arc<Counted>,
    intake: Arc<dyn IntakeStore>,
    ids: Arc<dyn Ids>,
    limits: Limits,
    incarnation: Incarnation,
    called: Arc<str>,
    definitions: Arc<Definitions>,
    clock: Arc<dyn Clock>,
    /// How often a saga that another node may have is looked at in the store; none where there are no others.
    look_every: Option<Duration>,
    starts: mpsc::Sender<StartRequest>,
    requests: mpsc::Sender<Request>,
    stopped: Arc<std::sync::OnceLock<StopReason>>,
    ended: CancellationToken,
    parts: Mutex<Vec<JoinHandle<()>>>,
    publishers: Mutex<Vec<JoinHandle<()>>>,
    /// Of several who shut it down, one after the other ends what is left.
    ending: tokio::sync::Mutex<()>,
}

/// What of a store is read for people.
pub(crate) struct Reads {
    pub(crate) query: Arc<dyn SagaQuery>,
    pub(crate) registry: Arc<dyn NodeRegistry>,
    pub(crate) desks: Arc<dyn DeskQuery>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        for parts in [&mut self.parts, &mut self.publishers] {
            let parts = parts.get_mut().unwrap_or_else(PoisonError::into_inner);
            parts.iter().for_each(JoinHandle::abort);
        }
    }
}

/// What a start may say besides its key and input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartOptions {
    /// The source event's own time; by default the time of the start.
    pub occurred_at: Option<Timestamp>,
    /// The message that triggered the saga.
    pub trigger: Option<Trigger>,
    /// The trace that the saga is to continue: see [`TraceContext::parse`].
    pub trace: Option<TraceContext>,
    /// On whose behalf it runs, 1 to 200 bytes: sagas are found by it, and permits are shared fairly between tenants.
    /// It tells no two starts apart: of a start that is made again, the first one's tenant stands.
    pub tenant: Option<Arc<str>>,
}

/// How an orderly shutdown went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Calls that had not answered within the grace period: they are in doubt, and recovered as such.
    pub in_doubt: usize,
}

/// The most desk entries that [`Engine::desk`] lists.
const DESK_MAX: u32 = 1_000;

impl Engine {
    /// Begins to put an engine together, on a store of its own or as one of several nodes on a shared one.
    pub fn builder<S: Store>(store: Arc<S>) -> EngineBuilder {
        EngineBuilder::new(store)
    }

    /// Starts a saga.
    ///
    /// # Guarantees
    /// The saga is durable when this returns. The same workflow, key and input give the same saga, however
    /// often and wherever they come. While memory is full or the store does not answer, the caller waits.
    ///
    /// # Errors
    /// See [`SagaStartError`]; after [`SagaStartError::Stopped`] it is unknown whether the saga exists, and
    /// the same start may be made again.
    pub async fn start<I: Payload, O>(
        &self,
        saga: &Saga<I, O>,
        key: impl AsRef<str>,
        input: I,
    ) -> Result<SagaHandle<O>, SagaStartError> {
        self.start_with(saga, key, input, StartOptions::default()).await
    }

    /// Starts a saga or finds it, and tells which: for triggers, which count the two apart. See [`Engine::start`].
    ///
    /// # Errors
    /// As [`Engine::start`].
    pub async fn start_or_find<I: Payload, O>(
        &self,
        saga: &Saga<I, O>,
        key: impl AsRef<str>,
        input: I,
        options: StartOptions,
    ) -> Result<Begun<O>, SagaStartError> {
        let definition = self.registered(&saga.reference())?;
        let input = Json::encode(&input).map_err(|error| SagaStartError::Input(unwritable(&error)))?;
        self.begin(definition, key.as_ref(), input, options).await
    }

    /// Is this workflow registered here, in this version and shape?
    pub fn knows<I, O>(&self, saga: &Saga<I, O>) -> bool {
        self.registered(&saga.reference()).is_ok()
    }

    /// Starts a saga and says more about where it comes from: see [`Engine::start`].
    ///
    /// # Errors
    /// As [`Engine::start`].
    pub async fn start_with<I: Payload, O>(
        &self,
        saga: &Saga<I, O>,
        key: impl AsRef<str>,
        input: I,
        options: StartOptions,
    ) -> Result<SagaHandle<O>, SagaStartError> {
        self.start_or_find(saga, key, input, options).await.map(Begun::into_saga)
    }

    /// Starts a saga from JSON: for loaders and triggers that have no Rust type at hand.
    ///
    /// # Guarantees
    /// The saga is durable when this returns. The same workflow, key and input give the same saga, however
    /// often and wherever they come; the comparison ignores key order and white space, not number text.
    /// While memory is full or the store does not answer, the caller waits.
    ///
    /// # Errors
    /// See [`SagaStartError`]; after [`SagaStartError::Stopped`] it is unknown whether the saga exists, and
    /// the same start may be made again.
    pub async fn start_json(
        &self,
        workflow: &str,
        key: &str,
        input: Json,
        options: StartOptions,
    ) -> Result<SagaHandle, SagaStartError> {
        let definition = self.0.definitions.latest(workflow);
        let definition = definition.ok_or_else(|| SagaStartError::NotRegistered(workflow.to_owned()))?;
        self.start_registered(definition.clone(), key, input, options).await
    }

    pub(crate) async fn start_registered<O>(
        &self,
        definition: Arc<Registered>,
        key: &str,
        input: Json,
        options: StartOptions,
    ) -> Result<SagaHandle<O>, SagaStartError> {
        self.begin(definition, key, input, options).await.map(Begun::into_saga)
    }

    async fn begin<O>(
        &self,
        definition: Arc<Registered>,
        key: &str,
        input: Json,
        options: StartOptions,
    ) -> Result<Begun<O>, SagaStartError> {
        let input_digest = self.check_start(key, &input)?;
        let workflow = &definition.reference.workflow;
        if let Some(refused) = self.not_now(workflow, options.occurred_at) {
            return self.what_stands(definition, key, input_digest, refused).await.map(Begun::Before);
        }
        let (reply, answer) = oneshot::channel();
        let StartOptions { occurred_at, trigger, trace, tenant } = options;
        ports::tenant(tenant.as_deref()).map_err(SagaStartError::Tenant)?;
        let labels = kept(definition.labels.as_ref(), &input, workflow);
        let request = StartRequest {
            definition: definition.clone(),
            key: key.into(),
            input,
            input_digest,
            asked_at: self.now(),
            occurred_at,
            trigger,
            trace,
            tenant,
            labels,
            reply,
        };
        self.0.starts.send(request).await.map_err(|_| SagaStartError::Stopped)?;
        match answer.await.map_err(|_| SagaStartError::Stopped)? {
            Ok(Started::New(saga)) => Ok(Begun::New(self.handle(saga, definition))),
            Ok(Started::Before(row)) => self.started_before(&row, definition).map(Begun::Before),
            Err(refused @ SagaStartError::TooOld { .. }) => {
                self.what_stands(definition, key, input_digest, refused).await.map(Begun::Before)
            }
            Err(error) => Err(error),
        }
    }

    /// Refuses at the door what the journal could not keep.
    fn check_start(&self, key: &str, input: &Json) -> Result<[u8; 32], SagaStartError> {
        if key.is_empty() || key.len() > KEY_BYTES_MAX || key.contains('\0') {
            let reason =
                format!("a key has 1 to {KEY_BYTES_MAX} bytes and no NUL, this one has {}", key.len());
            return Err(SagaStartError::Key(reason));
        }
        if let Some(refused) = unstorable(input) {
            return Err(SagaStartError::Input(refused));
        }
        input.canonical_digest().map_err(SagaStartError::Input)
    }

    fn registered(&self, reference: &DefinitionRef) -> Result<Arc<Registered>, UnknownDefinition> {
        let unknown =
            || UnknownDefinition { workflow: reference.workflow.clone(), version: reference.version };
        self.0.definitions.find(reference).cloned().ok_or_else(unknown)
    }

    fn handle<O>(&self, saga: SagaId, definition: Arc<Registered>) -> SagaHandle<O> {
        SagaHandle { engine: self.clone(), saga, definition, of: PhantomData }
    }

    /// The saga of a business key, if there is one.
    ///
    /// # Errors
    /// When the store does not answer, or the saga's definition is not registered here.
    pub async fn find(&self, workflow: &str, key: &str) -> Result<Option<SagaHandle>, ViewError> {
        let Some(row) = self.0.reads.query.find(workflow, key).await? else { return Ok(None) };
        Ok(Some(self.handle(row.id, self.registered(&row.definition)?)))
    }

    /// Everything that is recorded of a saga.
    ///
    /// # Errors
    /// When there is no such saga, it was purged, the store does not answer, its definition is not registered here,
    /// or its journal cannot be read.
    pub async fn inspect(&self, saga: SagaId) -> Result<SagaView, ViewError> {
        let loaded = self.0.reads.query.read(saga).await?.ok_or(ViewError::Unknown(saga))?;
        if let Some(tombstone) = Tombstone::of(&loaded.row) {
            return Err(ViewError::Purged(Box::new(tombstone)));
        }
        let definition = self.registered(&loaded.row.definition)?;
        let view = SagaView::new(definition.plan.clone(), &loaded, self.0.clock.now());
        let mut view = view.map_err(ViewError::Unreadable)?;
        if view.waits.iter().any(|wait| matches!(wait, Wait::Permit { .. } | Wait::Until(_))) {
            view.deferrals = self.deferrals(saga).await;
        }
        if let Some(pause) = self.0.board.current().pause_of(&definition.reference.workflow) {
            view.deferrals.extend(view.held_by(pause, self.0.clock.now()));
        }
        Ok(view)
    }

    /// What only the worker knows: which permits are missing. Nothing, once it has stopped.
    async fn deferrals(&self, saga: SagaId) -> Vec<Deferral> {
        let (reply, told) = oneshot::channel();
        let asked = self.ask(Request::Deferrals { saga, reply }).await;
        if asked { told.await.unwrap_or_default() } else { Vec::new() }
    }

    /// What waits for a person, the oldest first; at most 1 000 entries. News of sagas that were purged is none of them: it
    /// is in the [intake](crate::operator::Operator::intake).
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn desk(&self) -> Result<Vec<(SagaId, WorkItemRow)>, Fault> {
        self.0.reads.query.desk(DESK_MAX).await
    }

    /// The read side of the store.
    pub fn query(&self) -> &dyn SagaQuery {
        &*self.0.reads.query
    }

    /// The engine's clock.
    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// This process start, as journals know it.
    pub fn incarnation(&self) -> Incarnation {
        self.0.incarnation
    }

    /// Why the engine runs no more; none while it runs.
    pub fn stopped(&self) -> Option<&StopReason> {
        self.0.stopped.get()
    }

    /// Returns once the engine runs no more: it was shut down, [drained](crate::operator::OperatedNode::drain) by
    /// somebody elsewhere, or dismissed by the store. For programs that end with their engine.
    pub async fn until_stopped(&self) -> StopReason {
        loop {
            self.0.ended.cancelled().await;
            if let Some(reason) = self.stopped() {
                return reason.clone();
            }
        }
    }

    /// Ends in an orderly way: nothing new begins; what runs is awaited for at most `grace` and its answers
    /// are recorded; what was journalled as started and not sent is withdrawn; what waits in the outbox is published
    /// as far as that gets through; then the store is told.
    ///
    /// Calls that have not answered by then are dropped. They are in doubt, and recovered as such. Of several who ask for
    /// it at once, the shortest grace counts for all, and each returns once it has ended.
    ///
    /// # Errors
    /// When the store cannot be told within the grace period: the next start recovers all the same.
    pub async fn shutdown(&self, grace: Duration) -> Result<Drained, Fault> {
        let until = self.0.clock.now() + grace;
        let (reply, drained) = oneshot::channel();
        let asked = self.ask(Request::Drain { until, reply }).await;
        let in_doubt = drained.await.unwrap_or(0);
        let _one_at_a_time = self.0.ending.lock().await;
        if !asked {
            self.join(false).await; // It ends already, or was drained by somebody else.
            return Ok(Drained::default());
        }
        self.publish_rest(until).await;
        self.join(false).await;
        if matches!(self.stopped(), Some(StopReason::Dismissed(_))) {
            return Ok(Drained { in_doubt });
        }
        let mut backoff = Backoff::default();
        loop {
            match self.0.store.leave(self.0.incarnation, self.0.clock.now()).await {
                Err(Fault::Unavailable(_)) if self.0.clock.now() < until => {
                    backoff.wait(&*self.0.clock).await
                }
                answer => return answer.map(|()| Drained { in_doubt }),
            }
        }
    }

    /// Ends at once, in the middle of anything, without another word to the store: the simulation of a kill.
    ///
    /// Returns once nothing of the engine runs any more. For tests and test kits; programs use
    /// [`Engine::shutdown`], or simply end.
    pub async fn abort(&self) {
        self.join(true).await;
    }

    /// Lets publishers go on until they find nothing more, or until the given time.
    async fn publish_rest(&self, until: Timestamp) {
        self.0.publishing.end();
        let mut publishers = take(&self.0.publishers);
        let publish = async {
            for publisher in &mut publishers {
                let _ = publisher.await;
            }
        };
        tokio::select! {
            biased;
            () = publish => return,
            () = self.0.clock.sleep_until(until) => {}
        }
        // Nothing is lost: what was not published, or not removed, comes again.
        publishers.iter().for_each(JoinHandle::abort);
    }

    async fn join(&self, at_once: bool) {
        let mut parts = take(&self.0.parts);
        let mut publishers = take(&self.0.publishers);
        publishers.iter().for_each(JoinHandle::abort);
        if at_once {
            parts.iter().for_each(JoinHandle::abort);
        } else if parts.len() > 1 {
            // The committer ends with the loop; the others may be waiting for the store, and have nothing to finish.
            parts[1..].iter().for_each(JoinHandle::abort);
        }
        for part in parts.iter_mut().chain(&mut publishers) {
            let _ = part.await;
        }
        self.0.stopped.get_or_init(|| StopReason::Killed);
        self.0.ended.cancel();
    }

    pub(crate) fn put_together(
        parts: Parts,
        reads: Reads,
        intake: Arc<dyn IntakeStore>,
        look_every: Option<Duration>,
        worker: Worker,
    ) -> Self {
        let Parts {
            store,
            mail,
            outbox,
            nodes,
            board,
            incarnation,
            called,
            definitions,
            limits,
            clock,
            ids,
            ..
        } = parts;
        let Worker { starts, requests, stopped, ended, parts, publishing, lease, publishers, counted } =
            worker;
        Self(Arc::new(Inner {
            store,
            reads,
            mail,
            nodes,
            board,
            outbox,
            publishing,
            lease,
            counted,
            intake,
            ids,
            limits,
            incarnation,
            called,
            definitions,
            clock,
            look_every,
            starts,
            requests,
            stopped,
            ended,
            parts: Mutex::new(parts),
            publishers: Mutex::new(publishers),
            ending: tokio::sync::Mutex::default(),
        }))
    }

    pub(crate) fn intake_store(&self) -> &dyn IntakeStore {
        &*self.0.intake
    }

    pub(crate) fn mail(&self) -> &dyn SagaMail {
        &*self.0.mail
    }

    pub(crate) fn desks(&self) -> &dyn DeskQuery {
        &*self.0.reads.desks
    }

    pub(crate) fn nodes(&self) -> &dyn NodeStore {
        &*self.0.nodes
    }

    pub(crate) fn board(&self) -> &Board {
        &self.0.board
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.0.clock
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    pub(crate) fn next_id(&self, now: Timestamp) -> uuid::Uuid {
        self.0.ids.next(now)
    }

    /// Does a result that a person gives decode as the step's output? A definition that is not registered here cannot
    /// say; the saga's owner asks again.
    pub(crate) async fn check_output(
        &self,
        saga: SagaId,
        action: &ActionId,
        output: &Json,
    ) -> Result<(), OperateError> {
        let Some((row, _)) = self.row(saga).await? else { return Err(OperateError::Unknown) };
        let Ok(definition) = self.registered(&row.definition) else { return Ok(()) };
        let Some(ix) = definition.plan.find(&action.step) else { return Ok(()) };
        definition.nodes[ix.0].check_output(output).map_err(OperateError::Output)
    }

    pub(crate) async fn ask(&self, request: Request) -> bool {
        self.0.requests.send(request).await.is_ok()
    }

    /// Returns when it is time to look into the store for what another node may have done; never, where there
    /// are no others.
    pub(crate) async fn next_look(&self) {
        match self.0.look_every {
            Some(wait) => self.0.clock.sleep_until(self.0.clock.now() + wait).await,
            None => std::future::pending().await,
        }
    }

    pub(crate) async fn row(
        &self,
        saga: SagaId,
    ) -> Result<Option<(SagaRow, Vec<crate::ports::JournalRow>)>, Fault> {
        Ok(self.0.reads.query.read(saga).await?.map(|loaded| (loaded.row, loaded.journal)))
    }
}

fn take(parts: &Mutex<Vec<JoinHandle<()>>>) -> Vec<JoinHandle<()>> {
    std::mem::take(&mut *parts.lock().unwrap_or_else(PoisonError::into_inner))
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("incarnation", &self.0.incarnation).finish_non_exhaustive()
    }
}
