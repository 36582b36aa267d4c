//! Several nodes on one store, in one thread, in virtual time.
//!
//! Each node is a whole engine on a runtime of its own, and runs only when the cluster lets it: a node that is
//! killed loses its runtime in the middle of anything, one that is frozen is simply not run. A runtime is run
//! until nothing in it can go on; then time jumps to the next sleeper of any node.

mod time;
mod wire;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use amends::authoring::{Definition, Payload, Policies, Saga};
use amends::engine::StartError;
use amends::memory::MemoryStore;
use amends::ports::{Clock, OutboxKind, Publisher, RandomIds, SagaRow, Store};
use amends::{Engine, EngineBuilder, Limits, SagaView, StopReason};
use amends_core::{Incarnation, SagaId, SagaPlan, Timestamp};
use futures_util::FutureExt as _;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::ledger::Ledger;
use crate::world::BEGINNING;
use time::{ClusterClock, Time};
pub use wire::Wire;

/// Several nodes that share one store in memory, with one virtual time and one seed.
///
/// *When to use*: for what becomes of sagas when nodes come, go, freeze and lose their way to the store. For
/// what one engine does with a saga a [`World`](crate::World) says more.
///
/// *Guarantees*: the same seed and the same test give the same story.
pub struct Cluster {
    time: Arc<Time>,
    ids: Arc<RandomIds>,
    store: Arc<dyn Store>,
    limits: Limits,
    policies: Policies,
    commands: Option<Arc<dyn Publisher>>,
    nodes: Vec<Node>,
    plans: Vec<Arc<SagaPlan>>,
    /// Where everything runs that is on no node.
    outside: Runtime,
    /// Has anybody been woken whom time does not wake?
    stirred: Box<dyn Fn() -> bool>,
}

/// A node of a [`Cluster`], also after it is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeId(usize);

struct Node {
    wire: Wire,
    engine: Engine,
    /// None once the process is dead.
    runtime: Option<Runtime>,
    frozen: bool,
}

/// Longer than anything that is awaited here takes.
const PATIENCE: Duration = Duration::from_secs(24 * 3_600);

impl Cluster {
    /// A cluster without nodes, with the fixed seed.
    #[expect(clippy::new_without_default, reason = "a cluster is an actor of a test, not a value")]
    pub fn new() -> Self {
        Self::seeded(crate::World::SEED)
    }

    /// A cluster with a seed of your own.
    pub fn seeded(seed: u64) -> Self {
        Self::on(seed, |_| Arc::new(MemoryStore::shared()))
    }

    /// A cluster on a store of your own, which gets the cluster's clock.
    pub fn on(seed: u64, store: impl FnOnce(Arc<dyn Clock>) -> Arc<dyn Store>) -> Self {
        let time = Time::beginning_at(BEGINNING);
        let clock = Arc::new(ClusterClock { time: time.clone(), ahead: Duration::ZERO });
        Self {
            time,
            ids: Arc::new(RandomIds::seeded(seed)),
            store: store(clock),
            limits: Limits::default(),
            policies: Policies::new(),
            commands: None,
            nodes: Vec::new(),
            plans: Vec::new(),
            outside: runtime(),
            stirred: Box::new(|| false),
        }
    }

    /// The limits of nodes that join from now on.
    pub fn limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// What dependencies can bear, for nodes that join from now on.
    pub fn policies(&mut self, policies: Policies) {
        self.policies = policies;
    }

    /// Who publishes commands, on nodes that join from now on.
    pub(crate) fn commands(&mut self, publisher: Arc<dyn Publisher>) {
        self.commands = Some(publisher);
    }

    /// Something runs on no node, for as long as it likes.
    pub(crate) fn outside(&self, something: impl Future<Output = ()> + Send + 'static) {
        self.outside.spawn(something);
    }

    /// Whoever is woken by others, and not by time, goes on before time does: `stirred` says whether there was somebody.
    pub(crate) fn while_stirred(&mut self, stirred: impl Fn() -> bool + 'static) {
        self.stirred = Box::new(stirred);
    }

    /// The clock that is right.
    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(ClusterClock { time: self.time.clone(), ahead: Duration::ZERO })
    }

    /// A ledger for participants of this cluster. They live on whatever becomes of its nodes.
    pub fn ledger(&self) -> Ledger {
        Ledger::on(self.clock())
    }

    /// The present time.
    pub fn now(&self) -> Timestamp {
        self.time.now()
    }

    /// A new node joins that runs these workflows.
    pub fn join(&mut self, workflows: &[&Definition]) -> NodeId {
        self.join_ahead(workflows, Duration::ZERO)
    }

    /// A new node joins whose clock is ahead of the others.
    ///
    /// # Panics
    /// When its engine cannot start.
    pub fn join_ahead(&mut self, workflows: &[&Definition], ahead: Duration) -> NodeId {
        let name = self.next_name();
        self.join_as(&name, workflows, ahead)
    }

    /// A new node joins under a name of yours, which others may have had or have, with a clock that is so far ahead.
    ///
    /// # Panics
    /// When its engine cannot start.
    pub fn join_as(&mut self, name: &str, workflows: &[&Definition], ahead: Duration) -> NodeId {
        self.enter(name, workflows, ahead).unwrap_or_else(|error| panic!("the engine starts: {error}"))
    }

    /// A new node tries to join, and may be refused.
    ///
    /// # Errors
    /// Why its engine cannot start.
    pub fn try_join(&mut self, workflows: &[&Definition]) -> Result<NodeId, StartError> {
        let name = self.next_name();
        self.enter(&name, workflows, Duration::ZERO)
    }

    fn next_name(&self) -> String {
        format!("node-{}", self.nodes.len())
    }

    fn enter(
        &mut self,
        name: &str,
        workflows: &[&Definition],
        ahead: Duration,
    ) -> Result<NodeId, StartError> {
        let clock = Arc::new(ClusterClock { time: self.time.clone(), ahead });
        let wire = Wire::new(self.store.clone(), clock.clone());
        let runtime = runtime();
        let builder = Engine::builder(Arc::new(wire.clone()))
            .node_name(name)
            .clock(clock)
            .ids(self.ids.clone())
            .policies(self.policies.clone())
            .limits(self.limits.clone());
        let all = workflows.iter().copied().cloned();
        let builder = all.fold(builder, EngineBuilder::register);
        let builder = match &self.commands {
            Some(publisher) => builder.publisher_of(OutboxKind::Command, publisher.clone()),
            None => builder,
        };
        let engine = runtime.block_on(builder.start())?;
        self.plans.extend(workflows.iter().map(|workflow| workflow.plan.clone()));
        self.nodes.push(Node { wire, engine, runtime: Some(runtime), frozen: false });
        Ok(NodeId(self.nodes.len() - 1))
    }

    /// Kills a node, in the middle of anything.
    pub fn kill(&mut self, node: NodeId) {
        self.nodes[node.0].runtime = None;
    }

    /// Stops a node as a debugger, a hypervisor or a closed lid does: nothing of it runs, and it does not know.
    pub fn freeze(&mut self, node: NodeId) {
        self.nodes[node.0].frozen = true;
    }

    /// A frozen node goes on where it was.
    pub fn wake(&mut self, node: NodeId) {
        self.nodes[node.0].frozen = false;
    }

    /// A node shuts down in an orderly way, and is gone.
    ///
    /// # Panics
    /// When it cannot tell the store.
    pub fn drain(&mut self, node: NodeId, grace: Duration) {
        let drained = self.ask(node, async move |engine| engine.shutdown(grace).await);
        drained.unwrap_or_else(|error| panic!("the node drains: {error}"));
        self.kill(node);
    }

    /// The node's way to the store.
    pub fn wire(&self, node: NodeId) -> &Wire {
        &self.nodes[node.0].wire
    }

    /// Why the node's engine runs no more; none while it runs.
    pub fn stopped(&self, node: NodeId) -> Option<&StopReason> {
        self.nodes[node.0].engine.stopped()
    }

    /// Starts a saga on a node. It is durable when this returns.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start<I: Payload, O: 'static>(
        &mut self,
        node: NodeId,
        saga: &Saga<I, O>,
        key: &str,
        input: I,
    ) -> SagaId {
        let (saga, key) = (saga.clone(), key.to_owned());
        let started =
            self.ask(node, async move |engine| engine.start(&saga, key, input).await.map(|s| s.id()));
        started.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Asks something of a node's engine, and lets time pass until it has answered.
    ///
    /// # Panics
    /// When it does not answer within a day, or the node is dead.
    pub fn ask<T, F>(&mut self, node: NodeId, something: impl FnOnce(Engine) -> F) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let asked = self.begin(node, something).expect("only a living node can be asked");
        self.run_until(PATIENCE, |_| asked.is_finished());
        let runtime = self.nodes[node.0].runtime.as_ref().expect("it has answered");
        runtime.block_on(asked).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Asks something of a node's engine, and lets no time pass: the answer comes while the cluster runs. None if
    /// the node is dead; one that dies later cancels it.
    pub fn begin<T, F>(&self, node: NodeId, something: impl FnOnce(Engine) -> F) -> Option<JoinHandle<T>>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let Node { runtime, engine, .. } = &self.nodes[node.0];
        runtime.as_ref().map(|runtime| runtime.spawn(something(engine.clone())))
    }

    /// Lets time pass.
    pub fn run_for(&mut self, duration: Duration) {
        let until = self.now() + duration;
        while self.run_once(until) {}
    }

    /// Lets time pass until something is so, and says how long that took.
    ///
    /// # Panics
    /// When it is not so within the given time.
    #[track_caller]
    pub fn run_until(&mut self, within: Duration, mut is_so: impl FnMut(&Self) -> bool) -> Duration {
        let begun = self.now();
        let until = begun + within;
        loop {
            self.run_nodes();
            if is_so(self) {
                return self.now().since(begun);
            }
            assert!(self.run_once(until), "it is not so within {within:?}");
        }
    }

    /// The row of a saga.
    ///
    /// # Panics
    /// When there is no such saga.
    pub fn row(&self, saga: SagaId) -> SagaRow {
        self.loaded(saga).row
    }

    /// Everything that is recorded of a saga.
    ///
    /// # Panics
    /// When there is no such saga, or its journal cannot be read.
    pub fn view(&self, saga: SagaId) -> SagaView {
        let loaded = self.loaded(saga);
        let definition = &loaded.row.definition;
        let plan = self.plans.iter().find(|plan| plan.digest.0 == definition.digest);
        let plan = plan.expect("a saga of this cluster has a registered workflow").clone();
        SagaView::new(plan, &loaded, self.now()).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Have all of these ended?
    pub fn all_ended(&self, sagas: &[SagaId]) -> bool {
        sagas.iter().all(|saga| self.row(*saga).ended_at.is_some())
    }

    /// The incarnation that a node is, or was.
    pub fn incarnation(&self, node: NodeId) -> Incarnation {
        self.nodes[node.0].engine.incarnation()
    }

    /// How many sagas a node owns, as the store knows.
    pub fn owned(&self, node: NodeId) -> usize {
        let incarnation = self.nodes[node.0].engine.incarnation();
        at_once(self.store.mine(incarnation, None, u32::MAX)).len()
    }

    /// How many nodes the store takes for alive.
    pub fn alive(&self) -> usize {
        at_once(self.store.peers()).len()
    }

    fn loaded(&self, saga: SagaId) -> amends::ports::Loaded {
        at_once(self.store.read(saga)).expect("a saga of this cluster exists")
    }

    /// Lets every node do what it can do now.
    fn run_nodes(&mut self) {
        for node in self.nodes.iter().filter(|node| !node.frozen) {
            if let Some(runtime) = &node.runtime {
                runtime.block_on(nothing_can_go_on());
            }
        }
        self.outside.block_on(nothing_can_go_on());
    }

    /// Lets every node do what it can do, and moves to the next time that anybody waits for. Says whether there
    /// is time left before `until`.
    pub(crate) fn run_once(&mut self, until: Timestamp) -> bool {
        self.run_nodes();
        while (self.stirred)() {
            self.run_nodes();
        }
        let next = self.time.next().map_or(until, |next| next.min(until));
        let time_is_left = self.now() < until;
        self.time.advance_to(next);
        time_is_left
    }
}

/// A runtime whose own time stands still.
fn runtime() -> Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime without IO needs nothing of the system")
}

/// Returns when nothing else in this runtime can go on. Its paused time moves only then, and nothing but this
/// waits for it: the nodes' own time is the cluster's.
#[expect(
    clippy::disallowed_methods,
    reason = "no time passes: it is how a paused runtime says that it is idle"
)]
async fn nothing_can_go_on() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

fn at_once<T>(answer: impl Future<Output = Result<T, amends::ports::Fault>>) -> T {
    let answer = answer.now_or_never().expect("a store in memory answers at once");
    answer.expect("a store in memory answers")
}
