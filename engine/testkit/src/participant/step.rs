//! A whole step that calls a participant and does nothing else.

use std::marker::PhantomData;
use std::sync::Arc;

use amends::authoring::{
    ByOperator, Compensate, CompensationError, Contract, Finding, Forward, InDoubt, NoEffect, Payload,
    Problem, QueryError, Reconcile, ReconcileCompensation, Step, StepContext, StepError, Undo, UndoFinding,
};
use amends::{Outgoing, Transmission};
use amends_core::Json;

use super::Participant;
use super::message::outgoing;

/// A step that calls a [`Participant`] and does nothing else: a saga to try laws on, without writing structs.
///
/// `S` and `U` are how its unknown outcomes are settled, its own and its compensation's; `FENCE`, whether its
/// compensation settles what stays in doubt after a turn.
pub struct ParticipantStep<S, U, I, O, R, const FENCE: bool = false> {
    participant: Participant<I, O, R>,
    contract: Contract,
    /// The subject of its commands; none: it is called.
    commands: Option<Arc<str>>,
    of: PhantomData<fn() -> (S, U)>,
}

impl<I: Payload, O: Payload + Clone, R: Payload + Clone> Participant<I, O, R> {
    /// The step of this participant: `stock.step::<ByQuery, ByRepeating>()`.
    pub fn step<S, U>(&self) -> ParticipantStep<S, U, I, O, R> {
        ParticipantStep {
            participant: self.clone(),
            contract: Contract::default(),
            commands: None,
            of: PhantomData,
        }
    }

    /// The read of this participant.
    pub fn read(&self) -> ParticipantStep<NoEffect, ByOperator, I, O, R> {
        self.step()
    }
}

impl<S, U, I, O, R, const FENCE: bool> ParticipantStep<S, U, I, O, R, FENCE> {
    /// What the participant promises.
    #[must_use]
    pub fn contract(mut self, contract: Contract) -> Self {
        self.contract = contract;
        self
    }

    /// The same step, whose compensation settles what stays in doubt after a turn: the participant keeps a barrier.
    #[must_use]
    pub fn fencing(self) -> ParticipantStep<S, U, I, O, R, true> {
        let Self { participant, contract, commands, .. } = self;
        ParticipantStep { participant, contract, commands, of: PhantomData }
    }

    /// The same step, whose attempts are messages to this subject.
    #[must_use]
    pub(crate) fn through(mut self, subject: Option<Arc<str>>) -> Self {
        self.commands = subject;
        self
    }
}

impl<S, U, I, O, R, const FENCE: bool> Step for ParticipantStep<S, U, I, O, R, FENCE>
where
    S: 'static,
    U: 'static,
    I: Payload,
    O: Payload + Clone,
    R: Payload + Clone,
{
    type Input = I;
    type Output = O;
    type Refusal = R;
    type Settle = S;

    fn contract(&self) -> Contract {
        self.contract.clone()
    }

    async fn run(&self, cx: &StepContext, input: I) -> Result<O, StepError<R>> {
        self.participant.call(cx, &input).await
    }

    fn command(&self, of: &Transmission, input: &I) -> Result<Option<Outgoing>, Problem> {
        written(self.commands.as_ref(), of, input)
    }
}

fn written<I: Payload>(
    subject: Option<&Arc<str>>,
    of: &Transmission,
    input: &I,
) -> Result<Option<Outgoing>, Problem> {
    let Some(subject) = subject else { return Ok(None) };
    let input = Json::encode(input).map_err(|error| Problem::new("input", error))?;
    Ok(Some(outgoing(subject, of, input.text().to_owned())))
}

impl<S, U, I, O, R, const FENCE: bool> Compensate for ParticipantStep<S, U, I, O, R, FENCE>
where
    S: 'static,
    U: 'static,
    I: Payload,
    O: Payload + Clone,
    R: Payload + Clone,
{
    type UndoSettle = U;

    const IN_DOUBT: InDoubt = if FENCE { InDoubt::Fence } else { InDoubt::Wait };

    async fn compensate(
        &self,
        cx: &StepContext,
        _input: I,
        _forward: Forward<O>,
    ) -> Result<Undo, CompensationError> {
        self.participant.undo(cx).await
    }

    fn undo_command(
        &self,
        of: &Transmission,
        input: &I,
        _forward: &Forward<O>,
    ) -> Result<Option<Outgoing>, Problem> {
        written(self.commands.as_ref(), of, input)
    }
}

impl<S, U, I, O, R, const FENCE: bool> Reconcile for ParticipantStep<S, U, I, O, R, FENCE>
where
    S: 'static,
    U: 'static,
    I: Payload,
    O: Payload + Clone,
    R: Payload + Clone,
{
    async fn reconcile(&self, cx: &StepContext, _input: I) -> Result<Finding<O, R>, QueryError> {
        self.participant.query(cx).await
    }
}

impl<S, U, I, O, R, const FENCE: bool> ReconcileCompensation for ParticipantStep<S, U, I, O, R, FENCE>
where
    S: 'static,
    U: 'static,
    I: Payload,
    O: Payload + Clone,
    R: Payload + Clone,
{
    async fn reconcile_compensation(&self, cx: &StepContext, _input: I) -> Result<UndoFinding, QueryError> {
        self.participant.query_undo(cx).await
    }
}
