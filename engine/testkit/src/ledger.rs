//! The effect ledger: what really happened at the participants, whatever anybody was told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use amends::authoring::StepContext;
use amends::ports::Clock;
use amends_core::{RequestId, SagaId, Timestamp};

use crate::world::World;

/// What really happened at the participants of a world, by request id.
///
/// The ledger is the evidence of the laws: answers may be lost, late or wrong, but whoever takes effect writes
/// it down here in the same moment. Clones are the same ledger.
///
/// *When to use*: [`Participant`](crate::Participant) writes it by itself; a fake of your own calls
/// [`Ledger::called`] where a request arrives and [`Ledger::took_effect`] where the real one would commit.
#[derive(Clone)]
pub struct Ledger {
    clock: Arc<dyn Clock>,
    book: Arc<Mutex<Book>>,
}

#[derive(Default)]
struct Book {
    /// Counts effects in the order in which they were written, for the order of compensations.
    written: u64,
    entries: BTreeMap<RequestId, Entry>,
    /// What is on its way and arrives later, by time of arrival.
    late: Vec<(Timestamp, Arrival)>,
    /// When what arrives just now was due. Somebody may look only later.
    arriving: Option<Timestamp>,
}

/// What happens when something that was late arrives.
type Arrival = Box<dyn FnOnce() + Send>;

/// Everything that is known of one request id.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Who it was sent to.
    pub participant: Arc<str>,
    /// Of which saga.
    pub saga: SagaId,
    /// Its forward request, if this is a compensation.
    pub undoes: Option<RequestId>,
    /// Calls that reached the participant.
    pub calls: u32,
    /// Queries that reached the participant.
    pub queries: u32,
    /// Each time it took effect.
    pub effects: Vec<Effected>,
}

/// One effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effected {
    /// The order of all effects of a ledger, from 1.
    pub order: u64,
    /// When.
    pub at: Timestamp,
}

impl Ledger {
    /// A ledger that the world's laws look into.
    pub fn new(world: &mut World) -> Self {
        let ledger = Self { clock: world.clock(), book: Arc::default() };
        world.keep_ledger(ledger.clone());
        ledger
    }

    /// A ledger that nobody looks into by itself.
    pub(crate) fn on(clock: Arc<dyn Clock>) -> Self {
        Self { clock, book: Arc::default() }
    }

    /// A call arrived.
    pub fn called(&self, participant: &Arc<str>, cx: &StepContext) {
        self.note(participant, cx, |entry| entry.calls += 1);
    }

    /// A query arrived. For queries about a compensation `cx` is the compensation's.
    pub fn queried(&self, participant: &Arc<str>, cx: &StepContext) {
        self.note(participant, cx, |entry| entry.queries += 1);
    }

    /// The request takes effect now. For a compensation this is the undoing itself.
    pub fn took_effect(&self, participant: &Arc<str>, cx: &StepContext) {
        let effected = {
            let mut book = self.lock();
            book.written += 1;
            Effected { order: book.written, at: self.at(&book) }
        };
        self.note(participant, cx, |entry| entry.effects.push(effected));
    }

    /// Something is on its way and arrives after `delay`, whoever still waits for it then.
    pub fn later(&self, delay: Duration, arrival: impl FnOnce() + Send + 'static) {
        let at = self.clock.now() + delay;
        self.lock().late.push((at, Box::new(arrival)));
    }

    /// Lets arrive what is due by now. Called before anybody looks at a participant.
    pub fn catch_up(&self) {
        self.arrive_until(self.clock.now());
    }

    /// Lets arrive whatever is still on its way: no message is late for ever.
    pub(crate) fn catch_up_with_everything(&self) {
        self.arrive_until(Timestamp::MAX);
    }

    fn arrive_until(&self, until: Timestamp) {
        loop {
            let arrival = {
                let mut book = self.lock();
                let due = book.late.iter().enumerate().filter(|(_, (at, _))| *at <= until);
                let first = due.min_by_key(|(_, (at, _))| *at).map(|(index, _)| index);
                first.map(|index| {
                    let (at, arrive) = book.late.remove(index);
                    book.arriving = Some(at.min(self.clock.now()));
                    arrive
                })
            };
            let Some(arrive) = arrival else { return };
            arrive();
            self.lock().arriving = None;
        }
    }

    /// What time it is for a participant: for what arrives late, the moment in which it was due.
    pub(crate) fn now(&self) -> Timestamp {
        self.at(&self.lock())
    }

    fn at(&self, book: &Book) -> Timestamp {
        book.arriving.unwrap_or_else(|| self.clock.now())
    }

    /// How often this request id has taken effect.
    pub fn effects(&self, request: RequestId) -> usize {
        self.entry(request).map_or(0, |entry| entry.effects.len())
    }

    /// How often this forward request was undone.
    pub fn undone(&self, forward: RequestId) -> usize {
        let entries = self.entries();
        let undoing = entries.iter().filter(|(_, entry)| entry.undoes == Some(forward));
        undoing.map(|(_, entry)| entry.effects.len()).sum()
    }

    /// How many calls this request id made.
    pub fn calls(&self, request: RequestId) -> u32 {
        self.entry(request).map_or(0, |entry| entry.calls)
    }

    /// How many queries were asked about this request id.
    pub fn queries(&self, request: RequestId) -> u32 {
        self.entry(request).map_or(0, |entry| entry.queries)
    }

    /// What is known of this request id.
    pub fn entry(&self, request: RequestId) -> Option<Entry> {
        self.catch_up();
        self.lock().entries.get(&request).cloned()
    }

    /// Everything, by request id.
    pub fn entries(&self) -> Vec<(RequestId, Entry)> {
        self.catch_up();
        self.lock().entries.iter().map(|(request, entry)| (*request, entry.clone())).collect()
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    fn note(&self, participant: &Arc<str>, cx: &StepContext, write: impl FnOnce(&mut Entry)) {
        let (request, forward) = (cx.request_id(), cx.forward_request_id());
        let mut book = self.lock();
        let entry = book.entries.entry(request).or_insert_with(|| Entry {
            participant: participant.clone(),
            saga: cx.saga_id(),
            undoes: (forward != request).then_some(forward),
            calls: 0,
            queries: 0,
            effects: Vec::new(),
        });
        write(entry);
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
