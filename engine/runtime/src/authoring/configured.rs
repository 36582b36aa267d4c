//! Settings of the place where a step is used.

use std::time::Duration;

use amends_core::plan::{Contract, InDoubt};

use super::command::{Outgoing, Transmission};
use super::context::StepContext;
use super::error::{CompensationError, Finding, Forward, Problem, QueryError, StepError, Undo, UndoFinding};
use super::precondition::{Precondition, Preview};
use super::step::{Compensate, Reconcile, ReconcileCompensation, Step};

/// What can be set where a step is used. Policy *names* are part of the digest, numbers are not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// How long one forward attempt may take; by default the retry policy's.
    pub timeout: Option<Duration>,
    /// The retry policy of the forward attempts.
    pub retry: Option<&'static str>,
    /// The policy of queries and repeats.
    pub query: Option<&'static str>,
    /// The retry policy of the compensation.
    pub compensation: Option<&'static str>,
}

/// A step with settings: keeps every promise of the step inside.
#[derive(Clone, Debug)]
pub struct Configured<S> {
    step: S,
    settings: Settings,
}

/// Settings for any step: `ShipParcel::new(p).timeout(minutes(2)).retry("carrier")`.
pub trait Configure: Step + Sized {
    /// How long one forward attempt may take, from sending.
    fn timeout(self, timeout: Duration) -> Configured<Self> {
        configured(self, |settings| settings.timeout = Some(timeout))
    }

    /// The named retry policy of the forward attempts.
    fn retry(self, policy: &'static str) -> Configured<Self> {
        configured(self, |settings| settings.retry = Some(policy))
    }

    /// The named policy of queries and repeats.
    fn query(self, policy: &'static str) -> Configured<Self> {
        configured(self, |settings| settings.query = Some(policy))
    }

    /// The named retry policy of the compensation.
    fn compensation(self, policy: &'static str) -> Configured<Self> {
        configured(self, |settings| settings.compensation = Some(policy))
    }
}

impl<S: Step> Configure for S {}

fn configured<S: Step>(step: S, set: impl FnOnce(&mut Settings)) -> Configured<S> {
    let mut settings = step.settings();
    set(&mut settings);
    Configured { step, settings }
}

impl<S: Step> Step for Configured<S> {
    type Input = S::Input;
    type Output = S::Output;
    type Refusal = S::Refusal;
    type Settle = S::Settle;

    fn contract(&self) -> Contract {
        self.step.contract()
    }

    async fn run(&self, cx: &StepContext, input: S::Input) -> Result<S::Output, StepError<S::Refusal>> {
        self.step.run(cx, input).await
    }

    fn command(&self, of: &Transmission, input: &S::Input) -> Result<Option<Outgoing>, Problem> {
        self.step.command(of, input)
    }

    fn settings(&self) -> Settings {
        self.settings.clone()
    }
}

impl<S: Compensate> Compensate for Configured<S> {
    type UndoSettle = S::UndoSettle;

    const IN_DOUBT: InDoubt = S::IN_DOUBT;

    async fn compensate(
        &self,
        cx: &StepContext,
        input: S::Input,
        forward: Forward<S::Output>,
    ) -> Result<Undo, CompensationError> {
        self.step.compensate(cx, input, forward).await
    }

    fn undo_command(
        &self,
        of: &Transmission,
        input: &S::Input,
        forward: &Forward<S::Output>,
    ) -> Result<Option<Outgoing>, Problem> {
        self.step.undo_command(of, input, forward)
    }

    fn expected(&self, forward: &Forward<S::Output>) -> Option<Precondition> {
        self.step.expected(forward)
    }

    async fn dry_run(
        &self,
        cx: &StepContext,
        input: S::Input,
        forward: Forward<S::Output>,
    ) -> Result<Preview, QueryError> {
        self.step.dry_run(cx, input, forward).await
    }
}

impl<S: Reconcile> Reconcile for Configured<S> {
    async fn reconcile(
        &self,
        cx: &StepContext,
        input: S::Input,
    ) -> Result<Finding<S::Output, S::Refusal>, QueryError> {
        self.step.reconcile(cx, input).await
    }
}

impl<S: ReconcileCompensation> ReconcileCompensation for Configured<S> {
    async fn reconcile_compensation(
        &self,
        cx: &StepContext,
        input: S::Input,
    ) -> Result<UndoFinding, QueryError> {
        self.step.reconcile_compensation(cx, input).await
    }
}

/// So many whole seconds.
pub const fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// So many whole minutes.
pub const fn minutes(n: u64) -> Duration {
    Duration::from_secs(n * 60)
}

/// So many whole hours.
pub const fn hours(n: u64) -> Duration {
    Duration::from_secs(n * 3_600)
}
