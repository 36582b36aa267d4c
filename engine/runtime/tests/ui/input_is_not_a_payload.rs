//! A step's input has to be kept in the journal.

use amends::prelude::*;

struct OrderPlaced {
    order: u64,
}

struct ReserveStock;
impl Step for ReserveStock {
    type Input = OrderPlaced;
    type Output = u64;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, input: OrderPlaced) -> Result<u64, StepError<Never>> {
        Ok(input.order)
    }
}

fn main() {}
