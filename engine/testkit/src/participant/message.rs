//! A participant that is reached by messages: what a command says, and what is answered to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use amends::authoring::{CompensationError, ContextParts, Payload, StepContext, StepError, Undo};
use amends::ports::Clock;
use amends::{Outgoing, Transmission};
use amends_core::event::{Failure, FailureKind, Recorded};
use amends_core::machine::Attempted;
use amends_core::{Json, RequestId, SagaId};

use super::{Kept, Participant};

const SAGA: &str = "saga";
const KEY: &str = "key";
const DIRECTION: &str = "direction";
const REQUEST: &str = "request";
const FORWARD_REQUEST: &str = "forward-request";
const ATTEMPT: &str = "attempt";

/// A command as its participant reads it.
#[derive(Clone)]
pub(crate) struct Command {
    pub(crate) cx: StepContext,
    pub(crate) is_forward: bool,
}

/// The message of a transmission.
pub(super) fn outgoing(subject: &Arc<str>, of: &Transmission, body: String) -> Outgoing {
    let direction = if of.action.is_forward() { "forward" } else { "compensation" };
    let headers = vec![
        (SAGA, of.saga.to_string()),
        (KEY, of.key.to_string()),
        (DIRECTION, direction.to_owned()),
        (REQUEST, of.request_id.to_string()),
        (FORWARD_REQUEST, of.forward_request_id.to_string()),
        (ATTEMPT, of.attempt.to_string()),
    ];
    Outgoing { subject: subject.clone(), headers, body }
}

impl Command {
    /// None: it is no command.
    pub(crate) fn read(headers: &BTreeMap<String, String>, clock: Arc<dyn Clock>) -> Option<Self> {
        let id = |name| headers.get(name)?.parse().ok();
        let parts = ContextParts {
            saga: SagaId(id(SAGA)?),
            key: headers.get(KEY)?.as_str().into(),
            request_id: RequestId(id(REQUEST)?),
            forward_request_id: RequestId(id(FORWARD_REQUEST)?),
            attempt: headers.get(ATTEMPT)?.parse().ok()?,
            fence_through: None,
            expected: None,
            trace: None,
            deadline: clock.now(),
            clock,
            stop: Default::default(),
        };
        Some(Self { cx: StepContext::new(parts), is_forward: headers.get(DIRECTION)? == "forward" })
    }
}

impl<I: Payload, O: Payload + Clone, R: Payload + Clone> Participant<I, O, R> {
    /// Carries a command out, as its script says. None: nobody is answered.
    pub(crate) async fn carry_out(&self, command: &Command, input: &I) -> Option<Attempted> {
        let Command { cx, is_forward } = command;
        if *is_forward { told(self.call(cx, input).await) } else { undo_told(self.undo(cx).await) }
    }

    /// What is kept of a command that was taken to be answered later.
    pub(crate) fn kept(&self, command: &Command) -> Option<Attempted> {
        let Command { cx, is_forward } = command;
        self.0.ledger.catch_up();
        let rows = self.0.rows();
        let row = rows.get(&cx.forward_request_id())?;
        if *is_forward {
            let (kept, _) = row.kept.as_ref()?;
            told::<O, R>(Kept::answer(kept.clone()))
        } else {
            let (undo, _) = row.compensated?;
            undo_told(Ok(undo))
        }
    }

    /// What is answered to a command: whoever says that it had no effect closes that transmission out first, or another
    /// delivery of it could take effect unheard. What another one did meanwhile is answered instead.
    pub(crate) fn closed_out(&self, command: &Command, answer: Attempted) -> Attempted {
        let had_no_effect = matches!(answer, Attempted::Transient(_) | Attempted::Persistent(_));
        if !had_no_effect || !command.is_forward || !self.0.barrier {
            return answer;
        }
        if let Some(kept) = self.kept(command) {
            return kept;
        }
        let mut rows = self.0.rows();
        let row = rows.entry(command.cx.request_id()).or_default();
        row.fenced = row.fenced.max(command.cx.attempt());
        answer
    }

    /// Does it keep a barrier?
    pub(crate) fn keeps_answers(&self) -> bool {
        self.0.barrier
    }

    /// Counts its deaths and returns.
    pub(crate) fn life(&self) -> u64 {
        self.0.life.present()
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.0.life.is_dead()
    }
}

fn recorded<T: Payload>(value: &T) -> Recorded {
    Recorded::Value(Json::encode(value).expect("payloads of test kits are JSON"))
}

fn failure(kind: FailureKind) -> Failure {
    Failure {
        kind,
        code: "told".to_owned(),
        message: String::new(),
        rule: "reply".to_owned(),
        classifier: "testkit/1".to_owned(),
        hint: None,
    }
}

fn told<O: Payload, R: Payload>(answer: Result<O, StepError<R>>) -> Option<Attempted> {
    Some(match answer {
        Ok(output) => Attempted::Succeeded(recorded(&output)),
        Err(StepError::Accepted { wait }) => Attempted::Accepted { wait },
        Err(StepError::Transient(_)) => Attempted::Transient(failure(FailureKind::Transient)),
        Err(StepError::Persistent(_)) => Attempted::Persistent(failure(FailureKind::Persistent)),
        Err(StepError::Refused(refusal)) => Attempted::Refused(recorded(&refusal)),
        Err(StepError::Unknown(_)) => return None,
        Err(StepError::Partial(output)) => Attempted::Partial(output.map(Recorded::Value)),
        Err(StepError::Fenced { through }) => Attempted::Fenced { through },
        Err(StepError::Mismatch(_)) => Attempted::Mismatch(failure(FailureKind::Unknown)),
    })
}

fn undo_told(answer: Result<Undo, CompensationError>) -> Option<Attempted> {
    Some(match answer {
        Ok(undo) => Attempted::Succeeded(Recorded::Value(Json::encode(&undo).expect("a word is JSON"))),
        Err(CompensationError::Accepted { wait }) => Attempted::Accepted { wait },
        Err(CompensationError::Transient(_)) => Attempted::Transient(failure(FailureKind::Transient)),
        Err(CompensationError::Persistent(_)) => Attempted::Persistent(failure(FailureKind::Persistent)),
        Err(CompensationError::Unknown(_)) => return None,
        Err(CompensationError::Mismatch(_)) => Attempted::Mismatch(failure(FailureKind::Unknown)),
        Err(CompensationError::Stale { found }) => Attempted::Stale { found },
    })
}
