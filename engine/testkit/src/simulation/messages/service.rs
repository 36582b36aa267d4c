//! The processes of a participant that is reached by messages: they take its commands, carry them out, reply, and only
//! then acknowledge. As the adapter's helper does it.

use std::sync::Arc;
use std::time::Duration;

use amends::authoring::Payload;
use amends_core::Json;
use amends_core::event::{Failure, FailureKind, Recorded};
use amends_core::machine::Attempted;

use super::broker::FaultyBroker;
use super::noted::Ending;
use super::receiver::delay;
use super::replies::Told;
use super::{COMMANDS, REPLIES};
use crate::broker::{Answer, Delivery};
use crate::participant::{Command, Participant};
use crate::simulation::setup::Setup;
use crate::simulation::trouble::Trouble;

/// The wait before a command whose reply could not be published comes again: the first time, and at most.
const DELAY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

/// Commands that are worked on at the same time.
const IN_HAND_MAX: usize = 8;

/// After so long a process gives a command up that does not come to an end.
const WORK_MAX: Duration = Duration::from_secs(45);

/// How often one looks whether a command has come to its end that was to be answered later, and for how long.
const LOOK: (Duration, u32) = (Duration::from_secs(2), 20);

/// Of the commands that can be, this share is answered with a contradiction at a rate of 1.
const CONTRADICTED: f64 = 0.15;

/// A participant that takes its commands from the broker.
pub(crate) struct Service<R> {
    pub(crate) participant: Participant<Vec<u32>, u32, R>,
    pub(crate) broker: FaultyBroker,
    pub(crate) subject: Arc<str>,
    pub(crate) setup: Setup,
}

impl<R: Payload + Clone> Service<R> {
    /// Works for ever.
    pub(crate) async fn run(self) {
        let this = Arc::new(self);
        this.broker.serve(&this.subject);
        loop {
            if this.participant.is_dead() {
                this.broker.sleep(Duration::from_secs(1)).await;
                continue;
            }
            for delivery in this.broker.pull(COMMANDS, &this.subject, IN_HAND_MAX).await {
                let this = this.clone();
                tokio::spawn(async move { this.take(delivery).await });
            }
        }
    }

    async fn take(&self, delivery: Delivery) {
        let life = self.participant.life();
        let command = Command::read(&delivery.message.headers, self.broker.clock().clone());
        let input = serde_json::from_str::<Vec<u32>>(&delivery.message.body);
        let (Some(command), Ok(input)) = (command, input) else {
            return self.done(&delivery, Answer::Term);
        };
        let told = tokio::select! {
            biased;
            told = self.answer(&command, &input) => told,
            () = self.broker.sleep(WORK_MAX) => return,
        };
        if self.participant.is_dead() || self.participant.life() != life {
            return; // The machine died with it in hand: it comes again.
        }
        // Nobody is answered: its process died with it in hand, and it comes again.
        let Some(answer) = told else { return };
        let is_later = matches!(answer, Attempted::Accepted { .. });
        let contradiction = self.contradiction(&command, &answer);
        if !self.reply(&command, answer).await {
            self.broker.ended(COMMANDS, &delivery, Ending::Later);
            return self.broker.answer(&delivery, Answer::Nak(delay(DELAY, delivery.number)));
        }
        if let Some(contradiction) = contradiction {
            let lies = matches!(contradiction, Attempted::Succeeded(_));
            self.broker.contradicted(command.cx.business_key(), lies);
            self.reply(&command, contradiction).await;
        }
        self.done(&delivery, Answer::Ack);
        if is_later {
            self.answer_later(&command).await;
        }
    }

    /// What is kept, or else what comes of carrying it out: whoever keeps an answer gives no other one for the same
    /// transmission.
    async fn answer(&self, command: &Command, input: &Vec<u32>) -> Option<Attempted> {
        match self.participant.kept(command) {
            Some(kept) if self.participant.keeps_answers() => Some(kept),
            _ => {
                let answer = self.participant.carry_out(command, input).await?;
                Some(self.participant.closed_out(command, answer))
            }
        }
    }

    fn done(&self, delivery: &Delivery, answer: Answer) {
        self.broker.ended(COMMANDS, delivery, Ending::Taken);
        self.broker.answer(delivery, answer);
    }

    /// Says whether the reply is durable, as far as is known.
    async fn reply(&self, command: &Command, answer: Attempted) -> bool {
        let cx = &command.cx;
        let told = Told { saga: cx.saga_id(), request: cx.request_id(), attempt: cx.attempt(), answer };
        self.broker.publish(REPLIES, told.message()).await.is_ok()
    }

    /// What it took to answer later, it answers as soon as it can.
    async fn answer_later(&self, command: &Command) {
        for _ in 0..LOOK.1 {
            self.broker.sleep(LOOK.0).await;
            if self.participant.is_dead() {
                continue;
            }
            if let Some(answer) = self.participant.kept(command)
                && self.reply(command, answer).await
            {
                return;
            }
        }
    }

    /// The contrary of what it answers, if it says that too.
    fn contradiction(&self, command: &Command, answer: &Attempted) -> Option<Attempted> {
        let rate = self.setup.rate(Trouble::Contradiction)?;
        let id = u64::try_from(command.cx.request_id().0.as_u128() >> 64).unwrap_or_default();
        let mut chance = self.setup.chance("contradiction", id);
        if chance.f64() >= rate * CONTRADICTED {
            return None;
        }
        let failure = Failure {
            kind: FailureKind::Transient,
            code: "contrary".to_owned(),
            message: String::new(),
            rule: "reply".to_owned(),
            classifier: "testkit/1".to_owned(),
            hint: None,
        };
        match answer {
            Attempted::Succeeded(_) => Some(Attempted::Transient(failure)),
            Attempted::Transient(_) if command.is_forward => {
                Some(Attempted::Succeeded(Recorded::Value(Json::encode(&7_u32).ok()?)))
            }
            _ => None,
        }
    }
}
