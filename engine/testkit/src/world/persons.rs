//! The persons of a world, who ask; and its participants, who reply when they like.

use std::future::Future;

use amends::engine::{OperateError, Reply, ReplyError};
use amends::operator::{By, OperatedSaga};
use amends_core::agenda::Desk;
use amends_core::event::Answer;
use amends_core::machine::Attempted;
use amends_core::{ActionId, Json, RequestId, SagaId};
use serde::Serialize;

use super::World;

impl World {
    /// A person asks a saga to turn back.
    ///
    /// # Errors
    /// When its state does not allow that.
    pub fn cancel(&mut self, saga: impl Into<SagaId>) -> Result<Answer, OperateError> {
        self.ask(saga, |saga, by| async move { saga.cancel(by).await })
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
        self.ask(saga, |saga, by| {
            let action = action.clone();
            async move { saga.resume(action, by).await }
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
        self.ask(saga, |saga, by| {
            let (action, output) = (action.clone(), output.clone());
            async move { saga.accept(action, Some(output), "seen by a person", by).await }
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

    /// A person asks anything of a saga: under a new operation id, and again under the same one if the process dies of
    /// it.
    ///
    /// # Errors
    /// When its state does not allow that.
    pub fn ask<Asking: Future<Output = Result<Answer, OperateError>>>(
        &mut self,
        saga: impl Into<SagaId>,
        ask: impl Fn(OperatedSaga, By) -> Asking,
    ) -> Result<Answer, OperateError> {
        self.operations += 1;
        let by = By::new("operator", "the test says so", format!("operation-{}", self.operations));
        self.ask_as(saga, by, ask)
    }

    /// As [`World::ask`], by this person and under this operation id.
    ///
    /// # Errors
    /// As [`World::ask`].
    pub fn ask_as<Asking: Future<Output = Result<Answer, OperateError>>>(
        &mut self,
        saga: impl Into<SagaId>,
        by: By,
        ask: impl Fn(OperatedSaga, By) -> Asking,
    ) -> Result<Answer, OperateError> {
        let saga = saga.into();
        loop {
            let (ask, by) = (&ask, by.clone());
            let answer = self.drive(|engine| async move { ask(engine.operator().saga(saga), by).await });
            if let Some(answer) = answer {
                return answer;
            }
        }
    }

    /// A participant replies to a request, at any time. Returns once the saga has decided what that means.
    ///
    /// # Errors
    /// When the reply is not taken: see [`ReplyError`].
    ///
    /// # Panics
    /// When a reply that was taken is never decided.
    pub fn reply(
        &mut self,
        saga: impl Into<SagaId>,
        request: RequestId,
        attempt: Option<u32>,
        answer: Attempted,
    ) -> Result<Reply, ReplyError> {
        let saga = saga.into();
        loop {
            let (store, answer) = (self.store.clone(), answer.clone());
            let taken = self.drive(|engine| async move {
                let taken = engine.reply(saga, request, attempt, answer, "participant").await?;
                for _ in 0..LOOKS_MAX {
                    if store.has_read_all_mail(saga).await {
                        return Ok(taken);
                    }
                    tokio::task::yield_now().await;
                }
                panic!("a reply to {saga} is not decided");
            });
            if let Some(taken) = taken {
                return taken;
            }
        }
    }
}

/// How often a reply is looked for before it counts as forgotten: no time passes meanwhile.
const LOOKS_MAX: usize = 100_000;

/// A step's name alone means its forward action.
fn named(action: &str) -> ActionId {
    if action.contains('/') {
        action.parse().unwrap_or_else(|error| panic!("{error}"))
    } else {
        ActionId::forward(action)
    }
}
