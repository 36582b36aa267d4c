//! The plan: a workflow's validated shape, as data. The machine reads it and never changes it.

pub mod branch;
pub mod digest;
pub mod draw;
pub mod graph;
pub mod lint;
pub mod policy;

use std::sync::Arc;
use std::time::Duration;

use crate::id::{BranchIx, StepIx};
pub use branch::{BranchPlan, Merge, Side};
pub use digest::PlanDigest;
pub use graph::{Graph, PlanError};
pub use lint::lint;
pub use policy::{Exhausted, QueryPolicy, RetryPolicy};

/// A named, versioned DAG of steps. Made by the authoring API, checked by [`SagaPlan::new`].
#[derive(Clone, Debug)]
pub struct SagaPlan {
    /// The workflow's name.
    pub workflow: Arc<str>,
    /// Its version: sagas finish on the version they began with.
    pub version: u32,
    /// What may not change under one version (see [`digest`]).
    pub digest: PlanDigest,
    /// The schema tag of the saga's input, for instance `order-placed/1`.
    pub input_schema: String,
    /// Where the saga's result comes from.
    pub result: Source,
    /// From the source event's own time; past it, a saga before its pivot turns back. Not in the digest.
    pub deadline: Option<Duration>,
    /// The steps, in the order of their declaration.
    pub steps: Vec<StepPlan>,
    /// The branches, in the order of their declaration.
    pub branches: Vec<BranchPlan>,
    /// Who waits for whom, computed from `steps`.
    pub graph: Graph,
    /// The point of no return, if there is one.
    pub pivot: Option<StepIx>,
}

/// One step of a plan.
#[derive(Clone, Debug)]
pub struct StepPlan {
    /// Unique within the plan; journals and request ids speak of it.
    pub name: Arc<str>,
    /// What the step may do, and where it may stand.
    pub kind: StepKind,
    /// The steps it waits for without needing their output (`.after(…)`); the pivot's barrier edges are
    /// added by [`SagaPlan::new`] and need not be here.
    pub after: Vec<StepIx>,
    /// Where its input comes from: these are edges too.
    pub input: Input,
    /// How the unknown outcome of its forward action is settled.
    pub settle: Settle,
    /// Its compensation, if it has one.
    pub undo: Option<UndoPlan>,
    /// What the participant promises.
    pub contract: Contract,
    /// The schema tags of what the step takes and gives.
    pub schemas: Schemas,
    /// The policy of its forward attempts.
    pub retry: RetryPolicy,
    /// The policy of its queries and repeats, forward and compensation.
    pub query: QueryPolicy,
    /// The policy of its compensation's attempts.
    pub compensation: RetryPolicy,
}

impl StepPlan {
    /// May its participant say no, finally? Not after the pivot, and not where the refusal's type has no value.
    pub fn may_refuse(&self) -> bool {
        self.kind != StepKind::Retriable && self.schemas.refusal != NO_REFUSAL
    }
}

/// The schema tag of a refusal that has no value.
const NO_REFUSAL: &str = "never";

/// What a step may do, and where it may stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepKind {
    /// Free of effects: its unknown is transient; it is never reconciled and never compensated.
    Read,
    /// Takes effect before the pivot and has a compensation.
    Compensated,
    /// The point of no return.
    Pivot,
    /// After the pivot: cannot refuse; is repeated within its budget, then waits for a person.
    Retriable,
}

impl StepKind {
    /// The word used in digests, pictures and views.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Compensated => "step",
            Self::Pivot => "pivot",
            Self::Retriable => "retriable",
        }
    }
}

/// How an unknown outcome is settled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Settle {
    /// There is nothing to settle: the step has no effect.
    NoEffect,
    /// A query by request id finds out.
    ByQuery,
    /// It is safe to call again with the same request id.
    ByRepeating,
    /// Only a person can find out.
    ByOperator,
}

impl Settle {
    /// The word used in digests, pictures and views.
    pub fn word(self) -> &'static str {
        match self {
            Self::NoEffect => "no effect",
            Self::ByQuery => "by query",
            Self::ByRepeating => "by repeating",
            Self::ByOperator => "by operator",
        }
    }
}

/// What a compensation declares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UndoPlan {
    /// How the compensation's own unknown is settled.
    pub settle: Settle,
    /// What to do when the saga has turned and the forward outcome stays unknown.
    pub in_doubt: InDoubt,
}

/// What to do when the saga has turned and a forward outcome stays unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum InDoubt {
    /// Wait for the outcome, if need be on the reconciliation desk.
    #[default]
    Wait,
    /// The participant keeps a barrier, so compensating a request that may still arrive is safe.
    Fence,
}

/// What the participant of a step promises. What is not stated is not assumed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Contract {
    /// `Absent` means "without effect" only this long after the latest possible transmission.
    pub settle_window: Option<Duration>,
    /// How long the participant remembers a request id, from the earliest possible first transmission.
    pub key_retention: Option<Duration>,
    /// The participant keeps its answers by request id, so a refusal speaks for every transmission.
    pub keeps_answers: bool,
    /// The dependency that permits, limits and breakers are counted by.
    pub dependency: Option<Arc<str>>,
}

/// The schema tags of a step's payloads.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schemas {
    /// Tag of the input.
    pub input: String,
    /// Tag of the output.
    pub output: String,
    /// Tag of the refusal.
    pub refusal: String,
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The saga's input.
    SagaInput,
    /// The output of a step.
    Step(StepIx),
    /// What a branch gives.
    Branch(BranchIx),
}

/// Where a step's input comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// Exactly these recorded values: the journal refers to them and stores nothing.
    Recorded(Vec<Source>),
    /// A function shapes it from these values: the shaped value is journalled with the first start.
    Shaped(Vec<Source>),
}

impl Input {
    /// The values it is made from.
    pub fn sources(&self) -> &[Source] {
        match self {
            Self::Recorded(sources) | Self::Shaped(sources) => sources,
        }
    }
}

impl Contract {
    /// A participant that promises nothing.
    pub fn unstated() -> Self {
        Self::default()
    }

    /// `Absent` means "without effect" once so much time has passed since the latest possible transmission.
    #[must_use]
    pub fn settle_window(mut self, window: Duration) -> Self {
        self.settle_window = Some(window);
        self
    }

    /// The participant remembers request ids for so long.
    #[must_use]
    pub fn key_retention(mut self, retention: Duration) -> Self {
        self.key_retention = Some(retention);
        self
    }

    /// The participant keeps its answers by request id.
    #[must_use]
    pub fn keeps_answers(mut self) -> Self {
        self.keeps_answers = true;
        self
    }

    /// The dependency that permits, limits and breakers are counted by.
    #[must_use]
    pub fn dependency(mut self, name: impl Into<Arc<str>>) -> Self {
        self.dependency = Some(name.into());
        self
    }
}

impl SagaPlan {
    /// Checks the steps, adds the pivot's barrier, computes graph and digest.
    ///
    /// # Errors
    /// All problems at once, each naming its step.
    pub fn new(
        workflow: impl Into<Arc<str>>,
        version: u32,
        input_schema: impl Into<String>,
        steps: Vec<StepPlan>,
        result: Source,
    ) -> Result<Self, Vec<PlanError>> {
        Self::branching(workflow, version, input_schema, steps, Vec::new(), result)
    }

    /// [`SagaPlan::new`] for a plan with branches.
    ///
    /// # Errors
    /// All problems at once, each naming its step or branch.
    pub fn branching(
        workflow: impl Into<Arc<str>>,
        version: u32,
        input_schema: impl Into<String>,
        steps: Vec<StepPlan>,
        branches: Vec<BranchPlan>,
        result: Source,
    ) -> Result<Self, Vec<PlanError>> {
        let graph = Graph::new(&steps, &branches, result)?;
        let pivot = steps.iter().position(|s| s.kind == StepKind::Pivot).map(StepIx);
        let mut plan = Self {
            workflow: workflow.into(),
            version,
            digest: PlanDigest([0; 32]),
            input_schema: input_schema.into(),
            result,
            deadline: None,
            steps,
            branches,
            graph,
            pivot,
        };
        plan.digest = PlanDigest::of(&plan);
        Ok(plan)
    }

    /// The step at `ix`.
    ///
    /// # Panics
    /// When `ix` is of another plan.
    pub fn step(&self, ix: StepIx) -> &StepPlan {
        &self.steps[ix.0]
    }

    /// The position of the step named `name`.
    pub fn find(&self, name: &str) -> Option<StepIx> {
        self.steps.iter().position(|s| *s.name == *name).map(StepIx)
    }

    /// The name of a source: of its step or branch, or `input`.
    pub fn source_name(&self, source: Source) -> &str {
        match source {
            Source::SagaInput => "input",
            Source::Step(step) => &self.step(step).name,
            Source::Branch(branch) => &self.branch(branch).name,
        }
    }

    /// All positions, in the order of declaration.
    pub fn indices(&self) -> impl DoubleEndedIterator<Item = StepIx> + ExactSizeIterator + use<> {
        (0..self.steps.len()).map(StepIx)
    }
}
