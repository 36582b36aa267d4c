//! `type Settle` is none of the four words.

use amends::prelude::*;

struct ReserveStock;
impl Step for ReserveStock {
    type Input = u64;
    type Output = u64;
    type Refusal = Never;
    type Settle = String;

    async fn run(&self, _: &StepContext, input: u64) -> Result<u64, StepError<Never>> {
        Ok(input)
    }
}

impl Compensate for ReserveStock {
    type UndoSettle = ByRepeating;

    async fn compensate(&self, _: &StepContext, _: u64, _: Forward<u64>) -> Result<Undo, CompensationError> {
        Ok(Undo::Undone)
    }
}

fn main() {
    let (mut s, order) = SagaBuilder::<u64>::new("order", 1);
    let stock = s.step("reserve-stock", ReserveStock, order);
    let _ = s.finish(stock);
}
