//! A step is given the output of a step that is declared later: so there are no cycles.

use amends::prelude::*;

struct Reserve;
impl Step for Reserve {
    type Input = u64;
    type Output = u64;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, input: u64) -> Result<u64, StepError<Never>> {
        Ok(input)
    }
}

impl Compensate for Reserve {
    type UndoSettle = ByRepeating;

    async fn compensate(&self, _: &StepContext, _: u64, _: Forward<u64>) -> Result<Undo, CompensationError> {
        Ok(Undo::Undone)
    }
}

fn main() {
    let (mut s, order) = SagaBuilder::<u64>::new("order", 1);
    let held = s.step("hold", Reserve, shipment);
    let shipment = s.step("ship", Reserve, held);
    let _ = s.finish(shipment);
}
