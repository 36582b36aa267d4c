//! The node that stands in front of a step's own.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use amends::authoring::{
    BoxFuture, Definition, ForwardOutcome, InputProblem, Node, Outgoing, Prepared, Preview, StepContext,
    Transmission, Values,
};
use amends_core::Json;
use amends_core::event::{Failure, FailureKind, Finding};
use amends_core::machine::Attempted;

use super::{Call, FaultKind, Faults, failure, refused, reply_lost};

/// The same definition, with `faults` in front of every step.
pub(crate) fn intercepted(definition: &Definition, faults: &Faults) -> Definition {
    let in_front = |(at, inner): (usize, &Arc<dyn Node>)| -> Arc<dyn Node> {
        let step = &definition.plan.steps[at];
        Arc::new(Intercepted {
            inner: inner.clone(),
            step: step.name.clone(),
            settle_window: step.contract.settle_window,
            faults: faults.clone(),
        })
    };
    Definition {
        plan: definition.plan.clone(),
        nodes: definition.nodes.iter().enumerate().map(in_front).collect(),
        conditions: definition.conditions.clone(),
        labels: definition.labels.clone(),
    }
}

struct Intercepted {
    inner: Arc<dyn Node>,
    step: Arc<str>,
    settle_window: Option<Duration>,
    faults: Faults,
}

/// The input of a call, and once more for a call that arrives twice.
struct Input {
    once: Prepared,
    again: Option<Prepared>,
}

impl Input {
    fn of(prepared: Prepared) -> Self {
        *prepared.value.downcast().expect("the input was prepared by this very node")
    }
}

impl Intercepted {
    fn meet(&self, cx: &StepContext, call: Call) -> Option<FaultKind> {
        self.faults.meet(cx.saga_id(), &self.step, call, cx.clock().now())
    }

    /// A query that lags may say `Absent` only while that authorises nothing.
    fn may_lag(&self, cx: &StepContext, call: Call) -> bool {
        match (self.settle_window, self.faults.last_sent(cx.saga_id(), &self.step, call)) {
            (Some(window), Some(sent)) => cx.clock().now() < sent + window,
            _ => true,
        }
    }

    fn query(
        &self,
        cx: &StepContext,
        call: Call,
        truth: impl FnOnce() -> BoxFuture<Result<Finding, Failure>>,
    ) -> BoxFuture<Result<Finding, Failure>> {
        match self.meet(cx, call) {
            Some(FaultKind::QueryLags) if self.may_lag(cx, call) => Box::pin(ready(Ok(Finding::Absent))),
            None | Some(FaultKind::QueryLags | FaultKind::Repeated | FaultKind::Refused) => truth(),
            Some(
                FaultKind::QueryFails
                | FaultKind::Transient
                | FaultKind::Persistent
                | FaultKind::ReplyLost
                | FaultKind::RequestLost,
            ) => Box::pin(ready(Err(failure(FailureKind::Transient, "query-failed")))),
        }
    }
}

/// What an attempt meets. `run` is the step's own code.
fn attempt(
    fault: Option<FaultKind>,
    Input { once, again }: Input,
    run: impl Fn(Prepared) -> BoxFuture<Attempted> + Send + 'static,
) -> BoxFuture<Attempted> {
    match fault {
        None | Some(FaultKind::QueryFails | FaultKind::QueryLags) => run(once),
        Some(FaultKind::Transient) => {
            Box::pin(ready(Attempted::Transient(failure(FailureKind::Transient, "unavailable"))))
        }
        Some(FaultKind::Persistent) => {
            Box::pin(ready(Attempted::Persistent(failure(FailureKind::Persistent, "forbidden"))))
        }
        Some(FaultKind::Refused) => Box::pin(ready(refused())),
        Some(FaultKind::RequestLost) => Box::pin(ready(reply_lost())),
        Some(FaultKind::ReplyLost) => Box::pin(async move {
            run(once).await;
            reply_lost()
        }),
        Some(FaultKind::Repeated) => Box::pin(async move {
            let first = run(once).await;
            match again {
                Some(again) => run(again).await,
                None => first,
            }
        }),
    }
}

impl Node for Intercepted {
    fn prepare(&self, values: Values<'_>, shaped: Option<&Json>) -> Result<Prepared, InputProblem> {
        let once = self.inner.prepare(values, shaped)?;
        let again = if self.faults.repeats(&self.step) {
            Some(self.inner.prepare(values, shaped.or(once.shaped.as_ref()))?)
        } else {
            None
        };
        let shaped = once.shaped.clone();
        Ok(Prepared { value: Box::new(Input { once, again }), shaped })
    }

    fn command(
        &self,
        of: &Transmission,
        input: &Prepared,
        forward: Option<ForwardOutcome>,
    ) -> Result<Option<Outgoing>, InputProblem> {
        let input: &Input = input.value.downcast_ref().expect("a node is given what it prepared itself");
        self.inner.command(of, &input.once, forward)
    }

    fn run(&self, cx: StepContext, input: Prepared) -> BoxFuture<Attempted> {
        let fault = self.meet(&cx, Call::Forward);
        let inner = self.inner.clone();
        attempt(fault, Input::of(input), move |input| inner.run(cx.clone(), input))
    }

    fn compensate(&self, cx: StepContext, input: Prepared, forward: ForwardOutcome) -> BoxFuture<Attempted> {
        let fault = self.meet(&cx, Call::Compensation);
        let inner = self.inner.clone();
        attempt(fault, Input::of(input), move |input| inner.compensate(cx.clone(), input, forward.clone()))
    }

    fn expected(&self, forward: ForwardOutcome) -> Result<Option<Json>, InputProblem> {
        self.inner.expected(forward)
    }

    fn dry_run(
        &self,
        cx: StepContext,
        input: Prepared,
        forward: ForwardOutcome,
    ) -> BoxFuture<Result<Preview, Failure>> {
        self.inner.dry_run(cx, Input::of(input).once, forward)
    }

    fn reconcile(&self, cx: StepContext, input: Prepared) -> BoxFuture<Result<Finding, Failure>> {
        let inner = self.inner.clone();
        self.query(&cx.clone(), Call::Query, move || inner.reconcile(cx, Input::of(input).once))
    }

    fn reconcile_compensation(
        &self,
        cx: StepContext,
        input: Prepared,
    ) -> BoxFuture<Result<Finding, Failure>> {
        let inner = self.inner.clone();
        self.query(&cx.clone(), Call::CompensationQuery, move || {
            inner.reconcile_compensation(cx, Input::of(input).once)
        })
    }

    fn check_output(&self, output: &Json) -> Result<(), String> {
        self.inner.check_output(output)
    }
}
