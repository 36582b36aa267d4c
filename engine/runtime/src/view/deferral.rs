//! What waits for a permit, and why it has none.

use std::fmt;
use std::sync::Arc;

use amends_core::agenda::Lane;
use amends_core::{ActionId, Timestamp};

use crate::controls::ControlInForce;

/// An attempt or query that may begin and has no permit. No attempt was made of it and none is counted.
///
/// Known only to the engine that has the saga in memory, so it is not in the journal, and a view that another
/// node makes has none; but for a pause of the workflow, which every node knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deferral {
    /// Of which action.
    pub action: ActionId,
    /// In which lane it waits.
    pub lane: Lane,
    /// Since when it waits in this engine, or is held by a pause; when it became ready is in the saga's state.
    pub since: Timestamp,
    /// The dependency, if its step names one that the catalogue limits.
    pub dependency: Option<Arc<str>>,
    /// What it waits for.
    pub missing: Missing,
}

/// What is missing for a permit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// As much as [`Limits::max_running`](crate::Limits::max_running) allows is under way.
    Capacity,
    /// Others of the same dependency have their turn first.
    Turn,
    /// The breaker of the dependency is open until then; none: a probe is under way, whose answer decides.
    Breaker(Option<Timestamp>),
    /// As many calls to the dependency as it can bear are under way.
    Concurrency,
    /// A person limited the dependency, and as many calls to it are under way as that allows.
    Limited(Arc<ControlInForce>),
    /// A person paused the workflow.
    Paused(Arc<ControlInForce>),
    /// The rate of the dependency allows the next one then.
    Rate(Timestamp),
    /// The retry budget of the dependency allows the next one then; none: after more first attempts.
    RetryBudget(Option<Timestamp>),
}

impl Missing {
    /// When it will be there, as far as time alone brings it.
    pub(crate) fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Capacity | Self::Turn | Self::Concurrency | Self::Limited(_) | Self::Paused(_) => None,
            Self::Rate(at) => Some(*at),
            Self::Breaker(until) | Self::RetryBudget(until) => *until,
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capacity => write!(f, "the engine has as much under way as it may"),
            Self::Turn => write!(f, "others have their turn first"),
            Self::Breaker(Some(until)) => write!(f, "breaker open until {until}"),
            Self::Breaker(None) => write!(f, "breaker half open, a probe is under way"),
            Self::Concurrency => write!(f, "as many calls as it can bear are under way"),
            Self::Limited(set) | Self::Paused(set) => set.fmt(f),
            Self::Rate(at) => write!(f, "its rate allows the next one at {at}"),
            Self::RetryBudget(Some(at)) => write!(f, "its retry budget allows the next one at {at}"),
            Self::RetryBudget(None) => {
                write!(f, "its retry budget is spent until more first attempts are made")
            }
        }
    }
}

/// For instance "step `pay` waits for a permit of dependency `gateway` (breaker open until …)".
impl fmt::Display for Deferral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { action, dependency, missing, since, .. } = self;
        match dependency {
            Some(name) => {
                write!(f, "{action} waits for a permit of dependency `{name}` ({missing}) since {since}")
            }
            None => write!(f, "{action} waits for a permit ({missing}) since {since}"),
        }
    }
}
