//! Steps with their types erased: what the worker sees of a definition.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;

use amends_core::event::{Failure, Finding, Recorded};
use amends_core::machine::Attempted;
use amends_core::plan::Source;
use amends_core::state::Given;
use amends_core::{Json, SagaPlan, SagaState};

use super::{Gives, Labeller, Outgoing, Preview, StepContext, Transmission};

/// One boxed future per attempt erases the rest.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send + 'static>>;

/// A workflow, ready to be registered: its plan, and one node per step in the plan's order.
#[derive(Clone)]
pub struct Definition {
    /// The shape.
    pub plan: Arc<SagaPlan>,
    /// The code.
    pub nodes: Arc<[Arc<dyn Node>]>,
    /// The conditions of its branches, in the plan's order.
    pub conditions: Arc<[Condition]>,
    /// What it says of an input, for people and lists. Not part of the shape.
    pub labels: Option<Labeller>,
}

/// The condition of a branch.
pub type Condition = Arc<dyn Gives<bool>>;

/// Does the condition hold? The author's functions are pure, but may panic: nothing was sent then.
///
/// # Errors
/// When a value is missing, was omitted or does not decode, or a function of the author panicked.
pub(crate) fn evaluate(condition: &Condition, values: Values<'_>) -> Result<bool, InputProblem> {
    caught("it", || condition.gather(values))
}

/// What pure functions of an author give; a panic in one is a problem of the input.
pub(crate) fn caught<T>(
    what: &str,
    gather: impl FnOnce() -> Result<T, InputProblem>,
) -> Result<T, InputProblem> {
    catch_unwind(AssertUnwindSafe(gather)).unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<&str>().map(|words| (*words).to_owned());
        let words = words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(InputProblem { reason: format!("{what} panicked: {words}") })
    })
}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SagaPlan { workflow, version, digest, .. } = &*self.plan;
        write!(f, "Definition({workflow} version {version}, digest {digest})")
    }
}

/// A step's input, built and typed, with the text that has to be journalled if a function shaped it.
pub struct Prepared {
    /// The typed input.
    pub value: Box<dyn Any + Send>,
    /// The shaped value as JSON, when a function shaped it just now.
    pub shaped: Option<Json>,
}

/// Why an input cannot be built: nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("build the step's input: {reason}")]
pub struct InputProblem {
    /// For the desk, naming the place.
    pub reason: String,
}

/// What a saga has recorded so far, for building inputs.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    /// The shape.
    pub plan: &'a SagaPlan,
    /// The state.
    pub state: &'a SagaState,
}

impl<'a> Values<'a> {
    /// The recorded value of `source`.
    ///
    /// # Errors
    /// When it is not there, or was omitted, or a branch is not decided.
    pub fn of(&self, source: Source) -> Result<Given<'a>, InputProblem> {
        self.state.given(self.plan, source).map_err(|missing| InputProblem { reason: missing.to_string() })
    }
}

/// What a compensation is told of its forward action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForwardOutcome {
    /// It succeeded with this result, or with one that could not be recorded.
    Completed(Recorded),
    /// It took effect in part.
    Partial(Option<Recorded>),
    /// Nobody knows.
    InDoubt,
}

/// One step with its types erased. Panics and timeouts are the worker's concern.
pub trait Node: Send + Sync + 'static {
    /// Builds the step's input: from the journalled shaped value if there is one, else from recorded values.
    ///
    /// # Errors
    /// When a value is missing, was omitted or does not decode, or a function of the author panicked.
    fn prepare(&self, values: Values<'_>, shaped: Option<&Json>) -> Result<Prepared, InputProblem>;

    /// The message that an attempt is, if it is one: of the forward action, or of the compensation where `forward` says
    /// what became of that. None: the attempt is a call of [`Self::run`] or [`Self::compensate`].
    ///
    /// # Errors
    /// When there can be no message, or the author's function panicked: nothing was sent.
    fn command(
        &self,
        of: &Transmission,
        input: &Prepared,
        forward: Option<ForwardOutcome>,
    ) -> Result<Option<Outgoing>, InputProblem> {
        let _ = (of, input, forward);
        Ok(None)
    }

    /// One attempt of the forward action.
    fn run(&self, cx: StepContext, input: Prepared) -> BoxFuture<Attempted>;

    /// One attempt of the compensation. Only for steps whose plan has one.
    fn compensate(&self, cx: StepContext, input: Prepared, forward: ForwardOutcome) -> BoxFuture<Attempted>;

    /// The state and version that the compensation expects to find, as it is to be journalled.
    ///
    /// # Errors
    /// When the author's function panicked, or what it says cannot be kept.
    fn expected(&self, forward: ForwardOutcome) -> Result<Option<Json>, InputProblem>;

    /// What the compensation would do, without doing it. Only for steps whose plan has one.
    fn dry_run(
        &self,
        cx: StepContext,
        input: Prepared,
        forward: ForwardOutcome,
    ) -> BoxFuture<Result<Preview, Failure>>;

    /// One query for the forward action. Only for steps that settle by query.
    fn reconcile(&self, cx: StepContext, input: Prepared) -> BoxFuture<Result<Finding, Failure>>;

    /// One query for the compensation. Only for compensations that settle by query.
    fn reconcile_compensation(&self, cx: StepContext, input: Prepared)
    -> BoxFuture<Result<Finding, Failure>>;

    /// Does `output` decode as the step's output? The answer names the place.
    ///
    /// # Errors
    /// When it does not.
    fn check_output(&self, output: &Json) -> Result<(), String>;
}
