//! A branch behind the pivot is behind the pivot.

use amends::prelude::*;

struct Ship;
impl Step for Ship {
    type Input = u64;
    type Output = u64;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, input: u64) -> Result<u64, StepError<Never>> {
        Ok(input)
    }
}

impl Compensate for Ship {
    type UndoSettle = ByRepeating;

    async fn compensate(&self, _: &StepContext, _: u64, _: Forward<u64>) -> Result<Undo, CompensationError> {
        Ok(Undo::Undone)
    }
}

fn main() {
    let (s, order) = SagaBuilder::<u64>::new("order", 1);
    let (captured, mut s) = s.pivot("capture", Ship, order);
    let wrapped = s.when("gift", order.map(|amount| amount > 3), |b| b.step("wrap", Ship, captured));
    let _ = s.finish(wrapped);
}
