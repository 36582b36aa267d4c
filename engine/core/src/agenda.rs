//! What is to be done now, when to look again, and what waits for whom. A question asked of the state, so
//! that recovery after a crash is the same code as live running.

mod ask;
mod desk;
mod verbs;

pub use ask::{tasks, tasks_of_paused};
pub use desk::{Desk, DeskItem, desk};
pub use verbs::{VerbOffer, verbs};

use std::sync::Arc;

use crate::id::ActionId;
use crate::plan::SagaPlan;
use crate::state::SagaState;
use crate::time::Timestamp;

/// The answer of [`agenda`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agenda {
    /// What may be done now. Nothing of it is journalled yet.
    pub tasks: Vec<Task>,
    /// When to tick next, and for what.
    pub wake: Option<Wake>,
    /// Why every unsettled part of the saga is not moving by itself right now.
    pub waits: Vec<Wait>,
}

/// Something the runtime may do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Build the input, take a permit, journal the attempt as started, then run it.
    Start {
        /// Of which action.
        action: ActionId,
        /// The number it will have.
        attempt: u32,
        /// Which lane it queues in.
        lane: Lane,
        /// When it may no longer start: the queue's patience.
        deadline: Option<Timestamp>,
    },
    /// Evaluate the condition of a branch, and journal the decision.
    Decide {
        /// Its name.
        branch: Arc<str>,
    },
    /// Journal the query as started, then send it.
    Query {
        /// Of which action.
        action: ActionId,
        /// The number it will have.
        query: u32,
        /// It asks to fence attempts up to this one.
        fence_through: Option<u32>,
    },
    /// Ask the running attempt to stop; its answer is awaited all the same.
    Stop {
        /// Of which action.
        action: ActionId,
    },
    /// A point in time has come: decide [`crate::Command::Tick`].
    Tick,
}

/// The lanes of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// First attempts of forward actions.
    First,
    /// Retries of forward actions.
    Retry,
    /// Queries and repeats.
    Reconciliation,
    /// Attempts of compensations.
    Compensation,
}

/// When to look again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The time.
    pub at: Timestamp,
    /// What happens then.
    pub why: WakeReason,
}

/// What a wake-up is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WakeReason {
    /// A scheduled retry is due.
    Retry(ActionId),
    /// A query is due.
    Query(ActionId),
    /// A repeat is due.
    Repeat(ActionId),
    /// A step may not start after this.
    StepDeadline(ActionId),
    /// The saga's deadline.
    SagaDeadline,
}

/// Why something is not moving by itself right now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// An attempt is under way.
    Attempt {
        /// Of which action.
        action: ActionId,
        /// Its number.
        attempt: u32,
        /// Since when.
        since: Timestamp,
    },
    /// A query is under way.
    Querying {
        /// Of which action.
        action: ActionId,
        /// Its number.
        query: u32,
    },
    /// It may start, and waits for a permit of its lane.
    Permit {
        /// Of which action.
        action: ActionId,
        /// Since when.
        since: Timestamp,
    },
    /// The participant has taken it, and its reply is awaited.
    Reply {
        /// Of which action.
        action: ActionId,
        /// Since when.
        since: Timestamp,
        /// When a person will be asked.
        until: Timestamp,
    },
    /// A point in time.
    Until(Wake),
    /// A person paused the saga: no attempt starts.
    Paused {
        /// Since when.
        since: Timestamp,
    },
    /// A person.
    Person(DeskItem),
}

/// Asks the state: tasks, wake-up and waits.
pub fn agenda(plan: &SagaPlan, state: &SagaState, now: Timestamp) -> Agenda {
    let (tasks, wake) = ask::tasks(plan, state, now);
    Agenda { tasks, wake, waits: ask::waits(plan, state, now) }
}
