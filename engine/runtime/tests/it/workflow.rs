//! Workflows whose steps are closures, and an engine to run them.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use amends::authoring::{
    BoxFuture, Definition, ForwardOutcome, InputProblem, Node, Prepared, Preview, StepContext, Values,
};
use amends::core::event::{Failure, FailureKind, Finding, Recorded};
use amends::core::machine::{Attempted, Operation};
use amends::core::plan::{
    Contract, Exhausted, Input, QueryPolicy, RetryPolicy, Schemas, Settle, Source, StepKind, StepPlan,
    UndoPlan,
};
use amends::core::{Json, OperationId, SagaPlan, StepIx, Timestamp};
use amends::engine::Limits;
use amends::memory::MemoryStore;
use amends::ports::{RandomIds, Store, SystemClock};
use amends::{Engine, EngineBuilder, SagaHandle, StartOptions};

type Attempt = Arc<dyn Fn(StepContext) -> BoxFuture<Attempted> + Send + Sync>;
type Query = Arc<dyn Fn(StepContext) -> BoxFuture<Result<Finding, Failure>> + Send + Sync>;
type Check = Arc<dyn Fn(Values<'_>) -> Result<(), InputProblem> + Send + Sync>;

/// What every step did, in order: `a`, `undo a`, `ask a`.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn note(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// One step of a test's workflow.
pub(crate) struct Step {
    plan: StepPlan,
    parents: Vec<&'static str>,
    run: Attempt,
    undo: Attempt,
    query: Query,
    check: Check,
}

pub(crate) fn done() -> Attempted {
    Attempted::Succeeded(Recorded::Value(Json::parse("1").unwrap()))
}

pub(crate) fn undone() -> Attempted {
    Attempted::Succeeded(Recorded::Value(Json::parse("\"Undone\"").unwrap()))
}

pub(crate) fn failure(kind: FailureKind, code: &str) -> Failure {
    Failure {
        kind,
        code: code.to_owned(),
        message: String::new(),
        rule: "test".to_owned(),
        classifier: "test/1".to_owned(),
        hint: None,
    }
}

/// A compensated step that settles by query, succeeds at once and notes what it does.
pub(crate) fn step(name: &'static str, log: &Log) -> Step {
    let (ran, undid) = (log.clone(), log.clone());
    let asked = log.clone();
    Step {
        plan: StepPlan {
            name: name.into(),
            kind: StepKind::Compensated,
            after: Vec::new(),
            input: Input::Recorded(vec![Source::SagaInput]),
            settle: Settle::ByQuery,
            undo: Some(UndoPlan { settle: Settle::ByRepeating, in_doubt: Default::default() }),
            contract: Contract { settle_window: Some(Duration::from_secs(5)), ..Contract::default() },
            schemas: Schemas::default(),
            retry: RetryPolicy { on_exhausted: Exhausted::Quarantine, ..RetryPolicy::default() },
            query: QueryPolicy::default(),
            compensation: RetryPolicy::default(),
        },
        parents: Vec::new(),
        run: Arc::new(move |_| {
            ran.note(name);
            Box::pin(async { done() })
        }),
        undo: Arc::new(move |_| {
            undid.note(format!("undo {name}"));
            Box::pin(async { undone() })
        }),
        query: Arc::new(move |_| {
            asked.note(format!("ask {name}"));
            Box::pin(async { Ok(Finding::Absent) })
        }),
        check: Arc::new(|_| Ok(())),
    }
}

impl Step {
    pub(crate) fn after(mut self, parents: &[&'static str]) -> Self {
        self.parents.extend_from_slice(parents);
        self
    }

    pub(crate) fn plan(mut self, change: impl FnOnce(&mut StepPlan)) -> Self {
        change(&mut self.plan);
        self
    }

    pub(crate) fn runs<F: Future<Output = Attempted> + Send + 'static>(
        mut self,
        run: impl Fn(StepContext) -> F + Send + Sync + 'static,
    ) -> Self {
        self.run = Arc::new(move |cx| Box::pin(run(cx)));
        self
    }

    pub(crate) fn undoes<F: Future<Output = Attempted> + Send + 'static>(
        mut self,
        undo: impl Fn(StepContext) -> F + Send + Sync + 'static,
    ) -> Self {
        self.undo = Arc::new(move |cx| Box::pin(undo(cx)));
        self
    }

    pub(crate) fn finds(mut self, find: impl Fn(&StepContext) -> Finding + Send + Sync + 'static) -> Self {
        self.query = Arc::new(move |cx| {
            let found = find(&cx);
            Box::pin(async move { Ok(found) })
        });
        self
    }

    pub(crate) fn asks<F: Future<Output = Result<Finding, Failure>> + Send + 'static>(
        mut self,
        query: impl Fn(StepContext) -> F + Send + Sync + 'static,
    ) -> Self {
        self.query = Arc::new(move |cx| Box::pin(query(cx)));
        self
    }

    pub(crate) fn checks(
        mut self,
        check: impl Fn(Values<'_>) -> Result<(), InputProblem> + Send + Sync + 'static,
    ) -> Self {
        self.check = Arc::new(check);
        self
    }
}

impl Node for Step {
    fn prepare(&self, values: Values<'_>, _shaped: Option<&Json>) -> Result<Prepared, InputProblem> {
        (self.check)(values)?;
        Ok(Prepared { value: Box::new(()), shaped: None })
    }

    fn run(&self, cx: StepContext, _input: Prepared) -> BoxFuture<Attempted> {
        (self.run)(cx)
    }

    fn compensate(
        &self,
        cx: StepContext,
        _input: Prepared,
        _forward: ForwardOutcome,
    ) -> BoxFuture<Attempted> {
        (self.undo)(cx)
    }

    fn expected(&self, _forward: ForwardOutcome) -> Result<Option<Json>, InputProblem> {
        Ok(None)
    }

    fn dry_run(
        &self,
        _cx: StepContext,
        _input: Prepared,
        _forward: ForwardOutcome,
    ) -> BoxFuture<Result<Preview, Failure>> {
        Box::pin(async { Err(failure(FailureKind::Unknown, "no-dry-run")) })
    }

    fn reconcile(&self, cx: StepContext, _input: Prepared) -> BoxFuture<Result<Finding, Failure>> {
        (self.query)(cx)
    }

    fn reconcile_compensation(
        &self,
        cx: StepContext,
        _input: Prepared,
    ) -> BoxFuture<Result<Finding, Failure>> {
        (self.query)(cx)
    }

    fn check_output(&self, output: &Json) -> Result<(), String> {
        output.decode::<u64>().map(drop).map_err(|error| error.to_string())
    }
}

/// A workflow named `w`; its result is the last step's output.
pub(crate) fn workflow(steps: Vec<Step>) -> Definition {
    named("w", steps)
}

/// A workflow of this name; its result is the last step's output.
pub(crate) fn named(workflow: &str, steps: Vec<Step>) -> Definition {
    let names: BTreeMap<&str, usize> =
        steps.iter().enumerate().map(|(at, step)| (&*step.plan.name, at)).collect();
    let plans = steps.iter().map(|step| {
        let after = step.parents.iter().map(|parent| StepIx(names[parent])).collect();
        StepPlan { after, ..step.plan.clone() }
    });
    let last = Source::Step(StepIx(steps.len() - 1));
    let plan =
        SagaPlan::new(workflow, 1, "input/1", plans.collect(), last).expect("the test's plan is sound");
    let nodes: Vec<Arc<dyn Node>> = steps.into_iter().map(|step| Arc::new(step) as Arc<dyn Node>).collect();
    Definition { plan: Arc::new(plan), nodes: nodes.into(), conditions: Arc::new([]), labels: None }
}

/// Four steps in a row: `a`, `b`, `c`, `d`.
pub(crate) fn chain(log: &Log) -> Definition {
    workflow(vec![
        step("a", log),
        step("b", log).after(&["a"]),
        step("c", log).after(&["b"]),
        step("d", log).after(&["c"]),
    ])
}

pub(crate) fn builder<S: Store>(store: &Arc<S>, definition: &Definition) -> EngineBuilder {
    Engine::builder(store.clone())
        .register(definition.clone())
        .clock(Arc::new(SystemClock::starting_at(Timestamp::from_millis(1_796_055_120_000))))
        .ids(Arc::new(RandomIds::seeded(1)))
}

pub(crate) async fn engine<S: Store>(store: &Arc<S>, definition: &Definition) -> Engine {
    builder(store, definition).start().await.expect("the engine starts")
}

/// The next process, an hour later: as [`engine`], with ids that differ from those of the one before it.
pub(crate) async fn next_engine<S: Store>(store: &Arc<S>, definition: &Definition) -> Engine {
    let later = Timestamp::from_millis(1_796_055_120_000 + 3_600_000);
    let builder = builder(store, definition).clock(Arc::new(SystemClock::starting_at(later)));
    builder.ids(Arc::new(RandomIds::seeded(2))).start().await.expect("the engine starts")
}

/// Lets virtual time pass, and everything that is due in it happen.
#[expect(clippy::disallowed_methods, reason = "time is virtual here, and this is how a test moves it")]
pub(crate) async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

pub(crate) async fn limited(store: &Arc<MemoryStore>, definition: &Definition, limits: Limits) -> Engine {
    builder(store, definition).limits(limits).start().await.expect("the engine starts")
}

pub(crate) async fn begin(engine: &Engine, key: &str) -> SagaHandle {
    let input = Json::parse(r#"{"amount": 100}"#).unwrap();
    engine.start_json("w", key, input, StartOptions::default()).await.expect("the saga starts")
}

pub(crate) fn operation(id: &str) -> Operation {
    Operation { id: OperationId::new(id), actor: "ann".to_owned(), reason: "a test".to_owned() }
}

pub(crate) async fn timeline(saga: &SagaHandle) -> String {
    saga.view().await.expect("the saga can be shown").timeline()
}
