//! Faults between the engine and *any* step: what the network and the participant do to a saga, without
//! knowing what the saga is.
//!
//! A fault stands in front of a step's code. It can answer in its place, run it and lose the reply, lose the
//! request, or run it twice; so the laws can try every one of them on every action of every workflow.

mod intercept;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amends_core::event::{Failure, FailureKind, Recorded};
use amends_core::machine::Attempted;
use amends_core::{Json, SagaId, Timestamp};

pub(crate) use intercept::intercepted;

/// One fault: what happens to which calls of which step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The step.
    pub step: String,
    /// Which of its calls.
    pub call: Call,
    /// What happens to them.
    pub kind: FaultKind,
    /// To how many of them, in each saga: the first so many. `u32::MAX`: to all.
    pub times: u32,
}

/// The calls that a step makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// Its forward action.
    Forward,
    /// Its compensation.
    Compensation,
    /// The query for its forward action.
    Query,
    /// The query for its compensation.
    CompensationQuery,
}

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It fails without effect, and may work later.
    Transient,
    /// It fails without effect, and will not heal by itself.
    Persistent,
    /// The participant refuses. For forward actions.
    Refused,
    /// It takes effect, and the reply is lost.
    ReplyLost,
    /// It never arrives, and nobody knows.
    RequestLost,
    /// It arrives twice.
    Repeated,
    /// The query fails. For queries.
    QueryFails,
    /// The query knows nothing yet: `Absent` as long as the settle window allows that, then the truth. For
    /// queries.
    QueryLags,
}

impl Fault {
    /// The first call of this kind meets the fault, in each saga.
    pub fn first(step: impl Into<String>, call: Call, kind: FaultKind) -> Self {
        Self { step: step.into(), call, kind, times: 1 }
    }

    /// Every call of this kind meets the fault.
    pub fn every(step: impl Into<String>, call: Call, kind: FaultKind) -> Self {
        Self { times: u32::MAX, ..Self::first(step, call, kind) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = match self.call {
            Call::Forward => "",
            Call::Compensation => "the compensation of ",
            Call::Query => "the query of ",
            Call::CompensationQuery => "the query for the compensation of ",
        };
        let happens = match self.kind {
            FaultKind::Transient => "fails for a while",
            FaultKind::Persistent => "fails and will not heal by itself",
            FaultKind::Refused => "is refused",
            FaultKind::ReplyLost => "takes effect and its reply is lost",
            FaultKind::RequestLost => "is lost on its way",
            FaultKind::Repeated => "arrives twice",
            FaultKind::QueryFails => "fails",
            FaultKind::QueryLags => "does not know yet",
        };
        write!(f, "{call}`{}` {happens}", self.step)?;
        match self.times {
            1 => Ok(()),
            u32::MAX => f.write_str(", every time"),
            times => write!(f, ", {times} times"),
        }
    }
}

/// The faults of a world, and what they have met. Shared by all processes of the world: the network does not
/// forget when an engine dies.
#[derive(Clone, Default)]
pub(crate) struct Faults(Arc<Mutex<Met>>);

#[derive(Default)]
struct Met {
    faults: Vec<Fault>,
    /// How often each fault has met each saga.
    hits: BTreeMap<(usize, SagaId), u32>,
    /// Every call that was made, however it ended.
    made: BTreeMap<(String, Call), u32>,
    /// When an action was last transmitted.
    sent: BTreeMap<(SagaId, String, Call), Timestamp>,
}

impl Faults {
    pub(crate) fn add(&self, fault: Fault) {
        self.lock().faults.push(fault);
    }

    /// From now on every call meets the truth.
    pub(crate) fn heal(&self) {
        self.lock().faults.clear();
    }

    /// Has any fault met a call?
    pub(crate) fn any_met(&self) -> bool {
        !self.lock().hits.is_empty()
    }

    /// How often this call was made by all sagas together.
    pub(crate) fn made(&self, step: &str, call: Call) -> u32 {
        self.lock().made.get(&(step.to_owned(), call)).copied().unwrap_or(0)
    }

    /// Is there a fault that needs a step's input twice?
    fn repeats(&self, step: &str) -> bool {
        self.lock().faults.iter().any(|fault| fault.step == step && fault.kind == FaultKind::Repeated)
    }

    /// A call is made: what happens to it?
    fn meet(&self, saga: SagaId, step: &str, call: Call, now: Timestamp) -> Option<FaultKind> {
        let mut met = self.lock();
        *met.made.entry((step.to_owned(), call)).or_default() += 1;
        if matches!(call, Call::Forward | Call::Compensation) {
            met.sent.insert((saga, step.to_owned(), call), now);
        }
        let Met { faults, hits, .. } = &mut *met;
        let candidates = faults.iter().enumerate().filter(|(_, f)| f.step == step && f.call == call);
        for (index, fault) in candidates {
            let hit = hits.entry((index, saga)).or_default();
            if *hit < fault.times {
                *hit += 1;
                return Some(fault.kind);
            }
        }
        None
    }

    /// When the action behind this query was last transmitted.
    fn last_sent(&self, saga: SagaId, step: &str, call: Call) -> Option<Timestamp> {
        let action = match call {
            Call::Forward | Call::Query => Call::Forward,
            Call::Compensation | Call::CompensationQuery => Call::Compensation,
        };
        self.lock().sent.get(&(saga, step.to_owned(), action)).copied()
    }

    fn lock(&self) -> MutexGuard<'_, Met> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a fault says for itself, in journals and timelines.
fn failure(kind: FailureKind, code: &str) -> Failure {
    Failure {
        kind,
        code: code.to_owned(),
        message: String::new(),
        rule: "fault".to_owned(),
        classifier: "testkit/1".to_owned(),
        hint: None,
    }
}

fn reply_lost() -> Attempted {
    Attempted::Unknown(failure(FailureKind::Unknown, "reply-lost"))
}

fn refused() -> Attempted {
    let refusal = Json::encode("refused by a fault").expect("text encodes");
    Attempted::Refused(Recorded::Value(refusal))
}
