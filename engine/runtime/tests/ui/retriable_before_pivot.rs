//! A retriable step before the pivot.

use amends::prelude::*;

struct Notify;
impl Step for Notify {
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
    let told = s.retriable("notify", Notify, order);
    let _ = s.finish(told);
}
