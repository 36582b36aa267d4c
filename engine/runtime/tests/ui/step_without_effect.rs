//! A step that has no effect: it is a read.

use amends::prelude::*;

struct LookUpPrice;
impl Step for LookUpPrice {
    type Input = u64;
    type Output = u64;
    type Refusal = Never;
    type Settle = NoEffect;

    async fn run(&self, _: &StepContext, input: u64) -> Result<u64, StepError<Never>> {
        Ok(input)
    }
}

fn main() {
    let (mut s, order) = SagaBuilder::<u64>::new("order", 1);
    let price = s.step("price", LookUpPrice, order);
    let _ = s.finish(price);
}
