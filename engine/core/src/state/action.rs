//! The life of one action: its stage, what is known of its effect, and what is being done about it.

use crate::event::{Because, Failure, Finding, Omitted, Recorded, StartCause};
use crate::id::ActionId;
use crate::json::Json;
use crate::time::Timestamp;

/// The life of one action. Forward actions and compensations have the same machine.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Action {
    /// Where it stands.
    pub stage: Stage,
    /// What is known of its effect.
    pub effect: Effect,
    /// Attempts counted so far; never reset.
    pub attempts: u32,
    /// Attempts that were counted before the present budget was granted.
    pub attempts_before: u32,
    /// Attempts granted by a `resume`; none: the policy's.
    pub granted: Option<u32>,
    /// When it first became ready, or was last resumed.
    pub ready_at: Option<Timestamp>,
    /// A `resume`'s own deadline; none: the policy's, from `ready_at`.
    pub deadline: Option<Timestamp>,
    /// The earliest possible first transmission.
    pub first_sent_at: Option<Timestamp>,
    /// The latest possible last transmission, while nothing is running.
    pub last_sent_at: Option<Timestamp>,
    /// The attempt under way: in RUNNING, a repeat in RECONCILING, or one that late news of another
    /// transmission overtook: it is awaited in the stage that the news led to.
    pub running: Option<Running>,
    /// Attempts whose outcome is unknown.
    pub unknown: Vec<u32>,
    /// When the next attempt may start, in RETRY_SCHEDULED.
    pub retry_at: Option<Timestamp>,
    /// A person ordered the next attempt: it draws on no retry budget.
    pub ordered: bool,
    /// How the unknown is being settled, in RECONCILING.
    pub settling: Option<Settling>,
    /// Queries counted so far; never reset.
    pub queries: u32,
    /// The highest attempt that a query asked to fence; 0: none did. Never reset, for attempts are not either.
    pub asked_to_fence: u32,
    /// Why a person is needed, in QUARANTINED.
    pub quarantine: Option<(Because, Timestamp)>,
    /// The last failure of an attempt or query.
    pub failure: Option<Failure>,
    /// Its result, once it succeeded.
    pub output: Option<Recorded>,
    /// Which transmission answered with its outcome; none if a query, a person or nobody named one.
    pub settled_by: Option<u32>,
    /// What the participant said no with.
    pub refusal: Option<Recorded>,
    /// News contradicts the recorded outcome, and it is not settled which of the two is true.
    pub dispute: Option<Dispute>,
    /// Of a forward action: a person ordered its compensation while its outcome is unknown.
    pub doubt_ordered: bool,
    /// Of a compensation: it was started while the forward outcome was unknown.
    pub in_doubt: bool,
    /// Of a compensation: the state and version it expects to find.
    pub expected: Option<Json>,
    /// Of a compensation that stopped as stale: what it found instead.
    pub found_instead: Option<Json>,
    /// When the stage last changed.
    pub since: Timestamp,
}

/// An attempt under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// Its number.
    pub attempt: u32,
    /// When it was journalled as started.
    pub since: Timestamp,
    /// Why it could start.
    pub cause: StartCause,
    /// It began while the outcome of an earlier one was unknown.
    pub repeats: bool,
    /// A person ordered it: if it was never sent, the order stands.
    pub ordered: bool,
}

/// How an unknown outcome is being settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settling {
    /// Since when it is open.
    pub since: Timestamp,
    /// Queries made since then that the budget counts.
    pub queries: u32,
    /// All queries made since then: delays grow with these.
    pub asked: u32,
    /// The participant has taken it and will answer: until the step deadline its silence spends nothing.
    pub accepted: bool,
    /// What comes next.
    pub plan: SettlePlan,
    /// Its item on the reconciliation desk, once it has one: it stays until the outcome is settled, whatever
    /// else is done meanwhile.
    pub item: Option<(Because, Timestamp)>,
}

/// The next thing that is done about an unknown outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettlePlan {
    /// It has to be decided: only within the transition that made it unknown.
    Undecided,
    /// A query, not before.
    QueryAt(Timestamp),
    /// A query is under way, and perhaps asks to fence.
    Querying {
        /// Its number.
        query: u32,
        /// When it was sent: what it finds is no newer than it must be, so an absence counts from here.
        since: Timestamp,
        /// It asks to fence attempts up to this one.
        fence_through: Option<u32>,
    },
    /// A repeat, not before.
    RepeatAt(Timestamp),
    /// One more transmission, whatever the step declares, as soon as there is a permit: a person ordered it.
    OrderedAt(Timestamp),
    /// A repeat, or another attempt, is under way.
    Repeating,
    /// The participant's reply is awaited.
    Reply,
    /// Nothing but a person, or late news.
    Person,
}

/// News that contradicts the recorded outcome of an action.
#[derive(Clone, Debug, PartialEq)]
pub struct Dispute {
    /// Since when.
    pub since: Timestamp,
    /// What the news says.
    pub news: Finding,
    /// What was known of the effect before.
    pub recorded: Effect,
    /// What is done about it.
    pub ask: Ask,
}

/// What is done about a dispute: one query, then a person.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// One query, not before.
    QueryAt(Timestamp),
    /// It is under way.
    Querying {
        /// Its number.
        query: u32,
        /// When it was sent.
        since: Timestamp,
    },
    /// A person is needed: there is no query, or what it found decides nothing.
    Person {
        /// What the query found, if there was one.
        found: Option<Finding>,
    },
}

/// Where an action stands. The law's names in capitals are these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Stage {
    /// Waits for others.
    #[default]
    Pending,
    /// May start; perhaps waits for a permit.
    Ready,
    /// An attempt is under way.
    Running,
    /// Waits to be tried again.
    RetryScheduled,
    /// The outcome is unknown and being settled.
    Reconciling,
    /// Without effect, and a person decides.
    Quarantined,
    /// It took effect.
    Succeeded,
    /// It took effect in part.
    Partial,
    /// Finally refused.
    TerminalRejected,
    /// It will not happen.
    Skipped,
}

impl Stage {
    /// Every stage, in the order of a life.
    pub const ALL: [Self; 10] = [
        Self::Pending,
        Self::Ready,
        Self::Running,
        Self::RetryScheduled,
        Self::Reconciling,
        Self::Quarantined,
        Self::Succeeded,
        Self::Partial,
        Self::TerminalRejected,
        Self::Skipped,
    ];

    /// The law's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Ready => "READY",
            Self::Running => "RUNNING",
            Self::RetryScheduled => "RETRY_SCHEDULED",
            Self::Reconciling => "RECONCILING",
            Self::Quarantined => "QUARANTINED",
            Self::Succeeded => "SUCCEEDED",
            Self::Partial => "PARTIAL",
            Self::TerminalRejected => "TERMINAL_REJECTED",
            Self::Skipped => "SKIPPED",
        }
    }

    /// Has the action an outcome?
    pub fn is_settled(self) -> bool {
        match self {
            Self::Succeeded | Self::Partial | Self::TerminalRejected | Self::Skipped => true,
            Self::Pending
            | Self::Ready
            | Self::Running
            | Self::RetryScheduled
            | Self::Reconciling
            | Self::Quarantined => false,
        }
    }
}

/// What is known of an action's effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Effect {
    /// There is none.
    #[default]
    None,
    /// There may be one.
    Possible,
    /// It is in place.
    Applied,
    /// Part of it is in place.
    Partial,
}

impl Effect {
    /// The word used on desks and in views.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Possible => "possible",
            Self::Applied => "applied",
            Self::Partial => "partial",
        }
    }
}

impl Action {
    /// Has it an outcome that nothing contradicts, and is nothing of it under way?
    pub fn is_settled(&self) -> bool {
        self.stage.is_settled() && self.dispute.is_none() && self.running.is_none()
    }

    /// Does the record say that it took effect? A compensation that found nothing to undo has succeeded, too.
    pub fn is_recorded_as_applied(&self, id: &ActionId) -> bool {
        let done = matches!(self.stage, Stage::Succeeded | Stage::Partial);
        done && (!id.is_forward() || self.recorded_effect() != Effect::None)
    }

    /// What is recorded of the effect, whatever news says.
    pub fn recorded_effect(&self) -> Effect {
        self.dispute.as_ref().map_or(self.effect, |dispute| dispute.recorded)
    }

    /// Is there an effect for certain, if only in part?
    pub fn has_effect(&self) -> bool {
        matches!(self.effect, Effect::Applied | Effect::Partial)
    }

    /// A compensation that was never sent, and of which nobody has said what it expects to find.
    pub fn may_yet_expect(&self, id: &ActionId) -> bool {
        !id.is_forward() && self.attempts == 0 && self.expected.is_none()
    }

    /// Attempts counted since the present budget was granted.
    pub fn attempts_of_budget(&self) -> u32 {
        self.attempts - self.attempts_before
    }

    /// The recorded result, unless there is none or it was omitted.
    pub fn value(&self) -> Option<&Json> {
        self.output.as_ref().and_then(Recorded::value)
    }

    /// The marker in the place of its result, if that could not be recorded.
    pub fn omitted(&self) -> Option<&Omitted> {
        match &self.output {
            Some(Recorded::Omitted(omitted)) => Some(omitted),
            Some(Recorded::Value(_)) | None => None,
        }
    }
}
