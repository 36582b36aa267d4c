//! Steps whose participant is reached over NATS: an attempt is a command, an unknown outcome is asked for by a query.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use amends::core::Json;
use amends::core::event::Finding as Found;
use amends::prelude::*;
use amends::{ForwardOutcome, Outgoing, Transmission};

use crate::connection::Connection;
use crate::wire::{self, PREFIX_MAX, is_name};

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
        let contract =
            Contract { keeps_answers: true, dependency: Some(service.into()), ..Contract::default() };
        Ok(CommandStep { operation: self.operation(service, operation)?, contract, of: PhantomData })
    }

    /// What [`Self::step`] stands on: the messages of `operation` at `service`, for steps of one's own that shape what
    /// the service is asked for.
    ///
    /// # Errors
    /// When a name is no token of a subject.
    pub fn operation(&self, service: &str, operation: &str) -> Result<Operation, NameError> {
        let (service, operation) = (named(service)?, named(operation)?);
        let subject = |kind| format!("{}.{kind}.{service}.{operation}", self.prefix).into();
        Ok(Operation {
            connection: self.connection.clone(),
            command: subject("command"),
            query: subject("query"),
            reply_to: self.reply_to.clone(),
        })
    }
}

impl fmt::Debug for Commands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Commands({}, replies to {})", self.prefix, self.reply_to)
    }
}

/// An operation of a service: the messages that ask for it, and about it. Cheap to clone.
#[derive(Clone)]
pub struct Operation {
    connection: Connection,
    command: Arc<str>,
    query: Arc<str>,
    reply_to: Arc<str>,
}

impl Operation {
    /// The message that an attempt is: what a step gives in [`Step::command`], and in [`Compensate::undo_command`] with
    /// what is known of the forward action ([`Forward::outcome`]).
    ///
    /// # Errors
    /// When the input has no digest: a number in it that not every reader reads alike, for instance.
    pub fn command(
        &self,
        of: &Transmission,
        input: &Json,
        forward: Option<&ForwardOutcome>,
    ) -> Result<Outgoing, Problem> {
        let message = wire::command(self.command.clone(), &self.reply_to, of, input, forward);
        message.map_err(|reason| Problem::new("input", reason))
    }

    /// Asks what became of the request of `cx`, forward or compensating, which was sent with this input. Read the answer
    /// with [`Finding::read`] or [`UndoFinding::read`].
    ///
    /// # Errors
    /// When there is no answer, with the code `no-responders`, `timeout` or `nats`.
    pub async fn query(&self, cx: &StepContext, input: &Json) -> Result<Found, QueryError> {
        let (headers, body) = wire::query(cx, input).map_err(|reason| QueryError::new("input", reason))?;
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

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operation({})", self.command)
    }
}

/// A step whose attempts are commands. It settles by query, in both directions, and its participant keeps a barrier: see
/// [`Commands::step`].
pub struct CommandStep<I, O, R> {
    operation: Operation,
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

    async fn ask<T: Payload>(&self, cx: &StepContext, input: &T) -> Result<Found, QueryError> {
        let input = Json::encode(input).map_err(|error| QueryError::new("input", error))?;
        self.operation.query(cx, &input).await
    }
}

impl<I: Payload, O, R> CommandStep<I, O, R> {
    fn outgoing(
        &self,
        of: &Transmission,
        input: &I,
        forward: Option<&ForwardOutcome>,
    ) -> Result<Option<Outgoing>, Problem> {
        let input = Json::encode(input).map_err(|error| Problem::new("input", error))?;
        self.operation.command(of, &input, forward).map(Some)
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
        self.outgoing(of, input, Some(&forward.outcome()?))
    }
}

impl<I: Payload, O: Payload, R: Payload> Reconcile for CommandStep<I, O, R> {
    async fn reconcile(&self, cx: &StepContext, input: I) -> Result<Finding<O, R>, QueryError> {
        self.ask(cx, &input).await.map(Finding::read)
    }
}

impl<I: Payload, O: Payload, R: Payload> ReconcileCompensation for CommandStep<I, O, R> {
    async fn reconcile_compensation(&self, cx: &StepContext, input: I) -> Result<UndoFinding, QueryError> {
        self.ask(cx, &input).await.map(UndoFinding::read)
    }
}
