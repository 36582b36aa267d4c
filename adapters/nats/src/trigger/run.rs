//! Triggers that run.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use amends::ports::{Clock, SystemClock};
use amends::{Engine, Payload};
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use super::ending::Counters;
use super::work::Running;
use super::{Declared, Trigger};
use crate::connection::Connection;
use crate::declare::DeclareError;
use crate::readiness::{Readiness, TriggerReadiness};
use crate::taking::{self, Taker, Wanted};

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
        let (loops, changed) = (TaskTracker::new(), Arc::new(Notify::new()));
        let mut ready = Vec::new();
        for Declared { consumer, stream, create, limits, starter } in declared {
            let wanted = Wanted {
                stream,
                engine: Some(engine.clone()),
                create,
                in_hand_max: limits.in_hand_max,
                pull: (limits.pull_expires, limits.heartbeat),
                ..Wanted::new(consumer)
            };
            let taker = Taker::with(connection.clone(), wanted, clock.clone(), changed.clone());
            let consumer = taker.declare().await?;
            ready.push((Arc::new(Running { taker, limits, starter, engine: engine.clone() }), consumer));
        }
        let mut all = Vec::new();
        for (running, consumer) in ready {
            running.taker.status.pulls();
            loops.spawn(taking::run(running.clone(), Some(consumer)));
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
        let of = self.all.iter().find(|running| running.taker.wanted.consumer.name == consumer);
        of.map(|running| running.taker.tally.read().into())
    }

    /// How the connection and the triggers stand. [`Readiness::with`] adds the consumers of replies and commands.
    pub fn readiness(&self) -> Readiness {
        let triggers = self.all.iter().map(|running| readiness(running)).collect();
        Readiness { triggers, ..self.connection.readiness() }
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
        self.all.iter().for_each(|running| running.taker.close());
        self.loops.wait().await;
        let until = self.clock.now() + grace;
        let all_ended = async {
            for running in &self.all {
                running.taker.in_hand.wait().await;
            }
        };
        tokio::select! {
            biased;
            () = all_ended => return,
            () = self.clock.sleep_until(until) => {}
        }
        self.all.iter().for_each(|running| running.taker.give_back());
        for running in &self.all {
            running.taker.in_hand.wait().await;
        }
    }
}

fn readiness(running: &Running) -> TriggerReadiness {
    let (totals, report) = running.taker.report();
    let of = &running.taker.wanted.consumer;
    TriggerReadiness {
        consumer: of.name.clone(),
        stream: of.stream.clone(),
        workflow: running.starter.workflow().to_owned(),
        state: report.state,
        stalled_since: report.stalled_since,
        held: report.held,
        differences: report.differences,
        counters: totals.into(),
    }
}

impl Drop for Triggers {
    fn drop(&mut self) {
        for running in &self.all {
            running.taker.close();
            running.taker.give_back();
        }
    }
}
