//! The phase-typed builder: wrong sagas do not compile, and the definition reads like the picture of the DAG.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use amends_core::StepIx;
use amends_core::plan::{
    BranchPlan, Input, PlanError, QueryPolicy, RetryPolicy, SagaPlan, Schemas, Settle, Side, Source,
    StepKind, StepPlan, UndoPlan,
};

use super::context::StepContext;
use super::erase::{Ask, Typed, Undoing};
use super::error::StepError;
use super::gives::Gives;
use super::handle::{Handle, Origin};
use super::labels::{Labeller, labeller};
use super::node::{Condition, Node};
use super::payload::{Never, Payload};
use super::saga::Saga;
use super::step::{AllowedIn, Compensate, NoEffect, NoEffectAtAll, Settles, SettlesUndo, Step, no_query};
use crate::ports::Label;

/// The phase before the point of no return.
#[derive(Clone, Copy, Debug)]
pub enum BeforePivot {}
/// The phase after the point of no return.
#[derive(Clone, Copy, Debug)]
pub enum AfterPivot {}

/// A phase in which the saga can still turn back.
#[diagnostic::on_unimplemented(
    message = "after the pivot nothing is undone, so a compensated step or a second pivot cannot stand here",
    label = "the saga is past its point of no return",
    note = "declare it before `.pivot(…)`, or make it `.retriable(…)` (it is repeated within its budget, then waits for a person)"
)]
pub trait CanTurnBack {}
impl CanTurnBack for BeforePivot {}

/// A phase behind the point of no return.
#[diagnostic::on_unimplemented(
    message = "a retriable step belongs after the pivot",
    label = "the saga can still turn back here",
    note = "before the pivot use `.step(…)`, so that it can be compensated"
)]
pub trait PastPivot {}
impl PastPivot for AfterPivot {}

/// What is wrong with a definition: the author's mistakes, all at once, by name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to define workflow `{workflow}`: {}", list(.problems))]
pub struct PlanErrors {
    /// The workflow.
    pub workflow: String,
    /// Every problem, as a sentence.
    pub problems: Vec<String>,
}

fn list(problems: &[String]) -> String {
    problems.join("; ")
}

static BUILDERS: AtomicU32 = AtomicU32::new(0);

/// Builds a workflow's definition, step by step, in the order of the picture.
#[must_use = "a builder does nothing until `finish`"]
pub struct SagaBuilder<I, P = BeforePivot> {
    id: u32,
    workflow: &'static str,
    version: u32,
    pub(super) declared: Declarations,
    /// The side of a branch that is being declared.
    pub(super) place: Option<Side>,
    deadline: Option<Duration>,
    defaults: Defaults,
    labels: Option<Labeller>,
    pub(super) problems: Vec<String>,
    of: PhantomData<fn(I) -> P>,
}

/// What was declared so far.
#[derive(Default)]
pub(super) struct Declarations {
    pub(super) steps: Vec<StepPlan>,
    nodes: Vec<Arc<dyn Node>>,
    timeouts: Vec<Option<Duration>>,
    pub(super) branches: Vec<BranchPlan>,
    pub(super) conditions: Vec<Condition>,
}

#[derive(Clone, Copy)]
struct Defaults {
    retry: &'static str,
    query: &'static str,
    compensation: &'static str,
}

impl<I> SagaBuilder<I> {
    /// Begins a workflow; the handle is the saga's input. The name is 1 to 100 of a-z, A-Z, 0-9, `-`, `_`, `.`.
    pub fn new(workflow: &'static str, version: u32) -> (Self, Handle<I>)
    where
        I: Payload,
    {
        let id = BUILDERS.fetch_add(1, Ordering::Relaxed);
        let builder = Self {
            id,
            workflow,
            version,
            declared: Declarations::default(),
            place: None,
            deadline: None,
            defaults: Defaults { retry: "default", query: "default", compensation: "default" },
            labels: None,
            problems: Vec::new(),
            of: PhantomData,
        };
        let origin = builder.origin(Source::SagaInput, "input");
        (builder, Handle::new(origin))
    }

    /// The saga's deadline, from the source event's own time: past it, a saga before its pivot turns back.
    /// None by default. Not part of the digest.
    pub fn deadline(mut self, after: Duration) -> Self {
        self.deadline = Some(after);
        self
    }

    /// What a saga of it is told apart by, beside its key: at most 8 short typed pairs, computed from the input when it is
    /// started and kept in its row. Not part of the digest: a change labels later sagas only. A label that cannot be
    /// kept is left out with a line in the log; none keeps a saga from being started.
    ///
    /// ```
    /// use amends::Label;
    /// use amends::prelude::*;
    ///
    /// let (s, customer) = SagaBuilder::<String>::new("greet", 1);
    /// let mut s = s.labels(|customer: &String| vec![Label::text("customer", customer).sensitive()]);
    /// let greeted = s.read_fn("greet", customer, |_, customer: String| async move { Ok(customer.len() as u64) });
    /// let saga = s.finish(greeted)?;
    /// # Ok::<(), amends::PlanErrors>(())
    /// ```
    pub fn labels(mut self, label: impl Fn(&I) -> Vec<Label> + Send + Sync + 'static) -> Self
    where
        I: Payload,
    {
        self.labels = Some(labeller(label));
        self
    }

    /// The named retry policy of steps that name none. `default` by default.
    pub fn retry_default(mut self, policy: &'static str) -> Self {
        self.defaults.retry = policy;
        self
    }

    /// The named query policy of steps that name none. `default` by default.
    pub fn query_default(mut self, policy: &'static str) -> Self {
        self.defaults.query = policy;
        self
    }

    /// The named retry policy of compensations whose steps name none. `default` by default.
    pub fn compensation_default(mut self, policy: &'static str) -> Self {
        self.defaults.compensation = policy;
        self
    }
}

impl<I: Payload, P> SagaBuilder<I, P> {
    /// A step with an effect and a compensation.
    pub fn step<S, H>(&mut self, name: &'static str, step: S, input: H) -> Handle<S::Output>
    where
        P: CanTurnBack,
        S: Compensate,
        S::Settle: Settles<S>,
        S::UndoSettle: SettlesUndo<S>,
        H: Gives<S::Input>,
    {
        let declared = Declared {
            undo: Some(UndoPlan { settle: S::UndoSettle::SETTLE, in_doubt: S::IN_DOUBT }),
            undoing: Some(Undoing::new()),
            ..Declared::effect(StepKind::Compensated)
        };
        self.add(name, step, input, declared)
    }

    /// A step without any effect.
    pub fn read<S, H>(&mut self, name: &'static str, step: S, input: H) -> Handle<S::Output>
    where
        S: Step,
        S::Settle: NoEffectAtAll,
        S::Refusal: AllowedIn<P>,
        H: Gives<S::Input>,
    {
        self.add(name, step, input, Declared::read())
    }

    /// A read as a closure. It cannot refuse.
    pub fn read_fn<A, T, H, F, Fut>(&mut self, name: &'static str, input: H, f: F) -> Handle<T>
    where
        A: Payload,
        T: Payload,
        H: Gives<A>,
        F: Fn(StepContext, A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, StepError<Never>>> + Send + 'static,
    {
        self.add(name, ReadFn { f, of: PhantomData }, input, Declared::read())
    }

    /// The point of no return. It waits for every step declared before it; every step declared after it waits
    /// for it.
    pub fn pivot<S, H>(
        mut self,
        name: &'static str,
        step: S,
        input: H,
    ) -> (Handle<S::Output>, SagaBuilder<I, AfterPivot>)
    where
        P: CanTurnBack,
        S: Step,
        S::Settle: Settles<S>,
        H: Gives<S::Input>,
    {
        let handle = self.add(name, step, input, Declared::effect(StepKind::Pivot));
        let Self { id, workflow, version, declared, place, deadline, defaults, labels, problems, of: _ } =
            self;
        let of = PhantomData;
        let after =
            SagaBuilder { id, workflow, version, declared, place, deadline, defaults, labels, problems, of };
        (handle, after)
    }

    /// A step after the pivot: it cannot refuse. It is repeated within its budget, then waits for a person.
    pub fn retriable<S, H>(&mut self, name: &'static str, step: S, input: H) -> Handle<S::Output>
    where
        P: PastPivot,
        S: Step,
        S::Settle: Settles<S>,
        S::Refusal: AllowedIn<AfterPivot>,
        H: Gives<S::Input>,
    {
        self.add(name, step, input, Declared::effect(StepKind::Retriable))
    }

    /// Checks the definition and computes its digest. `result` is what the saga gives.
    ///
    /// # Errors
    /// All problems at once, by name: duplicate names, foreign handles and those that leak out of a branch, an
    /// empty saga or side, bad names.
    pub fn finish<T: Payload>(self, result: Handle<T>) -> Result<Saga<I, T>, PlanErrors> {
        let mut problems = self.problems;
        let (workflow, version, schema) = (self.workflow, self.version, I::schema());
        if !good_workflow(workflow) {
            let rule = "use 1 to 100 of a-z, A-Z, 0-9, `-`, `_` and `.`";
            problems.push(format!("`{workflow}` is not a workflow name: {rule}"));
        }
        let mut source = result.origin.source;
        if result.origin.builder != self.id {
            problems.push(foreign("the result", result.origin));
            // A place in another plan: it must not be looked up in this one.
            source = Source::SagaInput;
        }
        let Declarations { steps, nodes, timeouts, branches, conditions } = self.declared;
        let planned = SagaPlan::branching(workflow, version, schema, steps, branches, source);
        let plan = match planned {
            Ok(plan) if problems.is_empty() => SagaPlan { deadline: self.deadline, ..plan },
            Ok(_) => return Err(PlanErrors { workflow: workflow.into(), problems }),
            Err(errors) => {
                problems.extend(errors.iter().map(PlanError::to_string));
                return Err(PlanErrors { workflow: workflow.into(), problems });
            }
        };
        Ok(Saga::new(plan, nodes, conditions, timeouts, self.labels))
    }

    pub(super) fn origin(&self, source: Source, name: &'static str) -> Origin {
        Origin { builder: self.id, source, name, workflow: self.workflow, version: self.version }
    }

    fn add<S, H>(&mut self, name: &'static str, step: S, input: H, declared: Declared<S>) -> Handle<S::Output>
    where
        S: Step,
        H: Gives<S::Input>,
    {
        let ix = StepIx(self.declared.steps.len());
        let user = format!("`{name}`");
        let sources = self.own(&user, |to| input.sources(to));
        let after = self.waits(&user, |to| input.waits(to));
        let settings = step.settings();
        self.declared.timeouts.push(settings.timeout);
        self.stand(ix);
        let named = |own: Option<&str>, default: &str| own.unwrap_or(default).to_owned();
        let retry = named(settings.retry, self.defaults.retry);
        let query = named(settings.query, self.defaults.query);
        let compensation = named(settings.compensation, self.defaults.compensation);
        self.declared.steps.push(StepPlan {
            name: name.into(),
            kind: declared.kind,
            after,
            input: if input.is_recorded() { Input::Recorded(sources) } else { Input::Shaped(sources) },
            settle: declared.settle,
            undo: declared.undo,
            contract: step.contract(),
            schemas: Schemas {
                input: S::Input::schema(),
                output: S::Output::schema(),
                refusal: S::Refusal::schema(),
            },
            retry: RetryPolicy { name: retry, ..RetryPolicy::default() },
            query: QueryPolicy { name: query, ..QueryPolicy::default() },
            compensation: RetryPolicy { name: compensation, ..RetryPolicy::default() },
        });
        let Declared { ask, undoing, .. } = declared;
        let typed = Typed { step: Arc::new(step), input: Box::new(input), ask, undo: undoing };
        self.declared.nodes.push(Arc::new(typed));
        Handle::new(self.origin(Source::Step(ix), name))
    }

    /// The sources of handles that belong to this builder; the others are problems.
    pub(super) fn own(&mut self, user: &str, collect: impl FnOnce(&mut Vec<Origin>)) -> Vec<Source> {
        let mut origins = Vec::new();
        collect(&mut origins);
        let (own, others): (Vec<_>, Vec<_>) = origins.into_iter().partition(|o| o.builder == self.id);
        self.problems.extend(others.into_iter().map(|origin| foreign(user, origin)));
        own.into_iter().map(|origin| origin.source).collect()
    }
}

fn good_workflow(name: &str) -> bool {
    (1..=100).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn foreign(user: &str, origin: Origin) -> String {
    format!(
        "{user} uses the handle `{}` of another builder (workflow `{}` version {}): use a handle that this \
         builder returned",
        origin.name, origin.workflow, origin.version
    )
}

/// What the method that adds a step knows of it.
struct Declared<S: Step> {
    kind: StepKind,
    settle: Settle,
    undo: Option<UndoPlan>,
    ask: Ask<S>,
    undoing: Option<Undoing<S>>,
}

impl<S: Step> Declared<S> {
    fn read() -> Self {
        let (kind, settle) = (StepKind::Read, Settle::NoEffect);
        Self { kind, settle, undo: None, ask: no_query::<S>, undoing: None }
    }

    fn effect(kind: StepKind) -> Self
    where
        S::Settle: Settles<S>,
    {
        Self { kind, settle: S::Settle::SETTLE, undo: None, ask: S::Settle::ask, undoing: None }
    }
}

struct ReadFn<A, T, F> {
    f: F,
    of: PhantomData<fn(A) -> T>,
}

impl<A, T, F, Fut> Step for ReadFn<A, T, F>
where
    A: Payload,
    T: Payload,
    F: Fn(StepContext, A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, StepError<Never>>> + Send + 'static,
{
    type Input = A;
    type Output = T;
    type Refusal = Never;
    type Settle = NoEffect;

    async fn run(&self, cx: &StepContext, input: A) -> Result<T, StepError<Never>> {
        (self.f)(cx.clone(), input).await
    }
}
