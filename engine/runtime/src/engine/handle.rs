//! One saga, from outside.

use std::marker::PhantomData;
use std::sync::Arc;

use amends_core::agenda::DeskItem;
use amends_core::event::{Answer, Omitted, TurnReason};
use amends_core::machine::Operation;
use amends_core::state::{Missing, Phase};
use amends_core::{ActionId, Json, SagaId, SagaPlan, SagaState};
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;

use super::{Engine, OperateError, OutcomeError, Tombstone, ViewError};
use crate::letter::Ask;
use crate::view::SagaView;
use crate::worker::{Registered, Request, Until, Watched, fold, on_desk};

/// How a saga ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<O = Json> {
    /// Every step took effect; the result.
    Completed(O),
    /// It turned back, and every effect was compensated.
    Compensated {
        /// Why it turned back.
        reason: TurnReason,
    },
    /// Two people closed it.
    Closed,
}

/// How far a saga has come by itself: see [`SagaHandle::settled`].
#[derive(Clone, Debug, PartialEq)]
pub enum Settled<O = Json> {
    /// It ended.
    Ended(Outcome<O>),
    /// It has not ended, and nothing but a person can move it now: what waits for whom, and why. Never empty.
    OnDesk(Vec<DeskItem>),
}

/// One saga. Cheap to clone; dropping it changes nothing about the saga.
pub struct SagaHandle<O = Json> {
    pub(super) engine: Engine,
    pub(super) saga: SagaId,
    pub(super) definition: Arc<Registered>,
    pub(super) of: PhantomData<fn() -> O>,
}

impl<O> Clone for SagaHandle<O> {
    fn clone(&self) -> Self {
        let (engine, definition) = (self.engine.clone(), self.definition.clone());
        Self { engine, saga: self.saga, definition, of: PhantomData }
    }
}

impl<O> std::fmt::Debug for SagaHandle<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SagaHandle").field(&self.saga).finish()
    }
}

impl<O> SagaHandle<O> {
    /// The saga's id.
    pub fn id(&self) -> SagaId {
        self.saga
    }

    /// The workflow's shape. Of a purged saga whose own is no longer registered: of the one that was asked for.
    pub fn plan(&self) -> &Arc<SagaPlan> {
        &self.definition.plan
    }

    /// Everything that is recorded of the saga.
    ///
    /// # Errors
    /// When the store does not answer, or the journal cannot be read.
    pub async fn view(&self) -> Result<SagaView, ViewError> {
        self.engine.inspect(self.saga).await
    }

    /// Asks the saga to turn back. The answer always matches what then happens; `Pending` becomes final
    /// later, under the same operation id.
    ///
    /// # Errors
    /// See [`OperateError`].
    pub async fn cancel(&self, operation: Operation) -> Result<Answer, OperateError> {
        self.ask(Ask::Cancel {}, operation).await
    }

    /// Lets a quarantined action go on with a fresh budget, under the same request id.
    ///
    /// # Errors
    /// See [`OperateError`].
    pub async fn resume(&self, action: ActionId, operation: Operation) -> Result<Answer, OperateError> {
        self.ask(Ask::Resume { action }, operation).await
    }

    /// Settles an action as applied, on a person's word. The result must decode as the step's output; of a
    /// compensation it is `"Undone"` or `"NothingToUndo"`.
    ///
    /// # Errors
    /// See [`OperateError`].
    pub async fn accept(
        &self,
        action: ActionId,
        output: Option<Json>,
        evidence: impl Into<String>,
        operation: Operation,
    ) -> Result<Answer, OperateError> {
        self.ask(Ask::Accept { action, output, evidence: evidence.into() }, operation).await
    }

    async fn ask(&self, ask: Ask, operation: Operation) -> Result<Answer, OperateError> {
        self.engine.operator().saga(self.saga).ask(ask, operation.into()).await
    }

    /// What a watcher is told first; never [`Watched::NotHere`].
    async fn watched(&self, until: Until) -> Result<Watched, OutcomeError> {
        match self.watch(until, false).await?.await.map_err(|_| OutcomeError::Stopped)? {
            Watched::NotHere => {}
            told => return Ok(told),
        }
        // It may end between a look into the store and the request to be told: so the request comes first.
        let mut told = self.watch(until, true).await?;
        loop {
            if let Some(told) = self.look(until).await? {
                return Ok(told);
            }
            tokio::select! {
                biased;
                told = &mut told => return told.map_err(|_| OutcomeError::Stopped),
                () = self.engine.next_look() => {}
            }
        }
    }

    /// What a watcher would be told by the store as it stands.
    async fn look(&self, until: Until) -> Result<Option<Watched>, OutcomeError> {
        let (row, journal) = self.engine.row(self.saga).await?.ok_or(OutcomeError::Unknown)?;
        if let Some(tombstone) = Tombstone::of(&row) {
            return Err(OutcomeError::Purged(Box::new(tombstone)));
        }
        if let Some(reason) = row.set_aside {
            return Ok(Some(Watched::SetAside(reason)));
        }
        let plan = &self.definition.plan;
        if row.ended_at.is_some() {
            let (state, _) = fold(plan, &journal).map_err(OutcomeError::Unreadable)?;
            return Ok(Some(Watched::Ended(Box::new(state))));
        }
        if until == Until::Settled {
            let (state, _) = fold(plan, &journal).map_err(OutcomeError::Unreadable)?;
            if let Some(items) = on_desk(plan, &state, self.engine.now()) {
                return Ok(Some(Watched::OnDesk(items)));
            }
        }
        Ok(None)
    }

    async fn watch(
        &self,
        until: Until,
        absent_too: bool,
    ) -> Result<oneshot::Receiver<Watched>, OutcomeError> {
        let (reply, told) = oneshot::channel();
        let request = Request::Watch { saga: self.saga, until, absent_too, reply };
        if self.engine.ask(request).await { Ok(told) } else { Err(OutcomeError::Stopped) }
    }
}

impl<O: DeserializeOwned> SagaHandle<O> {
    /// Waits until the saga has ended, however long that takes. A result that a branch not taken would have
    /// given is read as `null`.
    ///
    /// # Not guaranteed
    /// That this returns. A saga that needs a person (a wrong credential, a spent budget, an outcome that
    /// nobody can find out) stands on a desk and does not end before somebody has decided; nothing is told
    /// here meanwhile. Where that matters use [`SagaHandle::settled`], or look at
    /// [`Engine::desk`](crate::Engine::desk).
    ///
    /// # Errors
    /// When there is no outcome to be had from this engine: see [`OutcomeError`]. The saga is untouched.
    pub async fn outcome(&self) -> Result<Outcome<O>, OutcomeError> {
        match self.watched(Until::End).await? {
            Watched::Ended(state) => self.ended(&state),
            Watched::SetAside(reason) => Err(OutcomeError::SetAside(reason)),
            Watched::OnDesk(_) | Watched::NotHere => Err(OutcomeError::Stopped),
        }
    }

    /// Waits until the saga has ended, or until nothing but a person can move it.
    ///
    /// A saga on a desk of which something else is still under way, due or scheduled goes on: that is awaited
    /// first. Deadlines are not: they may be far away. After a person has decided, ask again.
    ///
    /// # Errors
    /// As [`SagaHandle::outcome`].
    pub async fn settled(&self) -> Result<Settled<O>, OutcomeError> {
        match self.watched(Until::Settled).await? {
            Watched::Ended(state) => self.ended(&state).map(Settled::Ended),
            Watched::OnDesk(items) => Ok(Settled::OnDesk(items)),
            Watched::SetAside(reason) => Err(OutcomeError::SetAside(reason)),
            Watched::NotHere => Err(OutcomeError::Stopped),
        }
    }

    fn ended(&self, state: &SagaState) -> Result<Outcome<O>, OutcomeError> {
        match (state.phase, &state.turned) {
            (Phase::Completed, _) => self.result(state).map(Outcome::Completed),
            (Phase::Compensated, Some(reason)) => Ok(Outcome::Compensated { reason: reason.clone() }),
            (Phase::Closed, _) => Ok(Outcome::Closed),
            (phase @ (Phase::Running | Phase::Compensating | Phase::Compensated), _) => {
                Err(OutcomeError::Unreadable(format!("the last state of the saga is `{}`", phase.word())))
            }
        }
    }

    fn result(&self, state: &SagaState) -> Result<O, OutcomeError> {
        let plan = &self.definition.plan;
        let given = state.given(plan, plan.result).map_err(|missing| match missing {
            Missing::Omitted { omitted, .. } => OutcomeError::Unrecorded(omitted.clone()),
            Missing::NoResult { .. } | Missing::Undecided { .. } => {
                let reason = "the step was skipped".to_owned();
                OutcomeError::Unrecorded(Omitted { reason, digest: None, size: 0 })
            }
        })?;
        given.json().decode().map_err(|error| OutcomeError::Undecodable(error.to_string()))
    }
}
