//! Starts: by calls of any node, and by events; and the processes of participants that are reached by messages.

use amends::StartOptions;
use amends::engine::SagaStartError;
use amends_core::{Json, SagaId};
use futures_util::FutureExt as _;
use tokio::task::JoinHandle;

use super::super::checkers::{Answered, Step};
use super::super::messages::{Event, FaultyBroker, Service};
use super::super::nodes::Nodes;
use super::super::schedule::{self, Act};
use super::super::setup::Setup;
use super::super::shapes::{Counterpart, Shape, WORKFLOWS};
use super::super::summary::Violation;
use super::super::trouble::Trouble;
use super::{LOOK_EVERY, Playing};

/// A start that was not answered yet.
pub(super) struct Start {
    pub(super) saga: u32,
    input: u32,
    pub(super) place: usize,
    answer: JoinHandle<Result<SagaId, SagaStartError>>,
}

impl Playing {
    /// The event of a saga happened, perhaps again.
    pub(super) fn event(&mut self, saga: u32, input: u32) {
        let Some(source) = &self.source else { return };
        let (workflow, key) = schedule::name(saga);
        let occurred_at = *self.occurred.entry(saga).or_insert(self.nodes.now());
        let (id, workflow) = (format!("event-{saga}"), workflow.to_owned());
        let event = Event { id, workflow, key, input, occurred_at, is_poison: false };
        self.nodes.cluster().outside(source.say(&event, self.planned));
    }

    pub(super) fn bad_event(&mut self, draw: u32) {
        let Some(source) = &self.source else { return };
        if draw.is_multiple_of(2) {
            return self.nodes.cluster().outside(source.babble(self.planned));
        }
        let event = Event {
            id: format!("poison-{draw}"),
            workflow: WORKFLOWS[0].to_owned(),
            key: format!("poison-{draw}"),
            input: 0,
            occurred_at: self.nodes.now(),
            is_poison: true,
        };
        self.nodes.cluster().outside(source.say(&event, self.planned));
    }

    pub(super) fn start(&mut self, saga: u32, input: u32, place: usize) {
        let occurred_at = *self.occurred.entry(saga).or_insert(self.nodes.now());
        let occurred_at = self.setup.rate(Trouble::Purge).map(|_| occurred_at);
        let asked = self.nodes.ask(place, move |engine| async move {
            let (workflow, key) = schedule::name(saga);
            let input = Json::encode(&input).expect("a number is JSON");
            let options = StartOptions { occurred_at, ..StartOptions::default() };
            engine.start_json(workflow, &key, input, options).await.map(|handle| handle.id())
        });
        match asked {
            Some(answer) => self.starts.push(Start { saga, input, place, answer }),
            None => self.plan(self.nodes.now() + LOOK_EVERY, Act::Start { saga, input, place }),
        }
    }

    /// Starts that were answered. One whose engine stopped or died is made again, as a careful caller does.
    pub(super) fn answered(&mut self) -> Result<(), Violation> {
        let (answered, waiting): (Vec<Start>, Vec<Start>) =
            std::mem::take(&mut self.starts).into_iter().partition(|start| start.answer.is_finished());
        self.starts = waiting;
        for Start { saga, input, place, answer } in answered {
            let answer = answer.now_or_never().expect("it is finished");
            let told = match answer {
                Ok(Ok(told)) => Some(told),
                Ok(Err(SagaStartError::Conflict { .. })) => None,
                Ok(Err(SagaStartError::TooOld { occurred_at, horizon })) => {
                    let key = schedule::name(saga).1;
                    self.show(&Step::TooOld { key: &key, occurred_at, horizon })?;
                    continue;
                }
                Ok(Err(SagaStartError::Held { .. })) => {
                    let at = self.nodes.now() + 10 * LOOK_EVERY;
                    self.plan(at, Act::Start { saga, input, place });
                    continue;
                }
                Ok(Err(SagaStartError::Stopped | SagaStartError::UnknownDefinition(_))) | Err(_) => {
                    let at = self.nodes.now() + LOOK_EVERY;
                    self.plan(at, Act::Start { saga, input, place: place + 1 });
                    continue;
                }
                Ok(Err(error)) => {
                    let reason = format!("a start failed: {error}");
                    return Err(Violation { invariant: "I10", at: self.nodes.now(), reason });
                }
            };
            let (workflow, key) = schedule::name(saga);
            let answered =
                Answered { workflow: workflow.to_owned(), key, input: input.to_string(), saga: told };
            self.of = told;
            self.show(&Step::Answered(&answered))?;
        }
        Ok(())
    }
}

/// Begins the processes of participants that are reached by messages.
pub(super) fn serve(setup: &Setup, nodes: &Nodes, broker: &FaultyBroker, shape: &Shape) {
    for (subject, at) in &shape.commands {
        let (broker, subject, setup) = (broker.clone(), subject.clone(), setup.clone());
        match &shape.counterparts[*at] {
            Counterpart::Refusing(participant) => {
                let participant = participant.clone();
                nodes.cluster().outside(Service { participant, broker, subject, setup }.run());
            }
            Counterpart::Willing(participant) => {
                let participant = participant.clone();
                nodes.cluster().outside(Service { participant, broker, subject, setup }.run());
            }
        }
    }
}
