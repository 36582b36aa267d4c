//! Posting what is asked, and waiting for the answer.
//!
//! The mail is the truth: once it is posted it will be decided, whoever waits. The worker of this process is told
//! that there is mail and tells when it is decided; whatever becomes of that, the store is looked at from time to
//! time. What can go wrong: *the post's answer is lost*: it is posted again and found to be known. *The saga is
//! another node's*: its owner finds the mail, and the answer is found by looking. *Nobody decides it*: the wait
//! ends, and the mail stays.

use std::time::Duration;

use amends_core::event::{Answer, JournalEvent};
use amends_core::{OperationId, Rejected, SagaId, Timestamp};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::{By, OperateError};
use crate::Engine;
use crate::letter::{Ask, Asked, Letter, unspell};
use crate::ports::{Fault, JournalRow, Mail, MailKind, Posted, StoredMail};
use crate::worker::{Backoff, Request, Told};

/// How often the store is looked at for an answer that this process does not hear of.
const LOOK_EVERY: Duration = Duration::from_millis(250);

impl Engine {
    /// Posts what a person asks, and waits for the answer.
    pub(super) async fn ask_by_mail(&self, saga: SagaId, ask: Ask, by: By) -> Result<Answer, OperateError> {
        by.check()?;
        let now = self.now();
        let body = serde_json::to_string(&Asked { ask: ask.clone(), reason: by.reason })
            .expect("what is asked has string keys only, so it encodes");
        let mail = Mail {
            id: self.next_id(now),
            saga,
            kind: MailKind::Operator,
            key: by.operation_id.0.clone(),
            actor: by.actor.into(),
            posted_at: now,
            body,
        };
        let until = now + self.limits().answer_within;
        let answer = match self.post(&mail, until).await? {
            Posted::Accepted => self.answer_to(&mail, mail.id, until).await?,
            Posted::Known(known) => {
                same_question(&known, &ask)?;
                match known.answer {
                    Some(answer) => self.final_answer(saga, &by.operation_id, &answer).await?,
                    None => self.answer_to(&mail, known.mail.id, until).await?,
                }
            }
            Posted::NoSuchSaga => return Err(OperateError::Unknown),
            Posted::Purged => return Err(OperateError::Purged),
            Posted::Full { open } => return Err(OperateError::Full { open }),
            Posted::Unstorable { reason } => return Err(OperateError::Incomplete(reason)),
        };
        match answer {
            Answer::Refused { reason } => Err(OperateError::Refused(Rejected::State(reason))),
            answer => Ok(answer),
        }
    }

    /// Posts a mail; a store that does not answer is asked again until then.
    pub(crate) async fn post(&self, mail: &Mail, until: Timestamp) -> Result<Posted, Fault> {
        let mut backoff = Backoff::default();
        loop {
            match self.mail().post(mail, self.limits().mail_open_max).await {
                Err(Fault::Unavailable(_)) if self.now() < until && self.stopped().is_none() => {
                    backoff.wait(self.clock()).await;
                }
                Ok(Posted::Known(known)) if known.mail.id == mail.id && known.answer.is_none() => {
                    return Ok(Posted::Accepted); // The answer to an earlier try was lost.
                }
                posted => return posted,
            }
        }
    }

    /// Waits until the mail is decided.
    async fn answer_to(&self, mail: &Mail, id: Uuid, until: Timestamp) -> Result<Answer, OperateError> {
        let (told, mut tells) = oneshot::channel();
        let request = Request::Posted { saga: mail.saga, mail: id, told: Some(told) };
        let mut hears = self.ask(request).await;
        loop {
            if hears {
                let look_at = until.min(self.now() + LOOK_EVERY);
                tokio::select! {
                    biased;
                    told = &mut tells => match told {
                        Ok(Told::Answered(text)) => return readable(&text),
                        Ok(Told::SetAside(reason)) => return Err(OperateError::SetAside(reason)),
                        Err(_) => hears = false,
                    },
                    () = self.clock().sleep_until(look_at) => {}
                }
            } else if self.stopped().is_none() {
                self.clock().sleep_until(until.min(self.now() + LOOK_EVERY)).await;
            }
            match self.mail().mail(mail.saga, &mail.key).await {
                Ok(Some(StoredMail { answer: Some(answer), .. })) => return readable(&answer),
                Err(fault) if !matches!(fault, Fault::Unavailable(_)) => return Err(fault.into()),
                _ if !hears && self.stopped().is_some() => return Err(OperateError::Stopped),
                _ if self.now() >= until => return Err(OperateError::Unanswered),
                _ => {}
            }
        }
    }

    /// A stored answer. What was pending then may be final now: the journal knows.
    async fn final_answer(
        &self,
        saga: SagaId,
        operation: &OperationId,
        stored: &str,
    ) -> Result<Answer, OperateError> {
        let stored = readable(stored)?;
        if stored != Answer::Pending {
            return Ok(stored);
        }
        let journal = self.row(saga).await?.map(|(_, journal)| journal).unwrap_or_default();
        Ok(last_answer(&journal, operation).unwrap_or(stored))
    }
}

/// The last answer that a journal gives to an operation. Rows that cannot be read say nothing.
fn last_answer(journal: &[JournalRow], operation: &OperationId) -> Option<Answer> {
    journal.iter().rev().filter(|row| row.events.contains("Answered")).find_map(|row| {
        let events: Vec<JournalEvent> = serde_json::from_str(&row.events).ok()?;
        events.into_iter().rev().find_map(|event| match event {
            JournalEvent::Answered { operation: id, answer, .. } if id == *operation => Some(answer),
            _ => None,
        })
    })
}

fn readable(answer: &str) -> Result<Answer, OperateError> {
    unspell(answer).map_err(|reason| OperateError::Store(Fault::Corrupt(reason)))
}

/// An operation id belongs to one question.
fn same_question(known: &StoredMail, ask: &Ask) -> Result<(), OperateError> {
    let used = match Letter::read(&known.mail) {
        Ok(Letter::Asked(asked, _)) if asked == *ask => return Ok(()),
        Ok(Letter::Asked(asked, _)) if asked.verb() == ask.verb() => {
            format!("{:?} with other particulars", asked.verb())
        }
        Ok(Letter::Asked(asked, _)) => format!("{:?}", asked.verb()),
        Ok(Letter::Replied(_)) => "a reply".to_owned(),
        Err(_) => "something else".to_owned(),
    };
    let key = &known.mail.key;
    let reason = format!("the operation id `{key}` was used for {used} before; each operation needs its own");
    Err(OperateError::Refused(Rejected::State(reason)))
}
