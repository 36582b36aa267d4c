//! Steps whose participant is reached over NATS: an attempt is a command, an unknown outcome is asked for by a query.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use amends::core::Json;
use amends::core::event::{Finding as Found, Recorded};
use amends::prelude::*;
use amends::{Outgoing, Transmission};

use crate::connection::Connection;
use crate::wire::{self, Direction, PREFIX_MAX, is_name};

/// Where commands go, and where their replies come back.
#[derive(Clone)]
pub struct Commands {
    connection: Connection,
    prefix: Arc<str>,
    reply_to: Arc<str>,
}

/// A name that is no token of a subject.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "failed to send commands as `{0}`: prefix, engine, service and operation are 1 to {PREFIX_MAX} of A–Z, a–z, 0–9, `-`, `_`"
)]
pub struct NameError(pub String);

pub(crate) fn named(name: &str) -> Result<&str, NameError> {
    if is_name(name) { Ok(name) } else { Err(NameError(name.to_owned())) }
}

impl Commands {
    /// Commands under this prefix, whose replies go to this engine. All nodes of one application share the engine's name.
    ///
    /// # Errors
    /// When a name is no token of a subject.
    pub fn new(connection: Connection, prefix: &str, engine: &str) -> Result<Self, NameError> {
        let (prefix, engine) = (named(prefix)?, named(engine)?);
        Ok(Self { connection, reply_to: format!("{prefix}.reply.{engine}").into(), prefix: prefix.into() })
    }

    /// A step that has `service` carry `operation` out. `I`, `O` and `R` are its input, result and refusal on the wire.
    ///
    /// Its contract says that the service keeps its answers by request id, which `PROTOCOL.md` asks of it, and names the
    /// service as the dependency that limits are counted by. Say with [`CommandStep::contract`] how long it keeps them.
    ///
    /// # Errors
    /// When a name is no token of a subject.
    pub fn step<I, O, R>(&self, service: &str, operation: &str) -> Result<CommandStep<I, O, R>, NameError> {
        let (service, operation) = (named(service)?, named(operation)?);
        let subject = |kind| format!("{}.{kind}.{service}.{operation}", self.prefix).into();
        Ok(CommandStep {
            connection: self.connection.clone(),
            command: subject("command"),
            query: subject("query"),
            reply_to: self.reply_to.clone(),
            contract: Contract {
                keeps_answers: true,
                dependency: Some(service.into()),
                ..Contract::default()
            },
            of: PhantomData,
        })
    }
}

impl fmt::Debug for Commands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Commands({}, replies to {})", self.prefix, self.reply_to)
    }
}

/// A step whose attempts are commands. It settles by query, in both directions, and its participant keeps a barrier: see
/// [`Commands::step`].
pub struct CommandStep<I, O, R> {
    connection: Connection,
    command: Arc<str>,
    query: Arc<str>,
    reply_to: Arc<str>,
    contract: Contract,
    of: PhantomData<fn(I) -> (O, R)>,
}

impl<I, O, R> CommandStep<I, O, R> {
    /// Says what the participant promises besides: settle window, key retention, another dependency.
    #[must_use]
    pub fn contract(mut self, say: impl FnOnce(Contract) -> Contract) -> Self {
        self.contract = say(self.contract);
        self
    }

    async fn ask<T: Payload>(
        &self,
        cx: &StepContext,
        direction: Direction,
        input: &T,
    ) -> Result<Found, QueryError> {
        let input = Json::encode(input).map_err(|error| QueryError::new("input", error))?;
        let (headers, body) =
            wire::query(cx, direction, &input).map_err(|reason| QueryError::new("input", reason))?;
        let client = self.connection.client();
        let asked = client.request_with_headers(self.query.to_string(), headers, body.into()).await;
        let answer = asked.map_err(|error| QueryError::new(code(error.kind()), error))?;
        Ok(wire::found(answer.headers.as_ref(), &answer.payload))
    }
}

fn code(kind: async_nats::RequestErrorKind) -> &'static str {
    match kind {
        async_nats::RequestErrorKind::NoResponders => "no-responders",
        async_nats::RequestErrorKind::TimedOut => "timeout",
        _ => "nats",
    }
}

impl<I: Payload, O: Payload, R: Payload> Step for CommandStep<I, O, R> {
    type Input = I;
    type Output = O;
    type Refusal = R;
    type Settle = ByQuery;

    fn contract(&self) -> Contract {
        self.contract.clone()
    }

    async fn run(&self, _: &StepContext, _: I) -> Result<O, StepError<R>> {
        Err(StepError::persistent("command", "this step is a command, which leaves through the outbox"))
    }

    fn command(&self, of: &Transmission, input: &I) -> Result<Option<Outgoing>, Problem> {
        self.outgoing(of, input, None)
    }
}

impl<I: Payload, O, R> CommandStep<I, O, R> {
    fn outgoing(
        &self,
        of: &Transmission,
        input: &I,
        forward: Option<&amends::ForwardOutcome>,
    ) -> Result<Option<Outgoing>, Problem> {
        let input = Json::encode(input).map_err(|error| Problem::new("input", error))?;
        let message = wire::command(self.command.clone(), &self.reply_to, of, &input, forward);
        message.map(Some).map_err(|reason| Problem::new("input", reason))
    }
}

impl<I: Payload, O: Payload, R: Payload> Compensate for CommandStep<I, O, R> {
    type UndoSettle = ByQuery;

    const IN_DOUBT: InDoubt = InDoubt::Fence;

    async fn compensate(&self, _: &StepContext, _: I, _: Forward<O>) -> Result<Undo, CompensationError> {
        Err(CompensationError::persistent(
            "command",
            "this step is a command, which leaves through the outbox",
        ))
    }

    fn undo_command(
        &self,
        of: &Transmission,
        input: &I,
        forward: &Forward<O>,
    ) -> Result<Option<Outgoing>, Problem> {
        let kept = |output: &O| {
            Json::encode(output).map(Recorded::Value).map_err(|error| Problem::new("result", error))
        };
        let known = match forward {
            Forward::Completed(output) => amends::ForwardOutcome::Completed(kept(output)?),
            Forward::Unrecorded(omitted) => {
                amends::ForwardOutcome::Completed(Recorded::Omitted(omitted.clone()))
            }
            Forward::Partial(output) => {
                amends::ForwardOutcome::Partial(output.as_ref().map(kept).transpose()?)
            }
            Forward::InDoubt => amends::ForwardOutcome::InDoubt,
        };
        self.outgoing(of, input, Some(&known))
    }
}

impl<I: Payload, O: Payload, R: Payload> Reconcile for CommandStep<I, O, R> {
    async fn reconcile(&self, cx: &StepContext, input: I) -> Result<Finding<O, R>, QueryError> {
        let found = self.ask(cx, Direction::Forward, &input).await?;
        Ok(match found {
            Found::Applied(Recorded::Value(output)) => decoded(&output, Finding::Applied),
            Found::Refused(Recorded::Value(refusal)) => decoded(&refusal, Finding::Refused),
            Found::Partial(output) => {
                let output = output.as_ref().and_then(Recorded::value);
                Finding::Partial(output.and_then(|output| output.decode().ok()))
            }
            Found::Fenced { through } => Finding::Fenced { through },
            Found::Absent => Finding::Absent,
            Found::InProgress => Finding::InProgress,
            Found::Unclear { report } => Finding::Unclear(report),
            Found::Applied(Recorded::Omitted(omitted)) | Found::Refused(Recorded::Omitted(omitted)) => {
                Finding::Unclear(format!("an answer that cannot be read: {}", omitted.reason))
            }
        })
    }
}

fn decoded<T: Payload, O, R>(json: &Json, into: fn(T) -> Finding<O, R>) -> Finding<O, R> {
    match json.decode() {
        Ok(value) => into(value),
        Err(error) => Finding::Unclear(format!("not a `{}`: {error}", T::schema())),
    }
}

impl<I: Payload, O: Payload, R: Payload> ReconcileCompensation for CommandStep<I, O, R> {
    async fn reconcile_compensation(&self, cx: &StepContext, input: I) -> Result<UndoFinding, QueryError> {
        let found = self.ask(cx, Direction::Compensation, &input).await?;
        Ok(match found {
            Found::Applied(Recorded::Value(word)) => match word.text() {
                "\"Undone\"" => UndoFinding::Undone,
                "\"NothingToUndo\"" => UndoFinding::NothingToUndo,
                other => UndoFinding::Unclear(format!("neither Undone nor NothingToUndo: {other}")),
            },
            Found::Fenced { through } => UndoFinding::Fenced { through },
            Found::Absent => UndoFinding::Absent,
            Found::InProgress => UndoFinding::InProgress,
            Found::Unclear { report } => UndoFinding::Unclear(report),
            other => UndoFinding::Unclear(format!("no answer to a compensation: {other:?}")),
        })
    }
}
