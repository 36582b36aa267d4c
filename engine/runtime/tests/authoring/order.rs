//! The order saga, with everything a definition can say.

use amends::core::plan::digest::shape;
use amends::prelude::*;
use expect_test::expect;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
struct OrderPlaced {
    items: Vec<u32>,
    amount: i64,
}
impl Payload for OrderPlaced {
    const SCHEMA: &'static str = "order-placed/1";
}

#[derive(Serialize, Deserialize)]
struct Declined(String);
impl Payload for Declined {
    const SCHEMA: &'static str = "declined/1";
}

/// A read that may refuse, before the pivot.
struct CheckCustomer;
impl Step for CheckCustomer {
    type Input = OrderPlaced;
    type Output = bool;
    type Refusal = Declined;
    type Settle = NoEffect;

    async fn run(&self, cx: &StepContext, input: OrderPlaced) -> Result<bool, StepError<Declined>> {
        if input.items.is_empty() {
            return Err(StepError::Refused(Declined(cx.business_key().to_owned())));
        }
        Ok(true)
    }
}

/// Settled by query in both directions.
struct Reserve;
impl Step for Reserve {
    type Input = Vec<u32>;
    type Output = u64;
    type Refusal = Declined;
    type Settle = ByQuery;

    fn contract(&self) -> Contract {
        Contract::unstated().settle_window(minutes(5)).key_retention(hours(24)).keeps_answers()
    }

    async fn run(&self, _: &StepContext, input: Vec<u32>) -> Result<u64, StepError<Declined>> {
        Ok(input.len() as u64)
    }
}
impl Compensate for Reserve {
    type UndoSettle = ByQuery;
    const IN_DOUBT: InDoubt = InDoubt::Fence;

    async fn compensate(
        &self,
        _: &StepContext,
        _: Vec<u32>,
        forward: Forward<u64>,
    ) -> Result<Undo, CompensationError> {
        match forward {
            Forward::Completed(_) | Forward::Unrecorded(_) | Forward::Partial(_) => Ok(Undo::Undone),
            Forward::InDoubt => Ok(Undo::NothingToUndo),
        }
    }
}
impl Reconcile for Reserve {
    async fn reconcile(
        &self,
        cx: &StepContext,
        input: Vec<u32>,
    ) -> Result<Finding<u64, Declined>, QueryError> {
        match cx.fence_through() {
            Some(through) => Ok(Finding::Fenced { through }),
            None => Ok(Finding::Applied(input.len() as u64)),
        }
    }
}
impl ReconcileCompensation for Reserve {
    async fn reconcile_compensation(&self, _: &StepContext, _: Vec<u32>) -> Result<UndoFinding, QueryError> {
        Ok(UndoFinding::Absent)
    }
}

/// Any effect that is safe to repeat, of any input and output.
struct Repeat;
impl Step for Repeat {
    type Input = (OrderPlaced, u64);
    type Output = String;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, cx: &StepContext, _: (OrderPlaced, u64)) -> Result<String, StepError<Never>> {
        Ok(cx.request_id().0.to_string())
    }
}
impl Compensate for Repeat {
    type UndoSettle = ByOperator;

    async fn compensate(
        &self,
        _: &StepContext,
        _: (OrderPlaced, u64),
        _: Forward<String>,
    ) -> Result<Undo, CompensationError> {
        Ok(Undo::Undone)
    }
}

/// An author's own wrapper around any step.
struct Traced<S>(S);
impl<S: Step> Step for Traced<S> {
    type Input = S::Input;
    type Output = S::Output;
    type Refusal = S::Refusal;
    type Settle = S::Settle;

    async fn run(&self, cx: &StepContext, input: S::Input) -> Result<S::Output, StepError<S::Refusal>> {
        self.0.run(cx, input).await
    }
}

fn order_saga() -> Result<Saga<OrderPlaced, Vec<String>>, PlanErrors> {
    let (s, order) = SagaBuilder::<OrderPlaced>::new("order", 1);
    let mut s = s.deadline(hours(2)).retry_default("shop").query_default("shop").compensation_default("undo");

    let known = s.read("check-customer", CheckCustomer.timeout(seconds(5)), order);
    let first = s.step("reserve", Reserve, order.map(|order| order.items).after(known));
    // Settings keep every promise of the step: its query, its compensation, and the compensation's query.
    let configured =
        Reserve.retry("warehouse").query("warehouse").compensation("warehouse").timeout(minutes(1));
    let second = s.step("reserve-again", configured, order.map(|order| order.items));
    let total =
        s.read_fn("total", vec![first, second], |_, of: Vec<u64>| async move { Ok(of.iter().sum::<u64>()) });
    let hold = s.step("hold", Repeat, (order, total));

    let (captured, mut s) = s.pivot("capture", Traced(Repeat), (order, first).after(hold).after(second));
    let told =
        s.retriable("notify", Traced(Repeat.retry("mail")), (order, captured.map(|text| text.len() as u64)));
    let all = s.read_fn("all", (hold, captured, told), |_, (a, b, c)| async move { Ok(vec![a, b, c]) });
    s.finish(all)
}

#[test]
fn the_order_saga_has_its_shape() {
    let saga = order_saga().expect("a good definition");
    expect![[r#"
        workflow order version 1
        input order-placed/1
        read check-customer: order-placed/1 -> bool | declined/1, settled no effect
          input recorded [input]
          policies retry=shop query=shop compensation=undo
          waits for []
        step reserve: list(u32) -> u64 | declined/1, settled by query
          compensation settled by query, in doubt Fence
          input shaped [input]
          policies retry=shop query=shop compensation=undo
          waits for [check-customer]
        step reserve-again: list(u32) -> u64 | declined/1, settled by query
          compensation settled by query, in doubt Fence
          input shaped [input]
          policies retry=warehouse query=warehouse compensation=warehouse
          waits for []
        read total: list(u64) -> u64 | never, settled no effect
          input recorded [reserve, reserve-again]
          policies retry=shop query=shop compensation=undo
          waits for [reserve, reserve-again]
        step hold: (order-placed/1, u64) -> text | never, settled by repeating
          compensation settled by operator, in doubt Wait
          input recorded [input, total]
          policies retry=shop query=shop compensation=undo
          waits for [total]
        pivot capture: (order-placed/1, u64) -> text | never, settled by repeating
          input recorded [input, reserve]
          policies retry=shop query=shop compensation=undo
          waits for [check-customer, reserve, reserve-again, total, hold]
        retriable notify: (order-placed/1, u64) -> text | never, settled by repeating
          input shaped [input, capture]
          policies retry=shop query=shop compensation=undo
          waits for [capture]
        read all: (text, text, text) -> list(text) | never, settled no effect
          input recorded [hold, capture, notify]
          policies retry=shop query=shop compensation=undo
          waits for [hold, capture, notify]
        result all
    "#]]
    .assert_eq(&shape(saga.plan()));
    expect![[r#"
        ╭╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╮   ┌─────────────────┐
        ╎ check-customer  ╎   │ reserve-again ↺ │
        ╰╌╌╌╌╌╌╌╌┬╌╌╌╌╌╌╌╌╯   └────────┬────────┘
                 ▼                     │
        ┌─────────────────┐            │
        │    reserve ↺    │            │
        └────────┬────────┘            │
                 └──────────┬──────────┘
                            ▼
                   ╭╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╮
                   ╎      total      ╎
                   ╰╌╌╌╌╌╌╌╌┬╌╌╌╌╌╌╌╌╯
                            ▼
                   ┌─────────────────┐
                   │     hold ↺      │
                   └────────┬────────┘
                            ▼
                   ╔═════════════════╗
                   ║     capture     ║
                   ╚════════╤════════╝
                            ▼
                   ┌─────────────────┐
                   │     notify      │
                   └────────┬────────┘
                            ▼
                   ╭╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╮
                   ╎       all       ╎
                   ╰╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╯

        ↺ has a compensation   ═ pivot: no way back   ╌ read
    "#]]
    .assert_eq(&saga.text());
}
