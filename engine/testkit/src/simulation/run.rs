//! One run: the schedule played, everything that the store takes shown to every checker, and the end.

mod afterlife;
mod end;
mod starts;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use amends::memory::MemoryStore;
use amends::ports::{Fault, SagaRow, Store};
use amends_core::{SagaId, Timestamp};
use futures_util::FutureExt as _;

use super::bearing::Bearing;
use super::checkers::{
    Accounts, Answers, Checker, Desks, End, Events, Facts, Fencing, Fold, Keys, Ledgers, Limbo, Liveness,
    Moment, Pauses, Permits, Purged, Redeliveries, Step,
};
use super::controls::{self, Order, Pausing};
use super::history::{Entered, History, Transitioned};
use super::messages::{Misbehaving, Source};
use super::nodes::Nodes;
use super::people::Question;
use super::schedule::{self, Act};
use super::setup::Setup;
use super::shapes::{self, Counterpart, Shape, WORKFLOWS};
use super::store::{Accepted, Noted};
use super::summary::{Failure, Run, Violation};
use super::trouble::Trouble;
use super::{mishaps, people};
use starts::{Start, serve};

/// How long everything may take to settle once the faults are over: a few step deadlines one after the other.
const SETTLED_WITHIN: Duration = Duration::from_secs(2 * 3_600);

/// A process that ended is started again after so long.
const RESTARTED_AFTER: Duration = Duration::from_secs(2);

/// An order that was lifted is not in force any more after so long, whatever becomes of who lifted it.
const LIFTED_WITHIN: Duration = Duration::from_secs(120);

/// How often rows, answers and the living are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A simulation that has not run.
pub struct Simulation {
    setup: Setup,
    behind: Arc<dyn Store>,
    barriers: bool,
    forgetful: bool,
    bearing: Option<fn(&mut Bearing)>,
    misbehaving: Option<Misbehaving>,
}

impl Simulation {
    /// As the setup says, on a store in memory, with participants that keep their barrier.
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            behind: Arc::new(MemoryStore::shared()),
            barriers: true,
            forgetful: false,
            bearing: None,
            misbehaving: None,
        }
    }

    /// On another store, behind the same failing connection.
    #[must_use]
    pub fn on_store(mut self, behind: Arc<dyn Store>) -> Self {
        self.behind = behind;
        self
    }

    /// With participants that keep no barrier: every call takes effect.
    #[must_use]
    pub fn without_barriers(mut self) -> Self {
        self.barriers = false;
        self
    }

    /// With participants that forget everything when their machine dies.
    #[must_use]
    pub fn with_forgetful_participants(mut self) -> Self {
        self.forgetful = true;
        self
    }

    /// With nodes that keep to something else than what they are held against.
    #[must_use]
    pub fn with_nodes_that_keep_to(mut self, other: fn(&mut Bearing)) -> Self {
        self.bearing = Some(other);
        self
    }

    /// With somebody who handles messages wrongly.
    #[must_use]
    pub fn with_messages_that_are_handled_so(mut self, misbehaving: Misbehaving) -> Self {
        self.misbehaving = Some(misbehaving);
        self
    }

    /// Plays it.
    ///
    /// # Errors
    /// When an invariant is broken: which one, how, and what led to it.
    pub fn run(self) -> Result<Run, Box<Failure>> {
        let mut playing = Playing::begin(self);
        match playing.play() {
            Ok(()) => Ok(playing.told()),
            Err(violation) => Err(Box::new(playing.failed(violation))),
        }
    }
}

struct Playing {
    setup: Setup,
    begun: Timestamp,
    nodes: Nodes,
    /// Per workflow, its versions.
    shapes: Vec<Vec<Shape>>,
    versions: usize,
    /// What is to be done, in order.
    due: BTreeMap<(Timestamp, u64), Act>,
    planned: u64,
    starts: Vec<Start>,
    source: Option<Source>,
    asked: Vec<Question>,
    pausing: Vec<Pausing>,
    /// When the event of each saga occurred.
    occurred: BTreeMap<u32, Timestamp>,
    /// When an order was last lifted: that may come through any time later.
    lifted: BTreeMap<Order, Timestamp>,
    forgetful: bool,
    look_at: Timestamp,
    history: History,
    checkers: Vec<Box<dyn Checker>>,
    struck: BTreeMap<Trouble, u64>,
    /// First attempts that waited.
    waited: Arc<AtomicU64>,
    /// The saga that was looked at last: the one that a violation speaks of.
    of: Option<SagaId>,
}

impl Playing {
    fn begin(simulation: Simulation) -> Self {
        let Simulation { setup, behind, barriers, forgetful, bearing: other, misbehaving } = simulation;
        let mut bearing = Bearing::of(&setup);
        let mut kept = bearing.clone();
        other.into_iter().for_each(|other| other(&mut kept));
        let nodes = Nodes::new(&setup, behind, &kept, misbehaving);
        let (ledger, begun) = (nodes.cluster().ledger(), nodes.now());
        let mut history = History::beginning_at(begun);
        let versions = |workflow| {
            [1, 2].map(|version| shapes::draw(&setup, &bearing, (&ledger, barriers), (workflow, version)))
        };
        let shapes: Vec<Vec<Shape>> =
            (0..WORKFLOWS.len()).map(|workflow| versions(workflow).into_iter().collect()).collect();
        shapes.iter().flatten().for_each(|shape| history.know(&shape.definition.plan));
        if let Some(broker) = nodes.broker() {
            shapes.iter().flatten().for_each(|shape| serve(&setup, &nodes, broker, shape));
        }
        let mut lied_about = BTreeSet::new();
        for saga in 0..setup.sagas {
            let (_, key) = schedule::name(saga);
            for shape in &shapes[saga as usize % WORKFLOWS.len()] {
                if mishaps::plan(&setup, saga, &key, shape) {
                    lied_about.insert(key.clone());
                }
            }
        }
        let planned = schedule::draw(&setup);
        for (_, _, act) in &planned {
            if let Act::Reply { saga, .. } | Act::Flood { saga, .. } = act {
                lied_about.insert(schedule::name(*saga).1);
            }
        }
        let mut ledgers = Ledgers::new(ledger, lied_about);
        let clocks_agree = setup.rate(Trouble::ClockSkew).is_none();
        if !clocks_agree {
            ledgers = ledgers.with_clocks_that_differ();
        }
        // What waits for a person and not for a permit no journal tells.
        if setup.rate(Trouble::Controls).is_some() {
            bearing.dependencies.clear();
        }
        let permits = Permits::new(bearing, clocks_agree);
        let waited = permits.waited();
        let mut checkers: Vec<Box<dyn Checker>> = vec![
            Box::new(Fencing::default()),
            Box::new(Fold::default()),
            Box::new(permits),
            Box::new(Pauses::default()),
            Box::new(Keys::default()),
            Box::new(ledgers),
            Box::new(Answers::default()),
            Box::new(Desks),
            Box::new(Limbo),
            Box::new(Liveness),
            Box::new(Events::default()),
            Box::new(Accounts::default()),
            Box::new(Redeliveries),
            Box::new(Purged::new(!clocks_agree)),
        ];
        checkers.extend(Facts::ALL.map(|facts| Box::new(facts) as Box<dyn Checker>));
        let mut playing = Self {
            begun,
            source: nodes.broker().cloned().map(Source::new),
            nodes,
            shapes,
            versions: 1,
            due: BTreeMap::new(),
            planned: 0,
            starts: Vec::new(),
            asked: Vec::new(),
            pausing: Vec::new(),
            occurred: BTreeMap::new(),
            lifted: BTreeMap::new(),
            forgetful,
            look_at: begun,
            history,
            checkers,
            struck: BTreeMap::new(),
            waited,
            of: None,
            setup,
        };
        for (at, trouble, act) in planned {
            let is_strike = !matches!(
                act,
                Act::Join { .. }
                    | Act::Wake { .. }
                    | Act::Mend { .. }
                    | Act::Return { .. }
                    | Act::Unpause { .. }
                    | Act::Outage { begins: false }
                    | Act::BrokerOutage { begins: false }
            );
            if let Some(trouble) = trouble.filter(|_| is_strike) {
                *playing.struck.entry(trouble).or_default() += 1;
            }
            playing.plan(begun + at, act);
        }
        playing
    }

    fn plan(&mut self, at: Timestamp, act: Act) {
        self.planned += 1;
        self.due.insert((at, self.planned), act);
    }

    fn play(&mut self) -> Result<(), Violation> {
        for place in 0..self.setup.nodes as usize {
            self.join(place);
        }
        let faults_end = self.begun + self.setup.length();
        self.play_until(faults_end)?;
        self.nodes.heal();
        self.shapes.iter().flatten().for_each(mishaps::heal);
        self.due.retain(|_, act| matches!(act, Act::Start { .. } | Act::Event { .. } | Act::Join { .. }));
        self.unpause_everything(faults_end + 2 * RESTARTED_AFTER);
        self.lift_everything(faults_end + 2 * RESTARTED_AFTER);
        for place in 0..self.setup.nodes as usize {
            self.plan(faults_end + RESTARTED_AFTER, Act::Join { place });
        }
        self.history.say(faults_end, format_args!("the faults are over"));
        self.settle()?;
        self.afterlife()
    }

    /// Everything comes to an end, or to a desk.
    fn settle(&mut self) -> Result<(), Violation> {
        let until = self.nodes.now() + SETTLED_WITHIN;
        while self.nodes.now() < until && !self.has_settled() {
            self.play_until(self.nodes.now() + 5 * LOOK_EVERY)?;
        }
        self.end()
    }

    /// Whatever a person paused, a person lets go on: several times, because an answer may be still on its way.
    fn unpause_everything(&mut self, from: Timestamp) {
        for saga in 0..self.setup.sagas {
            for later in [0, 60, 120] {
                self.plan(from + Duration::from_secs(later), Act::Unpause { saga, place: 0 });
            }
        }
    }

    /// The same for what was ordered for all.
    fn lift_everything(&mut self, from: Timestamp) {
        if self.setup.rate(Trouble::Controls).is_none() {
            return;
        }
        for order in Order::liftable() {
            for later in [0, 60, 120] {
                let act = Act::Order { order, on: false, place: 0 };
                self.plan(from + Duration::from_secs(later), act);
            }
        }
    }

    fn play_until(&mut self, until: Timestamp) -> Result<(), Violation> {
        loop {
            let next = self.due.first_key_value().map_or(until, |((at, _), _)| (*at).min(until));
            while self.nodes.now() < next {
                self.nodes.run_once(next.min(self.look_at));
                self.look()?;
            }
            match self.due.first_entry().filter(|due| due.key().0 <= until) {
                Some(due) => {
                    let act = due.remove();
                    self.perform(act)?;
                }
                None if self.nodes.now() >= until => return Ok(()),
                None => {}
            }
        }
    }

    fn perform(&mut self, act: Act) -> Result<(), Violation> {
        let now = self.nodes.now();
        self.history.say(now, format_args!("{act:?}"));
        match act {
            Act::Start { saga, input, place } => self.start(saga, input, place),
            Act::Event { saga, input } => self.event(saga, input),
            Act::BadEvent { draw } => self.bad_event(draw),
            Act::BrokerOutage { begins } => {
                self.nodes.broker().iter().for_each(|broker| broker.outage(begins))
            }
            Act::BrokerRestart => self.nodes.broker().iter().for_each(|broker| broker.restart()),
            Act::Join { place } => self.join(place),
            Act::Kill { place } => self.nodes.kill(place),
            Act::Freeze { place } => self.nodes.freeze(place, true),
            Act::Wake { place } => {
                self.nodes.freeze(place, false);
                return self.show(&Step::Woke { at: now });
            }
            Act::Cut { place } => self.nodes.cut(place, true),
            Act::Mend { place } => self.nodes.cut(place, false),
            Act::Drain { place } => self.nodes.drain(place),
            Act::Deploy => {
                self.versions = 2;
                for (later, act) in [Act::Drain { place: 0 }, Act::Kill { place: 0 }, Act::Join { place: 0 }]
                    .into_iter()
                    .zip([0, 6, 7])
                    .map(|(act, later)| (Duration::from_secs(later), act))
                {
                    self.plan(now + later, act);
                }
            }
            Act::Outage { begins } => self.nodes.store().outage(begins),
            Act::Cancel { saga, place } => people::cancel(&self.nodes, saga, place, self.planned),
            Act::Decide { draw, place } => people::decide(&self.nodes, draw, place, self.planned),
            Act::Pause { saga, place } => people::pause(&self.nodes, saga, place, self.planned),
            Act::Unpause { saga, place } => people::unpause(&self.nodes, saga, place, self.planned),
            Act::Reply { saga, draw, place } => people::reply(&self.nodes, saga, draw, place),
            Act::Flood { saga, draw, place } => people::flood(&self.nodes, saga, draw, place),
            Act::Race { draw, place } => self.race(draw, place),
            Act::Order { order, on, place } => return self.order(order, on, place),
            Act::Perish { draw } => {
                let counterpart = self.counterpart(draw);
                counterpart.die();
                if self.forgetful {
                    counterpart.forget_everything();
                }
            }
            Act::Return { draw } => self.counterpart(draw).come_back(),
        }
        self.planned += 1;
        Ok(())
    }

    fn order(&mut self, order: Order, on: bool, place: usize) -> Result<(), Violation> {
        self.planned += 1;
        let now = self.nodes.now();
        let answer = controls::give(&self.nodes, order, on, place, self.planned);
        let Order::Pause(workflow) = order else { return Ok(()) };
        if !on {
            self.lifted.insert(order, now);
            self.pausing.retain(|pausing| pausing.workflow != workflow);
            return self.show(&Step::Paused { workflow: WORKFLOWS[workflow], at: None });
        }
        let is_clear = self.lifted.get(&order).is_none_or(|lifted| now > *lifted + LIFTED_WITHIN);
        if let Some(answer) = answer.filter(|_| is_clear) {
            self.pausing.push(Pausing { workflow, answer });
        }
        Ok(())
    }

    /// Pauses that were answered are in force.
    fn paused(&mut self) -> Result<(), Violation> {
        let at = self.nodes.now();
        let done: Vec<Pausing> =
            self.pausing.extract_if(.., |pausing| pausing.answer.is_finished()).collect();
        for Pausing { workflow, answer } in done {
            if matches!(answer.now_or_never(), Some(Ok(true))) {
                self.show(&Step::Paused { workflow: WORKFLOWS[workflow], at: Some(at) })?;
            }
        }
        Ok(())
    }

    fn counterpart(&self, draw: u32) -> &Counterpart {
        let all: Vec<&Counterpart> =
            self.shapes.iter().flatten().flat_map(|shape| &shape.counterparts).collect();
        all[draw as usize % all.len()]
    }

    fn race(&mut self, draw: u32, place: usize) {
        let desk = at_once(self.nodes.store().inner().desk(u32::MAX));
        let Some((saga, item)) = desk.get(draw as usize % desk.len().max(1)) else { return };
        let asked = people::race(&self.nodes, (*saga, &item.item), draw, place, self.planned);
        self.asked.extend(asked);
    }

    fn join(&mut self, place: usize) {
        let known = || self.shapes.iter().map(|versions| &versions[..self.versions]);
        let definitions: Vec<_> = known().flatten().map(|shape| &shape.definition).collect();
        // Events start the latest version.
        let sagas = known().filter_map(|versions| Some(versions.last()?.saga.clone())).collect();
        self.nodes.join(place, &definitions, sagas);
    }

    /// Shows the checkers what happened, and looks after who is gone.
    fn look(&mut self) -> Result<(), Violation> {
        self.nodes.store().haunt();
        for noted in self.nodes.store().take_noted() {
            match noted {
                Noted::Accepted(accepted) => self.accepted(&accepted)?,
                Noted::Ended(incarnation) => self.show(&Step::Ended(incarnation))?,
            }
        }
        self.messages()?;
        let now = self.nodes.now();
        for place in self.nodes.bury() {
            self.history.say(now, format_args!("the node of place {place} is gone"));
            self.plan(now + RESTARTED_AFTER, Act::Join { place });
        }
        self.answered()?;
        self.decided()?;
        self.paused()?;
        if now >= self.look_at {
            self.look_at = now + LOOK_EVERY;
            self.passed()?;
        }
        Ok(())
    }

    /// What happened to messages.
    fn messages(&mut self) -> Result<(), Violation> {
        let Some(broker) = self.nodes.broker() else { return Ok(()) };
        broker.haunt();
        let now = self.nodes.now();
        for noted in broker.take_noted() {
            self.history.say(now, format_args!("{noted}"));
            self.show(&Step::Message(&noted))?;
        }
        Ok(())
    }

    fn accepted(&mut self, accepted: &Accepted) -> Result<(), Violation> {
        self.of = Some(accepted.saga);
        self.show(&Step::Accepted(accepted))?;
        match self.history.enter(accepted) {
            Entered::Again => Ok(()),
            Entered::Impossible(reason) => self.show(&Step::Impossible(accepted.saga, &reason)),
            Entered::Moved { before } => {
                let told = self.history.told(accepted.saga).expect("it moved").clone();
                let transitioned = Transitioned::of(&told, &before, accepted.at, &accepted.items);
                self.show(&Step::Transitioned(&transitioned))
            }
        }
    }

    fn show(&mut self, step: &Step<'_>) -> Result<(), Violation> {
        let at = self.nodes.now();
        for checker in &mut self.checkers {
            let invariant = checker.invariant();
            checker.observe(step).map_err(|reason| Violation { invariant, at, reason })?;
        }
        Ok(())
    }

    /// Questions that were answered.
    fn decided(&mut self) -> Result<(), Violation> {
        let done: Vec<Question> = self.asked.extract_if(.., |question| question.is_finished()).collect();
        for question in done {
            if let Ok(Some(decided)) = question.now_or_never().expect("it is finished") {
                self.of = Some(decided.saga);
                self.show(&Step::Decided(&decided))?;
            }
        }
        Ok(())
    }

    fn passed(&mut self) -> Result<(), Violation> {
        let rows = self.rows();
        let nobody = |row: &&SagaRow| row.owner.is_none() && row.wake_at.is_none() && row.ended_at.is_none();
        let unread = rows.iter().filter(nobody).map(|row| row.id).filter(|saga| self.has_mail(*saga));
        let unread: BTreeSet<SagaId> = unread.collect();
        self.moment(&rows, &unread, None)
    }

    fn moment(
        &mut self,
        rows: &[SagaRow],
        unread: &BTreeSet<SagaId>,
        end: Option<&End>,
    ) -> Result<(), Violation> {
        let at = self.nodes.now();
        let moment = Moment { now: at, sagas: self.history.sagas(), rows, unread };
        let step = end.map_or(Step::Passed(&moment), |end| Step::Settled(&moment, end));
        for checker in &mut self.checkers {
            let invariant = checker.invariant();
            checker.observe(&step).map_err(|reason| Violation { invariant, at, reason })?;
        }
        Ok(())
    }
}

fn at_once<T>(answer: impl Future<Output = Result<T, Fault>>) -> T {
    let answer = answer.now_or_never().expect("a store in memory answers at once");
    answer.expect("a store in memory answers")
}
