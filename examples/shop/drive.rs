//! The lines go to the engine, and every saga is seen to its end, or to a desk.
//!
//! A *feeder* starts sagas in the order in which the lines arrive, as long as not too many are under way. The
//! *drive* is told of each, waits for its end, and looks at the desks: a saga that stands there with nothing
//! else to do is settled for today, unless the lines say what a person does about it.

mod feeder;
mod operators;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::Duration;

use amends::core::agenda::Wait;
use amends::core::{SagaId, Timestamp};
use amends::engine::OutcomeError;
use amends::ports::SagaFilter;
use amends::{Outcome, SagaHandle, SagaView};
use anyhow::{Context as _, bail};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::task::JoinSet;

use crate::load::{Event, Line, Operator, SagaName};
use crate::progress::{Progress, Tally};
use crate::shop::Shop;

pub use feeder::{Fed, Feeder, Starter, arrival};
use operators::is_time_for;

/// How often the desks are looked at, and progress is shown.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// More desk entries than this are not looked at in one go.
const DESK_ENTRIES_MAX: u32 = 100_000;

/// What became of the lines, as far as the databases do not say it.
#[derive(Debug, Default)]
pub struct Facts {
    /// Of each starting line, by its number.
    pub starts: BTreeMap<usize, Started>,
    /// Of each operator's line, by its number.
    pub operations: BTreeMap<usize, (Operator, String)>,
}

/// What became of a line that starts a saga.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Started {
    /// It is the first one of its saga.
    New,
    /// The same was there before.
    Duplicate,
    /// The key stands for another input; that saga is untouched.
    Conflict(SagaName),
    /// The engine does not take it.
    Refused(String),
}

/// Where a saga stands, for the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    UnderWay {
        turning_back: bool,
    },
    OnADesk,
    Ended,
    /// It has ended, and something is done about it all the same.
    AfterTheEnd,
    SetAside,
}

struct Tracked {
    name: SagaName,
    handle: SagaHandle,
    standing: Standing,
    /// Lets the feeder start another one, once this one is settled.
    permit: Option<OwnedSemaphorePermit>,
}

/// The drive itself.
pub struct Drive<'a> {
    shop: &'a Shop,
    /// What the lines are called, in operation ids.
    source: &'a str,
    started_at: Timestamp,
    sagas: HashMap<SagaId, Tracked>,
    known: HashMap<SagaName, SagaId>,
    /// How many sagas the lines ask for.
    asked_for: usize,
    operators: HashMap<SagaName, VecDeque<(usize, Operator)>>,
    ends: JoinSet<(SagaId, Result<Outcome, OutcomeError>)>,
    settled: watch::Sender<HashSet<SagaName>>,
    facts: Facts,
}

impl<'a> Drive<'a> {
    /// Gets ready; nothing is started yet.
    pub fn new(shop: &'a Shop, source: &'a str, lines: &[Line]) -> Self {
        let mut operators: HashMap<SagaName, VecDeque<(usize, Operator)>> = HashMap::new();
        let mut names = HashSet::new();
        for line in lines {
            match &line.event {
                Event::Start(start) => drop(names.insert(&start.saga)),
                Event::Operator(operator) => {
                    operators
                        .entry(operator.saga.clone())
                        .or_default()
                        .push_back((line.number, operator.clone()));
                }
            }
        }
        Self {
            shop,
            source,
            started_at: shop.engine.now(),
            sagas: HashMap::new(),
            known: HashMap::new(),
            asked_for: names.len(),
            operators,
            ends: JoinSet::new(),
            settled: watch::Sender::new(HashSet::new()),
            facts: Facts::default(),
        }
    }

    /// Feeds the lines, in this order, and returns when every saga has ended or stands on a desk.
    ///
    /// # Errors
    /// When the engine has stopped, or a database does not answer.
    pub async fn see_through(
        mut self,
        lines: Vec<Line>,
        in_flight: u16,
        progress: &mut Progress,
    ) -> anyhow::Result<(Facts, Tally, Duration)> {
        self.track_unfinished().await?;
        let (fed, mut feed) = mpsc::channel(64);
        let starter = Starter {
            engine: self.shop.engine.clone(),
            participants: self.shop.participants.clone(),
            source: self.source.into(),
            incoming: self.shop.nats.as_ref().map(|nats| nats.incoming(self.source)),
        };
        let in_flight = usize::from(in_flight);
        let feeder = Feeder { starter, settled: self.settled.subscribe(), in_flight, fed };
        let feeding = tokio::spawn(feeder.feed(lines));
        let mut all_fed = false;
        let mut look = tokio::time::interval(LOOK_EVERY);
        loop {
            tokio::select! {
                fed = feed.recv(), if !all_fed => match fed {
                    Some(fed) => self.take(fed)?,
                    None => {
                        all_fed = true;
                        self.track_operators_sagas().await?;
                    }
                },
                Some(end) = self.ends.join_next() => self.end(end.context("a watch was lost")?)?,
                _ = look.tick() => {
                    if let Some(reason) = self.shop.engine.stopped() {
                        bail!("failed to go on: {reason}");
                    }
                    self.look_at_desks().await?;
                    progress.show(&self.tally(), self.elapsed());
                    if all_fed && self.all_settled() {
                        break;
                    }
                }
            }
        }
        feeding.await.context("the feeder was lost")?;
        self.close_operators_lines().await?;
        let (tally, elapsed) = (self.tally(), self.elapsed());
        Ok((self.facts, tally, elapsed))
    }

    /// Since the drive was made.
    fn elapsed(&self) -> Duration {
        self.shop.engine.now().since(self.started_at)
    }

    fn tally(&self) -> Tally {
        let count = |is: fn(Standing) -> bool| self.sagas.values().filter(|saga| is(saga.standing)).count();
        Tally {
            sagas: self.asked_for.max(self.sagas.len()),
            begun: self.sagas.len(),
            ended: count(|standing| matches!(standing, Standing::Ended | Standing::AfterTheEnd)),
            waiting: count(|standing| matches!(standing, Standing::OnADesk | Standing::SetAside)),
            turning_back: count(|standing| standing == Standing::UnderWay { turning_back: true }),
        }
    }

    fn all_settled(&self) -> bool {
        self.sagas.values().all(|saga| match saga.standing {
            Standing::UnderWay { .. } | Standing::AfterTheEnd => false,
            // A line for it is given, or found to come too late.
            Standing::Ended => !self.operators.contains_key(&saga.name),
            Standing::OnADesk | Standing::SetAside => true,
        })
    }

    /// What an earlier run left unfinished is seen through as well.
    async fn track_unfinished(&mut self) -> anyhow::Result<()> {
        for phase in ["running", "compensating"] {
            let mut filter =
                SagaFilter { phase: Some(phase.to_owned()), limit: 1_000, ..SagaFilter::default() };
            loop {
                let page = self.shop.engine.query().list(&filter).await?;
                filter.after = page.next;
                for row in page {
                    let name =
                        SagaName { workflow: row.definition.workflow.to_string(), key: row.key.to_string() };
                    self.track_by_name(name).await?;
                }
                if filter.after.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// An operator may have something to do about a saga that these lines do not start.
    async fn track_operators_sagas(&mut self) -> anyhow::Result<()> {
        let names: Vec<SagaName> = self.operators.keys().cloned().collect();
        for name in names {
            self.track_by_name(name).await?;
        }
        Ok(())
    }

    async fn track_by_name(&mut self, name: SagaName) -> anyhow::Result<()> {
        if !self.known.contains_key(&name)
            && let Some(handle) = self.shop.engine.find(&name.workflow, &name.key).await?
        {
            self.track(name, handle, None);
        }
        Ok(())
    }

    fn track(&mut self, name: SagaName, handle: SagaHandle, permit: Option<OwnedSemaphorePermit>) {
        let id = handle.id();
        if self.sagas.contains_key(&id) {
            return;
        }
        let watched = handle.clone();
        self.ends.spawn(async move { (id, watched.outcome().await) });
        self.known.insert(name.clone(), id);
        let standing = Standing::UnderWay { turning_back: false };
        self.sagas.insert(id, Tracked { name, handle, standing, permit });
    }

    fn take(&mut self, fed: Fed) -> anyhow::Result<()> {
        match fed {
            Fed::Started { line, name, handle, permit, started } => {
                self.facts.starts.insert(line, started);
                self.track(name, handle, permit);
            }
            Fed::Not { line, started } => drop(self.facts.starts.insert(line, started)),
            Fed::Failed { line, why } => bail!("failed to begin line {line}: {why}"),
        }
        Ok(())
    }

    fn end(&mut self, (id, end): (SagaId, Result<Outcome, OutcomeError>)) -> anyhow::Result<()> {
        let standing = match end {
            // A result that was not recorded is an end all the same.
            Ok(_) | Err(OutcomeError::Unrecorded(_) | OutcomeError::Undecodable(_)) => Standing::Ended,
            Err(OutcomeError::SetAside(_) | OutcomeError::Unreadable(_)) => Standing::SetAside,
            Err(error) => return Err(error).context("failed to see a saga through"),
        };
        self.settle(id, standing);
        Ok(())
    }

    fn settle(&mut self, id: SagaId, standing: Standing) {
        if let Some(saga) = self.sagas.get_mut(&id) {
            saga.standing = standing;
            saga.permit = None;
            let name = saga.name.clone();
            self.settled.send_if_modified(|settled| settled.insert(name));
        }
    }

    async fn look_at_desks(&mut self) -> anyhow::Result<()> {
        let entries = self.shop.engine.query().desk(DESK_ENTRIES_MAX).await?;
        let on_desks: HashSet<SagaId> = entries.into_iter().map(|(saga, _)| saga).collect();
        let to_look_at: Vec<SagaId> = self
            .sagas
            .iter()
            .filter(|(id, saga)| match saga.standing {
                // Not all that a person does is done at a desk: an order to retry at once, or to go on.
                Standing::UnderWay { .. } => on_desks.contains(id) || self.operators.contains_key(&saga.name),
                Standing::OnADesk => !on_desks.contains(id) || self.operators.contains_key(&saga.name),
                Standing::Ended => self.operators.contains_key(&saga.name),
                Standing::AfterTheEnd => true,
                Standing::SetAside => false,
            })
            .map(|(id, _)| *id)
            .collect();
        for id in to_look_at {
            self.look_at(id).await?;
        }
        Ok(())
    }

    /// One saga that may stand on a desk: does a person act, or is it settled for today?
    async fn look_at(&mut self, id: SagaId) -> anyhow::Result<()> {
        let Some(saga) = self.sagas.get(&id) else { return Ok(()) };
        let (name, handle) = (saga.name.clone(), saga.handle.clone());
        let view = handle.view().await?;
        let ended = view.ended_at.is_some();
        let idle = (ended || !view.waits.is_empty()) && view.waits.iter().all(is_for_a_person);
        if let Some((line, operator)) = self.next_operator(&name, &view)
            && (idle || !ended && is_time_for(&operator.verb, &view))
        {
            let said = self.give(&handle, line, &operator).await;
            self.facts.operations.insert(line, (operator, said));
            self.forget_operator(&name);
            self.move_on(id, &view);
            return Ok(());
        }
        if ended {
            if idle {
                self.settle(id, Standing::Ended);
            } else {
                self.move_on(id, &view);
            }
            return Ok(());
        }
        if idle {
            self.settle(id, Standing::OnADesk)
        } else {
            self.move_on(id, &view)
        }
        Ok(())
    }

    fn move_on(&mut self, id: SagaId, view: &SagaView) {
        if let Some(saga) = self.sagas.get_mut(&id) {
            saga.standing = match view.ended_at {
                Some(_) => Standing::AfterTheEnd,
                None => Standing::UnderWay { turning_back: view.turned.is_some() },
            };
        }
    }
}

/// Will nothing happen here unless somebody does something?
pub fn is_for_a_person(wait: &Wait) -> bool {
    matches!(wait, Wait::Person(_) | Wait::Paused { .. })
}
