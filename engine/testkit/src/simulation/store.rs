//! The store of a simulation: another store, behind a connection that fails.
//!
//! What fails is what a real connection does: a call is late, does not arrive, or arrives and its answer is lost; a
//! commit comes through long after its sender has given up and sent it again; the process that called dies. The
//! store behind it is never wrong, unless a test hands in one that is.
//!
//! Everything that the store behind answers is noted, in its order, for the checkers.

mod calls;

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use amends::ports::{Clock, Commit, Fault, JournalRow, SagaChange, Store, Verdict, WorkItemRow};
use amends_core::{Incarnation, SagaId, Timestamp};
use fastrand::Rng;
use futures_util::FutureExt as _;

use super::setup::{Setup, span};
use super::trouble::Trouble;

/// Of all commits, so many meet a kind of fault at a rate of 1.
const COMMITS_STRUCK: f64 = 0.04;

/// The same for batches of which somebody holds a commit up.
const COMMITS_HELD: f64 = 0.2;

/// The same for the death of the process, which costs much more.
const COMMITS_DEADLY: f64 = 0.01;

/// The same for calls that are late.
const CALLS_STALLED: f64 = 0.02;

/// The same for claims that took something.
const CLAIMS_STRUCK: f64 = 0.3;

/// A store behind a connection that fails. Clones are the same connection.
#[derive(Clone)]
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<State>>,
}

/// What the store behind has answered.
#[derive(Clone, Debug)]
pub(super) enum Noted {
    /// A journal row is durable, now or since an earlier submission.
    Accepted(Accepted),
    /// An incarnation has no `worker` row any more.
    Ended(Incarnation),
}

/// A journal row that the store says is durable.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// When, in the time of the simulation.
    pub at: Timestamp,
    /// Who submitted it.
    pub by: Incarnation,
    /// Of which saga.
    pub saga: SagaId,
    /// The digest of the definition, with the first row.
    pub definition: Option<[u8; 32]>,
    /// The row, as it was submitted.
    pub row: JournalRow,
    /// It gives the saga up.
    pub released: bool,
    /// The saga's desk entries, as the store has them then.
    pub items: Vec<WorkItemRow>,
}

struct Ghost {
    at: Timestamp,
    by: Incarnation,
    batch: Vec<Commit>,
}

struct State {
    chance: Rng,
    /// Decides who is held up, and nothing else: so the other faults of a seed stay what they are.
    chance_held: Rng,
    rates: BTreeMap<Trouble, f64>,
    /// No chance strikes.
    calm: bool,
    outage: bool,
    read_only: bool,
    occupied: u32,
    held_keys: BTreeSet<String>,
    held_sagas: BTreeSet<SagaId>,
    answers_lost: u32,
    poison: Option<String>,
    dead: BTreeSet<Incarnation>,
    died: Vec<Incarnation>,
    ghosts: Vec<Ghost>,
    noted: Vec<Noted>,
    struck: BTreeMap<Trouble, u64>,
}

/// What becomes of a commit.
enum Fate {
    Well,
    DiesBefore,
    DiesAfter,
    AnswerLost,
    Ghost(Duration),
}

impl FaultyStore {
    /// A connection to `inner` on which nothing fails by chance: faults are raised by whoever holds it.
    pub fn new(inner: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        let state = State {
            chance: Rng::with_seed(0),
            chance_held: Rng::with_seed(0),
            rates: BTreeMap::new(),
            calm: true,
            outage: false,
            read_only: false,
            occupied: 0,
            held_keys: BTreeSet::new(),
            held_sagas: BTreeSet::new(),
            answers_lost: 0,
            poison: None,
            dead: BTreeSet::new(),
            died: Vec::new(),
            ghosts: Vec::new(),
            noted: Vec::new(),
            struck: BTreeMap::new(),
        };
        Self { inner, clock, state: Arc::new(Mutex::new(state)) }
    }

    /// A connection that fails as this setup says.
    pub(super) fn of(setup: &Setup, inner: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        let store = Self::new(inner, clock);
        {
            let mut state = store.state();
            state.chance = setup.chance("store", 0);
            state.chance_held = setup.chance("held", 0);
            state.calm = false;
            let rates = Trouble::ALL.iter().filter_map(|trouble| Some((*trouble, setup.rate(*trouble)?)));
            state.rates = rates.collect();
        }
        store
    }

    /// Does something during which nothing fails.
    pub(super) fn calmly<T>(&self, something: impl FnOnce() -> T) -> T {
        let (calm, outage) = {
            let mut state = self.state();
            (std::mem::replace(&mut state.calm, true), std::mem::replace(&mut state.outage, false))
        };
        let done = something();
        let mut state = self.state();
        (state.calm, state.outage) = (calm, outage);
        done
    }

    /// From now on nothing fails by chance.
    pub(super) fn heal(&self) {
        let mut state = self.state();
        (state.calm, state.outage) = (true, false);
    }

    /// While out, no call arrives.
    pub(super) fn outage(&self, out: bool) {
        self.state().outage = out;
    }

    /// While read-only, every write is refused, as on a full disk.
    pub fn read_only(&self, refused: bool) {
        self.state().read_only = refused;
    }

    /// Somebody holds what writers need, until the guard is dropped.
    pub fn occupy(&self) -> Occupied {
        self.state().occupied += 1;
        Occupied(self.state.clone())
    }

    /// Somebody's open transaction holds this key, until the guard is dropped.
    pub fn hold_key(&self, key: &str) -> Holds {
        self.state().held_keys.insert(key.to_owned());
        Holds { state: self.state.clone(), key: Some(key.to_owned()), saga: None }
    }

    /// Somebody's open transaction holds the row of this saga, until the guard is dropped.
    pub fn hold_saga(&self, saga: SagaId) -> Holds {
        self.state().held_sagas.insert(saga);
        Holds { state: self.state.clone(), key: None, saga: Some(saga) }
    }

    /// The next `count` writes take effect, and their answers are lost.
    pub fn lose_answers(&self, count: u32) {
        self.state().answers_lost = count;
    }

    /// From now on journal rows of this actor cannot be stored.
    pub fn poison(&self, actor: &str) {
        self.state().poison = Some(actor.to_owned());
    }

    /// The store behind.
    pub(super) fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    /// Who died at a commit since this was last asked.
    pub(super) fn take_died(&self) -> Vec<Incarnation> {
        std::mem::take(&mut self.state().died)
    }

    /// What the store behind has answered since this was last asked, in order.
    pub(super) fn take_noted(&self) -> Vec<Noted> {
        std::mem::take(&mut self.state().noted)
    }

    /// How often each kind of fault has struck here.
    pub(super) fn struck(&self) -> BTreeMap<Trouble, u64> {
        self.state().struck.clone()
    }

    /// Commits that were thought lost come through, if it is time.
    pub(super) fn haunt(&self) {
        let now = self.clock.now();
        loop {
            let ghost = {
                let mut state = self.state();
                let due = state.ghosts.iter().position(|ghost| ghost.at <= now);
                due.map(|at| state.ghosts.remove(at))
            };
            let Some(Ghost { by, batch, .. }) = ghost else { return };
            let written = self.write(by, &batch).now_or_never();
            drop(written.expect("a store in memory answers at once"));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call is on its way: it may be late, and may not arrive. A dead process waits for ever.
    async fn arrive(&self, by: Option<Incarnation>, writes: bool) -> Result<(), Fault> {
        let stall = self.state().stall();
        if let Some(stall) = stall {
            self.clock.sleep_until(self.clock.now() + stall).await;
        }
        let (dead, refused) = {
            let state = self.state();
            let refused = match () {
                () if state.outage => Some("the store is out"),
                () if writes && state.read_only => Some("the store is read-only"),
                () if writes && state.occupied > 0 => Some("the store is occupied"),
                () => None,
            };
            (by.is_some_and(|by| state.dead.contains(&by)), refused)
        };
        if dead {
            pending::<()>().await;
        }
        refused.map_or(Ok(()), |reason| Err(Fault::Unavailable(reason.to_owned())))
    }

    /// The answer to a write comes back, or is lost.
    fn answer<T>(&self, answer: T) -> Result<T, Fault> {
        let mut state = self.state();
        if state.answers_lost == 0 {
            return Ok(answer);
        }
        state.answers_lost -= 1;
        Err(lost())
    }

    /// Who is dead calls nobody any more.
    async fn die(&self, by: Incarnation) {
        {
            let mut state = self.state();
            state.strike(Trouble::Crash);
            state.dead.insert(by);
            state.died.push(by);
        }
        pending().await
    }

    /// The batch arrives at the store behind, which may refuse the content of some of it, and for which somebody may
    /// hold what others need.
    async fn write(&self, by: Incarnation, batch: &[Commit]) -> Result<Vec<Verdict>, Fault> {
        let refused: Vec<Option<Verdict>> = {
            let mut state = self.state();
            let unlucky = state.held_by_chance(batch.len());
            let refusal = |(n, commit)| state.refusal(commit, unlucky == Some(n));
            batch.iter().enumerate().map(refusal).collect()
        };
        let sound = batch.iter().zip(&refused).filter(|(_, refused)| refused.is_none());
        let sound: Vec<Commit> = sound.map(|(commit, _)| commit.clone()).collect();
        let mut verdicts = self.inner.commit(by, &sound).await?.into_iter();
        let all: Vec<Verdict> =
            refused.into_iter().filter_map(|refused| refused.or_else(|| verdicts.next())).collect();
        self.note(by, batch, &all).await?;
        Ok(all)
    }

    async fn note(&self, by: Incarnation, batch: &[Commit], verdicts: &[Verdict]) -> Result<(), Fault> {
        let items = self.inner.desk(u32::MAX).await?;
        let at = self.clock.now();
        let accepted = batch.iter().zip(verdicts).filter(|(_, verdict)| **verdict == Verdict::Accepted);
        let noted = accepted.map(|(commit, _)| {
            Noted::Accepted(Accepted {
                at,
                by,
                saga: commit.saga,
                definition: commit.start.as_ref().map(|start| start.definition.digest),
                row: commit.journal.clone(),
                released: commit.change.as_ref().is_some_and(SagaChange::gives_up),
                items: items
                    .iter()
                    .filter(|(saga, _)| *saga == commit.saga)
                    .map(|(_, i)| i.clone())
                    .collect(),
            })
        });
        self.state().noted.extend(noted);
        Ok(())
    }

    fn ended(&self, incarnation: Incarnation) {
        self.state().noted.push(Noted::Ended(incarnation));
    }
}

fn lost() -> Fault {
    Fault::Unavailable("the answer was lost".to_owned())
}

impl State {
    fn strikes(&mut self, trouble: Trouble, share: f64) -> bool {
        let Some(rate) = self.rates.get(&trouble).copied().filter(|_| !self.calm) else { return false };
        let strikes = self.chance.f64() < rate * share;
        if strikes && trouble != Trouble::Crash {
            self.strike(trouble);
        }
        strikes
    }

    fn strike(&mut self, trouble: Trouble) {
        *self.struck.entry(trouble).or_default() += 1;
    }

    /// Which of so many commits of a batch somebody holds up, if chance wants it.
    fn held_by_chance(&mut self, commits: usize) -> Option<usize> {
        let rate = self.rates.get(&Trouble::Held).copied().filter(|_| !self.calm && commits > 0)?;
        if self.chance_held.f64() >= rate * COMMITS_HELD {
            return None;
        }
        self.strike(Trouble::Held);
        Some(self.chance_held.usize(..commits))
    }

    /// Why a commit is not written, if so.
    fn refusal(&self, commit: &Commit, unlucky: bool) -> Option<Verdict> {
        if self.poison.as_deref().is_some_and(|actor| *commit.journal.actor == *actor) {
            return Some(Verdict::Unstorable { reason: "poison".to_owned() });
        }
        let key_held = commit.start.as_ref().is_some_and(|start| self.held_keys.contains(&*start.key));
        let saga_held = commit.change.is_some() && self.held_sagas.contains(&commit.saga);
        let held = unlucky || key_held || saga_held;
        held.then(|| Verdict::Later { reason: "somebody holds it".to_owned() })
    }

    fn stall(&mut self) -> Option<Duration> {
        self.strikes(Trouble::StoreStall, CALLS_STALLED).then(|| span(&mut self.chance, 20, 8_000))
    }

    fn fate(&mut self) -> Fate {
        if self.strikes(Trouble::Crash, COMMITS_DEADLY) {
            return if self.chance.bool() { Fate::DiesBefore } else { Fate::DiesAfter };
        }
        if self.strikes(Trouble::LostCommit, COMMITS_STRUCK) {
            return Fate::AnswerLost;
        }
        if self.strikes(Trouble::GhostCommit, COMMITS_STRUCK) {
            return Fate::Ghost(span(&mut self.chance, 5, 20_000));
        }
        Fate::Well
    }
}

/// While it lives, writers are kept waiting in vain.
pub struct Occupied(Arc<Mutex<State>>);

impl Drop for Occupied {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).occupied -= 1;
    }
}

/// While it lives, somebody's open transaction holds a key or a saga.
pub struct Holds {
    state: Arc<Mutex<State>>,
    key: Option<String>,
    saga: Option<SagaId>,
}

impl Drop for Holds {
    fn drop(&mut self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = &self.key {
            state.held_keys.remove(key);
        }
        if let Some(saga) = &self.saga {
            state.held_sagas.remove(saga);
        }
    }
}
