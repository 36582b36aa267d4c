//! What the cases share: a step that answers what a test says, and questions to a saga's journal.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use amends::SagaView;
use amends::prelude::*;
use amends_core::{ActionId, JournalEvent, RequestId, SagaId};
use amends_testkit::{Ledger, Participant, WorldSaga};

/// What an attempt of an [`Answering`] step comes to.
pub(crate) type Reply = Result<u32, StepError<String>>;

type Answers = dyn Fn(&StepContext) -> Reply + Send + Sync;

/// A step that answers what the test says, attempt by attempt. `S` is how its unknown is settled.
pub(crate) struct Answering<S> {
    participant: Arc<str>,
    ledger: Ledger,
    answer: Box<Answers>,
    of: PhantomData<fn() -> S>,
}

impl<S> Answering<S> {
    pub(crate) fn new(
        ledger: &Ledger,
        participant: &str,
        answer: impl Fn(&StepContext) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self {
            participant: participant.into(),
            ledger: ledger.clone(),
            answer: Box::new(answer),
            of: PhantomData,
        }
    }
}

impl<S: 'static> Step for Answering<S> {
    type Input = u32;
    type Output = u32;
    type Refusal = String;
    type Settle = S;

    async fn run(&self, cx: &StepContext, _input: u32) -> Reply {
        self.ledger.called(&self.participant, cx);
        let reply = (self.answer)(cx);
        if reply.is_ok() {
            self.ledger.took_effect(&self.participant, cx);
        }
        reply
    }
}

/// A participant of numbers: it takes effect by the number it is given.
pub(crate) type Part = Participant<u32, u32, String>;

pub(crate) fn part(ledger: &Ledger, name: &str) -> Part {
    Participant::new(ledger, name, |n: &u32| *n)
}

/// A participant whose every call takes so long.
pub(crate) fn slow(ledger: &Ledger, name: &str, latency: Duration) -> Part {
    Participant::slow(ledger, name, latency, |n: &u32| *n)
}

pub(crate) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// The request id of a step's forward action.
pub(crate) fn request<O>(saga: &WorldSaga<O>, step: &str) -> RequestId {
    ActionId::forward(step).request_id(SagaId::from(saga))
}

/// The request id of a step's compensation.
pub(crate) fn undo_request<O>(saga: &WorldSaga<O>, step: &str) -> RequestId {
    ActionId::compensation(step).request_id(SagaId::from(saga))
}

/// Every fact of a saga with the time since its start.
pub(crate) fn facts(view: &SagaView) -> Vec<(Duration, &JournalEvent)> {
    let at = |at: amends_core::Timestamp| at.since(view.started_at);
    let of = view.journal().iter().flat_map(|row| row.events.iter().map(move |event| (at(row.at), event)));
    of.collect()
}

/// When the attempts of an action started.
pub(crate) fn starts(view: &SagaView, of: &ActionId) -> Vec<Duration> {
    let started = |(at, event): (Duration, &JournalEvent)| match event {
        JournalEvent::Started { action, .. } if action == of => Some(at),
        _ => None,
    };
    facts(view).into_iter().filter_map(started).collect()
}

/// The line of the timeline that says this; once, or the test fails.
#[track_caller]
pub(crate) fn told_once<O>(saga: &WorldSaga<O>, words: &str) {
    let timeline = saga.view().timeline();
    assert_eq!(timeline.matches(words).count(), 1, "`{words}` is to be told once:\n\n{timeline}");
}
