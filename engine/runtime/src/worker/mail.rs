//! Deciding mail: what it asks of the machine, and what its poster is told.
//!
//! Mail comes into a saga's inbox from the store: read because somebody in this process posted it and said so,
//! or because the worker looks for mail as often as it looks for due sagas. It is decided in the order it comes,
//! and answered in the commit of its decision; whoever waits for the answer in this process is told after
//! acceptance. What was decided and did not become durable is unread still, and is read again.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use amends_core::event::{Answer, Failure, FailureKind, Recorded};
use amends_core::machine::{Attempted, Command};
use amends_core::{ActionId, OperationId, Rejected, SagaId, SagaState};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::active::Active;
use super::input::Told;
use crate::authoring::{omitted, storable};
use crate::letter::{Letter, Replied};
use crate::ports::{Mail, MailKind};

/// The most mail that one look into the store brings.
pub(super) const MAIL_READ_MAX: u32 = 256;

/// Mail that is remembered as read, for each saga: reading the store and writing to it overlap, so what was just
/// decided can come once more.
const SEEN_MAX: usize = 256;

/// The mail that a saga in memory has seen.
#[derive(Debug, Default)]
pub(super) struct Seen {
    ids: VecDeque<Uuid>,
    /// The keys of replies.
    replies: VecDeque<Arc<str>>,
    /// There may have been replies that it knows nothing of.
    partial: bool,
}

impl Seen {
    /// Of a saga that had a life before it came into memory.
    pub(super) fn of_a_stranger() -> Self {
        Self { partial: true, ..Self::default() }
    }

    /// Was this never seen before? A reply that was brought is the same as the one that was posted under its key: the
    /// transition that keeps the one consumes the other.
    pub(super) fn is_new(&mut self, mail: &Mail) -> bool {
        let reply = mail.kind == MailKind::Reply;
        if self.ids.contains(&mail.id) || (reply && self.knows(&mail.key)) {
            return false;
        }
        if self.ids.len() == SEEN_MAX {
            self.ids.pop_front();
        }
        self.ids.push_back(mail.id);
        if reply {
            if self.replies.len() == SEEN_MAX {
                self.replies.pop_front();
                self.partial = true;
            }
            self.replies.push_back(mail.key.clone());
        }
        true
    }

    /// Has the reply of this key come before, by either way?
    pub(super) fn knows(&self, key: &str) -> bool {
        self.replies.iter().any(|known| **known == *key)
    }

    /// Is a reply that it does not know certainly new?
    pub(super) fn knows_all(&self) -> bool {
        !self.partial
    }
}

/// What a mail asks of the machine.
pub(super) struct Question {
    pub(super) command: Command,
    /// The operation that it belongs to, if a person asks.
    operation: Option<OperationId>,
}

impl Question {
    /// Reads a mail as a question to this saga. The error is a reason for whoever posted it.
    pub(super) fn of(active: &Active, mail: &Mail) -> Result<Self, String> {
        match Letter::read(mail)? {
            Letter::Asked(ask, operation) => {
                if let Some((action, output)) = ask.output()
                    && let Some(ix) = active.definition.plan.find(&action.step)
                {
                    active.definition.nodes[ix.0].check_output(output)?;
                }
                let id = operation.id.clone();
                Ok(Self { command: ask.command(operation), operation: Some(id) })
            }
            Letter::Replied(Replied { request, attempt, answer }) => {
                let action = active
                    .state
                    .actions(&active.definition.plan)
                    .map(|(id, _)| id)
                    .find(|id| id.request_id(active.state.id) == request)
                    .ok_or_else(|| format!("no action of this saga has the request id {request}"))?;
                let answer = understood(active, &action, answer);
                Ok(Self { command: Command::Answer { action, attempt, answer }, operation: None })
            }
        }
    }

    /// What the poster is told once the machine has decided.
    pub(super) fn answer(
        operation: Option<OperationId>,
        decided: Result<(), Rejected>,
        state: &SagaState,
    ) -> Answer {
        match (decided, operation) {
            (Ok(()), None) => Answer::Accepted,
            (Ok(()), Some(id)) => {
                state.answers.get(&id).map_or(Answer::Accepted, |(_, answer)| answer.clone())
            }
            (Err(Rejected::State(reason)), _) => Answer::Refused { reason },
            (Err(Rejected::NoSuchAction(action)), _) => {
                Answer::Refused { reason: format!("the workflow has no action `{action}`") }
            }
            (Err(other), _) => Answer::Refused { reason: other.to_string() },
        }
    }

    pub(super) fn into_parts(self) -> (Command, Option<OperationId>) {
        (self.command, self.operation)
    }
}

/// A participant's reply, as it can be recorded. That a result cannot be kept, or is not the step's output, never
/// makes a success a failure; a compensation that answers neither of its words has not said what happened.
fn understood(active: &Active, action: &ActionId, answer: Attempted) -> Attempted {
    match answer {
        Attempted::Succeeded(Recorded::Value(value)) if action.is_forward() => {
            let node = active.definition.plan.find(&action.step).map(|ix| &active.definition.nodes[ix.0]);
            let wrong = node.and_then(|node| node.check_output(&value).err());
            Attempted::Succeeded(match wrong {
                Some(reason) => Recorded::Omitted(omitted(reason, value.text())),
                None => storable(value),
            })
        }
        Attempted::Succeeded(Recorded::Value(value))
            if matches!(value.text(), "\"Undone\"" | "\"NothingToUndo\"") =>
        {
            Attempted::Succeeded(Recorded::Value(value))
        }
        Attempted::Succeeded(_) if !action.is_forward() => Attempted::Unknown(Failure {
            kind: FailureKind::Unknown,
            code: "unreadable".to_owned(),
            message: "a compensation replies Undone or NothingToUndo".to_owned(),
            rule: "unreadable".to_owned(),
            classifier: "engine/1".to_owned(),
            hint: None,
        }),
        Attempted::Partial(Some(Recorded::Value(value))) => Attempted::Partial(Some(storable(value))),
        Attempted::Refused(Recorded::Value(value)) => Attempted::Refused(storable(value)),
        other => other,
    }
}

/// Those in this process who wait for the answer to a mail of theirs.
#[derive(Default)]
pub(super) struct Posters(BTreeMap<Uuid, (SagaId, oneshot::Sender<Told>)>);

/// From so many on, those who wait no more are looked for.
const POSTERS_SWEPT_FROM: usize = 1_024;

impl Posters {
    pub(super) fn wait(&mut self, mail: Uuid, saga: SagaId, told: oneshot::Sender<Told>) {
        if self.0.len() >= POSTERS_SWEPT_FROM {
            self.0.retain(|_, (_, told)| !told.is_closed());
        }
        self.0.insert(mail, (saga, told));
    }

    /// The mail was decided, and that is durable.
    pub(super) fn answered(&mut self, mail: Uuid, answer: String) {
        if let Some((_, told)) = self.0.remove(&mail) {
            let _ = told.send(Told::Answered(answer));
        }
    }

    /// The saga cannot be read: nobody decides its mail for now.
    pub(super) fn set_aside(&mut self, saga: SagaId, reason: &str) {
        for (_, (_, told)) in self.0.extract_if(.., |_, (of, _)| *of == saga) {
            let _ = told.send(Told::SetAside(reason.to_owned()));
        }
    }

    /// The saga is not this worker's: they look into the store, until its owner has answered.
    pub(super) fn not_here(&mut self, saga: SagaId) {
        self.0.retain(|_, (of, _)| *of != saga);
    }

    /// Does anybody wait for mail to this saga?
    pub(super) fn any_of(&self, saga: SagaId) -> bool {
        self.0.values().any(|(of, _)| *of == saga)
    }
}
