//! A typed step behind the worker's [`Node`]: one boxed future per attempt erases the rest.

use std::sync::Arc;

use amends_core::Json;
use amends_core::event::{Failure, FailureKind, Finding, Recorded};
use amends_core::machine::Attempted;

use super::command::{Outgoing, Transmission};
use super::context::StepContext;
use super::encode;
use super::error::{Forward, Problem, QueryError, UndoFinding};
use super::gives::Gives;
use super::node::{BoxFuture, ForwardOutcome, InputProblem, Node, Prepared, Values, caught};
use super::payload::Payload;
use super::precondition::{Precondition, Preview};
use super::step::{Asked, Compensate, SettlesUndo, Step};

pub(crate) type Ask<S> = fn(Arc<S>, StepContext, <S as Step>::Input) -> BoxFuture<Asked<S>>;
type AskUndo<S> = fn(Arc<S>, StepContext, <S as Step>::Input) -> BoxFuture<Result<UndoFinding, QueryError>>;
type Undo<S> =
    fn(Arc<S>, StepContext, <S as Step>::Input, Forward<<S as Step>::Output>) -> BoxFuture<Attempted>;

type UndoCommand<S> = fn(
    &S,
    &Transmission,
    &<S as Step>::Input,
    &Forward<<S as Step>::Output>,
) -> Result<Option<Outgoing>, Problem>;

type Expect<S> = fn(&S, &Forward<<S as Step>::Output>) -> Option<Precondition>;
type DryRun<S> = fn(
    Arc<S>,
    StepContext,
    <S as Step>::Input,
    Forward<<S as Step>::Output>,
) -> BoxFuture<Result<Preview, Failure>>;

/// How a step is compensated, as functions that only a compensated step has.
pub(crate) struct Undoing<S: Step> {
    compensate: Undo<S>,
    ask: AskUndo<S>,
    command: UndoCommand<S>,
    expected: Expect<S>,
    dry_run: DryRun<S>,
}

impl<S: Compensate> Undoing<S>
where
    S::UndoSettle: SettlesUndo<S>,
{
    /// The compensation of a typed step.
    pub(crate) fn new() -> Self {
        Self {
            compensate: |step, cx, input, forward| {
                Box::pin(async move { encode::undone(step.compensate(&cx, input, forward).await) })
            },
            ask: <S::UndoSettle as SettlesUndo<S>>::ask_undo,
            command: S::undo_command,
            expected: S::expected,
            dry_run: |step, cx, input, forward| {
                Box::pin(async move { encode::previewed(step.dry_run(&cx, input, forward).await) })
            },
        }
    }
}

pub(crate) struct Typed<S: Step> {
    pub(crate) step: Arc<S>,
    pub(crate) input: Box<dyn Gives<S::Input>>,
    pub(crate) ask: Ask<S>,
    pub(crate) undo: Option<Undoing<S>>,
}

impl<S: Step> Typed<S> {
    fn typed(input: Prepared) -> S::Input {
        *input.value.downcast().expect("a node is given what it prepared itself")
    }

    /// The author's functions are pure, but may panic: nothing was sent then.
    fn gather(&self, values: Values<'_>) -> Result<S::Input, InputProblem> {
        caught("a function that shapes the input", || self.input.gather(values))
    }

    /// Decodes what was journalled, or shapes the input anew.
    fn build(&self, values: Values<'_>, shaped: Option<&Json>) -> Result<Prepared, InputProblem> {
        if let Some(shaped) = shaped {
            let value: S::Input = shaped.decode().map_err(|error| InputProblem {
                reason: format!("the recorded input is not a `{}`: {error}", S::Input::schema()),
            })?;
            return Ok(Prepared { value: Box::new(value), shaped: None });
        }
        let value = self.gather(values)?;
        if self.input.is_recorded() {
            return Ok(Prepared { value: Box::new(value), shaped: None });
        }
        let kept = |refused| InputProblem { reason: format!("the input cannot be kept: {refused}") };
        let json = Json::encode(&value).map_err(|error| kept(encode::unwritable(&error)))?;
        if let Some(refused) = encode::unstorable(&json) {
            return Err(kept(refused));
        }
        Ok(Prepared { value: Box::new(value), shaped: Some(json) })
    }
}

impl<S: Step> Node for Typed<S> {
    fn prepare(&self, values: Values<'_>, shaped: Option<&Json>) -> Result<Prepared, InputProblem> {
        caught("reading or writing the input", || self.build(values, shaped))
    }

    fn command(
        &self,
        of: &Transmission,
        input: &Prepared,
        forward: Option<ForwardOutcome>,
    ) -> Result<Option<Outgoing>, InputProblem> {
        let input = input.value.downcast_ref().expect("a node is given what it prepared itself");
        let message = caught("the function that writes the command", || {
            Ok(match (forward, &self.undo) {
                (None, _) => self.step.command(of, input),
                (Some(forward), Some(undo)) => (undo.command)(&self.step, of, input, &told(forward)),
                (Some(_), None) => Ok(None),
            })
        })?;
        message.map_err(|Problem { code, message, .. }| InputProblem { reason: format!("{code}: {message}") })
    }

    fn run(&self, cx: StepContext, input: Prepared) -> BoxFuture<Attempted> {
        let (step, input) = (self.step.clone(), Self::typed(input));
        Box::pin(async move { encode::attempted(step.run(&cx, input).await) })
    }

    fn compensate(&self, cx: StepContext, input: Prepared, forward: ForwardOutcome) -> BoxFuture<Attempted> {
        let Some(undo) = &self.undo else {
            return Box::pin(std::future::ready(Attempted::Persistent(no_compensation())));
        };
        (undo.compensate)(self.step.clone(), cx, Self::typed(input), told(forward))
    }

    fn expected(&self, forward: ForwardOutcome) -> Result<Option<Json>, InputProblem> {
        let Some(undo) = &self.undo else { return Ok(None) };
        let expected = caught("the function that says what the compensation expects", || {
            Ok((undo.expected)(&self.step, &told(forward)))
        })?;
        let refused =
            |refused| InputProblem { reason: format!("what is expected cannot be kept: {refused}") };
        expected.map(|expected| expected.kept().map_err(refused)).transpose()
    }

    fn dry_run(
        &self,
        cx: StepContext,
        input: Prepared,
        forward: ForwardOutcome,
    ) -> BoxFuture<Result<Preview, Failure>> {
        let Some(undo) = &self.undo else {
            return Box::pin(std::future::ready(Err(no_compensation())));
        };
        (undo.dry_run)(self.step.clone(), cx, Self::typed(input), told(forward))
    }

    fn reconcile(&self, cx: StepContext, input: Prepared) -> BoxFuture<Result<Finding, Failure>> {
        let asked = (self.ask)(self.step.clone(), cx, Self::typed(input));
        Box::pin(async move { encode::found(asked.await) })
    }

    fn reconcile_compensation(
        &self,
        cx: StepContext,
        input: Prepared,
    ) -> BoxFuture<Result<Finding, Failure>> {
        let Some(undo) = &self.undo else {
            return Box::pin(std::future::ready(Err(no_compensation())));
        };
        let asked = (undo.ask)(self.step.clone(), cx, Self::typed(input));
        Box::pin(async move { encode::undo_found(asked.await) })
    }

    fn check_output(&self, output: &Json) -> Result<(), String> {
        let decoded = caught("reading it", || Ok(output.decode::<S::Output>()));
        let decoded = decoded.map_err(|InputProblem { reason }| reason)?;
        decoded.map(|_| ()).map_err(|error| format!("not a `{}`: {error}", S::Output::schema()))
    }
}

fn no_compensation() -> Failure {
    let problem = Problem::new("no-compensation", "the step declares no compensation");
    problem.failure(FailureKind::Persistent)
}

/// The forward outcome, typed. A result that does not decode any more is told as unrecorded: the effect still
/// has to be undone.
fn told<T: Payload>(forward: ForwardOutcome) -> Forward<T> {
    match forward {
        ForwardOutcome::Completed(Recorded::Value(json)) => match json.decode() {
            Ok(output) => Forward::Completed(output),
            Err(error) => {
                let reason = format!("not a `{}`: {error}", T::schema());
                Forward::Unrecorded(encode::omitted(reason, json.text()))
            }
        },
        ForwardOutcome::Completed(Recorded::Omitted(omitted)) => Forward::Unrecorded(omitted),
        ForwardOutcome::Partial(output) => {
            let output = output.as_ref().and_then(Recorded::value).and_then(|json| json.decode().ok());
            Forward::Partial(output)
        }
        ForwardOutcome::InDoubt => Forward::InDoubt,
    }
}
