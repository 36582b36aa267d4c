//! The traits that workflow authors implement.

use std::future::Future;
use std::sync::Arc;

use amends_core::plan::{Contract, InDoubt, Settle};

use super::command::{Outgoing, Transmission};
use super::configured::Settings;
use super::context::StepContext;
use super::error::{CompensationError, Finding, Forward, Problem, QueryError, StepError, Undo, UndoFinding};
use super::node::BoxFuture;
use super::payload::{Never, Payload};
use super::precondition::{Precondition, Preview};

/// One step of a workflow.
///
/// `run` is called once per attempt, possibly again after a crash, always under the same
/// [`StepContext::request_id`]. Its input is a recorded fact: every attempt, query and compensation gets the
/// same value.
pub trait Step: Send + Sync + 'static {
    /// What it needs.
    type Input: Payload;
    /// What it gives.
    type Output: Payload;
    /// The ways the participant may definitively say no; [`Never`] if it cannot.
    type Refusal: Payload;
    /// How an unknown outcome is settled: [`ByQuery`], [`ByRepeating`] or [`ByOperator`]; [`NoEffect`] for a
    /// read.
    type Settle;

    /// What the participant promises. What is not stated is not assumed.
    fn contract(&self) -> Contract {
        Contract::default()
    }

    /// One attempt.
    fn run(
        &self,
        cx: &StepContext,
        input: Self::Input,
    ) -> impl Future<Output = Result<Self::Output, StepError<Self::Refusal>>> + Send;

    /// The message that an attempt is, for a step whose participant is reached through a broker: for adapters. None, the
    /// default: an attempt is a call of [`Self::run`].
    ///
    /// A pure function: it is asked when the attempt is written down, and what it gives is written in the same
    /// commit. A step that gives a message is never `run`.
    ///
    /// # Errors
    /// When there can be no message, or it is too large: the step is quarantined, and nothing was sent.
    fn command(&self, of: &Transmission, input: &Self::Input) -> Result<Option<Outgoing>, Problem> {
        let _ = (of, input);
        Ok(None)
    }

    /// The settings of the place where the step is used; set them with [`super::Configure`].
    #[doc(hidden)]
    fn settings(&self) -> Settings {
        Settings::default()
    }
}

/// A step whose effect can be undone.
#[diagnostic::on_unimplemented(
    message = "`{Self}` takes effect before the pivot but has no compensation",
    label = "this step could not be undone when a later one is refused",
    note = "implement `amends::Compensate` for `{Self}`; if it cannot be undone it is the pivot (`.pivot(…)`); if it has no effect use `.read(…)`"
)]
pub trait Compensate: Step {
    /// How the compensation's own unknown outcome is settled: [`ByQuery`], [`ByRepeating`] or [`ByOperator`].
    type UndoSettle;

    /// What to do when the saga has turned and the forward outcome stays unknown. [`InDoubt::Fence`] is for
    /// participants that keep a barrier.
    const IN_DOUBT: InDoubt = InDoubt::Wait;

    /// Undoes the effect, as a new business action under a request id of its own.
    fn compensate(
        &self,
        cx: &StepContext,
        input: Self::Input,
        forward: Forward<Self::Output>,
    ) -> impl Future<Output = Result<Undo, CompensationError>> + Send;

    /// The message that an attempt of the compensation is, as [`Step::command`] is for the forward action.
    ///
    /// # Errors
    /// When there can be no message: the compensation is quarantined, and nothing was sent.
    fn undo_command(
        &self,
        of: &Transmission,
        input: &Self::Input,
        forward: &Forward<Self::Output>,
    ) -> Result<Option<Outgoing>, Problem> {
        let _ = (of, input, forward);
        Ok(None)
    }

    /// The state and version that the compensation expects its participant to be in: none by default, and then
    /// nothing is compared.
    ///
    /// A pure function. It is asked once, before the first attempt of the compensation, and what it says is
    /// journalled with that start; every attempt and query reads it as [`StepContext::expected`]. Where a person's
    /// request says what it expects, that stands instead. Only the participant knows its present state, so the
    /// comparison belongs into `compensate`, in the participant's own transaction:
    /// [`StepContext::check_expected`]. What moved goes to the approval desk as *stale*; once a person has
    /// approved it, it starts with the state that was found as its expectation.
    ///
    /// A panic quarantines the compensation; nothing was sent.
    fn expected(&self, forward: &Forward<Self::Output>) -> Option<Precondition> {
        let _ = forward;
        None
    }

    /// What the compensation would do, without doing it: the evidence for a person who considers one
    /// (`Engine::dry_run`). It must have no effect, and gets the time of one query.
    ///
    /// By default a failure with the code `no-dry-run`.
    fn dry_run(
        &self,
        cx: &StepContext,
        input: Self::Input,
        forward: Forward<Self::Output>,
    ) -> impl Future<Output = Result<Preview, QueryError>> + Send {
        let _ = (cx, input, forward);
        std::future::ready(Err(QueryError::new("no-dry-run", "the step declares no dry run")))
    }
}

/// A step whose outcome can be asked for by request id.
#[diagnostic::on_unimplemented(
    message = "`{Self}` promises `type Settle = ByQuery` but has no query",
    label = "after a lost answer nobody could find out what happened",
    note = "implement `amends::Reconcile` for `{Self}`, or declare `ByRepeating` (safe to call again with the same request id) or `ByOperator`"
)]
pub trait Reconcile: Step {
    /// Asks what became of [`StepContext::request_id`]. [`StepContext::fence_through`] says when the engine
    /// asks it to fence.
    fn reconcile(
        &self,
        cx: &StepContext,
        input: Self::Input,
    ) -> impl Future<Output = Result<Finding<Self::Output, Self::Refusal>, QueryError>> + Send;
}

/// A compensation whose outcome can be asked for by request id.
#[diagnostic::on_unimplemented(
    message = "`{Self}` promises `type UndoSettle = ByQuery` but its compensation has no query",
    label = "after a lost answer nobody could find out whether the effect was undone",
    note = "implement `amends::ReconcileCompensation` for `{Self}`, or declare `ByRepeating` (safe to call again with the same request id) or `ByOperator`"
)]
pub trait ReconcileCompensation: Compensate {
    /// Asks what became of the compensation with [`StepContext::request_id`].
    fn reconcile_compensation(
        &self,
        cx: &StepContext,
        input: Self::Input,
    ) -> impl Future<Output = Result<UndoFinding, QueryError>> + Send;
}

/// `type Settle = NoEffect`: a read.
#[derive(Clone, Copy, Debug)]
pub enum NoEffect {}
/// `type Settle = ByQuery`: a query by request id finds out.
#[derive(Clone, Copy, Debug)]
pub enum ByQuery {}
/// `type Settle = ByRepeating`: it is safe to call again with the same request id.
#[derive(Clone, Copy, Debug)]
pub enum ByRepeating {}
/// `type Settle = ByOperator`: only a person can find out.
#[derive(Clone, Copy, Debug)]
pub enum ByOperator {}

/// No effect at all.
#[diagnostic::on_unimplemented(
    message = "a read must be free of effects, but this one declares `type Settle = {Self}`",
    label = "this step has an effect",
    note = "use `.step(…)`, or declare `type Settle = NoEffect`"
)]
pub trait NoEffectAtAll {}
impl NoEffectAtAll for NoEffect {}

/// The answer of an erased query.
pub(crate) type Asked<S> = Result<Finding<<S as Step>::Output, <S as Step>::Refusal>, QueryError>;

/// A way to settle the unknown outcome of the effect of the step `S`.
///
/// A property of the word, not of the step: only so does the compiler say that a step has no compensation
/// before it asks how that compensation settles.
#[diagnostic::on_unimplemented(
    message = "`type Settle = {Self}` does not say how an unknown outcome of this effect is settled",
    label = "this step stands where steps have effects",
    note = "declare `type Settle = ByQuery`, `ByRepeating` or `ByOperator`; a step that is free of effects (`NoEffect`) belongs in `.read(…)`"
)]
pub trait Settles<S: Step> {
    #[doc(hidden)]
    const SETTLE: Settle;

    #[doc(hidden)]
    fn ask(step: Arc<S>, cx: StepContext, input: S::Input) -> BoxFuture<Asked<S>> {
        no_query(step, cx, input)
    }
}

impl<S: Reconcile> Settles<S> for ByQuery {
    const SETTLE: Settle = Settle::ByQuery;

    fn ask(step: Arc<S>, cx: StepContext, input: S::Input) -> BoxFuture<Asked<S>> {
        Box::pin(async move { step.reconcile(&cx, input).await })
    }
}
impl<S: Step> Settles<S> for ByRepeating {
    const SETTLE: Settle = Settle::ByRepeating;
}
impl<S: Step> Settles<S> for ByOperator {
    const SETTLE: Settle = Settle::ByOperator;
}

/// The query of a step that declares none.
pub(crate) fn no_query<S: Step>(_: Arc<S>, _: StepContext, _: S::Input) -> BoxFuture<Asked<S>> {
    Box::pin(std::future::ready(Err(QueryError::new("no-query", "the step declares no query"))))
}

/// A way to settle the unknown outcome of the compensation of the step `S`.
#[diagnostic::on_unimplemented(
    message = "`type UndoSettle = {Self}` does not say how an unknown outcome of the compensation is settled",
    label = "the compensation of this step has an effect too",
    note = "declare `type UndoSettle = ByQuery`, `ByRepeating` or `ByOperator`"
)]
pub trait SettlesUndo<S: Step> {
    #[doc(hidden)]
    const SETTLE: Settle;

    #[doc(hidden)]
    fn ask_undo(
        step: Arc<S>,
        cx: StepContext,
        input: S::Input,
    ) -> BoxFuture<Result<UndoFinding, QueryError>> {
        let _ = (step, cx, input);
        Box::pin(std::future::ready(Err(QueryError::new("no-query", "the compensation declares no query"))))
    }
}

impl<S: ReconcileCompensation> SettlesUndo<S> for ByQuery {
    const SETTLE: Settle = Settle::ByQuery;

    fn ask_undo(
        step: Arc<S>,
        cx: StepContext,
        input: S::Input,
    ) -> BoxFuture<Result<UndoFinding, QueryError>> {
        Box::pin(async move { step.reconcile_compensation(&cx, input).await })
    }
}
impl<S: Step> SettlesUndo<S> for ByRepeating {
    const SETTLE: Settle = Settle::ByRepeating;
}
impl<S: Step> SettlesUndo<S> for ByOperator {
    const SETTLE: Settle = Settle::ByOperator;
}

/// May a step of phase `P` refuse with this?
#[diagnostic::on_unimplemented(
    message = "after the pivot a step cannot refuse, but this one may answer `{Self}`",
    label = "there is no way back from here",
    note = "declare `type Refusal = Never` and handle the case inside the step, or move it before the pivot"
)]
pub trait AllowedIn<P> {}
impl<R> AllowedIn<super::builder::BeforePivot> for R {}
impl AllowedIn<super::builder::AfterPivot> for Never {}
