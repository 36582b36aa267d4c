//! What a person does about a saga, line by line: given when it stands on a desk, once.

use amends::core::OperationId;
use amends::core::event::Answer;
use amends::core::machine::Operation;
use amends::{SagaHandle, SagaView};

use super::{Drive, Standing};
use crate::load::{Operator, SagaName, Verb};

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
        let operation = Operation {
            id: operation_id(self.source, line),
            actor: "operator".to_owned(),
            reason: operator.reason.clone(),
        };
        let answer = match &operator.verb {
            Verb::Resume(action) => handle.resume(action.clone(), operation).await,
            Verb::Cancel => handle.cancel(operation).await,
        };
        match answer {
            Ok(answer) => answer_text(&answer),
            Err(error) => format!("not obeyed: {error}"),
        }
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
                    (None, Some(_)) => "not given: the saga ended without standing on a desk".to_owned(),
                    (None, None) => "not given: there is no such saga".to_owned(),
                };
                self.facts.operations.insert(line, (operator, said));
            }
        }
        Ok(())
    }
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
