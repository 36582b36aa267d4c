//! Dry runs: what a compensation would do, asked before a person requests or approves it.

use std::sync::Arc;

use amends_core::event::Failure;
use amends_core::state::Effect;
use amends_core::{ActionId, Json, SagaId, SagaState};
use tokio_util::sync::CancellationToken;

use super::{Engine, ViewError};
use crate::authoring::{
    ContextParts, Definition, ForwardOutcome, InputProblem, Node, Precondition, Preview, StepContext, Values,
};
use crate::ports::{Clock, DefinitionRef};
use crate::worker::{forward_outcome, previewed};

/// There is nothing to be seen of what a compensation would do.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DryRunError {
    /// The workflow has no such compensation.
    #[error("failed to find a compensation `{0}` in the workflow")]
    NoCompensation(ActionId),
    /// The step has no effect that is in place or may be.
    #[error("failed to dry-run `{0}`: its step has no effect to undo")]
    NoEffect(ActionId),
    /// The step's input, or what the compensation expects, cannot be built.
    #[error("failed to {0}")]
    Input(#[from] InputProblem),
    /// The step has no dry run (`no-dry-run`), or it failed, took too long (`timeout`) or panicked (`panic`).
    #[error("failed to dry-run the compensation: {} ({})", .0.message, .0.code)]
    Failed(Failure),
    /// The saga cannot be read.
    #[error(transparent)]
    View(#[from] ViewError),
}

impl Engine {
    /// What a compensation of this saga would do, without doing it: evidence for the person who requests or
    /// approves it. `action` is `step/compensation`, or `step/manual:<id>` under the id of the request to come.
    ///
    /// Nothing of it is recorded. It runs in the caller's task, outside the worker's permits, for at most the time
    /// that the step's query policy gives a query.
    ///
    /// # Errors
    /// See [`DryRunError`].
    pub async fn dry_run(&self, saga: SagaId, action: &ActionId) -> Result<Preview, DryRunError> {
        let view = self.inspect(saga).await?;
        let plan = view.plan();
        let reference =
            DefinitionRef { workflow: plan.workflow.clone(), version: plan.version, digest: plan.digest.0 };
        let definition = self.registered(&reference).map_err(ViewError::from)?;
        definition.definition().dry_run(view.state(), action, self.0.clock.clone()).await
    }
}

impl Definition {
    /// What a compensation of a saga in this state would do: see [`Engine::dry_run`].
    ///
    /// # Errors
    /// See [`DryRunError`]; never that the saga cannot be read.
    pub async fn dry_run(
        &self,
        state: &SagaState,
        action: &ActionId,
        clock: Arc<dyn Clock>,
    ) -> Result<Preview, DryRunError> {
        let none = || DryRunError::NoCompensation(action.clone());
        let ix = self.plan.find(&action.step).filter(|_| !action.is_forward()).ok_or_else(none)?;
        let (step, at) = (self.plan.step(ix), state.step(ix));
        if step.undo.is_none() {
            return Err(none());
        }
        if at.forward.effect == Effect::None {
            return Err(DryRunError::NoEffect(action.clone()));
        }
        let node = &self.nodes[ix.0];
        let input = node.prepare(Values { plan: &self.plan, state }, at.shaped.as_ref())?;
        let forward = forward_outcome(&at.forward);
        let expected = self.expectation(state, action, &**node, &forward)?;
        let timeout = step.query.timeout;
        let cx = StepContext::new(ContextParts {
            saga: state.id,
            key: state.key.clone(),
            request_id: action.request_id(state.id),
            forward_request_id: ActionId::forward(action.step.clone()).request_id(state.id),
            attempt: state.action(&self.plan, action).map_or(0, |action| action.attempts),
            fence_through: None,
            expected: expected.map(Precondition::recorded),
            trace: state.trace.clone(),
            deadline: clock.now() + timeout,
            clock: clock.clone(),
            stop: CancellationToken::new(),
        });
        let preview = previewed(node.dry_run(cx, input, forward), &*clock, timeout).await;
        preview.map_err(DryRunError::Failed)
    }

    /// What the compensation expects or, before its first attempt, would expect.
    fn expectation(
        &self,
        state: &SagaState,
        action: &ActionId,
        node: &dyn Node,
        forward: &ForwardOutcome,
    ) -> Result<Option<Json>, InputProblem> {
        match state.action(&self.plan, action) {
            Some(undo) if !undo.may_yet_expect(action) => Ok(undo.expected.clone()),
            _ => node.expected(forward.clone()),
        }
    }
}
