//! Sending attempts and queries: one tokio task each, under a timeout, whose answer always comes back.
//!
//! What can go wrong and what becomes of it: the call does not answer in time: its future is dropped, and the
//! attempt is unknown (`timeout`). The author's code panics, or its future is dropped from within: unknown
//! (`panic`). The process dies: nothing is reported, and the next owner of the saga finds the attempt in the
//! journal and calls it unknown. Nothing of this is retried here; only the machine repeats.
//!
//! Why a call that is late is dropped and not heard out: a settle window counts from the latest possible
//! transmission, and a compensation must not overlap an attempt of its step. Both hold because nothing of this
//! process sends for an attempt after its timeout. What a participant answers later comes by
//! [`Engine::reply`](crate::Engine::reply), or is found by a query or a repeat.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use amends_core::event::{Failure, FailureKind, Omitted, Recorded};
use amends_core::machine::{Attempted, Command};
use amends_core::plan::StepPlan;
use amends_core::state::{Action, Stage};
use amends_core::{ActionId, SagaId, Timestamp, TraceContext};
use futures_util::FutureExt as _;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::active::{Active, By, Flight, Send, Sent, UnderWay};
use super::admission::Permit;
use super::input::News;
use super::lease::Lease;
use crate::authoring::{BoxFuture, ContextParts, ForwardOutcome, Precondition, Preview, StepContext};
use crate::engine::Counted;
use crate::ports::Clock;

/// The longest message kept with a failure, in bytes.
const MESSAGE_BYTES_MAX: usize = 4_096;

/// The code and rule of a query that this node was not allowed to send.
pub(super) const NOT_SENT: &str = "not-sent";

/// What a call is sent with.
pub(super) struct Wires {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) lease: Arc<Lease>,
    pub(super) news: UnboundedSender<News>,
    pub(super) counted: Arc<Counted>,
}

/// Sends what was journalled as started. A message has left with its transition, and its reply is awaited.
pub(super) fn send(active: &mut Active, send: Send, permit: Permit, wires: &Wires) {
    let Send { action, what, by, .. } = send;
    let plan = &active.definition.plan;
    let ix = plan.find(&action.step).expect("what was begun is in the plan");
    let (step, forward) = (plan.step(ix), action.is_forward());
    let timeout = match what {
        Sent::Query { .. } => step.query.timeout,
        Sent::Attempt(_) => attempt_timeout(step, &action),
    };
    let deadline = wires.clock.now() + timeout;
    let stop = CancellationToken::new();
    let input = match by {
        By::Call(input) => input,
        By::Message(id) => {
            let under_way = UnderWay::Message { id, timeout, until: deadline };
            active.flights.push(Flight { action, what, permit: Some(permit), stop, under_way });
            return;
        }
    };
    let cx = context(active, &action, what, deadline, &stop, wires);
    let span = tracing::info_span!(
        "attempt",
        saga = %active.state.id,
        workflow = %plan.workflow,
        key = %active.state.key,
        step = %action.step,
        direction = if forward { "forward" } else { "compensation" },
        attempt = cx.attempt(),
        query = matches!(what, Sent::Query { .. }),
        trace = active.state.trace.as_ref().map(TraceContext::trace_id),
    );
    let node = active.definition.nodes[ix.0].clone();
    let report = Report { news: wires.news.clone(), call: Some((active.state.id, action.clone(), what)) };
    let (clock, lease, counted) = (wires.clock.clone(), wires.lease.clone(), wires.counted.clone());
    let outcome = forward_outcome(&active.state.step(ix).forward);
    let running = tokio::spawn(
        async move {
            if !lease.holds() {
                return report.unsent();
            }
            counted.call();
            let clock = &*clock;
            match what {
                Sent::Attempt(_) => {
                    let call = async move {
                        if forward {
                            node.run(cx, input).await
                        } else {
                            node.compensate(cx, input, outcome).await
                        }
                    };
                    let answer = within(call, clock, deadline).await;
                    report.attempt(answer.unwrap_or_else(|lost| Attempted::Unknown(lost.failure(timeout))));
                }
                Sent::Query { .. } => {
                    let call = async move {
                        if forward {
                            node.reconcile(cx, input).await
                        } else {
                            node.reconcile_compensation(cx, input).await
                        }
                    };
                    let answer = within(call, clock, deadline).await;
                    report.query(answer.unwrap_or_else(|lost| Err(lost.failure(timeout))));
                }
            }
        }
        .instrument(span),
    );
    let under_way = UnderWay::Call(running);
    active.flights.push(Flight { action, what, permit: Some(permit), stop, under_way });
}

/// What is said of a call that was journalled as started and certainly not sent. An attempt is taken back; a query has
/// failed, and its policy says when the next one is due.
pub(super) fn not_sent(send: Send) -> Command {
    let Send { action, what, .. } = send;
    match what {
        Sent::Attempt(attempt) => Command::Withdraw { action, attempt },
        Sent::Query { query, .. } => {
            let failure = query_not_sent("its transition became durable too late".to_owned());
            Command::QueryFailed { action, query, failure }
        }
    }
}

fn query_not_sent(message: String) -> Failure {
    Failure { kind: FailureKind::Transient, ..failure(NOT_SENT, message) }
}

/// How long one attempt of an action may take.
pub(super) fn attempt_timeout(step: &StepPlan, action: &ActionId) -> Duration {
    if action.is_forward() { step.retry.attempt_timeout } else { step.compensation.attempt_timeout }
}

/// What is said of an attempt whose reply was awaited for so long.
pub(super) fn no_reply(timeout: Duration) -> Attempted {
    Attempted::Unknown(Lost::Timeout.failure(timeout))
}

fn context(
    active: &Active,
    action: &ActionId,
    what: Sent,
    deadline: Timestamp,
    stop: &CancellationToken,
    wires: &Wires,
) -> StepContext {
    let state = &active.state;
    let request_id = action.request_id(state.id);
    let at = state.action(&active.definition.plan, action);
    let (attempt, fence_through) = match what {
        Sent::Attempt(attempt) => (attempt, None),
        Sent::Query { fence_through, .. } => (at.map_or(0, |action| action.attempts), fence_through),
    };
    StepContext::new(ContextParts {
        saga: state.id,
        key: state.key.clone(),
        request_id,
        forward_request_id: if action.is_forward() {
            request_id
        } else {
            ActionId::forward(action.step.clone()).request_id(state.id)
        },
        attempt,
        fence_through,
        expected: at.and_then(|action| action.expected.clone()).map(Precondition::recorded),
        trace: state.trace.clone(),
        deadline,
        clock: wires.clock.clone(),
        stop: stop.clone(),
    })
}

/// What a compensation is told of its forward action.
pub(crate) fn forward_outcome(forward: &Action) -> ForwardOutcome {
    match forward.stage {
        Stage::Succeeded => ForwardOutcome::Completed(forward.output.clone().unwrap_or_else(|| {
            let reason = "not supplied".to_owned();
            Recorded::Omitted(Omitted { reason, digest: None, size: 0 })
        })),
        Stage::Partial => ForwardOutcome::Partial(forward.output.clone()),
        Stage::Pending
        | Stage::Ready
        | Stage::Running
        | Stage::RetryScheduled
        | Stage::Reconciling
        | Stage::Quarantined
        | Stage::TerminalRejected
        | Stage::Skipped => ForwardOutcome::InDoubt,
    }
}

/// Why a call gave no answer of its own.
enum Lost {
    Timeout,
    Panic(String),
}

impl Lost {
    fn failure(self, timeout: Duration) -> Failure {
        let (code, message) = match self {
            Self::Timeout => ("timeout", format!("no answer within {timeout:?}")),
            Self::Panic(message) => ("panic", message),
        };
        failure(code, message)
    }
}

fn failure(code: &str, message: String) -> Failure {
    Failure {
        kind: FailureKind::Unknown,
        code: code.to_owned(),
        message,
        rule: code.to_owned(),
        classifier: "engine/1".to_owned(),
        hint: None,
    }
}

/// Awaits a call until its deadline, and drops it then.
async fn within<T>(call: impl Future<Output = T>, clock: &dyn Clock, deadline: Timestamp) -> Result<T, Lost> {
    tokio::select! {
        biased;
        answer = AssertUnwindSafe(call).catch_unwind() => answer.map_err(|panic| Lost::Panic(panic_text(&*panic))),
        () = clock.sleep_until(deadline) => Err(Lost::Timeout),
    }
}

/// Awaits a dry run for at most so long: a timeout and a panic are failures of it, and nothing more.
pub(crate) async fn previewed(
    call: BoxFuture<Result<Preview, Failure>>,
    clock: &dyn Clock,
    timeout: Duration,
) -> Result<Preview, Failure> {
    let answer = within(call, clock, clock.now() + timeout).await;
    answer.unwrap_or_else(|lost| Err(lost.failure(timeout)))
}

/// What a panic said, as far as it can be known, shortened for the journal.
pub(super) fn panic_text(panic: &(dyn Any + core::marker::Send)) -> String {
    let said = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(|s| &**s));
    let said = said.unwrap_or("a panic without a message");
    said[..said.floor_char_boundary(MESSAGE_BYTES_MAX)].replace('\0', "\u{fffd}")
}

/// The promise that every call is reported exactly once, whatever becomes of its future.
struct Report {
    news: UnboundedSender<News>,
    call: Option<(SagaId, ActionId, Sent)>,
}

impl Report {
    fn attempt(mut self, answer: Attempted) {
        self.deliver(|| answer, || Err(failure("panic", String::new())));
    }

    fn query(mut self, answer: Result<amends_core::event::Finding, Failure>) {
        self.deliver(|| Attempted::Unknown(failure("panic", String::new())), || answer);
    }

    /// Nothing left this process. An attempt is taken back; a query has failed, and its policy says when the
    /// next one is due.
    fn unsent(mut self) {
        let (saga, action, attempt) = match self.call.take() {
            Some((saga, action, Sent::Attempt(attempt))) => (saga, action, attempt),
            query => {
                self.call = query;
                let message = "this node had not beaten for half a lease".to_owned();
                return self.query(Err(query_not_sent(message)));
            }
        };
        let _ = self.news.send(News::Unsent { saga, action, attempt });
    }

    /// A closed channel means that the worker is gone; the journal says what was under way.
    fn deliver(
        &mut self,
        attempt: impl FnOnce() -> Attempted,
        query: impl FnOnce() -> Result<amends_core::event::Finding, Failure>,
    ) {
        let Some((saga, action, what)) = self.call.take() else { return };
        let news = match what {
            Sent::Attempt(number) => News::Attempt { saga, action, attempt: number, answer: attempt() },
            Sent::Query { query: number, .. } => News::Query { saga, action, query: number, answer: query() },
        };
        let _ = self.news.send(news);
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        let lost = || failure("panic", "the call ended without an answer".to_owned());
        self.deliver(|| Attempted::Unknown(lost()), || Err(lost()));
    }
}
