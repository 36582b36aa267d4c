//! A saga whose transition somebody else holds up, perhaps for long: nobody waits for a permit that it has for nothing.
//!
//! It gives back what it holds for actions that have not begun, and for calls that are to be sent once the transition is
//! durable: it asks again then. A command keeps its permit: it leaves with the transition, whatever becomes of that. What is
//! under way by a message needs its permit no more once its reply has arrived or its time is over, though either is decided
//! later.

use amends_core::machine::Command;
use amends_core::{SagaId, Timestamp};

use super::active::{Active, By, Input, Sent, UnderWay};
use super::admission::{Health, Permit};
use super::driver::Driver;
use super::invoke::no_reply;
use super::mail::Question;

impl Driver {
    /// Somebody else holds up its transition.
    pub(super) fn stand_aside(&mut self, saga: SagaId) {
        let now = self.now();
        let Some(active) = self.sagas.active.get_mut(&saga).filter(|active| active.committing) else {
            return;
        };
        active.again = true;
        active.aside = true;
        let given_up = active.give_up_calls();
        self.sagas.permits.keep_only(saga, &[], now);
        given_up.into_iter().for_each(|permit| self.sagas.permits.give_back(permit, None, now));
        self.let_land(saga);
        self.wait_aside(saga);
    }

    /// Mail has come into its inbox.
    pub(super) fn arrived(&mut self, saga: SagaId) {
        self.let_land(saga);
        self.list(saga);
    }

    /// Replies have arrived whose decision waits.
    fn let_land(&mut self, saga: SagaId) {
        let now = self.now();
        let Some(active) = self.sagas.active.get_mut(&saga).filter(|active| active.aside) else { return };
        for (permit, health) in active.replied() {
            self.sagas.permits.give_back(permit, health, now);
        }
        self.list_granted();
    }

    /// The time of its flights goes on meanwhile.
    pub(super) fn wait_aside(&mut self, saga: SagaId) {
        let now = self.now();
        let Some(active) = self.sagas.active.get_mut(&saga).filter(|active| active.aside) else { return };
        for (permit, health) in active.overdue(now) {
            self.sagas.permits.give_back(permit, health, now);
        }
        let was = active.wake;
        let with_permit = active.flights.iter().filter(|flight| flight.permit.is_some());
        active.wake = was.into_iter().chain(with_permit.filter_map(|flight| flight.awaited_until())).min();
        self.sagas.timers.set(saga, was, active.wake);
        self.list_granted();
    }
}

impl Active {
    /// The permits of calls that are to be sent once the transition is durable.
    fn give_up_calls(&mut self) -> Vec<Permit> {
        let calls = self.effects.sends.iter_mut().filter(|send| matches!(send.by, By::Call(_)));
        calls.filter_map(|send| send.permit.take()).collect()
    }

    /// The permits of flights whose reply is in the inbox, with what it says of the dependency.
    fn replied(&mut self) -> Vec<(Permit, Option<Health>)> {
        let mail = self.inbox.iter().filter_map(|input| match input {
            Input::Mail(mail) | Input::Brought(mail) => Some(mail),
            Input::Engine(_) => None,
        });
        let asked = mail.filter_map(|mail| Some(Question::of(self, mail).ok()?.command));
        let ended = asked.filter_map(|command| match command {
            Command::Answer { action, attempt, answer } => {
                Some((action, attempt, attempt.and_then(|_| Health::of_attempt(&answer))))
            }
            _ => None,
        });
        let ended: Vec<_> = ended.collect();
        let mut permits = Vec::new();
        for (action, attempt, health) in ended {
            let is_it = |what| attempt.is_none_or(|attempt| what == Sent::Attempt(attempt));
            let messages = self.flights.iter_mut().filter(|flight| !flight.is_call());
            for flight in messages.filter(|flight| flight.action == action && is_it(flight.what)) {
                permits.extend(flight.permit.take().map(|permit| (permit, health)));
            }
        }
        permits
    }

    /// The permits of flights whose time is over.
    fn overdue(&mut self, now: Timestamp) -> Vec<(Permit, Option<Health>)> {
        let late = self.flights.iter_mut().filter_map(|flight| match flight.under_way {
            UnderWay::Message { timeout, until, .. } if until <= now => {
                Some((flight.permit.take()?, Health::of_attempt(&no_reply(timeout))))
            }
            _ => None,
        });
        late.collect()
    }
}
