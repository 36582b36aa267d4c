//! Deciding one saga, and what becomes of its transition once the store has answered.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use amends_core::machine::Command;
use amends_core::{SagaId, SagaState, TransitionId};

use super::active::{Active, By, Effects, Input, Sent, Starter, UnderWay};
use super::admission::Health;
use super::announce;
use super::driver::Driver;
use super::input::{Started, Until, Watched};
use super::invoke::{self, no_reply, panic_text};
use super::recovery::Errand;
use super::standing::on_desk;
use super::transition::{self, Bench};
use crate::engine::SagaStartError;
use crate::ports::{SagaRow, Verdict};
use crate::visible::visible;

impl Driver {
    /// Decides everything that can be decided about one saga. A panic in that sets the saga aside, and the
    /// worker lives.
    pub(super) fn decide(&mut self, saga: SagaId) {
        let now = self.now();
        let scarce = self.sagas.active.len() > self.limits.max_active / 2;
        let Some(active) = self.sagas.active.get_mut(&saga) else { return };
        active.listed = false;
        active.again = active.committing;
        if active.committing {
            self.wait_aside(saga);
            return;
        }
        for flight in active.timed_out(now) {
            if let (Sent::Attempt(attempt), UnderWay::Message { timeout, .. }) =
                (flight.what, &flight.under_way)
            {
                let (action, answer) = (flight.action.clone(), no_reply(*timeout));
                if let Some(permit) = flight.permit {
                    self.sagas.permits.give_back(permit, Health::of_attempt(&answer), now);
                }
                active.inbox.push_back(Input::Engine(Command::Answer {
                    action,
                    attempt: Some(attempt),
                    answer,
                }));
            }
        }
        let (was, ids) = (active.wake, &*self.ids);
        let paused = self.sagas.controls.pause_of(&active.definition.reference.workflow).is_some();
        let mut bench = Bench {
            permits: &mut self.sagas.permits,
            now,
            transition: &|at| TransitionId(ids.next(at)),
            draining: self.mode.draining.is_some(),
            paused,
            release_after: scarce.then(|| now + self.limits.release_after),
            audience: &self.audience,
        };
        let decided = catch_unwind(AssertUnwindSafe(|| transition::decide_all(active, &mut bench)));
        match decided {
            Ok(commit) => {
                for (flight, health) in active.answered() {
                    if let Some(permit) = flight.permit {
                        self.sagas.permits.give_back(permit, health, now);
                    }
                }
                self.sagas.timers.set(saga, was, active.wake);
                match commit {
                    Some(commit) => self.sagas.round.push(commit),
                    None => {
                        self.perform(saga);
                        self.tell_standing(saga);
                    }
                }
            }
            Err(panic) => {
                active.wake = was;
                self.set_aside(saga, &format!("deciding it panicked: {}", panic_text(&*panic)));
            }
        }
        self.list_granted();
    }

    /// The store answered for one saga.
    pub(super) fn verdict(&mut self, saga: SagaId, verdict: Verdict) {
        self.mode.committing -= 1;
        let Some(active) = self.sagas.active.get_mut(&saga) else { return };
        active.committing = false;
        active.aside = false;
        match verdict {
            Verdict::Accepted => self.accepted(saga),
            Verdict::Occupied { by } => {
                tracing::warn!(%saga, %by, "another node went on with this saga; it is loaded anew");
                self.drop_and_look_up(saga);
            }
            Verdict::KeyTaken(row) => self.key_taken(saga, row),
            Verdict::Unstorable { reason } if active.seq == 1 => {
                tracing::error!(%saga, reason = %visible(&reason), "the store refuses the content of this start");
                self.refuse_start(saga, SagaStartError::Unstorable(reason));
            }
            Verdict::Later { reason } => unreachable!("the committer keeps what comes later: {reason}"),
            Verdict::Unstorable { reason } => {
                self.set_aside(saga, &format!("the store refuses its next transition: {reason}"));
            }
        }
    }

    fn accepted(&mut self, saga: SagaId) {
        self.perform(saga);
        self.tell_standing(saga);
        let Some(active) = self.sagas.active.get(&saga) else { return };
        if active.released {
            let Some(active) = self.forget(saga) else { return };
            self.look_for_rest(saga, &active);
            if active.state.phase.is_ended() {
                self.tell_watchers(saga, active.state);
            } else {
                self.send_watchers_away(saga);
            }
        } else if active.again || !active.inbox.is_empty() {
            self.list(saga);
        }
    }

    /// Does what was waiting for acceptance.
    fn perform(&mut self, saga: SagaId) {
        let now = self.now();
        let Some(active) = self.sagas.active.get_mut(&saga) else { return };
        let Effects { starter, sends, stops, notices, messages, answered } = mem::take(&mut active.effects);
        announce::say(notices, &active.definition.plan, &active.state);
        if let Some(Starter { reply, .. }) = starter {
            let _ = reply.send(Ok(Started::New(saga)));
        }
        for kind in messages {
            self.outlets.outbox.wake(kind);
        }
        for (mail, answer) in answered {
            active.bringers.kept(mail);
            self.sagas.posters.answered(mail, answer);
        }
        for action in stops {
            active
                .flights
                .iter()
                .filter(|flight| flight.action == action)
                .for_each(|flight| flight.stop.cancel());
        }
        for send in sends {
            match send.what {
                Sent::Attempt(_) => self.wires.counted.attempt(),
                Sent::Query { .. } => self.wires.counted.query(),
            }
            if let Some(permit) = send.permit
                && (self.mode.draining.is_none() || matches!(send.by, By::Message(_)))
            {
                if send.what == Sent::Attempt(1) {
                    self.sagas.permits.first_began(permit, now);
                }
                self.mode.flying += usize::from(matches!(send.by, By::Call(_)));
                invoke::send(active, send, permit, &self.wires);
                continue;
            }
            if let Some(permit) = send.permit {
                self.sagas.permits.give_back(permit, None, now);
            }
            active.inbox.push_back(Input::Engine(invoke::not_sent(send)));
        }
        let earlier = active.wake.into_iter().chain(active.awaited_until()).min();
        self.sagas.timers.set(saga, mem::replace(&mut active.wake, earlier), earlier);
        self.list_granted();
    }

    /// Takes a saga out of memory, with its permits, its time and what it has under way.
    fn forget(&mut self, saga: SagaId) -> Option<Active> {
        let active = self.sagas.active.remove(&saga)?;
        self.sagas.timers.set(saga, active.wake, None);
        self.mode.flying -= active.flights.iter().filter(|flight| flight.is_call()).count();
        let now = self.now();
        self.sagas.permits.keep_only(saga, &[], now);
        active.permits().for_each(|permit| self.sagas.permits.give_back(permit, None, now));
        self.list_granted();
        Some(active)
    }

    /// Mail that came meanwhile is unread still: the saga is taken up again for it.
    fn look_for_rest(&mut self, saga: SagaId, active: &Active) {
        if active.inbox.iter().any(|input| matches!(input, Input::Mail(_))) {
            self.look_for_mail(saga);
        }
    }

    /// Nothing of the refused transition happened: its mail is unread still, and is found with the saga.
    fn drop_and_look_up(&mut self, saga: SagaId) {
        let Some(active) = self.forget(saga) else { return };
        if let Some(Starter { reply, .. }) = active.effects.starter {
            let _ = reply.send(Err(SagaStartError::Stopped));
        }
        self.send_watchers_away(saga);
        let mail = self.sagas.posters.any_of(saga);
        let _ = self.outlets.errands.send(Errand::LookUp { saga, mail });
    }

    /// The same input is the same start; another one is a conflict. The saga that stands is untouched.
    fn key_taken(&mut self, saga: SagaId, row: Box<SagaRow>) {
        let Some(active) = self.forget(saga) else { return };
        let Some(Starter { reply, input_digest }) = active.effects.starter else { return };
        let _ = if input_digest == row.input_digest {
            reply.send(Ok(Started::Before(row)))
        } else {
            reply.send(Err(SagaStartError::Conflict { standing: row, input_digest }))
        };
    }

    /// What was refused is nothing that could be set aside.
    pub(super) fn refuse_start(&mut self, saga: SagaId, refused: SagaStartError) {
        let Some(active) = self.forget(saga) else { return };
        if let Some(Starter { reply, .. }) = active.effects.starter {
            let _ = reply.send(Err(refused));
        }
    }

    /// This saga cannot go on here: it is set aside visibly, all others go on.
    fn set_aside(&mut self, saga: SagaId, reason: &str) {
        let Some(active) = self.forget(saga) else { return };
        tracing::error!(
            %saga,
            workflow = %active.definition.plan.workflow,
            key = %visible(&active.state.key),
            reason = %visible(reason),
            "the saga is set aside",
        );
        if let Some(Starter { reply, .. }) = active.effects.starter {
            let _ = reply.send(Err(SagaStartError::Unstorable(reason.to_owned())));
        }
        if active.seq > 0 {
            let _ = self.outlets.errands.send(Errand::SetAside { saga, reason: reason.to_owned() });
        }
    }

    /// The saga may go on and end elsewhere: whoever would hear of that only here is told to look into the store.
    fn send_watchers_away(&mut self, saga: SagaId) {
        let Some(watchers) = self.sagas.watchers.get_mut(&saga) else { return };
        for watcher in watchers.extract_if(.., |watcher| !watcher.looks) {
            let _ = watcher.reply.send(Watched::NotHere);
        }
        if watchers.is_empty() {
            self.sagas.watchers.remove(&saga);
        }
    }

    /// Everybody who waits for the end gets the last state.
    pub(super) fn tell_watchers(&mut self, saga: SagaId, state: SagaState) {
        let mut watchers = self.sagas.watchers.remove(&saga).unwrap_or_default();
        let last = watchers.pop();
        for watcher in watchers {
            let _ = watcher.reply.send(Watched::Ended(Box::new(state.clone())));
        }
        if let Some(last) = last {
            let _ = last.reply.send(Watched::Ended(Box::new(state)));
        }
    }

    /// Whoever waits is told that the saga has ended, or, if only until it has settled, when only people can move it. What is told is durable,
    /// and nothing that has arrived could still change it.
    pub(super) fn tell_standing(&mut self, saga: SagaId) {
        let now = self.now();
        if !self.sagas.watchers.contains_key(&saga) {
            return;
        }
        let Some(active) = self.sagas.active.get(&saga) else { return };
        if active.committing {
            return;
        }
        if active.state.phase.is_ended() {
            let state = active.state.clone();
            return self.tell_watchers(saga, state); // What is still done after the end does not change the outcome.
        }
        if !active.inbox.is_empty() || !active.flights.is_empty() {
            return;
        }
        let Some(items) = on_desk(&active.definition.plan, &active.state, active.time.at(now)) else {
            return;
        };
        let Some(watchers) = self.sagas.watchers.get_mut(&saga) else { return };
        for watcher in watchers.extract_if(.., |watcher| watcher.until == Until::Settled) {
            let _ = watcher.reply.send(Watched::OnDesk(items.clone()));
        }
    }
}
