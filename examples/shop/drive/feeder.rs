//! Starting sagas, in the order in which their lines arrive.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use amends::core::event::Trigger;
use amends::engine::SagaStartError;
use amends::{Engine, SagaHandle, StartOptions};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;

use super::Started;
use crate::load::{Event, Line, SagaName, Start};
use crate::nats::{Incoming, Taken};
use crate::participants::Participants;

/// What the drive is told.
pub enum Fed {
    /// The saga is there.
    Started {
        line: usize,
        name: SagaName,
        handle: SagaHandle,
        permit: Option<OwnedSemaphorePermit>,
        started: Started,
    },
    /// The line started nothing.
    Not { line: usize, started: Started },
    /// A database did not answer: the same line may be fed again.
    Failed { line: usize, why: String },
}

/// Starts sagas side by side, as long as not too many are under way. What comes later about the same saga, the
/// same again or a conflict, waits for what came before it.
pub struct Feeder {
    pub starter: Starter,
    pub settled: watch::Receiver<HashSet<SagaName>>,
    pub in_flight: usize,
    pub fed: mpsc::Sender<Fed>,
}

/// Starts one saga.
#[derive(Clone)]
pub struct Starter {
    pub engine: Engine,
    pub participants: Participants,
    pub source: Arc<str>,
    /// Lines are published, if there is a way for them, and triggers start their sagas.
    pub incoming: Option<Incoming>,
}

impl Feeder {
    /// Returns when everything is fed, or nobody listens any more.
    pub async fn feed(mut self, lines: Vec<Line>) {
        let room = Arc::new(Semaphore::new(self.in_flight));
        let mut seen: HashSet<SagaName> = HashSet::new();
        let mut starting = JoinSet::new();
        for Line { number, event } in lines {
            let Event::Start(start) = event else { continue };
            if let Some(earlier) = start.after.as_ref().filter(|earlier| seen.contains(*earlier)) {
                // Whoever gives something back has got it before.
                if self.settled.wait_for(|settled| settled.contains(earlier)).await.is_err() {
                    return;
                }
            }
            let first = seen.insert(start.saga.clone());
            let permit = if first {
                Some(room.clone().acquire_owned().await.expect("the semaphore is never closed"))
            } else {
                finish(&mut starting).await;
                None
            };
            let (starter, fed) = (self.starter.clone(), self.fed.clone());
            let one = async move {
                if let Some(news) = starter.start(number, *start, permit).await {
                    // Nobody listens: the drive has ended, and so will the feeder.
                    let _ = fed.send(news).await;
                }
            };
            if self.fed.is_closed() {
                return;
            }
            starting.spawn(one);
        }
        finish(&mut starting).await;
    }
}

/// Waits for everything that is being started.
async fn finish(starting: &mut JoinSet<()>) {
    while let Some(started) = starting.join_next().await {
        started.expect("a start ends with news, whatever it meets");
    }
}

impl Starter {
    /// None: the engine has stopped. The first line of a saga comes with a permit, and plans its faults.
    async fn start(&self, line: usize, start: Start, permit: Option<OwnedSemaphorePermit>) -> Option<Fed> {
        if permit.is_some()
            && let Err(error) = self.participants.plan(&start.saga.key, &start.faults).await
        {
            return Some(Fed::Failed { line, why: error.to_string() });
        }
        match &self.incoming {
            Some(incoming) => self.publish(incoming, line, start, permit).await,
            None => self.call(line, start, permit).await,
        }
    }

    /// By an event, of which a trigger makes the saga.
    async fn publish(
        &self,
        incoming: &Incoming,
        line: usize,
        start: Start,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Option<Fed> {
        let started = if permit.is_some() { Started::New } else { Started::Duplicate };
        let taken = match incoming.publish(line, &start).await {
            Ok(()) => incoming.taken(&self.engine, &start).await,
            Err(why) => Err(why),
        };
        let name = start.saga;
        match taken {
            Ok(Taken::Same(handle)) => Some(Fed::Started { line, name, handle, permit, started }),
            Ok(Taken::Conflict) => Some(Fed::Not { line, started: Started::Conflict(name) }),
            Ok(Taken::Stopped) => None,
            Err(why) => Some(Fed::Failed { line, why }),
        }
    }

    async fn call(&self, line: usize, start: Start, permit: Option<OwnedSemaphorePermit>) -> Option<Fed> {
        let Start { saga: name, input, .. } = start;
        let trigger = Trigger {
            source: self.source.to_string(),
            position: Some(line.to_string()),
            event_id: None,
            event_type: None,
            event_version: None,
        };
        let options = StartOptions { trigger: Some(trigger), ..StartOptions::default() };
        let started = if permit.is_some() { Started::New } else { Started::Duplicate };
        match self.engine.start_json(&name.workflow, &name.key, input, options).await {
            Ok(handle) => Some(Fed::Started { line, name, handle, permit, started }),
            Err(SagaStartError::Conflict { .. }) => Some(Fed::Not { line, started: Started::Conflict(name) }),
            Err(SagaStartError::Stopped) => None,
            Err(error) => Some(Fed::Not { line, started: Started::Refused(error.to_string()) }),
        }
    }
}

/// The order in which the lines arrive: that of the file, or for a `seed` other than 0 a shuffled one, in which
/// lines about one order, its refunds included, keep theirs.
pub fn arrival(lines: Vec<Line>, seed: u64) -> Vec<Line> {
    if seed == 0 {
        return lines;
    }
    let subject = |line: &Line| match &line.event {
        Event::Start(start) => start.after.clone().unwrap_or_else(|| start.saga.clone()),
        Event::Operator(operator) => operator.saga.clone(),
    };
    let mut places: Vec<usize> = (0..lines.len()).collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut places);
    let mut of_subject: HashMap<SagaName, Vec<usize>> = HashMap::new();
    for (line, place) in lines.iter().zip(places) {
        of_subject.entry(subject(line)).or_default().push(place);
    }
    for places in of_subject.values_mut() {
        // Taken from the end: the first line of a subject gets the earliest of its places.
        places.sort_unstable_by(|a, b| b.cmp(a));
    }
    let mut arriving = BTreeMap::new();
    for line in lines {
        let places = of_subject.get_mut(&subject(&line)).expect("every subject was counted");
        arriving.insert(places.pop().expect("every line was counted"), line);
    }
    arriving.into_values().collect()
}
