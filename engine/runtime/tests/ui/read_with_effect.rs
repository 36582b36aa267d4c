//! A read that has an effect.

use amends::prelude::*;

struct ReserveStock;
impl Step for ReserveStock {
    type Input = u64;
    type Output = u64;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, input: u64) -> Result<u64, StepError<Never>> {
        Ok(input)
    }
}

fn main() {
    let (mut s, order) = SagaBuilder::<u64>::new("order", 1);
    let stock = s.read("reserve-stock", ReserveStock, order);
    let _ = s.finish(stock);
}
