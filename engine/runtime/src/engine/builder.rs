//! Putting an engine together.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use amends_core::Incarnation;
use amends_core::state::Phase;

use super::{Engine, LaneShares, Reads, Retention, StartError};
use crate::authoring::{Definition, Policies, RegistrationErrors, Saga};
use crate::controls::Board;
use crate::ports::{
    Clock, ControlStore, Damaged, DeskQuery, INTAKE_OPEN_MAX, Ids, IntakeStore, Introduced, MAIL_OPEN_MAX,
    NodeProfile, NodeRegistry, NodeStore, Notifier, Notifying, OutboxKind, OutboxStore, Publisher,
    PurgeStore, RandomIds, SagaFilter, SagaMail, SagaQuery, SagaRow, SagaStore, Sharing, Store, SystemClock,
    VERSION_MAX,
};
use crate::visible::visible;
use crate::worker::{self, Audience, Definitions, Publishers};

/// What is bounded, and how. Every number has a default; none is part of any saga's truth. A bound of zero
/// counts as one: an engine that may do nothing would be a riddle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Sagas in memory. Starts wait beyond it. Past half of it, a saga that would sleep for longer than
    /// [`Self::release_after`] is given up in the commit that puts it to sleep, and claimed again when it is
    /// due: so sleeping sagas never take more than half. Default 10 000.
    pub max_active: usize,
    /// Attempts and queries under way. They are futures in this process, mostly waiting for the network, so
    /// the default is generous: 1 024.
    pub max_running: usize,
    /// How the four lanes share that bound, and those of each dependency, while they compete. What a dependency
    /// can bear stands in the catalogue: [`Policies::dependency`].
    pub lanes: LaneShares,
    /// Starts that wait for the worker; more wait with their callers. Default 1 024.
    pub starts_waiting_max: usize,
    /// How often sagas that are due, and mail, are looked for. What is posted through this engine is not kept
    /// waiting for that. Default 1 s.
    pub claim_every: Duration,
    /// How long a saga must sleep to be worth giving up; and after how long one comes back that was given up because
    /// dependencies held it up. Default 60 s.
    pub release_after: Duration,
    /// Where nodes share the store: a node whose heartbeat counter the others have seen unchanged for so long is
    /// dismissed, and its sagas go on elsewhere. It beats ten times per lease, and stops acting half a lease
    /// after the last heartbeat that succeeded. Shorter: quicker recovery, and a node that is merely slow (a
    /// stalled disk, a starved scheduler) loses its sagas sooner, with every attempt under way in doubt. Longer:
    /// the sagas of a dead node wait longer. Give all nodes of a store the same. Not used where one process
    /// owns the store. Default 10 s; at least 100 ms.
    pub lease: Duration,
    /// The most undecided mail of one saga: whoever posts more is told to come again. Default 64.
    pub mail_open_max: u32,
    /// How long what runs is awaited when the node is drained from elsewhere, before it leaves. Default 30 s.
    pub drain_within: Duration,
    /// The most messages of one source that became no saga and wait for a person: whoever brings more is told to stop.
    /// Default 10 000.
    pub intake_open_max: u32,
    /// How long what has ended is kept. Default: for ever. Give all nodes of a store the same.
    pub retention: Retention,
    /// How long whoever asks something of a saga waits for the answer. What was asked stays, and is answered
    /// later under the same operation id. Default 30 s.
    pub answer_within: Duration,
    /// Messages of each kind that are published at the same time. Default 64.
    pub publishing_max: usize,
    /// How long the acknowledgement of a message is awaited before the same message is published again. Default
    /// 10 s.
    pub publish_within: Duration,
}

/// Below this, ten heartbeats per lease would be a load and no safety.
const LEASE_MIN: Duration = Duration::from_millis(100);

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_active: 10_000,
            max_running: 1_024,
            lanes: LaneShares::default(),
            starts_waiting_max: 1_024,
            claim_every: Duration::from_secs(1),
            release_after: Duration::from_secs(60),
            lease: Duration::from_secs(10),
            mail_open_max: MAIL_OPEN_MAX,
            drain_within: Duration::from_secs(30),
            intake_open_max: INTAKE_OPEN_MAX,
            retention: Retention::default(),
            answer_within: Duration::from_secs(30),
            publishing_max: 64,
            publish_within: Duration::from_secs(10),
        }
    }
}

/// An engine that is being put together.
#[must_use = "an engine runs nothing until `start`"]
pub struct EngineBuilder {
    store: Arc<dyn SagaStore>,
    nodes: Arc<dyn NodeStore>,
    query: Arc<dyn SagaQuery>,
    mail: Arc<dyn SagaMail>,
    controls: Arc<dyn ControlStore>,
    outbox: Arc<dyn OutboxStore>,
    publishers: Publishers,
    audience: Audience,
    intake: Arc<dyn IntakeStore>,
    registry: Arc<dyn NodeRegistry>,
    desks: Arc<dyn DeskQuery>,
    purge: Arc<dyn PurgeStore>,
    policies: Policies,
    workflows: Vec<Resolve>,
    node_name: String,
    build: Option<String>,
    host: Option<String>,
    limits: Limits,
    clock: Option<Arc<dyn Clock>>,
    ids: Option<Arc<dyn Ids>>,
}

impl EngineBuilder {
    pub(super) fn new<S: Store>(store: Arc<S>) -> Self {
        Self {
            store: store.clone(),
            nodes: store.clone(),
            query: store.clone(),
            mail: store.clone(),
            controls: store.clone(),
            outbox: store.clone(),
            publishers: Publishers::default(),
            audience: Audience::default(),
            intake: store.clone(),
            registry: store.clone(),
            desks: store.clone(),
            purge: store,
            policies: Policies::new(),
            workflows: Vec::new(),
            node_name: "amends".to_owned(),
            build: None,
            host: host_name(),
            limits: Limits::default(),
            clock: None,
            ids: None,
        }
    }

    /// Replaces the catalogue of named policies. Default: the defaults only.
    pub fn policies(mut self, catalogue: Policies) -> Self {
        self.policies = catalogue;
        self
    }

    /// Adds a workflow. In-flight sagas finish on the version they began with, so keep old versions
    /// registered until their sagas have ended.
    pub fn register(mut self, workflow: impl Registrable) -> Self {
        self.workflows.push(Box::new(move |policies| workflow.resolve(policies)));
        self
    }

    /// Publishes every kind of messages through `publisher`, in place of what was given before.
    pub fn publisher(mut self, publisher: Arc<dyn Publisher>) -> Self {
        for kind in OutboxKind::ALL {
            self.publishers.set(kind, publisher.clone());
        }
        self
    }

    /// Publishes one kind of messages through `publisher`, in place of what was given before. What nobody publishes
    /// is not written. Give all nodes of a store publishers of the same kinds: a node publishes what others wrote.
    pub fn publisher_of(mut self, kind: OutboxKind, publisher: Arc<dyn Publisher>) -> Self {
        self.publishers.set(kind, publisher);
        self
    }

    /// Tells `notifier` of every desk entry, at least once, in place of the line in the log. The same as a publisher
    /// of [`OutboxKind::Notice`].
    pub fn notifier(self, notifier: Arc<dyn Notifier>) -> Self {
        self.publisher_of(OutboxKind::Notice, Arc::new(Notifying(notifier)))
    }

    /// Publishes what happens in the life of this workflow's sagas, of all its versions: started, completed,
    /// compensated, closed, needs-attention, attention-ended. Each is a CloudEvents 1.0 document in JSON. Of a saga
    /// one is published when the one before was acknowledged; after a failure one may come again, under its id.
    /// Its `sequence` grows with every event of its `subject`, as text too: drop what is not greater. It needs a
    /// publisher of [`OutboxKind::Event`].
    pub fn events(mut self, workflow: impl Into<Arc<str>>) -> Self {
        self.audience.events.insert(workflow.into());
        self
    }

    /// What the store calls this process. Default `amends`.
    pub fn node_name(mut self, name: impl Into<String>) -> Self {
        self.node_name = name.into();
        self
    }

    /// Which build this process runs, as your releases name it: written down beside its definitions. At most 200
    /// bytes are kept. Default none.
    pub fn build_id(mut self, build: impl Into<String>) -> Self {
        self.build = Some(build.into());
        self
    }

    /// Where this process runs. At most 200 bytes are kept. Default: the name of the host, where the system tells it
    /// (on Linux).
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.host = Some(host.into());
        self
    }

    /// Replaces the bounds.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Purges sagas so long after their end: see [`Retention::purge_after`]. Default: never.
    pub fn purge_after(mut self, after: Duration) -> Self {
        self.limits.retention.purge_after = Some(after);
        self
    }

    /// Forgets purged sagas so long after their end, and refuses starts that are older: see
    /// [`Retention::forget_after`]. Default: never.
    pub fn forget_after(mut self, after: Duration) -> Self {
        self.limits.retention.forget_after = Some(after);
        self
    }

    /// Replaces the clock: for simulations.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Replaces the source of ids: for simulations.
    pub fn ids(mut self, ids: Arc<dyn Ids>) -> Self {
        self.ids = Some(ids);
        self
    }

    /// Registers everything or nothing, joins the store, and begins to work: sagas that were under way when
    /// the last process ended are taken up by the same code as those that are due.
    ///
    /// # Errors
    /// All mistakes of registration at once; or the store does not let this process in.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn start(self) -> Result<Engine, StartError> {
        let Self { store, nodes, query, mail, controls, outbox, intake, purge, .. } = self;
        let Self { registry, desks, policies, workflows, node_name, build, host, .. } = self;
        let Self { limits, clock, ids, .. } = self;
        let definitions = Arc::new(registered(workflows, &policies)?);
        let Publishing { publishers, audience } = publishing(self.publishers, self.audience, &definitions)?;
        same_shapes(&*query, &definitions).await?;
        let clock = clock.unwrap_or_else(|| Arc::new(SystemClock::new()));
        let ids = ids.unwrap_or_else(|| Arc::new(RandomIds::from_system()));
        let now = clock.now();
        let incarnation = Incarnation(ids.next(now));
        let joined = clock.elapsed();
        store.join(incarnation, &node_name, now).await?;
        let limits = Limits {
            max_active: limits.max_active.max(1),
            max_running: limits.max_running.max(1),
            starts_waiting_max: limits.starts_waiting_max.max(1),
            lease: limits.lease.max(LEASE_MIN),
            mail_open_max: limits.mail_open_max.max(1),
            publishing_max: limits.publishing_max.max(1),
            intake_open_max: limits.intake_open_max.max(1),
            retention: limits.retention.bounded(),
            ..limits
        };
        let shared = nodes.sharing() == Sharing::Shared;
        let profile = NodeProfile {
            build: build.map(kept),
            host: host.map(kept),
            definitions: definitions.references().to_vec(),
            lease: shared.then_some(limits.lease),
        };
        if let Introduced::OtherLease(others) = registry.introduce(incarnation, &profile).await? {
            // It has a row and nothing else: if this does not get through, the others dismiss it.
            let _ = store.leave(incarnation, clock.now()).await;
            return Err(StartError::OtherLease { lease: limits.lease, others });
        }
        let called = match &profile.host {
            Some(host) => format!("{node_name} on {host}").into(),
            None => node_name.as_str().into(),
        };
        let board = Arc::new(Board::open(controls).await?);
        tracing::info!(%incarnation, node = node_name, "the engine runs");
        let look_every = shared.then_some(limits.claim_every);
        let dependencies = policies.dependencies().clone();
        let parts = worker::Parts {
            store,
            nodes,
            mail,
            purge,
            board,
            outbox,
            publishers,
            audience: Arc::new(audience),
            incarnation,
            called,
            definitions,
            dependencies,
            limits,
            clock,
            joined,
            ids,
        };
        let worker = worker::spawn(parts.clone());
        Ok(Engine::put_together(parts, Reads { query, registry, desks }, intake, look_every, worker))
    }
}

/// Who publishes, and who is told what.
struct Publishing {
    publishers: Publishers,
    audience: Audience,
}

/// What is to be told must have somebody who publishes it.
fn publishing(
    publishers: Publishers,
    mut audience: Audience,
    definitions: &Definitions,
) -> Result<Publishing, StartError> {
    let mut mistakes = Vec::new();
    for workflow in &audience.events {
        let mistake = if definitions.latest(workflow).is_none() {
            "it is not registered"
        } else if !publishers.publish(OutboxKind::Event) {
            "nobody publishes events; give the builder a publisher of them"
        } else {
            continue;
        };
        mistakes.push(format!("failed to publish events of workflow `{}`: {mistake}", visible(workflow)));
    }
    audience.notices = publishers.publish(OutboxKind::Notice);
    if mistakes.is_empty() {
        Ok(Publishing { publishers, audience })
    } else {
        Err(StartError::Registration(mistakes))
    }
}

/// The longest build and host that are kept, in bytes.
const SAID_BYTES_MAX: usize = 200;

/// What no store refuses.
fn kept(said: String) -> String {
    said[..said.floor_char_boundary(SAID_BYTES_MAX)].replace('\0', "\u{fffd}")
}

/// What the system calls this host.
fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// One shape per name and version, and a node for every step.
fn registered(workflows: Vec<Resolve>, policies: &Policies) -> Result<Definitions, StartError> {
    let mut all = Definitions::default();
    let mut mistakes = policies.problems_of_dependencies();
    for mistake in &mut mistakes {
        mistake.insert_str(0, "failed to read the catalogue: ");
    }
    for resolve in workflows {
        let definition = match resolve(policies) {
            Ok(definition) => definition,
            Err(errors) => {
                mistakes.push(errors.to_string());
                continue;
            }
        };
        let plan = &definition.plan;
        let (workflow, version) = (&plan.workflow, plan.version);
        if definition.nodes.len() != plan.steps.len() {
            let mistake = "it has not one node for each step";
            mistakes.push(format!("failed to register workflow `{workflow}` version {version}: {mistake}"));
        } else if version > VERSION_MAX {
            let mistake = format!("a version is at most {VERSION_MAX}");
            mistakes.push(format!("failed to register workflow `{workflow}` version {version}: {mistake}"));
        } else if all.add(&definition).is_err() {
            mistakes.push(format!(
                "failed to register workflow `{workflow}` version {version}: it is registered with two shapes, and \
                 a changed shape needs a new version"
            ));
        }
    }
    if mistakes.is_empty() { Ok(all) } else { Err(StartError::Registration(mistakes)) }
}

/// A changed shape under a live version is refused while sagas of the old shape are under way: nobody here
/// could run them. Of each workflow the oldest 1 000 of either phase are looked at; whatever has another shape is not
/// claimed, looked at or not. A damaged row is passed over, and said.
async fn same_shapes(query: &dyn SagaQuery, definitions: &Definitions) -> Result<(), StartError> {
    let mut mistakes = BTreeSet::new();
    for reference in &*definitions.references() {
        for phase in [Phase::Running, Phase::Compensating] {
            let filter = SagaFilter {
                workflow: Some(reference.workflow.to_string()),
                phase: Some(phase.word().to_owned()),
                limit: SHAPES_LOOKED_AT,
                ..SagaFilter::default()
            };
            let other_shape = |row: &&SagaRow| {
                row.definition.version == reference.version && row.definition.digest != reference.digest
            };
            let page = query.list(&filter).await?;
            for Damaged { saga, reason } in &page.damaged {
                let reason = visible(reason);
                tracing::warn!(%saga, %reason, "the row of a saga cannot be read; its shape is not looked at");
            }
            if let Some(row) = page.rows.iter().find(other_shape) {
                let (workflow, version) = (&reference.workflow, reference.version);
                mistakes.insert(format!(
                    "failed to register workflow `{workflow}` version {version}: it has another shape than when \
                     the saga of `{}` began; a changed shape needs a new version, and the old one stays \
                     registered until its sagas have ended",
                    visible(&row.key)
                ));
            }
        }
    }
    if mistakes.is_empty() { Ok(()) } else { Err(StartError::Registration(mistakes.into_iter().collect())) }
}

const SHAPES_LOOKED_AT: u32 = 1_000;

type Resolve = Box<dyn FnOnce(&Policies) -> Result<Definition, RegistrationErrors> + Send>;

/// What can be registered: a [`Saga`], or a [`Definition`] whose numbers are filled in already.
pub trait Registrable: Send + 'static {
    /// Fills in the numbers of the named policies, and checks them.
    ///
    /// # Errors
    /// All mistakes at once.
    fn resolve(&self, policies: &Policies) -> Result<Definition, RegistrationErrors>;
}

impl Registrable for Definition {
    fn resolve(&self, _policies: &Policies) -> Result<Definition, RegistrationErrors> {
        Ok(self.clone())
    }
}

impl<I: 'static, O: 'static> Registrable for Saga<I, O> {
    fn resolve(&self, policies: &Policies) -> Result<Definition, RegistrationErrors> {
        Saga::resolve(self, policies)
    }
}
