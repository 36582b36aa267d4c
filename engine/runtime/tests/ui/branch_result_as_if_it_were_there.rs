//! What a branch gives may be missing.

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
    let (mut s, order) = SagaBuilder::<u64>::new("order", 1);
    let wrapped = s.when("gift", order.map(|amount| amount > 3), |b| b.step("wrap", Ship, order));
    let shipped = s.step("ship", Ship, wrapped);
    let _ = s.finish(shipped);
}
