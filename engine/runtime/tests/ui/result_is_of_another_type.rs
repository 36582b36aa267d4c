//! The saga is finished with a result of another type than it says.

use amends::prelude::*;

struct CountItems;
impl Step for CountItems {
    type Input = u64;
    type Output = u64;
    type Refusal = Never;
    type Settle = NoEffect;

    async fn run(&self, _: &StepContext, input: u64) -> Result<u64, StepError<Never>> {
        Ok(input)
    }
}

fn order_saga() -> Result<Saga<u64, String>, PlanErrors> {
    let (mut s, order) = SagaBuilder::<u64>::new("order", 1);
    let items = s.read("count", CountItems, order);
    s.finish(items)
}

fn main() {
    let _ = order_saga();
}
