//! A world: one engine, one store, one clock and one seed, in one thread.

mod clock;
mod persons;
mod records;
mod saga;
pub(crate) mod settle;
mod store;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use amends::authoring::{Definition, Payload, Policies, Saga};
use amends::engine::SagaStartError;
use amends::ports::{Clock, RandomIds};
use amends::{Engine, EngineBuilder, Limits, SagaView, StartOptions};
use amends_core::{Json, SagaId, SagaPlan, Timestamp};
use tokio::runtime::Runtime;

use crate::faults::{Fault, Faults, intercepted};
use crate::ledger::Ledger;
pub(crate) use clock::BEGINNING;
use clock::WorldClock;
use records::Records;
pub use saga::WorldSaga;
pub use store::Side;
use store::WatchedStore;

/// A world in which sagas run: the real engine on a store in memory, with virtual time, in one thread, from
/// one seed.
///
/// *Guarantees*: the same seed and the same test give the same timeline, to the microsecond. Time moves only
/// while the world runs, and jumps to the next thing that is due, so a wait of a day takes no time.
///
/// *Not guaranteed*: anything about threads. What needs several is tested with several, elsewhere.
pub struct World {
    seed: u64,
    ids: Arc<RandomIds>,
    clock: Arc<WorldClock>,
    store: WatchedStore,
    faults: Faults,
    ledgers: Vec<Ledger>,
    policies: Policies,
    records: Records,
    definitions: Vec<Definition>,
    process: Option<Process>,
    /// Sagas in the order of their starts, and whether they had settled when last looked at.
    sagas: BTreeMap<SagaId, bool>,
    operations: u32,
    cancel_at: Option<u64>,
    crashed: bool,
}

/// A process: its runtime holds everything that dies with it.
struct Process {
    engine: Engine,
    runtime: Runtime,
}

impl World {
    /// The seed of [`World::new`].
    pub const SEED: u64 = 42;

    /// A world with the fixed seed.
    #[expect(clippy::new_without_default, reason = "a world is an actor of a test, not a value")]
    pub fn new() -> Self {
        Self::seeded(Self::SEED)
    }

    /// A world with a seed of your own.
    pub fn seeded(seed: u64) -> Self {
        let (store, clock) = (WatchedStore::new(), Arc::new(WorldClock::new()));
        Self {
            seed,
            ids: Arc::new(RandomIds::seeded(seed)),
            records: Records::new(store.clone(), clock.clone()),
            clock,
            store,
            faults: Faults::default(),
            ledgers: Vec::new(),
            policies: Policies::new(),
            definitions: Vec::new(),
            process: None,
            sagas: BTreeMap::new(),
            operations: 0,
            cancel_at: None,
            crashed: false,
        }
    }

    /// The named policies, and what dependencies can bear, before the first workflow is registered.
    ///
    /// # Panics
    /// After the first workflow was registered.
    pub fn policies(&mut self, policies: Policies) {
        assert!(self.definitions.is_empty(), "say the policies before the workflows that name them");
        self.policies = policies;
    }

    /// Registers a workflow, before the first start.
    ///
    /// # Panics
    /// When its numbers are impossible, or once the engine runs.
    #[track_caller]
    pub fn register<I, O>(&mut self, saga: &Saga<I, O>) {
        assert!(self.process.is_none(), "register every workflow before the first start");
        let definition = saga.resolve(&self.policies).unwrap_or_else(|problems| panic!("{problems}"));
        let definition = intercepted(&definition, &self.faults);
        self.records.know(definition.plan.clone());
        self.definitions.push(definition);
    }

    /// Starts a saga. It is durable when this returns, and its first attempts may be under way already: say
    /// what participants are to do before.
    ///
    /// # Panics
    /// When it cannot be started: see [`World::try_start`].
    #[track_caller]
    pub fn start<I: Payload, O>(&mut self, saga: &Saga<I, O>, key: &str, input: I) -> WorldSaga<O> {
        self.try_start(saga, key, input).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Starts a saga. The same key and input give the same saga.
    ///
    /// # Errors
    /// As the engine: see [`SagaStartError`].
    ///
    /// # Panics
    /// When the input cannot be written as JSON.
    pub fn try_start<I: Payload, O>(
        &mut self,
        saga: &Saga<I, O>,
        key: &str,
        input: I,
    ) -> Result<WorldSaga<O>, SagaStartError> {
        let input = Json::encode(&input).expect("a payload can be written as JSON");
        let id = self.start_json(&saga.plan().workflow, key, input)?;
        Ok(WorldSaga::new(self.records.clone(), id))
    }

    /// Starts a saga from JSON; what [`World::start`] does for typed workflows.
    ///
    /// A process that dies meanwhile is started again, and so is the saga, as a careful caller does.
    ///
    /// # Errors
    /// As the engine: see [`SagaStartError`].
    pub fn start_json(&mut self, workflow: &str, key: &str, input: Json) -> Result<SagaId, SagaStartError> {
        loop {
            let options = StartOptions::default();
            let (workflow, key, input) = (workflow.to_owned(), key.to_owned(), input.clone());
            let started = self.drive(|engine| async move {
                engine.start_json(&workflow, &key, input, options).await.map(|handle| handle.id())
            });
            if let Some(started) = started {
                if let Ok(saga) = &started {
                    self.sagas.insert(*saga, false);
                }
                return started;
            }
        }
    }

    /// Lets virtual time pass.
    pub fn run_for(&mut self, duration: Duration) {
        let until = self.now() + duration;
        while self.now() < until {
            let clock = self.clock.clone();
            self.drive(|_| async move { clock.sleep_until(until).await });
        }
    }

    /// The process dies at once, in the middle of anything. The next thing that is asked of the world starts
    /// a new one on the same store, which recovers what was under way.
    pub fn crash(&mut self) {
        self.crashed = true;
        self.process = None;
        self.clock.process_ended();
    }

    /// The process will die at the `n`th commit of this world, counted from 1.
    pub fn crash_at_commit(&mut self, n: u64, side: Side) {
        self.store.crash_at(n, side);
    }

    /// Every saga will be cancelled once `n` commits were made.
    pub fn cancel_at_commit(&mut self, n: u64) {
        self.cancel_at = Some(n);
    }

    /// Puts a fault in front of a step.
    pub fn inject(&mut self, fault: Fault) {
        self.faults.add(fault);
    }

    /// The present virtual time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The world's clock, for participants.
    pub fn clock(&self) -> Arc<dyn Clock> {
        self.clock.clone()
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Commits made so far.
    pub fn commits(&self) -> u64 {
        self.store.commits()
    }

    /// Has every saga ended? Otherwise something waits for a person, once the world has settled.
    pub fn all_ended(&self) -> bool {
        self.views().iter().all(|view| view.phase.is_ended())
    }

    /// Has a process died?
    pub fn crashed(&self) -> bool {
        self.crashed
    }

    pub(crate) fn keep_ledger(&mut self, ledger: Ledger) {
        self.ledgers.push(ledger);
    }

    pub(crate) fn ledgers(&self) -> &[Ledger] {
        &self.ledgers
    }

    pub(crate) fn faults(&self) -> &Faults {
        &self.faults
    }

    pub(crate) fn plans(&self) -> impl Iterator<Item = &Arc<SagaPlan>> {
        self.definitions.iter().map(|definition| &definition.plan)
    }

    /// Every saga, in the order of their starts.
    pub(crate) fn views(&self) -> Vec<SagaView> {
        self.sagas.keys().map(|saga| self.view(*saga)).collect()
    }

    fn view(&self, saga: SagaId) -> SagaView {
        self.records.view(saga)
    }

    /// Does something with the engine; `None` if the process died of it.
    fn drive<T, Doing: Future<Output = T>>(&mut self, something: impl FnOnce(Engine) -> Doing) -> Option<T> {
        let process = match self.process.take() {
            Some(process) => process,
            None => self.begin_process(),
        };
        let doing = something(process.engine.clone());
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let done = process.runtime.block_on(async move {
            let done = tokio::select! {
                biased;
                () = store.died() => None,
                done = doing => Some(done),
            };
            clock.now();
            done
        });
        self.process = Some(process);
        if done.is_none() {
            self.crash();
        }
        done
    }

    fn begin_process(&self) -> Process {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime without IO needs nothing of the system");
        self.store.process_begins();
        let builder = Engine::builder(Arc::new(self.store.clone()))
            .clock(self.clock.clone())
            .ids(self.ids.clone())
            .policies(self.policies.clone())
            .limits(Limits { claim_every: Duration::from_secs(60), ..Limits::default() });
        let builder = self.definitions.iter().cloned().fold(builder, EngineBuilder::register);
        let engine = runtime.block_on(async {
            self.clock.process_begins();
            builder.start().await
        });
        let engine = engine.unwrap_or_else(|error| panic!("the engine starts: {error}"));
        Process { engine, runtime }
    }
}
