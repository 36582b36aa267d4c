//! The broker of a simulation, behind a connection that fails.
//!
//! What fails is what a real connection does: a publish does not arrive, or arrives and nobody hears of it, or comes through
//! long after; an acknowledgement is lost or late; messages come late, out of order, or to two at once; nobody is answered
//! for a while.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use amends::ports::Clock;
use amends_core::Timestamp;
use fastrand::Rng;

use super::noted::{Ending, Noted};
use super::{ACK_WAIT, COMMANDS, EVENTS, Misbehaving, NODES, REPLIES, consumer};
use crate::broker::{
    Answer, ConsumerSettings, Delivery, Full, Keeps, Left, MemoryBroker, Message, Stored, StreamSettings,
};
use crate::simulation::setup::{Setup, span};
use crate::simulation::trouble::Trouble;

/// Of all publishes, so many meet a kind of fault at a rate of 1.
const PUBLISHES_STRUCK: f64 = 0.1;

/// The same for answers, and for deliveries.
const ANSWERS_STRUCK: f64 = 0.1;

/// The same for messages that come late.
const MESSAGES_LATE: f64 = 0.2;

/// The same for messages that are overtaken.
const MESSAGES_OVERTAKEN: f64 = 0.5;

/// After so long without an acknowledgement a publisher is told that nobody answers.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a pull waits.
const PULL: Duration = Duration::from_secs(3_600);

/// How long a restart takes.
const RESTART: Duration = Duration::from_secs(2);

/// The room of streams that fill up.
const ROOM: std::ops::RangeInclusive<u64> = 2..=6;

/// A message was not published, as far as its publisher knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nobody answered.
    Silence,
    /// There is no room.
    Full,
}

/// A broker behind a connection that fails. Clones are the same connection.
#[derive(Clone)]
pub(crate) struct FaultyBroker {
    inner: MemoryBroker,
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<State>>,
}

enum Late {
    Publish { stream: &'static str, message: Message },
    Answer { of: Delivery, answer: Answer },
}

struct State {
    chance: Rng,
    rates: BTreeMap<Trouble, f64>,
    /// No chance strikes.
    calm: bool,
    outage: bool,
    /// It starts again, and nobody is answered before.
    down_until: Timestamp,
    late: Vec<(Timestamp, Late)>,
    misbehaving: Option<Misbehaving>,
    noted: Vec<Noted>,
    struck: BTreeMap<Trouble, u64>,
}

impl FaultyBroker {
    pub(crate) fn of(setup: &Setup, clock: Arc<dyn Clock>, misbehaving: Option<Misbehaving>) -> Self {
        let inner = MemoryBroker::new(clock.clone());
        let mut chance = setup.chance("broker", 0);
        let room = setup.rate(Trouble::StreamFull).map(|_| chance.u64(ROOM));
        let window = span(&mut chance, 500, 120_000);
        let settings = StreamSettings {
            keeps: Keeps::Untaken,
            duplicate_window: window,
            messages_max: room,
            age_max: None,
        };
        inner.stream(EVENTS, settings.clone());
        inner.stream(REPLIES, settings.clone());
        inner.stream(COMMANDS, settings);
        inner.consumer(EVENTS, consumer(NODES, "event.>"));
        inner.consumer(REPLIES, consumer(NODES, "reply"));
        let rates = Trouble::ALL.iter().filter_map(|trouble| Some((*trouble, setup.rate(*trouble)?)));
        let state = State {
            chance,
            rates: rates.collect(),
            calm: false,
            outage: false,
            down_until: Timestamp(i64::MIN),
            late: Vec::new(),
            misbehaving,
            noted: Vec::new(),
            struck: BTreeMap::new(),
        };
        Self { inner, clock, state: Arc::new(Mutex::new(state)) }
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// A participant takes the commands of this subject.
    pub(crate) fn serve(&self, subject: &str) {
        let name = subject.to_owned();
        self.inner.consumer(
            COMMANDS,
            ConsumerSettings { ack_wait: ACK_WAIT, ..ConsumerSettings::new(name, subject) },
        );
    }

    pub(crate) async fn publish(&self, stream: &'static str, message: Message) -> Result<Stored, Fault> {
        if self.is_out() {
            self.sleep(PATIENCE).await;
            return Err(Fault::Silence);
        }
        let fate = self.state().fate();
        match fate {
            Fate::Well => return self.store(stream, message).map_err(|Full| Fault::Full),
            Fate::Lost => {}
            Fate::Unheard => drop(self.store(stream, message)),
            Fate::Late(by) => {
                let at = self.clock.now() + by;
                self.state().late.push((at, Late::Publish { stream, message }));
            }
        }
        self.sleep(PATIENCE).await;
        Err(Fault::Silence)
    }

    fn store(&self, stream: &'static str, message: Message) -> Result<Stored, Full> {
        let held = self.state().held();
        let stored = self.inner.publish_held(stream, message, held);
        let mut state = self.state();
        match stored {
            Ok(Stored { sequence, duplicate: false }) => {
                state.noted.push(Noted::Stored { stream, sequence });
                match stream {
                    EVENTS => state.strike(Trouble::Events),
                    COMMANDS => state.strike(Trouble::Commands),
                    _ => {}
                }
                if state.misbehaving == Some(Misbehaving::LosesMessages) && sequence.is_multiple_of(20) {
                    self.inner.lose(stream, sequence);
                }
            }
            Err(Full) => state.strike(Trouble::StreamFull),
            Ok(_) => {}
        }
        stored
    }

    /// Messages of a consumer, once there are any; none after a while, or when the connection breaks.
    pub(crate) async fn pull(&self, stream: &str, consumer: &str, most: usize) -> Vec<Delivery> {
        while self.is_out() {
            self.sleep(Duration::from_secs(1)).await;
        }
        let taken = self.inner.pull(stream, consumer, most, PULL).await;
        // What was sent into a connection that broke meanwhile comes again after its ack wait.
        if self.is_out() {
            return Vec::new();
        }
        let mut state = self.state();
        for Delivery { stream, sequence, number, .. } in &taken {
            let (stream, sequence, number) = (stream.clone(), *sequence, *number);
            state.noted.push(Noted::Delivered { stream, sequence, number });
        }
        let doubled: Vec<&Delivery> =
            taken.iter().filter(|_| state.strikes(Trouble::Doubled, ANSWERS_STRUCK)).collect();
        drop(state);
        doubled.into_iter().for_each(|delivery| self.inner.double(delivery));
        taken
    }

    /// Says what becomes of a message.
    pub(crate) fn answer(&self, of: &Delivery, answer: Answer) {
        if self.is_out() {
            return;
        }
        let mut state = self.state();
        if state.strikes(Trouble::LostAck, ANSWERS_STRUCK) {
            return;
        }
        if state.strikes(Trouble::LateAck, ANSWERS_STRUCK) {
            let at = self.clock.now() + span(&mut state.chance, 1_000, 45_000);
            state.late.push((at, Late::Answer { of: of.clone(), answer }));
            return;
        }
        drop(state);
        self.inner.answer(of, answer);
    }

    /// Somebody has made something of a message.
    pub(crate) fn ended(&self, stream: &'static str, of: &Delivery, ending: Ending) {
        let Delivery { sequence, number, .. } = *of;
        self.state().noted.push(Noted::Ended { stream, sequence, number, ending });
    }

    /// What was late comes through, if it is time.
    pub(crate) fn haunt(&self) {
        let now = self.clock.now();
        loop {
            let late = {
                let mut state = self.state();
                let due = state.late.iter().position(|(at, _)| *at <= now);
                due.map(|at| state.late.remove(at).1)
            };
            match late {
                Some(Late::Publish { stream, message }) => drop(self.store(stream, message)),
                Some(Late::Answer { of, answer }) => self.inner.answer(&of, answer),
                None => break,
            }
        }
    }

    /// While out, nobody is answered.
    pub(crate) fn outage(&self, out: bool) {
        self.state().outage = out;
    }

    pub(crate) fn restart(&self) {
        self.state().down_until = self.clock.now() + RESTART;
        self.inner.restart();
    }

    /// From now on nothing fails, and there is room for everything.
    pub(crate) fn heal(&self) {
        {
            let mut state = self.state();
            (state.calm, state.outage, state.down_until) = (true, false, Timestamp(i64::MIN));
        }
        [EVENTS, COMMANDS, REPLIES].iter().for_each(|stream| self.inner.resize(stream, None));
    }

    /// Is nothing under way any more, on this connection or at the broker?
    pub(crate) fn unfinished(&self) -> Vec<String> {
        let late = self.state().late.len();
        let mut all: Vec<String> = (late > 0).then(|| format!("{late} late ones")).into_iter().collect();
        for (stream, consumer, Left { waiting, in_hand }) in self.inner.all_left() {
            if waiting + in_hand > 0 {
                all.push(format!("{waiting} waiting and {in_hand} in hand of {stream} for {consumer}"));
            }
        }
        all
    }

    pub(crate) fn take_noted(&self) -> Vec<Noted> {
        std::mem::take(&mut self.state().noted)
    }

    pub(crate) fn struck(&self) -> BTreeMap<Trouble, u64> {
        self.state().struck.clone()
    }

    pub(crate) fn take_stirred(&self) -> bool {
        self.inner.take_stirred()
    }

    pub(crate) fn misbehaving(&self, so: Misbehaving) -> bool {
        self.state().misbehaving == Some(so)
    }

    /// A participant contradicts itself about a saga of this key; perhaps it claims what never was.
    pub(crate) fn contradicted(&self, key: &str, lies: bool) {
        let mut state = self.state();
        state.strike(Trouble::Contradiction);
        if lies {
            state.noted.push(Noted::Lied { key: key.to_owned() });
        }
    }

    fn is_out(&self) -> bool {
        let state = self.state();
        state.outage || self.clock.now() < state.down_until
    }

    pub(crate) async fn sleep(&self, wait: Duration) {
        self.clock.sleep_until(self.clock.now() + wait).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What becomes of a publish.
enum Fate {
    Well,
    Lost,
    Unheard,
    Late(Duration),
}

impl State {
    fn strikes(&mut self, trouble: Trouble, share: f64) -> bool {
        let Some(rate) = self.rates.get(&trouble).copied().filter(|_| !self.calm) else { return false };
        let strikes = self.chance.f64() < rate * share;
        if strikes {
            self.strike(trouble);
        }
        strikes
    }

    fn strike(&mut self, trouble: Trouble) {
        *self.struck.entry(trouble).or_default() += 1;
    }

    fn fate(&mut self) -> Fate {
        if self.strikes(Trouble::LostPublish, PUBLISHES_STRUCK) {
            return Fate::Lost;
        }
        if self.strikes(Trouble::UnheardPublish, PUBLISHES_STRUCK) {
            return Fate::Unheard;
        }
        if self.strikes(Trouble::LatePublish, PUBLISHES_STRUCK) {
            return Fate::Late(span(&mut self.chance, 100, 20_000));
        }
        Fate::Well
    }

    /// How long nobody is given a message.
    fn held(&mut self) -> Duration {
        if self.strikes(Trouble::Lag, MESSAGES_LATE) {
            return span(&mut self.chance, 1_000, 20_000);
        }
        if self.strikes(Trouble::Reordered, MESSAGES_OVERTAKEN) {
            return span(&mut self.chance, 10, 2_000);
        }
        Duration::ZERO
    }
}
