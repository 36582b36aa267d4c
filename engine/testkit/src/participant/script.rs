//! What a participant is told to do.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What happens to a forward call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallPlan<R> {
    /// It takes effect and answers.
    Succeed,
    /// It is refused.
    Refuse(R),
    /// It fails without effect, and may work later.
    Transient,
    /// It fails without effect, and will not heal by itself.
    Persistent,
    /// It never answers, and has no effect.
    Hang,
    /// It takes effect, and the reply is lost.
    LoseReply,
    /// It never arrives, and nobody knows.
    LoseRequest,
    /// Nobody answers, and it takes effect so much later, if it still may.
    ApplyLate(Duration),
    /// It arrives and is answered, and a copy of it arrives so much later.
    Twice(Duration),
    /// It takes effect in part.
    Partial,
    /// The participant takes it, and takes effect later.
    Accept(Acceptance),
}

/// What a participant says and does that has taken a request and answers it later. Until then its queries say
/// that it is in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acceptance {
    /// Not to be asked about before so long, if it says so.
    pub hint: Option<Duration>,
    /// It takes effect so much later.
    pub after: Duration,
}

/// What happens to a compensation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoPlan {
    /// It undoes and answers.
    Undo,
    /// It says that it did, and did not: broken.
    DoNothing,
    /// It fails without effect, and may work later.
    Transient,
    /// It fails without effect, and will not heal by itself.
    Persistent,
    /// It never answers, and has no effect.
    Hang,
    /// It undoes, and the reply is lost.
    LoseReply,
    /// It never arrives, and nobody knows.
    LoseRequest,
    /// Nobody answers, and it undoes so much later.
    ApplyLate(Duration),
    /// It arrives and is answered, and a copy of it arrives so much later.
    Twice(Duration),
    /// The participant takes it, and undoes later.
    Accept(Acceptance),
}

/// What a query answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryPlan<O> {
    /// What is so.
    Truth,
    /// What was so, so long ago.
    Lag(Duration),
    /// "Absent", whatever is so: after the settle window that is a lie.
    SayAbsent,
    /// "In progress", whatever is so.
    SayInProgress,
    /// "Applied", whatever is so.
    SayApplied(O),
    /// The query fails.
    Fail,
    /// The query never answers.
    Hang,
}

/// A script: what is to happen to which call. The first rule that fits decides: what was planned for the
/// business key, for this call's number, for the next call, for every call.
pub struct Script<P>(Arc<Mutex<Lines<P>>>);

struct Lines<P> {
    calls: u32,
    by_key: BTreeMap<String, VecDeque<P>>,
    /// What was planned for business keys and happened.
    happened: Vec<P>,
    by_number: BTreeMap<u32, P>,
    next: VecDeque<P>,
    always: Option<P>,
}

impl<P> Clone for Script<P> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<P: Clone> Script<P> {
    pub(super) fn new() -> Self {
        let lines = Lines {
            calls: 0,
            by_key: BTreeMap::new(),
            happened: Vec::new(),
            by_number: BTreeMap::new(),
            next: VecDeque::new(),
            always: None,
        };
        Self(Arc::new(Mutex::new(lines)))
    }

    /// For the next call that nothing else is planned for; several are taken in order.
    pub fn next(&self, plan: P) -> &Self {
        self.lines().next.push_back(plan);
        self
    }

    /// For the `n`th call, counted from 1.
    pub fn nth(&self, n: u32, plan: P) -> &Self {
        self.lines().by_number.insert(n, plan);
        self
    }

    /// For the next call of the saga with this business key; several are taken in order.
    pub fn for_key(&self, key: &str, plan: P) -> &Self {
        self.lines().by_key.entry(key.to_owned()).or_default().push_back(plan);
        self
    }

    /// For every call that nothing else is planned for.
    pub fn always(&self, plan: P) -> &Self {
        self.lines().always = Some(plan);
        self
    }

    /// From now on all is well.
    pub fn heal(&self) {
        let mut lines = self.lines();
        lines.by_key.clear();
        lines.by_number.clear();
        lines.next.clear();
        lines.always = None;
    }

    /// How many calls there were.
    pub fn calls(&self) -> u32 {
        self.lines().calls
    }

    /// What was planned for business keys and happened.
    pub(crate) fn happened(&self) -> Vec<P> {
        self.lines().happened.clone()
    }

    pub(super) fn take(&self, key: &str) -> Option<P> {
        let mut lines = self.lines();
        lines.calls += 1;
        let number = lines.calls;
        let by_key = lines.by_key.get_mut(key).and_then(VecDeque::pop_front);
        lines.happened.extend(by_key.clone());
        let planned = by_key.or_else(|| lines.by_number.remove(&number));
        planned.or_else(|| lines.next.pop_front()).or_else(|| lines.always.clone())
    }

    fn lines(&self) -> MutexGuard<'_, Lines<P>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
