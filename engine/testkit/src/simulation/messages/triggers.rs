//! From an event to a saga, on every node: acknowledged after the start is durable. As the adapter does it.

use std::pin::pin;
use std::time::Duration;

use amends::engine::{IntakeError, IntakeMessage, SagaStartError};
use amends::ports::{Fault, IntakeReason};
use amends::{Begun, Saga, StartOptions};
use amends_core::event::Trigger;
use tokio::task::JoinSet;

use super::noted::Ending;
use super::receiver::{IN_HAND_MAX, Misbehaving, Receiver, delay};
use super::source::Event;
use super::{ACK_WAIT, EVENTS, NODES};
use crate::broker::{Answer, Delivery};

/// At which delivery an event on which our own code fails goes to intake.
const FAILURES_MAX: u64 = 4;

/// At which delivery an event goes to intake unread: it ends whoever has it.
const DELIVERIES_MAX: u64 = 32;

/// After how long it comes again: the first time, and at most.
const FAILURE_DELAY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Before a start that is held is made again, and before something is put into a full intake again.
const AGAIN: Duration = Duration::from_secs(2);

/// Takes events until the engine ends. `sagas` are the workflows that this node starts.
pub(crate) async fn triggers(receiver: Receiver, sagas: Vec<Saga<u32, u32>>) {
    let mut in_hand = JoinSet::new();
    while !receiver.is_closed() {
        while in_hand.len() >= IN_HAND_MAX {
            in_hand.join_next().await;
        }
        for delivery in receiver.broker().pull(EVENTS, NODES, IN_HAND_MAX - in_hand.len()).await {
            let (receiver, sagas) = (receiver.clone(), sagas.clone());
            in_hand.spawn(async move { receiver.see_through(delivery, &sagas).await });
        }
    }
}

/// What is to be done with an event.
enum Verdict {
    Done(Ending),
    /// It is a person's.
    Keep(Ending, IntakeReason),
    Failed,
    /// Starts are held.
    Wait,
    /// The engine runs no more.
    Return,
}

impl Receiver {
    async fn see_through(&self, delivery: Delivery, sagas: &[Saga<u32, u32>]) {
        if self.broker().misbehaving(Misbehaving::AcknowledgesFirst) {
            self.broker().answer(&delivery, Answer::Ack);
        }
        let (answer, ending) = {
            let mut work = pin!(self.decided(&delivery, sagas));
            loop {
                tokio::select! {
                    biased;
                    decided = &mut work => break decided,
                    () = self.sleep(ACK_WAIT / 3) => self.broker().answer(&delivery, Answer::Progress),
                }
            }
        };
        let is_left = matches!(ending, Ending::Duplicate(_))
            && self.broker().misbehaving(Misbehaving::LeavesDuplicates);
        self.broker().ended(EVENTS, &delivery, ending);
        if !is_left {
            self.broker().answer(&delivery, answer);
        }
    }

    async fn decided(&self, delivery: &Delivery, sagas: &[Saga<u32, u32>]) -> (Answer, Ending) {
        let given_back = (Answer::Nak(Duration::ZERO), Ending::Later);
        let verdict = loop {
            match self.judged(delivery, sagas).await {
                Verdict::Wait if self.engine().stopped().is_none() => self.sleep(AGAIN).await,
                verdict => break verdict,
            }
        };
        match verdict {
            Verdict::Done(ending) => (Answer::Ack, ending),
            Verdict::Failed => (Answer::Nak(delay(FAILURE_DELAY, delivery.number)), Ending::Failed),
            Verdict::Wait | Verdict::Return => {
                self.close();
                given_back
            }
            Verdict::Keep(ending, _) if self.broker().misbehaving(Misbehaving::DropsBad) => {
                (Answer::Term, ending)
            }
            Verdict::Keep(ending, reason) => match self.keep(delivery, reason).await {
                true => (Answer::Term, ending),
                false => {
                    self.close();
                    given_back
                }
            },
        }
    }

    async fn judged(&self, delivery: &Delivery, sagas: &[Saga<u32, u32>]) -> Verdict {
        let keep = |ending, code: &str, words: String| {
            Verdict::Keep(ending, IntakeReason { code: code.to_owned(), words })
        };
        let leaves = self.broker().misbehaving(Misbehaving::LeavesDuplicates);
        if delivery.number > DELIVERIES_MAX && !leaves {
            return keep(Ending::Intake, "failing", "it never came to an end".to_owned());
        }
        let event: Event = match serde_json::from_str(&delivery.message.body) {
            Ok(event) => event,
            Err(error) => return keep(Ending::Intake, "malformed", error.to_string()),
        };
        if event.is_poison {
            return match delivery.number < FAILURES_MAX {
                true => Verdict::Failed,
                false => keep(Ending::Intake, "failing", "our own code failed on it".to_owned()),
            };
        }
        let Some(saga) = sagas.iter().find(|saga| *saga.plan().workflow == *event.workflow) else {
            return keep(Ending::Intake, "unknown-version", format!("no workflow {}", event.workflow));
        };
        let options = StartOptions {
            occurred_at: Some(event.occurred_at),
            trigger: Some(Trigger {
                source: EVENTS.to_owned(),
                position: Some(delivery.sequence.to_string()),
                event_id: Some(event.id.clone()),
                event_type: None,
                event_version: None,
            }),
            ..StartOptions::default()
        };
        let key = match self.broker().misbehaving(Misbehaving::KeysByPlace) {
            true => format!("{}@{}", event.key, delivery.sequence),
            false => event.key,
        };
        match self.engine().start_or_find(saga, key, event.input, options).await {
            Ok(Begun::New(saga)) => Verdict::Done(Ending::Saga(saga.id())),
            Ok(Begun::Before(saga)) => Verdict::Done(Ending::Duplicate(Some(saga.id()))),
            Err(SagaStartError::Stopped) => Verdict::Return,
            Err(SagaStartError::Held { .. }) => Verdict::Wait,
            // It runs under a version that this node does not know: its saga is there all the same.
            Err(SagaStartError::UnknownDefinition(_)) => Verdict::Done(Ending::Duplicate(None)),
            Err(error @ SagaStartError::Conflict { .. }) => {
                keep(Ending::Conflict, "conflict", error.to_string())
            }
            Err(error @ SagaStartError::TooOld { .. }) => keep(Ending::Refused, "refused", error.to_string()),
            Err(error) => keep(Ending::Intake, "malformed", error.to_string()),
        }
    }

    /// Puts an event into intake, however long that takes. Says whether it is there.
    async fn keep(&self, delivery: &Delivery, reason: IntakeReason) -> bool {
        let message = IntakeMessage {
            source: EVENTS.to_owned(),
            dedupe: delivery.sequence.to_string(),
            position: Some(delivery.sequence.to_string()),
            event_id: None,
            saga: None,
            reason,
            raw: delivery.message.body.clone().into_bytes(),
        };
        loop {
            match self.engine().intake(message.clone()).await {
                Ok(_) => return true,
                Err(IntakeError::Full { .. } | IntakeError::Store(Fault::Unavailable(_)))
                    if self.engine().stopped().is_none() =>
                {
                    self.sleep(AGAIN).await;
                }
                Err(_) => return false,
            }
        }
    }
}
