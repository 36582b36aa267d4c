//! The persons of a world: they cancel, resume and accept.

use std::future::Future;

use amends::engine::{OperateError, ViewError};
use amends::{Engine, SagaHandle};
use amends_core::agenda::Desk;
use amends_core::event::Answer;
use amends_core::machine::Operation;
use amends_core::{ActionId, Json, OperationId, SagaId};
use serde::Serialize;

use super::World;

impl World {
    /// A person asks a saga to turn back.
    ///
    /// # Errors
    /// When its state does not allow that.
    pub fn cancel(&mut self, saga: impl Into<SagaId>) -> Result<Answer, OperateError> {
        self.operate(saga.into(), |saga, operation| async move { saga.cancel(operation).await })
    }

    /// A person lets a quarantined action go on: `reserve-stock`, or `reserve-stock/compensation`.
    ///
    /// # Errors
    /// When its state does not allow that.
    ///
    /// # Panics
    /// When `action` is not written like that.
    pub fn resume(&mut self, saga: impl Into<SagaId>, action: &str) -> Result<Answer, OperateError> {
        let action = named(action);
        self.operate(saga.into(), |saga, operation| {
            let action = action.clone();
            async move { saga.resume(action, operation).await }
        })
    }

    /// A person settles an action as applied: `reserve-stock` with its output, or `reserve-stock/compensation`
    /// with `"Undone"` or `"NothingToUndo"`.
    ///
    /// # Errors
    /// When its state does not allow that, or the output is not of the step's type.
    ///
    /// # Panics
    /// When `action` is not written like that, or the output cannot be written as JSON.
    pub fn accept(
        &mut self,
        saga: impl Into<SagaId>,
        action: &str,
        output: &impl Serialize,
    ) -> Result<Answer, OperateError> {
        let action = named(action);
        let output = Json::encode(output).expect("an output can be written as JSON");
        self.operate(saga.into(), |saga, operation| {
            let (action, output) = (action.clone(), output.clone());
            async move { saga.accept(action, Some(output), "seen by a person", operation).await }
        })
    }

    /// Every quarantined action is resumed. Was there any?
    pub(crate) fn resume_everything(&mut self) -> bool {
        let quarantined: Vec<(SagaId, ActionId)> = self
            .views()
            .into_iter()
            .flat_map(|view| {
                let items = view.desk.into_iter().filter(|item| item.desk == Desk::Quarantine);
                items.filter_map(move |item| Some((view.id, item.action?))).collect::<Vec<_>>()
            })
            .collect();
        let mut resumed = false;
        for (saga, action) in quarantined {
            resumed |= self.resume(saga, &action.to_string()).is_ok();
        }
        resumed
    }

    /// Every saga is asked to turn back. Those that cannot any more say so, and go on.
    pub(super) fn cancel_everything(&mut self) {
        let sagas: Vec<SagaId> = self.sagas.keys().copied().collect();
        for saga in sagas {
            let _ = self.cancel(saga);
        }
    }

    /// Asks under a new operation id; and again under the same one if the process dies of it.
    fn operate<Asking: Future<Output = Result<Answer, OperateError>>>(
        &mut self,
        saga: SagaId,
        ask: impl Fn(SagaHandle, Operation) -> Asking,
    ) -> Result<Answer, OperateError> {
        self.operations += 1;
        let operation = Operation {
            id: OperationId::new(format!("operation-{}", self.operations)),
            actor: "operator".to_owned(),
            reason: "the test says so".to_owned(),
        };
        loop {
            let row = self.row(saga);
            let (ask, operation) = (&ask, operation.clone());
            let answer = self.drive(|engine| async move {
                let saga = found(&engine, &row.definition.workflow, &row.key).await;
                ask(saga, operation).await
            });
            if let Some(answer) = answer {
                return answer;
            }
        }
    }
}

async fn found(engine: &Engine, workflow: &str, key: &str) -> SagaHandle {
    let found: Result<Option<SagaHandle>, ViewError> = engine.find(workflow, key).await;
    found.expect("a store in memory answers").expect("a saga of this world exists")
}

/// A step's name alone means its forward action.
fn named(action: &str) -> ActionId {
    if action.contains('/') {
        action.parse().unwrap_or_else(|error| panic!("{error}"))
    } else {
        ActionId::forward(action)
    }
}
