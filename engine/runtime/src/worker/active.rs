//! One saga in memory.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use amends_core::machine::Command;
use amends_core::{ActionId, JournalEvent, SagaState, Timestamp};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::admission::{Health, Permit};
use super::announce::Notice;
use super::brought::Bringers;
use super::definitions::Registered;
use super::input::{Recovered, Started};
use super::mail::Seen;
use super::rows::Shown;
use super::time::SagaTime;
use crate::authoring::Prepared;
use crate::engine::SagaStartError;
use crate::ports::{Mail, NewSaga, OutboxKind};

/// A saga that this worker advances.
///
/// `state` may be one transition ahead of the store, never more: while `committing` is set nothing is decided
/// and nothing leaves the process; what arrives waits in `inbox`.
pub(super) struct Active {
    pub(super) definition: Arc<Registered>,
    pub(super) state: SagaState,
    /// Its own time.
    pub(super) time: SagaTime,
    /// The sequence of the last transition that was submitted.
    pub(super) seq: u64,
    pub(super) shown: Shown,
    /// A transition is with the store.
    pub(super) committing: bool,
    /// Somebody else holds that one up.
    pub(super) aside: bool,
    /// It was to be looked at while a transition was with the store.
    pub(super) again: bool,
    /// It stands in the worker's list of sagas to look at.
    pub(super) listed: bool,
    /// What arrived and is not decided.
    pub(super) inbox: VecDeque<Input>,
    /// Mail that has come into the inbox.
    pub(super) seen: Seen,
    /// Who waits for what was brought here to be durable.
    pub(super) bringers: Bringers,
    /// What was decided and not yet submitted: the first facts of a start.
    pub(super) draft: Option<Draft>,
    /// What is to be done once the transition is durable.
    pub(super) effects: Effects,
    /// What is under way in this process.
    pub(super) flights: Vec<Flight>,
    /// What replies that were just read say of the dependencies they come from, by attempt.
    pub(super) heard: Vec<(ActionId, u32, Option<Health>)>,
    /// The permit of what is being decided. Each send and each flight has its own.
    pub(super) in_hand: Option<Permit>,
    /// Its time among the timers, as this node's clock shows it.
    pub(super) wake: Option<Timestamp>,
    /// The transition that is with the store gives the saga up.
    pub(super) released: bool,
}

/// One thing that arrived for a saga.
#[expect(
    clippy::large_enum_variant,
    reason = "answers are the hot path: a box for each would be an allocation"
)]
pub(super) enum Input {
    /// Of the engine itself.
    Engine(Command),
    /// Of people and participants.
    Mail(Box<Mail>),
    /// Of participants, and never posted: it stands nowhere else.
    Brought(Box<Mail>),
}

/// The first facts of a saga that is being started.
pub(super) struct Draft {
    pub(super) at: Timestamp,
    pub(super) start: NewSaga,
    pub(super) events: Vec<JournalEvent>,
}

/// What is to be done once a transition is durable, and not a moment before.
#[derive(Default)]
pub(super) struct Effects {
    pub(super) starter: Option<Starter>,
    pub(super) sends: Vec<Send>,
    pub(super) stops: Vec<ActionId>,
    pub(super) notices: Vec<Notice>,
    /// Kinds of messages that wait in the outbox.
    pub(super) messages: Vec<OutboxKind>,
    /// Mail that is answered, with the answers.
    pub(super) answered: Vec<(Uuid, String)>,
}

/// Somebody waits until the saga was started.
pub(super) struct Starter {
    pub(super) reply: oneshot::Sender<Result<Started, SagaStartError>>,
    /// Of its input: tells a repeated start from a conflicting one.
    pub(super) input_digest: [u8; 32],
}

/// An attempt or query that was journalled as started and is to be sent.
pub(super) struct Send {
    pub(super) action: ActionId,
    pub(super) what: Sent,
    /// None, once the transition was held up by somebody else: others may go meanwhile.
    pub(super) permit: Option<Permit>,
    pub(super) by: By,
}

/// How something is sent.
pub(super) enum By {
    /// By a call of the step's own code.
    Call(Prepared),
    /// By a message of this id, which stands in the outbox.
    Message(Uuid),
}

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// An attempt, with its number.
    Attempt(u32),
    /// A query, with its number.
    Query {
        /// Its number.
        query: u32,
        /// It asks to fence attempts up to this one.
        fence_through: Option<u32>,
    },
}

/// An attempt or query under way in this process. Dropping it ends the in-process part at once: what it had
/// asked of a participant may still happen, which is why the journal calls it unknown.
pub(super) struct Flight {
    pub(super) action: ActionId,
    pub(super) what: Sent,
    /// None, once it was given back early: what ended the flight waits to be decided.
    pub(super) permit: Option<Permit>,
    pub(super) stop: CancellationToken,
    pub(super) under_way: UnderWay,
}

/// What brings the answer of a flight.
pub(super) enum UnderWay {
    /// A task.
    Call(JoinHandle<()>),
    /// A reply, which is awaited by nobody in particular, until then.
    Message {
        /// Of the message.
        id: Uuid,
        /// How long it is awaited.
        timeout: Duration,
        /// From then on the outcome is unknown.
        until: Timestamp,
    },
}

impl Flight {
    /// Is it a task of this process?
    pub(super) fn is_call(&self) -> bool {
        matches!(self.under_way, UnderWay::Call(_))
    }

    /// Until when its reply is awaited, if it awaits one.
    pub(super) fn awaited_until(&self) -> Option<Timestamp> {
        match self.under_way {
            UnderWay::Call(_) => None,
            UnderWay::Message { until, .. } => Some(until),
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if let UnderWay::Call(running) = &self.under_way {
            running.abort();
        }
    }
}

impl Active {
    /// A saga that was loaded: it takes itself over before anything else.
    pub(super) fn recovered(found: Recovered, claim: Command, time: SagaTime) -> Self {
        let Recovered { definition, state, seq, shown } = found;
        let mut active = Self::new(definition, state, shown);
        active.seen = Seen::of_a_stranger();
        active.seq = seq;
        active.time = time;
        active.inbox.push_back(Input::Engine(claim));
        active
    }

    /// A saga that is being started.
    pub(super) fn started(definition: Arc<Registered>, state: SagaState, draft: Draft) -> Self {
        let mut active = Self::new(definition, state, Shown::default());
        active.draft = Some(draft);
        active
    }

    fn new(definition: Arc<Registered>, state: SagaState, shown: Shown) -> Self {
        Self {
            definition,
            state,
            time: SagaTime::default(),
            seq: 0,
            shown,
            committing: false,
            aside: false,
            again: false,
            listed: false,
            inbox: VecDeque::new(),
            seen: Seen::default(),
            bringers: Bringers::default(),
            draft: None,
            effects: Effects::default(),
            flights: Vec::new(),
            heard: Vec::new(),
            in_hand: None,
            wake: None,
            released: false,
        }
    }

    /// Takes mail in, unless it came before. Says whether it is new.
    pub(super) fn receive(&mut self, mail: Mail) -> bool {
        let new = self.seen.is_new(&mail);
        if new {
            self.inbox.push_back(Input::Mail(Box::new(mail)));
        }
        new
    }

    /// Takes the flight of this action and number, which has landed.
    pub(super) fn landed(&mut self, action: &ActionId, is_it: impl Fn(Sent) -> bool) -> Option<Flight> {
        let at = self.flights.iter().position(|flight| flight.action == *action && is_it(flight.what))?;
        Some(self.flights.swap_remove(at))
    }

    /// Takes the flights whose reply was awaited until now.
    pub(super) fn timed_out(&mut self, now: Timestamp) -> Vec<Flight> {
        self.flights
            .extract_if(.., |flight| flight.awaited_until().is_some_and(|until| until <= now))
            .collect()
    }

    /// Takes the flights whose reply is awaited no more, because the attempt is not running any more: with what
    /// that reply says of their dependency, if it was one that ended them.
    pub(super) fn answered(&mut self) -> Vec<(Flight, Option<Health>)> {
        let (plan, state) = (&self.definition.plan, &self.state);
        let awaited = |flight: &Flight| {
            let at = state.action(plan, &flight.action);
            let running = at.and_then(|at| at.running.as_ref());
            running.is_some_and(|running| flight.what == Sent::Attempt(running.attempt))
        };
        let heard = mem::take(&mut self.heard);
        let health = |flight: &Flight| {
            let is_it = |(action, attempt, _): &&(ActionId, u32, Option<Health>)| {
                flight.action == *action && flight.what == Sent::Attempt(*attempt)
            };
            heard.iter().find(is_it).and_then(|(_, _, health)| *health)
        };
        let over = self.flights.extract_if(.., |flight| !flight.is_call() && !awaited(flight));
        over.map(|flight| {
            let health = health(&flight);
            (flight, health)
        })
        .collect()
    }

    /// Notes what a reply says of the dependency that it comes from.
    pub(super) fn hear(&mut self, command: &Command) {
        if let Command::Answer { action, attempt: Some(attempt), answer } = command
            && self.flights.iter().any(|flight| !flight.is_call() && flight.action == *action)
        {
            self.heard.push((action.clone(), *attempt, Health::of_attempt(answer)));
        }
    }

    /// When the first reply will have been awaited for long enough.
    pub(super) fn awaited_until(&self) -> Option<Timestamp> {
        self.flights.iter().filter_map(Flight::awaited_until).min()
    }

    /// Every permit it has.
    pub(super) fn permits(&self) -> impl Iterator<Item = Permit> {
        let flying = self.flights.iter().filter_map(|flight| flight.permit);
        flying.chain(self.effects.sends.iter().filter_map(|send| send.permit)).chain(self.in_hand)
    }
}
