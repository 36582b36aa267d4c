//! The traits that workflow authors implement.

use std::future::Future;
use std::sync::Arc;

use amends_core::plan::{Contract, InDoubt, Settle};

use super::configured::Settings;
use super::context::StepContext;
use super::error::{CompensationError, Finding, Forward, QueryError, StepError, Undo, UndoFinding};
use super::node::BoxFuture;
use super::payload::{Never, Payload};

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

/// One of the three ways to settle an effect.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is declared free of effects, so it cannot be a step with an effect",
    label = "this step declares `type Settle = {Self}`",
    note = "use `.read(…)`, or declare `type Settle = ByQuery`, `ByRepeating` or `ByOperator`"
)]
pub trait AnEffect {
    #[doc(hidden)]
    const SETTLE: Settle;
}

impl AnEffect for ByQuery {
    const SETTLE: Settle = Settle::ByQuery;
}
impl AnEffect for ByRepeating {
    const SETTLE: Settle = Settle::ByRepeating;
}
impl AnEffect for ByOperator {
    const SETTLE: Settle = Settle::ByOperator;
}

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

/// The step implements what its `type Settle` needs.
#[diagnostic::on_unimplemented(
    message = "`{Self}` declares `type Settle = {How}` but does not implement what that needs",
    label = "after a lost answer nobody could find out what happened",
    note = "`ByQuery` needs `impl amends::Reconcile for {Self}`; if it is safe to call again with the same request id declare `ByRepeating`; otherwise `ByOperator`"
)]
pub trait SettlesBy<How>: Step + Sized {
    #[doc(hidden)]
    fn ask(self: Arc<Self>, cx: StepContext, input: Self::Input) -> BoxFuture<Asked<Self>> {
        let _ = (cx, input);
        Box::pin(std::future::ready(Err(QueryError::new("no-query", "the step declares no query"))))
    }
}

impl<S: Reconcile> SettlesBy<ByQuery> for S {
    fn ask(self: Arc<Self>, cx: StepContext, input: Self::Input) -> BoxFuture<Asked<Self>> {
        Box::pin(async move { self.reconcile(&cx, input).await })
    }
}
impl<S: Step> SettlesBy<NoEffect> for S {}
impl<S: Step> SettlesBy<ByRepeating> for S {}
impl<S: Step> SettlesBy<ByOperator> for S {}

/// The compensation implements what its `type UndoSettle` needs.
#[diagnostic::on_unimplemented(
    message = "`{Self}` declares `type UndoSettle = {How}` but does not implement what that needs",
    label = "after a lost answer nobody could find out whether the effect was undone",
    note = "`ByQuery` needs `impl amends::ReconcileCompensation for {Self}`; if it is safe to call again with the same request id declare `ByRepeating`; otherwise `ByOperator`"
)]
pub trait SettlesUndoBy<How>: Compensate + Sized {
    #[doc(hidden)]
    fn ask_undo(
        self: Arc<Self>,
        cx: StepContext,
        input: Self::Input,
    ) -> BoxFuture<Result<UndoFinding, QueryError>> {
        let _ = (cx, input);
        Box::pin(std::future::ready(Err(QueryError::new("no-query", "the compensation declares no query"))))
    }
}

impl<S: ReconcileCompensation> SettlesUndoBy<ByQuery> for S {
    fn ask_undo(
        self: Arc<Self>,
        cx: StepContext,
        input: Self::Input,
    ) -> BoxFuture<Result<UndoFinding, QueryError>> {
        Box::pin(async move { self.reconcile_compensation(&cx, input).await })
    }
}
impl<S: Compensate> SettlesUndoBy<ByRepeating> for S {}
impl<S: Compensate> SettlesUndoBy<ByOperator> for S {}

/// May a step of phase `P` refuse with this?
#[diagnostic::on_unimplemented(
    message = "after the pivot a step cannot refuse, but this one may answer `{Self}`",
    label = "there is no way back from here",
    note = "declare `type Refusal = Never` and handle the case inside the step, or move it before the pivot"
)]
pub trait AllowedIn<P> {}
impl<R> AllowedIn<super::builder::BeforePivot> for R {}
impl AllowedIn<super::builder::AfterPivot> for Never {}
