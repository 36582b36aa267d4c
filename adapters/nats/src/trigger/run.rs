//! Triggers that run.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use amends::core::Timestamp;
use amends::ports::{Clock, SystemClock};
use amends::{Engine, Payload};
use async_nats::jetstream::consumer;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::ending::{Counters, Counts};
use super::session::{self, End};
use super::status::Status;
use super::work::Running;
use super::{Declared, Trigger, advisory};
use crate::connection::Connection;
use crate::declare::{DeclareError, Difference};
use crate::readiness::{Readiness, TriggerReadiness};

/// The first and the longest wait before what broke is tried again.
const AGAIN: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// Triggers cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TriggersError {
    /// The engine does not know the workflow, or knows another shape of it: register it with the engine.
    #[error(
        "failed to start the trigger {consumer}: the workflow `{workflow}` is not registered with this engine"
    )]
    NotRegistered {
        /// The trigger's consumer.
        consumer: String,
        /// Its workflow.
        workflow: String,
    },
    /// Two triggers would share one consumer, and take each other's messages.
    #[error(
        "failed to start the triggers: two of them have the consumer {consumer} of {stream}; name one `.consumer(…)`"
    )]
    SharedConsumer {
        /// The consumer.
        consumer: String,
        /// Its stream.
        stream: String,
    },
    /// Its stream or consumer cannot be used.
    #[error(transparent)]
    Declare(#[from] DeclareError),
}

/// Triggers that are being put together.
#[must_use = "triggers start nothing until `start`"]
pub struct TriggersBuilder {
    connection: Connection,
    engine: Engine,
    clock: Arc<dyn Clock>,
    declared: Vec<Declared>,
}

impl TriggersBuilder {
    /// Adds one.
    pub fn with<I: Payload, O: 'static>(mut self, trigger: Trigger<I, O>) -> Self {
        self.declared.push(trigger.erased());
        self
    }

    /// Replaces the clock that measures waits: for simulations.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Declares or verifies streams and consumers, and begins to pull.
    ///
    /// # Errors
    /// See [`TriggersError`]; then nothing runs.
    pub async fn start(self) -> Result<Triggers, TriggersError> {
        let Self { connection, engine, clock, declared } = self;
        check(&declared, &engine)?;
        let mut ready = Vec::new();
        for declared in declared {
            let (consumer, differences) = declare(&connection, &declared).await?;
            ready.push((declared, consumer, differences));
        }
        let mut all = Vec::new();
        let (loops, changed) = (TaskTracker::new(), Arc::new(Notify::new()));
        for (declared, consumer, differences) in ready {
            let running = Arc::new(Running {
                room: Arc::new(Semaphore::new(declared.limits.in_hand_max.max(1) as usize)),
                status: Status::new(differences, clock.now(), changed.clone()),
                declared,
                connection: connection.clone(),
                engine: engine.clone(),
                clock: clock.clone(),
                counts: Counts::default(),
                in_hand: TaskTracker::new(),
                closing: CancellationToken::new(),
                giving_back: CancellationToken::new(),
            });
            loops.spawn(run(running.clone(), consumer));
            all.push(running);
        }
        loops.close();
        Ok(Triggers { connection, clock, all, loops, changed })
    }
}

fn check(declared: &[Declared], engine: &Engine) -> Result<(), TriggersError> {
    let mut names = BTreeSet::new();
    for one in declared {
        let (stream, consumer) = (one.consumer.stream.clone(), one.consumer.name.clone());
        if !one.starter.is_known_to(engine) {
            let workflow = one.starter.workflow().to_owned();
            return Err(TriggersError::NotRegistered { consumer, workflow });
        }
        if !names.insert((stream.clone(), consumer.clone())) {
            return Err(TriggersError::SharedConsumer { consumer, stream });
        }
    }
    Ok(())
}

async fn declare(
    connection: &Connection,
    declared: &Declared,
) -> Result<(consumer::Info, Vec<Difference>), DeclareError> {
    let mut differences = match &declared.stream {
        Some(stream) => connection.declare_stream(stream, declared.create).await?,
        None => Vec::new(),
    };
    let (consumer, more) = connection.declare_consumer(&declared.consumer, declared.create).await?;
    differences.extend(more);
    for difference in &differences {
        tracing::warn!(%difference, "a setting is not as it should be; it is left as it is");
    }
    Ok((consumer, differences))
}

/// Pulls for as long as the engine runs and nobody stops it. Whatever breaks is looked at and made again.
async fn run(running: Arc<Running>, first: consumer::Info) {
    let mut known = Some(first);
    let mut wait = AGAIN.0;
    while !running.closing.is_cancelled() {
        let consumer = match known.take() {
            Some(consumer) => consumer,
            None => match declare(&running.connection, &running.declared).await {
                Ok((consumer, differences)) => {
                    running.status.differs(differences);
                    consumer
                }
                Err(error) => {
                    failed(&running, error.to_string(), &mut wait).await;
                    continue;
                }
            },
        };
        let began = running.now();
        let end = tokio::select! {
            end = session::run(&running, &consumer) => end,
            () = advisory::listen(&running, &consumer) => End::Closing,
            () = close_with_engine(&running) => End::Closing,
        };
        match end {
            End::Closing => break,
            End::Broken(reason) => {
                if running.now().since(began) > AGAIN.1 {
                    wait = AGAIN.0;
                }
                failed(&running, reason, &mut wait).await;
            }
        }
    }
    let reason = match running.engine.stopped() {
        Some(reason) => format!("the engine has stopped: {reason}"),
        None => "it was stopped".to_owned(),
    };
    running.status.stopped(reason);
    running.in_hand.close();
}

/// When the engine ends, nothing more is pulled.
async fn close_with_engine(running: &Running) {
    running.engine.until_stopped().await;
    running.closing.cancel();
    std::future::pending().await
}

async fn failed(running: &Running, reason: String, wait: &mut Duration) {
    let consumer = &running.declared.consumer.name;
    tracing::warn!(consumer, reason, "a trigger does not run; it is tried again");
    running.status.fails(reason, running.now());
    tokio::select! {
        biased;
        () = running.closing.cancelled() => {}
        () = running.sleep(*wait) => {}
    }
    *wait = (*wait * 2).min(AGAIN.1);
}

/// Triggers that run. Dropped, they stop at once: what is in hand is given back, and comes again.
pub struct Triggers {
    connection: Connection,
    clock: Arc<dyn Clock>,
    all: Vec<Arc<Running>>,
    loops: TaskTracker,
    changed: Arc<Notify>,
}

impl Triggers {
    /// Begins to put triggers together that start sagas of this engine.
    pub fn on(connection: &Connection, engine: &Engine) -> TriggersBuilder {
        TriggersBuilder {
            connection: connection.clone(),
            engine: engine.clone(),
            clock: Arc::new(SystemClock::new()),
            declared: Vec::new(),
        }
    }

    /// What the trigger with this consumer has done on this node.
    pub fn counters(&self, consumer: &str) -> Option<Counters> {
        let of = self.all.iter().find(|running| running.declared.consumer.name == consumer);
        of.map(|running| running.counts.counters())
    }

    /// How everything stands.
    pub fn readiness(&self) -> Readiness {
        let now = self.clock.now();
        Readiness {
            is_connected: self.connection.is_connected(),
            version: self.connection.version(),
            refusals: self.connection.refusals(),
            triggers: self.all.iter().map(|running| readiness(running, now)).collect(),
        }
    }

    /// Waits until the triggers stand so, and tells how they stand then. It looks whenever a delivery is taken or ends,
    /// and when a trigger's state changes.
    pub async fn until(&self, mut stand_so: impl FnMut(&Readiness) -> bool) -> Readiness {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let readiness = self.readiness();
            if stand_so(&readiness) {
                return readiness;
            }
            changed.await;
        }
    }

    /// Ends in an orderly way: nothing more is pulled; what is in hand is awaited for at most `grace`, and then given
    /// back, so that another node takes it at once. Stop triggers before their engine.
    pub async fn stop(&self, grace: Duration) {
        self.all.iter().for_each(|running| running.closing.cancel());
        self.loops.wait().await;
        let until = self.clock.now() + grace;
        let all_ended = async {
            for running in &self.all {
                running.in_hand.wait().await;
            }
        };
        tokio::select! {
            biased;
            () = all_ended => return,
            () = self.clock.sleep_until(until) => {}
        }
        self.all.iter().for_each(|running| running.giving_back.cancel());
        for running in &self.all {
            running.in_hand.wait().await;
        }
    }
}

fn readiness(running: &Running, now: Timestamp) -> TriggerReadiness {
    let counters = running.counts.counters();
    let report = running.status.report(counters, now);
    TriggerReadiness {
        consumer: running.declared.consumer.name.clone(),
        stream: running.declared.consumer.stream.clone(),
        workflow: running.declared.starter.workflow().to_owned(),
        state: report.state,
        stalled_since: report.stalled_since,
        held: report.held,
        differences: report.differences,
        counters,
    }
}

impl Drop for Triggers {
    fn drop(&mut self) {
        for running in &self.all {
            running.closing.cancel();
            running.giving_back.cancel();
        }
    }
}
