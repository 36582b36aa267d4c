//! What a person does about a saga, line by line: given when it stands as the line expects, once.

use std::time::Duration;

use amends::core::event::{Answer, Failure, FailureKind, Recorded};
use amends::core::machine::{Approval, Attempted};
use amends::core::state::Stage;
use amends::core::{ActionId, Direction, OperationId};
use amends::operator::{By, CompensationDemand, OperateError};
use amends::{SagaHandle, SagaView};

use super::{Drive, Standing};
use crate::load::{Late, Operator, SagaName, Verb};

/// How long the engine may take to record a late answer.
const LOOKS_MAX: u32 = 500;

impl Drive<'_> {
    /// The next operator's line about this saga that was not given before, perhaps by an earlier run.
    pub(super) fn next_operator(&mut self, name: &SagaName, view: &SagaView) -> Option<(usize, Operator)> {
        loop {
            let (line, operator) = self.operators.get(name)?.front()?.clone();
            let id = operation_id(self.source, line);
            match view.state().answers.get(&id) {
                Some((_, answer)) => {
                    self.facts.operations.insert(line, (operator, answer_text(answer)));
                    self.forget_operator(name);
                }
                None if view.ended_at.is_some() && !reaches_the_ended(&operator.verb, view) => {
                    self.facts.operations.insert(line, (operator, ENDED.to_owned()));
                    self.forget_operator(name);
                }
                None => return Some((line, operator)),
            }
        }
    }

    pub(super) fn forget_operator(&mut self, name: &SagaName) {
        if let Some(queue) = self.operators.get_mut(name) {
            queue.pop_front();
            if queue.is_empty() {
                self.operators.remove(name);
            }
        }
    }

    pub(super) async fn give(&self, handle: &SagaHandle, line: usize, operator: &Operator) -> String {
        let id = operation_id(self.source, line);
        if let Verb::LateAnswer(action, attempt, late) = &operator.verb {
            let request = action.request_id(handle.id());
            let answer = match late {
                Late::Done(result) => Attempted::Succeeded(Recorded::Value(result.clone())),
                Late::NotDone => Attempted::Persistent(Failure {
                    kind: FailureKind::Persistent,
                    code: "not_done".to_owned(),
                    message: "said late".to_owned(),
                    rule: String::new(),
                    classifier: String::new(),
                    hint: None,
                }),
            };
            let engine = &self.shop.engine;
            return match engine.reply(handle.id(), request, Some(*attempt), answer, &operator.by).await {
                Ok(_) => self.heard(handle).await,
                Err(error) => format!("not heard: {error}"),
            };
        }
        let by = By { actor: operator.by.clone(), reason: operator.reason.clone(), operation_id: id };
        match self.ask(handle, &operator.verb, by).await {
            Ok(answer) => answer_text(&answer),
            Err(error) => format!("not obeyed: {error}"),
        }
    }

    async fn ask(&self, handle: &SagaHandle, verb: &Verb, by: By) -> Result<Answer, OperateError> {
        let saga = self.shop.engine.operator().saga(handle.id());
        match verb.clone() {
            Verb::Cancel => saga.cancel(by).await,
            Verb::TurnBack => saga.turn_back(by).await,
            Verb::Pause => saga.pause(by).await,
            Verb::Unpause => saga.unpause(by).await,
            Verb::Resume(action) => saga.resume(action, by).await,
            Verb::RetryNow(action) => saga.retry_now(action, by).await,
            Verb::SendAgain(action) => saga.send_again(action, by).await,
            Verb::Reject(action) => saga.reject(action, by).await,
            Verb::Waive(action) => saga.waive(action, by).await,
            Verb::Accept(action, result, evidence) => saga.accept(action, result, evidence, by).await,
            Verb::Found(action, finding, evidence) => saga.found(action, finding, evidence, by).await,
            Verb::Supply(action, result, evidence) => saga.supply(action, result, evidence, by).await,
            Verb::Keep(action, wait) => {
                let until = self.shop.engine.now() + wait.mul_f64(self.shop.pace);
                saga.keep(action, until, by).await
            }
            Verb::Assign(action, to) => saga.assign(item(action.as_ref()), to, by).await,
            Verb::SetDisposition(action, disposition) => {
                saga.set_disposition(item(action.as_ref()), disposition, by).await
            }
            Verb::CompensateInDoubt(action) => saga.risky().compensate_in_doubt(action, by).await,
            Verb::Compensate { action, reason_code, policy } => {
                let Direction::Manual(id) = action.direction else {
                    let why = format!("`{action}` is no requested compensation");
                    return Err(OperateError::Incomplete(why));
                };
                let mut demand = CompensationDemand::new(&*action.step, id, reason_code);
                demand.approval = policy.map_or(Approval::AnotherPerson, Approval::Policy);
                saga.compensate(demand, by).await
            }
            Verb::Close { follow_up, named } => saga.risky().close(follow_up, named, by).await,
            Verb::Approve(Some(action)) => saga.approve(action, by).await,
            Verb::Approve(None) => saga.risky().approve_close(self.closing(handle).await, by).await,
            Verb::Deny(Some(action)) => saga.deny(action, by).await,
            Verb::Deny(None) => saga.deny(self.closing(handle).await, by).await,
            Verb::LateAnswer(..) => Err(OperateError::Incomplete("a late answer is no wish".to_owned())),
        }
    }

    /// The operation that asked to close the saga; none did: a name that nothing has.
    async fn closing(&self, handle: &SagaHandle) -> String {
        let view = handle.view().await.ok();
        let closing = view.and_then(|view| Some(view.state().closing.as_ref()?.0.operation.to_string()));
        closing.unwrap_or_else(|| "-".to_owned())
    }

    /// Waits until the news is in the journal, so that the last page tells of it.
    async fn heard(&self, handle: &SagaHandle) -> String {
        let mut look = tokio::time::interval(Duration::from_millis(10));
        for _ in 0..LOOKS_MAX {
            look.tick().await;
            let view = handle.view().await;
            if view.is_ok_and(|view| view.journal().iter().any(|transition| tells_news(&transition.events))) {
                return "heard".to_owned();
            }
        }
        "taken, and not recorded yet".to_owned()
    }

    /// Lines that were given by an earlier run to sagas that have ended, and lines that were never given.
    pub(super) async fn close_operators_lines(&mut self) -> anyhow::Result<()> {
        for (name, queue) in std::mem::take(&mut self.operators) {
            let saga = self.known.get(&name).and_then(|id| self.sagas.get(id));
            let view = match saga {
                Some(saga) if saga.standing == Standing::Ended => Some(saga.handle.view().await?),
                _ => None,
            };
            for (line, operator) in queue {
                let answer = view.as_ref().and_then(|view| {
                    view.state().answers.get(&operation_id(self.source, line)).map(|(_, answer)| answer)
                });
                let said = match (answer, saga) {
                    (Some(answer), _) => answer_text(answer),
                    (None, Some(saga)) if saga.standing == Standing::SetAside => {
                        "not given: the saga is set aside".to_owned()
                    }
                    (None, Some(_)) => ENDED.to_owned(),
                    (None, None) => "not given: there is no such saga".to_owned(),
                };
                self.facts.operations.insert(line, (operator, said));
            }
        }
        self.final_answers().await
    }

    /// What was pending when it was asked may have been decided since.
    async fn final_answers(&mut self) -> anyhow::Result<()> {
        for (line, (operator, said)) in &mut self.facts.operations {
            let saga = self.known.get(&operator.saga).and_then(|id| self.sagas.get(id));
            let Some(saga) = saga.filter(|_| *said == answer_text(&Answer::Pending)) else { continue };
            let view = saga.handle.view().await?;
            if let Some((_, answer)) = view.state().answers.get(&operation_id(self.source, *line)) {
                *said = answer_text(answer);
            }
        }
        Ok(())
    }
}

const ENDED: &str = "not given: the saga ended without standing on a desk";

/// Nothing reaches a saga that has ended but news, a compensation that is requested, and what concerns a desk item
/// that is there all the same.
fn reaches_the_ended(verb: &Verb, view: &SagaView) -> bool {
    let on_a_desk = |action: &ActionId| view.desk.iter().any(|item| item.action.as_ref() == Some(action));
    let is_new = matches!(verb, Verb::LateAnswer(..) | Verb::Compensate { .. });
    is_new || verb.action().is_some_and(on_a_desk)
}

/// The name of a desk item.
fn item(action: Option<&ActionId>) -> String {
    action.map(ToString::to_string).unwrap_or_default()
}

/// Does the saga stand as this verb expects?
pub(super) fn is_time_for(verb: &Verb, view: &SagaView) -> bool {
    let state = view.state();
    match verb {
        Verb::Unpause => state.paused.is_some(),
        Verb::Approve(None) | Verb::Deny(None) => state.closing.is_some(),
        Verb::LateAnswer(..) => view.ended_at.is_some(),
        Verb::Compensate { .. } => false, // When nothing else moves.
        Verb::CompensateInDoubt(action) => {
            view.turned.is_some() && view.desk.iter().any(|item| item.action.as_ref() == Some(action))
        }
        Verb::Assign(None, _) | Verb::SetDisposition(None, _) => {
            view.desk.iter().any(|item| item.action.is_none())
        }
        Verb::RetryNow(action) => {
            let stage = state.action(view.plan(), action).map(|action| action.stage);
            stage == Some(Stage::RetryScheduled)
        }
        Verb::Supply(..) | Verb::Cancel | Verb::TurnBack | Verb::Pause | Verb::Close { .. } => {
            !view.desk.is_empty()
        }
        Verb::Resume(action)
        | Verb::SendAgain(action)
        | Verb::Reject(action)
        | Verb::Waive(action)
        | Verb::Accept(action, ..)
        | Verb::Found(action, ..)
        | Verb::Keep(action, _)
        | Verb::Assign(Some(action), _)
        | Verb::SetDisposition(Some(action), _)
        | Verb::Approve(Some(action))
        | Verb::Deny(Some(action)) => view.desk.iter().any(|item| item.action.as_ref() == Some(action)),
    }
}

fn tells_news(events: &[amends::core::JournalEvent]) -> bool {
    use amends::core::JournalEvent::{Disputed, NewsRecorded};
    events.iter().any(|event| matches!(event, NewsRecorded(_) | Disputed(_)))
}

/// The one-time operation id of an operator's line.
fn operation_id(source: &str, line: usize) -> OperationId {
    OperationId::new(format!("{source}:{line}"))
}

/// An answer, as people say it.
fn answer_text(answer: &Answer) -> String {
    match answer {
        Answer::Accepted => "accepted".to_owned(),
        Answer::TooLate => "too late".to_owned(),
        Answer::Pending => "pending".to_owned(),
        Answer::Already => "already so".to_owned(),
        Answer::Refused { reason } => format!("refused ({reason})"),
    }
}
